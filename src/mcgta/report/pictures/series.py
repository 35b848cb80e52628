"""Series of a fit along time: its groups, each by time, and the axis that they share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.description.spells import typical_step
from mcgta.fit import Fit
from mcgta.report.markup.ticks import NANOSECONDS_PER_SECOND, Tick, date_ticks, number_ticks, say_tick, say_time
from mcgta.runtime.types import Array, Index
from mcgta.runtime.wording import readable_time_unit

MOST_GROUPS = 40
"""Groups that are drawn, the first ones."""

TICKS_PER_AXIS = 2**32 - 1
"""Steps between the two ends of the axis in which times are stored."""

_MILLISECONDS_PER_SECOND = 1_000


@dataclass(frozen=True, eq=False)
class Series:
    """One group along time.

    Attributes
    ----------
    name : of the group; "" where there is one only
    rows : (M,) of the fit in canonical order, by time
    times : (M,) ascending, in the unit of the positions
    """

    name: str
    rows: Index
    times: Array

    @property
    def tied(self) -> bool:
        """Whether some rows are at one time."""
        return bool((np.diff(self.times) == 0).any())

    @property
    def regular(self) -> bool:
        """Whether rows follow each other at one step, up to a hundredth of it."""
        steps = np.diff(self.times)
        return steps.size == 0 or bool(steps.min() > 0 and np.ptp(steps) <= 0.01 * steps.min())


@dataclass(frozen=True, eq=False)
class TimeAxis:
    """The axis of time.

    Attributes
    ----------
    first, last : its ends, in the unit of the positions
    step : the typical time from a row to the next
    origin : nanoseconds since 1970 of time zero; None where times are not dates
    size : units of the positions in what is written at ticks
    unit : that is written at the axis
    """

    first: float
    last: float
    step: float
    origin: int | None
    size: float
    unit: str

    def store(self, times: Array) -> Index:
        """Return times as steps from the first end, as 32-bit integers."""
        share = np.clip((times - self.first) / (self.last - self.first), 0.0, 1.0)
        return np.rint(share * TICKS_PER_AXIS).astype(np.uint32)

    def place(self, times: Array) -> Array:
        """Return where times are between the ends, from 0 to 1."""
        return (times - self.first) / (self.last - self.first)

    def ticks(self, most: int) -> list[Tick]:
        """Return ticks in the unit of the positions."""
        if self.origin is not None:
            return date_ticks(self.origin, self.first, self.last, most)
        ticks = number_ticks(self.first / self.size, self.last / self.size, most)
        return [Tick(tick.at * self.size, tick.label) for tick in ticks]

    def say(self, time: float) -> str:
        """Return a time in words."""
        if self.origin is not None:
            return say_time(self.origin, time, self.step)
        words = say_tick(time / self.size, 10.0 ** np.floor(np.log10(self.step / self.size)))
        return f"{self.unit} {words}" if self.unit == "step" else f"{words} {self.unit}".rstrip()

    def values(self) -> dict[str, object]:
        """Return what the page needs to know of it."""
        gap = self.step / (self.last - self.first)
        if self.origin is None:
            ends = [self.first / self.size, self.last / self.size]
            return {"dated": False, "ends": ends, "unit": self.unit, "step": gap}
        zero = self.origin / NANOSECONDS_PER_SECOND
        ends = [_MILLISECONDS_PER_SECOND * (zero + end) for end in (self.first, self.last)]
        return {"dated": True, "ends": ends, "unit": "", "step": gap}


def list_series(fit: Fit) -> tuple[list[Series], int]:
    """Return the groups to draw, each by time, and how many are left out."""
    positions = fit.data.positions
    times = positions.coordinates[:, -1]
    order = np.arange(times.size) if positions.is_chain else np.lexsort((times, positions.groups))
    cuts = np.flatnonzero(np.diff(positions.groups[order])) + 1
    groups = np.split(order, cuts)
    several = len(groups) > 1
    names = positions.group_names
    listed = [
        Series(str(names[positions.groups[rows[0]]]) if several else "", rows, times[rows])
        for rows in groups[:MOST_GROUPS]
    ]
    return listed, len(groups) - len(listed)


def time_axis(fit: Fit, series: list[Series]) -> TimeAxis:
    """Return the axis that series share."""
    positions = fit.data.positions
    groups = np.repeat(np.arange(len(series)), [each.times.size for each in series])
    step = typical_step(groups, np.concatenate([each.times for each in series]))
    first = min(float(each.times[0]) for each in series)
    last = max(float(each.times[-1]) for each in series)
    step = step if step > 0 else max(abs(last), 1.0)
    unit, size = ("step", 1.0) if positions.unit == "step" else ("", 1.0)
    if positions.dated and positions.origin is None:
        unit, size = readable_time_unit((last - first) / 3)
    return TimeAxis(first, last + step, step, positions.origin, size, unit)
