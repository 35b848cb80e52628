"""Columns that could be the time, the place or the group of rows, by their names and their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from mcgta.files.delimited.times import clock_nanoseconds
from mcgta.files.table import Column, FileTable, missing_rows
from mcgta.observations.features import MIN_IDENTIFIER_ROWS
from mcgta.positions.degrees import (
    LATITUDE_NAMES,
    LONGITUDE_NAMES,
    MAX_LATITUDE_DEGREES,
    MAX_LONGITUDE_DEGREES,
)
from mcgta.positions.tables import TIME_NAMES
from mcgta.runtime.types import Array

GUESSED_ROWS = 20_000
"""Guesses are made from so many of the first rows."""
COORDINATE_NAMES = {
    "x": ("x", "easting", "xcoord", "coordx", "xcoordinate"),
    "y": ("y", "northing", "ycoord", "coordy", "ycoordinate"),
    "z": ("z", "zcoord", "coordz", "zcoordinate"),
}
GROUP_WORDS = frozenset(
    (
        *("batch", "device", "group", "id", "library", "machine", "patient", "run", "sample", "sensor", "series"),
        *("session", "site", "slide", "station", "subject", "track", "trip", "unit", "user", "vehicle"),
    )
)
MAX_GROUP_SHARE = 0.5
"""A column with more different values than this share of its rows is no group."""

_LONGITUDE_WORDS = frozenset(LONGITUDE_NAMES) - {"long"}  # as in "long_name"
_DAY = np.timedelta64(1, "D")


def words_of(name: str) -> list[str]:
    """Return the words of a name, in small letters: "pickupLon_2" has pickup and lon."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^a-z]+", apart.lower()) if word]


def plain_name(name: str) -> str:
    """Return a name in small letters, without what stands between its words."""
    return re.sub(r"[\s_\-.]+", "", name.lower())


def head(table: FileTable, name: str) -> Column:
    """Return the first rows of a column, from which guesses are made."""
    return table.columns[name][:GUESSED_ROWS]


def head_numbers(table: FileTable, name: str) -> Array:
    """Return the numbers among the first rows of a column, without those that are missing."""
    numbers = head(table, name).astype(np.float64)
    return numbers[~np.isnan(numbers)]


def is_numeric(table: FileTable, name: str) -> bool:
    """Whether a column holds numbers, flags aside."""
    return table.kinds[name] in ("integer", "number")


def time_candidates(table: FileTable, free: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Return columns that could be the time.

    These are columns of times that have a name of the time or that rise, and columns of numbers that have one and do. A
    column rises if it never falls from a row to the next, as a whole or within one of the ``groups``, columns of labels. Where
    exactly one column of times has a name of the time, others are no candidates.
    """
    found = [name for name in free if _could_be_time(table, name, groups)]
    dated = [name for name in found if table.kinds[name] == "time"]
    named = [name for name in found if plain_name(name) in TIME_NAMES]
    return named if len(named) == 1 and named[0] in dated else found


def _could_be_time(table: FileTable, name: str, groups: Sequence[str]) -> bool:
    is_named = plain_name(name) in TIME_NAMES or bool({"time", "timestamp", "date", "datetime"} & {*words_of(name)})
    if table.kinds[name] == "time":
        return np.unique(head(table, name)).size > 1 and (is_named or _rises(table, name, groups))
    return is_numeric(table, name) and plain_name(name) in TIME_NAMES and _rises(table, name, groups)


def _rises(table: FileTable, name: str, groups: Sequence[str]) -> bool:
    column = head(table, name)
    present = np.ones(len(column), dtype=bool)
    present[missing_rows(column)] = False
    if np.unique(column[present]).size < 2:
        return False
    labels = [np.zeros(len(column)), *(_codes(head(table, group)) for group in groups)]
    return any(_never_falls(column[present], codes[present]) for codes in labels)


def _never_falls(column: Column, codes: Column) -> bool:
    """Whether a column never falls within the rows of a code."""
    order = np.argsort(codes, kind="stable")
    falls = column[order][1:] < column[order][:-1]
    return not bool((falls & (codes[order][1:] == codes[order][:-1])).any())


def _codes(labels: Column) -> Column:
    texts = np.array([str(label) for label in labels.tolist()])
    return np.unique(texts, return_inverse=True)[1]


def clock_of(table: FileTable, date: str, free: Sequence[str]) -> str | None:
    """Return the only column of times of day that belongs to a column of dates; None where there is none, or several."""
    dates = head(table, date)
    if table.kinds[date] != "time" or (dates - dates.astype("datetime64[D]") != 0 * _DAY).any():
        return None
    clocks = [name for name in free if table.kinds[name] == "text" and is_clock(head(table, name))]
    return clocks[0] if len(clocks) == 1 else None


def is_clock(column: Column) -> bool:
    """Whether a column of text holds times of day."""
    try:
        clock_nanoseconds([text for text in column.tolist() if text is not None])
    except ValueError:
        return False
    return any(text is not None for text in column.tolist())


def degree_pairs(table: FileTable, free: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of columns that could be longitude and latitude; those named just so come alone."""
    numeric = [name for name in free if is_numeric(table, name)]
    lon = [name for name in numeric if plain_name(name) in LONGITUDE_NAMES and is_longitude(table, name)]
    lat = [name for name in numeric if plain_name(name) in LATITUDE_NAMES and is_latitude(table, name)]
    if len(lon) == 1 and len(lat) == 1:
        return [(lon[0], lat[0])]
    by_rest: dict[tuple[tuple[str, ...], str], dict[str, str]] = {}
    for name in numeric:
        words = words_of(name)
        for role, known, fits in (("lon", _LONGITUDE_WORDS, is_longitude), ("lat", {*LATITUDE_NAMES}, is_latitude)):
            if known & {*words} and fits(table, name):
                rest = tuple(word for word in words if word not in known)
                by_rest.setdefault((rest, _digits(name)), {})[role] = name
    return [(pair["lon"], pair["lat"]) for pair in by_rest.values() if len(pair) == 2]


def _digits(name: str) -> str:
    return re.sub(r"\D", "", name)


def is_longitude(table: FileTable, name: str) -> bool:
    """Whether all numbers of a column can be longitudes, from -180 or from 0 degrees on."""
    numbers = head_numbers(table, name)
    return numbers.size > 0 and bool(
        (numbers >= -MAX_LONGITUDE_DEGREES).all() and (numbers <= 2 * MAX_LONGITUDE_DEGREES).all()
    )


def is_latitude(table: FileTable, name: str) -> bool:
    """Whether all numbers of a column can be latitudes."""
    numbers = head_numbers(table, name)
    return numbers.size > 0 and bool((np.abs(numbers) <= MAX_LATITUDE_DEGREES).all())


def coordinate_columns(table: FileTable, free: Sequence[str]) -> dict[str, str]:
    """Return the columns named x and y, and z where there is one; {} where there are not both, or several of a name."""
    found = {}
    for role, known in COORDINATE_NAMES.items():
        names = [name for name in free if is_numeric(table, name) and plain_name(name) in known]
        if len(names) == 1:
            found[role] = names[0]
        elif role != "z":
            return {}
    return found


def could_be_group(table: FileTable, name: str) -> bool:
    """Whether a column of text or whole numbers names the series or machine of rows: by its name, or in long stretches."""
    if table.kinds[name] not in ("text", "integer"):
        return False
    labels = head(table, name).tolist()
    n_different = len({*labels})
    if not 2 <= n_different <= MAX_GROUP_SHARE * len(labels):
        return False
    if GROUP_WORDS & {*words_of(name)}:
        return True
    n_stretches = 1 + sum(a != b for a, b in pairwise(labels))
    return table.kinds[name] == "text" and len(labels) >= MIN_IDENTIFIER_ROWS * n_stretches
