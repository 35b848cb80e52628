"""A table as it was read from a file, and what its columns are taken for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mcgta.files.problems import FileProblem, show
from mcgta.runtime.cached import cached_property
from mcgta.runtime.rules import suggest
from mcgta.runtime.types import Array, Index

Kind = Literal["integer", "number", "flag", "time", "text"]
Column = NDArray[Any]
MAX_NAMED_COLUMNS = 20
"""Columns that a message lists."""
MAX_WHOLE = 2**53
"""Floating-point numbers hold all whole numbers up to this one."""
_WRITABLE = "biufMUO"
NUMERIC_KINDS: tuple[Kind, ...] = ("integer", "number", "flag")


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are taken for, or are said to be.

    Attributes
    ----------
    time : the column of the time, or of the date and of the time of day; () without
    lon, lat : columns of degrees; None without
    x, y, z : columns of coordinates; None without
    position : columns of any other coordinates; ("geometry",) for the points of a table that has them
    group : column of the series, slide or machine of each row; None without
    features : columns of features, as given also patterns such as ``temp*``
    ignored : why the other columns are left out, by column; as given, columns or patterns without reasons
    crs : coordinate reference system of x and y, such as "EPSG:25832"; None where it is not known
    group_suggestions : columns that could be the group, which the user may say
    """

    time: tuple[str, ...] = ()
    lon: str | None = None
    lat: str | None = None
    x: str | None = None
    y: str | None = None
    z: str | None = None
    position: tuple[str, ...] = ()
    group: str | None = None
    features: tuple[str, ...] = ()
    ignored: dict[str, str] = field(default_factory=dict)
    crs: str | None = None
    group_suggestions: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """Columns of places: degrees, coordinates or others; () without."""
        named = (self.lon, self.lat, self.x, self.y, self.z)
        return (*(name for name in named if name is not None), *self.position)

    @property
    def used(self) -> tuple[str, ...]:
        """Columns of positions and of groups."""
        group = () if self.group is None else (self.group,)
        return (*self.time, *self.places, *group)


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a table.

    Attributes
    ----------
    x, y : (N,) coordinates; NaN where a row has no point
    z : (N,) heights, or None
    name : what the column of points is called
    crs : name of the coordinate reference system, such as "EPSG:4326"; "" where it is not known
    is_geographic : whether x and y are degrees of longitude and latitude
    unit : of x and y, such as "m" or "degree"; "" where it is not known
    definition : the coordinate reference system by its code or as WKT, as files that are written need it; "" without
    wkb : (N,) the geometries as well-known binary, where they are lines or areas, whose centroids x and y are; None for points
    """

    x: Array
    y: Array
    z: Array | None = None
    name: str = "geometry"
    crs: str = ""
    is_geographic: bool = False
    unit: str = ""
    definition: str = ""
    wkb: Sequence[bytes | None] | None = None

    @property
    def missing(self) -> Index:
        """Rows without a point."""
        return np.flatnonzero(np.isnan(self.x) | np.isnan(self.y))


@dataclass(frozen=True)
class BadCells:
    """Cells that keep a column of text from being one of numbers or times.

    Attributes
    ----------
    kind : what the column would be without them
    rows, texts : the first of them
    count : how many there are
    reason : what is wrong with them
    """

    kind: Kind
    rows: tuple[int, ...]
    texts: tuple[str, ...]
    count: int
    reason: str


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """A column that was read.

    Attributes
    ----------
    values : (N,) as :class:`FileTable` has them
    kind : what they are
    bad_cells : what keeps text from being times; None where nothing does
    is_rounded : whether whole numbers have lost their last digits, which the file keeps
    """

    values: Column
    kind: Kind
    bad_cells: BadCells | None = None
    is_rounded: bool = False


@dataclass(frozen=True, eq=False)
class FileTable:
    """A table of N rows, read from a file.

    Attributes
    ----------
    name : of the file, without its folder; "-" for standard input
    format : name of its format in :data:`mcgta.files.by_suffix.FORMATS`
    n_rows : N
    columns : (N,) arrays in the order of the file. Numbers are int64 or float64, flags bool, both float64 with NaN where
        some are missing; times are datetime64[ns] (UTC where the file has time zones), NaT where missing; text is objects,
        None where missing
    kinds : what each column holds
    sha256 : of the bytes of the file, as hexadecimal digits
    origin : what the format needs to write the table back as it was
    geometry : points, or None
    notes : what a reader of the file should know, in sentences
    bad_cells : of columns of text that are numbers or times but for some cells
    declared : roles that the file itself gives to columns
    lines : (N,) line that each row begins in, or the line of the first row where rows are lines; None for no text
    others : what the file has beside, such as columns of lists, which is kept where the same format is written
    """

    name: str
    format: str
    n_rows: int
    columns: dict[str, Column]
    kinds: dict[str, Kind]
    sha256: str
    origin: Any = None
    geometry: Points | None = None
    notes: tuple[str, ...] = ()
    bad_cells: dict[str, BadCells] = field(default_factory=dict)
    declared: Roles = field(default_factory=Roles)
    lines: Index | int | None = None
    others: tuple[str, ...] = ()

    @property
    def taken(self) -> tuple[str, ...]:
        """Names that added columns cannot have."""
        points = () if self.geometry is None else (self.geometry.name,)
        return (*self.columns, *points, *self.others)

    @cached_property
    def missing(self) -> dict[str, Index]:
        """Rows without a value, of the columns that have some."""
        found = {name: missing_rows(column) for name, column in self.columns.items()}
        return {name: rows for name, rows in found.items() if rows.size}

    def line_of(self, row: int) -> int | None:
        """Return the line of the file that a row begins in; None where the file has no lines."""
        if self.lines is None:
            return None
        return self.lines + row if isinstance(self.lines, int) else int(self.lines[row])

    def where(self, row: int, column: str) -> str:
        """Return how a message names a cell."""
        line = self.line_of(row)
        return f"{self.name}: {f'row {row}' if line is None else f'line {line}'}, column {column}"

    def numbers(self, column: str) -> Array:
        """Return a column as numbers (N,), NaN where missing.

        Raises
        ------
        FileProblem
            where it holds text or times, with the first cell that is no number
        """
        refuse_unknown(column, self.columns, self.name)
        if self.kinds[column] in NUMERIC_KINDS:
            return self.columns[column].astype(np.float64)
        if column in self.bad_cells:
            raise FileProblem(self.say_bad_cells(column))
        if self.kinds[column] == "time":
            raise FileProblem(f"{self.name}: column {column} holds times, which are no numbers")
        present = [row for row, text in enumerate(self.columns[column]) if text is not None]
        if not present:
            raise FileProblem(f"{self.name}: column {column} has no value in any row")
        cell = self.columns[column][present[0]]
        raise FileProblem(f"{self.where(present[0], column)}: {show(cell)} is not a number")

    def say_bad_cells(self, column: str) -> str:
        """Return a sentence on the cells that keep a column from being one of numbers or times."""
        bad = self.bad_cells[column]
        many = f" ({bad.count} such cells)" if bad.count > 1 else ""
        return f"{self.where(bad.rows[0], column)}: {show(bad.texts[0])} {bad.reason}{many}"


def as_objects(items: Sequence[Any]) -> Column:
    """Return a column of objects, such as texts."""
    column = np.empty(len(items), dtype=object)
    column[:] = items
    return column


def missing_rows(column: Column) -> Index:
    """Return the rows in which a column has no value."""
    if column.dtype.kind == "f":
        return np.flatnonzero(np.isnan(column))
    if column.dtype.kind == "M":
        return np.flatnonzero(np.isnat(column))
    if column.dtype.kind == "O":
        return np.array([row for row, item in enumerate(column) if item is None], dtype=np.int64)
    return np.zeros(0, dtype=np.int64)


def refuse_unknown(name: str, known: Iterable[str], file: str) -> None:
    """Refuse the name of a column that a file does not have, with the nearest."""
    names = list(known)
    if name not in names:
        more = ", ..." if len(names) > MAX_NAMED_COLUMNS else ""
        listed = ", ".join(names[:MAX_NAMED_COLUMNS]) + more
        raise FileProblem(f"{file} has no column {name!r}, but {listed}{suggest(name, names)}")


def check_added(table: FileTable, added: Mapping[str, Column]) -> None:
    """Refuse columns to be added that are of another length or type, or called as one that is there."""
    for name, column in added.items():
        if name in table.taken:
            raise FileProblem(f"{table.name} has a column {name!r} already; rename it, or leave it out of the file")
        if np.shape(column) != (table.n_rows,):
            raise ValueError(f"added[{name!r}] has shape {np.shape(column)}, but {table.name} has {table.n_rows} rows")
        if np.asarray(column).dtype.kind not in _WRITABLE:
            raise TypeError(
                f"added[{name!r}] holds {np.asarray(column).dtype}; columns hold numbers, flags, times or text"
            )
