"""Data sets in plain files: prepared npz archives, and texts as the paper's authors publish them.

Files are read strictly: what is malformed gives a ValueError that names the file and, in texts, the line.
"""

from __future__ import annotations

import csv
import io
import lzma
import math
import re
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.datasets.cache import DataFile, Forms
from mcgta.datasets.loaded import About, DataSet, assemble
from mcgta.runtime.types import Array, Index

AUTHORS = "https://github.com/Octopolugal/MC-GTA"
_RAW = "https://raw.githubusercontent.com/Octopolugal/MC-GTA"
_COMMIT = "ae579c4ef5308601ab82ba82792e8ce7871def87"
DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, UnicodeDecodeError)
"""What reading a damaged archive may raise; a RuntimeError where it is encrypted or packed in an unknown way."""
PREPARED = "prepared arrays"
TEXTS = "the authors' texts"
_ESCAPED = re.compile("[\udc80-\udcff]")  # what surrogateescape makes of bytes that are no text
_INEXACT = 2.0**53  # from here on, two whole numbers may be read as one


def prepared_file(name: str, arrays: str = "X, y, and coords for places") -> tuple[DataFile, ...]:
    """Return the npz archive of a data set, which holds these arrays."""
    return (DataFile((f"{name}.npz",), note=f"which you make, of arrays {arrays}"),)


def author_texts(
    data: str, labels: str, checksums: tuple[str | None, str | None], *, commit: str = _COMMIT
) -> tuple[DataFile, ...]:
    """Return the two text files of a data set in the authors' repository, as they are in one of its commits."""
    return tuple(
        DataFile((path,), f"{_RAW}/{commit}/data/{path}", None if checksum is None else f"sha256:{checksum}")
        for path, checksum in zip((data, labels), checksums, strict=True)
    )


def plain_forms(name: str, texts: tuple[DataFile, ...] | None = None) -> Forms:
    """Return the plain forms of a data set."""
    return {PREPARED: prepared_file(name)} | ({} if texts is None else {TEXTS: texts})


def read_plain(
    form: str,
    paths: Sequence[Path],
    about: About,
    *,
    n_features: int,
    names: dict[int, str] | None = None,
    latitude_first: bool = False,
) -> DataSet:
    """Read a data set in one of its plain forms.

    Parameters
    ----------
    n_features : columns of features in the authors' texts; where positions are places, the last two columns are
        longitude and latitude
    names : what labels are called
    latitude_first : whether the texts have latitude before longitude
    """
    if form == PREPARED:
        return read_prepared(paths[0], about, names=names)
    table = read_table(paths[0])
    placed = about.metric == "haversine"
    if table.shape[1] < n_features + 2 * placed:
        raise ValueError(f"{paths[0]}: lines have {table.shape[1]} numbers, expected {n_features + 2 * placed} or more")
    labels = read_codes(paths[1])
    if len(labels) != len(table):
        raise ValueError(f"{paths[1]}: there are {len(labels)} labels, but {len(table)} lines in {paths[0]}")
    last = table[:, :-3:-1] if latitude_first else table[:, -2:]
    places = read_places(last, paths[0]) if placed else None
    return assemble(about, table[:, :n_features], labels, positions=places, names=names)


def read_prepared(path: Path, about: About, *, names: dict[int, str] | None = None) -> DataSet:
    """Read arrays ``X``, ``y`` and, for places, ``coords``; ``t`` and ``groups`` if they are there."""
    placed = about.metric == "haversine"
    arrays = read_arrays(path, ("X", "y", "coords") if placed else ("X", "y"))
    X = read_features(arrays["X"], 2, "a table of numbers", path)
    labels = read_labels(arrays["y"], len(X), path)
    times = _read_column("t", arrays["t"], len(X), "iuf", "numbers", path).astype(float) if "t" in arrays else None
    groups = _read_groups(arrays["groups"], len(X), path) if "groups" in arrays else None
    positions: Array | None = None
    if placed:
        positions = read_places(arrays["coords"], path)
        if len(positions) != len(X):
            raise ValueError(f"{path}: coords has {len(positions)} rows, but X has {len(X)}")
    elif times is not None and np.unique(np.diff(times)).size > 1:  # else the order of the rows says the same
        positions = times
    return assemble(about, X, labels, positions=positions, groups=groups, names=names)


def read_features(X: NDArray[np.generic], axes: int, said: str, path: Path) -> Array:
    """Check the array ``X`` of an archive: finite numbers along so many axes, which ``said`` says in words."""
    if X.ndim != axes or not X.size or X.dtype.kind not in "fiu":
        raise ValueError(f"{path}: X must be {said}, is of shape {X.shape} and type {X.dtype}")
    numbers = X.astype(np.float64)
    bad = ~np.isfinite(numbers).all(axis=tuple(range(1, axes)))
    if bad.any():
        raise ValueError(f"{path}: X: row {int(bad.argmax())} has a feature that is not a finite number")
    return numbers


def read_labels(y: NDArray[np.generic], count: int, path: Path) -> list[Any]:
    """Check the array ``y`` of an archive, and return it as a list."""
    return list(_read_column("y", y, count, "biufU", "numbers or texts", path).tolist())


def _read_groups(groups: NDArray[np.generic], count: int, path: Path) -> Index:
    column = _read_column("groups", groups, count, "iuf", "whole numbers", path)
    with np.errstate(invalid="ignore"):  # numbers that are too large are found by the comparison
        codes = column.astype(np.int64)
    bad = codes != column
    if bad.any():
        raise ValueError(f"{path}: groups must be whole numbers, row {int(bad.argmax())} is {column[bad][0]}")
    return codes


def _read_column(
    name: str, column: NDArray[np.generic], count: int, kinds: str, said: str, path: Path
) -> NDArray[np.generic]:
    """Check that an array has one value for each row of X, of one of these kinds, and no number that is not finite."""
    if column.shape != (count,) or column.dtype.kind not in kinds:
        raise ValueError(
            f"{path}: {name} must be {said} of shape ({count},), is of shape {column.shape} and type {column.dtype}"
        )
    bad = ~np.isfinite(column.astype(np.float64)) if column.dtype.kind == "f" else np.zeros(count, dtype=bool)
    if bad.any():
        raise ValueError(f"{path}: {name} must be {said}, row {int(bad.argmax())} is {column[bad][0]}")
    return column


def read_arrays(path: Path, needed: Iterable[str]) -> dict[str, NDArray[np.generic]]:
    """Read an npz archive that holds the needed arrays; nothing in it is unpickled."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, AttributeError, SyntaxError, tokenize.TokenError, *DAMAGED) as error:
        raise ValueError(f"{path} is not an npz archive of plain arrays: {error}") from error
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise ValueError(f"{path} has no array {', '.join(missing)}; it has {', '.join(arrays) or 'none'}")
    return arrays


def read_places(places: NDArray[np.generic], path: Path) -> Array:
    """Check longitudes and latitudes in degrees."""
    if places.ndim != 2 or places.shape[1] != 2 or places.dtype.kind not in "fiu":
        raise ValueError(f"{path}: coordinates must be (N, 2) longitudes and latitudes, are of shape {places.shape}")
    degrees = places.astype(np.float64)
    bad = ~((np.abs(degrees[:, 0]) <= 180) & (np.abs(degrees[:, 1]) <= 90))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"{path}: place {row} is {degrees[row].tolist()}, which is no longitude and latitude")
    return degrees


def read_table(path: Path) -> Array:
    """Read a table of numbers, separated by commas."""
    rows: list[list[float]] = []
    for at, line in numbered_lines(path):
        rows.append([read_number(text, path, at) for text in line.split(",")])
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(f"{path}, line {at}: {len(rows[-1])} numbers, but {len(rows[0])} in the lines before")
    if not rows:
        raise ValueError(f"{path} is empty")
    return np.array(rows)


def read_codes(path: Path) -> Index:
    """Read labels, one whole number a line; 4.0 is 4."""
    codes = []
    for at, line in numbered_lines(path):
        value = read_number(line, path, at)
        if not value.is_integer():
            raise ValueError(f"{path}, line {at}: {line!r} is not a whole number")
        if abs(value) >= _INEXACT:
            raise ValueError(f"{path}, line {at}: {line.strip()[:40]!r} is no label: whole numbers up to 2^53 are")
        codes.append(int(value))
    return np.array(codes, dtype=np.int64)


def read_number(text: str, path: Path | str, line: int) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{path}, line {line}: {text.strip()[:40]!r} is not a finite number")
    return value


def numbered_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Lines of a text that are not blank, with their numbers."""
    with path.open("rb") as file:
        yield from decoded_lines(file, path, encoding)


def decoded_lines(file: Iterable[bytes], path: Path | str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Lines of an open file that are not blank, with their numbers."""
    for at, raw in enumerate(file, start=1):
        try:
            line = raw.decode(encoding).strip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, line {at}: this is no text in {encoding}: {error.reason}") from None
        if at == 1:
            line = line.removeprefix("\ufeff")
        if line.strip():
            yield at, line


def read_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a table with a header, by names in lower case without blanks and underscores, with their lines.

    A zip archive stands for the only csv file in it.
    """
    if path.suffix == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                inside = [name for name in archive.namelist() if name.lower().endswith(".csv")]
                if len(inside) != 1:
                    raise ValueError(f"{path} must hold one csv file, holds {len(inside)}")
                with archive.open(inside[0]) as file:
                    packed = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
                    yield from _csv_rows(packed, path)
        except DAMAGED as error:
            raise ValueError(f"{path} is not a whole zip archive: {error}") from error
    else:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
            yield from _csv_rows(text, path)


def _csv_rows(text: Iterable[str], path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(_checked_lines(text, path))
    try:
        header = [name.strip().lower().replace(" ", "").replace("_", "") for name in next(reader, [])]
        for name in header:
            if header.count(name) > 1:
                raise ValueError(f"{path}, line {reader.line_num}: {header.count(name)} columns are called {name!r}")
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise ValueError(f"{path}, line {reader.line_num}: {len(row)} fields, but {len(header)} in the header")
            yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from error


def _checked_lines(text: Iterable[str], path: Path) -> Iterator[str]:
    """Refuse bytes that are no text in their own line: many lines are decoded at once, which lets them through."""
    for at, line in enumerate(text, start=1):
        if _ESCAPED.search(line):
            raise ValueError(f"{path}, line {at}: this is no text in utf-8")
        yield line
