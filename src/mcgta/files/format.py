"""What a format of files can do: one row of :data:`mcgta.files.by_suffix.FORMATS` each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO

from mcgta.files.problems import need
from mcgta.files.sources import Source
from mcgta.files.table import Column, FileTable

Reader = Callable[[Source], FileTable]
Writer = Callable[[FileTable, IO[bytes], Mapping[str, Column], str], None]


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes
    ----------
    name : what it is called
    suffixes : of paths, in small letters
    read : makes a table of the bytes of a file
    write : writes a table and added columns (name to (N,) array) into an open file, whose path is the last argument
    extra : the extra of this package that installs what it needs; "" for none
    packages : what it needs
    has_points : whether each row has a geometry, so that columns of a place are written as points, too
    """

    name: str
    suffixes: tuple[str, ...]
    read: Reader
    write: Writer
    extra: str = ""
    packages: tuple[str, ...] = ()
    has_points: bool = False

    def check_installed(self) -> None:
        """Raise an ImportError that says what to install, where something is missing."""
        for package in self.packages:
            need(package, f"{self.name} ({self.suffixes[0]})", self.extra)
