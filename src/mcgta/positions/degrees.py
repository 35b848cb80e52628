"""Longitude and latitude: which columns they are, how they are checked, and when planar numbers look like them."""

from __future__ import annotations

import numpy as np

from mcgta.positions.tables import Table
from mcgta.runtime.types import Array
from mcgta.runtime.warnings import warn

LONGITUDE_NAMES = ("lon", "lng", "long", "longitude", "decimallongitude")
LATITUDE_NAMES = ("lat", "latitude", "decimallatitude")

MAX_LONGITUDE_DEGREES = 180
MAX_LATITUDE_DEGREES = 90
MIN_SPREAD_DEGREES = 0.01
"""Places closer together than this (about a kilometre) are not taken for degrees."""
MIN_OFFSET_DEGREES = 10
"""Places nearer to longitude and latitude zero than this are taken for a map of one's own."""
WORLD_SPREAD_DEGREES = (180, 60)
"""Columns that span at least this much are taken for longitudes and latitudes of the whole world."""
WEB_MERCATOR_RADIUS_M = 6_378_137.0
MAX_MERCATOR_SPREAD_DEGREES = 10
"""Latitudes that a map in Web Mercator may span before its distances mislead."""

_ADVICE = "pass metric='haversine' (longitude first), or set a CRS"


def degree_columns(table: Table) -> list[int] | None:
    """Return the columns of (longitude, latitude), by their names; None where the names do not say."""
    lowered = [name.strip().lower() for name in table.names]
    lon = [k for k, name in enumerate(lowered) if name in LONGITUDE_NAMES]
    lat = [k for k, name in enumerate(lowered) if name in LATITUDE_NAMES]
    return [lon[0], lat[0]] if len(lon) == 1 and len(lat) == 1 else None


def read_degrees(table: Table) -> Array:
    """Return (longitude in [-180, 180), latitude), one way of writing for each place on earth."""
    if table.values.shape[1] != 2:
        raise ValueError(
            f"metric='haversine' takes two columns, longitude and latitude in degrees, got {table.values.shape[1]}"
        )
    lon, lat = table.values[:, degree_columns(table) or [0, 1]].T
    outside = np.flatnonzero(np.abs(lat) > MAX_LATITUDE_DEGREES)
    if outside.size:
        hint = ""
        if np.all(np.abs(lon) <= MAX_LATITUDE_DEGREES) and table.crs is None:
            hint = "; are the columns swapped? mcgta expects longitude first"
        raise ValueError(
            f"positions: latitude {lat[outside[0]]:g} in row {table.row(outside[0])} is outside [-90, 90] degrees "
            f"({outside.size} such rows){hint}"
        )
    outside = np.flatnonzero((lon < -MAX_LONGITUDE_DEGREES) | (lon > 2 * MAX_LONGITUDE_DEGREES))
    if outside.size:
        raise ValueError(
            f"positions: longitude {lon[outside[0]]:g} in row {table.row(outside[0])} is outside [-180, 360] degrees "
            f"({outside.size} such rows)"
        )
    lon = np.where(lon >= MAX_LONGITUDE_DEGREES, lon - 360, lon)
    return np.column_stack([np.where(np.abs(lat) == MAX_LATITUDE_DEGREES, 0.0, lon), lat])


def warn_of_planar_degrees(table: Table, *, chosen: bool) -> None:
    """Warn of places on earth that are about to be measured on a plane.

    Points without a CRS are looked at always. Plain columns are looked at only where the plane was ``chosen`` for the user,
    since an explicit metric='euclidean' is the user's word.
    """
    place = table.values[:, :2]
    if table.crs is None:
        if chosen and table.values.shape[1] == 2 and _could_be_degrees(place) and _is_off_origin(place):
            warn(
                f"positions: {_ranges(place)} look like degrees but are measured on a plane; {_ADVICE} "
                "(metric='euclidean' says that a plane is meant)"
            )
    elif table.crs.is_web_mercator:
        _warn_of_mercator(place[:, 1])
    elif not table.crs.is_known and _could_be_degrees(place):
        warn(
            f"positions: points without a CRS, at {_ranges(place)}, look like degrees but are measured on a plane; {_ADVICE}"
        )


def _could_be_degrees(place: Array) -> bool:
    """Whether two columns are broken numbers in the range of degrees, in either order, wider than a unit square."""
    largest = np.sort(np.abs(place).max(axis=0, initial=0.0))
    spread = np.ptp(place, axis=0)
    return bool(
        largest[0] <= MAX_LATITUDE_DEGREES
        and 1 < largest[1] <= MAX_LONGITUDE_DEGREES
        and (spread >= MIN_SPREAD_DEGREES).all()
        and np.mean(place == np.round(place)) < 0.5
    )


def _is_off_origin(place: Array) -> bool:
    """Whether the places are a region away from (0, 0), or all over the world; a map of one's own begins near (0, 0)."""
    spread = np.ptp(place, axis=0)
    offset = np.abs(place).min(axis=0)
    away = (offset >= spread / 2) & (offset >= MIN_OFFSET_DEGREES)
    return bool(away.any() or (np.sort(spread)[::-1] >= WORLD_SPREAD_DEGREES).all())


def _ranges(place: Array) -> str:
    low = place.min(axis=0)
    high = place.max(axis=0)
    return " and ".join(f"{low[k]:.4g} to {high[k]:.4g}" for k in range(2))


def _warn_of_mercator(y: Array) -> None:
    """Warn of metres in Web Mercator that span so many latitudes that they are no metres."""
    latitude = np.degrees(np.arctan(np.sinh(y / WEB_MERCATOR_RADIUS_M)))
    spread = float(np.ptp(latitude)) if latitude.size else 0.0
    if spread > MAX_MERCATOR_SPREAD_DEGREES:
        warn(
            f"positions: EPSG:3857 (Web Mercator) stretches distances with latitude, of which these points span {spread:.3g} "
            "degrees; project them to a local CRS, or convert them to degrees with to_crs(4326)"
        )
