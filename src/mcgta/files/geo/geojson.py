"""GeoJSON: collections of features, each with a geometry and properties, which are the columns."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mcgta.files.crs import parse_crs
from mcgta.files.format import Format
from mcgta.files.geo.geojson_writing import JsonOrigin, write_geojson
from mcgta.files.geo.json_columns import read_values
from mcgta.files.geo.json_cursor import Cursor, explaining_json, read_text
from mcgta.files.geo.points import LONGITUDE_LATITUDE, points_of_wkb
from mcgta.files.geo.wkb import make_wkb
from mcgta.files.problems import FileProblem, need, show
from mcgta.files.sources import Source
from mcgta.files.table import FileTable, Points, ReadColumn
from mcgta.runtime.types import Index

_NAME = "GeoJSON"
_COLLECTION = "FeatureCollection"
_CRS = "crs"  # of GeoJSON of 2008, which many files still have


@dataclass
class _Features:
    """The features of a collection, as they are gathered.

    Attributes
    ----------
    name : of the file
    values : of each property, up to the last feature that has it
    lines : that features begin in
    places : (x, y) or (x, y, z) of points; None for others, and where there is none
    shapes : geometries that are no points, by row
    members : of the collection, features aside
    """

    name: str
    values: dict[str, list[Any]] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    places: list[tuple[float, ...] | None] = field(default_factory=list)
    shapes: dict[int, Any] = field(default_factory=dict)
    members: dict[str, Any] = field(default_factory=dict)

    def add(self, feature: Any, line: int) -> None:
        """Take the next feature, which begins in a line."""
        row = len(self.lines)
        where = f"{self.name}: line {line}"
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise FileProblem(f"{where}: an element of features is no object of type Feature")
        properties = feature.get("properties")
        if properties is not None and not isinstance(properties, dict):
            raise FileProblem(f"{where}: properties must be an object or null, is {show(json.dumps(properties))}")
        for name, value in (properties or {}).items():
            column = self.values.setdefault(name, [])
            if len(column) < row:
                column.extend([None] * (row - len(column)))
            column.append(value)
        self.lines.append(line)
        self.places.append(self._place(feature.get("geometry"), row, where))

    def _place(self, geometry: Any, row: int, where: str) -> tuple[float, ...] | None:
        if geometry is None:
            return None
        if not isinstance(geometry, dict) or "type" not in geometry:
            raise FileProblem(f"{where}: a geometry must be an object with a type, or null")
        if geometry["type"] != "Point":
            self.shapes[row] = geometry
            return None
        numbers = geometry.get("coordinates")
        if not isinstance(numbers, list) or any(type(number) not in (int, float) for number in numbers):
            raise FileProblem(f"{where}: the coordinates of a point must be numbers")
        if len(numbers) == 1:
            raise FileProblem(f"{where}: a point has one coordinate only")
        return tuple(map(float, numbers[:3])) if numbers else None


def read_geojson(source: Source) -> FileTable:
    """Read a collection of features; their geometries are the positions."""
    text = read_text(source)
    cursor = Cursor(text)
    features = _Features(source.name)
    with explaining_json(source.name, cursor):
        _gather(cursor, features)
    kind = features.members.get("type")
    if kind != _COLLECTION:
        raise FileProblem(f"{source.name}: a table must be of type {_COLLECTION}, is {show(json.dumps(kind))}")
    n_rows = len(features.lines)
    if n_rows == 0:
        raise FileProblem(f"{source.name}: the collection has no feature")
    read = {name: read_values([*values, *[None] * (n_rows - len(values))]) for name, values in features.values.items()}
    columns = {name: found for name, found in read.items() if found is not None}
    if not columns:
        raise FileProblem(f"{source.name}: features have no property of numbers, flags, times or text")
    others = tuple(name for name in read if name not in columns)
    points, notes = _points(features, {*read})
    return FileTable(
        name=source.name,
        format=_NAME,
        n_rows=n_rows,
        columns={name: found.values for name, found in columns.items()},
        kinds={name: found.kind for name, found in columns.items()},
        sha256=source.sha256,
        origin=JsonOrigin(source),
        geometry=points,
        notes=(*notes, *_notes(columns, others)),
        bad_cells={name: found.bad_cells for name, found in columns.items() if found.bad_cells is not None},
        lines=_own_lines(features.lines),
        others=others,
    )


def _gather(cursor: Cursor, features: _Features) -> None:
    """Go through the text once."""
    line = 1
    counted = 0
    for name in cursor.members():
        if name in features.members:
            raise FileProblem(f"{features.name}: has {name!r} twice")
        if name != "features":
            features.members[name] = cursor.value()
            continue
        features.members[name] = None
        for _ in cursor.elements():
            line += cursor.text.count("\n", counted, cursor.at)
            counted = cursor.at
            features.add(cursor.value(), line)
    cursor.finish()


def _points(features: _Features, taken: set[str]) -> tuple[Points | None, tuple[str, ...]]:
    """Return where the features are, and notes; None where no feature has a geometry."""
    places = features.places
    known = [place for place in places if place is not None]
    if not known and not features.shapes:
        return None, ()
    numbers = np.full((len(places), 3), np.nan)
    for row, place in enumerate(places):
        if place is not None:
            numbers[row, : len(place)] = place
    name = "geometry"
    while name in taken:
        name += "_"
    x, y, z = numbers.T.copy()
    height = z if known and not features.shapes and all(len(place) == 3 for place in known) else None
    if features.shapes:
        items = [
            flat if np.isnan(height) else high
            for flat, high, height in zip(make_wkb(x, y), make_wkb(x, y, z), z, strict=True)
        ]
        _fill_shapes(items, features)
        return points_of_wkb(items, name, _read_crs(features, needed=True), features.name)
    crs = _read_crs(features, needed=False)
    if crs is None:
        points = Points(x, y, height, name)
        return (points if _CRS in features.members else replace(points, **LONGITUDE_LATITUDE)), ()
    return points_of_wkb(make_wkb(x, y, height), name, crs, features.name)


def _fill_shapes(items: list[bytes | None], features: _Features) -> None:
    """Put geometries that are no points into their rows."""
    shapely = need("shapely", f"{features.name} holds other geometries than points, which", "geo")
    rows = list(features.shapes)
    shapes = shapely.from_geojson([json.dumps(features.shapes[row]) for row in rows], on_invalid="ignore")
    for row, shape in zip(rows, shapes, strict=True):
        if shape is None:
            kind = show(str(features.shapes[row]["type"]))
            raise FileProblem(f"{features.name}: line {features.lines[row]}: a geometry of type {kind} is damaged")
        items[row] = shapely.to_wkb(shape)


def _read_crs(features: _Features, *, needed: bool) -> Any:
    """Return pyproj's object of the coordinate reference system.

    Without one the system is that of longitude and latitude, and None is returned unless it is ``needed``. None also stands
    for a system that is said to be unknown.
    """
    if _CRS not in features.members:
        return parse_crs("OGC:CRS84") if needed else None
    said = features.members[_CRS]
    if said is None:
        return None
    properties = said.get("properties") if isinstance(said, dict) else None
    called = properties.get("name") if isinstance(properties, dict) else None
    return parse_crs(called, f"{features.name}: crs")


def _own_lines(lines: list[int]) -> Index | None:
    """Return the lines that features begin in; None where some begin in the same, so that rows say more."""
    found = np.array(lines, dtype=np.int64)
    return found if (np.diff(found) > 0).all() else None


def _notes(columns: dict[str, ReadColumn], others: tuple[str, ...]) -> tuple[str, ...]:
    notes = []
    if others:
        notes.append(f"properties that are lists or objects are no features: {', '.join(others)}")
    rounded = [name for name, found in columns.items() if found.is_rounded]
    if rounded:
        notes.append(f"whole numbers beyond 2^53 are rounded: {', '.join(rounded)}")
    return tuple(notes)


FORMAT = Format(name=_NAME, suffixes=(".geojson",), read=read_geojson, write=write_geojson, has_points=True)
