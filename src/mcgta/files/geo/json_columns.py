"""Values of JSON as columns, and columns as values of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mcgta.files.delimited.cells import NUMBER, TIME_PARSERS, is_missing_cell
from mcgta.files.delimited.columns import MAX_BAD_CELLS_KEPT, ColumnReader
from mcgta.files.delimited.times import in_longest_unit
from mcgta.files.table import MAX_WHOLE, BadCells, Column, Kind, ReadColumn, as_objects

_NUMBERS = {int, float}
_NESTED = {list, dict}


def read_values(values: Sequence[Any]) -> ReadColumn | None:
    """Return the values of a property as a column; None where some are lists or objects.

    Parameters
    ----------
    values : (N,) as the JSON library gives them; None where they are missing
    """
    found = {type(value) for value in values} - {type(None)}
    if found & _NESTED:
        return None
    if found == {bool}:
        return _read_flags(values)
    if found <= _NUMBERS:
        return _read_numbers(values)
    if found == {str}:
        return _read_texts(values)
    return _read_mixed(values)


def _read_flags(values: Sequence[Any]) -> ReadColumn:
    if None in values:
        return ReadColumn(np.array([np.nan if flag is None else float(flag) for flag in values]), "flag")
    return ReadColumn(np.array(values, dtype=bool), "flag")


def _read_numbers(values: Sequence[Any]) -> ReadColumn:
    kind: Kind = "integer" if any(value is not None for value in values) else "number"
    if any(isinstance(value, float) for value in values):
        kind = "number"
    if kind == "integer" and None not in values:
        try:
            return ReadColumn(np.array(values, dtype=np.int64), kind)
        except OverflowError:
            return ReadColumn(_floats(values), kind, is_rounded=True)
    is_rounded = any(isinstance(value, int) and abs(value) > MAX_WHOLE for value in values)
    return ReadColumn(_floats(values), kind, is_rounded=is_rounded)


def _floats(values: Sequence[Any]) -> Column:
    return np.array([np.nan if value is None else _float(value) for value in values], dtype=np.float64)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return float("inf") if value > 0 else float("-inf")


def _read_texts(values: Sequence[Any]) -> ReadColumn:
    """Texts, or the times that they stand for."""
    reader = ColumnReader(TIME_PARSERS)
    reader.feed(["" if text is None else text for text in values])
    if reader.parser is not None and not reader.is_text:
        try:
            return ReadColumn(reader.values(), "time")
        except ValueError as error:
            row = next(row for row, text in enumerate(values) if text and not is_missing_cell(text))
            return ReadColumn(as_objects(values), "text", reader.demote(row, values[row], str(error)))
    return ReadColumn(as_objects(values), "text", reader.bad_cells())


def _read_mixed(values: Sequence[Any]) -> ReadColumn:
    """Numbers and texts in one column, which is one of numbers where the texts are such as "NA"."""
    wrong = [
        row
        for row, value in enumerate(values)
        if value is not None and type(value) not in _NUMBERS and not (isinstance(value, str) and is_missing_cell(value))
    ]
    if not wrong:
        return _read_numbers([value if type(value) in _NUMBERS else None for value in values])
    texts = [_text(value) for value in values]
    n_numbers = sum(type(value) in _NUMBERS for value in values)
    if n_numbers <= len(wrong):
        return ReadColumn(as_objects(texts), "text")
    first = wrong[:MAX_BAD_CELLS_KEPT]
    shown = tuple(str(texts[row]) for row in first)
    return ReadColumn(as_objects(texts), "text", BadCells("number", tuple(first), shown, len(wrong), NUMBER.said))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def make_values(column: Column, kind: Kind | None = None) -> list[Any]:
    """Return a column as values of JSON, None where they are missing; ``kind`` None takes that of the type."""
    column = np.asarray(column)
    if column.dtype.kind == "M":
        texts = np.datetime_as_string(in_longest_unit(column)).tolist()
        return [None if text == "NaT" else text for text in texts]
    if column.dtype.kind != "f":
        return column.tolist()
    make = {"integer": int, "flag": bool}.get(kind or "", float)
    return [None if number != number else make(number) for number in column.tolist()]
