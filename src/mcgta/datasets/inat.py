"""The paper's images of species (appendix, "Real-world Datasets"): iNaturalist 2018, and the part that its authors publish."""

from __future__ import annotations

import json
import tarfile
import tokenize
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mcgta.datasets.cache import DataFile, Folder, locate
from mcgta.datasets.loaded import About, DataSet, assemble
from mcgta.datasets.plain_files import AUTHORS, DAMAGED, author_texts, plain_forms, read_arrays, read_places, read_plain
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array

INAT = About(
    "inat2018",
    "https://github.com/visipedia/inat_comp/tree/master/2018",
    "non-commercial research and education only, by the terms of the iNaturalist 2018 competition",
    "Images of the validation half that have a place; Inception V3 embeddings, reduced to principal components of "
    "variance 1, are the features, and the kingdom is the label.",
    "haversine",
)
INAT_SUBSET = About(
    "inat_subset",
    f"{AUTHORS}, after {INAT.source}",
    f"none stated; iNaturalist 2018 itself: {INAT.licence}",
    "The animals and plants of iNaturalist 2018 around California, 16 principal components of image embeddings, standardised.",
    "haversine",
)
KINGDOMS = ("Animalia", "Bacteria", "Chromista", "Fungi", "Plantae", "Protozoa")
_CLASSES_OF_ANIMALS = (
    "Actinopterygii", "Amphibia", "Arachnida", "Aves", "Insecta", "Mammalia", "Mollusca", "Reptilia",
)  # fmt: skip
_KINGDOM = {name: code for code, name in enumerate(KINGDOMS)} | dict.fromkeys(_CLASSES_OF_ANIMALS, 0)
_BOX = ((-124.0, -110.0), (32.5, 40.0))  # about what the authors' subset spans
_S3 = "https://ml-inat-competition-datasets.s3.amazonaws.com/2018"
_RAW = "annotations, places and embeddings"
_RAW_FILES = (
    DataFile(
        ("val2018.json.tar.gz", "val2018.json"), f"{_S3}/val2018.json.tar.gz", "md5:f2ed8bfe3e9901cdefceb4e53cd3775d"
    ),
    DataFile(
        ("inat2018_locations.zip", "val2018_locations.json"),
        f"{_S3}/inat2018_locations.zip",
        "md5:1704763abc47b75820aa5a3d93c6c0f3",
    ),
    DataFile(
        ("inat2018_features.npy", "inat2018_features.npz", "features_inception/inat2018_val_net_feats.npy"),
        note="Inception V3 embeddings of the images, which you compute",
    ),
)


def load_inat2018(
    *,
    data_home: Folder = None,
    download: bool = True,
    subset: bool = False,
    n_components: int = 16,
    standardize: bool = True,
) -> DataSet:
    """Load iNaturalist 2018: images of species, by what a network sees in them and where they were taken.

    Reads ``inat2018.npz``; the authors' ``inat/inat-data.txt`` and ``-label.txt``; or ``val2018.json`` (or its
    .tar.gz), ``val2018_locations.json`` (or ``inat2018_locations.zip``) and ``inat2018_features.npy``. The texts, and
    the first two of these three, can be downloaded. The last is an array (images, 2048) of embeddings by Inception V3
    that you compute, rows in the order of ``images`` in the annotations; or an npz archive of ``features`` and
    ``image_id``.

    Images without a place are left out. Principal components are those of the images that stay. The kingdom follows
    from the super-category, because names of kingdoms are obfuscated in the competition's files. The paper does not say
    whether components are standardised; the subset that its authors publish is.

    Parameters
    ----------
    data_home : folder to look in, and to download into; None for those of ``MCGTA_DATA`` and the cache
    download : whether files that are not there may be downloaded
    subset : whether to keep animals and plants from 124 to 110 degrees west and 32.5 to 40 north only, about what the authors'
        subset spans; that itself is :func:`load_inat_subset`
    n_components : principal components, of embeddings only; the plain forms have 16
    standardize : whether components are brought to variance 1, of embeddings only
    """
    check_value("subset", subset, Rule(flag=True))
    check_value("n_components", n_components, Rule(integer=(1, INF)))
    check_value("standardize", standardize, Rule(flag=True))
    published = n_components == 16 and standardize
    sums = (None, "113d9ca61e2be7836198b19709cfbeac7c363017cd2aff611c9c1ef4da8a7000")
    texts = author_texts("inat/inat-data.txt", "inat/inat-label.txt", sums)
    plain = plain_forms("inat2018", texts) if published else {}
    form, paths = locate("inat2018", {**plain, _RAW: _RAW_FILES}, data_home=data_home, download=download)
    names = dict(enumerate(KINGDOMS))
    if form in plain:
        whole = read_plain(form, paths, INAT, n_features=16, names=names)
        unknown = [name for name in whole.label_names if name not in _KINGDOM]
        if unknown:
            raise ValueError(
                f"{paths[-1]}: {', '.join(map(repr, unknown))} is no kingdom; there are {', '.join(KINGDOMS)}"
            )
        codes = np.array([_KINGDOM[name] for name in whole.label_names])[whole.labels]
        X = whole.X
        places = whole.positions
    else:
        embeddings, places, codes = _read_inat(*paths)
        X = _reduce(embeddings, n_components, standardize, paths[2])
    if subset and places is not None:
        (west, east), (south, north) = _BOX
        lon, lat = places.T
        kept = (west <= lon) & (lon <= east) & (south <= lat) & (lat <= north) & np.isin(codes, (0, 4))
        X = X[kept]
        places = places[kept]
        codes = codes[kept]
    return assemble(INAT, X, codes, positions=places, names=names, feature_names=_components(X))


def load_inat_subset(*, data_home: Folder = None, download: bool = True) -> DataSet:
    """Load the part of iNaturalist 2018 that the paper's authors publish: 3,639 animals and plants around California.

    Reads ``inat_subset.npz``, or the authors' ``inat-subset/inat-data-subset.txt`` and ``inat-label-subset.txt``.

    Parameters
    ----------
    data_home : folder to look in, and to download into; None for those of ``MCGTA_DATA`` and the cache
    download : whether files that are not there may be downloaded
    """
    sums = (
        "8c87d262c6621406f8712bcfd8eeb2dfaf81be7d47d860cd02ead75c116e3e9c",
        "9465243b8ca59f79492114b890cd5a973384aa7e1d775de0002845b697c2a227",
    )
    texts = author_texts("inat-subset/inat-data-subset.txt", "inat-subset/inat-label-subset.txt", sums)
    form, paths = locate("inat_subset", plain_forms("inat_subset", texts), data_home=data_home, download=download)
    return read_plain(form, paths, INAT_SUBSET, n_features=16, names=dict(enumerate(KINGDOMS)))


def _components(X: Array) -> list[str]:
    return [f"component {k + 1}" for k in range(X.shape[1])]


def _read_inat(annotations: Path, locations: Path, features: Path) -> tuple[Array, Array, Any]:
    """Return embeddings, places and kingdoms of the images that have a place, in the order of the annotations."""
    held = _read_json(annotations, "val2018.json")
    kinds = {kind["id"]: _kingdom(kind, annotations) for kind in _entries(held, "categories", annotations)}
    kind_of = {note["image_id"]: note["category_id"] for note in _entries(held, "annotations", annotations)}
    images = [image["id"] for image in _entries(held, "images", annotations)]
    rows = _read_embeddings(features, images)
    where = _read_locations(locations)
    kept = [k for k, image in enumerate(images) if None not in where.get(image, (None, None))]
    if not kept:
        raise ValueError(f"{locations} has no place for any image of {annotations}")
    for image in (images[k] for k in kept):
        if kind_of.get(image) not in kinds:
            raise ValueError(f"{annotations}: image {image} has no category")
    places = read_places(np.array([where[images[k]] for k in kept], dtype=float), locations)
    with np.errstate(over="ignore"):
        if not np.isfinite(np.square(rows[kept]).sum()):
            raise ValueError(f"{features} has embeddings that are not finite numbers, or too large")
    return rows[kept], places, np.array([kinds[kind_of[images[k]]] for k in kept])


def _read_locations(path: Path) -> dict[Any, tuple[Any, Any]]:
    """Return longitudes and latitudes by image; None where they are not known."""
    spots = _read_json(path, "val2018_locations.json")
    if not isinstance(spots, list):
        raise ValueError(f"{path} must hold a list of places")
    where = {}
    for at, spot in enumerate(spots):
        if not isinstance(spot, dict) or not _is_id(spot.get("id")):
            raise ValueError(f"{path}: entry {at} must have an 'id' that is a number or a text")
        lon = spot.get("lon")
        lat = spot.get("lat")
        for value, limit in ((lon, 180), (lat, 90)):
            if value is not None and not (isinstance(value, (int, float)) and abs(value) <= limit):
                raise ValueError(f"{path}: entry {at} is at {str([lon, lat])[:80]}, which is no longitude and latitude")
        where[spot["id"]] = (lon, lat)
    return where


def _read_embeddings(path: Path, images: list[Any]) -> Array:
    """Return the embeddings (images, p) in the order of the images."""
    if path.suffix == ".npz":
        arrays = read_arrays(path, ("features", "image_id"))
        if arrays["image_id"].ndim != 1 or arrays["image_id"].shape != arrays["features"].shape[:1]:
            raise ValueError(f"{path}: image_id must have one entry for each row of features")
        at = {image: row for row, image in enumerate(arrays["image_id"].tolist())}
        missing = [image for image in images if image not in at]
        if missing:
            raise ValueError(f"{path} has no features of image {missing[0]}, and {len(missing) - 1} others")
        table = arrays["features"][[at[image] for image in images]]
    else:
        try:
            table = np.load(path, allow_pickle=False, mmap_mode="r")
        except (ValueError, EOFError, SyntaxError, tokenize.TokenError) as error:
            raise ValueError(f"{path} is not an npy file of a plain array: {error}") from error
        if not isinstance(table, np.ndarray):
            raise ValueError(f"{path} is not an npy file of a plain array, but an archive of several")
    if table.ndim != 2 or len(table) != len(images) or table.dtype.kind not in "fiu":
        raise ValueError(f"{path} must hold a row for each of {len(images)} images, is of shape {table.shape}")
    return np.asarray(table, dtype=np.float64)


def _reduce(embeddings: Array, count: int, standardize: bool, path: Path) -> Array:
    """Return principal components (N, count); the signs are fixed by scikit-learn, so they are the same each time."""
    if count > min(embeddings.shape):
        raise ValueError(f"n_components={count}, but {path} has embeddings of shape {embeddings.shape}")
    from sklearn.decomposition import PCA  # costs half a second, and few of the data sets need it

    with threadpool_limits(1):  # sums of several threads would depend on their number
        components = PCA(count, svd_solver="covariance_eigh").fit_transform(embeddings)
    spread = components.std(axis=0)
    return np.asarray(components / np.where(spread > 0, spread, 1.0) if standardize else components)


def _kingdom(kind: Mapping[str, Any], path: Path) -> int:
    name = kind.get("supercategory")
    if not isinstance(name, str) or name not in _KINGDOM:
        raise ValueError(f"{path}: category {kind.get('id')} is of the unknown super-category {name!r}")
    return _KINGDOM[name]


def _entries(held: Any, name: str, path: Path) -> list[dict[str, Any]]:
    if not isinstance(held, dict) or not isinstance(held.get(name), list):
        raise ValueError(f"{path} has no list {name!r}; these are not the competition's annotations")
    needed = {"categories": ("id",), "annotations": ("image_id", "category_id"), "images": ("id",)}[name]
    for at, entry in enumerate(held[name]):
        if not isinstance(entry, dict) or not all(_is_id(entry.get(key)) for key in needed):
            raise ValueError(
                f"{path}: entry {at} of {name!r} must have {' and '.join(map(repr, needed))}, numbers or texts"
            )
    return list(held[name])


def _is_id(value: Any) -> bool:
    return isinstance(value, (int, str))


def _read_json(path: Path, name: str) -> Any:
    """Read a json file, or the one of this name in a zip or tar archive."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                inside = [one for one in archive.namelist() if Path(one).name == name]
                text = archive.read(inside[0]) if inside else None
        elif path.suffix == ".gz":
            with tarfile.open(path) as tar:
                members = [one for one in tar.getmembers() if Path(one.name).name == name]
                file = tar.extractfile(members[0]) if members else None
                text = file.read() if file else None
        else:
            text = path.read_bytes()
        if text is None:
            raise ValueError(f"it holds no {name}")
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from error
    except (ValueError, tarfile.TarError, *DAMAGED) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
