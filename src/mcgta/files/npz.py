"""NPZ: archives of NumPy arrays, either a table X with its positions, or one array a column."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from mcgta.files.format import Format
from mcgta.files.problems import FileProblem, explaining
from mcgta.files.sources import Source
from mcgta.files.table import Column, FileTable, Kind, Roles
from mcgta.runtime.memory import budget
from mcgta.runtime.sizes import say_size

MAX_ARRAYS = 10_000
_ROLE_ARRAYS = ("positions", "coords", "t", "groups")
_KINDS: dict[str, Kind] = {"b": "flag", "i": "integer", "u": "integer", "f": "number", "M": "time", "U": "text"}
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
    EOFError,
    OSError,
    RuntimeError,
    SyntaxError,
    UnicodeError,
    ValueError,
)
_WRITTEN_AT = (1980, 1, 1, 0, 0, 0)  # the first time that a zip archive knows: equal arrays give equal bytes


@dataclass(frozen=True, eq=False)
class NpzOrigin:
    """The arrays of an archive, as they were read."""

    arrays: dict[str, NDArray[Any]]


def read_npz(source: Source) -> FileTable:
    """Read an archive of arrays.

    An array ``X`` (N, d) holds the features, which ``names`` (d,) may name. ``positions`` or ``coords``, (N,) or (N, p), ``t``
    (N,) and ``groups`` (N,) say where they are. Without ``X`` each array (N,) is a column. Nothing is unpickled.
    """
    with source.seekable() as file, explaining(source.name, "an archive of plain arrays", _DAMAGED):
        arrays = _read_arrays(file, source.name)
    n_rows = _count_rows(arrays, source.name)
    columns, roles, notes = _split(arrays, n_rows, source.name)
    return FileTable(
        name=source.name,
        format="NPZ",
        n_rows=n_rows,
        columns={name: _as_column(column, name, source.name) for name, column in columns.items()},
        kinds={name: _KINDS[column.dtype.kind] for name, column in columns.items()},
        sha256=source.sha256,
        origin=NpzOrigin(arrays),
        notes=notes,
        declared=roles,
    )


def write_npz(table: FileTable, file: IO[bytes], added: Mapping[str, Column], path: str) -> None:
    """Write the arrays that were read, or one for each column, and the added ones."""
    arrays: dict[str, Any]
    if isinstance(table.origin, NpzOrigin):
        arrays = dict(table.origin.arrays)
    else:
        points = table.geometry
        arrays = {} if points is None else {"coords": np.column_stack([points.x, points.y])}
        arrays |= table.columns
    for name in added:
        if name in arrays:
            raise FileProblem(f"{table.name} has an array {name!r} already; rename it, or leave it out of the file")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in {**arrays, **added}.items():
            member = zipfile.ZipInfo(f"{name}.npy", _WRITTEN_AT)
            with archive.open(member, "w", force_zip64=True) as out:
                npy.write_array(out, _plain(np.asarray(array)), allow_pickle=False)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return text as an array that needs no pickle; missing text is empty."""
    if array.dtype.kind != "O":
        return array
    return np.array(["" if item is None else str(item) for item in array.tolist()], dtype=np.str_)


def _read_arrays(file: IO[bytes], name: str) -> dict[str, NDArray[Any]]:
    """Read all arrays, after their sizes have been found to be as the archive says, and to fit into memory."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > MAX_ARRAYS:
            raise FileProblem(f"{name}: {len(members)} arrays, more than {MAX_ARRAYS}")
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) < len(names):
            raise FileProblem(f"{name}: two arrays have the same name")
        room = budget()
        size = sum(member.file_size for member in members)
        if room is not None and size > room:
            raise FileProblem(f"{name}: its arrays take {say_size(size)}, of which {say_size(room)} may be used")
        return {key: _read_array(archive, member, name) for key, member in zip(names, members, strict=True)}


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    """Read an array whose header promises what the archive holds."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        if version not in headers:
            raise FileProblem(f"{name}: array {member.filename}: version {version} of the format is not known")
        shape, _, dtype = headers[version](file)
        if dtype.hasobject or dtype.kind not in _KINDS:
            kinds = "numbers, flags, times or text"
            raise FileProblem(f"{name}: array {member.filename} holds {dtype}; arrays must hold {kinds}")
        if math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
            raise FileProblem(f"{name}: array {member.filename} is not as long as it says")
    with archive.open(member) as file:
        return np.asarray(npy.read_array(file, allow_pickle=False))


def _count_rows(arrays: Mapping[str, NDArray[Any]], name: str) -> int:
    if "X" in arrays:
        if arrays["X"].ndim not in (1, 2):
            raise FileProblem(f"{name}: X must be of shape (N, d), is of shape {arrays['X'].shape}")
        count = len(arrays["X"])
    else:
        lengths = sorted({len(array) for array in arrays.values() if array.ndim == 1})
        if len(lengths) != 1:
            said = ", ".join(f"{key} {array.shape}" for key, array in arrays.items()) or "none"
            raise FileProblem(
                f"{name}: there must be an array X (N, d), or arrays of one length, one a column; has {said}"
            )
        count = lengths[0]
    if count == 0:
        raise FileProblem(f"{name}: the arrays have no row")
    return count


def _split(
    arrays: Mapping[str, NDArray[Any]], n_rows: int, name: str
) -> tuple[dict[str, Column], Roles, tuple[str, ...]]:
    """Return the columns of all arrays, the roles that their names give to them, and notes on those that are no columns."""
    columns: dict[str, Column] = {}
    parts: dict[str, tuple[str, ...]] = {}
    notes = []
    for key, array in arrays.items():
        if key == "names" and "X" in arrays:
            continue
        if array.ndim not in (1, 2) or len(array) != n_rows:
            if key in _ROLE_ARRAYS and "X" in arrays:
                raise FileProblem(f"{name}: {key} must have {n_rows} rows as X has, is of shape {array.shape}")
            notes.append(f"array {key} of shape {array.shape} is no column of {n_rows} rows")
            continue
        wide = array.reshape(n_rows, -1)
        parts[key] = (key,) if array.ndim == 1 and key != "X" else _part_names(key, wide.shape[1], arrays, name)
        for k, part in enumerate(parts[key]):
            if part in columns:
                raise FileProblem(f"{name}: two columns are called {part!r}; see array {key}")
            columns[part] = wide[:, k]
    return columns, _roles(parts), tuple(notes)


def _part_names(key: str, width: int, arrays: Mapping[str, NDArray[Any]], name: str) -> tuple[str, ...]:
    """Return names for the columns of an array of two axes."""
    if key != "X":
        return tuple(f"{key}_{k}" for k in range(width))
    if "names" not in arrays:
        return tuple(f"x{k}" for k in range(width))
    names = arrays["names"]
    if names.shape != (width,) or names.dtype.kind != "U" or len(set(names.tolist())) < width:
        raise FileProblem(
            f"{name}: names must hold {width} different texts, one for each column of X, is of shape {names.shape} and type "
            f"{names.dtype}"
        )
    return tuple(names.tolist())


def _roles(parts: Mapping[str, tuple[str, ...]]) -> Roles:
    """Return the roles that arrays have by their names, where there is an X."""
    if "X" not in parts:
        return Roles()
    places = next((parts[key] for key in ("positions", "coords") if key in parts), ())
    is_time = len(places) == 1 and "t" not in parts
    return Roles(
        time=places if is_time else parts.get("t", ()),
        position=() if is_time else places,
        group=parts["groups"][0] if len(parts.get("groups", ())) == 1 else None,
        features=parts["X"],
    )


def _as_column(array: Column, column: str, name: str) -> Column:
    """Return an array as a column of a table has it."""
    kind = array.dtype.kind
    if kind == "U":
        texts = np.empty(len(array), dtype=object)
        texts[:] = [text or None for text in array.tolist()]
        return texts
    if kind == "M":
        times = array.astype("datetime64[ns]")
        wrapped = np.flatnonzero((times.astype(array.dtype) != array) & ~np.isnat(array))
        if wrapped.size:
            raise FileProblem(
                f"{name}: row {wrapped[0]}, column {column}: {array[wrapped[0]]} is out of reach of nanoseconds"
            )
        return times
    if kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        return array.astype(np.float64)
    return array.astype({"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}[kind])


FORMAT = Format(name="NPZ", suffixes=(".npz",), read=read_npz, write=write_npz)
