"""The graph of observations along series or in space: edges, neighbours, and predecessors that rows are predicted from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from scipy.spatial import KDTree

from mcgta.kernels.evidence.subtrees import cut_subtrees
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Mask

LISTED_NEIGHBORS = 16
"""Neighbours, and predecessors, that are listed for each row."""

_TIE = 1e-12  # of the largest distance, added so that an edge of length zero is an edge


@dataclass(frozen=True, eq=False)
class NeighborLists:
    """For each of N rows up to P others, nearest first, and their distances.

    Attributes
    ----------
    rows : (N, P) the others; -1 where there are no more
    distances : (N, P) from the row
    pair_distances : (N, P (P - 1) / 2) between the others, in the order of :mod:`mcgta.kernels.evidence.whitening`
    """

    rows: Index
    distances: Array
    pair_distances: Array

    @classmethod
    def of(cls, places: Positions, rows: Index) -> NeighborLists:
        """Measure the distances within lists ``rows`` (N, P)."""
        count, size = rows.shape
        own = np.arange(count)[:, None]
        filled = np.where(rows >= 0, rows, own)
        distances = places.of_pairs(np.broadcast_to(own, filled.shape), filled)
        between = np.zeros((count, size * (size - 1) // 2))
        for q in range(1, size):
            pairs = places.of_pairs(filled[:, :q], np.broadcast_to(filled[:, q, None], (count, q)))
            between[:, q * (q - 1) // 2 : q * (q + 1) // 2] = pairs
        return cls(native(rows, np.int64), native(distances), native(between))


class NeighborGraph(NamedTuple):
    """N rows, and those next to them.

    Attributes
    ----------
    edges : (E, 2) rows next to each other: along series, or of a minimum spanning tree of the positions
    neighbors : (N, ``LISTED_NEIGHBORS``) the nearest of each row, along series those before and after it; -1 beyond the last
    predecessors : (N, ``LISTED_NEIGHBORS``) the nearest among the rows before it, in time or, elsewhere, in a random order
    nearest : distances of some rows to their nearest
    """

    edges: Index
    neighbors: Index
    predecessors: Index
    nearest: Array


def connect_rows(places: Positions, seed: int) -> NeighborGraph:
    """Connect rows in canonical order with those next to them, in time or in space."""
    return _connect_series(places) if places.is_chain else _connect_places(places, seed)


def _connect_series(places: Positions) -> NeighborGraph:
    """Join each row of a series to those before and after it, by turns."""
    starts = places.group_starts
    row = np.arange(starts.size)
    begin = np.maximum.accumulate(np.where(starts, row, 0))[:, None]
    end = np.append(np.flatnonzero(starts)[1:], starts.size)[np.cumsum(starts) - 1][:, None]
    before = row[:, None] - np.arange(1, LISTED_NEIGHBORS + 1)
    half = LISTED_NEIGHBORS // 2
    beside = row[:, None] + np.repeat(np.arange(1, half + 1), 2) * np.tile([-1, 1], half)
    later = np.flatnonzero(~starts)
    return NeighborGraph(
        edges=np.column_stack([later - 1, later]),
        neighbors=np.where((beside >= begin) & (beside < end), beside, -1),
        predecessors=np.where(before >= begin, before, -1),
        nearest=places.of_pairs(later - 1, later),
    )


def _connect_places(places: Positions, seed: int) -> NeighborGraph:
    """Join each row to its nearest; predecessors are those of them that come earlier in a random order."""
    near, distances = nearest_neighbors(places, 2 * LISTED_NEIGHBORS + 1)
    rank = np.random.default_rng(seed).permutation(len(places))
    early = (near >= 0) & (rank[near] < rank[:, None])
    order = np.argsort(~early, axis=1, kind="stable")[:, :LISTED_NEIGHBORS]
    return NeighborGraph(
        edges=_spanning_forest(near, distances, places),
        neighbors=near[:, :LISTED_NEIGHBORS],
        predecessors=np.where(np.take_along_axis(early, order, 1), np.take_along_axis(near, order, 1), -1),
        nearest=distances[:, 0],
    )


def _spanning_forest(near: Index, far: Array, places: Positions) -> Index:
    """Return the edges of a minimum spanning forest of the graph of neighbours, parts of one group joined in order."""
    size = len(places)
    i, p = np.nonzero(near >= 0)
    weights = far[i, p] + max(_TIE, _TIE * float(far[i, p].max(initial=0.0)))
    tree = minimum_spanning_tree(_make_graph(weights, i, near[i, p], size)).tocoo()
    edges = np.column_stack([tree.row, tree.col]).astype(np.int64)
    part = connected_components(_make_graph(np.ones(len(edges)), edges[:, 0], edges[:, 1], size), directed=False)[1]
    heads = np.unique(part, return_index=True)[1]
    heads = heads[np.argsort(heads)]
    same = places.groups[heads[1:]] == places.groups[heads[:-1]]
    return np.concatenate([edges, np.column_stack([heads[:-1], heads[1:]])[same]])


def _make_graph(weights: Array, i: Index, j: Index, size: int) -> csr_array:
    """Return edges from rows i to rows j as a sparse table; the graph functions of SciPy 1.15 take indices of 32 bits only."""
    return csr_array((weights, (i.astype(np.int32), j.astype(np.int32))), shape=(size, size))


def nearest_neighbors(places: Positions, count: int) -> tuple[Index, Array]:
    """Return up to ``count - 1`` nearest of each row, itself left out, nearest first, and how far; -1 and inf beyond."""
    size = len(places)
    near = np.full((size, count - 1), -1, dtype=np.int64)
    far = np.full((size, count - 1), np.inf)
    for code in np.unique(places.groups):
        rows = np.flatnonzero(places.groups == code)
        wanted = min(count, rows.size)
        if wanted < 2:
            continue
        if places.points is None:
            table = places.between(rows, rows)
            table[np.arange(rows.size), np.arange(rows.size)] = -1.0
            listed = np.argsort(table, axis=1, kind="stable")[:, :wanted]
        else:
            listed = KDTree(places.points[rows]).query(places.points[rows], k=wanted)[1]
        listed = rows[listed]
        reach = np.where(listed == rows[:, None], -1.0, places.of_pairs(rows[:, None], listed))
        # A row may not be among its own nearest where many are at one place; then the farthest is left out.
        order = np.lexsort((listed, reach), axis=-1)
        listed = np.take_along_axis(listed, order, 1)
        reach = np.take_along_axis(reach, order, 1)
        own = reach[:, 0] < 0
        near[rows, : wanted - 1] = np.where(own[:, None], listed[:, 1:], listed[:, :-1])
        far[rows, : wanted - 1] = np.where(own[:, None], reach[:, 1:], reach[:, :-1])
    unknown = ~np.isfinite(far)
    near[unknown] = -1
    return near, far


def cut_series(starts: Mask, size: int) -> Index:
    """Return the block of each row: series, which begin at ``starts`` (N,), are cut every ``size`` rows."""
    row = np.arange(starts.size)
    begin = np.maximum.accumulate(np.where(starts, row, 0))
    return np.asarray(np.cumsum(starts | ((row - begin) % size == 0)) - 1)


def cut_forest(edges: Index, count: int, size: int) -> Index:
    """Return the block of each of ``count`` rows: a forest of ``edges`` is cut into subtrees of about ``size`` rows."""
    graph = _make_graph(np.ones(len(edges)), edges[:, 0], edges[:, 1], count)
    part = connected_components(graph, directed=False)[1]
    order = []
    parent = np.full(count, -1, dtype=np.int64)
    for root in np.unique(part, return_index=True)[1]:
        visited, before = breadth_first_order(graph, root, directed=False)
        order.append(visited)
        parent[visited[1:]] = before[visited[1:]]
    block = np.empty(count, dtype=np.int64)
    cut_subtrees(native(np.concatenate(order), np.int64), parent, size, block)
    return np.unique(block, return_inverse=True)[1]
