"""Writing a delimited text: the cells of the file that was read as they stand in it, and the added ones behind them."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any, Literal

import numpy as np

from mcgta.files.delimited.dialect import LINE_ENDS, QUOTE, Dialect, is_blank
from mcgta.files.delimited.lines import MARK, Lines
from mcgta.files.delimited.reading import CHUNK_ROWS, TextOrigin
from mcgta.files.delimited.times import in_longest_unit
from mcgta.files.problems import FileProblem
from mcgta.files.table import Column, FileTable, Kind, Points

_COMPRESSION = 6  # of gzip: the level of the command, at a third of the time of the highest
_NUMERIC = "biuf"


def write_delimited(table: FileTable, file: IO[bytes], added: Mapping[str, Column], path: str) -> None:
    """Write a table and the added columns as a text; ``path`` says by its suffix whether tabs or gzip are wanted."""
    origin = table.origin if isinstance(table.origin, TextOrigin) else None
    dialect = _dialect_for(path, origin)
    added = _shorten_times(added)
    if not path.lower().endswith(".gz"):
        _write_text(table, origin, file, added, dialect)
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0, compresslevel=_COMPRESSION) as packed:
        _write_text(table, origin, packed, added, dialect)  # type: ignore[arg-type]  # writes bytes as any file does


def _dialect_for(path: str, origin: TextOrigin | None) -> Dialect:
    """Return how to write: as the file that was read, unless one suffix says tabs and the other does not."""
    read = Dialect() if origin is None else origin.dialect
    suffix = _suffix(path)
    if suffix == "tsv":
        return replace(read, separator="\t")
    if origin is not None and suffix == "csv" and _suffix(origin.source.name) == "tsv" and read.separator == "\t":
        return replace(read, separator=";" if read.decimal == "," else ",")
    return read


def _suffix(path: str) -> str:
    return path.lower().removesuffix(".gz").rpartition(".")[2]


def _write_text(
    table: FileTable, origin: TextOrigin | None, file: IO[bytes], added: Mapping[str, Column], dialect: Dialect
) -> None:
    encode = codecs.getincrementalencoder(dialect.encoding)("strict").encode
    if dialect.has_mark:
        file.write(encode(MARK))
    if origin is None:
        texts = _new_rows(table, added, dialect)
    elif origin.dialect.separator == dialect.separator:
        texts = _old_rows(origin, added, dialect, list(table.columns))
    else:
        texts = _old_cells(origin, added, dialect, list(table.columns))
    try:
        for text in texts:
            file.write(encode(text))
    except csv.Error as error:  # what could be read before
        raise FileProblem(f"{table.name} has changed since it was read; run the command again") from error


def _new_rows(table: FileTable, added: Mapping[str, Column], dialect: Dialect) -> Iterator[str]:
    """Rows of a table that was not read from a text."""
    points = {} if table.geometry is None else _coordinates(table.geometry, table.columns)
    own = {name: _without_points(column, table.kinds[name]) for name, column in table.columns.items()}
    columns = _shorten_times({**points, **own, **added})
    yield _line(_quote_texts(list(columns), dialect), dialect)
    for start in range(0, table.n_rows, CHUNK_ROWS):
        cells = [format_cells(column[start : start + CHUNK_ROWS], dialect) for column in columns.values()]
        yield "".join(_line(row, dialect) for row in zip(*cells, strict=True))


def _without_points(column: Column, kind: Kind) -> Column:
    """Return whole numbers and flags as such, which are floating-point numbers where some are missing."""
    if kind not in ("integer", "flag") or column.dtype.kind != "f":
        return column
    make = bool if kind == "flag" else int
    whole = np.empty(len(column), dtype=object)
    whole[:] = [None if number != number else make(number) for number in column.tolist()]
    return whole


def _coordinates(points: Points, taken: Mapping[str, Column]) -> dict[str, Column]:
    """Return points as columns, for formats that have none."""
    names = ("longitude", "latitude", "z") if points.is_geographic else ("x", "y", "z")
    values = (points.x, points.y, points.z)
    free = {name: column for name, column in zip(names, values, strict=True) if column is not None}
    return {name if name not in taken else f"{points.name}_{name}": column for name, column in free.items()}


def _old_rows(origin: TextOrigin, added: Mapping[str, Column], dialect: Dialect, names: list[str]) -> Iterator[str]:
    """Rows as they stand in the file, each with the added cells before its line end."""
    header = dialect.separator.join(_quote_texts(list(added), dialect))
    behind = _added_rows(added, dialect)
    between = dialect.separator if added else ""
    wants_header = dialect.has_header
    if not wants_header:
        yield _line(_quote_texts([*names, *added], dialect), dialect)
    gathered: list[str] = []
    with origin.source.opened() as file:
        for record, row in _records(Lines(file, origin.source.name, dialect.encoding), dialect):
            if is_blank(row):
                gathered.append(record)
                continue
            end = next((end for end in LINE_ENDS if record.endswith(end)), "")
            cells = header if wants_header else next(behind, "")  # a row too many is found by the hash
            wants_header = False
            gathered.append(f"{record[: len(record) - len(end)]}{between}{cells}{end}")
            if len(gathered) == CHUNK_ROWS:
                yield "".join(gathered)
                gathered.clear()
    yield "".join(gathered)


def _old_cells(origin: TextOrigin, added: Mapping[str, Column], dialect: Dialect, names: list[str]) -> Iterator[str]:
    """Cells as they stand in the file, between other separators."""
    style: Literal[0, 1] = csv.QUOTE_ALL if dialect.quoted == "all" else csv.QUOTE_MINIMAL
    text = io.StringIO()
    writer = csv.writer(text, delimiter=dialect.separator, lineterminator=dialect.line_end, quoting=style)
    chunks = zip(*[_unquoted(column, dialect) for column in added.values()], strict=True)
    wants_header = dialect.has_header
    if not wants_header:
        writer.writerow([*names, *added])
    with origin.source.opened() as file:
        for row in origin.dialect.reader(Lines(file, origin.source.name, dialect.encoding)):
            if is_blank(row):
                continue
            writer.writerow([*row, *(added if wants_header else next(chunks, ()))])
            wants_header = False
            if text.tell() > CHUNK_ROWS:
                yield text.getvalue()
                text.seek(0)
                text.truncate()
    yield text.getvalue()


def _records(lines: Lines, dialect: Dialect) -> Iterator[tuple[str, Any]]:
    """Rows as text with all their lines, and whether there are cells in them."""
    taken: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    for row in dialect.reader(noted()):
        yield "".join(taken), row
        taken.clear()


def _added_rows(added: Mapping[str, Column], dialect: Dialect) -> Iterator[str]:
    """The added cells of each row, between separators."""
    n_rows = max((len(column) for column in added.values()), default=0)
    for start in range(0, n_rows, CHUNK_ROWS):
        cells = [format_cells(column[start : start + CHUNK_ROWS], dialect) for column in added.values()]
        yield from map(dialect.separator.join, zip(*cells, strict=True))


def _unquoted(column: Column, dialect: Dialect) -> Iterator[str]:
    """The cells of a column without quotes, which a writer adds."""
    for start in range(0, len(column), CHUNK_ROWS):
        yield from _texts_of(column[start : start + CHUNK_ROWS], dialect.decimal)


def format_cells(column: Column, dialect: Dialect) -> list[str]:
    """Return the cells of a column, in quotes where they need it or the file has them."""
    column = np.asarray(column)
    texts = _texts_of(column, dialect.decimal)
    if column.dtype.kind in _NUMERIC:
        if dialect.quoted == "all":
            return [f"{QUOTE}{text}{QUOTE}" for text in texts]
        return texts
    return _quote_texts(texts, dialect)


def _texts_of(column: Column, decimal: str) -> list[str]:
    """Return values as text: numbers with as many digits as tell them apart, "" where they are missing."""
    column = np.asarray(column)
    if column.dtype.kind not in _FORMATS:
        raise TypeError(f"a column of type {column.dtype} cannot be written as text")
    texts = _FORMATS[column.dtype.kind](column)
    return [text.replace(".", ",") for text in texts] if decimal == "," and column.dtype.kind == "f" else texts


def _numbers(column: Column) -> list[str]:
    numbers = column.tolist() if column.dtype == np.float64 else column
    return ["" if text == "nan" else text for text in map(str, numbers)]


def _text(item: Any) -> str:
    if item is None:
        return ""
    return str(item).lower() if isinstance(item, bool) else str(item)


def _times(column: Column) -> list[str]:
    return ["" if text == "NaT" else text for text in np.datetime_as_string(column).tolist()]


def _shorten_times(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return columns, in which times are in the longest unit that tells them apart: days, seconds or parts of them."""
    return {name: in_longest_unit(np.asarray(column)) for name, column in columns.items()}


_FORMATS: dict[str, Callable[[Column], list[str]]] = {
    "b": lambda column: ["true" if flag else "false" for flag in column.tolist()],
    "i": lambda column: list(map(str, column.tolist())),
    "u": lambda column: list(map(str, column.tolist())),
    "f": _numbers,
    "M": _times,
    "U": lambda column: column.tolist(),
    "O": lambda column: [_text(item) for item in column.tolist()],
}
"""How values are written, by the kind of their type."""


def _quote_texts(texts: Sequence[str], dialect: Dialect) -> list[str]:
    if dialect.quoted != "minimal":
        return [f"{QUOTE}{text.replace(QUOTE, 2 * QUOTE)}{QUOTE}" for text in texts]
    special = (dialect.separator, QUOTE, "\n", "\r")
    return [
        f"{QUOTE}{text.replace(QUOTE, 2 * QUOTE)}{QUOTE}" if any(sign in text for sign in special) else text
        for text in texts
    ]


def _line(cells: Sequence[str], dialect: Dialect) -> str:
    # A line of one empty cell would be a blank one, which is no row.
    return (dialect.separator.join(cells) or 2 * QUOTE) + dialect.line_end
