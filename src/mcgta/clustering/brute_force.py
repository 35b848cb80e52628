"""Brute-force neighbour search: every pair is read, some rows at a time, from the table of losses or computed.

It answers what :class:`mcgta.clustering.tree_search.TreeSearch` answers, for every dissimilarity, metric and number of
features, with memory in proportion to the observations. Pairs are read once for each question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.neighbor_search import CloserPairs, Ordering, SpanningTree, find_roots, round_as_optics
from mcgta.kernels.tree.rows import join_near, step_outside
from mcgta.runtime.parallel import run, tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.stages.loss import Loss

_ENTRIES_OF_A_TASK = 2**18  # losses that one task holds at most
_WORK_OF_A_TASK = 2**27  # numbers that one task touches, so that it is soon done and Ctrl-C noticed
Values = TypeVar("Values", bound=np.ndarray[Any, Any])
_NO_LABEL = np.iinfo(np.int64).max


class _Walk(NamedTuple):
    """Rows in the order of a walk to the nearest, how near each was, and to which row."""

    order: Index
    nearest: Array
    end: Index


@dataclass(frozen=True, eq=False)
class BruteForceSearch:
    """The losses of N observations, to be read.

    Attributes
    ----------
    between : returns those of some rows with some columns, both ascending
    count : N
    entries : losses that one task reads
    share : those of one row that are worth a thread
    table : (N, N) all of them, where they are held
    """

    between: Callable[[Index, Index], Array]
    count: int
    entries: int = _ENTRIES_OF_A_TASK
    share: int = 4096
    table: Array | None = None

    @classmethod
    def of(cls, loss: Loss) -> BruteForceSearch:
        """Compute what is read. The earlier row of a pair comes first, as in the table, so last bits are the table's."""

        def between(rows: Index, cols: Index) -> Array:
            if rows.size == 0 or cols.size == 0:
                return np.zeros((rows.size, cols.size))
            low, high = np.searchsorted(cols, (rows[0], rows[-1] + 1))
            out = np.empty((rows.size, cols.size))
            if low > 0:
                out[:, :low] = loss.between(cols[:low], rows).T
            if high < cols.size:
                out[:, high:] = loss.between(rows, cols[high:])
            if low < high:
                middle = cols[low:high]
                before = rows[:, None] < middle
                out[:, low:high] = np.where(before, loss.between(rows, middle), loss.between(middle, rows).T)
                out[:, low:high][rows[:, None] == middle] = 0.0
            return out

        entries = max(64, min(_ENTRIES_OF_A_TASK, _WORK_OF_A_TASK // loss.dissimilarity.comparison.size))
        return cls(between, len(loss), entries, share=min(entries, cls.share))

    @classmethod
    def of_table(cls, matrix: Array) -> BruteForceSearch:
        """Read from the table (N, N) of all losses, symmetric with a zero diagonal."""

        def between(rows: Index, cols: Index) -> Array:
            return matrix[_consecutive(rows)][:, _consecutive(cols)]

        return cls(between, len(matrix), share=len(matrix), table=matrix)

    def __len__(self) -> int:
        return self.count

    def core_rows(self, eps: float, min_samples: int, *, known: Labels | None = None) -> tuple[Mask, int]:
        """Tell which rows have ``min_samples`` rows within eps, themselves included; and the pairs compared."""
        if known is not None:
            return self._core_rows_beside(known, eps, min_samples)
        every = np.arange(self.count)
        parts = [every[part] for part in tiles(self.count, self._side)]
        pieces = [(rows, cols) for k, rows in enumerate(parts) for cols in parts[k:]]

        def count_near(piece: tuple[Index, Index]) -> tuple[Index, Index]:
            rows, cols = piece
            near = self.between(rows, cols) <= eps
            return near.sum(axis=1), near.sum(axis=0)

        counts = np.zeros(self.count, dtype=np.int64)
        with stage("core rows", len(pieces)) as advance:
            for (rows, cols), (of_rows, of_cols) in zip(pieces, run(count_near, pieces), strict=True):
                counts[rows] += of_rows
                if rows is not cols:
                    counts[cols] += of_cols
                advance(1)
        return counts >= min_samples, self._pairs

    def _core_rows_beside(self, known: Labels, eps: float, min_samples: int) -> tuple[Mask, int]:
        """Find the core rows among those that are not known to be any, or none."""
        every = np.arange(self.count)
        core = known > 0
        asked = np.flatnonzero(known < 0)

        def count_near(rows: Index) -> Index:
            return np.asarray((self.between(rows, every) <= eps).sum(axis=1))

        core[asked] = self._sweep("core rows", count_near, asked, self.count) >= min_samples
        return core, asked.size * (self.count - 1)

    def components(self, eps: float, core: Mask) -> tuple[Labels, int]:
        """Number the components of the core rows by their first members, -1 for other rows; and the pairs compared."""
        parent = np.arange(self.count)
        inside = np.flatnonzero(core)
        parts = [inside[part] for part in tiles(inside.size, self._side)]
        comparisons = 0
        with stage("components", len(parts)) as advance:
            for k, rows in enumerate(parts):
                # Parts that are one component with these rows have nothing to add.
                roots = find_roots(parent)
                one = np.unique(roots[rows])
                open_ = [cols for cols in parts[k:] if one.size > 1 or (roots[cols] != one[0]).any()]
                losses = run(partial(self.between, rows), open_)
                for cols, values in zip(open_, losses, strict=True):
                    join_near(np.ascontiguousarray(values <= eps), rows, cols, parent)
                    comparisons += rows.size * cols.size
                advance(1)
        labels = np.full(self.count, -1, dtype=np.int64)
        labels[inside] = number_by_first_member(find_roots(parent)[inside])
        return labels, comparisons

    def border(self, eps: float, labels: Labels) -> tuple[Labels, int]:
        """Give rows without a cluster (-1) the lowest label of a clustered row within eps; and the pairs compared."""
        clustered = np.flatnonzero(labels >= 0)
        loose = np.flatnonzero(labels < 0)

        def lowest_label(rows: Index) -> Labels:
            near = self.between(rows, clustered) <= eps
            return np.asarray(np.where(near, labels[clustered], _NO_LABEL).min(axis=1, initial=_NO_LABEL))

        lowest = self._sweep("border", lowest_label, loose, clustered.size)
        attached = labels.astype(np.int64)
        attached[loose] = np.where(lowest < _NO_LABEL, lowest, -1)
        return attached, loose.size * clustered.size

    def core_distances(self, wanted: Mask, k: int) -> tuple[Array, int]:
        """Return the loss of the k-th nearest, itself included, of the wanted rows; and the pairs compared."""
        every = np.arange(self.count)
        rows = np.flatnonzero(wanted)
        distances = np.full(self.count, np.inf)
        if k > self.count:
            return distances, 0

        def kth_nearest(some: Index) -> Array:
            # A copy, since a view would keep all of the tile.
            return np.partition(self.between(some, every), k - 1, axis=1)[:, k - 1].copy()

        distances[rows] = self._sweep("core distances", kth_nearest, rows, self.count)
        return distances, rows.size * (self.count - 1)

    def cluster_reachability(self, labels: Labels, core: Mask, core_distances: Array, *, others: bool = False) -> Array:
        """Return the loss at which each row reaches its cluster, infinite for noise."""
        pieces = []
        for label in range(labels.max(initial=-1) + 1):
            members = np.flatnonzero(labels == label)
            anchors = members[core[members]]
            side = max(1, self.entries // max(anchors.size, 1))
            pieces += [(members[part], anchors) for part in tiles(members.size, side)]

        def least_reach(piece: tuple[Index, Index]) -> Array:
            rows, anchors = piece
            reach = np.maximum(np.maximum(self.between(rows, anchors), 0.0), core_distances[anchors])
            if others:
                reach[rows[:, None] == anchors] = np.inf
            return reach.min(axis=1, initial=np.inf)

        reachability = np.full(self.count, np.inf)
        with stage("reachability", len(pieces)) as advance:
            for (rows, _), values in zip(pieces, run(least_reach, pieces), strict=True):
                reachability[rows] = values
                advance(1)
        return reachability

    def closer_pairs(self, core_distances: Array, min_samples: int) -> CloserPairs:
        """Return the pairs that are closer than the core distance of their first row, fewer than ``min_samples`` a row."""
        del min_samples
        every = np.arange(self.count)
        parts = [every[part] for part in tiles(self.count, max(1, self.entries // self.count))]

        def list_closer(rows: Index) -> CloserPairs:
            losses = self.between(rows, every)
            i, j = np.nonzero((losses < core_distances[rows, None]) & (rows[:, None] != every))
            return CloserPairs(rows[i], j, losses[i, j])

        results = []
        with stage("closer pairs", self.count) as advance:
            for part, pairs in zip(parts, run(list_closer, parts), strict=True):
                results.append(pairs)
                advance(part.size)
        return CloserPairs(*map(np.concatenate, zip(*results, strict=True)))

    def spanning_tree(self, min_samples: int) -> SpanningTree:
        """Return a minimum spanning tree of mutual reachability, by the walk of Prim (1957)."""
        core_distances, comparisons = self.core_distances(np.ones(self.count, dtype=bool), min_samples)
        walk = self._walk("spanning tree", core_distances, core_distances, np.asarray)
        later = walk.order[1:]
        return SpanningTree(walk.end[later], later, walk.nearest[later], core_distances, comparisons + self._pairs)

    def ordering(self, min_samples: int) -> Ordering:
        """Return the ordering of OPTICS, without a largest radius."""
        exact, comparisons = self.core_distances(np.ones(self.count, dtype=bool), min_samples)
        core_distances = round_as_optics(exact)
        walk = self._walk("ordering", core_distances, np.zeros(self.count), round_as_optics)
        return Ordering(walk.order, walk.nearest, core_distances, walk.end, comparisons + self._pairs)

    def _walk(self, name: str, core_distances: Array, floor: Array, read: Callable[[Array], Array]) -> _Walk:
        """Visit all rows from the first one on, always the nearest of those left.

        ``floor`` (N,) is the least reachability of a row, and ``read`` changes losses before they are looked at.
        """
        nearest = np.full(self.count, np.inf)
        end = np.full(self.count, -1)
        outside = np.arange(1, self.count)
        order = np.zeros(self.count, dtype=np.int64)
        with stage(name, self.count - 1) as advance:
            for step in range(1, self.count):
                left = outside[: self.count - step]
                here = order[step - 1 : step]
                if left.size <= self.share:
                    losses = self.between(here, left)[0]
                else:
                    parts = [left[part] for part in tiles(left.size, self.share)]
                    losses = np.concatenate([*run(partial(self.between, here), parts)], axis=1)[0]
                row = int(here[0])
                order[step] = step_outside(outside, left.size, read(losses), row, core_distances, floor, nearest, end)
                advance(1)
        return _Walk(order, nearest, end)

    def _sweep(self, name: str, look: Callable[[Index], Values], rows: Index, width: int) -> Values | Array:
        """Join what a function returns for some rows at a time, which it compares with ``width`` others."""
        parts = [rows[part] for part in tiles(rows.size, max(1, self.entries // max(width, 1)))]
        results = []
        with stage(name, rows.size) as advance:
            for part, values in zip(parts, run(look, parts), strict=True):
                results.append(values)
                advance(part.size)
        return np.concatenate(results) if results else np.empty(0)

    @property
    def _side(self) -> int:
        """Rows and columns of a tile."""
        return int(np.sqrt(self.entries))

    @property
    def _pairs(self) -> int:
        return self.count * (self.count - 1) // 2


def _consecutive(rows: Index) -> Index | slice:
    """Return rows that follow each other as a slice, which copies nothing."""
    if rows.size and rows[-1] - rows[0] == rows.size - 1:
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows
