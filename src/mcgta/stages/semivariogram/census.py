"""Pairs of observations by distance: how many there are, how far apart, and samples of them.

A *census* knows, for each bin of distance, all its pairs without listing them: their number, their mean distance, the mean
squared difference of any points attached to the observations, and the pair of any rank, so that samples can be drawn evenly.
Along time it works with running totals and never looks at pairs. Elsewhere, many observations with coordinates are counted by
a tree over these (:mod:`mcgta.stages.semivariogram.tree_census`); else it goes through tiles of the table of
distances, again for each sample, and needs no more memory than a tile.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mcgta.kernels.curves import lag_sums
from mcgta.positions.positions import Positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.parallel import tiles, triangle
from mcgta.runtime.progress import Advance, ignore
from mcgta.runtime.types import Array, Index
from mcgta.stages.semivariogram.census_parts import bin_means, draw_by_part, run_each
from mcgta.stages.semivariogram.tree_census import TREE_STEPS, TreeCensus

TABLE_CENSUS_ROWS = 3000
"""Up to this many observations a table of distances is faster than a tree."""

_TILE_ROWS = 512
_COPIED_ROWS = 8192
_REMEMBERED_BYTES = 2**23  # bytes of partners along time that are kept


class Census(Protocol):
    """The pairs of each bin.

    Attributes
    ----------
    counts : (B,) number of pairs
    lags : (B,) mean distance; NaN where there are none
    squares : (B,) mean squared difference of the points; NaN where there are none
    rounding : (B,) about how much of ``squares`` is rounding
    """

    counts: Index
    lags: Array
    squares: Array
    rounding: Array

    def draw(self, ranks: list[Index]) -> tuple[Index, Index]:
        """Return the rows of the pairs with the given ranks in each bin, bin after bin; ranks ascend within a bin."""


def census_steps(positions: Positions, edges: Array) -> int:
    """Return how many steps it takes to take a census, or to draw a sample from one."""
    if _along_time(positions):
        return edges.size - 1
    return TREE_STEPS if _by_tree(positions) else len(triangle(len(positions), _TILE_ROWS))


def take_census(positions: Positions, edges: Array, points: Array, *, advance: Advance = ignore) -> Census:
    """Count the pairs of each bin and add up the squared differences of ``points`` (N, m).

    ``advance`` is told of each step, now and when samples are drawn.
    """
    # Pairs are within groups, so each group is centred by itself: what groups differ by costs no digits.
    sizes = np.bincount(positions.groups)
    totals = np.stack([np.bincount(positions.groups, column) for column in points.T], axis=1)
    means = totals / np.maximum(sizes, 1)[:, None]
    centred = np.empty(points.shape)
    for part in tiles(len(points), _COPIED_ROWS):
        np.subtract(points[part], means[positions.groups[part]], out=centred[part])
    if _along_time(positions):
        return TimeCensus(positions, edges, centred, advance)
    kind = TreeCensus if _by_tree(positions) else TableCensus
    return kind(positions, edges, centred, advance)


def _along_time(positions: Positions) -> bool:
    return positions.is_chain and positions.points is not None


def _by_tree(positions: Positions) -> bool:
    return positions.points is not None and len(positions) > TABLE_CENSUS_ROWS


class TimeCensus:
    """A census along time: the partners of an observation in a bin are consecutive in time."""

    def __init__(self, positions: Positions, edges: Array, points: Array, advance: Advance = ignore) -> None:
        assert positions.points is not None
        times = positions.points[:, 0]
        self._order = np.lexsort((times, positions.groups))
        self._times = np.ascontiguousarray(times[self._order])
        groups = positions.groups[self._order]
        self._stops = np.searchsorted(groups, groups, side="right").astype(np.int64)
        self._edges = edges
        self._rounding = positions.rounding
        self._advance = advance
        self._firsts: dict[tuple[int, bool], Index] = {}
        sorted_points = np.empty(points.shape)
        for part in tiles(len(points), _COPIED_ROWS):
            np.take(points, self._order[part], axis=0, out=sorted_points[part])
        running = lag_sums.running_totals(sorted_points)
        elapsed = np.concatenate([[0.0], np.cumsum(self._times - self._times.mean())])
        centred = self._times - self._times.mean()

        def sum_bin(k: int) -> tuple[int, float, float]:
            low, high = self._partners(k)
            number = high - low
            lag = (elapsed[high] - elapsed[low] - number * centred).sum()
            return int(number.sum()), float(lag), lag_sums.squared_differences(sorted_points, running, low, high)

        seen = np.array(run_each(sum_bin, range(edges.size - 1), advance))
        self.counts = seen[:, 0].astype(np.int64)
        self.lags, self.squares = bin_means(seen[:, 1:].T, self.counts)
        # Each row takes differences of totals, and errs by what the last digit of the largest one is worth.
        worth = np.finfo(float).eps * running[1][-1] * np.sqrt(len(points))
        self.rounding = worth / np.maximum(self.counts, 1)

    def _partners(self, k: int) -> tuple[Index, Index]:
        """First and one past the last partner of each observation in bin k."""
        last = k == self._edges.size - 2
        return self._first(k, beyond=False), self._first(k + 1, beyond=last)

    def _first(self, k: int, *, beyond: bool) -> Index:
        if (k, beyond) not in self._firsts:
            first = lag_sums.first_at_lag(self._times, self._stops, self._edges[k], self._rounding, beyond=beyond)
            if self._edges.size * first.nbytes > _REMEMBERED_BYTES:
                return first
            self._firsts[k, beyond] = first
        return self._firsts[k, beyond]

    def draw(self, ranks: list[Index]) -> tuple[Index, Index]:
        """Return the pairs of the given ranks; ranks count by the earlier observation, then the later."""
        rows = [np.empty(0, dtype=np.int64)]
        cols = [np.empty(0, dtype=np.int64)]
        for k, wanted in enumerate(ranks):
            if wanted.size:
                low, high = self._partners(k)
                before = np.concatenate([[0], np.cumsum(high - low)])
                row = np.searchsorted(before, wanted, side="right") - 1
                rows.append(self._order[row])
                cols.append(self._order[low[row] + wanted - before[row]])
            self._advance(1)
        return np.concatenate(rows), np.concatenate(cols)


class TableCensus:
    """A census by tiles of the table of distances, with the squared differences as products of tiles."""

    def __init__(self, positions: Positions, edges: Array, points: Array, advance: Advance = ignore) -> None:
        self._positions = positions
        self._edges = edges
        self._advance = advance
        norms = np.einsum("nm,nm->n", points, points)

        def sum_tile(piece: tuple[slice, slice]) -> Array:
            rows, cols = piece
            squares = points[rows] @ points[cols].T
            squares *= -2
            squares += norms[rows][:, None]
            squares += norms[cols]
            return lag_sums.bin_sums(
                positions.between(rows, cols), squares, edges, positions.rounding, above=rows == cols
            )

        sums = run_each(sum_tile, self._pieces, advance)
        self._numbers = np.array([part[0] for part in sums]).astype(np.int64)
        self.counts = self._numbers.sum(axis=0)
        totals = np.sum([part[1:] for part in sums], axis=0)
        self.lags, self.squares = bin_means(totals, self.counts)
        self.rounding = np.full(edges.size - 1, 8 * np.finfo(float).eps * norms.mean())

    @cached_property
    def _pieces(self) -> list[tuple[slice, slice]]:
        return triangle(len(self._positions), _TILE_ROWS)

    def draw(self, ranks: list[Index]) -> tuple[Index, Index]:
        """Return the pairs of the given ranks; ranks count tile by tile, and by rows within a tile."""

        def find(tile: int, inside: Any, begins: Index) -> tuple[Index, Index]:
            rows, cols = self._pieces[tile]
            table = self._positions.between(rows, cols)
            i, j = lag_sums.pairs_of_rank(
                table, self._edges, self._positions.rounding, inside, begins, above=rows == cols
            )
            return i + rows.start, j + cols.start

        return draw_by_part(ranks, self._numbers, find, self._advance, len(self._pieces))
