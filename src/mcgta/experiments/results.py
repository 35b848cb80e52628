"""The file of results: one JSON object a line, one line a cell, added when the cell is done.

A line is written whole or, if the process is killed meanwhile, torn; then it is the last one, and is taken away before the next
is added. Of lines with the same key the last counts, so a cell that is run again need not be found and replaced.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from mcgta.experiments.cells import STATUSES

Record = dict[str, Any]

_NAMES = ("key", "table", "data", "method", "setting", "status", "note")
"""What a record must have, each a text, to be shown and not to be run again."""
_SCORES = ("ari", "ami", "nmi")
"""What it must have, each a number or null."""


def read_records(file: str | os.PathLike[str]) -> list[Record]:
    """Return the records of a file, the last of each key, in the order in which keys first came; [] where there is no file.

    A torn last line is passed over. Any other line that is no record is an error, which says where it is.
    """
    whole, _ = _split(Path(file))
    found: dict[str, Record] = {}
    for number, line in enumerate(whole.decode("utf-8", errors="replace").split("\n"), start=1):
        if line.strip():
            record = _parse(line)
            if record is None:
                raise ValueError(
                    f"{file}, line {number} is no result of a benchmark: {line[:60]!r}; take the line away, or "
                    "give another folder"
                )
            found[record["key"]] = record
    return list(found.values())


def repair(file: str | os.PathLike[str]) -> None:
    """Have the file end with a whole line: finish a last line that lacks its end only, take away one that is torn."""
    whole, rest = _split(Path(file))
    if not rest:
        return
    with open(file, "r+b") as opened:
        opened.truncate(len(whole))
        if _parse(rest.decode("utf-8", errors="replace")) is not None:
            opened.seek(0, os.SEEK_END)
            opened.write(rest + b"\n")


def add_record(file: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """Add a line to the file, in one write."""
    line = (json.dumps(plain(record), allow_nan=False) + "\n").encode()
    with open(file, "ab", buffering=0) as opened:
        if opened.write(line) != len(line):
            raise OSError(f"{file} could not be written to: is there space left?")


def plain(value: Any) -> Any:
    """Return the value as JSON can hold it; numbers that it has no form for, and other objects, as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


def _split(file: Path) -> tuple[bytes, bytes]:
    """Return the lines that have an end, and what comes after them."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return b"", b""
    end = content.rfind(b"\n") + 1
    return content[:end], content[end:]


def _parse(line: str) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or not all(isinstance(record.get(name), str) for name in _NAMES):
        return None
    whole = record["status"] in STATUSES and isinstance(record.get("seed"), int)
    return (
        record if whole and all(isinstance(record.get(name, ""), (int, float, NoneType)) for name in _SCORES) else None
    )
