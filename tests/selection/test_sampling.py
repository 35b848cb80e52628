"""Samples of observations, and the nearest of a sample to each observation."""

import numpy as np
import pytest

from mcgta.positions.reading import read_positions
from mcgta.selection.sampling import PIECE_ROWS, nearest_rows, sample_rows


def test_few_observations_are_all_taken():
    places = read_positions(None, 300)
    rows, same = sample_rows(places, 0, most=300)
    assert rows.tolist() == list(range(300))
    assert same is places


def test_samples_of_series_are_whole_pieces_spread_evenly_each_a_group():
    places = read_positions(None, 20 * PIECE_ROWS)
    rows, part = sample_rows(places, 0, most=100, size=5 * PIECE_ROWS)
    firsts = rows.reshape(-1, PIECE_ROWS)[:, 0]
    np.testing.assert_array_equal(rows, (firsts[:, None] + np.arange(PIECE_ROWS)).ravel())
    assert (firsts % PIECE_ROWS == 0).all()
    assert (firsts[0], firsts[-1]) == (0, 19 * PIECE_ROWS)
    assert firsts.size == 5
    assert np.ptp(np.diff(firsts)) <= PIECE_ROWS
    np.testing.assert_array_equal(part.groups, np.repeat(np.arange(5), PIECE_ROWS))
    np.testing.assert_array_equal(part.coordinates, places.coordinates[rows])


def test_pieces_do_not_reach_from_one_series_into_the_next():
    places = read_positions(None, 3000, groups=np.arange(3000) // 100)
    rows, part = sample_rows(places, 0, most=100, size=500)
    assert 400 <= rows.size <= 600
    for code in np.unique(part.groups):
        inside = rows[part.groups == code]
        assert np.unique(places.groups[inside]).size == 1
        assert inside.size == 100


def test_samples_elsewhere_are_places_at_random_by_a_seed():
    places = read_positions(np.random.default_rng(0).uniform(size=(900, 2)), 900)
    rows, part = sample_rows(places, 3, most=100, size=200)
    assert np.unique(rows).size == 200
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(part.coordinates, places.coordinates[rows])
    np.testing.assert_array_equal(sample_rows(places, 3, most=100, size=200)[0], rows)
    assert not np.array_equal(sample_rows(places, 4, most=100, size=200)[0], rows)


def places_of_many_kinds():
    rng = np.random.default_rng(1)
    plane, groups = rng.uniform(size=(60, 2)), np.arange(60) // 20
    table = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    yield "time", read_positions(np.cumsum(rng.exponential(size=60)), 60)
    yield "time in groups", read_positions(np.tile(np.arange(20.0), 3), 60, groups=groups)
    yield "plane", read_positions(plane, 60)
    yield "plane in groups", read_positions(plane, 60, groups=groups)
    yield "table", read_positions(table, 60, metric="precomputed")
    yield "table in groups", read_positions(table, 60, metric="precomputed", groups=groups)
    yield "globe", read_positions(plane * [360, 160] - [180, 80], 60, metric="haversine")


PLACES = dict(places_of_many_kinds())


@pytest.mark.parametrize("name", PLACES)
def test_the_nearest_row_is_the_nearest_of_the_group(name):
    places, rows = PLACES[name], np.array([3, 4, 5, 20, 21, 22, 40, 41])
    found = nearest_rows(places, rows)
    for i in range(60):
        away = [float(places.of_pairs(i, j)) for j in rows]
        assert away[found[i]] == pytest.approx(min(away))


@pytest.mark.parametrize("name", ["time in groups", "plane in groups", "table in groups"])
def test_groups_without_any_row_get_one_of_another(name):
    found = nearest_rows(PLACES[name], np.array([3, 4, 5, 40, 41]))
    assert ((found >= 0) & (found < 5)).all()
