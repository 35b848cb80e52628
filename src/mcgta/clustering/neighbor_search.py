"""The questions that density-based clustering asks of the loss, and the named answers.

A clusterer asks a :class:`NeighborSearch`, which need not hold the losses of all pairs. There are two of them:
:class:`mcgta.clustering.brute_force.BruteForceSearch` reads every pair, and :class:`mcgta.clustering.tree_search.TreeSearch`
skips most pairs by bounds. Both give the same answers to the last bit. With an answer comes the number of *comparisons*, the
pairs whose loss was computed or read for it.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from mcgta.runtime.types import Array, Index, Labels, Mask


class SpanningTree(NamedTuple):
    """A minimum spanning tree of mutual reachability, max(core distance of i, core distance of j, loss).

    Attributes
    ----------
    i, j : (N - 1,) rows that an edge joins
    weight : (N - 1,) their mutual reachability
    core_distances : (N,) loss of each row's ``min_samples``-th nearest, itself included
    comparisons : pairs compared
    """

    i: Index
    j: Index
    weight: Array
    core_distances: Array
    comparisons: int


class Ordering(NamedTuple):
    """The rows in the order of OPTICS, as scikit-learn visits and rounds them.

    Attributes
    ----------
    order : (N,) rows in the order of the visits
    reachability : (N,) how near each row was when it was visited, infinite for the first
    core_distances : (N,) loss of each row's ``min_samples``-th nearest, itself included
    predecessor : (N,) the row that each was reached from, -1 for the first
    comparisons : pairs compared
    """

    order: Index
    reachability: Array
    core_distances: Array
    predecessor: Index
    comparisons: int


class CloserPairs(NamedTuple):
    """The P ordered pairs of rows whose loss is below the core distance of the first row, sorted by that row.

    Attributes
    ----------
    rows, others : (P,) the two rows
    losses : (P,) their losses
    """

    rows: Index
    others: Index
    losses: Array


class NeighborSearch(Protocol):
    """Answers questions about the losses of N observations."""

    def __len__(self) -> int: ...

    @property
    def table(self) -> Array | None:
        """The (N, N) losses of all pairs, where they are held."""

    def core_rows(self, eps: float, min_samples: int, *, known: Labels | None = None) -> tuple[Mask, int]:
        """Tell which rows have ``min_samples`` rows within eps, themselves included; and the pairs compared.

        ``known`` (N,) says it of some rows: 1 for core rows, 0 for others, and -1 where it has to be found out.
        """

    def components(self, eps: float, core: Mask) -> tuple[Labels, int]:
        """Number the components of the core rows by their first members, -1 for other rows; and the pairs compared."""

    def border(self, eps: float, labels: Labels) -> tuple[Labels, int]:
        """Give rows without a cluster (-1) the lowest label of a clustered row within eps; and the pairs compared."""

    def core_distances(self, wanted: Mask, k: int) -> tuple[Array, int]:
        """Return the loss of the k-th nearest, itself included, of the wanted rows; and the pairs compared.

        It is infinite for other rows, and where there are fewer than k rows.
        """

    def cluster_reachability(self, labels: Labels, core: Mask, core_distances: Array, *, others: bool = False) -> Array:
        """Return the loss at which each row reaches its cluster, infinite for noise.

        That is the least of max(loss, core distance) over the core rows of the cluster; see
        :mod:`mcgta.clustering.membership`. ``others`` leaves the row itself out of its cluster.
        """

    def closer_pairs(self, core_distances: Array, min_samples: int) -> CloserPairs:
        """Return the pairs that are closer than the core distance of their first row, fewer than ``min_samples`` a row."""

    def spanning_tree(self, min_samples: int) -> SpanningTree:
        """Return a minimum spanning tree of mutual reachability."""

    def ordering(self, min_samples: int) -> Ordering:
        """Return the ordering of OPTICS, without a largest radius."""


class CachedSearch:
    """A neighbour search that finds spanning trees and orderings once for each ``min_samples``."""

    def __init__(self, search: NeighborSearch) -> None:
        self._search = search
        self.table = search.table
        self.core_rows = search.core_rows
        self.components = search.components
        self.border = search.border
        self.core_distances = search.core_distances
        self.cluster_reachability = search.cluster_reachability
        self.closer_pairs = search.closer_pairs
        self.spanning_tree = cache(search.spanning_tree)
        self.ordering = cache(search.ordering)

    def __len__(self) -> int:
        return len(self._search)


def round_as_optics(values: Array) -> Array:
    """Round as scikit-learn's OPTICS does, so that its ties are ours."""
    return np.around(values, decimals=np.finfo(np.float64).precision)


def find_roots(parent: Index) -> Index:
    """Return the root of each node, given the next node on the way there; a root is its own parent."""
    roots = parent
    while (roots[roots] != roots).any():
        roots = roots[roots]
    return roots
