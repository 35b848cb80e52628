"""DBSCAN of any relation of nearness, without lists of all neighbours.

Two rows are neighbours if they are near in each of several senses, say in features and in position. Pairs are found by a search
tree and looked at in blocks: once to count the neighbours of each row, once to connect the core rows. So memory is linear in
the rows, apart from one block of pairs, whatever the radius. Two things are left out where they cannot matter: counting, where
the few nearest of a row prove it core already, and connecting, once all core rows are connected. Rows that are equal in every
sense have the same neighbours, so they are looked at once, with their number as weight; groups are far apart in every tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from mcgta.kernels.positions.metrics import FLAT, pair_distances
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels, Mask

PAIRS = 2**21
"""Pairs that are looked at at a time; a single row may have more."""

_SLACK = 1e-9  # of a radius: trees round differently from the measure, which decides
_PROBES = 512  # rows that tell which tree has fewer candidates
_FEW = 32  # so many nearest rows are looked for one by one; more are counted
_FARTHEST = 1e150  # groups are moved no farther apart: trees square distances


@dataclass(frozen=True, eq=False)
class RadiusSearch:
    """One sense in which two rows can be near.

    Attributes
    ----------
    radius : rows at most this far apart are near
    measure : the distance of each pair (i[k], j[k])
    points : (N, q) to search, whose Euclidean distance never exceeds the measure, but for rounding; None if there are none.
        Rows of one group with equal points are at distance 0, and equally far from any other
    groups : (N,) codes 0, 1, ... of groups, of which rows of different ones are never near; None if all are of one
    """

    radius: float
    measure: Callable[[Index, Index], Array]
    points: Array | None = None
    groups: Index | None = None


def near_features(X: Array, radius: float) -> RadiusSearch:
    """Rows are near if their features are at most ``radius`` apart, in Euclidean distance."""
    points = np.ascontiguousarray(X)
    return RadiusSearch(radius, lambda i, j: pair_distances(points, i, j, FLAT), points)


def near_positions(positions: Positions, radius: float) -> RadiusSearch:
    """Rows are near if they are of one group and at most ``radius`` apart in position."""
    groups = positions.groups if len(positions.group_names) > 1 else None
    return RadiusSearch(radius, positions.of_pairs, positions.points, groups)


class Neighbors:
    """The pairs of distinct rows that are near in every sense; a row is its own neighbour.

    Rows that are equal in every sense, and in group, are one distinct row; they are neighbours of each other and of the same
    rows. Where a sense has no points to tell, every row is distinct.

    Attributes
    ----------
    senses : in which rows are near
    codes : (N,) which distinct row each row is; they are numbered by their first rows
    rows : (M,) the first row of each distinct row, ascending
    weights : (M,) how many rows are equal to it, itself included
    count : M
    """

    def __init__(self, senses: Sequence[RadiusSearch], count: int) -> None:
        self.senses = senses
        self.rows, self.codes = _distinct(senses, count)
        self.weights = np.bincount(self.codes, minlength=self.rows.size)
        self.count = self.rows.size
        self._sorted = np.argsort(self.codes, kind="stable")
        self._ends = np.cumsum(self.weights)
        groups = next((sense.groups[self.rows] for sense in senses if sense.groups is not None), None)
        searched = [self._candidates(sense, groups) for sense in senses if sense.points is not None]
        if not searched:
            raise ValueError("at least one sense of nearness must have points to search")
        # The same pairs come out of any tree; the one with the fewest candidates has the least to do.
        self._tree, self._points, self._reach = min(searched, key=self._cost)

    def of(self, distinct: int) -> Index:
        """Return the neighbours of one distinct row, ascending."""
        near = np.array(self._tree.query_ball_point(self._points[distinct], self._reach), dtype=np.int64)
        near.sort()
        return near[self._near(np.full(near.size, distinct), near)]

    def members(self, distinct: Index) -> Index:
        """Return all rows that are equal to one of these distinct rows, ascending."""
        sizes = self.weights[distinct]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members = self._sorted[np.repeat(self._ends[distinct] - sizes, sizes) + within]
        members.sort()
        return members

    def blocks(self, rows: Index | None = None) -> Iterator[tuple[Index, Index]]:
        """Yield all ordered pairs (i, j) with ``i`` among ``rows``, or all, those of one ``i`` together, in blocks of them."""
        for part in self._parts(np.arange(self.count) if rows is None else rows):
            block = KDTree(self._points[part])
            pairs = block.sparse_distance_matrix(self._tree, self._reach, output_type="ndarray")
            i = part[pairs["i"]]
            j = pairs["j"].astype(np.int64)
            keep = self._near(i, j)
            yield i[keep], j[keep]

    def nearest(self, size: int) -> Index:
        """Return neighbours (M, size) among the ``size`` nearest in the tree, the row itself in place of nearest that are none.

        There may be more neighbours, farther away in the tree.
        """
        nearest = np.repeat(np.arange(self.count)[:, None], size, axis=1)
        for start in range(0, self.count, PAIRS // size + 1):
            rows = np.arange(start, min(start + PAIRS // size + 1, self.count))
            # The bound is left out by the tree; twice the reach leaves out nothing that is near.
            near = self._tree.query(self._points[rows], np.arange(1, size + 1), distance_upper_bound=2 * self._reach)[1]
            row, rank = np.nonzero(near < self.count)
            i = rows[row]
            j = near[row, rank]
            keep = self._near(i, j)
            nearest[i[keep], rank[keep]] = j[keep]
        return nearest

    def _candidates(self, sense: RadiusSearch, groups: Index | None) -> tuple[KDTree, Array, float]:
        assert sense.points is not None
        points = sense.points[self.rows]
        largest = float(np.abs(points).max(initial=0.0))
        reach = sense.radius * (1 + _SLACK) + 16 * float(np.finfo(float).eps) * largest
        reach = min(reach, 4 * math.sqrt(points.shape[1]) * largest or 1.0)  # no two points are as far apart
        # One more column moves groups farther apart than any search reaches; within one it adds exactly 0 to distances.
        apart = 4 * reach or 1.0
        if groups is not None and apart * float(groups.max()) < _FARTHEST:
            points = np.column_stack([points, apart * groups])
        return KDTree(points), points, reach

    def _cost(self, candidate: tuple[KDTree, Array, float]) -> int:
        tree, points, reach = candidate
        probes = np.linspace(0, self.count - 1, min(_PROBES, self.count)).astype(np.int64)
        return int(tree.query_ball_point(points[probes], reach, return_length=True).sum())

    def _parts(self, rows: Index) -> Iterator[Index]:
        """Parts of the rows with at most ``PAIRS`` candidates each, or of one row."""
        start = 0
        size = 64
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
            keep[rows] = sense.measure(self.rows[i[rows]], self.rows[j[rows]]) <= sense.radius
        return keep


def _distinct(senses: Sequence[RadiusSearch], count: int) -> tuple[Index, Index]:
    """Return the first row of each set of rows that are equal in every sense, ascending, and the set (N,) of each row."""
    keys: list[Array | Index] = []
    for sense in senses:
        if sense.points is None:
            return np.arange(count), np.arange(count)
        keys.extend(sense.points.T)
        if sense.groups is not None:
            keys.append(sense.groups)
    order = np.lexsort(keys)
    begins = np.zeros(count, dtype=bool)
    begins[:1] = True
    for key in keys:
        begins[1:] |= key[order[1:]] != key[order[:-1]]
    rows = order[begins]  # the first of each set, as the sort is stable
    rank = np.empty(rows.size, dtype=np.int64)
    rank[np.argsort(rows)] = np.arange(rows.size)
    codes = np.empty(count, dtype=np.int64)
    codes[order] = rank[np.cumsum(begins) - 1]
    return np.sort(rows), codes


def dbscan(neighbors: Neighbors, min_samples: int) -> Labels:
    """Label rows as DBSCAN does, -1 for noise.

    Core rows have at least ``min_samples`` neighbours, themselves included. Core rows that are neighbours share a cluster.
    Another row joins the cluster of its core neighbours, the one with the first core row if there are several.
    """
    component = np.arange(
        neighbors.count
    )  # here and below of distinct rows, each of which counts as many as it stands for
    core = neighbors.weights >= min_samples
    if min_samples <= _FEW:
        nearest = neighbors.nearest(min(min_samples, neighbors.count))
        i = np.repeat(np.arange(neighbors.count), nearest.shape[1])
        j = nearest.ravel()
        others = np.bincount(i[i != j], neighbors.weights[j[i != j]], minlength=neighbors.count)
        core = neighbors.weights + others >= min_samples
        both = core[i] & core[j]
        component = _connect(component, i[both], j[both])
    counts = np.zeros(neighbors.count)
    for i, j in neighbors.blocks(np.flatnonzero(~core)):
        counts += np.bincount(i, neighbors.weights[j], minlength=neighbors.count)
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
    return np.where(labels < neighbors.count, labels, -1)[neighbors.codes]


def _connect(component: Index, i: Index, j: Index) -> Index:
    """Return components (N,) after the pairs (i, j) have been joined."""
    a = component[i]
    b = component[j]
    apart = a != b
    if not apart.any():
        return component
    size = component.size
    graph = coo_array((np.ones(int(apart.sum()), dtype=bool), (a[apart], b[apart])), shape=(size, size))
    return connected_components(graph, directed=False)[1].astype(np.int64)[component]
