"""The census of pairs by a tree over the positions, against that of the table of distances."""

import numpy as np
import pytest

from builders.work import on_threads
from mcgta import read_positions
from mcgta.positions.metrics import SpaceTime
from mcgta.stages import compare_features, empirical_semivariogram
from mcgta.stages.semivariogram import census
from mcgta.stages.semivariogram.binning import bin_of, make_edges
from mcgta.stages.semivariogram.census import TableCensus, take_census
from mcgta.stages.semivariogram.tree_census import TreeCensus

KINDS = [
    "line",
    "plane",
    "space",
    "grid",
    "few places",
    "clumps",
    "groups",
    "sphere",
    "sphere and time",
    "plane and time",
]


def places(kind, count, seed=0):
    """Positions of every kind that has coordinates."""
    rng = np.random.default_rng(seed)
    degrees = np.column_stack([rng.uniform(-180, 180, count), np.degrees(np.arcsin(rng.uniform(-1, 1, count)))])
    match kind:
        case "line" | "plane" | "space":
            return read_positions(
                rng.random((count, {"line": 1, "plane": 2, "space": 3}[kind])), count, metric="euclidean"
            )
        case "grid":
            side = int(np.ceil(np.sqrt(count)))
            return read_positions(0.1 * np.argwhere(np.ones((side, side)))[:count] + 1e3, count)
        case "few places":
            return read_positions(rng.integers(0, 7, (count, 2)).astype(float), count)
        case "clumps":
            return read_positions(
                rng.normal(size=(9, 2))[rng.integers(0, 9, count)] + 1e-3 * rng.normal(size=(count, 2)), count
            )
        case "groups":
            return read_positions(rng.random((count, 2)), count, groups=np.minimum(rng.integers(0, 30, count), 12))
        case "sphere":
            return read_positions(degrees, count, metric="haversine")
        case "sphere and time":
            table = np.column_stack([degrees, rng.random(count)])
            return read_positions(table, count, metric=SpaceTime(2e7, "haversine"))
    return read_positions(rng.random((count, 3)), count, metric=SpaceTime(0.5))


def agree(positions, edges, points):
    """Compare the two."""
    tree, table = (
        on_threads(2, lambda kind=kind: kind(positions, edges, points)) for kind in (TreeCensus, TableCensus)
    )
    np.testing.assert_array_equal(tree.counts, table.counts)
    np.testing.assert_allclose(tree.squares, table.squares, rtol=1e-9)
    np.testing.assert_allclose(tree.lags, table.lags, rtol=3e-6)
    return tree


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [3, 40, 2500])
def test_a_tree_counts_what_a_table_counts(kind, count):
    positions = places(kind, count, seed=count)
    points = np.random.default_rng(1).normal(size=(count, 4)) + positions.coordinates[:, :1] / 50
    points -= points.mean(axis=0)
    largest = 2 * make_edges(positions, 1, None)[-1]
    agree(positions, make_edges(positions, 25, None), points)
    agree(positions, np.linspace(0, largest, 6), points)
    agree(positions, largest * np.array([0.1, 0.11, 0.5]), points)


def test_pairs_at_an_edge_to_the_last_digit_are_counted_like_those_of_the_table():
    positions = places("grid", 1600)
    points = np.random.default_rng(1).normal(size=(1600, 2))
    agree(positions, 0.1 * np.array([0, 1, 2**0.5, 2, 5**0.5, 3, 5, 10, 13]), points)
    agree(places("few places", 3000), np.array([0, 1, 2**0.5, 2, 3, 5.0]), np.repeat(points, 2, axis=0)[:3000])


def test_one_wide_bin_has_the_mean_distance_of_all_pairs():
    positions = places("plane", 2500)
    agree(positions, np.array([0, 10.0]), np.zeros((2500, 1)) + np.arange(2500.0)[:, None])


@pytest.mark.parametrize("kind", KINDS)
def test_every_pair_has_one_rank(kind):
    positions = places(kind, 300)
    edges = make_edges(positions, 7, None)
    census = TreeCensus(positions, edges, np.zeros((300, 1)))
    i, j = census.draw([np.arange(count) for count in census.counts])
    bins = np.repeat(np.arange(7), census.counts)
    np.testing.assert_array_equal(bin_of(positions.of_pairs(i, j), edges, positions.rounding), bins)
    assert len({*zip(np.minimum(i, j).tolist(), np.maximum(i, j).tolist(), strict=True)}) == bins.size
    assert (i != j).all()


def test_samples_are_even_over_the_pairs_of_a_bin():
    positions = places("plane", 60)
    edges = make_edges(positions, 4, None)
    census = TreeCensus(positions, edges, np.zeros((60, 1)))
    rng = np.random.default_rng(3)
    size = 20 * census.counts
    i, j = census.draw([np.sort(rng.integers(0, count, 20 * count)) for count in census.counts])
    for part in np.split(np.arange(size.sum()), np.cumsum(size)[:-1]):
        _, seen = np.unique(np.sort(np.column_stack([i[part], j[part]]), axis=1), axis=0, return_counts=True)
        expected = part.size // 20
        statistic = ((seen - 20) ** 2).sum() / 20 + 20 * (expected - seen.size)
        assert abs(statistic - expected) < 5 * np.sqrt(2 * expected)


@pytest.mark.parametrize("kind", ["plane", "groups", "sphere"])
def test_a_tree_gives_the_same_bits_for_any_number_of_threads(kind, monkeypatch):
    monkeypatch.setattr("mcgta.stages.semivariogram.tree_census._TASK_OPERATIONS", 1e5)
    positions = places(kind, 1500)
    edges = make_edges(positions, 10, None)
    points = np.random.default_rng(5).normal(size=(1500, 3))
    one, two = (on_threads(n_jobs, lambda: TreeCensus(positions, edges, points)) for n_jobs in (1, 2))
    assert len(one._tasks) > 5
    np.testing.assert_array_equal(one.squares, two.squares)
    np.testing.assert_array_equal(one.lags, two.lags)
    ranks = [np.arange(0, count, 7) for count in one.counts]
    np.testing.assert_array_equal(one.draw(ranks), two.draw(ranks))
    agree(positions, edges, points)


def test_many_observations_with_coordinates_are_counted_by_a_tree(monkeypatch):
    positions, X = places("plane", 3200), np.random.default_rng(4).normal(size=(3200, 3)) + 2
    edges = make_edges(positions, 10, None)
    assert isinstance(take_census(positions, edges, X), TreeCensus)
    told = []
    take_census(positions, edges, X, advance=told.append)
    assert sum(told) == census.census_steps(positions, edges)
    found = empirical_semivariogram(compare_features(X), positions)
    monkeypatch.setattr(census, "TABLE_CENSUS_ROWS", 10**9)
    assert isinstance(take_census(positions, edges, X), TableCensus)
    expected = empirical_semivariogram(compare_features(X), positions)
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-165, 1e-150, 1e100])
def test_positions_in_any_unit_are_counted_alike(unit):
    positions = read_positions(unit * np.random.default_rng(0).random((400, 2)), 400)
    table = TableCensus(positions, unit * np.linspace(0, 1, 9), np.zeros((400, 1)))
    np.testing.assert_array_equal(
        TreeCensus(positions, unit * np.linspace(0, 1, 9), np.zeros((400, 1))).counts, table.counts
    )
