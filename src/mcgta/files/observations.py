"""From the columns of a table to features, positions and groups, as a fit takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcgta.files.crs import known_crs, parse_crs
from mcgta.files.delimited.times import clock_nanoseconds
from mcgta.files.geo.points import LONGITUDE_LATITUDE, make_points
from mcgta.files.geo.wkb import Coordinates
from mcgta.files.problems import FileProblem, show
from mcgta.files.table import Column, FileTable, Points, Roles, missing_rows
from mcgta.positions.tables import WEB_MERCATOR_EPSG, Crs, NamedColumns
from mcgta.runtime.types import Array, Index

WEB_MERCATOR = f"EPSG:{WEB_MERCATOR_EPSG}"


@dataclass(frozen=True, eq=False)
class FileObservations:
    """What a fit takes, from the columns of a table of N rows.

    Attributes
    ----------
    X : (N, d) features, NaN where missing
    feature_names : (d,)
    positions : columns of the time and the place, for ``MCGTA.fit(positions=...)``; None where the order of rows is time
    groups : (N,) labels, or None
    metric : for ``MCGTA(metric=...)``: "auto", or "spacetime" for a time and a place, which then needs a time scale
    without_position : rows whose position or group is missing; a fit refuses them
    """

    X: Array
    feature_names: tuple[str, ...]
    positions: NamedColumns | None
    groups: Column | None
    metric: str
    without_position: Index


def make_observations(table: FileTable, roles: Roles) -> FileObservations:
    """Return the features, positions and groups of a table, by the roles of its columns.

    Longitude and latitude are measured on the globe. So are x and y in a geographic CRS; in a projected one they are in its
    unit.
    """
    features = [_finite_numbers(table, name) for name in roles.features]
    time = _time(table, roles.time)
    place, crs = _place(table, roles)
    positions = _positions(place, time, crs)
    groups = None if roles.group is None else table.columns[roles.group]
    lacking = np.zeros(table.n_rows, dtype=bool)
    for column in (*(() if positions is None else positions.columns.values()), *(() if groups is None else (groups,))):
        lacking[missing_rows(column)] = True
    return FileObservations(
        X=np.column_stack(features),
        feature_names=roles.features,
        positions=positions,
        groups=groups,
        metric="spacetime" if time is not None and place else "auto",
        without_position=np.flatnonzero(lacking),
    )


def with_points(table: FileTable, roles: Roles) -> FileTable:
    """Return a table with the columns of its place as points, for formats that have them; as it is without such columns."""
    place, _ = _place(table, roles)
    if table.geometry is not None or len(place) not in (2, 3):
        return table
    name = "geometry"
    while name in table.taken:
        name += "_"
    x, y, *heights = place.values()
    found = Coordinates(x, y, heights[0] if heights else None)
    points = make_points(found, name, None if roles.crs is None else parse_crs(roles.crs))
    if roles.lon is not None:
        points = replace(points, **LONGITUDE_LATITUDE)
    return replace(table, geometry=points)


def _finite_numbers(table: FileTable, name: str) -> Array:
    """Return a column as numbers, NaN where missing; refuse infinite ones, which no fit takes."""
    numbers = table.numbers(name)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        many = f" ({infinite.size} such cells)" if infinite.size > 1 else ""
        raise FileProblem(
            f"{table.where(int(infinite[0]), name)}: {numbers[infinite[0]]:g} is not finite{many}; correct it, or leave the "
            "cell empty and add --missing drop"
        )
    return numbers


def _positions(place: dict[str, Column], time: Column | None, crs: Crs | None) -> NamedColumns | None:
    """Put the time behind the place; None without both."""
    if time is None:
        return NamedColumns(place, crs) if place else None
    if "time" in place:
        raise FileProblem("a column of the place is called 'time', as the time is; rename it")
    return NamedColumns({**place, "time": time}, crs)


def _time(table: FileTable, names: tuple[str, ...]) -> Column | None:
    """Return the column of the time: datetimes, or numbers."""
    if not names:
        return None
    if len(names) == 2:
        return _date(table, names[0]) + _clock(table, names[1])
    if table.kinds[names[0]] == "time":
        return table.columns[names[0]]
    if table.kinds[names[0]] != "text":
        return _finite_numbers(table, names[0])
    return _date(table, names[0])


def _date(table: FileTable, name: str) -> Column:
    if table.kinds[name] == "time":
        return table.columns[name]
    if name in table.bad_cells:
        raise FileProblem(table.say_bad_cells(name))
    row = next((row for row, item in enumerate(table.columns[name]) if item is not None), 0)
    cell = show(str(table.columns[name][row]))
    raise FileProblem(f"{table.where(row, name)}: {cell} is not a time; write times as 2024-12-31 23:59:59")


def _clock(table: FileTable, name: str) -> Column:
    """Return times of day, NaT where they are missing."""
    spans = np.full(table.n_rows, np.timedelta64("NaT", "ns"))
    for row, cell in enumerate(table.columns[name].tolist()):
        if cell is None:
            continue
        try:
            spans[row] = clock_nanoseconds([str(cell)])[0]
        except ValueError:
            raise FileProblem(
                f"{table.where(row, name)}: {show(str(cell))} is not a time of day such as 23:59"
            ) from None
    return spans


def _place(table: FileTable, roles: Roles) -> tuple[dict[str, Column], Crs | None]:
    """Return the columns of the place, and what is known of their CRS."""
    points = table.geometry
    of_points = points is not None and roles.position == (points.name,)
    if roles.crs is not None and roles.x is None and not of_points:
        raise FileProblem(f"crs={roles.crs!r} has no effect without x and y; longitude and latitude are degrees")
    if roles.lon is not None and roles.lat is not None:
        return {"longitude": _finite_numbers(table, roles.lon), "latitude": _finite_numbers(table, roles.lat)}, None
    if points is not None and of_points:
        crs: Crs | None = _crs_of_points(points, roles.crs)
        place = {"x": points.x, "y": points.y} | ({} if points.z is None else {"z": points.z})
    elif roles.x is not None:
        crs = None if roles.crs is None else known_crs(roles.crs)
        place = {role: _finite_numbers(table, name) for role in "xyz" if (name := getattr(roles, role)) is not None}
    else:
        return {name: _finite_numbers(table, name) for name in roles.position}, None
    if crs is not None and crs.is_geographic:
        return {"longitude": place["x"], "latitude": place["y"]}, crs
    return place, crs


def _crs_of_points(points: Points, given: str | None) -> Crs:
    """Return the CRS of points: their own, or the one that is given where they have none."""
    if given is not None and points.crs:
        raise FileProblem(f"crs={given!r} has no effect, since the points are in {points.crs}")
    if points.crs:
        return Crs(
            is_known=True,
            is_geographic=points.is_geographic,
            is_web_mercator=points.crs == WEB_MERCATOR,
            unit="" if points.is_geographic else points.unit,
        )
    return Crs() if given is None else known_crs(given)
