"""Records of the UEA and UCR archive of time series: .ts and .arff files, unpacked or in their zip."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mcgta.datasets.plain_files import DAMAGED, decoded_lines, read_number
from mcgta.types import Array

SITE = "https://timeseriesclassification.com"


@dataclass(frozen=True, eq=False)
class Record:
    """One labelled series.

    Attributes
    ----------
    values : (length, channels)
    label : its class as the file writes it
    where : file and line, for error messages
    """

    values: Array
    label: str
    where: str


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
    _read_header(lines, name, arff=arff)
    read = _arff_record if arff else _ts_record
    records = [read(line.strip(), name, at) for at, line in lines]
    if not records:
        raise ValueError(f"{name} has no records after @data")
    channels = records[0].values.shape[1]
    for record in records:
        if record.values.shape[1] != channels:
            raise ValueError(f"{record.where}: {record.values.shape[1]} channels, but {channels} in the first record")
    return records


def _read_header(lines: Iterator[tuple[int, str]], name: str, *, arff: bool) -> None:
    """Read up to and including @data."""
    for at, line in lines:
        words = line.lower().split()
        if words[0] == "@data":
            return
        if not words[0].startswith("@"):
            raise ValueError(f"{name}, line {at}: {line[:40]!r} stands before @data")
        if not arff and words[0] == "@timestamps" and words[1:] == ["true"]:
            raise ValueError(f"{name}, line {at}: records with time stamps are not supported")
        if not arff and words[0] == "@classlabel" and words[1:2] == ["false"]:
            raise ValueError(f"{name}, line {at}: the records have no class labels")
    raise ValueError(f"{name} has no @data line")


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
        channels, label = body.split(r"\n"), label.lstrip(", ")
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
    return Record(np.array(columns).T, label.strip().strip("'\""), f"{name}, line {at}")
