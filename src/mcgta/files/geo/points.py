"""The points of a table: where its geometries are, and in which coordinate reference system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcgta.files.crs import DEGREE, crs_name
from mcgta.files.geo.wkb import Coordinates, make_wkb, read_wkb
from mcgta.files.problems import FileProblem
from mcgta.files.table import Points
from mcgta.positions.tables import read_crs

WGS84 = "EPSG:4326"
"""Degrees of longitude and latitude, in this order in all files that are read here."""
WGS84_NAMES = (WGS84, "OGC:CRS84")
LONGITUDE_LATITUDE: dict[str, Any] = {
    "crs": WGS84,
    "is_geographic": True,
    "unit": DEGREE,
    "definition": "OGC:CRS84",
}
"""What is known of points in degrees, without pyproj."""


def make_points(found: Coordinates, name: str, crs: Any, wkb: Sequence[bytes | None] | None = None) -> Points:
    """Return points.

    Parameters
    ----------
    found : where the geometries are
    name : of their column
    crs : pyproj's object; None where it is not known
    wkb : the geometries, where they are no points
    """
    if crs is None:
        return Points(found.x, found.y, found.z, name, wkb=wkb)
    known = read_crs(crs)
    unit = str(crs.axis_info[0].unit_name) if crs.axis_info else ""
    if known.is_geographic and unit != DEGREE:
        raise FileProblem(f"{crs.name} is measured in {unit}s; convert {name} to degrees, such as those of {WGS84}")
    called = crs_name(crs)
    return Points(
        x=found.x,
        y=found.y,
        z=found.z,
        name=name,
        crs=WGS84 if called in WGS84_NAMES else called,
        is_geographic=known.is_geographic,
        unit=DEGREE if known.is_geographic else known.unit,
        definition=called if crs.to_authority() else crs.to_wkt(),
        wkb=wkb,
    )


def points_of_wkb(items: Sequence[bytes | None], column: str, crs: Any, name: str) -> tuple[Points, tuple[str, ...]]:
    """Return the points of geometries in a file called ``name``, and a note where some are no points."""
    is_geographic = crs is not None and read_crs(crs).is_geographic
    found = read_wkb(items, name=name, column=column, is_geographic=is_geographic)
    return make_points(found, column, crs, items if found.others else None), note_of_centroids(found, column)


def note_of_centroids(found: Coordinates, column: str) -> tuple[str, ...]:
    """Return a note on geometries that are no points."""
    if not found.others:
        return ()
    return (f"{column} holds geometries of type {' and '.join(found.others)}, which are taken at their centroids",)


def wkb_of(points: Points) -> Sequence[bytes | None]:
    """Return the geometries of points as WKB, as they were in the file."""
    return make_wkb(points.x, points.y, points.z) if points.wkb is None else points.wkb
