"""Neighbourhoods along time as windows, against a full sort of all distances and against the tree."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta import load, read_positions
from mcgta.stages import Neighborhoods, find_neighborhoods, fit_local_models
from mcgta.stages.neighborhoods import TimeWindows


def positions_of(times, groups):
    order = np.lexsort((times, groups))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_positions(
            np.asarray(times, dtype=float)[order], len(order), metric="time", groups=np.array(groups)[order]
        )


def by_tree(positions, n, **options):
    everyone = np.ones(len(positions), dtype=bool)
    return find_neighborhoods(positions, n, among=everyone, **options)


steps = st.sampled_from([0.0, 1e-12, 1e-3, 1.0, 1.0, 1.0, 2.0, 7.5])


@settings(max_examples=300, deadline=None)
@given(
    gaps=st.lists(steps, min_size=1, max_size=40),
    groups=st.integers(1, 3),
    n=st.integers(1, 9),
    offset=st.sampled_from([0.0, -3.0, 1e9]),
)
def test_windows_and_the_tree_find_the_same(gaps, groups, n, offset):
    times = offset + np.cumsum(gaps)
    positions = positions_of(times, np.arange(times.size) * groups // times.size)
    found, expected = find_neighborhoods(positions, n), by_tree(positions, n)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.complete, expected.complete)
    np.testing.assert_array_equal(found.centers, expected.centers)


def test_regular_and_irregular_time_have_windows():
    for times in (np.arange(50), np.sort(np.random.default_rng(0).normal(size=50))):
        assert isinstance(find_neighborhoods(positions_of(times, np.zeros(50)), 7), TimeWindows)


def test_a_pile_of_equal_times_has_none():
    assert isinstance(find_neighborhoods(positions_of([0] * 9 + [1, 2], np.zeros(11)), 3), Neighborhoods)


def test_rows_out_of_order_have_none():
    positions = read_positions(np.array([3.0, 1, 2, 0, 4]), 5, metric="time")
    assert isinstance(find_neighborhoods(positions, 3), Neighborhoods)


@pytest.mark.parametrize(
    ("covariance", "weights"),
    [
        *itertools.product(
            ["graphical_lasso", "ledoit_wolf", "oas", "empirical"],
            ["uniform", "epanechnikov", "triangular", "gaussian"],
        ),
        ("min_cov_det", "uniform"),
    ],
)
def test_models_on_windows_are_those_on_tables(weights, covariance):
    rng = np.random.default_rng(1)
    positions = positions_of(np.cumsum(rng.exponential(size=90)), np.repeat([0, 1, 2], [60, 5, 25]))
    X = rng.normal(size=(90, 3))
    windows, table = find_neighborhoods(positions, 8, weights=weights), by_tree(positions, 8, weights=weights)
    assert isinstance(windows, TimeWindows)
    assert isinstance(table, Neighborhoods)
    np.testing.assert_array_equal(windows.weights, table.weights)
    found, expected = (fit_local_models(X, near, covariance=covariance) for near in (windows, table))
    assert found.failures == expected.failures
    assert list(found.failures) == [60, 61, 62, 63, 64]
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.covariances, expected.covariances, rtol=1e-6, atol=1e-8)


def test_groups_all_too_small_leave_no_model():
    positions = positions_of(np.arange(6), [0, 0, 1, 1, 2, 2])
    models = fit_local_models(np.ones((6, 2)), find_neighborhoods(positions, 10))
    assert len(models.failures) == 6
    assert np.isnan(models.means).all()


def test_windows_survive_a_file(tmp_path):
    windows = find_neighborhoods(positions_of(np.arange(30), np.zeros(30)), 4, weights="gaussian")
    windows.save(tmp_path / "windows")
    again = load(tmp_path / "windows")
    assert isinstance(again, TimeWindows)
    np.testing.assert_array_equal(again.indices, windows.indices)
    np.testing.assert_array_equal(again.weights, windows.weights)


@pytest.mark.parametrize(
    ("times", "starts", "kind"),
    [(5, [0, 0, 1, 2, 4], "uniform"), (4, [0, 0], "uniform"), (3, [0, -2, 0], "uniform"), (3, [0, 0, 0], "square")],
)
def test_windows_that_do_not_fit_are_refused(times, starts, kind):
    with pytest.raises(ValueError, match=r"starts|weights"):
        TimeWindows(np.arange(float(times)), np.array(starts), 3, kind)


@pytest.mark.parametrize("weights", ["uniform", "triangular"])
@pytest.mark.parametrize("covariance", ["graphical_lasso", "ledoit_wolf"])
def test_some_windows_give_the_models_that_all_give_to_the_last_bit(tmp_path, weights, covariance):
    rng = np.random.default_rng(1)
    positions = positions_of(rng.normal(size=90), np.arange(90) // 44)  # the last group has two
    windows, X = find_neighborhoods(positions, 7, weights=weights), rng.normal(size=(90, 3))
    rows = np.array([3, 4, 5, 40, 89, 60])
    windows.take(rows).save(tmp_path / "some")
    models = fit_local_models(X, windows, covariance=covariance).take(rows)
    for some in (windows.take(rows), windows.take(np.arange(2, 90)).take(rows - 2), load(tmp_path / "some")):
        assert len(some) == 6
        np.testing.assert_array_equal(some.centers, rows)
        np.testing.assert_array_equal(some.indices, windows.indices[rows])
        np.testing.assert_array_equal(some.distances, windows.distances[rows])
        np.testing.assert_array_equal(some.weights, windows.weights[rows])
        np.testing.assert_array_equal(some.complete, [True] * 4 + [False, True])
        found = fit_local_models(X, some, covariance=covariance)
        np.testing.assert_array_equal(found.covariances, models.covariances)
        assert found.failures == models.failures


@pytest.mark.parametrize("rows", [[5], [-1], [[0, 1]]])
def test_windows_of_rows_that_are_not_there_are_refused(rows):
    with pytest.raises(ValueError, match="rows must be a list of rows from 0 to 4"):
        TimeWindows(np.arange(5.0), np.zeros(5, dtype=np.int64), 3, rows=np.array(rows))
