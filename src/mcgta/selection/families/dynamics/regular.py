"""Series on a regular grid of time, which features of motion need, and the way back to the rows.

Rows that are evenly spaced are taken as they are. Others are interpolated, linearly between neighbours, on a grid of the median
step; rows of one time count as their mean. A series is cut into pieces at the ends of groups and where a gap is long. Nothing
is carried over from one piece to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels

LONG_GAP_STEPS = 20
"""Median steps beyond which a gap cuts a series."""

MAX_STEPS_PER_ROW = 2
"""Steps of the grid for each row, above which the grid is made wider."""

_EVEN = 1e-6  # of a step, by which evenly spaced rows may be off


@dataclass(frozen=True, eq=False)
class RegularSeries:
    """Channels on a regular grid, in pieces.

    Attributes
    ----------
    values : (T, d) of steps, piece after piece
    starts : (P + 1,) first step of each piece, and T
    step_of_row : (N,) step nearest to each row
    step : length of a step in the unit of position
    """

    values: Array
    starts: Index
    step_of_row: Index
    step: float

    def __len__(self) -> int:
        return len(self.values)

    @property
    def lengths(self) -> Index:
        """(P,) steps of each piece."""
        return np.diff(self.starts)

    @property
    def row_weight(self) -> float:
        """Steps for each row."""
        return len(self.values) / max(self.step_of_row.size, 1)

    def rows_to_steps(self, labels: Labels) -> Labels:
        """Return the labels (T,) of steps: those of the nearest row before or at it, else of the next one."""
        if self.is_even:
            return labels
        first = np.full(len(self), -1, dtype=np.int64)
        order = np.arange(self.step_of_row.size)[::-1]
        first[self.step_of_row[order]] = order
        filled = np.maximum.accumulate(first)
        return np.asarray(labels[filled])

    @property
    def is_even(self) -> bool:
        """Whether steps are the rows themselves."""
        return self.step_of_row.size == len(self) and bool((np.diff(self.step_of_row) == 1).all())


def typical_step(places: Positions) -> float:
    """Return the median gap between different times of a group; 0 where there is none."""
    times = places.coordinates[:, 0]
    gaps = np.diff(times)[~places.group_starts[1:]]
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if gaps.size else 0.0


def make_regular(features: Array, places: Positions, step: float) -> RegularSeries:
    """Bring rows in canonical order on a grid of about this step."""
    times = places.coordinates[:, 0]
    gaps = np.diff(times, prepend=times[:1])
    begins = places.group_starts | (gaps > LONG_GAP_STEPS * step)
    inner = gaps[~begins]
    if inner.size == 0 or (np.abs(inner - step) <= _EVEN * step).all():
        starts = np.append(np.flatnonzero(begins), len(features)).astype(np.int64)
        return RegularSeries(np.asarray(features, dtype=np.float64), starts, np.arange(len(features)), step)
    step = max(step, float(inner.sum()) / (MAX_STEPS_PER_ROW * len(features)))
    bounds = np.append(np.flatnonzero(begins), len(features))
    pieces = []
    where = np.empty(len(features), dtype=np.int64)
    ends = [0]
    for first, end in pairwise(bounds):
        own = times[first:end]
        count = round((own[-1] - own[0]) / step) + 1
        grid = np.linspace(own[0], own[-1], count)
        pieces.append(_interpolate(own, features[first:end], grid))
        spacing = (own[-1] - own[0]) / max(count - 1, 1)
        where[first:end] = ends[-1] + (np.rint((own - own[0]) / spacing).astype(np.int64) if spacing > 0 else 0)
        ends.append(ends[-1] + count)
    return RegularSeries(np.concatenate(pieces), np.array(ends, dtype=np.int64), where, step)


def _interpolate(times: Array, rows: Array, grid: Array) -> Array:
    """Return the rows (T, d) at the times of a grid; those of one time are averaged first."""
    if len(grid) == 1:
        return rows.mean(axis=0, keepdims=True)
    distinct, which, counts = np.unique(times, return_inverse=True, return_counts=True)
    if distinct.size < times.size:
        sums = np.zeros((distinct.size, rows.shape[1]))
        np.add.at(sums, which, rows)
        rows = sums / counts[:, None]
    return np.stack([np.interp(grid, distinct, column) for column in rows.T], axis=1)
