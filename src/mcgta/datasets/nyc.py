"""The paper's two data sets of New York (appendix, "Real-world Datasets"): check-ins with types of places, or with land use.

An observation is a venue of the Foursquare check-ins of Yang et al. (2015). Its features are its week: for each weekday
the hours of the day of its check-ins are added up ("sum up the Hour attribute grouped by Week"), in local time, and the
seven sums are divided by their total. The paper does not say which venues it keeps (23,019 and 8,964 of them), nor how
it normalises; what is chosen here are parameters.
"""

from __future__ import annotations

import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from mcgta.datasets.cache import DataFile, Folder, locate
from mcgta.datasets.loaded import About, DataSet, assemble
from mcgta.datasets.plain_files import (
    DAMAGED,
    PREPARED,
    decoded_lines,
    numbered_lines,
    prepared_file,
    read_csv,
    read_number,
    read_places,
    read_prepared,
)
from mcgta.kernels.positions.metrics import EARTH_RADIUS, unit_vectors
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array, Index

_FOURSQUARE = "https://sites.google.com/site/yangdingqi/home/foursquare-dataset"
_PLUTO = "https://data.cityofnewyork.us/City-Government/Primary-Land-Use-Tax-Lot-Output-PLUTO-/64uk-42ks"
_WEEK = "The week of a venue, as shares of the hours of its check-ins by weekday, is its features;"
POI = About(
    "nyc_poi",
    _FOURSQUARE,
    "none stated; its authors ask to be cited (Yang et al. 2015)",
    f"{_WEEK} its label is the k-means cluster of the types of the venues around it.",
    "haversine",
)
LANDUSE = About(
    "nyc_landuse",
    f"{_FOURSQUARE} and {_PLUTO}",
    "check-ins: none stated, to be cited (Yang et al. 2015); PLUTO: NYC Open Data's terms of use",
    f"{_WEEK} its label is the land use of the nearest tax lot, for venues in the boroughs that were asked for.",
    "haversine",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LAND_USES = (
    dict.fromkeys((1, 2, 3), "residential")
    | dict.fromkeys((4, 5), "mixed and commercial")
    | dict.fromkeys((6, 7, 10), "industry, transport and parking")
    | dict.fromkeys((8, 9), "public and open")
    | {11: "vacant"}
)
"""What the land use codes of PLUTO are counted as: five classes, as many as the paper has."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BOROUGHS = {"1": "MN", "2": "BX", "3": "BK", "4": "QN", "5": "SI"}
_CODES = tuple(_BOROUGHS.values())
_CHECKINS = "dataset_TSMC2014_NYC"
_CHECKIN_FILE = DataFile(
    ("dataset_tsmc2014.zip", f"{_CHECKINS}.txt", f"{_CHECKINS}.csv"),
    "http://www-public.it-sudparis.eu/~zhang_da/pub/dataset_tsmc2014.zip",
)
_LOT_FILE = DataFile(
    ("pluto.csv", "pluto_*.csv", "Primary_Land_Use_Tax_Lot_Output*.csv", "nyc_pluto_*.zip"),
    "https://data.cityofnewyork.us/api/views/64uk-42ks/rows.csv?accessType=DOWNLOAD",
)


@dataclass(frozen=True, eq=False)
class Venues:
    """Venues in the order of their identifiers.

    Attributes
    ----------
    weeks : (V, 7) sums over the check-ins by weekday
    places : (V, 2) longitude and latitude
    types : (V,) names of their categories
    """

    weeks: Array
    places: Array
    types: list[str]


def load_nyc_poi(
    *,
    data_home: Folder = None,
    download: bool = True,
    n_clusters: int = 10,
    n_neighbors: int = 50,
    weight: str = "hour",
    norm: str = "l1",
    min_checkins: int = 1,
    random_state: int = 0,
) -> DataSet:
    """Load the check-ins of New York, with clusters of the types of venues around as labels.

    Reads ``nyc_poi.npz`` (used where all else is left as it is), ``dataset_TSMC2014_NYC.txt`` (tab separated, latin-1),
    the same as ``.csv`` with a header, or ``dataset_tsmc2014.zip``.

    Parameters
    ----------
    data_home : folder to look in, and to download into; None for those of ``MCGTA_DATA`` and the cache
    download : whether files that are not there may be downloaded
    n_clusters : clusters of k-means over the types around, which are the labels
    n_neighbors : venues around, nearest by great circle, without the venue itself, of which types are counted
    weight : what a check-in adds to its weekday: "hour", its hour of the day as the paper says, or "count", one
    norm : "l1" for shares of the week, "l2" for weeks of length 1; a venue without any sum keeps zeros
    min_checkins : least number of check-ins of a venue that is kept
    random_state : seed of k-means
    """
    _check_week(weight, norm, min_checkins)
    check_value("n_clusters", n_clusters, Rule(integer=(1, INF)))
    check_value("n_neighbors", n_neighbors, Rule(integer=(1, INF)))
    check_value("random_state", random_state, Rule(integer=(0, 2**32 - 1)))
    plain = (n_clusters, n_neighbors, weight, norm, min_checkins, random_state) == (10, 50, "hour", "l1", 1, 0)
    forms = _prepared("nyc_poi", plain) | {"check-ins": (_CHECKIN_FILE,)}
    form, paths = locate("nyc_poi", forms, data_home=data_home, download=download)
    if form == PREPARED:
        return read_prepared(paths[0], POI)
    venues = read_venues(paths[0], weight=weight, min_checkins=min_checkins)
    if len(venues.types) <= max(n_neighbors, n_clusters):
        raise ValueError(
            f"n_neighbors={n_neighbors} and n_clusters={n_clusters}, but there are {len(venues.types)} venues"
        )
    from sklearn.cluster import KMeans  # costs half a second, and few of the data sets need it

    mix = mix_types(venues.places, venues.types, n_neighbors)
    with threadpool_limits(1):  # sums of several threads would depend on their number
        labels = KMeans(n_clusters, n_init=10, random_state=random_state).fit_predict(mix)
    return assemble(POI, normalize(venues.weeks, norm), labels, positions=venues.places, feature_names=DAYS)


def load_nyc_landuse(
    *,
    data_home: Folder = None,
    download: bool = True,
    boroughs: Sequence[str] = ("MN", "BX"),
    classes: Mapping[int, str] | None = None,
    max_distance: float | None = None,
    weight: str = "hour",
    norm: str = "l1",
    min_checkins: int = 1,
) -> DataSet:
    """Load the check-ins of New York, with the land use of the nearest tax lot as labels.

    Reads ``nyc_landuse.npz`` (used where all else is left as it is); or the check-ins as :func:`load_nyc_poi` and PLUTO
    as a table with columns ``borough`` or ``borocode``, ``landuse``, ``latitude`` and ``longitude``: ``pluto.csv``,
    ``pluto_*.csv``, or the city's zip. A venue belongs to the borough of its nearest lot. Lots without land use or
    place are passed over.

    Parameters
    ----------
    data_home : folder to look in, and to download into; None for those of ``MCGTA_DATA`` and the cache
    download : whether files that are not there may be downloaded
    boroughs : of "MN", "BX", "BK", "QN" and "SI", those that are kept; the paper keeps Manhattan and the Bronx
    classes : from PLUTO's land use codes, 1 to 11, to names of clusters; lots of other codes are passed over. None for five
        classes (``mcgta.datasets.nyc.LAND_USES``): the paper has five, and does not say which
    max_distance : metres from a venue to its lot; venues farther away are left out. None for no limit, which needs the lots of
        more boroughs than are kept
    weight, norm, min_checkins : as in :func:`load_nyc_poi`
    """
    _check_week(weight, norm, min_checkins)
    check_value("max_distance", max_distance, Rule(real=(0, INF), above=True, none=True))
    kept = _check_boroughs(boroughs)
    uses = LAND_USES if classes is None else _check_classes(classes)
    plain = (kept, classes, max_distance, weight, norm, min_checkins) == ({"MN", "BX"}, None, None, "hour", "l1", 1)
    forms = _prepared("nyc_landuse", plain) | {"check-ins and tax lots": (_CHECKIN_FILE, _LOT_FILE)}
    form, paths = locate("nyc_landuse", forms, data_home=data_home, download=download)
    if form == PREPARED:
        return read_prepared(paths[0], LANDUSE)
    checkins, pluto = paths
    venues = read_venues(checkins, weight=weight, min_checkins=min_checkins)
    places, codes, owners = read_lots(pluto, uses)
    if max_distance is None and set(owners) <= kept:
        raise ValueError(
            f"{pluto} has lots of {', '.join(sorted(set(owners)))} only, so that venues elsewhere cannot be told; "
            "set max_distance, say to 200 metres, or take the lots of all boroughs"
        )
    chord, nearest = cKDTree(unit_vectors(places)).query(unit_vectors(venues.places))
    within = np.array([owners[k] in kept for k in nearest])
    if max_distance is not None:
        within &= 2 * EARTH_RADIUS * np.arcsin(np.minimum(chord / 2, 1.0)) <= max_distance
    if not within.any():
        raise ValueError(f"no venue of {checkins} lies in boroughs={tuple(boroughs)!r}, max_distance={max_distance}")
    X = normalize(venues.weeks, norm)[within]
    labels = [uses[codes[k]] for k in nearest[within]]
    return assemble(LANDUSE, X, labels, positions=venues.places[within], feature_names=DAYS)


def read_venues(path: Path, *, weight: str, min_checkins: int) -> Venues:
    """Gather check-ins by venue; of several places of a venue its median is taken, of several types the most frequent."""
    weeks: dict[str, Array] = defaultdict(lambda: np.zeros(7))
    places: dict[str, list[tuple[float, float]]] = defaultdict(list)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for at, fields in _checkins(path):
        venue = fields[1].strip()
        kind = fields[3].strip()
        if not venue or not kind:
            raise ValueError(f"{path}, line {at}: a check-in must have a venue and its category")
        lat, lon, offset = (read_number(fields[k], path, at) for k in (4, 5, 6))
        time = _read_time(fields[7], path, at)
        try:
            local = time + timedelta(minutes=offset)
        except OverflowError:
            raise ValueError(f"{path}, line {at}: {offset:g} minutes from {fields[7].strip()!r} is no date") from None
        weeks[venue][local.weekday()] += local.hour if weight == "hour" else 1
        places[venue].append((lon, lat))
        types[venue][kind] += 1
    names = sorted(venue for venue, visits in places.items() if len(visits) >= min_checkins)
    if not names:
        raise ValueError(f"min_checkins={min_checkins} leaves no venue of {path}")
    return Venues(
        np.array([weeks[name] for name in names]),
        read_places(np.array([np.median(places[name], axis=0) for name in names]), path),
        [_commonest(types[name]) for name in names],
    )


def mix_types(places: Array, types: Sequence[str], n_neighbors: int) -> Array:
    """Shares (V, types) of the types of the nearest venues around each, itself left out."""
    kinds, codes = np.unique(np.asarray(types), return_inverse=True)
    _, near = cKDTree(unit_vectors(places)).query(unit_vectors(places), n_neighbors + 1)
    shares = np.zeros((len(codes), kinds.size))
    for row, around in enumerate(near):
        others = around[around != row][:n_neighbors]
        shares[row] = np.bincount(codes[others], minlength=kinds.size)
    return shares / n_neighbors


def normalize(weeks: Array, norm: str) -> Array:
    """Divide each row by its sum, or by its length; rows of zeros stay."""
    sizes = weeks.sum(axis=1) if norm == "l1" else np.linalg.norm(weeks, axis=1)
    return np.asarray(weeks / np.where(sizes > 0, sizes, 1.0)[:, None])


def read_lots(path: Path, uses: Mapping[int, str]) -> tuple[Array, Index, list[str]]:
    """Places, land use codes and boroughs of the lots whose land use is among ``uses``.

    They are sorted, so that which of two lots at one place counts does not depend on the order of the file.
    """
    lots: list[tuple[float, float, int, str]] = []
    for at, row in read_csv(path):
        for name in ("landuse", "latitude", "longitude"):
            if name not in row:
                raise ValueError(f"{path} has no column {name!r}; it has {', '.join(list(row)[:8])}, ...")
        owner = row.get("borough", "").strip().upper() or _BOROUGHS.get(row.get("borocode", "").strip(), "")
        if owner not in _CODES:
            raise ValueError(f"{path}, line {at}: borough {owner!r} is not one of {', '.join(_CODES)}")
        if not all(row[name].strip() for name in ("landuse", "latitude", "longitude")):
            continue
        code = read_number(row["landuse"], path, at)
        if code in uses:
            lon, lat = (read_number(row[name], path, at) for name in ("longitude", "latitude"))
            lots.append((lon, lat, int(code), owner))
    if not lots:
        raise ValueError(f"{path} has no lots with land use and place")
    lots.sort()
    places = read_places(np.array([lot[:2] for lot in lots]), path)
    return places, np.array([lot[2] for lot in lots]), [lot[3] for lot in lots]


def _commonest(counts: Counter[str]) -> str:
    return min(counts.items(), key=lambda item: (-item[1], item[0]))[0]


def _checkins(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Eight fields of each check-in: user, venue, category, its name, latitude, longitude, minutes from UTC, UTC time."""
    if path.suffix == ".csv":
        names = ("userid", "venueid", "venuecategoryid", "venuecategory", "latitude", "longitude")
        for at, row in read_csv(path):
            missing = [name for name in (*names, "timezoneoffset", "utctimestamp") if name not in row]
            if missing:
                raise ValueError(f"{path} has no column {missing[0]!r}; it has {', '.join(row)}")
            yield at, [row[name] for name in (*names, "timezoneoffset", "utctimestamp")]
        return
    if path.suffix == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                inside = [name for name in archive.namelist() if Path(name).name == f"{_CHECKINS}.txt"]
                if not inside:
                    raise ValueError(f"{path} holds no {_CHECKINS}.txt")
                with archive.open(inside[0]) as file:
                    yield from _split(decoded_lines(file, path, "latin-1"), path)
        except DAMAGED as error:
            raise ValueError(f"{path} is not a whole zip archive: {error}") from error
        return
    yield from _split(numbered_lines(path, "latin-1"), path)


def _split(lines: Iterator[tuple[int, str]], path: Path) -> Iterator[tuple[int, list[str]]]:
    for at, line in lines:
        fields = line.split("\t")
        if len(fields) != 8:
            raise ValueError(f"{path}, line {at}: {len(fields)} fields separated by tabs, expected 8")
        yield at, fields


def _read_time(text: str, path: Path, line: int) -> datetime:
    """Read a time such as "Tue Apr 03 18:00:09 +0000 2012", whatever the language of this machine."""
    try:
        _, month, day, clock, zone, year = text.split()
        hour, minute, second = map(int, clock.split(":"))
        if zone != "+0000":
            raise ValueError(zone)
        return datetime(int(year), _MONTHS.index(month) + 1, int(day), hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{path}, line {line}: {text.strip()!r} is not a time such as 'Tue Apr 03 18:00:09 +0000 2012'"
        ) from None


def _prepared(name: str, plain: bool) -> dict[str, tuple[DataFile, ...]]:
    """Return the prepared form, which stands for the parameters as they are by default."""
    return {PREPARED: prepared_file(name)} if plain else {}


def _check_week(weight: str, norm: str, min_checkins: int) -> None:
    check_value("weight", weight, Rule(words=("hour", "count")))
    check_value("norm", norm, Rule(words=("l1", "l2")))
    check_value("min_checkins", min_checkins, Rule(integer=(1, INF)))


def _check_boroughs(boroughs: Any) -> set[str]:
    try:
        named = {boroughs} if isinstance(boroughs, str) else set(boroughs)
    except TypeError:  # no collection, or one of what cannot be a name
        named = set()
    if not named or not named <= set(_CODES):
        raise ValueError(
            f"boroughs={boroughs!r} is not allowed: boroughs must be some of {', '.join(map(repr, _CODES))}"
        )
    return named


def _check_classes(classes: Any) -> Mapping[int, str]:
    if not isinstance(classes, Mapping) or not classes or not set(classes) <= set(LAND_USES):
        raise ValueError(
            f"classes={classes!r} is not allowed: classes must be a dict from land use codes, 1 to 11, to names"
        )
    return classes
