"""Coordinate reference systems by their names, through pyproj."""

from __future__ import annotations

from typing import Any

from mcgta.files.problems import FileProblem, need
from mcgta.positions.tables import Crs, read_crs

DEGREE = "degree"


def parse_crs(text: Any, said: str = "crs") -> Any:
    """Return pyproj's object for a CRS: a name such as "EPSG:25832", WKT, or PROJ JSON.

    Raises
    ------
    FileProblem
        where it stands for none
    """
    pyproj = need("pyproj", "a coordinate reference system", "geo")
    try:
        return pyproj.CRS.from_user_input(text)
    except pyproj.exceptions.CRSError as error:
        raise FileProblem(
            f"{said}={str(text)[:80]!r} is no coordinate reference system; give one such as 'EPSG:4326' or 'EPSG:25832'"
        ) from error


def known_crs(text: str) -> Crs:
    """Return what is known of a CRS."""
    return read_crs(parse_crs(text))


def crs_name(crs: Any) -> str:
    """Return the short name of pyproj's object, such as "EPSG:4326"."""
    authority = crs.to_authority()
    return crs.name if authority is None else ":".join(authority)
