"""Stage 1 and lag stacking, against a full sort of all distances."""

import itertools

import numpy as np
import pytest

from mcgta.positions.metrics import SpaceTime
from mcgta.positions.reading import read_positions
from mcgta.stages.lags import stack_lags
from mcgta.stages.neighborhoods import find_neighborhoods
from naive import algorithm as naive

ROUNDING = 1e-13  # of the coordinates' size: what a difference of two of them may lose


def agree(positions, table, coordinates, n, *, rounding=0.0, of=None):
    """Compare the neighbourhoods found with those of a full sort."""
    found = find_neighborhoods(positions, n, of=of)
    for row, center in enumerate(range(len(positions)) if of is None else of):
        expected = naive.neighbours(center, table, coordinates, n, rounding)
        if expected is None:
            assert not found.complete[row]
            assert np.isnan(found.distances[row]).all()
        else:
            assert found.indices[row].tolist() == expected, f"row {center}"
            np.testing.assert_allclose(found.distances[row], table[center][expected], rtol=1e-9, atol=1e-6)
    return found


@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_neighbours_agree_with_a_full_sort_in_a_flat_space(p, n):
    places = np.random.default_rng(10 * p + n).normal(size=(60, p))
    positions = read_positions(places, 60, metric="time" if p == 1 else "euclidean")
    agree(positions, naive.distance_table(places), places, n)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_neighbours_agree_with_a_full_sort_on_the_sphere(n):
    rng = np.random.default_rng(n)
    lat = np.degrees(np.arcsin(rng.uniform(-1, 1, 60)))
    places = np.column_stack([rng.uniform(-180, 180, 60), lat])
    places = np.concatenate([places, [[0, 90], [3, -89.9], [-170, -89.9], [-180, 1], [179.9, 1.3], [-179.7, 1.2]]])
    positions = read_positions(places, len(places), metric="haversine")
    agree(positions, naive.distance_table(places, naive.great_circle), positions.coordinates, n, rounding=1e-8)


def test_neighbours_reach_across_the_date_line_and_over_the_pole():
    line = np.array([[179.0, 0], [-179.0, 0], [175.0, 0], [-100.0, 0]])
    assert find_neighborhoods(read_positions(line, 4, metric="haversine"), 2).indices[0].tolist() == [0, 1]
    pole = np.array([[10.0, 89], [-170.0, 88], [10.0, 80], [40.0, 80]])
    assert find_neighborhoods(read_positions(pole, 4, metric="haversine"), 2).indices[0].tolist() == [0, 1]


@pytest.mark.parametrize("space", ["euclidean", "haversine"])
def test_neighbours_agree_with_a_full_sort_in_space_and_time(space):
    rng = np.random.default_rng(8)
    places = np.column_stack([rng.uniform(-1, 1, (50, 2)), rng.uniform(0, 50, 50)])
    scale = 0.05 if space == "euclidean" else 3000.0
    measure = naive.euclidean if space == "euclidean" else naive.great_circle
    positions = read_positions(places, 50, metric=SpaceTime(scale, space))
    table = naive.distance_table(places, lambda a, b: naive.spacetime(a, b, scale, measure))
    agree(positions, table, places, 6)


@pytest.mark.parametrize("spacing", [1.0, 0.1, 1e-5])
@pytest.mark.parametrize("shift", [0.0, 0.7, 1000.3])
@pytest.mark.parametrize("n", [2, 4, 6, 9, 13])
def test_ties_on_a_grid_go_to_the_earlier_coordinates(spacing, shift, n):
    cells = np.array(list(itertools.product(range(6), range(5))))
    places = spacing * cells + shift
    positions = read_positions(places, 30, metric="euclidean")
    agree(positions, spacing * naive.distance_table(cells), cells, n, rounding=ROUNDING * (shift + 6 * spacing))


@pytest.mark.parametrize("n", [2, 3, 8])
def test_ties_on_a_cube_and_on_a_line_go_to_the_earlier_coordinates(n):
    cube = np.array(list(itertools.product(range(3), repeat=3)), dtype=float)
    agree(read_positions(cube, 27), naive.distance_table(cube), cube, n)
    line = 0.1 * np.arange(40)[:, None]
    exact = 0.1 * naive.distance_table(np.arange(40)[:, None])
    agree(read_positions(line, 40), exact, line, n, rounding=ROUNDING)


def test_among_ties_at_one_place_the_earlier_row_comes_first():
    places = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]], [40, 1, 4], axis=0)
    positions = read_positions(places, 45, metric="euclidean")
    for n in (2, 5, 39, 41, 44):
        agree(positions, naive.distance_table(places), places, n)


def test_distances_within_a_billionth_are_tied_and_no_others():
    for excess, chosen in ((1e-10, 0), (1e-7, 2)):
        line = np.array([[-1 - excess], [0.0], [1.0]])
        found = agree(read_positions(line, 3), naive.distance_table(line), line, 2)
        assert found.indices[1].tolist() == sorted([1, chosen])


@pytest.mark.parametrize("n", [2, 3, 20])
def test_more_ties_than_the_search_first_looks_at_are_all_considered(n):
    angles = np.random.default_rng(n).permutation(np.arange(64)) * np.pi / 32
    places = np.concatenate([[[0.0, 0.0]], np.column_stack([np.cos(angles), np.sin(angles)])])
    agree(read_positions(places, 65), naive.distance_table(places), places, n, rounding=1e-14, of=np.array([0, 0]))


@pytest.mark.parametrize("metric", ["euclidean", "haversine"])
def test_rows_in_any_order_have_the_same_neighbours(metric):
    rng = np.random.default_rng(21)
    places = np.array(list(itertools.product(range(5), range(5))), dtype=float) * (1 if metric == "euclidean" else 0.1)
    mixed = rng.permutation(25)
    straight = find_neighborhoods(read_positions(places, 25, metric=metric), 4).indices
    shuffled = find_neighborhoods(read_positions(places[mixed], 25, metric=metric), 4).indices
    assert [sorted(mixed[row]) for row in shuffled] == straight[mixed].tolist()


def test_irregular_times_with_gaps_and_groups_agree_with_a_full_sort():
    rng = np.random.default_rng(4)
    times = np.cumsum(np.where(rng.random(70) < 0.1, 50.0, rng.exponential(1.0, 70)))
    groups = rng.choice(["a", "b", "c"], 70, p=[0.55, 0.4, 0.05])
    positions = read_positions(times, 70, groups=groups)
    found = agree(positions, naive.distance_table(times[:, None], groups=groups), times[:, None], 9)
    assert found.complete.tolist() == [(groups == g).sum() >= 9 for g in groups]


def test_precomputed_distances_agree_with_a_full_sort_and_break_ties_by_row():
    rng = np.random.default_rng(6)
    table = np.triu(rng.integers(1, 6, (30, 30)).astype(float), 1)
    table = table + table.T
    agree(read_positions(table, 30, metric="precomputed"), table, np.zeros((30, 0)), 5)


def test_a_callable_metric_agrees_with_a_full_sort():
    def manhattan(a, b):
        return float(abs(a - b).sum())

    places = np.random.default_rng(9).integers(0, 6, (40, 3)).astype(float)
    agree(read_positions(places, 40, metric=manhattan), naive.distance_table(places, manhattan), places, 6)


def test_neighbourhoods_of_some_rows_draw_on_all_rows():
    places = np.random.default_rng(2).normal(size=(50, 2))
    positions = read_positions(places, 50)
    agree(positions, naive.distance_table(places), places, 8, of=np.array([3, 49, 17, 3]))


@pytest.mark.parametrize("kind", ["uniform", "epanechnikov", "triangular", "gaussian"])
@pytest.mark.parametrize("n", [1, 2, 10])
def test_kernel_weights_agree_with_their_formula(kind, n):
    rng = np.random.default_rng(n)
    places = np.concatenate([rng.normal(size=(30, 2)), np.zeros((12, 2))])
    found = find_neighborhoods(read_positions(places, 42), n, weights=kind)
    for row in range(42):
        np.testing.assert_allclose(found.weights[row], naive.kernel_weights(found.distances[row], kind), rtol=1e-12)


@pytest.mark.parametrize("lags", [0, 1, 3, 30])
def test_lags_in_time_are_the_predecessors_of_the_same_series(lags):
    rng = np.random.default_rng(lags)
    X, times, groups = rng.normal(size=(25, 2)), rng.permutation(25) * 1.5, rng.integers(0, 3, 25)
    found = stack_lags(X, read_positions(times, 25, groups=groups), lags)
    np.testing.assert_array_equal(found, naive.stack_lags_in_time(X, times, groups, lags))


@pytest.mark.parametrize("lags", [1, 4])
@pytest.mark.parametrize("metric", ["euclidean", "haversine"])
def test_lags_in_space_are_the_nearest_neighbours_in_turn(lags, metric):
    rng = np.random.default_rng(lags)
    X, places = rng.normal(size=(30, 3)), rng.uniform(-80, 80, (30, 2))
    measure = naive.euclidean if metric == "euclidean" else naive.great_circle
    found = stack_lags(X, read_positions(places, 30, metric=metric), lags)
    np.testing.assert_array_equal(found, naive.stack_lags_in_space(X, naive.distance_table(places, measure), lags))


def test_an_observation_that_reaches_too_few_others_has_no_neighbourhood():
    table = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    table[0, 1:] = table[1:, 0] = np.inf
    near = find_neighborhoods(read_positions(table, 8, metric="precomputed"), 3)
    np.testing.assert_array_equal(near.complete, np.arange(8) > 0)
    np.testing.assert_array_equal(near.indices[3], [2, 3, 4])


@pytest.mark.parametrize("spacing", [0.1, 1.0, 3.7])
def test_lags_on_a_grid_do_not_depend_on_its_spacing(spacing):
    grid = np.array(list(itertools.product(range(5), range(5))), dtype=float)
    X = np.arange(25.0)[:, None]
    expected = stack_lags(X, read_positions(grid, 25), 4)
    np.testing.assert_array_equal(stack_lags(X, read_positions(spacing * grid + 100, 25), 4), expected)
