"""What GeoParquet and GeoArrow say of geometries: the column, how it is written, and its coordinate reference system."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.files.crs import parse_crs
from mcgta.files.geo.points import make_points, points_of_wkb
from mcgta.files.geo.wkb import Coordinates
from mcgta.files.problems import FileProblem, need, show
from mcgta.files.table import Points
from mcgta.runtime.types import Array

GEO_KEY = b"geo"
"""Where GeoParquet keeps its metadata."""
GEO_VERSION = "1.1.0"
DEFAULT_CRS = "OGC:CRS84"
"""What GeoParquet means where no coordinate reference system is said."""
WKB_ENCODING = "WKB"
POINT_ENCODING = "point"

_EXTENSION_NAME = b"ARROW:extension:name"
_EXTENSION_METADATA = b"ARROW:extension:metadata"
_ENCODINGS = {"geoarrow.wkb": WKB_ENCODING, "ogc.wkb": WKB_ENCODING, "geoarrow.point": POINT_ENCODING}


@dataclass(frozen=True)
class GeoColumn:
    """A column of geometries.

    Attributes
    ----------
    name : of the column
    encoding : "WKB", or "point" for coordinates in columns of their own
    crs : PROJ JSON, WKT or a name; None where it is not known
    """

    name: str
    encoding: str
    crs: Any


def find_geometry(schema: Any, name: str) -> GeoColumn | None:
    """Return the column of geometries of an Arrow schema; None without. ``name`` is that of the file, for messages."""
    metadata = schema.metadata or {}
    if GEO_KEY in metadata:
        return _from_geoparquet(metadata[GEO_KEY], schema.names, name)
    for field in schema:
        found = _from_extension(field, name)
        if found is not None:
            return found
    return None


def _from_geoparquet(text: bytes, names: list[str], name: str) -> GeoColumn:
    said = _read_json(text, f"{name}: the metadata 'geo'")
    primary = said.get("primary_column")
    columns = said.get("columns")
    column = columns.get(primary) if isinstance(columns, dict) and isinstance(primary, str) else None
    if not isinstance(column, dict) or primary not in names:
        raise FileProblem(
            f"{name}: the metadata 'geo' names no column of geometries that is there: {show(str(primary))}"
        )
    encoding = column.get("encoding")
    if encoding not in (WKB_ENCODING, POINT_ENCODING):
        raise FileProblem(
            f"{name}: geometries of column {primary} are encoded as {show(str(encoding))}; write them as 'WKB' or 'point'"
        )
    return GeoColumn(str(primary), str(encoding), column.get("crs", DEFAULT_CRS))


def _from_extension(field: Any, name: str) -> GeoColumn | None:
    metadata = field.metadata or {}
    called = getattr(field.type, "extension_name", None) or metadata.get(_EXTENSION_NAME, b"").decode(errors="replace")
    if called not in _ENCODINGS:
        return None
    text = metadata.get(_EXTENSION_METADATA, b"")
    if not text and hasattr(field.type, "__arrow_ext_serialize__"):
        text = field.type.__arrow_ext_serialize__()
    said = _read_json(text, f"{name}: the metadata of column {field.name}") if text else {}
    return GeoColumn(field.name, _ENCODINGS[called], said.get("crs"))


def _read_json(text: bytes, where: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileProblem(f"{where} is no JSON") from error
    if not isinstance(said, dict):
        raise FileProblem(f"{where} is no JSON object")
    return said


def read_points(array: Any, column: GeoColumn, name: str) -> tuple[Points, tuple[str, ...]]:
    """Return the points of a column (an Arrow array) of a file called ``name``, and notes on them."""
    crs = None if column.crs is None else parse_crs(column.crs, f"{name}: CRS of column {column.name}")
    if column.encoding == WKB_ENCODING:
        items = array.to_pylist()
        if any(item is not None and not isinstance(item, bytes) for item in items):
            raise FileProblem(f"{name}: column {column.name} holds {array.type}, which is not WKB")
        return points_of_wkb(items, column.name, crs, name)
    return make_points(_read_native(array, column.name, name), column.name, crs), ()


def _read_native(array: Any, column: str, name: str) -> Coordinates:
    """Read coordinates of points that stand in columns of their own, or behind each other in lists of equal length."""
    kind = array.type
    if hasattr(kind, "list_size") and kind.list_size in (2, 3):
        compute = need("pyarrow.compute", "GeoParquet", "files")
        axes = {axis: compute.list_element(array, k) for k, axis in enumerate("xyz"[: kind.list_size])}
    elif hasattr(kind, "get_field_index") and min(kind.get_field_index("x"), kind.get_field_index("y")) >= 0:
        flat = array.flatten()
        axes = {axis: flat[place] for axis in "xyz" if (place := kind.get_field_index(axis)) >= 0}
    else:
        raise FileProblem(f"{name}: column {column} holds {kind}, which are no points")
    numbers = {axis: _numbers(values, f"{name}: column {column}") for axis, values in axes.items()}
    z = numbers.get("z")
    return Coordinates(numbers["x"], numbers["y"], None if z is None or np.isnan(z).all() else z)


def _numbers(array: Any, where: str) -> Array:
    if str(array.type) not in ("double", "float"):
        raise FileProblem(f"{where} has coordinates of type {array.type}, which must be numbers")
    return np.asarray(array.cast("double").to_numpy(zero_copy_only=False), dtype=np.float64)


def geo_metadata(column: str, definition: str, kinds: list[str]) -> bytes:
    """Return the metadata that make a table with a column of WKB a GeoParquet.

    Parameters
    ----------
    column : its name
    definition : of the coordinate reference system; "" where it is not known
    kinds : of geometries, such as "Point"; [] for any
    """
    crs = json.loads(parse_crs(definition).to_json()) if definition else None
    said = {"encoding": WKB_ENCODING, "geometry_types": kinds, "crs": crs}
    return json.dumps({"version": GEO_VERSION, "primary_column": column, "columns": {column: said}}).encode()
