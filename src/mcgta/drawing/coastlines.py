"""Coastlines: the arcs of Natural Earth's land that are in view of a map in longitude and latitude.

Natural Earth (https://www.naturalearthdata.com) is in the public domain. ``tools/coastlines.py`` makes the two files beside
this one, for maps at scales of 1:110 million and 1:50 million. Each is gzipped and holds integers as varints with alternating
signs: the number of arcs, the number of points of each, then the moves from each point to the next in longitude, and then
those in latitude, in hundredths of a degree.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from mcgta.runtime.types import Array, Index, Mask

FILES = {"110m": "coastlines_110m.gz", "50m": "coastlines_50m.gz"}
STEPS_PER_DEGREE = 100
WIDEST_DETAILED_DEGREES = 20.0
"""Views that are wider or higher show the coast of 1:110 million."""


@dataclass(frozen=True, eq=False)
class Coast:
    """All coastlines of a scale.

    Attributes
    ----------
    points : (M, 2) longitude and latitude, arc after arc
    joined : (M - 1,) whether a point and the next are on the same arc
    """

    points: Array
    joined: Mask


def coastlines(west: float, south: float, east: float, north: float) -> list[Array]:
    """Return the coastlines in view of a map, each (M, 2) with longitude and latitude in degrees.

    Arcs are cut to the stretches that meet the view, whose ends may lie just outside. A view may cross the antimeridian: its
    ``west`` is then larger than its ``east``, or ``east`` is beyond 180; longitudes are continuous from ``west`` on.

    Parameters
    ----------
    west, east : longitudes from -360 to 360
    south, north : latitudes from -90 to 90

    Examples
    --------
    >>> from mcgta.drawing.coastlines import coastlines
    >>> len(coastlines(-25, 63, -13, 67)) > 0, len(coastlines(-40, 30, -38, 32))  # Iceland, and the open sea
    (True, 0)
    """
    _check_view(west, south, east, north)
    east = east + 360 if east < west else east
    coast = _load("110m" if max(east - west, north - south) > WIDEST_DETAILED_DEGREES else "50m")
    arcs: list[Array] = []
    for turn in (-360, 0, 360):  # the same land, where longitudes count from elsewhere
        low = np.array([west - turn, south])
        high = np.array([east - turn, north])
        begin = coast.points[:-1]
        end = coast.points[1:]
        meets = ((np.minimum(begin, end) <= high) & (np.maximum(begin, end) >= low)).all(axis=1)
        arcs += [np.add(coast.points[first : last + 1], (turn, 0)) for first, last in _runs(coast.joined & meets)]
    return arcs


def _check_view(west: float, south: float, east: float, north: float) -> None:
    """Refuse what is no part of the earth."""
    for name, value, most in (("west", west, 360), ("east", east, 360), ("south", south, 90), ("north", north, 90)):
        if not -most <= value <= most:
            raise ValueError(f"{name}={value} must be degrees from {-most} to {most}")
    if south > north:
        raise ValueError(f"south={south} must not exceed north={north}")


def _runs(segments: Mask) -> list[tuple[int, int]]:
    """Return the first and last points of stretches of segments; segment k joins points k and k + 1."""
    edges = np.flatnonzero(np.diff(np.r_[False, segments, False]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


@cache
def _load(scale: str) -> Coast:
    """Read the coastlines of a scale."""
    packed = resources.files("mcgta.drawing").joinpath(FILES[scale]).read_bytes()
    values = _read_varints(gzip.decompress(packed))
    sizes = values[1 : values[0] + 1]
    moves = values[values[0] + 1 :].reshape(2, -1)
    joined = np.ones(moves.shape[1] - 1, dtype=bool)
    joined[np.cumsum(sizes)[:-1] - 1] = False
    return Coast(moves.cumsum(axis=1).T / STEPS_PER_DEGREE, joined)


def _read_varints(data: bytes) -> Index:
    """Return the integers of varints with alternating signs."""
    parts = np.frombuffer(data, dtype=np.uint8).astype(np.int64)
    ends = np.flatnonzero(parts < 128)
    begins = np.r_[0, ends[:-1] + 1]
    place = np.arange(parts.size) - np.repeat(begins, ends - begins + 1)
    values = np.add.reduceat((parts & 127) << (7 * place), begins)
    return np.where(values % 2 == 0, values // 2, -(values + 1) // 2)
