"""Elements of AnnData's files: columns, matrices and frames, as its specification has them.

See https://anndata.readthedocs.io/en/latest/fileformat-prose.html. Only h5py is needed for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.files.problems import FileProblem, need
from mcgta.files.table import MAX_WHOLE, Column, Kind, ReadColumn, as_objects
from mcgta.runtime.types import Array, Mask

ENCODING = "encoding-type"
VERSION = "encoding-version"
INDEX = "_index"
ORDER = "column-order"

_KINDS: dict[str, Kind] = {"b": "flag", "i": "integer", "u": "integer", "f": "number"}
_MASKED = ("nullable-integer", "nullable-boolean", "nullable-string-array")
_POINTER_BYTES = 16  # of a text in memory, at the least


def load_h5py() -> Any:
    """Return h5py."""
    return need("h5py", "h5ad", "omics")


def size_of(item: Any) -> int:
    """Return the bytes that a data set, or all data sets of a group, take in memory."""
    if hasattr(item, "dtype"):
        return int(item.size) * max(item.dtype.itemsize, _POINTER_BYTES if item.dtype.kind == "O" else 1)
    return sum(size_of(part) for part in item.values())


def frame_index(frame: Any) -> Column:
    """Return the names of the rows of a frame."""
    return _read_array(frame[frame.attrs[INDEX]])


def read_element(item: Any) -> ReadColumn | None:
    """Return a column of a frame; None where it is of no known kind."""
    encoding = item.attrs.get(ENCODING, "")
    if encoding == "categorical":
        return _read_categories(_read_array(item["codes"]), _read_array(item["categories"]))
    if encoding in _MASKED:
        return _make_column(_read_array(item["values"]), _read_array(item["mask"]).astype(bool))
    if not hasattr(item, "dtype"):
        return None
    if "categories" in item.attrs:  # of files before 2021
        return _read_categories(_read_array(item), _read_array(item.file[item.attrs["categories"]]))
    return _make_column(_read_array(item), None)


def _read_array(item: Any) -> Column:
    if load_h5py().check_string_dtype(item.dtype) is None:
        return np.asarray(item[...])
    return as_objects(item.asstr()[...].tolist())


def _read_categories(codes: Column, categories: Column) -> ReadColumn | None:
    lacking = codes < 0
    if not categories.size:
        return ReadColumn(np.full(codes.size, np.nan), "number")
    return _make_column(categories[np.where(lacking, 0, codes)], lacking)


def _make_column(values: Column, lacking: Mask | None) -> ReadColumn | None:
    """Return values as a column of a table, with those that are ``lacking`` as missing."""
    if values.ndim != 1:
        return None
    some = lacking is not None and bool(lacking.any())
    if values.dtype.kind == "O":
        texts = values.copy()
        if some:
            texts[lacking] = None
        return ReadColumn(texts, "text")
    if values.dtype.kind not in _KINDS:
        return None
    kind = _KINDS[values.dtype.kind]
    if kind == "number" or some:
        numbers = values.astype(np.float64)
        is_rounded = kind == "integer" and bool((np.abs(numbers) > MAX_WHOLE).any())
        if some:
            numbers[lacking] = np.nan
        return ReadColumn(numbers, kind, is_rounded=is_rounded)
    if kind == "integer" and int(values.max(initial=0)) > np.iinfo(np.int64).max:
        return ReadColumn(values.astype(np.float64), kind, is_rounded=True)
    return ReadColumn(values if kind == "flag" else values.astype(np.int64), kind)


def matrix_shape(item: Any) -> tuple[int, ...]:
    """Return the shape of a dense or a sparse matrix."""
    return tuple(int(length) for length in (item.shape if hasattr(item, "dtype") else item.attrs["shape"]))


def read_matrix(item: Any, where: str) -> Array:
    """Return a dense or a sparse matrix as a dense one; ``where`` names it in messages."""
    if hasattr(item, "dtype"):
        return np.asarray(item[...], dtype=np.float64)
    encoding = item.attrs.get(ENCODING, item.attrs.get("h5sparse_format", ""))
    by_row = str(encoding).startswith("csr")
    if not by_row and not str(encoding).startswith("csc"):
        raise FileProblem(f"{where} is encoded as {encoding!r}, which is no matrix")
    indptr = np.asarray(item["indptr"][...], dtype=np.int64)
    indices = np.asarray(item["indices"][...], dtype=np.int64)
    data = np.asarray(item["data"][...], dtype=np.float64)
    shape = matrix_shape(item)
    n_major, n_minor = shape if by_row else shape[::-1]
    lengths = np.diff(indptr)
    fits = len(indptr) == n_major + 1 and (lengths >= 0).all() and lengths.sum() == len(indices) == len(data)
    if not fits or (indices.size and not 0 <= indices.min() <= indices.max() < n_minor):
        raise FileProblem(f"{where}: its sparse matrix is damaged")
    dense = np.zeros((n_major, n_minor))
    np.add.at(dense, (np.repeat(np.arange(n_major), lengths), indices), data)
    return dense if by_row else np.ascontiguousarray(dense.T)


def write_array(group: Any, name: str, values: Column) -> None:
    """Write numbers, flags or texts; texts must not be missing."""
    values = np.asarray(values)
    if values.dtype.kind in "OU":
        item = group.create_dataset(name, data=values.astype(object), dtype=load_h5py().string_dtype())
        _mark(item, "string-array", "0.2.0")
    else:
        _mark(group.create_dataset(name, data=values), "array", "0.2.0")


def write_categories(group: Any, name: str, codes: Column, categories: list[str]) -> None:
    """Write a column of categories; the code -1 stands for a missing one."""
    item = group.create_group(name)
    _mark(item, "categorical", "0.2.0")
    item.attrs["ordered"] = False
    write_array(item, "codes", codes.astype(np.int64 if len(categories) > np.iinfo(np.int16).max else np.int16))
    write_array(item, "categories", as_objects(categories))


def make_group(group: Any, name: str) -> Any:
    """Return a group of named elements, which is made where it is not there."""
    if name in group:
        return group[name]
    made = group.create_group(name)
    _mark(made, "dict", "0.1.0")
    return made


def make_frame(group: Any, name: str, index: Column) -> Any:
    """Make a frame without columns."""
    frame = group.create_group(name)
    _mark(frame, "dataframe", "0.2.0")
    frame.attrs[INDEX] = INDEX
    set_order(frame, [])
    write_array(frame, INDEX, index)
    return frame


def set_order(frame: Any, names: list[str]) -> None:
    """Set the order of the columns of a frame."""
    frame.attrs.create(ORDER, np.array(names, dtype=object), dtype=load_h5py().string_dtype(), shape=(len(names),))


def mark_root(file: Any) -> None:
    """Mark a file as one of AnnData."""
    _mark(file, "anndata", "0.1.0")


def _mark(item: Any, encoding: str, version: str) -> None:
    item.attrs[ENCODING] = encoding
    item.attrs[VERSION] = version
