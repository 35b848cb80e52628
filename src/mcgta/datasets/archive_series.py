"""Records of the UEA and UCR archive of time series: .ts and .arff files, unpacked or in their zip."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mcgta.datasets.plain_files import DAMAGED, decoded_lines, read_number
from mcgta.runtime.types import Array

SITE = "https://timeseriesclassification.com"


@dataclass(frozen=True, eq=False)
class Record:
    """One labelled series.

    Attributes
    ----------
    values : (length, channels)
    label : its class as the file writes it, in the header where it declares classes
    where : file and line, for error messages
    """

    values: Array
    label: str
    where: str


@dataclass(frozen=True)
class _Header:
    """What a file declares of its records; None where it does not say.

    Attributes
    ----------
    labels : the classes
    univariate : whether records have one channel, or several
    channels : how many they have
    """

    labels: tuple[str, ...] | None = None
    univariate: bool | None = None
    channels: float | None = None

    def check(self, record: Record) -> Record:
        """Return a record with its class as it is declared; refuse one that is not as declared, such as one cut off."""
        count = record.values.shape[1]
        if self.channels not in (None, count):
            raise ValueError(f"{record.where}: {count} channels, but the header declares {self.channels:g}")
        if self.univariate not in (None, count == 1):
            declared = "one" if self.univariate else "several"
            raise ValueError(f"{record.where}: {count} channels, but the header declares {declared}")
        if self.labels is None or record.label in self.labels:
            return record
        same = [label for label in self.labels if _compared(label) == _compared(record.label)]
        if not same:
            raise ValueError(
                f"{record.where}: the class is {record.label[:40]!r}, but the header declares {', '.join(self.labels)[:200]}"
            )
        return replace(record, label=same[0])


def _compared(label: str) -> str | float:
    """Return what classes are compared by: letters of either case are the same, and 1.0 is 1."""
    try:
        value = float(label)
    except ValueError:
        value = math.nan
    return value if math.isfinite(value) else label.lower()


def read_records(path: Path, problem: str, split: str) -> list[Record]:
    """Read the records of one split, "TRAIN" or "TEST", from a .ts or .arff file or from a zip that holds one."""
    if path.suffix != ".zip":
        with path.open("rb") as file:
            return _parse(file, str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            members = {Path(name).name: name for name in archive.namelist()}
            for ending in ("ts", "arff"):
                name = f"{problem}_{split}.{ending}"
                if name in members:
                    with archive.open(members[name]) as file:
                        return _parse(file, f"{path}:{name}")
    except DAMAGED as error:
        raise ValueError(f"{path} is not a whole zip archive: {error}") from error
    raise ValueError(f"{path} holds neither {problem}_{split}.ts nor {problem}_{split}.arff")


def _parse(file: Iterable[bytes], name: str) -> list[Record]:
    arff = name.endswith(".arff")
    lines = ((at, line) for at, line in decoded_lines(file, name) if not line.lstrip().startswith(("%", "#")))
    header = _read_header(lines, name, arff=arff)
    read = _arff_record if arff else _ts_record
    records = [header.check(read(line.strip(), name, at)) for at, line in lines]
    if not records:
        raise ValueError(f"{name} has no records after @data")
    channels = records[0].values.shape[1]
    for record in records:
        if record.values.shape[1] != channels:
            raise ValueError(f"{record.where}: {record.values.shape[1]} channels, but {channels} in the first record")
    return records


def _read_header(lines: Iterator[tuple[int, str]], name: str, *, arff: bool) -> _Header:
    """Read up to and including @data."""
    header = _Header()
    for at, line in lines:
        tag, *words = line.split()
        tag = tag.lower()
        if tag == "@data":
            return header
        if not tag.startswith("@"):
            raise ValueError(f"{name}, line {at}: {line[:40]!r} stands before @data")
        header = _declare_arff(header, tag, line) if arff else _declare_ts(header, tag, words, name, at)
    raise ValueError(f"{name} has no @data line")


def _declare_arff(header: _Header, tag: str, line: str) -> _Header:
    """Add what a line says; classes are the values, in braces, of the last attribute."""
    if tag != "@attribute":
        return header
    listed = line.strip().endswith("}") and line.partition("{")[2].strip().removesuffix("}")
    return replace(header, labels=tuple(map(_bare, listed.split(","))) if listed else None)


def _declare_ts(header: _Header, tag: str, words: list[str], name: str, at: int) -> _Header:
    """Add what a line says."""
    flag = words[0].lower() if words else ""
    if tag == "@timestamps" and flag == "true":
        raise ValueError(f"{name}, line {at}: records with time stamps are not supported")
    if tag == "@classlabel" and flag == "false":
        raise ValueError(f"{name}, line {at}: the records have no class labels")
    if tag == "@classlabel" and words[1:]:
        return replace(header, labels=tuple(map(_bare, words[1:])))
    if tag == "@univariate" and flag in ("true", "false"):
        return replace(header, univariate=flag == "true")
    if tag in ("@dimension", "@dimensions") and words:
        return replace(header, channels=read_number(words[0], name, at))
    return header


def _bare(label: str) -> str:
    """Return a class without blanks and quotes around it."""
    return label.strip().strip("'\"")


def _ts_record(line: str, name: str, at: int) -> Record:
    """Read channels, separated by colons, and the class after the last of them."""
    *channels, label = line.split(":")
    if not channels or not label.strip():
        raise ValueError(f"{name}, line {at}: a record must be values, a colon, and a class")
    return _record(channels, label, name, at)


def _arff_record(line: str, name: str, at: int) -> Record:
    """Read values and a class, separated by commas; several channels are quoted and separated by a written line feed."""
    if line[0] in "'\"":
        body, quote, label = line[1:].rpartition(line[0])
        channels = body.split(r"\n")
        label = label.lstrip(", ")
    else:
        body, quote, label = line.rpartition(",")
        channels = [body]
    if not quote or not label.strip():
        raise ValueError(f"{name}, line {at}: a record must be values and a class")
    return _record(channels, label, name, at)


def _record(channels: list[str], label: str, name: str, at: int) -> Record:
    """Make a record; question marks at the end of a channel fill it up, elsewhere they are missing values."""
    columns = []
    for channel in channels:
        texts = [text.strip() for text in channel.split(",")]
        while texts and texts[-1] in ("?", "NaN"):
            texts.pop()
        columns.append([read_number(text, name, at) for text in texts])
    if not columns[0] or len({len(column) for column in columns}) > 1:
        raise ValueError(f"{name}, line {at}: channels have {', '.join(str(len(c)) for c in columns)} values")
    return Record(np.array(columns).T, _bare(label), f"{name}, line {at}")
