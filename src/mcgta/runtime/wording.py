"""Numbers, shares and durations as people read them."""

from __future__ import annotations

import math

TIME_UNITS: tuple[tuple[str, float], ...] = (
    ("d", 86_400.0),
    ("h", 3_600.0),
    ("min", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("µs", 1e-6),
)
"""Units of time and their seconds, the longest first."""

_LONG_DISTANCE_M = 1_000.0


def say_number(value: float) -> str:
    """Return a number with about three digits, thousands set apart: "0.0123", "4.56", "12,300"."""
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 1e-4 <= abs(value) < 1000:
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.2e}"


def say_share(share: float) -> str:
    """Return a share as per cent: "43 %", "0.3 %", or "under 0.1 %"; 100 % only where nothing is left."""
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    if share < 0.0095 or 0.9905 < share < 1:
        return f"{100 * share:.1f} %" if share > 0 else "0 %"
    return f"{100 * share:.0f} %"


def readable_time_unit(seconds: float) -> tuple[str, float]:
    """Return the longest unit of time of which there is at least one, and its seconds."""
    for name, size in TIME_UNITS:
        if abs(seconds) >= size:
            return name, size
    return ("s", 1.0) if seconds == 0 else TIME_UNITS[-1]


def readable_distance_unit(distance: float, unit: str) -> tuple[str, float]:
    """Return the unit that a distance of positions is best read in, and its size in the unit of the positions."""
    if unit == "s":
        return readable_time_unit(distance)
    if unit == "m" and abs(distance) >= _LONG_DISTANCE_M:
        return "km", _LONG_DISTANCE_M
    return unit, 1.0


def say_distance(distance: float, unit: str) -> str:
    """Return a distance of positions in its unit: seconds as a duration, metres as km from 1,000 on, else as it is."""
    if unit == "step":
        return f"{say_number(distance)} {'step' if distance == 1 else 'steps'}"
    unit, size = readable_distance_unit(distance, unit)
    return f"{say_number(distance / size)} {unit}".rstrip()
