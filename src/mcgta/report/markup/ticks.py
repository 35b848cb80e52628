"""Ticks: round numbers and round dates between two ends, and what is written at them."""

from __future__ import annotations

import datetime
import math
from typing import NamedTuple

import numpy as np

NANOSECONDS_PER_SECOND = 1_000_000_000
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_SECOND_STEPS = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    10800,
    21600,
    43200,
    86400,
    172800,
    604800,
)
"""Seconds between ticks, up to a week; beyond, ticks are at the beginnings of months and of years."""
_MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
_SECONDS_PER_MONTH = 30.44 * 86_400


class Tick(NamedTuple):
    """A place on an axis, and what is written there."""

    at: float
    label: str


def number_ticks(low: float, high: float, most: int = 6) -> list[Tick]:
    """Return round numbers from low to high, at most so many."""
    if not high > low:
        return [Tick(low, say_tick(low, 1.0))]
    rough = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((part * power for part in _STEPS if part * power >= rough * (1 - 1e-9)), 10 * power)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [Tick(k * step, say_tick(k * step, step)) for k in range(first, last + 1)]


def say_tick(value: float, step: float) -> str:
    """Return a number with the digits that tell multiples of a step apart, thousands set apart."""
    largest = max(abs(value), step)
    if largest >= 1e9 or largest < 1e-4:
        return f"{value:.6g}"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if round(step, digits) != step:
        digits += 1
    return f"{value:,.{min(digits, 6)}f}".replace("-0", "0") if value == 0 else f"{value:,.{min(digits, 6)}f}"


def date_ticks(origin: int, low: float, high: float, most: int = 6) -> list[Tick]:
    """Return round dates between two times in seconds after ``origin``, nanoseconds since 1970; at most about so many."""
    rough = (high - low) / max(most, 1)
    if rough > _SECOND_STEPS[-1]:
        return _month_ticks(origin, low, high, rough)
    if rough < 1:
        return [Tick(tick.at, f"{tick.label} s") for tick in number_ticks(low, high, most)]
    step = next(each for each in _SECOND_STEPS if each >= rough)
    zero = origin / NANOSECONDS_PER_SECOND
    first = math.ceil((zero + low) / step)
    last = math.floor((zero + high) / step)
    form = (
        "%Y-%m-%d"
        if step >= 86_400
        else "%m-%d %H:%M"
        if high - low > 86_400
        else "%H:%M"
        if step >= 60
        else "%H:%M:%S"
    )
    return [Tick(k * step - zero, _moment(k * step).strftime(form)) for k in range(first, last + 1)]


def say_time(origin: int | None, seconds: float, resolution: float) -> str:
    """Return a time in full: a date with as much of the hour as the resolution needs, or a number without an origin."""
    if origin is None:
        return say_tick(seconds, 10.0 ** math.floor(math.log10(resolution)) if resolution > 0 else 1.0)
    moment = _moment((origin + NANOSECONDS_PER_SECOND * seconds) / NANOSECONDS_PER_SECOND)
    if resolution >= 86_400 and moment.hour == moment.minute == moment.second == 0:
        return moment.strftime("%Y-%m-%d")
    if resolution >= 60 and moment.second == 0:
        return moment.strftime("%Y-%m-%d %H:%M")
    if resolution >= 1:
        return moment.strftime("%Y-%m-%d %H:%M:%S")
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def log_ticks(most: float, linear: float) -> list[Tick]:
    """Return 0, the end of the linear part of a scale, and the powers of ten beyond it, up to the most."""
    powers = [10.0**k for k in range(1, math.ceil(math.log10(max(most, 10.0))) + 1) if linear < 10.0**k <= most]
    return [Tick(value, f"{value:,.0f}") for value in (0.0, linear, *powers)]


def _month_ticks(origin: int, low: float, high: float, rough: float) -> list[Tick]:
    """Return beginnings of months, or of years."""
    step = next((each for each in _MONTH_STEPS if each * _SECONDS_PER_MONTH >= rough), _MONTH_STEPS[-1])
    zero = origin / NANOSECONDS_PER_SECOND
    begin = np.datetime64(int(zero + low), "s").astype("datetime64[M]").astype(int)
    end = np.datetime64(int(zero + high), "s").astype("datetime64[M]").astype(int)
    ticks = []
    for month in range(-(-int(begin) // step) * step, int(end) + 1, step):
        seconds = int(np.datetime64(month, "M").astype("datetime64[s]").astype(int))
        if low <= seconds - zero <= high:
            ticks.append(Tick(seconds - zero, str(np.datetime64(month, "Y" if step >= 12 else "M"))))
    return ticks if step < 12 else [Tick(tick.at, _year_of(tick.at + zero)) for tick in ticks]


def _year_of(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s").astype("datetime64[Y]"))


def _moment(seconds: float) -> datetime.datetime:
    """Return seconds since 1970 as a date; dates beyond the calendar's ends stand at them."""
    least = -62_135_596_800
    most = 253_402_300_799
    epoch = datetime.datetime(1970, 1, 1)
    return epoch + datetime.timedelta(seconds=min(max(seconds, least), most))
