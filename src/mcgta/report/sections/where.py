"""Where a row is, as cells of a table: its group, coordinates and time."""

from __future__ import annotations

from typing import Any

from mcgta.description.patches import spatial_coordinates
from mcgta.positions.metrics import SpaceTime
from mcgta.report.markup.html import named
from mcgta.report.markup.ticks import say_time
from mcgta.report.subject import Subject

_MILLISECOND = 1e-3


def position_heads(subject: Subject) -> list[Any]:
    """Return what the columns of positions are called."""
    positions = subject.fit.data.positions
    several = len(positions.group_names) > 1
    count = (
        spatial_coordinates(positions).shape[1] if positions.metric.has_coordinates and not positions.is_chain else 0
    )
    provenance = subject.fit.provenance
    names = list("xyz"[:count]) if count <= 3 else [f"coordinate {k}" for k in range(count)]
    if positions.on_sphere:
        names = ["longitude", "latitude"]
    if provenance is not None and sum(map(len, provenance.roles.values())) >= count and not positions.on_sphere:
        given = [column for role in ("x", "y", "z", "position") for column in provenance.roles.get(role, [])]
        names = given if len(given) == count else names
    timed = positions.is_chain or isinstance(positions.metric, SpaceTime)
    return [
        *(["group"] if several else []),
        *map(named, names),
        *(["step" if positions.unit == "step" else "time"] if timed else []),
    ]


def position_cells(subject: Subject, row: int) -> list[Any]:
    """Return where a row in canonical order is, as cells of a table."""
    positions = subject.fit.data.positions
    cells: list[Any] = []
    if len(positions.group_names) > 1:
        cells.append(named(positions.group_names[positions.groups[row]]))
    if positions.metric.has_coordinates and not positions.is_chain:
        cells += [f"{value:.5g}" for value in spatial_coordinates(positions)[row]]
    if positions.is_chain or isinstance(positions.metric, SpaceTime):
        time = float(positions.coordinates[row, -1])
        cells.append(f"{time:,.10g}" if positions.origin is None else _say_date(positions.origin, time))
    return cells


def _say_date(origin: int, time: float) -> str:
    """Return a date without the parts that are zero."""
    words = say_time(origin, time, _MILLISECOND)
    return words.removesuffix(".000").removesuffix(":00").removesuffix(" 00:00")
