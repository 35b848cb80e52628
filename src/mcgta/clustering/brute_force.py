"""Stage 6 by reading every pair, some rows at a time: from the table of losses, or computing what is read.

It answers what :class:`mcgta.clustering.tree_search.TreeSearch` answers, for every dissimilarity, metric and number of
features, with memory in proportion to the observations. Pairs are read once for each question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mcgta.clustering.labels import number
from mcgta.kernels.tree.rows import join_near, step_outside
from mcgta.runtime.parallel import run, tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.stages.loss import Loss

_ENTRIES = 2**18  # losses that one task holds at most
_WORK = 2**27  # numbers that one task touches, so that it is soon done and Ctrl-C noticed


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
    entries: int = _ENTRIES
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

        entries = max(64, min(_ENTRIES, _WORK // loss.dissimilarity.comparison.size))
        return cls(between, len(loss), entries, share=min(entries, cls.share))

    @classmethod
    def of_table(cls, matrix: Array) -> BruteForceSearch:
        """Read from the table (N, N) of all losses, symmetric with a zero diagonal."""

        def between(rows: Index, cols: Index) -> Array:
            return matrix[_consecutive(rows)][:, _consecutive(cols)]

        return cls(between, len(matrix), share=len(matrix), table=matrix)

    def __len__(self) -> int:
        return self.count

    def dense(self, eps: float, wanted: int, *, known: Labels | None = None) -> tuple[Mask, int]:
        """Tell which rows have ``wanted`` within eps, themselves included; and the pairs compared.

        ``known`` (N,) tells of rows whether they have, 1, or not, 0; for those at -1 it is found out.
        """
        every = np.arange(self.count)
        if known is not None:
            core, asked = known > 0, np.flatnonzero(known < 0)
            counts = self._sweep(
                "dense places", lambda rows: (self.between(rows, every) <= eps).sum(axis=1), asked, self.count
            )
            core[asked] = counts >= wanted
            return core, asked.size * (self.count - 1)
        parts = [every[part] for part in tiles(self.count, self._side)]
        pieces = [(a, b) for k, a in enumerate(parts) for b in parts[k:]]

        def look(piece: tuple[Index, Index]) -> tuple[Index, Index]:
            rows, cols = piece
            near = self.between(rows, cols) <= eps
            return near.sum(axis=1), near.sum(axis=0)

        found = np.zeros(self.count, dtype=np.int64)
        with stage("dense places", len(pieces)) as advance:
            for (rows, cols), (of_rows, of_cols) in zip(pieces, run(look, pieces), strict=True):
                found[rows] += of_rows
                if rows is not cols:
                    found[cols] += of_cols
                advance(1)
        return found >= wanted, self._pairs(self.count)

    def components(self, eps: float, core: Mask) -> tuple[Labels, int]:
        """Rank the components of the core rows by their first members, -1 for other rows; and the pairs compared."""
        parent = np.arange(self.count)
        inside = np.flatnonzero(core)
        parts = [inside[part] for part in tiles(inside.size, self._side)]
        exact = 0
        with stage("components", len(parts)) as advance:
            for k, rows in enumerate(parts):
                # Parts that are one component with these rows have nothing to add.
                roots = find_roots(parent)
                one = np.unique(roots[rows])
                open_ = [cols for cols in parts[k:] if one.size > 1 or (roots[cols] != one[0]).any()]
                losses = run(partial(self.between, rows), open_)
                for cols, values in zip(open_, losses, strict=True):
                    join_near(np.ascontiguousarray(values <= eps), rows, cols, parent)
                    exact += rows.size * cols.size
                advance(1)
        ranks = np.full(self.count, -1, dtype=np.int64)
        ranks[inside] = number(find_roots(parent)[inside])
        return ranks, exact

    def border(self, eps: float, ranks: Labels) -> tuple[Labels, int]:
        """Give rows without a cluster (-1) the lowest number of a clustered one within eps; and the pairs compared."""
        held, loose = np.flatnonzero(ranks >= 0), np.flatnonzero(ranks < 0)
        nobody = np.iinfo(np.int64).max

        def look(rows: Index) -> Array:
            return np.where(self.between(rows, held) <= eps, ranks[held], nobody).min(axis=1, initial=nobody)

        best = self._sweep("border", look, loose, held.size)
        labels = ranks.astype(np.int64)
        labels[loose] = np.where(best < nobody, best, -1)
        return labels, loose.size * held.size

    def own(self, wanted: Mask, k: int) -> tuple[Array, int]:
        """Loss of the k-th nearest, itself included, of the wanted rows, infinite for others; and the pairs compared."""
        every, rows = np.arange(self.count), np.flatnonzero(wanted)
        out = np.full(self.count, np.inf)
        if k > self.count:
            return out, 0

        def look(some: Index) -> Array:
            # A copy, since a view would keep all of the tile.
            return np.partition(self.between(some, every), k - 1, axis=1)[:, k - 1].copy()

        out[rows] = self._sweep("nearest", look, rows, self.count)
        return out, rows.size * (self.count - 1)

    def reach(self, labels: Labels, core: Mask, own: Array, *, others: bool = False) -> Array:
        """Return the loss at which each row reaches its cluster; see :mod:`mcgta.clustering.membership`. Infinite for noise.

        ``others`` leaves the row itself out of its cluster.
        """
        out = np.full(self.count, np.inf)
        pieces = []
        for label in range(labels.max(initial=-1) + 1):
            members = np.flatnonzero(labels == label)
            anchors = members[core[members]]
            side = max(1, self.entries // max(anchors.size, 1))
            pieces += [(members[part], anchors) for part in tiles(members.size, side)]

        def look(piece: tuple[Index, Index]) -> Array:
            rows, anchors = piece
            reach = np.maximum(np.maximum(self.between(rows, anchors), 0.0), own[anchors])
            if others:
                reach[rows[:, None] == anchors] = np.inf
            return reach.min(axis=1, initial=np.inf)

        with stage("strengths", len(pieces)) as advance:
            for (rows, _), found in zip(pieces, run(look, pieces), strict=True):
                out[rows] = found
                advance(1)
        return out

    def span(self, min_samples: int) -> tuple[Index, Index, Array, Array, int]:
        """Return the edges (i, j, weight) of a minimum spanning tree of mutual reachability, core distances, pairs compared."""
        core, exact = self.own(np.ones(self.count, dtype=bool), min_samples)
        order, weight, end = self._walk("spanning tree", core, core, np.asarray)
        return end[order[1:]], order[1:], weight[order[1:]], core, exact + self._pairs(self.count)

    def order(self, min_samples: int) -> tuple[Index, Array, Array, Index, int]:
        """Return the rows in the order of OPTICS, reachability, core distance and predecessor of each row, pairs compared."""
        core, exact = self.own(np.ones(self.count, dtype=bool), min_samples)
        core = rounded(core)
        order, reach, before = self._walk("ordering", core, np.zeros(self.count), rounded)
        return order, reach, core, before, exact + self._pairs(self.count)

    def _walk(self, name: str, core: Array, floor: Array, read: Callable[[Array], Array]) -> tuple[Index, Array, Index]:
        """Visit all rows from the first, always the nearest; return their order, how near each was, and to whom."""
        nearest, end = np.full(self.count, np.inf), np.full(self.count, -1)
        outside, order = np.arange(1, self.count), np.zeros(self.count, dtype=np.int64)
        with stage(name, self.count - 1) as advance:
            for step in range(1, self.count):
                left = outside[: self.count - step]
                here = order[step - 1 : step]
                if left.size <= self.share:
                    losses = self.between(here, left)[0]
                else:
                    parts = [left[part] for part in tiles(left.size, self.share)]
                    losses = np.concatenate([*run(partial(self.between, here), parts)], axis=1)[0]
                order[step] = step_outside(outside, left.size, read(losses), int(here[0]), core, floor, nearest, end)
                advance(1)
        return order, nearest, end

    def _sweep(self, name: str, look: Callable[[Index], Array], rows: Index, width: int) -> Array:
        """Join what a function finds for some rows at a time, which it compares with ``width`` others."""
        parts = [rows[part] for part in tiles(rows.size, max(1, self.entries // max(width, 1)))]
        found = []
        with stage(name, rows.size) as advance:
            for part, values in zip(parts, run(look, parts), strict=True):
                found.append(values)
                advance(part.size)
        return np.concatenate(found) if found else np.empty(0)

    @property
    def _side(self) -> int:
        """Rows and columns of a tile."""
        return int(np.sqrt(self.entries))

    @staticmethod
    def _pairs(count: int) -> int:
        return count * (count - 1) // 2


def rounded(values: Array) -> Array:
    """Round as scikit-learn's OPTICS does, so that its ties are ours."""
    return np.around(values, decimals=np.finfo(np.float64).precision)


def _consecutive(rows: Index) -> Index | slice:
    """Return rows that follow each other as a slice, which copies nothing."""
    if rows.size and rows[-1] - rows[0] == rows.size - 1:
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def find_roots(parent: Index) -> Index:
    """Return the root of each, given the next one on the way there."""
    roots = parent
    while (roots[roots] != roots).any():
        roots = roots[roots]
    return roots
