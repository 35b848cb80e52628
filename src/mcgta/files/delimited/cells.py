"""What the cells of a text stand for: whole numbers, numbers, flags, times; one parser and one row of ``PARSERS`` each.

A parser reads many cells at once and raises a ValueError where one of them is of another kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mcgta.files.delimited.times import clock_nanoseconds, iso_nanoseconds, split_zones
from mcgta.files.table import Column, Kind

MISSING = frozenset(("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "NaT", "null", "NULL", "None"))
"""Cells without a value, blanks around them aside. In a column of text only the empty cell is one."""

_FLAGS = {"true": True, "false": False, "yes": True, "no": False}
_NOT_IN_NUMBERS = re.compile(r"[_\x00-\x08\x0e-\x1f]")  # Python reads 1_000 as a number
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ T]+(\d{1,2}:\d\d(?::\d\d(?:\.\d{1,9})?)?))?", re.ASCII)
_SLASHED = re.compile(
    r"(\d{1,2})/(\d{1,2})/(\d{4})(?:[ T]+(\d{1,2}:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?[AaPp][Mm])?))?", re.ASCII
)


class Parser:
    """Reads cells of one kind; the defaults are those of numbers.

    Class attributes
    ----------------
    kind : what a column of such cells is called
    said : what a cell is not that cannot be read
    """

    kind: ClassVar[Kind]
    said: ClassVar[str] = "is not a number"

    def parse(self, cells: Sequence[str]) -> Column:
        """Return the values of cells, none of which is missing."""
        raise NotImplementedError

    def with_missing(self, values: Column, present: Column, count: int) -> Column:
        """Return ``count`` values, of which those ``present`` (rows) are given and the others are missing."""
        filled = np.full((count, *values.shape[1:]), np.nan)
        filled[present] = values
        return filled

    def finish(self, values: Column) -> Column:
        """Return the column, of which all values are known now."""
        return values

    def wider(self) -> tuple[Parser, ...]:
        """Return parsers that read all that this one reads, and more."""
        return ()

    def fits(self, cell: str) -> bool:
        """Whether a cell can be read."""
        try:
            self.parse((cell,))
        except (ValueError, OverflowError):
            return False
        return True


class Integer(Parser):
    """Whole numbers of up to 63 bits."""

    kind = "integer"

    def parse(self, cells: Sequence[str]) -> Column:
        """Read whole numbers."""
        _refuse_liberties(cells)
        return np.fromiter(map(int, cells), dtype=np.int64, count=len(cells))

    def wider(self) -> tuple[Parser, ...]:
        """Numbers with either decimal sign."""
        return (NUMBER, COMMA_NUMBER)


class Number(Parser):
    """Numbers with a decimal point."""

    kind = "number"

    def parse(self, cells: Sequence[str]) -> Column:
        """Read numbers."""
        _refuse_liberties(cells)
        return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))


class CommaNumber(Parser):
    """Numbers with a decimal comma."""

    kind = "number"
    said = "is not a number with a decimal comma, as others of this column are"

    def parse(self, cells: Sequence[str]) -> Column:
        """Read numbers."""
        if any("." in cell for cell in cells):
            raise ValueError("a decimal point")
        return NUMBER.parse([cell.replace(",", ".") for cell in cells])


class Flag(Parser):
    """True or false, yes or no, in capitals or not."""

    kind = "flag"
    said = "is not true or false, as others of this column are"

    def parse(self, cells: Sequence[str]) -> Column:
        """Read flags."""
        try:
            return np.fromiter((_FLAGS[cell.strip().lower()] for cell in cells), dtype=bool, count=len(cells))
        except KeyError as error:
            raise ValueError("no flag") from error


class _Time(Parser):
    kind = "time"
    said = "is not a time, as others of this column are"

    def with_missing(self, values: Column, present: Column, count: int) -> Column:
        """Fill with NaT."""
        filled = np.full(count, np.datetime64("NaT", "ns"))
        filled[present] = values
        return filled


class LocalTime(_Time):
    """ISO 8601 without a time zone."""

    def parse(self, cells: Sequence[str]) -> Column:
        """Read times."""
        return iso_nanoseconds([cell.strip() for cell in cells])


class ZonedTime(_Time):
    """ISO 8601 with a time zone; the times are those of UTC."""

    said = "is not a time with a time zone, as others of this column are"

    def parse(self, cells: Sequence[str]) -> Column:
        """Read times, and take the zones off."""
        local, offsets = split_zones([cell.strip() for cell in cells])
        return iso_nanoseconds(local) - offsets


class DottedDate(_Time):
    """Day.month.year, with or without the time of day."""

    def parse(self, cells: Sequence[str]) -> Column:
        """Read dates."""
        parts = _match_all(_DOTTED, cells)
        return iso_nanoseconds([f"{year}-{month:0>2}-{day:0>2}" for day, month, year, _ in parts]) + _clocks(parts)


class SlashedDate(_Time):
    """Month/day/year or day/month/year: the whole column says which, or it is no column of times.

    Values (N, 2) are whole days, written as year month day or year day month in one number, and nanoseconds of the day.
    """

    said = "is not a date, as others of this column are"

    def parse(self, cells: Sequence[str]) -> Column:
        """Read the numbers of dates."""
        parts = _match_all(_SLASHED, cells)
        days = np.array([int(f"{year}{first:0>2}{second:0>2}") for first, second, year, _ in parts], dtype=np.int64)
        if not any(self._days(days, swapped=swapped) is not None for swapped in (False, True)):
            raise ValueError("no date")
        return np.column_stack([days, _clocks(parts).astype(np.int64)])

    def with_missing(self, values: Column, present: Column, count: int) -> Column:
        """Fill with zeros, which are no date."""
        filled = np.zeros((count, 2), dtype=np.int64)
        filled[present] = values
        return filled

    def finish(self, values: Column) -> Column:
        """Find out which is the month."""
        present = np.flatnonzero(values[:, 0])
        days, of_day = values[present].T
        month_first = self._days(days, swapped=False)
        day_first = self._days(days, swapped=True)
        found = [dates for dates in (month_first, day_first) if dates is not None]
        if not found:
            raise ValueError("is neither month/day/year nor day/month/year, which others of this column are")
        if len(found) == 2 and not np.array_equal(found[0], found[1]):
            raise ValueError("could be month/day/year or day/month/year; write dates as 2024-12-31")
        return super().with_missing(found[0] + of_day.astype("timedelta64[ns]"), present, len(values))

    def _days(self, days: Column, *, swapped: bool) -> Column | None:
        """Return dates; None where there are no such ones."""
        first = days // 100 % 100
        second = days % 100
        months, day = (second, first) if swapped else (first, second)
        if not ((months >= 1) & (months <= 12) & (day >= 1) & (day <= 31)).all():
            return None
        texts = [
            f"{y:04d}-{m:02d}-{d:02d}"
            for y, m, d in zip((days // 10000).tolist(), months.tolist(), day.tolist(), strict=True)
        ]
        try:
            return iso_nanoseconds(texts)
        except ValueError:
            return None


NUMBER = Number()
COMMA_NUMBER = CommaNumber()
PARSERS: tuple[Parser, ...] = (
    Integer(),
    NUMBER,
    COMMA_NUMBER,
    Flag(),
    LocalTime(),
    ZonedTime(),
    DottedDate(),
    SlashedDate(),
)
"""All parsers; where two read the same cells the first is taken."""
TIME_PARSERS = tuple(parser for parser in PARSERS if parser.kind == "time")
"""Parsers for texts of formats that have numbers and flags of their own."""


def parsers_for(separator: str) -> tuple[Parser, ...]:
    """Return the parsers for cells between these separators: a comma is one of them, or a decimal sign."""
    return tuple(parser for parser in PARSERS if separator != "," or parser is not COMMA_NUMBER)


def is_datum(cell: str, separator: str) -> bool:
    """Whether a cell is a number or a time, as no name of a column is."""
    return any(parser.fits(cell) for parser in parsers_for(separator) if parser.kind != "flag")


def is_missing_cell(cell: str) -> bool:
    """Whether a cell stands for a missing number, flag or time."""
    return cell.strip() in MISSING


def _refuse_liberties(cells: Sequence[str]) -> None:
    """Refuse what Python reads as numbers and a table does not mean so: underscores, digits of other scripts."""
    joined = "".join(cells)
    if not joined.isascii() or _NOT_IN_NUMBERS.search(joined):
        raise ValueError("a sign that numbers do not have")


def _match_all(pattern: re.Pattern[str], cells: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the groups of a pattern, which each cell must match."""
    parts = []
    for cell in cells:
        match = pattern.fullmatch(cell.strip())
        if match is None:
            raise ValueError("no date")
        parts.append(match.groups())
    return parts


def _clocks(parts: list[tuple[Any, ...]]) -> Column:
    """Return the times of day, the last of the parts, which may be None."""
    return clock_nanoseconds([part[-1] or "0:00" for part in parts])
