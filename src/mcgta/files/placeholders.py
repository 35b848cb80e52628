"""Numbers such as -999 that stand for a missing value: they are told, since only the user knows what they mean."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mcgta.files.table import FileTable
from mcgta.runtime.types import Array

PLACEHOLDERS = (-99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0)
"""Numbers that loggers and archives write where there is no value."""
MIN_DISTANCE_IN_EXTENTS = 2.0
"""A number that is farther from all others than so many times their extent is none of them."""


def say_placeholders(table: FileTable, names: Iterable[str]) -> list[str]:
    """Return a sentence for each of the columns of numbers whose least or greatest number looks like a missing value."""
    said = []
    for name in names:
        numbers = table.numbers(name)
        numbers = numbers[np.isfinite(numbers)]
        ends = sorted({float(numbers.min()), float(numbers.max())}) if numbers.size else []
        said += [_say(table, name, end) for end in ends if end in PLACEHOLDERS and _is_far(end, numbers)]
    return said


def _say(table: FileTable, name: str, number: float) -> str:
    rows = np.flatnonzero(table.numbers(name) == number)
    line = table.line_of(int(rows[0]))
    where = f"row {rows[0]}" if line is None else f"line {line}"
    count = f"{rows.size:,} {'row' if rows.size == 1 else 'rows'}"
    found = f"{name} is {number:g} in {count}, the first in {where}, far from all else"
    return f"{found}; if no value is meant, leave these cells empty"


def _is_far(number: float, numbers: Array) -> bool:
    """Whether a number is far from all others, which must be of several values."""
    others = numbers[numbers != number]
    if others.size == 0 or others.min() == others.max():
        return False
    extent = float(others.max() - others.min())
    return float(np.abs(others - number).min()) > MIN_DISTANCE_IN_EXTENTS * extent
