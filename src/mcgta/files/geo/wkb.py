"""Geometries as well-known binary (WKB), read as points and made of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.files.problems import FileProblem, need
from mcgta.runtime.types import Array

POINT = 1
"""The number of points in WKB."""
HALF_GLOBE_DEGREES = 180.0
WHOLE_GLOBE_DEGREES = 360.0

_HEADER_BYTES = 5  # the order of bytes, and the kind of the geometry
_SRID_BYTES = 4
_NUMBER_BYTES = 8
_HAS_Z = 0x80000000
_HAS_M = 0x40000000
_HAS_SRID = 0x20000000
_Z_THOUSANDS = (1, 3)  # ISO writes 1001 for a point with a height, 2001 with a measure, 3001 with both
_M_THOUSANDS = (2, 3)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Where the geometries of N rows are.

    Attributes
    ----------
    x, y : (N,) coordinates; NaN where a row has no geometry, or an empty one
    z : (N,) heights; None unless all rows with a geometry have one
    others : kinds of geometries that are no points, such as "Polygon", which are taken at their centroids
    """

    x: Array
    y: Array
    z: Array | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Kind:
    """What the first bytes of a geometry say of it."""

    is_point: bool
    order: str
    begin: int
    n_numbers: int
    has_z: bool


def read_wkb(items: Sequence[bytes | None], *, name: str, column: str, is_geographic: bool) -> Coordinates:
    """Return where geometries are: points as they are, others at their centroids.

    Parameters
    ----------
    items : (N,) WKB or EWKB; None where a row has no geometry
    name, column : of the file and the column, for messages
    is_geographic : whether coordinates are degrees, so that geometries may reach over the antimeridian
    """
    numbers = np.full((len(items), 3), np.nan)
    flat = False
    shapes: list[int] = []
    for key, rows in _by_header(items).items():
        kind = _read_header(*key)
        if kind is None:
            raise FileProblem(f"{name}: row {rows[0]}, column {column}: its geometry is damaged, or not WKB")
        if not kind.is_point:
            shapes += rows
            continue
        joined = b"".join([items[row] for row in rows])  # type: ignore[misc]  # rows that have a geometry
        table = np.frombuffer(joined, dtype=np.uint8).reshape(len(rows), -1)[:, kind.begin :]
        found = np.ascontiguousarray(table).view(f"{kind.order}f8").astype(np.float64)
        width = 3 if kind.has_z else 2
        numbers[rows, :width] = found[:, :width]
        flat = flat or not kind.has_z
    others: tuple[str, ...] = ()
    if shapes:
        shapes.sort()
        numbers[shapes, :2], others = _centroids(items, shapes, f"{name}: column {column}", is_geographic=is_geographic)
    x, y, z = numbers.T.copy()
    has_z = not flat and not shapes and bool((np.isfinite(z) | np.isnan(x)).all()) and not np.isnan(z).all()
    return Coordinates(x, y, z if has_z else None, others)


def _by_header(items: Sequence[bytes | None]) -> dict[tuple[bytes, int], list[int]]:
    """Return the rows that have a geometry, by its first bytes and its length."""
    found: dict[tuple[bytes, int], list[int]] = {}
    for row, item in enumerate(items):
        if item is not None:
            found.setdefault((item[:_HEADER_BYTES], len(item)), []).append(row)
    return found


def _read_header(header: bytes, length: int) -> _Kind | None:
    """Return what the first bytes say of a geometry; None where they say nothing that its length agrees with."""
    if len(header) < _HEADER_BYTES or header[0] not in (0, 1):
        return None
    order = "<" if header[0] else ">"
    code: int = struct.unpack(f"{order}I", header[1:])[0]
    thousands, kind = divmod(code & 0xFFFF, 1000)
    has_z = bool(code & _HAS_Z) or thousands in _Z_THOUSANDS
    has_m = bool(code & _HAS_M) or thousands in _M_THOUSANDS
    begin = _HEADER_BYTES + (_SRID_BYTES if code & _HAS_SRID else 0)
    n_numbers = 2 + has_z + has_m
    if kind == POINT and length != begin + _NUMBER_BYTES * n_numbers:
        return None
    return _Kind(kind == POINT, order, begin, n_numbers, has_z)


def _centroids(
    items: Sequence[bytes | None], rows: Sequence[int], where: str, *, is_geographic: bool
) -> tuple[Array, tuple[str, ...]]:
    """Return the centroids (len(rows), 2) of lines, areas and the like, and their kinds."""
    shapely = need("shapely", f"{where} holds other geometries than points, which", "geo")
    shapes = shapely.from_wkb([items[row] for row in rows], on_invalid="ignore")
    bad = np.flatnonzero(shapely.is_missing(shapes))
    if bad.size:
        raise FileProblem(
            f"{where}, row {rows[bad[0]]}: its geometry is damaged, or of a kind that has no centroid here"
        )
    kinds = tuple(sorted({shape.geom_type for shape in shapes}))
    if is_geographic:
        return _centroids_on_globe(shapely, shapes), kinds
    return _coordinates_of(shapely, shapes), kinds


def _centroids_on_globe(shapely: Any, shapes: NDArray[Any]) -> Array:
    """Return centroids in degrees; parts on both sides of the antimeridian are joined there, not around the globe."""
    bounds = shapely.bounds(shapes)
    wide = bounds[:, 2] - bounds[:, 0] > HALF_GLOBE_DEGREES
    east = shapes.copy()
    east[wide] = shapely.transform(shapes[wide], _shift_west)
    found = _coordinates_of(shapely, east)
    found[:, 0] = np.where(found[:, 0] > HALF_GLOBE_DEGREES, found[:, 0] - WHOLE_GLOBE_DEGREES, found[:, 0])
    return found


def _shift_west(coordinates: Array) -> Array:
    """Return coordinates whose longitudes go from 0 to 360 degrees."""
    shifted = coordinates.copy()
    shifted[:, 0] = np.where(shifted[:, 0] < 0, shifted[:, 0] + WHOLE_GLOBE_DEGREES, shifted[:, 0])
    return shifted


def _coordinates_of(shapely: Any, shapes: NDArray[Any]) -> Array:
    centroids = shapely.centroid(shapes)
    return np.column_stack([shapely.get_x(centroids), shapely.get_y(centroids)])


def make_wkb(x: Array, y: Array, z: Array | None = None) -> list[bytes | None]:
    """Return points as WKB; None where x or y is missing."""
    fields = [("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8"), *([] if z is None else [("z", "<f8")])]
    packed = np.zeros(len(x), dtype=fields)
    packed["order"] = 1
    packed["kind"] = POINT if z is None else 1000 + POINT
    packed["x"] = x
    packed["y"] = y
    if z is not None:
        packed["z"] = z
    data = packed.tobytes()
    size = packed.dtype.itemsize
    lacking = (np.isnan(x) | np.isnan(y)).tolist()
    return [None if gone else data[k * size : (k + 1) * size] for k, gone in enumerate(lacking)]
