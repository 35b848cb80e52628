"""The bytes of a file, a pipe or standard input: read as often as is needed, and known by their SHA-256."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mcgta.files.problems import FileProblem

STANDARD = "-"
"""The path of standard input and output."""
BLOCK_BYTES = 2**20
GZIP_MAGIC = b"\x1f\x8b"


class _Hashing(io.RawIOBase):
    """The bytes of an open file, which are counted into a hash as they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self.file.read(len(buffer))
        self.hash.update(block)
        buffer[: len(block)] = block
        return len(block)


class Source:
    """The bytes of a path.

    A pipe, standard input included, can be read only once. So its bytes are kept in a temporary file, which is removed with
    this object.

    Attributes
    ----------
    name : of the file, without its folder
    path : as the user gave it
    sha256 : of the bytes, once they have been read to the end; "" before
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = STANDARD if self.path == STANDARD else Path(self.path).name
        self.sha256 = ""
        self._kept: IO[bytes] | None = None
        if self.path == STANDARD:
            self._keep(sys.stdin.buffer)
        elif stat.S_ISFIFO(os.stat(self.path).st_mode):
            with open(self.path, "rb") as pipe:
                self._keep(pipe)

    def _keep(self, pipe: IO[bytes]) -> None:
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115  # closed by the finalizer
        weakref.finalize(self, self._kept.close)
        while block := pipe.read(BLOCK_BYTES):
            self._kept.write(block)

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the bytes, unpacked where they are packed by gzip.

        Once they have been read to the end, their hash is known; later they must be the same.
        """
        with self._raw() as file:
            hashing = _Hashing(file)
            plain = io.BufferedReader(hashing, BLOCK_BYTES)
            packed = plain.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
            try:
                if packed:
                    with gzip.GzipFile(fileobj=plain) as unpacked:
                        yield unpacked  # type: ignore[misc]  # reads bytes as any file does
                else:
                    yield plain
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise FileProblem(f"{self.name}: packed by gzip, but damaged or cut short ({error})") from error
            while plain.read(BLOCK_BYTES):
                pass
            self._check(hashing.hash.hexdigest())

    def verify(self) -> None:
        """Refuse a file that has changed since it was read."""
        with self.opened():
            pass

    @contextmanager
    def seekable(self) -> Iterator[IO[bytes]]:
        """Open the bytes as they are, for formats that are not read in order, after their hash has been found."""
        self.verify()
        with self._raw() as file:
            yield file

    @contextmanager
    def copied(self, suffix: str) -> Iterator[Path]:
        """Copy the bytes into a temporary file, for libraries that want a path or change what they are given."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"copy{suffix}")
            with self.seekable() as file, open(path, "wb") as copy:
                shutil.copyfileobj(file, copy, BLOCK_BYTES)
            yield path

    @contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        if self._kept is not None:
            self._kept.seek(0)
            yield self._kept
            return
        with open(self.path, "rb", buffering=0) as file:
            yield file

    def _check(self, sha256: str) -> None:
        if self.sha256 and sha256 != self.sha256:
            raise FileProblem(f"{self.name} has changed since it was read; run the command again")
        self.sha256 = sha256


@contextmanager
def scratch(file: IO[bytes], suffix: str) -> Iterator[Path]:
    """Give a path to a library that cannot write into an open file, and copy what it has written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{suffix}")
        yield path
        with open(path, "rb") as written:
            shutil.copyfileobj(written, file, BLOCK_BYTES)
