"""Times written as ISO 8601, their zones, and times of day."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from mcgta.files.table import Column

FIRST_YEAR = "1678"
"""Nanoseconds since 1970 reach from this year on,"""
LAST_YEAR = "2261"
"""and up to this one, in 64 bits."""

_ISO = re.compile(r"\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?)?", re.ASCII)
_ZONE = re.compile(r"(.*\d\d:\d\d.*?) ?(Z|[+-]\d\d(?::?\d\d)?)", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?: ?([AaPp])[Mm])?", re.ASCII)
_NANOSECONDS_PER_SECOND = 10**9


def iso_nanoseconds(cells: Sequence[str]) -> Column:
    """Return times written as 2024-12-31, 2024-12-31 23:59, 2024-12-31T23:59:59.999 and the like; 2024-12 is a month."""
    if not all(map(_ISO.fullmatch, cells)):
        raise ValueError("no time as in ISO 8601")
    if cells and (min(cells)[:4] < FIRST_YEAR or max(cells)[:4] > LAST_YEAR):
        raise ValueError(f"a time outside the years {FIRST_YEAR} to {LAST_YEAR}")
    if any("," in cell for cell in cells):
        cells = [cell.replace(",", ".") for cell in cells]
    return np.array(cells, dtype="datetime64[ns]")


def split_zones(cells: Sequence[str]) -> tuple[list[str], Column]:
    """Return times without their zones, and how far these are ahead of UTC."""
    local = []
    offsets = np.zeros(len(cells), dtype="timedelta64[ns]")
    known: dict[str, np.timedelta64] = {}
    for k, cell in enumerate(cells):
        match = _ZONE.fullmatch(cell)
        if match is None:
            raise ValueError("no time zone")
        zone = match[2]
        if zone not in known:
            known[zone] = np.timedelta64(_offset_minutes(zone), "m")
        local.append(match[1])
        offsets[k] = known[zone]
    return local, offsets


def clock_nanoseconds(cells: Sequence[str]) -> Column:
    """Return times of day, such as 23:59, 23:59:59.9 or 11:59 PM, since midnight."""
    known: dict[str, int] = {}
    for cell in cells:
        if cell not in known:
            known[cell] = _clock(cell.strip())
    return np.array([known[cell] for cell in cells], dtype=np.int64).astype("timedelta64[ns]")


def in_longest_unit(column: Column) -> Column:
    """Return times in the longest unit that tells them apart: days, seconds or parts of them; other columns as they are."""
    if column.dtype.kind != "M":
        return column
    present = column[~np.isnat(column)]
    for unit in ("D", "s", "ms", "us"):
        if (present == present.astype(f"datetime64[{unit}]")).all():
            return column.astype(f"datetime64[{unit}]")
    return column


def _clock(cell: str) -> int:
    match = _CLOCK.fullmatch(cell)
    if match is None:
        raise ValueError("no time of day")
    hour = int(match[1])
    if match[5] is not None:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of twelve")
        hour = hour % 12 + (12 if match[5] in "Pp" else 0)
    minute = int(match[2])
    second = int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("no time of day")
    fraction = int((match[4] or "0").ljust(9, "0"))
    return ((hour * 60 + minute) * 60 + second) * _NANOSECONDS_PER_SECOND + fraction


def _offset_minutes(zone: str) -> int:
    """Return the minutes that a zone such as "Z", "+01" or "-03:30" is ahead of UTC."""
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    if int(digits[:2]) > 23 or int(digits[2:]) > 59:
        raise ValueError("no time zone")
    return (-1 if zone[0] == "-" else 1) * (60 * int(digits[:2]) + int(digits[2:]))
