"""A census of pairs by a tree over the positions: see :mod:`mcgta.stages.semivariogram.census` for what a census is."""

from __future__ import annotations

import numpy as np

from mcgta.kernels.curves import place_counts
from mcgta.kernels.tree.build import build_tree
from mcgta.positions.positions import Positions
from mcgta.runtime.progress import Advance, ignore
from mcgta.runtime.types import Array, Index
from mcgta.stages.semivariogram.census_parts import bin_means, draw_by_part, run_each

LEAF = 8
_TASK_OPERATIONS = 1e9  # operations of a task, where all its pairs have to be measured
TREE_STEPS = 64
"""What a census, or a sample from one, counts as in steps."""


class TreeCensus:
    """A census by walks down a tree over the positions of each group; see :mod:`mcgta.kernels.curves.place_counts`.

    Work is divided into pairs of nodes, and these into tasks, the same for any number of threads. A sample takes another walk,
    of the tasks that hold pairs of it.
    """

    def __init__(self, positions: Positions, edges: Array, points: Array, advance: Advance = ignore) -> None:
        assert positions.points is not None
        assert positions.kind is not None
        self._edges = edges
        self._rounding = positions.rounding
        self._advance = advance
        self._order, nodes, roots = _grow(positions.points, positions.groups)
        self._tree = place_counts.place_tree(positions.points[self._order], points[self._order], positions.kind, nodes)
        self._tasks = _divide(nodes, roots, _TASK_OPERATIONS / (points.shape[1] + 20))
        norms = np.einsum("nm,nm->n", points, points)

        def count_task(pairs: Index) -> Array:
            return place_counts.count_pairs(self._tree, pairs, edges, self._rounding)

        sums = run_each(count_task, self._tasks, advance, TREE_STEPS)
        self._numbers = np.array([part[0] for part in sums]).astype(np.int64)
        self.counts = self._numbers.sum(axis=0)
        totals = np.sum([part[1:] for part in sums], axis=0)
        self.lags, self.squares = bin_means(totals, self.counts)
        self.rounding = np.full(edges.size - 1, 8 * np.finfo(float).eps * norms.mean())

    def draw(self, ranks: list[Index]) -> tuple[Index, Index]:
        """Return the pairs of the given ranks; ranks count as the walk comes by them."""

        def find(task: int, inside: Index, begins: Index) -> tuple[Index, Index]:
            i, j = place_counts.find_pairs(self._tree, self._tasks[task], self._edges, self._rounding, inside, begins)
            return self._order[i], self._order[j]

        return draw_by_part(ranks, self._numbers, find, self._advance, TREE_STEPS)


def _grow(points: Array, groups: Index) -> tuple[Index, Index, Index]:
    """Return the order of the points, the nodes of a tree for each group one after the other, and the roots."""
    rows = np.argsort(groups, kind="stable")
    cuts = np.flatnonzero(np.diff(groups[rows])) + 1
    weights = np.ones(points.shape[1])
    orders = []
    trees = []
    roots = []
    first = used = 0
    for members in np.split(rows, cuts):
        order, nodes = build_tree(points[members], weights, LEAF, full=True)
        nodes[:, 2] += np.where(nodes[:, 2] >= 0, used, 0)
        nodes[:, :2] += first
        orders.append(members[order])
        trees.append(nodes)
        roots.append(used)
        first += len(order)
        used += len(nodes)
    return np.concatenate(orders), np.concatenate(trees), np.array(roots)


def _divide(nodes: Index, roots: Index, most: float) -> list[Index]:
    """Divide the pairs of nodes, from each root with itself on, until none has more than ``most`` pairs of points.

    Neighbours in the list that have not more together are one task.
    """
    sizes = nodes[:, 1] - nodes[:, 0]
    pairs = np.column_stack([roots, roots])
    while True:
        u, v = pairs.T
        swap = sizes[u] < sizes[v]
        u, v = np.where(swap, v, u), np.where(swap, u, v)
        child = nodes[u, 2]
        large = (sizes[u] * sizes[v] > most) & (child >= 0)
        if not large.any():
            break
        u = u[large]
        v = v[large]
        child = child[large]
        other = child + 1
        alike = u == v
        parts = [
            pairs[~large],
            np.column_stack([child, np.where(alike, child, v)]),
            np.column_stack([other, np.where(alike, other, v)]),
            np.column_stack([child, other])[alike],
        ]
        pairs = np.concatenate(parts)
    work = np.cumsum((sizes[pairs[:, 0]] * sizes[pairs[:, 1]]).astype(float))
    cuts = np.flatnonzero(np.diff(np.floor(work / most))) + 1
    return np.split(pairs, cuts)
