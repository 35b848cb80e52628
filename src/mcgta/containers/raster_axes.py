"""The axes of a raster: which coordinates are the place, the time and the groups, by their names and CF attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcgta.positions.degrees import LATITUDE_NAMES, LONGITUDE_NAMES
from mcgta.positions.tables import TIME_NAMES

X_NAMES = ("x", "xc", "easting", "eastings", "projection_x_coordinate")
Y_NAMES = ("y", "yc", "northing", "northings", "projection_y_coordinate")
_EAST_UNITS = ("degrees_east", "degree_east", "degreese", "degreee", "degree_e", "degrees_e")
_NORTH_UNITS = ("degrees_north", "degree_north", "degreesn", "degreen", "degree_n", "degrees_n")
"""How CF writes degrees of longitude and of latitude, in lower case."""


@dataclass(frozen=True)
class Axes:
    """The coordinates of a raster that have a role.

    Attributes
    ----------
    x, y : of the place; None where positions are times
    time : of the position; None where there is none, or where times are groups or features
    groups : whose entries are groups; None for a single one
    features : dimension whose entries are features; None where the user has named none
    is_degrees : whether x and y are longitude and latitude
    """

    x: str | None
    y: str | None
    time: str | None
    groups: str | None
    features: str | None
    is_degrees: bool

    @property
    def place(self) -> tuple[str, ...]:
        """The coordinates of the place."""
        return () if self.x is None or self.y is None else (self.x, self.y)

    @property
    def of_rows(self) -> tuple[str, ...]:
        """Coordinates whose dimensions a cluster is found for."""
        return tuple(name for name in (self.groups, self.time, self.y, self.x) if name is not None)


def find_axes(data: Any, named: dict[str, str | None]) -> Axes:
    """Return the axes of a Dataset: those ``named`` by the user, others as far as there is one candidate only."""
    for role, name in named.items():
        _check_name(data, role, name)
    taken = {name for name in named.values() if name is not None}
    x = named["x"] or _find(data, "x", _is_x, taken)
    y = named["y"] or _find(data, "y", _is_y, taken)
    time = named["time"] or _find(data, "time", is_time, taken)
    if (x is None) != (y is None):
        found, other = ("x", "y") if y is None else ("y", "x")
        raise ValueError(
            f"data has {found}={x or y!r} but no coordinate for {other}; it has {_list(data)}: name it by {other}="
        )
    if x is None and time is None:
        raise ValueError(f"data has {_list(data)}, of which none is a place or a time; name x= and y=, or time=")
    degrees = x is not None and y is not None and _is_longitude(data, x) and _is_latitude(data, y)
    return Axes(x, y, time, named["groups"], named["features"], degrees)


def _check_name(data: Any, role: str, name: str | None) -> None:
    known = data.dims if role == "features" else {*data.dims, *data.coords}
    if name is not None and name not in known:
        kind = "a dimension" if role == "features" else "a dimension or a coordinate"
        raise ValueError(f"{role}={name!r} is not {kind} of data, which has {_list(data)}")


def _list(data: Any) -> str:
    """Say which dimensions and other coordinates there are."""
    dims = [f"{name!r}" for name in data.dims]
    others = [f"{name!r}" for name in data.coords if name not in data.dims]
    return f"dimensions {', '.join(dims) or 'none'}" + (f" and coordinates {', '.join(others)}" if others else "")


def _find(data: Any, role: str, fits: Callable[[Any, str], bool], taken: set[str]) -> str | None:
    """Return the coordinate that has a role: of a dimension, else another one, else a dimension without coordinate."""
    names = [name for name in (*data.dims, *data.coords) if name not in taken and fits(data, str(name))]
    ranked: dict[int, list[str]] = {}
    for name in dict.fromkeys(names):
        if name in data.coords and data.coords[name].ndim == 0:
            continue
        rank = 2 if name not in data.coords else int(name not in data.dims)
        ranked.setdefault(rank, []).append(name)
    if not ranked:
        return None
    best = ranked[min(ranked)]
    if len(best) > 1:
        raise ValueError(f"data: {' and '.join(map(repr, best))} could both be {role}; say which, {role}={best[0]!r}")
    return best[0]


def _attribute(data: Any, name: str, key: str) -> str:
    return str(data.coords[name].attrs.get(key, "")).lower() if name in data.coords else ""


def _is_longitude(data: Any, name: str) -> bool:
    return (
        name.lower() in LONGITUDE_NAMES
        or _attribute(data, name, "standard_name") == "longitude"
        or _attribute(data, name, "units") in _EAST_UNITS
    )


def _is_latitude(data: Any, name: str) -> bool:
    return (
        name.lower() in LATITUDE_NAMES
        or _attribute(data, name, "standard_name") == "latitude"
        or _attribute(data, name, "units") in _NORTH_UNITS
    )


def _is_x(data: Any, name: str) -> bool:
    standard = _attribute(data, name, "standard_name")
    return (
        name.lower() in X_NAMES
        or _attribute(data, name, "axis") == "x"
        or standard == "projection_x_coordinate"
        or _is_longitude(data, name)
    )


def _is_y(data: Any, name: str) -> bool:
    standard = _attribute(data, name, "standard_name")
    return (
        name.lower() in Y_NAMES
        or _attribute(data, name, "axis") == "y"
        or standard == "projection_y_coordinate"
        or _is_latitude(data, name)
    )


def is_time(data: Any, name: str) -> bool:
    """Whether a dimension or a coordinate holds times, by its name, its values or its attributes."""
    if name not in data.coords:
        return name.lower() in TIME_NAMES
    if data.coords[name].dtype.kind in "Mm":
        return bool(name in data.dims)
    return name.lower() in TIME_NAMES or _attribute(data, name, "axis") == "t"
