"""Records that repeat: which one each row of a series belongs to, and how far the record has gone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.positions.positions import Positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index

_ROUNDING_OF_A_RECORD = 1e-6  # of a record's length; a row that is so little before a border is at it


@dataclass(frozen=True, eq=False)
class Records:
    """N rows in canonical order as R records.

    Attributes
    ----------
    of : (N,) the record of each row, 0 ... R - 1, never less than that of the row before
    phases : (N,) time since a row's record began, over how long the longest lasts, or over how long its own does
    """

    of: Index
    phases: Array

    def __len__(self) -> int:
        """R."""
        return int(self.of[-1]) + 1

    @cached_property
    def first_rows(self) -> Index:
        """(R,) first row of each record."""
        return np.flatnonzero(np.r_[True, self.of[1:] != self.of[:-1]])

    @cached_property
    def n_rows(self) -> Index:
        """(R,) rows of each record."""
        return np.bincount(self.of)

    def take(self, rows: Index) -> Records:
        """Return some of the rows, which are whole records."""
        return Records(np.unique(self.of[rows], return_inverse=True)[1], self.phases[rows])

    def places(self, places: Positions) -> Positions:
        """Return the positions with records as groups."""
        names = np.arange(len(self))
        return replace(places, groups=np.asarray(self.of, dtype=np.int64), group_names=names)


@dataclass(frozen=True, eq=False)
class RecordRule:
    """The rule by which rows are of records: each group is one, or series are cut every so often.

    Attributes
    ----------
    length : time from the beginning of a record to that of the next in the same group; 0 where groups are records
    lasting : time from the first to the last row of the longest record
    relative : whether phases are relative to how long a row's own record lasts
    group_names : (G,) groups whose beginnings are known, as text
    origins : (G,) time at which a record of each of them begins
    """

    length: float
    lasting: float
    relative: bool
    group_names: NDArray[Any]
    origins: Array

    def apply(self, places: Positions) -> Records:
        """Cut rows in canonical order into records; a group that is not known begins with its first row."""
        times = places.coordinates[:, 0]
        codes = np.cumsum(places.group_starts) - 1
        names = places.group_names.astype(str)[places.groups[places.group_starts]]
        known = dict(zip(self.group_names.tolist(), self.origins.tolist(), strict=True))
        firsts = times[places.group_starts].tolist()
        origins = np.array([known.get(name, first) for name, first in zip(names.tolist(), firsts, strict=True)])
        elapsed = times - origins[codes]
        borders = places.group_starts
        if self.length > 0:
            number = np.floor(elapsed / self.length + _ROUNDING_OF_A_RECORD)
            elapsed = elapsed - number * self.length
            borders = borders | np.r_[True, number[1:] != number[:-1]]
        of = np.cumsum(borders) - 1
        lasting = np.full(int(of[-1]) + 1, self.lasting)
        if self.relative:
            np.maximum.reduceat(elapsed, np.flatnonzero(borders), out=lasting)
            lasting[lasting <= 0] = self.lasting
        return Records(of, np.clip(elapsed / lasting[of], 0.0, 1.0))


def group_rule(places: Positions, *, relative: bool) -> RecordRule:
    """Return the rule by which every group of rows in canonical order is a record."""
    times = places.coordinates[:, 0]
    first = np.flatnonzero(places.group_starts)
    last = np.append(first[1:], len(places)) - 1
    names = places.group_names.astype(str)[places.groups[first]]
    return RecordRule(0.0, float((times[last] - times[first]).max()), relative, names, times[first])


def series_rule(places: Positions, n_steps: int, n_steps_before: int) -> RecordRule:
    """Return the rule that cuts a series of equal steps into records of ``n_steps``, after ``n_steps_before`` rows."""
    times = places.coordinates[:, 0]
    step = float(times[-1] - times[0]) / (len(times) - 1)
    names = places.group_names.astype(str)[places.groups[:1]]
    origins = np.array([times[0] + n_steps_before * step])
    return RecordRule(n_steps * step, (n_steps - 1) * step, False, names, origins)
