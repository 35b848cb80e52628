"""Where files of published data sets lie, and how they get there.

A loader knows several forms in which its data may lie on disk. Folders are looked through in this order: ``data_home`` and
nothing else, where it is given; else those that the environment variable ``MCGTA_DATA`` names, several of them separated as
in ``PATH``; then pooch's cache. What is found is taken as it is. What is not found is downloaded into ``data_home`` or the
cache, with a short time-out, and compared with its checksum where one is known.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from mcgta.runtime.rules import Rule, check_value

Folder: TypeAlias = str | os.PathLike[str] | None
"""A folder to look in and nowhere else, or None."""

VARIABLE = "MCGTA_DATA"
TIMEOUT = 10  # seconds without an answer


class MissingDataError(FileNotFoundError):
    """The files of a data set are not there, and could not be downloaded."""


@dataclass(frozen=True)
class DataFile:
    """A file of a data set.

    Attributes
    ----------
    names : patterns that it may be found by, relative to a folder; the first names a download
    url : where it can be downloaded, or ""
    checksum : such as "sha256:..." or "md5:...", or None where it is not known
    note : where to get it, if not from ``url``
    """

    names: tuple[str, ...]
    url: str = ""
    checksum: str | None = None
    note: str = ""

    def find(self, folders: Sequence[Path]) -> Path | None:
        """Return the first path that is there, in a folder itself or one level below."""
        for folder in folders:
            for name in self.names:
                for pattern in (name, f"*/{name}"):
                    matches = sorted(path for path in folder.glob(pattern) if path.is_file())
                    if matches:
                        return matches[0]
        return None

    def describe(self) -> str:
        """Say what it is called and where it is to be had."""
        where = self.url or self.note
        return " or ".join(self.names) + (f" ({where})" if where else "")


Forms: TypeAlias = Mapping[str, tuple[DataFile, ...]]
"""Forms of a data set by name, most wanted first; all files of a form are needed."""


def data_folders(data_home: Folder = None) -> list[Path]:
    """Return the folders that are looked through for data, in this order."""
    if data_home is not None:
        if not isinstance(data_home, (str, os.PathLike)):
            raise ValueError(f"data_home={data_home!r} is not allowed: data_home must be the path of a folder, or None")
        return [Path(data_home).expanduser()]
    named = [Path(part).expanduser() for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    cache = cache_folder()
    return named if cache is None else [*named, cache]


def cache_folder() -> Path | None:
    """Return the folder of downloads; None where pooch, which does them, is not installed."""
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("mcgta"))


def locate(name: str, forms: Forms, *, data_home: Folder = None, download: bool = True) -> tuple[str, list[Path]]:
    """Return the first form of which all files are there, and their paths; else download the first that can be had.

    Raises
    ------
    MissingDataError
        It says which files are missing, where to get them, and where to put them.
    """
    check_value("download", download, Rule(flag=True))
    folders = data_folders(data_home)
    for form, files in forms.items():
        paths = [path for file in files if (path := file.find(folders)) is not None]
        if len(paths) == len(files):
            return form, paths
    reasons = [] if download else ["Nothing was downloaded, because download=False."]
    cause: Exception | None = None
    for form, files in forms.items() if download else ():
        if not all(file.url or file.find(folders) for file in files):
            continue
        try:
            return form, [file.find(folders) or fetch(file, data_home=data_home) for file in files]
        except ImportError as error:
            reasons = ["Downloads need pooch: pip install 'mcgta[data]'."]
            cause = error
        except OSError as error:
            reasons.append(f"Downloading {form} failed: {type(error).__name__}: {error}")
            cause = error
    raise MissingDataError(_explain(name, forms, folders, reasons)) from cause


def fetch(file: DataFile, *, data_home: Folder = None) -> Path:
    """Download a file, compare it with its checksum, and return its path."""
    import pooch

    folder = Path(pooch.os_cache("mcgta")) if data_home is None else Path(data_home).expanduser()
    target = folder / file.names[0]
    return Path(
        pooch.retrieve(
            file.url,
            known_hash=file.checksum,
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(timeout=TIMEOUT),
        )
    )


def _explain(name: str, forms: Forms, folders: Sequence[Path], reasons: Sequence[str]) -> str:
    wanted = "\n".join(
        f"  - {form}: {', and '.join(file.describe() for file in files)}" for form, files in forms.items()
    )
    looked = ", ".join(map(str, folders)) or "no folder"
    return "\n".join(
        [
            f"the files of {name!r} are not there. Looked in {looked} for one of",
            wanted,
            f"Put the files of one line into a folder, and name it in the environment variable {VARIABLE} or as data_home.",
            *reasons,
        ]
    )
