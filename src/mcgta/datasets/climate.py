"""The paper's climates (appendix, "Real-world Datasets"): attributes of places on the globe, sampled from WorldClim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from mcgta.datasets.cache import DataFile, Folder, locate
from mcgta.datasets.loaded import About, DataSet, assemble
from mcgta.datasets.plain_files import (
    AUTHORS,
    TEXTS,
    author_texts,
    plain_forms,
    read_csv,
    read_number,
    read_places,
    read_plain,
)

CLIMATE = About(
    "climate",
    "https://www.worldclim.org/data/worldclim21.html",
    "WorldClim 2.1 is free for academic and other non-commercial use; redistribution needs permission",
    "Climate attributes of places on the globe, sampled by the user from WorldClim's rasters; the climate's type is the label.",
    "haversine",
)
_PUBLISHED = replace(
    CLIMATE,
    source=f"{AUTHORS}, after {CLIMATE.source}",
    licence=f"none stated; WorldClim itself: {CLIMATE.licence}",
    recipe="Five climate attributes of places on the globe, standardised, with the climate's type as label, as the paper's "
    "authors published them before they removed them.",
)
_COMMIT = "c7f7d345076d31a19e19020d2678e392843cc302"  # its texts were removed later
_TABLE = "a table of places"
_LABELS = ("climate", "climatetype", "label", "type")


def load_climate(*, data_home: Folder = None, download: bool = True) -> DataSet:
    """Load Climate: attributes of places on the globe, and their types of climate.

    Reads ``climate.npz`` with arrays ``X``, ``y`` and ``coords``; ``climate.csv``; or texts in the authors' layout,
    ``climate/climate-data.txt`` of 5 features, latitude and longitude, and ``-label.txt``. The table has a header with
    ``lon`` or ``longitude``, ``lat`` or ``latitude``, and ``climate`` or ``label``; all other columns are features, in
    their own units.

    The authors have removed their texts from their repository; they are downloaded from its first commit. They hold
    4,746 places, the paper says 4,741, and 14 types, which they number and do not name.

    Parameters
    ----------
    data_home : folder to look in, and to download into; None for those of ``MCGTA_DATA`` and the cache
    download : whether the texts, where they are not there, may be downloaded
    """
    sums = (
        "7bcfbc9eaeb29c8b481aaecd975df1c8ba673aa0c751b093144e9bd495f4f163",
        "3487bc925a61b1e70caf7ef6c74773ec88c2e7a809bafcdc91a8b609a76c0725",
    )
    texts = author_texts("climate/climate-data.txt", "climate/climate-label.txt", sums, commit=_COMMIT)
    table = DataFile(("climate.csv",), note=f"places that you sample from the rasters of {CLIMATE.source}")
    forms = {**plain_forms("climate", texts), _TABLE: (table,)}
    form, paths = locate("climate", forms, data_home=data_home, download=download)
    if form == _TABLE:
        return _read_climate(paths[0])
    about = _PUBLISHED if form == TEXTS else CLIMATE
    return read_plain(form, paths, about, n_features=5, latitude_first=True)


def _read_climate(path: Path) -> DataSet:
    """Read a table of places with a header."""
    places = []
    rows = []
    labels = []
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
    present = [word for word in words if word in row]
    if not present:
        raise ValueError(f"{path} has no column {' or '.join(map(repr, words))}; it has {', '.join(row)}")
    if len(present) > 1:
        raise ValueError(
            f"{path} has columns {' and '.join(map(repr, present))}, of which there must be one; leave one out"
        )
    return present[0]
