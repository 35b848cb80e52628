"""Writing GeoJSON: the text that was read with properties added to its features, or a new collection."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

from mcgta.files.geo.json_columns import make_values
from mcgta.files.geo.json_cursor import Cursor, read_text
from mcgta.files.geo.points import WGS84
from mcgta.files.problems import FileProblem, need
from mcgta.files.sources import Source
from mcgta.files.table import Column, FileTable, Points

CHUNK_FEATURES = 10_000
"""Features whose text is written at once."""


@dataclass(frozen=True, eq=False)
class JsonOrigin:
    """The text that was read."""

    source: Source


def write_geojson(table: FileTable, file: IO[bytes], added: Mapping[str, Column], path: str) -> None:
    """Write the features that were read with the added properties, or one for each row."""
    origin = table.origin
    for text in _old_text(origin, added) if isinstance(origin, JsonOrigin) else _new_text(table, added, path):
        file.write(text.encode())


class _Splice(NamedTuple):
    """How members are put into a text.

    Attributes
    ----------
    stop : where the old text stops
    opening, closing : what stands before and behind the members
    resume : where the old text goes on
    """

    stop: int
    opening: str
    closing: str
    resume: int


def _old_text(origin: JsonOrigin, added: Mapping[str, Column]) -> Iterator[str]:
    """The text as it stands in the file, with members put behind the last property of each feature."""
    text = read_text(origin.source)
    cursor = Cursor(text)
    begun = 0
    rows = _added_members(added)
    for name in cursor.members():
        if name != "features" or not added:
            cursor.value()
            continue
        for _ in cursor.elements():
            splice = _find_splice(cursor)
            yield f"{text[begun : splice.stop]}{splice.opening}{next(rows)}{splice.closing}"
            begun = splice.resume
    yield text[begun:]


def _find_splice(cursor: Cursor) -> _Splice:
    """Go through a feature, and find out where its properties end."""
    start = cursor.at
    splice = _Splice(start + 1, '"properties": {', "}, ", start + 1)
    for name in cursor.members():
        begin = cursor.at
        value = cursor.value()
        if name == "properties" and value is None:
            splice = _Splice(begin, "{", "}", cursor.end)
        elif name == "properties":
            splice = _Splice(cursor.end - 1, ", " if value else "", "", cursor.end - 1)
    return splice


def _added_members(added: Mapping[str, Column]) -> Iterator[str]:
    """The members that are added to each feature, between commas."""
    names = [json.dumps(name, ensure_ascii=False) for name in added]
    for row in zip(*(make_values(column) for column in added.values()), strict=True):
        yield ", ".join(f"{name}: {_dump(value)}" for name, value in zip(names, row, strict=True))


def _new_text(table: FileTable, added: Mapping[str, Column], path: str) -> Iterator[str]:
    """A collection with a feature in each line."""
    columns = {name: make_values(column, table.kinds[name]) for name, column in table.columns.items()}
    columns |= {name: make_values(column) for name, column in added.items()}
    _refuse_infinite(columns, table)
    yield f'{{"type": "FeatureCollection",{_crs_member(table.geometry, path)} "features": [\n'
    names = list(columns)
    rows = zip(_geometries(table), zip(*columns.values(), strict=True), strict=True)
    gathered: list[str] = []
    for k, (geometry, row) in enumerate(rows):
        properties = _dump(dict(zip(names, row, strict=True)))
        comma = ",\n" if k else ""
        gathered.append(f'{comma}{{"type": "Feature", "geometry": {geometry}, "properties": {properties}}}')
        if len(gathered) == CHUNK_FEATURES:
            yield "".join(gathered)
            gathered.clear()
    yield "".join([*gathered, "\n]}\n"])


def _refuse_infinite(columns: Mapping[str, list[Any]], table: FileTable) -> None:
    for name, values in columns.items():
        for row, value in enumerate(values):
            if isinstance(value, float) and abs(value) == float("inf"):
                raise FileProblem(f"{table.where(row, name)}: {value} is infinite, which GeoJSON cannot hold")


def _geometries(table: FileTable) -> Iterator[str]:
    points = table.geometry
    if points is None:
        for _ in range(table.n_rows):
            yield "null"
    elif points.wkb is not None:
        shapely = need("shapely", "other geometries than points in GeoJSON", "geo")
        for text in shapely.to_geojson(shapely.from_wkb(list(points.wkb))):
            yield "null" if text is None else text
    else:
        axes = [axis.tolist() for axis in (points.x, points.y, points.z) if axis is not None]
        for place in zip(*axes, strict=True):
            lacks = place[0] != place[0] or place[1] != place[1]
            yield "null" if lacks else f'{{"type": "Point", "coordinates": {_dump(place)}}}'


def _crs_member(points: Points | None, path: str) -> str:
    """Return the member that names the coordinate reference system, where it is not that of longitude and latitude."""
    if points is None or points.crs == WGS84:
        return ""
    if not points.crs:
        return ' "crs": null,'
    authority, _, code = points.definition.partition(":")
    if not code or not authority.isalnum():
        raise FileProblem(
            f"{path}: GeoJSON names coordinate reference systems by codes such as EPSG:25832, and {points.crs} has none; "
            "write GeoPackage (.gpkg) or GeoParquet (.parquet)"
        )
    name = f"urn:ogc:def:crs:{authority}::{code}"
    return f' "crs": {{"type": "name", "properties": {{"name": "{name}"}}}},'


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
