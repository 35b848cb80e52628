"""Reading a delimited text: once for all columns, and again for those that turned out to be text."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from mcgta.files.delimited.cells import COMMA_NUMBER, NUMBER, is_missing_cell, parsers_for
from mcgta.files.delimited.columns import ColumnReader, TextCells
from mcgta.files.delimited.dialect import Dialect, find_dialect, is_blank, take_sample
from mcgta.files.delimited.lines import Lines, check_encoding
from mcgta.files.problems import FileProblem
from mcgta.files.sources import Source
from mcgta.files.table import BadCells, Column, FileTable, Kind
from mcgta.runtime.types import Index

CHUNK_ROWS = 16_384
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[.,]\d{3})?")


@dataclass(frozen=True, eq=False)
class TextOrigin:
    """What a delimited text was read from, and how it is written."""

    source: Source
    dialect: Dialect


class Chunk(NamedTuple):
    """Some rows: their cells, and the line that each begins in."""

    rows: list[list[str]]
    lines: list[int]


def read_delimited(source: Source, *, encoding: str = "utf-8") -> FileTable:
    """Read a delimited text; the bytes are read again where a column of numbers turns out to be text."""
    encoding = check_encoding(encoding)
    with _rows_of(source, encoding) as (dialect, rows):
        header, header_line = next(rows)
        if not dialect.has_header:
            rows = chain([(header, header_line)], rows)
        parsers = parsers_for(dialect.separator)
        readers = [ColumnReader(parsers) for _ in header]
        lines = []
        for chunk in _chunks(rows, len(header), source.name, header_line):
            lines.append(np.array(chunk.lines, dtype=np.int64))
            for reader, cells in zip(readers, zip(*chunk.rows, strict=True), strict=True):
                reader.feed(cells)
    if not lines:
        raise FileProblem(f"{source.name}: the header is followed by no row")
    n_rows = sum(map(len, lines))
    names, notes = _name_columns(header, dialect)
    read = _finish(readers, source, dialect)
    if any(reader.parser is COMMA_NUMBER for reader in readers):
        dialect = replace(dialect, decimal=",")
    return FileTable(
        name=source.name,
        format="CSV",
        n_rows=n_rows,
        columns=dict(zip(names, read.columns, strict=True)),
        kinds=dict(zip(names, read.kinds, strict=True)),
        sha256=source.sha256,
        origin=TextOrigin(source, dialect),
        notes=notes,
        bad_cells={names[k]: bad for k, bad in read.bad_cells.items()},
        lines=_shorten(np.concatenate(lines)),
    )


@contextmanager
def _rows_of(source: Source, encoding: str) -> Iterator[tuple[Dialect, Iterator[tuple[list[str], int]]]]:
    """Open a text, find its dialect, and go through its rows that are not blank, each with the line it begins in."""
    with source.opened() as file:
        lines = Lines(file, source.name, encoding)
        sample = take_sample(iter(lines))
        dialect = find_dialect(sample, source.name, encoding, has_mark=lines.has_mark)
        yield dialect, _numbered(dialect.reader(chain(sample, lines)), source.name)


def _numbered(reader: Iterator[list[str]], name: str) -> Iterator[tuple[list[str], int]]:
    before = 0
    try:
        for row in reader:
            if not is_blank(row):
                yield row, before + 1
            before = reader.line_num  # type: ignore[attr-defined]
    except csv.Error as error:
        raise FileProblem(
            f"{name}: line {before + 1}: a cell in quotes does not end as it should ({error}); quotes within a cell are "
            "written twice"
        ) from error


def _chunks(rows: Iterator[tuple[list[str], int]], width: int, name: str, header_line: int) -> Iterator[Chunk]:
    """Gather rows, and refuse those that have more or fewer cells than the first."""
    chunk = Chunk([], [])
    for row, line in rows:
        if len(row) != width:
            _refuse_ragged(row, width, f"{name}: line {line}", header_line)
        chunk.rows.append(row)
        chunk.lines.append(line)
        if len(chunk.rows) == CHUNK_ROWS:
            yield chunk
            chunk = Chunk([], [])
    if chunk.rows:
        yield chunk


def _refuse_ragged(row: list[str], width: int, where: str, header_line: int) -> None:
    empty = len(row) == width + 1 and not row[-1].strip()
    hint = "; does the line end with a separator?" if empty else ""
    cells = f"{len(row)} cell{'' if len(row) == 1 else 's'}"
    raise FileProblem(f"{where}: {cells}, but line {header_line} has {width}{hint}")


class _Read(NamedTuple):
    """Columns, their kinds, and by column the cells that keep it from being one of numbers or times."""

    columns: list[Column]
    kinds: list[Kind]
    bad_cells: dict[int, BadCells]


def _finish(readers: Sequence[ColumnReader], source: Source, dialect: Dialect) -> _Read:
    """Return the columns, now that all rows have been read."""
    bad_cells = {k: bad for k, reader in enumerate(readers) if (bad := reader.bad_cells()) is not None}
    bad_cells |= _find_doubtful_signs(readers, source, dialect)
    columns: list[Column | None] = []
    for k, reader in enumerate(readers):
        if reader.is_text:
            columns.append(reader.text())
            continue
        try:
            columns.append(reader.values())
        except ValueError as error:
            row, text = _first_cell(source, dialect, k)
            bad_cells[k] = reader.demote(row, text, str(error))
            columns.append(None)
    wanted = [k for k, reader in enumerate(readers) if reader.needs_text]
    again = _read_text(source, dialect, wanted)
    filled = [again[k] if column is None else column for k, column in enumerate(columns)]
    return _Read(filled, [reader.kind() for reader in readers], bad_cells)


def _read_text(source: Source, dialect: Dialect, wanted: Sequence[int]) -> dict[int, Column]:
    """Read the cells of some columns again, as text."""
    if not wanted:
        return {}
    cells = {k: TextCells() for k in wanted}
    with _rows_of(source, dialect.encoding) as (_, rows):
        header, line = next(rows)
        if not dialect.has_header:
            rows = chain([(header, line)], rows)
        for chunk in _chunks(rows, len(header), source.name, line):
            for k in wanted:
                cells[k].feed([row[k] for row in chunk.rows])
    return {k: cells[k].column() for k in wanted}


def _first_cell(source: Source, dialect: Dialect, k: int) -> tuple[int, str]:
    """Return the first cell of a column that is not missing, with its row."""
    column = _read_text(source, dialect, [k])[k]
    row = next(row for row, text in enumerate(column) if text is not None and not is_missing_cell(text))
    return row, column[row]


def _find_doubtful_signs(readers: Sequence[ColumnReader], source: Source, dialect: Dialect) -> dict[int, BadCells]:
    """Make columns text whose numbers are such as 1.234 or 1,234, where some columns have decimal points, others commas.

    There the sign could also stand between thousands.
    """
    signs = {k: reader.parser for k, reader in enumerate(readers) if reader.parser in (NUMBER, COMMA_NUMBER)}
    if len(set(signs.values())) < 2:
        return {}
    found = {}
    for k, column in _read_text(source, dialect, list(signs)).items():
        present = [(row, text.strip()) for row, text in enumerate(column) if text and not is_missing_cell(text)]
        if all(_THOUSANDS.fullmatch(text) for _, text in present):
            row, text = next((row, text) for row, text in present if not text.lstrip("+-").isdigit())
            reason = "could be a thousand or a broken number, since other columns have the other decimal sign"
            found[k] = readers[k].demote(row, text, reason)
    return found


def _name_columns(header: Sequence[str], dialect: Dialect) -> tuple[list[str], tuple[str, ...]]:
    """Return names for all columns, no two of them alike, and notes on those that are not in the file."""
    if not dialect.has_header:
        last = f", ..., column_{len(header)}" if len(header) > 1 else ""
        said = f"the first line holds no names, so columns are called column_1{last}"
        return [f"column_{k + 1}" for k in range(len(header))], (said,)
    given = [cell.strip() for cell in header]
    names: list[str] = []
    notes = []
    for k, name in enumerate(given):
        if name and name not in names:
            names.append(name)
            continue
        names.append(_free_name(name, k, {*names, *given}))
        said = f"a second column called {name!r}" if name else f"column {k + 1}, which has no name,"
        notes.append(f"{said} is called {names[-1]}")
    return names, tuple(notes)


def _free_name(name: str, k: int, taken: set[str]) -> str:
    """Return a name for a column that has none or one that is taken."""
    numbered = (
        (f"{name}_{number}" for number in count(2)) if name else (f"column_{k + 1}{'_' * number}" for number in count())
    )
    return next(name for name in numbered if name not in taken)


def _shorten(lines: Index) -> Index | int:
    """Return the first line where all rows are lines, else all of them."""
    is_regular = lines[-1] - lines[0] == lines.size - 1
    return int(lines[0]) if is_regular else lines
