"""The semivariogram of many observations: the census of pairs, the sample, and its standard error."""

import numpy as np
import pytest

from builders.work import on_threads
from mcgta import read_positions
from mcgta.positions.extent import extent
from mcgta.stages import LocalModels, compare_features, compare_models, empirical_semivariogram
from mcgta.stages.semivariogram import empirical
from mcgta.stages.semivariogram.binning import make_edges
from mcgta.stages.semivariogram.census import TableCensus, TimeCensus, take_census
from naive import algorithm as naive

KINDS = ["time", "gaps", "series", "plane", "sphere", "table"]


def places(kind, count, seed=0):
    """Positions of every kind."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.choice([0.25, 0.5, 1.0, 7.25], count))
    match kind:
        case "time":
            return read_positions(None, count)
        case "gaps":
            return read_positions(rng.permutation(steps), count)
        case "series":
            return read_positions(steps, count, groups=rng.integers(0, 3, count))
        case "plane":
            return read_positions(rng.integers(0, 12, (count, 2)).astype(float), count)
        case "sphere":
            return read_positions(rng.uniform([-180, -80], [180, 80], (count, 2)), count, metric="haversine")
    points = rng.normal(size=(count, 3))
    return read_positions(
        np.linalg.norm(points[:, None] - points[None], axis=2), count, metric="precomputed", groups=np.arange(count) % 2
    )


def models(count, d, seed=0):
    """Local models that drift along the rows."""
    rng = np.random.default_rng(seed)
    drift = np.cumsum(rng.normal(size=(count, d)), axis=0) / 8
    roots = np.eye(d) * (1.2 + np.sin(np.arange(count) / 40))[:, None, None] + 0.2 * rng.normal(size=(count, d, d))
    return LocalModels(drift, roots @ np.swapaxes(roots, 1, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_a_census_counts_measures_and_lists_the_pairs_of_every_bin(kind):
    positions = places(kind, 75)
    points = np.random.default_rng(1).normal(size=(75, 4)) + 1e3
    edges = make_edges(positions, 9, None)
    census = take_census(positions, edges, points)
    table = positions.between(slice(None), slice(None))
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    lags, half, counts = naive.empirical_semivariogram(squares, table, edges)
    np.testing.assert_array_equal(census.counts, counts)
    np.testing.assert_allclose(census.lags, lags, rtol=1e-10)
    np.testing.assert_allclose(census.squares, 2 * half, rtol=1e-10)
    i, j = census.draw([np.arange(count) for count in counts])
    found = [
        (k, *sorted(pair)) for k, pair in zip(np.repeat(np.arange(9), counts), zip(i, j, strict=True), strict=True)
    ]
    expected = [
        (k, a, b) for a in range(75) for b in range(a + 1, 75) if (k := naive.bin_of(table[a, b], edges)) is not None
    ]
    assert sorted(found) == sorted(expected)


def test_a_census_along_time_is_that_of_the_table_of_distances():
    positions = places("series", 400)
    points = np.random.default_rng(2).normal(size=(400, 3))
    edges = make_edges(positions, 20, None)
    one, two = (kind(positions, edges, points) for kind in (TimeCensus, TableCensus))
    np.testing.assert_array_equal(one.counts, two.counts)
    np.testing.assert_allclose(one.lags, two.lags, rtol=1e-10)
    np.testing.assert_allclose(one.squares, two.squares, rtol=1e-10)


@pytest.mark.parametrize("kind", ["plane", "time"])
def test_ranks_that_are_asked_for_twice_come_twice(kind):
    positions = places(kind, 60)
    census = take_census(positions, make_edges(positions, 5, None), np.zeros((60, 1)))
    i, j = census.draw([np.array([0, 0, 3, 3, 3]), *[np.empty(0, dtype=np.int64)] * 3, np.array([7, 7])])
    assert i.size == j.size == 7
    assert len({*zip(i.tolist(), j.tolist(), strict=True)}) == 3


@pytest.fixture
def sampling(monkeypatch):
    """Sample from 100 observations on."""
    monkeypatch.setattr(empirical, "ALL_PAIRS_ROWS", 100)


@pytest.mark.parametrize("kind", ["time", "series", "plane", "sphere"])
@pytest.mark.parametrize("d", [2, 5])
def test_a_sample_gives_the_curve_of_all_pairs_within_its_standard_error(sampling, kind, d):
    positions, compared = places(kind, 900), compare_models(models(900, d))
    exact = empirical_semivariogram(compared, positions, error=0.0, bins=12)
    assert (exact.errors[exact.counts > 0] == 0).all()
    scores = []
    for seed in range(12):
        found = empirical_semivariogram(compared, positions, bins=12, random_state=seed)
        np.testing.assert_array_equal(found.counts, exact.counts)
        np.testing.assert_allclose(found.lags, exact.lags, rtol=1e-9)
        sampled = found.errors > 0
        assert sampled.any()
        assert (found.errors[sampled] <= 1.05e-3 * found.values[sampled]).all()
        scores.append(((found.values - exact.values) / np.where(sampled, found.errors, np.nan))[sampled])
    scores = np.concatenate(scores)
    assert np.abs(scores).max() < 5.5
    assert np.mean(np.abs(scores) > 2) < 0.12
    assert abs(scores.mean()) < 0.5


@pytest.mark.parametrize("kind", ["kl", "js"])
def test_other_dissimilarities_are_sampled_too(sampling, kind):
    positions, compared = places("time", 400), compare_models(models(400, 2), kind)
    exact = empirical_semivariogram(compared, positions, error=0.0, bins=6)
    found = empirical_semivariogram(compared, positions, bins=6, error=0.2)
    sampled = found.errors > 0
    assert sampled.any()
    assert (np.abs(found.values - exact.values)[sampled] < 5 * found.errors[sampled]).all()


@pytest.mark.parametrize("kind", ["euclidean", "cosine"])
def test_dissimilarities_of_features_need_no_sample(sampling, kind):
    positions, X = places("plane", 500), np.random.default_rng(4).normal(size=(500, 3)) + 2
    compared = compare_features(X, kind)
    found, exact = (empirical_semivariogram(compared, positions, error=error) for error in (1e-3, 0.0))
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-9)
    assert np.nanmax(found.errors) == 0


def test_a_smaller_error_takes_more_pairs_and_is_kept(sampling):
    positions, compared = places("time", 1500), compare_models(models(1500, 3))
    rough, fine = (empirical_semivariogram(compared, positions, error=error, bins=10) for error in (1e-2, 3e-4))
    exact = empirical_semivariogram(compared, positions, error=0.0, bins=10)
    assert np.nanmedian(fine.errors) < np.nanmedian(rough.errors)
    off = np.abs(fine.values / exact.values - 1)
    assert np.median(off) <= 3e-4


@pytest.mark.parametrize("kind", ["series", "plane"])
def test_the_sample_is_the_same_for_any_number_of_threads_and_differs_by_seed(sampling, kind):
    positions, compared = places(kind, 700), compare_models(models(700, 4))
    one, two, four = (on_threads(n, lambda: empirical_semivariogram(compared, positions)) for n in (1, 2, 4))
    other = empirical_semivariogram(compared, positions, random_state=1)
    for found in (two, four):
        np.testing.assert_array_equal(found.values, one.values)
        np.testing.assert_array_equal(found.errors, one.errors)
    assert (other.values != one.values).any()


def test_identical_models_have_a_flat_zero_curve(sampling):
    same = LocalModels(np.zeros((300, 2)), np.tile(np.eye(2), (300, 1, 1)))
    found = empirical_semivariogram(compare_models(same), places("time", 300))
    assert np.nanmax(found.values) < 1e-12


def test_a_negative_error_is_refused():
    with pytest.raises(ValueError, match=r"error=-0.1 must be >= 0"):
        empirical_semivariogram(compare_models(models(30, 2)), places("time", 30), error=-0.1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 40, 1200])
def test_the_largest_distance_is_found_without_measuring_all(kind, count):
    positions = places(kind, count, seed=count)
    table = positions.between(slice(None), slice(None))
    finite = table[np.isfinite(table) & (table > 0)]
    if finite.size == 0:
        return
    least, largest = extent(positions)
    assert largest == finite.max()
    assert max(largest / 2, least) == max(finite.max() / 2, finite.min())


@pytest.mark.parametrize("kind", ["wasserstein2", "euclidean"])
def test_series_on_different_levels_cost_no_digits(sampling, kind):
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 200)
    positions = read_positions(np.tile(np.arange(200.0), 3), 600, groups=groups)
    level = 1e6 * groups[:, None]
    few = models(600, 3)
    if kind == "euclidean":
        compared = compare_features(0.01 * rng.normal(size=(600, 3)) + level)
    else:
        compared = compare_models(LocalModels(0.01 * few.means + level, 1e-4 * few.covariances))
    found, exact = (empirical_semivariogram(compared, positions, bins=8, error=error) for error in (1e-3, 0.0))
    assert (np.abs(found.values / exact.values - 1) <= 5 * found.errors / found.values + 1e-6).all()


def test_a_long_trend_with_tiny_differences_is_sampled_without_the_census(sampling):
    X = np.random.default_rng(0).normal(size=(900, 2)) * 1e-7 + np.arange(900.0)[:, None] ** 2
    compared, positions = compare_features(X), places("time", 900)
    found, exact = (empirical_semivariogram(compared, positions, bins=[0, 1.5, 3, 400], error=e) for e in (1e-9, 0.0))
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-6, atol=5 * np.nanmax(found.errors))


def test_no_pair_within_reach_is_said_plainly(sampling):
    with pytest.raises(ValueError, match=r"no pair of observations lies within max_lag=0\.001"):
        empirical_semivariogram(compare_models(models(300, 2)), places("time", 300), max_lag=1e-3)


@pytest.mark.parametrize("kind", ["time", "gaps", "series", "plane", "sphere"])
def test_the_first_bin_of_many_observations_is_within_reach_of_a_few_neighbours(kind):
    if kind == "plane":
        positions = read_positions(np.random.default_rng(0).uniform(0, 9, (60_000, 2)), 60_000)
    else:
        positions = places(kind, 60_000)
    edges = make_edges(positions, 40, None)
    assert (np.diff(edges) > 0).all()
    assert edges[-1] == extent(positions)[1] / 2
    some = np.arange(0, 60_000, 3000)
    eighth = np.partition(positions.between(some, np.arange(60_000)), 8, axis=1)[:, 8]
    assert edges[1] <= 1.5 * np.median(eighth)
    given = make_edges(positions, 40, float(edges[-1]))
    np.testing.assert_allclose(given, edges[-1] * (np.arange(41) / 40) ** 2)


def test_bins_do_not_depend_on_the_unit_of_many_positions():
    times = np.cumsum(np.random.default_rng(0).exponential(size=50_000))
    seconds, hours = (make_edges(read_positions(times * scale, 50_000), 40, None) for scale in (3600.0, 1.0))
    np.testing.assert_allclose(seconds, 3600 * hours, rtol=1e-9)
