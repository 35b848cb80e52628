"""The paper's three recorded series (appendix, "Real-world Datasets"): pavements, vehicles and gestures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mcgta.datasets.archive_series import SITE, Record, read_records
from mcgta.datasets.cache import DataFile, Folder, Forms, locate
from mcgta.datasets.loaded import About, DataSet, assemble
from mcgta.datasets.plain_files import (
    AUTHORS,
    PREPARED,
    author_texts,
    plain_forms,
    prepared_file,
    read_arrays,
    read_features,
    read_labels,
    read_plain,
)
from mcgta.runtime.rules import INF, Rule, check_value

_SPLITS = {"train": ("TRAIN",), "test": ("TEST",), "all": ("TRAIN", "TEST")}
_ZIP = "the archive's zip"

PAVEMENT = About(
    "pavement",
    f"{SITE}/description.php?Dataset=AsphaltPavementType",
    "none stated",
    "Each of the 1,055 successive accelerometer records of the training half is one observation: its first entries are the "
    "features, its type of pavement is the label.",
)
VEHICLE = About(
    "vehicle",
    f"{AUTHORS}, after work at KTH (http://kth.diva-portal.org)",
    "none stated",
    "Features of phones in dumpers, standardised, with the vehicle's working state as label, as the paper's authors "
    "publish them; the raw recordings are not published.",
)
GESTURE = About(
    "gesture",
    f"{SITE}/description.php?Dataset=UWaveGestureLibrary",
    "uWave's own: any use, to be cited (Liu et al. 2009), no redistribution without written permission",
    "Records of 315 steps in 3 channels, put one after the other in random order; each step is an observation, its "
    "record's gesture is the label.",
)
_PAVEMENTS = {0: "cobblestone", 1: "dirt", 2: "flexible"}
_PUBLISHED = 10  # entries of a pavement record in the plain forms


def load_pavement(
    *, data_home: Folder = None, download: bool = True, n_features: int = 10, split: str = "train"
) -> DataSet:
    """Load Pavement: what accelerometers in cars record on cobblestone, dirt and flexible pavement.

    Reads ``pavement.npz``, the authors' ``pavement/pavement-data.txt`` and ``-label.txt``, or the archive's
    ``AsphaltPavementType`` as .ts or .arff, unpacked or in its zip.

    Parameters
    ----------
    data_home : folder to look in, and to download into; None for those of ``MCGTA_DATA`` and the cache
    download : whether files that are not there may be downloaded
    n_features : first entries of each record that are its features; the paper takes 10, its authors' tutorial 5. More than
        10 need the archive's files
    split : {"train", "test", "all"}, the archive's halves; the paper takes the training half, which the plain forms hold
    """
    check_value("n_features", n_features, Rule(integer=(1, INF)))
    check_value("split", split, Rule(words=tuple(_SPLITS)))
    sums = (
        "3d033ca5d9638e4dcd349d272349b9becf5c7c83f75581c7b378bb43ac529f65",
        "95d6a7e4b618121a7e5218920f50c10d9671aba63fdb2b64e049e7105b5aaa9d",
    )
    texts = author_texts("pavement/pavement-data.txt", "pavement/pavement-label.txt", sums)
    plain = plain_forms("pavement", texts) if split == "train" and n_features <= _PUBLISHED else {}
    form, paths = locate(
        "pavement", {**plain, **_archive_forms("AsphaltPavementType", split)}, data_home=data_home, download=download
    )
    if form in plain:
        whole = read_plain(form, paths, PAVEMENT, n_features=_PUBLISHED, names=_PAVEMENTS)
        X = whole.X[:, :n_features]
        labels = [whole.label_names[code] for code in whole.labels]
        if X.shape[1] < n_features:
            raise ValueError(f"n_features={n_features}, but {paths[0]} has {X.shape[1]}")
    else:
        records = _read_split(paths, "AsphaltPavementType", split)
        for record in records:
            if len(record.values) < n_features:
                raise ValueError(f"n_features={n_features}, but {record.where} has {len(record.values)} entries")
        X = np.array([record.values[:n_features, 0] for record in records])
        labels = [record.label for record in records]
    return assemble(PAVEMENT, X, labels, feature_names=[f"entry {k + 1}" for k in range(n_features)])


def load_vehicle(*, data_home: Folder = None, download: bool = True) -> DataSet:
    """Load Vehicle: five states of commercial vehicles, recorded by phones.

    Reads ``vehicle.npz``, or the authors' ``commercial-vehicle/commercial-vehicle-data.txt`` and ``-label.txt``. The
    paper says 7 features; its authors publish 5.

    Parameters
    ----------
    data_home : folder to look in, and to download into; None for those of ``MCGTA_DATA`` and the cache
    download : whether files that are not there may be downloaded
    """
    sums = (
        "d0299a3776002e1f36f6eebf28ae2badc087d13a5730f31e0b71b72204c32504",
        "04e04606949c1cefa6f3f7e6404fa67797a5cf000a93619fe26263027be3de96",
    )
    folder = "commercial-vehicle/commercial-vehicle"
    forms = plain_forms("vehicle", author_texts(f"{folder}-data.txt", f"{folder}-label.txt", sums))
    form, paths = locate("vehicle", forms, data_home=data_home, download=download)
    return read_plain(form, paths, VEHICLE, n_features=5)


def load_gesture(
    *,
    data_home: Folder = None,
    download: bool = True,
    split: str = "train",
    shuffle: bool = True,
    record_groups: bool = False,
    random_state: int = 0,
) -> DataSet:
    """Load Gesture: eight movements of a hand, 705 thousand steps in the paper's version.

    Reads the archive's ``UWaveGestureLibrary`` as .ts or .arff, unpacked or in its zip, or ``gesture.npz`` with arrays
    ``X`` (records, steps, channels) and ``y`` (records,). The archive of 2018 has 120 records for training and 320 for
    testing; the paper speaks of 2,238 in all, as about half of the 4,480 that were recorded. Whichever version a file
    is of is read as it is.

    Parameters
    ----------
    data_home : folder to look in, and to download into; None for those of ``MCGTA_DATA`` and the cache
    download : whether files that are not there may be downloaded
    split : {"train", "test", "all"}, the archive's halves
    shuffle : whether records come in random order, as in the paper
    record_groups : whether each record is a group of its own, so that no neighbourhood reaches into the next; in the paper
        all records are one series
    random_state : seed of the order
    """
    check_value("split", split, Rule(words=tuple(_SPLITS)))
    check_value("shuffle", shuffle, Rule(flag=True))
    check_value("record_groups", record_groups, Rule(flag=True))
    check_value("random_state", random_state, Rule(integer=(0, INF)))
    prepared = prepared_file("gesture", "X (records, steps, channels) and y (records,)")
    plain: Forms = {PREPARED: prepared} if split == "train" else {}
    forms = {**plain, **_archive_forms("UWaveGestureLibrary", split)}
    form, paths = locate("gesture", forms, data_home=data_home, download=download)
    records, labels = _read_gestures(paths[0]) if form == PREPARED else _unpack(paths, split)
    order = np.arange(len(records))
    if shuffle:
        order = np.random.default_rng(random_state).permutation(order)
    lengths = [len(records[k]) for k in order]
    return assemble(
        GESTURE,
        np.concatenate([records[k] for k in order]),
        np.repeat([labels[k] for k in order], lengths).tolist(),
        groups=np.repeat(np.arange(len(order)), lengths) if record_groups else None,
        feature_names=[f"channel {k + 1}" for k in range(records[0].shape[1])],
    )


def _read_gestures(path: Path) -> tuple[list[Any], list[Any]]:
    arrays = read_arrays(path, ("X", "y"))
    X = read_features(arrays["X"], 3, "(records, steps, channels) of numbers", path)
    return list(X), read_labels(arrays["y"], len(X), path)


def _unpack(paths: list[Path], split: str) -> tuple[list[Any], list[Any]]:
    records = _read_split(paths, "UWaveGestureLibrary", split)
    return [record.values for record in records], _numbered([record.label for record in records])


def _numbered(labels: list[str]) -> list[Any]:
    """Labels as numbers where all are whole numbers, so that 10 comes after 9 and 1.0 is 1."""
    try:
        values = [float(label) for label in labels]
    except ValueError:
        return list(labels)
    return [int(value) for value in values] if all(value.is_integer() for value in values) else list(labels)


def _archive_forms(problem: str, split: str) -> dict[str, tuple[DataFile, ...]]:
    """Return the forms of a problem of the UEA and UCR archive."""
    url = f"{SITE}/aeon-toolkit/{problem}.zip"
    forms = {
        f"the archive's .{ending}": tuple(
            DataFile((f"{problem}_{part}.{ending}",), note=f"unpacked from {url}") for part in _SPLITS[split]
        )
        for ending in ("ts", "arff")
    }
    return forms | {_ZIP: (DataFile((f"{problem}.zip",), url),)}


def _read_split(paths: list[Path], problem: str, split: str) -> list[Record]:
    parts = _SPLITS[split]
    files = paths * len(parts) if paths[0].suffix == ".zip" else paths
    return [record for path, part in zip(files, parts, strict=True) for record in read_records(path, problem, part)]
