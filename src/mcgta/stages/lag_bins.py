"""Bins of distance for the semivariogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mcgta.kernels.metrics import TIE
from mcgta.parallel import triangle
from mcgta.positions import Positions
from mcgta.types import Array, Index

_TILE = 1024
# Places that are all farther apart than half of the largest distance: no more fit into four dimensions.
_FEW_PLACES = 700


def make_edges(positions: Positions, bins: int | Sequence[float] | Array, max_lag: float | None) -> Array:
    """Return the edges: as given, or at (k/bins)^2 of the maximum lag, which is half the largest distance by default.

    The least distance is within the maximum lag in any case.
    """
    if not isinstance(bins, (int, np.integer)):
        if max_lag is not None:
            raise ValueError(f"max_lag={max_lag!r} has no effect where bins gives the edges; end them there")
        return np.asarray(bins, dtype=np.float64)
    if max_lag is None:
        least, largest = extent(positions)
        if largest == 0:
            raise ValueError(
                "positions: all observations of each group are at one place, so there is no distance to look at"
            )
        max_lag = max(largest / 2, least)
    return np.asarray(max_lag * (np.arange(bins + 1) / bins) ** 2, dtype=np.float64)


def extent(positions: Positions) -> tuple[float, float]:
    """Return the least and the largest positive distance within groups.

    The least counts as zero where there are so many places that it cannot exceed half of the largest. Where distances grow with
    those of points, only points near the border of their group are measured: with c the middle of a group's points, R the
    largest distance from it and D a distance already found, neither end of a longer one can be within D - R of c.
    """
    if positions.points is None or (positions.metric == "spacetime" and positions.space == "haversine"):
        least, largest = _measure(positions)
        return (least if np.isfinite(least) else 0.0), largest
    least, largest = np.inf, 0.0
    for code in np.unique(positions.groups):
        members = np.flatnonzero(positions.groups == code)
        points, chosen = np.unique(positions.points[members], axis=0, return_index=True)
        places = members[chosen]
        if places.size <= _FEW_PLACES:
            low, high = _measure(positions.take(places))
            least, largest = min(least, low), max(largest, high)
            continue
        least = 0.0
        reach = np.linalg.norm(points - points.mean(axis=0), axis=1)
        found = max(_sweep(points), 0.0) * (1 - 1e-9)
        outer = places[reach + reach.max() >= found]
        largest = max(largest, _measure(positions.take(outer))[1])
    return (least if np.isfinite(least) else 0.0), largest


def bin_of(distance: Array, edges: Array, rounding: float) -> Index:
    """Return the bin of each distance, -1 outside; a bin holds its left edge, the last one both.

    A distance that rounding may have put on either side of an edge counts as on it, so that neither the unit of the
    positions nor their offset moves pairs of a regular grid from bin to bin.
    """
    slack = TIE * np.where(np.isfinite(distance), distance, 0.0) + rounding
    where = np.searchsorted(edges, distance + slack, side="right") - 1
    last = (distance >= edges[-1] - slack) & (distance <= edges[-1] + slack)
    where = np.where(last, edges.size - 2, where)
    return np.where(where < edges.size - 1, where, -1)


def _sweep(points: Array) -> float:
    """Return a distance that occurs and is among the largest: go from a point to the farthest from it, a few times."""
    at, best = points[0], 0.0
    for _ in range(4):
        distance = np.linalg.norm(points - at, axis=1)
        at, best = points[distance.argmax()], max(best, float(distance.max()))
    return best


def _measure(positions: Positions) -> tuple[float, float]:
    """Least and largest positive finite distance, by all of them; infinity and zero where there are none."""
    least, largest = np.inf, 0.0
    for rows, cols in triangle(len(positions), _TILE):
        distance = positions.between(rows, cols)
        distance = distance[np.isfinite(distance) & (distance > 0)]
        largest = max(largest, float(distance.max(initial=0.0)))
        least = min(least, float(distance.min(initial=np.inf)))
    return least, largest
