"""Regions by cutting a spanning tree, against spopt."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score, pairwise

from mcgta.baselines.skater import SKATER, contiguity, nearest_pair, spanning_tree
from mcgta.clustering.labels import number_by_first_member
from mcgta.positions.metrics import SpaceTime
from mcgta.positions.reading import read_positions


def read(positions: Any, groups: Any = None, metric: str = "auto") -> Any:
    return read_positions(positions, len(positions), groups=groups, metric=metric)


def spopt_labels(X: Any, positions: Any, n_clusters: int, n_neighbors: int, floor: int) -> Any:
    """spopt's regions of the same graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from libpysal.weights import W
        from spopt.region.skater import SpanningForest

        i, j = contiguity(read(positions), n_neighbors)
        neighbors: dict[int, list[int]] = {row: [] for row in range(len(X))}
        for a, b in zip(i.tolist(), j.tolist(), strict=True):
            neighbors[a].append(b)
            neighbors[b].append(a)

        def squares(a: Any, b: Any) -> Any:
            return pairwise.euclidean_distances(a, b, squared=True)

        return SpanningForest(dissimilarity=squares).fit(n_clusters, W(neighbors), X, quorum=floor).current_labels_


@pytest.mark.parametrize("floor", [1, 8])
@pytest.mark.parametrize(("features", "n_neighbors"), [(1, 3), (2, 8), (5, 5)])
def test_regions_are_those_of_spopt(features: int, n_neighbors: int, floor: int) -> None:
    rng = np.random.default_rng(features)
    positions = rng.uniform(0, 10, (80, 2))
    X = rng.normal(size=(80, features)) + 2.0 * (positions[:, :1] > 5)
    ours = SKATER(5, n_neighbors, floor=floor).fit(X, positions=positions).labels_
    theirs = spopt_labels(X, positions, 5, n_neighbors, floor)
    np.testing.assert_array_equal(ours, number_by_first_member(np.asarray(theirs, dtype=np.int64)))


def test_four_quarters_of_a_map_are_found() -> None:
    rng = np.random.default_rng(1)
    positions = rng.uniform(-1, 1, (600, 2))
    truth = 2 * (positions[:, 0] > 0) + (positions[:, 1] > 0)
    X = rng.normal(0, 0.3, (600, 2)) + np.array([[0, 0], [4, 0], [0, 4], [4, 4]])[truth]
    assert adjusted_rand_score(truth, SKATER(4).fit(X, positions=positions).labels_) > 0.98


def test_regions_are_connected_and_not_smaller_than_the_floor(plane: Any) -> None:
    labels = SKATER(6, 4, floor=9).fit(plane.X, positions=plane.positions).labels_
    assert np.bincount(labels).size == 6
    assert np.bincount(labels).min() >= 9
    i, j = contiguity(read(plane.positions), 4)
    graph = spanning_tree(plane.X, i, j)
    for k in range(6):
        rows = np.flatnonzero(labels == k)
        assert connected_components(graph[rows][:, rows], directed=False)[0] == 1


@pytest.mark.parametrize("metric", ["euclidean", "haversine", "precomputed"])
def test_islands_are_joined_by_their_nearest_pairs(metric: str) -> None:
    rng = np.random.default_rng(2)
    positions = rng.uniform(0, 1, (60, 2)) + 10.0 * np.repeat([0, 1, 3], 20)[:, None]
    places = read(positions, metric="haversine" if metric == "haversine" else "euclidean")
    table = places.between(slice(None), slice(None))
    i, j = contiguity(read(table, metric=metric) if metric == "precomputed" else places, 3)
    island = np.repeat([0, 1, 2], 20)
    bridges = sorted((int(a), int(b)) for a, b in zip(i, j, strict=True) if island[a] != island[b])
    expected = []
    for a, b in ((0, 1), (1, 2)):
        rows, cols = np.flatnonzero(island == a), np.flatnonzero(island == b)
        row, col = divmod(int(table[np.ix_(rows, cols)].argmin()), cols.size)
        expected.append((int(rows[row]), int(cols[col])))
    assert bridges == sorted(expected)


def test_rows_alike_in_features_are_still_linked() -> None:
    """A difference of zero is an edge."""
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    labels = SKATER(2, 2).fit(X, positions=np.arange(40.0)[:, None] * [1.0, 0.0]).labels_
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 20))


def test_a_floor_that_leaves_no_cut_warns_and_gives_fewer_regions() -> None:
    turn = 2 * np.pi * np.arange(5) / 5
    star = np.vstack([[0.0, 0.0], np.column_stack([np.cos(turn), np.sin(turn)])])
    X = np.arange(6.0)[:, None]
    with pytest.warns(UserWarning, match="SKATER found 1 regions, not n_clusters=2: no other cut leaves floor=2 rows"):
        model = SKATER(2, 1, floor=2).fit(X, positions=star)
    assert model.n_clusters_ == 1


def test_too_few_regions_for_the_groups_and_too_large_a_floor_are_refused(plane: Any) -> None:
    groups = np.arange(128) % 3
    with pytest.raises(ValueError, match="n_clusters=2 but there are 3 groups"):
        SKATER(2).fit(plane.X, positions=plane.positions, groups=groups)
    with pytest.raises(ValueError, match=r"floor=65 .* floor must be at most 64"):
        SKATER(2, floor=65).fit(plane.X, positions=plane.positions)


def test_rows_that_are_infinitely_far_are_never_linked() -> None:
    rng = np.random.default_rng(3)
    positions = rng.uniform(0, 10, (60, 2))
    table = np.sqrt(((positions[:, None] - positions) ** 2).sum(axis=2))
    table[table > 3] = np.inf
    table[0, 1:] = table[1:, 0] = np.inf
    sets, _ = connected_components(np.isfinite(table), directed=False)
    i, j = contiguity(read(table, metric="precomputed"), 8)
    assert np.isfinite(table[i, j]).all()
    few = np.isfinite(table).sum(axis=1) <= 8
    assert 1 < few.sum() < 60
    edges = {(int(a), int(b)) for a, b in zip(i, j, strict=True)}
    for a in np.flatnonzero(few):
        assert all((min(a, b), max(a, b)) in edges for b in np.flatnonzero(np.isfinite(table[a])) if a != b)
    X = rng.normal(size=(60, 2))
    labels = SKATER(sets, metric="precomputed").fit(X, positions=table).labels_
    assert (labels == labels[0]).sum() == 1
    with pytest.raises(
        ValueError, match=f"n_clusters={sets - 1} but there are {sets} sets of rows that are infinitely far"
    ):
        SKATER(sets - 1, metric="precomputed").fit(X, positions=table)


@pytest.mark.parametrize("metric", ["time", "euclidean", "haversine", "spacetime"])
def test_the_nearest_pair_of_two_sets_is_that_of_the_table(metric: str) -> None:
    """Across the globe and in time the chord would choose another pair."""
    rng = np.random.default_rng(4)
    options = {"time_scale": 3e6, "space": "haversine"} if metric == "spacetime" else None
    differ = 0
    for _ in range(30):
        positions = rng.uniform([-180, -60, 0], [180, 60, 9], (12, 3))
        columns = {"time": [0], "spacetime": [0, 1, 2]}.get(metric, [0, 1])
        places = read_positions(positions[:, columns], 12, metric=SpaceTime(**options) if options else metric)
        inside, outside = np.arange(2), np.arange(2, 12)
        table = places.between(inside, outside)
        i, j = nearest_pair(places, inside, outside)
        assert table.min() == table[i, j - 2]
        chords = np.sqrt(((places.points[inside, None] - places.points[outside]) ** 2).sum(axis=2))
        differ += table.flat[int(chords.argmin())] > table.min()
    assert (differ > 0) == (metric == "spacetime")
