"""DBSCAN of any relation of nearness, without lists of all neighbours.

Two rows are neighbours if they are near in each of several senses, say in features and in position. Pairs are found by a search
tree and looked at in blocks: once to count the neighbours of each row, once to connect the core rows. So memory is linear in
the rows, apart from one block of pairs, whatever the radius. Two things are left out where they cannot matter: counting, where
the few nearest of a row prove it core already, and connecting, once all core rows are connected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from mcgta.kernels.metrics import FLAT, pair_distances
from mcgta.positions import Positions
from mcgta.types import Array, Index, Labels, Mask

PAIRS = 2**21
"""Pairs that are looked at at a time; a single row may have more."""

_SLACK = 1e-9  # of a radius: trees round differently from the measure, which decides
_PROBES = 512  # rows that tell which tree has fewer candidates
_FEW = 32  # so many nearest rows are looked for one by one; more are counted


@dataclass(frozen=True, eq=False)
class Near:
    """One sense in which two rows can be near.

    Attributes
    ----------
    radius : rows at most this far apart are near
    measure : the distance of each pair (i[k], j[k])
    points : (N, q) to search, whose Euclidean distance never exceeds the measure, but for rounding; None if there are none
    """

    radius: float
    measure: Callable[[Index, Index], Array]
    points: Array | None = None


def near_features(X: Array, radius: float) -> Near:
    """Rows are near if their features are at most ``radius`` apart, in Euclidean distance."""
    points = np.ascontiguousarray(X)
    return Near(radius, lambda i, j: pair_distances(points, i, j, FLAT), points)


def near_positions(positions: Positions, radius: float) -> Near:
    """Rows are near if they are of one group and at most ``radius`` apart in position."""
    return Near(radius, positions.of_pairs, positions.points)


class Neighbors:
    """The pairs of rows that are near in every sense; a row is its own neighbour."""

    def __init__(self, senses: Sequence[Near], count: int) -> None:
        self.senses = senses
        self.count = count
        searched = [self._candidates(sense) for sense in senses if sense.points is not None]
        if not searched:
            raise ValueError("at least one sense of nearness must have points to search")
        # The same pairs come out of any tree; the one with the fewest candidates has the least to do.
        self._tree, self._points, self._reach = min(searched, key=self._cost)

    def of(self, row: int) -> Index:
        """Return the neighbours of one row, ascending."""
        found = np.array(self._tree.query_ball_point(self._points[row], self._reach), dtype=np.int64)
        found.sort()
        return found[self._near(np.full(found.size, row), found)]

    def blocks(self, rows: Index | None = None) -> Iterator[tuple[Index, Index]]:
        """Yield all ordered pairs (i, j) with ``i`` among ``rows``, or all, those of one ``i`` together, in blocks of them."""
        for part in self._parts(np.arange(self.count) if rows is None else rows):
            block = KDTree(self._points[part])
            found = block.sparse_distance_matrix(self._tree, self._reach, output_type="ndarray")
            i, j = part[found["i"]], found["j"].astype(np.int64)
            keep = self._near(i, j)
            yield i[keep], j[keep]

    def nearest(self, size: int) -> tuple[Mask, Index]:
        """Return which rows (N,) have all their ``size`` nearest in the tree, themselves among them, as neighbours, and these.

        Other rows may have as many neighbours all the same, farther away in the tree.
        """
        whole = np.zeros(self.count, dtype=bool)
        found = np.zeros((self.count, size), dtype=np.int64)
        for start in range(0, self.count, PAIRS // size + 1):
            rows = np.arange(start, min(start + PAIRS // size + 1, self.count))
            # The bound is left out by the tree; twice the reach leaves out nothing that is near.
            near = self._tree.query(self._points[rows], np.arange(1, size + 1), distance_upper_bound=2 * self._reach)[1]
            rows, near = rows[near[:, -1] < self.count], near[near[:, -1] < self.count]
            found[rows] = near
            whole[rows] = self._near(np.repeat(rows, size), near.ravel()).reshape(near.shape).all(axis=1)
        return whole, found

    def _candidates(self, sense: Near) -> tuple[KDTree, Array, float]:
        assert sense.points is not None
        rounding = 16 * np.finfo(float).eps * float(np.abs(sense.points).max(initial=0.0))
        return KDTree(sense.points), sense.points, sense.radius * (1 + _SLACK) + rounding

    def _cost(self, candidate: tuple[KDTree, Array, float]) -> int:
        tree, points, reach = candidate
        probes = np.linspace(0, self.count - 1, min(_PROBES, self.count)).astype(np.int64)
        return int(tree.query_ball_point(points[probes], reach, return_length=True).sum())

    def _parts(self, rows: Index) -> Iterator[Index]:
        """Parts of the rows with at most ``PAIRS`` candidates each, or of one row."""
        start, size = 0, 64
        while start < rows.size:
            ahead = self._points[rows[start : start + size]]
            total = np.cumsum(self._tree.query_ball_point(ahead, self._reach, return_length=True))
            taken = max(1, int(np.searchsorted(total, PAIRS, side="right")))
            yield rows[start : start + taken]
            start += taken
            # Count about as many rows ahead as the next block will have.
            size = 2 * size if taken == len(ahead) else max(taken, 1)

    def _near(self, i: Index, j: Index) -> Mask:
        keep = np.ones(i.size, dtype=bool)
        for sense in self.senses:
            rows = np.flatnonzero(keep)
            keep[rows] = sense.measure(i[rows], j[rows]) <= sense.radius
        return keep


def dbscan(neighbors: Neighbors, min_samples: int) -> Labels:
    """Label rows as DBSCAN does, -1 for noise.

    Core rows have at least ``min_samples`` neighbours, themselves included. Core rows that are neighbours share a cluster.
    Another row joins the cluster of its core neighbours, the one with the first core row if there are several.
    """
    core = np.zeros(neighbors.count, dtype=bool)
    component = np.arange(neighbors.count)
    if min_samples <= min(_FEW, neighbors.count):
        core, nearest = neighbors.nearest(min_samples)
        i, j = np.repeat(np.flatnonzero(core), min_samples), nearest[core].ravel()
        component = _connect(component, i[core[j]], j[core[j]])
    counts = np.zeros(neighbors.count, dtype=np.int64)
    for i, _ in neighbors.blocks(np.flatnonzero(~core)):
        counts += np.bincount(i, minlength=neighbors.count)
    core |= counts >= min_samples
    rows = np.flatnonzero(core)
    for i, j in neighbors.blocks(rows):
        both = core[j] & (i < j)
        component = _connect(component, i[both], j[both])
        if (component[rows] == component[rows[0]]).all():
            break
    edge: list[tuple[Index, Index]] = []  # fewer than min_samples for each row that is not core
    for i, j in neighbors.blocks(np.flatnonzero(~core)):
        edge.append((i[core[j]], j[core[j]]))
    labels = np.full(neighbors.count, neighbors.count, dtype=np.int64)
    names, first, codes = np.unique(component[rows], return_index=True, return_inverse=True)
    rank = np.empty(names.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(names.size)
    labels[rows] = rank[codes]
    for i, j in edge:
        np.minimum.at(labels, i, labels[j])
    return np.where(labels < neighbors.count, labels, -1)


def _connect(component: Index, i: Index, j: Index) -> Index:
    """Return components (N,) after the pairs (i, j) have been joined."""
    a, b = component[i], component[j]
    apart = a != b
    if not apart.any():
        return component
    size = component.size
    graph = coo_array((np.ones(int(apart.sum()), dtype=bool), (a[apart], b[apart])), shape=(size, size))
    return connected_components(graph, directed=False)[1].astype(np.int64)[component]
