"""Small files of published formats, for the tests of the loaders."""

from __future__ import annotations

import zipfile
from pathlib import Path

from mcgta.datasets import DataSet


def write(path: Path, text: str | bytes, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def pack(path: Path, members: dict[str, str] | dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def offline(load, folder, **options) -> DataSet:
    return load(data_home=folder, download=False, **options)
