"""GeoPackage, by pyogrio, without GeoPandas."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from mcgta.files.arrow.columns import make_array
from mcgta.files.arrow.tables import ArrowOrigin, make_plain_arrow, read_arrow
from mcgta.files.format import Format
from mcgta.files.geo.points import WGS84
from mcgta.files.problems import FileProblem, explaining, need
from mcgta.files.sources import Source, scratch
from mcgta.files.table import Column, FileTable

_NAME = "GeoPackage"
_DRIVER = "GPKG"
_MAGIC = b"SQLite format 3\0"
_STYLES = "layer_styles"  # a table of QGIS
_UNDEFINED_CRS = "Undefined"
_MAX_WARNINGS = 3


@dataclass(frozen=True, eq=False)
class LayerOrigin(ArrowOrigin):
    """A layer that was read.

    Attributes
    ----------
    layer : its name
    geometry_name, geometry_type : of its geometries; "" without
    crs : of them, as pyogrio gives it; None where it is not known
    """

    layer: str = ""
    geometry_name: str = ""
    geometry_type: str = ""
    crs: str | None = None


def read_geopackage(source: Source) -> FileTable:
    """Read the layer of a GeoPackage; its geometries are the positions."""
    raw = need("pyogrio.raw", _NAME, "geo")
    with source.seekable() as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise FileProblem(f"{source.name}: damaged, or not {_NAME} (it does not begin as SQLite does)")
    with _readable(source) as path, _explaining(source.name), _gathered_warnings() as said:
        layer = _choose_layer(path, source.name)
        about, arrow = raw.read_arrow(path, layer=layer)
    name = about["geometry_name"]
    crs = _known_crs(about["crs"])
    if crs is None and name:
        place = arrow.column_names.index(name)
        bare = arrow.schema.field(place).with_metadata({"ARROW:extension:name": "geoarrow.wkb"})
        arrow = arrow.set_column(place, bare, arrow.column(place))
    origin = LayerOrigin(arrow, layer, name, about["geometry_type"] or "", crs)
    table = read_arrow(arrow, source, _NAME, origin)
    return replace(table, notes=(*table.notes, *said))


def _choose_layer(path: str, name: str) -> str:
    """Return the layer to read: the only one, or the only one with geometries."""
    pyogrio = need("pyogrio", _NAME, "geo")
    layers = {str(layer): kind for layer, kind in pyogrio.list_layers(path).tolist() if layer != _STYLES}
    if not layers:
        raise FileProblem(f"{name}: it has no layer")
    places = [layer for layer, kind in layers.items() if kind is not None]
    if len(places) == 1:
        return places[0]
    if len(layers) == 1:
        return next(iter(layers))
    listed = ", ".join(places or layers)
    raise FileProblem(
        f"{name}: it has {len(places or layers)} layers ({listed}); write the one that is meant into a file of its own"
    )


def _known_crs(crs: str | None) -> str | None:
    """Return a coordinate reference system; None for those by which GeoPackage says that it is not known."""
    return None if crs is None or f'"{_UNDEFINED_CRS} ' in crs or crs.startswith(_UNDEFINED_CRS) else crs


@contextmanager
def _readable(source: Source) -> Iterator[str]:
    """Return a path that GDAL can open: that of the file, or of a copy where it is a pipe."""
    path = Path(source.path)
    if path.is_file():
        yield str(path)
        return
    with source.copied(f".{_DRIVER.lower()}") as copy:
        yield str(copy)


@contextmanager
def _gathered_warnings() -> Iterator[list[str]]:
    """Gather what GDAL warns of as sentences."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    texts = dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
    said += [f"GDAL says: {text}" for text in [*texts][:_MAX_WARNINGS]]


@contextmanager
def _explaining(name: str) -> Iterator[None]:
    """Turn what pyogrio says of a damaged file into a :class:`FileProblem`."""
    with explaining(name, _NAME, _errors()):
        yield


def _errors() -> tuple[type[Exception], ...]:
    errors = need("pyogrio.errors", _NAME, "geo")
    pa = need("pyarrow", _NAME, "geo")
    own = (errors.DataSourceError, errors.DataLayerError, errors.CRSError, errors.FieldError, errors.GeometryError)
    return (*own, errors.FeatureError, pa.lib.ArrowException, RuntimeError, OSError, ValueError)


def write_geopackage(table: FileTable, file: IO[bytes], added: Mapping[str, Column], path: str) -> None:
    """Write a layer with the geometries and columns that were read, and the added columns."""
    raw = need("pyogrio.raw", _NAME, "geo")
    layer = _layer_of(table, path)
    arrow = layer.table
    for name, column in added.items():
        arrow = arrow.append_column(name, make_array(column))
    options: dict[str, Any] = {"layer_options": {"FID": _free_key(arrow.column_names)}}
    if layer.geometry_name:
        options["layer_options"]["GEOMETRY_NAME"] = layer.geometry_name
        options["geometry_name"] = layer.geometry_name
        options["geometry_type"] = layer.geometry_type or "Unknown"
        options["crs"] = layer.crs
    with scratch(file, ".gpkg") as target, _gathered_warnings():
        try:
            raw.write_arrow(arrow, target, layer=layer.layer, driver=_DRIVER, **options)
        except _errors() as error:
            raise FileProblem(f"{path}: cannot be written as {_NAME} ({' '.join(str(error).split())})") from error


def _free_key(names: list[str]) -> str:
    """Return a name for the key of rows, which every layer has, that no column is called."""
    taken = {name.lower() for name in names}
    key = "fid"
    while key in taken:
        key += "_"
    return key


def _layer_of(table: FileTable, path: str) -> LayerOrigin:
    """Return the layer that was read, or one of the columns and points."""
    if isinstance(table.origin, LayerOrigin):
        return table.origin
    points = table.geometry
    name = Path(path).name.rpartition(".")[0] or "table"
    if points is None:
        return LayerOrigin(make_plain_arrow(table), name)
    kind = "Unknown" if points.wkb is not None else "Point" if points.z is None else "Point Z"
    crs = WGS84 if points.crs == WGS84 else points.definition
    return LayerOrigin(make_plain_arrow(table), name, points.name, kind, crs or None)


FORMAT = Format(
    name=_NAME,
    suffixes=(".gpkg",),
    read=read_geopackage,
    write=write_geopackage,
    extra="geo",
    packages=("pyogrio", "pyarrow", "pyproj"),
    has_points=True,
)
