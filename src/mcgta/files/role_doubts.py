"""Columns that are a time or a place by their names and not by their values: the user is asked, since both can be meant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mcgta.files.problems import AmbiguousRoles, FileProblem, say_flag, show
from mcgta.files.role_guesses import (
    head,
    head_numbers,
    is_clock,
    is_latitude,
    is_longitude,
    is_numeric,
    plain_name,
)
from mcgta.files.table import FileTable
from mcgta.positions.degrees import LATITUDE_NAMES, LONGITUDE_NAMES, MAX_LATITUDE_DEGREES, MAX_LONGITUDE_DEGREES
from mcgta.positions.tables import TIME_NAMES

_TIME_EXAMPLE = "2024-12-31 23:59:59"


def refuse_doubtful_times(table: FileTable, free: Sequence[str]) -> None:
    """Refuse to take the order of rows for the time, or a time for a feature, where a column is nearly one.

    Raises
    ------
    AmbiguousRoles
        where numbers are named as a time and fall from a row to the next: rows may not be in order, or it is no time
    FileProblem
        where a column would be times but for some cells, or is named as a time and holds text with digits
    """
    for name in free:
        if name in table.bad_cells and table.bad_cells[name].kind == "time":
            raise FileProblem(
                f"{table.say_bad_cells(name)}; correct it, or leave the column out by {say_flag('ignore', name)}"
            )
    for name in free:
        if plain_name(name) not in TIME_NAMES:
            continue
        if is_numeric(table, name):
            _refuse_falling(table, name)
        elif table.kinds[name] == "text":
            _refuse_text(table, name)


def _refuse_falling(table: FileTable, name: str) -> None:
    numbers = head(table, name).astype(np.float64)
    falls = np.flatnonzero(numbers[1:] < numbers[:-1])
    if np.unique(numbers).size < 2 or falls.size == 0:
        return
    where = table.where(int(falls[0]) + 1, name)
    said = (
        f"{where}: the column is named as a time, and falls from {numbers[falls[0]]:g} to {numbers[falls[0] + 1]:g} here; "
        "it could be the time of rows that are not in order, or no time (name it among --features then)"
    )
    raise AmbiguousRoles("time", (name,), (say_flag("time", name), say_flag("ignore", name)), said)


def _refuse_text(table: FileTable, name: str) -> None:
    texts = [(row, text) for row, text in enumerate(head(table, name).tolist()) if text is not None]
    if not texts or is_clock(head(table, name)) or not all(any(map(str.isdigit, text)) for _, text in texts):
        return
    row, text = texts[0]
    raise FileProblem(
        f"{table.where(row, name)}: the column is named as a time, but cells such as {show(text)} are not all written in one "
        f"way that is known; write times as {_TIME_EXAMPLE}, or leave the column out by {say_flag('ignore', name)}"
    )


def refuse_doubtful_degrees(table: FileTable, free: Sequence[str]) -> None:
    """Refuse to take longitude and latitude for features where their numbers are no degrees."""
    numeric = [name for name in free if is_numeric(table, name)]
    lon = [name for name in numeric if plain_name(name) in LONGITUDE_NAMES]
    lat = [name for name in numeric if plain_name(name) in LATITUDE_NAMES]
    if len(lon) != 1 or len(lat) != 1:
        return
    for name, fits, limits in (
        (lat[0], is_latitude, (-MAX_LATITUDE_DEGREES, MAX_LATITUDE_DEGREES)),
        (lon[0], is_longitude, (-MAX_LONGITUDE_DEGREES, 2 * MAX_LONGITUDE_DEGREES)),
    ):
        if head_numbers(table, name).size and not fits(table, name):
            _refuse_degrees(table, name, limits, (lon[0], lat[0]))


def _refuse_degrees(table: FileTable, name: str, limits: tuple[int, int], pair: tuple[str, str]) -> None:
    numbers = head(table, name).astype(np.float64)
    row = int(np.flatnonzero((numbers < limits[0]) | (numbers > limits[1]))[0])
    lon, lat = pair
    said = f"{table.where(row, name)}: {numbers[row]:g} is outside {limits[0]} to {limits[1]} degrees"
    swapped = is_latitude(table, lon) and is_longitude(table, lat)
    flags = (f"{say_flag('lon', lat)} {say_flag('lat', lon)}",) if swapped else ()
    raise AmbiguousRoles("place", (f"{lon},{lat}",), (*flags, f"{say_flag('x', lon)} {say_flag('y', lat)}"), said)
