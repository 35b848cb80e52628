"""The file of results: one JSON object a line, one line a cell, added when the cell is done.

A line is written whole or, if the process is killed meanwhile, torn; then it is the last one, and is taken away before the next
is added. Of lines with the same key the last counts, so a cell that is run again need not be found and replaced.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paper.running.cells import SETTINGS, STATUSES

Record = dict[str, Any]

_MAX_SHOWN = 60  # characters of a value that is refused
_MAX_VALUE = 1e18  # more than any score, size or time; means of such numbers are finite
_MAX_CAP = sys.float_info.max


@dataclass(frozen=True)
class _Field:
    """What a field of a record may be.

    Attributes
    ----------
    said : what is allowed, in words
    allows : whether a value is
    needed : whether the field must be there
    """

    said: str
    allows: Callable[[Any], bool]
    needed: bool = False


def _text(*, needed: bool = True) -> _Field:
    return _Field("a text", lambda value: isinstance(value, str), needed)


def _choice(values: Sequence[str]) -> _Field:
    return _Field(f"one of {', '.join(map(repr, values))}", lambda value: value in values, needed=True)


def _number(
    least: float = -_MAX_VALUE,
    most: float = _MAX_VALUE,
    *,
    whole: bool = False,
    null: bool = True,
    needed: bool = False,
) -> _Field:
    def allows(value: Any) -> bool:
        if value is None:
            return null
        right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        return right and least <= value <= most  # which nan is not

    kind = "an integer" if whole else "a number"
    return _Field(f"{kind} from {least:g} to {most:g}{' or null' * null}", allows, needed)


def _object() -> _Field:
    return _Field("an object or null", lambda value: value is None or isinstance(value, dict))


_SCORES = ("ari", "ami", "nmi")
_FIELDS: dict[str, _Field] = {
    **dict.fromkeys(("key", "table", "data", "method", "note"), _text()),
    "setting": _choice(SETTINGS),
    "status": _choice(STATUSES),
    "seed": _number(0, whole=True, null=False, needed=True),
    **dict.fromkeys(_SCORES, _number(needed=True)),
    **dict.fromkeys(("ari_singletons", "ari_left_out"), _number()),
    "noise": _number(0, 100),
    **dict.fromkeys(("clusters", "true_clusters", "n", "d", "tried"), _number(0, whole=True)),
    **dict.fromkeys(("seconds", "total", "wall", "peak", "peak_before"), _number(0)),
    "params": _object(),
    "caps": _object(),
    "caps.seconds": _number(0, _MAX_CAP, null=False),
    "caps.memory": _number(0, _MAX_CAP),
    "code": _text(needed=False),
}
"""What a record may hold, by name, with a dot what is within another field, which comes before; other fields are free."""


def read_records(file: str | os.PathLike[str]) -> list[Record]:
    """Return the records of a file, the last of each key, in the order in which keys first came; [] where there is no file.

    A torn last line is passed over. Any other line that is no record is an error, which says where it is.
    """
    whole, _ = _split(Path(file))
    records: dict[str, Record] = {}
    for number, line in enumerate(whole.decode("utf-8", errors="replace").split("\n"), start=1):
        if line.strip():
            try:
                record = _parse(line)
            except ValueError as error:
                raise ValueError(
                    f"{file}, line {number} is no result of a benchmark: {error}; take the line away, or give another "
                    "folder"
                ) from error
            records[record["key"]] = record
    return list(records.values())


def repair(file: str | os.PathLike[str]) -> None:
    """Have the file end with a whole line: finish a last line that lacks its end only, take away one that is torn."""
    whole, rest = _split(Path(file))
    if not rest:
        return
    with open(file, "r+b") as opened:
        opened.truncate(len(whole))
        with suppress(ValueError):
            _parse(rest.decode("utf-8", errors="replace"))
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


def _parse(line: str) -> Record:
    """Return the record of a line, or say what is wrong with it: the field, its value and what is allowed."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise ValueError(f"{_cut(line)} is no JSON object")
    for name, field in _FIELDS.items():
        outer, _, inner = name.rpartition(".")
        holder = (record[outer] if record.get(outer) else {}) if outer else record
        if inner in holder and not field.allows(holder[inner]):
            raise ValueError(f"{name}={_cut(holder[inner])} is not allowed: {name} must be {field.said}")
        if inner not in holder and field.needed:
            raise ValueError(f"{name} is missing: {name} must be {field.said}")
    for name in _SCORES:
        if (record[name] is None) != (record["ari"] is None):
            raise ValueError(
                f"{name}={record[name]!r} is not allowed where ari={record['ari']!r}: either all of "
                f"{', '.join(_SCORES)} must be numbers, or none"
            )
    return record


def _cut(value: Any) -> str:
    """The beginning of a value, as a message shows it."""
    said = repr(value)
    return said if len(said) <= _MAX_SHOWN else f"{said[:_MAX_SHOWN]}..."
