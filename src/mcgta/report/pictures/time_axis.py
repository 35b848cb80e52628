"""The axis of time: its ends, its ticks, and how times are stored and told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.drawing.series import DrawnSeries
from mcgta.fit import Fit
from mcgta.report.markup.ticks import NANOSECONDS_PER_SECOND, Tick, date_ticks, number_ticks, say_tick, say_time
from mcgta.runtime.types import Array, Index
from mcgta.runtime.wording import readable_time_unit

TICKS_PER_AXIS = 2**32 - 1
"""Steps between the two ends of the axis in which times are stored."""

_MILLISECONDS_PER_SECOND = 1_000


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


def time_axis(fit: Fit, drawn: DrawnSeries) -> TimeAxis:
    """Return the axis that the series of a fit share."""
    positions = fit.data.positions
    series = drawn.series
    first = min(float(each.times[0]) for each in series)
    last = max(float(each.times[-1]) for each in series)
    step = drawn.step if drawn.step > 0 else max(abs(last), 1.0)
    unit, size = ("step", 1.0) if positions.unit == "step" else ("", 1.0)
    if positions.dated and positions.origin is None:
        unit, size = readable_time_unit((last - first) / 3)
    return TimeAxis(first, last + step, step, positions.origin, size, unit)
