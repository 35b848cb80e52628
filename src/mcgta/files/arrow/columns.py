"""Columns of Arrow tables as columns of ours, and the other way round; one row of ``READERS`` for each family of types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mcgta.files.delimited.times import FIRST_YEAR, LAST_YEAR
from mcgta.files.problems import need
from mcgta.files.table import MAX_WHOLE, BadCells, Column, Kind, ReadColumn, as_objects

MAX_BAD_CELLS_KEPT = 5

_NANOSECONDS = "datetime64[ns]"
_DATE_UNITS = {"date32[day]": "D", "date64[ms]": "ms"}
_SECONDS_PER_UNIT = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def load_pyarrow() -> Any:
    """Return pyarrow."""
    return need("pyarrow", "Parquet and Feather", "files")


def load_compute() -> Any:
    """Return the functions of pyarrow, a module that ``import pyarrow`` alone does not load."""
    return need("pyarrow.compute", "Parquet and Feather", "files")


def read_column(array: Any) -> ReadColumn | None:
    """Return a column (a ChunkedArray); None where it holds lists, bytes or other things that are no cells of a table."""
    pa = load_pyarrow()
    types = pa.types
    if types.is_dictionary(array.type):
        return read_column(array.cast(array.type.value_type))
    if types.is_run_end_encoded(array.type):
        return read_column(load_compute().run_end_decode(array))
    for names, read in READERS:
        if any(getattr(types, name)(array.type) for name in names if hasattr(types, name)):
            return read(array, pa)
    return None


def _read_flags(array: Any, pa: Any) -> ReadColumn:
    if array.null_count:
        return ReadColumn(array.cast(pa.uint8()).cast(pa.float64()).to_numpy(), "flag")
    return ReadColumn(array.to_numpy(), "flag")


def _read_integers(array: Any, pa: Any) -> ReadColumn:
    extent = [end for end in load_compute().min_max(array).as_py().values() if end is not None]
    if array.null_count == 0 and max(extent) <= np.iinfo(np.int64).max:
        return ReadColumn(array.to_numpy().astype(np.int64, copy=False), "integer")
    is_rounded = any(abs(end) > MAX_WHOLE for end in extent)
    return ReadColumn(array.cast(pa.float64(), safe=False).to_numpy(), "integer", is_rounded=is_rounded)


def _read_numbers(array: Any, pa: Any) -> ReadColumn:
    if pa.types.is_float16(array.type):  # which pyarrow before 21 cannot cast
        return ReadColumn(array.to_numpy().astype(np.float64), "number")
    return ReadColumn(array.cast(pa.float64(), safe=False).to_numpy(), "number")


def _read_times(array: Any, pa: Any) -> ReadColumn:
    """Times in nanoseconds, of UTC where they have a zone; text where one of them is too far away for that."""
    unit = _DATE_UNITS.get(str(array.type)) or array.type.unit
    ticks = array.cast(pa.int32()) if unit == "D" else array
    numbers = ticks.cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy()  # what NumPy takes for no time
    times = numbers.view(f"datetime64[{unit}]")
    exact = times.astype(_NANOSECONDS)
    far = np.flatnonzero((exact.astype(times.dtype) != times) & ~np.isnat(times))
    if not far.size:
        return ReadColumn(exact, "time")
    texts = as_objects([None if text == "NaT" else text for text in times.astype(str).tolist()])
    first = tuple(far[:MAX_BAD_CELLS_KEPT].tolist())
    said = f"is outside the years {FIRST_YEAR} to {LAST_YEAR}, which times are limited to"
    return ReadColumn(texts, "text", BadCells("time", first, tuple(texts[list(first)]), far.size, said))


def _read_spans(array: Any, pa: Any) -> ReadColumn:
    """Spans of time in seconds."""
    seconds = array.cast(pa.int64()).cast(pa.float64(), safe=False).to_numpy()
    return ReadColumn(seconds * _SECONDS_PER_UNIT[array.type.unit], "number")


def _read_texts(array: Any, pa: Any) -> ReadColumn:
    """Texts, each of which is kept once."""
    coded = array.cast(pa.large_string()).dictionary_encode()
    parts = []
    for chunk in coded.chunks:
        known = as_objects([*chunk.dictionary.to_pylist(), None])
        parts.append(known[chunk.indices.fill_null(len(known) - 1).to_numpy()])
    return ReadColumn(np.concatenate(parts), "text")


def _read_nothing(array: Any, pa: Any) -> ReadColumn:
    return ReadColumn(np.full(len(array), np.nan), "number")


READERS: tuple[tuple[tuple[str, ...], Callable[[Any, Any], ReadColumn]], ...] = (
    (("is_boolean",), _read_flags),
    (("is_integer",), _read_integers),
    (("is_floating", "is_decimal"), _read_numbers),
    (("is_timestamp", "is_date"), _read_times),
    (("is_duration",), _read_spans),
    (("is_string", "is_large_string", "is_string_view", "is_time"), _read_texts),
    (("is_null",), _read_nothing),
)
"""Readers by the functions of ``pyarrow.types`` that know their types; of a time of day the text is kept."""


def make_array(column: Column, kind: Kind | None = None) -> Any:
    """Return a column as an Arrow array, with nulls where values are missing; ``kind`` None takes that of the type."""
    pa = load_pyarrow()
    values = np.asarray(column)
    if kind in ("integer", "flag") and values.dtype.kind == "f":
        lacking = np.isnan(values)
        whole = np.where(lacking, 0, values)
        if kind == "flag":
            return pa.array(whole.astype(bool), mask=lacking)
        if (np.abs(whole) <= MAX_WHOLE).all():
            return pa.array(whole.astype(np.int64), mask=lacking)
    if values.dtype.kind in "OU":
        return pa.array(values.tolist(), type=pa.string())
    return pa.array(values, from_pandas=True)
