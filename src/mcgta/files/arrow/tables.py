"""Arrow tables as tables of ours, and the tables that are written: the columns as they were read, and the added ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mcgta.files.arrow.columns import load_pyarrow, make_array, read_column
from mcgta.files.geo.metadata import GEO_KEY, find_geometry, geo_metadata, read_points
from mcgta.files.geo.points import wkb_of
from mcgta.files.problems import FileProblem, explaining
from mcgta.files.sources import Source
from mcgta.files.table import Column, FileTable, Points, ReadColumn
from mcgta.runtime.memory import budget
from mcgta.runtime.sizes import say_size


@dataclass(frozen=True, eq=False)
class ArrowOrigin:
    """The Arrow table that was read, with all its columns and its metadata."""

    table: Any


@contextmanager
def explaining_arrow(name: str, kind: str) -> Iterator[None]:
    """Turn what pyarrow says of a damaged file into a :class:`FileProblem` that names the file."""
    pa = load_pyarrow()
    try:
        with explaining(name, kind, (pa.lib.ArrowException, OSError, ValueError, KeyError, TypeError, EOFError)):
            yield
    except MemoryError as error:
        raise FileProblem(f"{name}: damaged, or larger than the memory that is free") from error


def refuse_large(size: int, name: str) -> None:
    """Refuse a table whose columns would not fit into memory."""
    room = budget()
    if room is not None and size > room:
        raise FileProblem(f"{name}: its columns take {say_size(size)}, of which {say_size(room)} may be used")


def read_arrow(arrow: Any, source: Source, format_name: str, origin: ArrowOrigin | None = None) -> FileTable:
    """Return the columns of an Arrow table.

    Parameters
    ----------
    arrow : the table
    source : what it was read from
    format_name : what the format is called
    origin : what is needed to write it again; None for the table
    """
    name = source.name
    with explaining_arrow(name, "a table whose cells are as its columns say"):
        _check_shape(arrow, name)
        arrow.validate(full=True)
        geo = find_geometry(arrow.schema, name)
        read = {
            column: read_column(_storage(arrow.column(column)))
            for column in arrow.column_names
            if geo is None or column != geo.name
        }
        points: Points | None = None
        notes: tuple[str, ...] = ()
        if geo is not None:
            points, notes = read_points(_storage(arrow.column(geo.name)).combine_chunks(), geo, name)
    known = {column: found for column, found in read.items() if found is not None}
    others = tuple(column for column in read if column not in known)
    if not known:
        raise FileProblem(f"{name}: no column holds numbers, flags, times or text")
    return FileTable(
        name=name,
        format=format_name,
        n_rows=arrow.num_rows,
        columns={column: found.values for column, found in known.items()},
        kinds={column: found.kind for column, found in known.items()},
        sha256=source.sha256,
        origin=origin or ArrowOrigin(arrow),
        geometry=points,
        notes=(*notes, *_notes(arrow, known, others)),
        bad_cells={column: found.bad_cells for column, found in known.items() if found.bad_cells is not None},
        others=others,
    )


def _check_shape(arrow: Any, name: str) -> None:
    names = arrow.column_names
    if len({*names}) < len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise FileProblem(f"{name}: two columns are called {twice!r}; rename one")
    if arrow.num_rows == 0:
        raise FileProblem(f"{name}: the table has no row")


def _storage(array: Any) -> Any:
    """Return a column of an extension type, such as those of GeoArrow, as what it is stored as."""
    pa = load_pyarrow()
    if not isinstance(array.type, pa.BaseExtensionType):
        return array
    return pa.chunked_array([chunk.storage for chunk in array.chunks], type=array.type.storage_type)


def _notes(arrow: Any, known: Mapping[str, ReadColumn], others: tuple[str, ...]) -> tuple[str, ...]:
    notes = []
    if others:
        said = ", ".join(f"{column} ({arrow.schema.field(column).type})" for column in others)
        notes.append(f"columns of lists, bytes and the like are no features: {said}")
    rounded = [column for column, found in known.items() if found.is_rounded]
    if rounded:
        notes.append(
            f"whole numbers beyond 2^53 are rounded where some are missing or beyond 2^63: {', '.join(rounded)}"
        )
    return tuple(notes)


def make_arrow(table: FileTable, added: Mapping[str, Column]) -> Any:
    """Return the Arrow table to write: the one that was read, or one of the columns and points; and the added columns."""
    arrow = _with_geo(table.origin.table, table) if isinstance(table.origin, ArrowOrigin) else make_plain_arrow(table)
    for name, column in added.items():
        arrow = arrow.append_column(name, make_array(column))
    return arrow


def make_plain_arrow(table: FileTable) -> Any:
    """Return the columns of a table, and its geometries as WKB behind them, as an Arrow table."""
    pa = load_pyarrow()
    arrays = {name: make_array(column, table.kinds[name]) for name, column in table.columns.items()}
    points = table.geometry
    if points is None:
        return pa.table(arrays)
    return _with_geo(pa.table({**arrays, points.name: pa.array(wkb_of(points), type=pa.binary())}), table)


def _with_geo(arrow: Any, table: FileTable) -> Any:
    """Return an Arrow table with the metadata of GeoParquet, where it has WKB and lacks them."""
    points = table.geometry
    metadata = arrow.schema.metadata or {}
    pa = load_pyarrow()
    if points is None or GEO_KEY in metadata or not pa.types.is_binary(arrow.schema.field(points.name).type):
        return arrow
    kinds = [] if points.wkb is not None else ["Point" if points.z is None else "Point Z"]
    said = geo_metadata(points.name, points.definition, kinds)
    return arrow.replace_schema_metadata({**metadata, GEO_KEY: said})
