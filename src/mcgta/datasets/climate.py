"""The paper's climates (appendix, "Real-world Datasets"): attributes of places on the globe, sampled from WorldClim."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mcgta.datasets.cache import DataFile, Folder, locate
from mcgta.datasets.loaded import About, DataSet, assemble
from mcgta.datasets.plain_files import author_texts, plain_forms, read_csv, read_number, read_places, read_plain

CLIMATE = About(
    "climate",
    "https://www.worldclim.org/data/worldclim21.html",
    "WorldClim 2.1 is free for academic and other non-commercial use; redistribution needs permission",
    "Climate attributes of places on the globe, sampled by the user from WorldClim's rasters; the climate's type is the label.",
    "haversine",
)
_TABLE = "a table of places"
_LABELS = ("climate", "climatetype", "label", "type")


def load_climate(*, data_home: Folder = None, download: bool = True) -> DataSet:
    """Load Climate: attributes of places on the globe, and their types of climate.

    Reads ``climate.npz`` with arrays ``X``, ``y`` and ``coords``; ``climate.csv``; or texts in the authors' layout,
    ``climate/climate-data.txt`` of 5 features, longitude and latitude, and ``-label.txt``. The table has a header with
    ``lon`` or ``longitude``, ``lat`` or ``latitude``, and ``climate`` or ``label``; all other columns are features, in
    their own units. The paper says neither at which 4,741 places it looked nor which classification gave its 14 types,
    so nothing can be downloaded.

    Parameters
    ----------
    data_home : folder to look in; None for those of ``MCGTA_DATA`` and the cache
    download : has no effect here
    """
    texts = author_texts("climate/climate-data.txt", "climate/climate-label.txt")
    table = DataFile(("climate.csv",), note=f"places that you sample from the rasters of {CLIMATE.source}")
    forms = {**plain_forms("climate", texts), _TABLE: (table,)}
    form, paths = locate("climate", forms, data_home=data_home, download=download)
    if form != _TABLE:
        return read_plain(form, paths, CLIMATE, n_features=5)
    return _read_climate(paths[0])


def _read_climate(path: Path) -> DataSet:
    """Read a table of places with a header."""
    places, rows, labels = [], [], []
    features: list[str] = []
    for at, row in read_csv(path):
        lon, lat, label = (_pick(row, words, path) for words in (("lon", "longitude"), ("lat", "latitude"), _LABELS))
        if not features:
            features = [name for name in row if name not in (lon, lat, label)]
        places.append([read_number(row[name], path, at) for name in (lon, lat)])
        rows.append([read_number(row[name], path, at) for name in features])
        if not row[label].strip():
            raise ValueError(f"{path}, line {at}: the place has no type of climate")
        labels.append(row[label].strip())
    if not rows or not features:
        raise ValueError(f"{path} has no {'features' if rows else 'places'}")
    where = read_places(np.array(places), path)
    return assemble(CLIMATE, rows, labels, positions=where, feature_names=features)


def _pick(row: Mapping[str, str], words: tuple[str, ...], path: Path) -> str:
    """Return the column that goes by one of these names."""
    for word in words:
        if word in row:
            return word
    raise ValueError(f"{path} has no column {' or '.join(map(repr, words))}; it has {', '.join(row)}")
