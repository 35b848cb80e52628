"""Files are read and written by the suffix of their path."""

from __future__ import annotations

import difflib
import errno
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from mcgta.files import delimited_format, npz
from mcgta.files.arrow import feather, parquet
from mcgta.files.delimited.reading import TextOrigin, read_delimited
from mcgta.files.format import Format
from mcgta.files.geo import geojson, geopackage
from mcgta.files.h5ad import reading as h5ad
from mcgta.files.problems import UnknownFormat
from mcgta.files.sources import STANDARD, Source
from mcgta.files.table import Column, FileTable, check_added
from mcgta.runtime.replacing import replacing

FORMATS: tuple[Format, ...] = (
    delimited_format.FORMAT,
    npz.FORMAT,
    parquet.FORMAT,
    feather.FORMAT,
    geojson.FORMAT,
    geopackage.FORMAT,
    h5ad.FORMAT,
)
"""All formats."""


def read_file(path: str | os.PathLike[str], *, encoding: str | None = None) -> FileTable:
    """Read a table from a file.

    Parameters
    ----------
    path : of the file, whose suffix says the format; "-" is standard input, which holds CSV, as do pipes without a suffix
    encoding : of delimited text; None for UTF-8

    Raises
    ------
    FileProblem
        where the file cannot be used, with the line and the column
    ImportError
        where the format needs a package that is not installed, with the way to install it
    """
    path = os.fspath(path)
    found = delimited_format.FORMAT if path == STANDARD or _is_nameless_pipe(path) else format_of(path)
    if encoding is not None and found is not delimited_format.FORMAT:
        raise ValueError(f"encoding={encoding!r} has no effect on {found.name}, which knows its own")
    found.check_installed()
    if path != STANDARD and os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    source = Source(path)
    return found.read(source) if encoding is None else read_delimited(source, encoding=encoding)


def write_file(
    table: FileTable, path: str | os.PathLike[str], added: Mapping[str, Column], *, force: bool = False
) -> None:
    """Write the columns of a table as they were read, and the added ones behind them.

    Parameters
    ----------
    table : what was read
    path : of the file to write, whose suffix says the format; "-" is standard output, as CSV
    added : (N,) arrays by the names of their columns
    force : whether a file that is there is replaced

    Raises
    ------
    FileExistsError
        where the file is there, and ``force`` is false
    FileProblem
        where the table's own file has changed since it was read, or has a column of an added name
    """
    path = os.fspath(path)
    check_added(table, added)
    if path == STANDARD:
        if isinstance(table.origin, TextOrigin):
            table.origin.source.verify()  # what has been printed cannot be taken back
        delimited_format.FORMAT.write(table, sys.stdout.buffer, added, path)
        sys.stdout.buffer.flush()
        return
    check_target(path, force=force)
    with replacing(path) as file:
        format_of(path).write(table, file, added, path)


def check_target(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Refuse a path that a table cannot be written to, before any work is done.

    Raises
    ------
    UnknownFormat
        for a suffix that stands for no format
    ImportError
        where the format needs a package that is not installed
    FileExistsError
        where the file is there, and ``force`` is false
    OSError
        where its folder is not there
    """
    path = os.fspath(path)
    if path == STANDARD:
        return
    format_of(path).check_installed()
    folder = Path(path).parent
    if not folder.is_dir():
        number = errno.ENOTDIR if folder.exists() else errno.ENOENT
        raise OSError(number, os.strerror(number), str(folder))
    if os.path.lexists(path) and not force:
        raise FileExistsError(errno.EEXIST, "is there already, and is replaced by force only", path)


def wants_points(path: str | os.PathLike[str]) -> bool:
    """Whether the rows of a file of this path have geometries, so that columns of a place are to be points."""
    return os.fspath(path) != STANDARD and format_of(path).has_points


def format_of(path: str | os.PathLike[str]) -> Format:
    """Return the format that the suffix of a path stands for."""
    name = Path(path).name.lower()
    for found in FORMATS:
        if name.endswith(found.suffixes):
            return found
    known = [suffix for found in FORMATS for suffix in found.suffixes]
    suffix = Path(name).suffix
    if not suffix:
        raise UnknownFormat(f"{path}: a suffix must say the format: {', '.join(known)}")
    near = difflib.get_close_matches(suffix, known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UnknownFormat(f"{path}: {suffix} is no known format, which are {', '.join(known)}{hint}")


def _is_nameless_pipe(path: str) -> bool:
    """Whether a path is a pipe such as /dev/stdin or /dev/fd/3."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not Path(path).suffix and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or path == "/dev/stdin")
