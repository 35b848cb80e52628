"""Distances between positions: of two, of a list of pairs, or as a table.

Contract
--------
Points are rows of a C-contiguous float64 table, and a kind says how far apart two of them are:

    FLAT          (N, p)  |a - b|
    SPHERE        (N, 3)  metres along the great circle; points are ``EARTH_RADIUS`` times unit vectors
    SPHERE_TIME   (N, 4)  the root of the sum of squares of that and of the difference in the last column

One function, :func:`place_distance`, measures in all kernels. So a distance has the same bits wherever it is computed, and
either way round. Distances are exact differences, never the expanded square, so two equal positions are at distance zero to
the last bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import kernel, literal_helper, native, native_rows, scalar
from mcgta.runtime.types import Array, Index

TIE = 1e-9
"""Distances that differ by less than this share are tied."""

EARTH_RADIUS = 6_371_008.8
"""Mean radius of the earth in metres (IUGG)."""

# Kinds of distance.
FLAT = 0
SPHERE = 1
SPHERE_TIME = 2


_atan2 = scalar(math.atan2, 2)


@literal_helper
def place_distance(points: Any, i: Any, others: Any, j: Any, kind: Any) -> Any:
    """Return the distance of row ``i`` of ``points`` and row ``j`` of ``others``; for use in kernels, which check the rows.

    The great circle is 2 R atan2(|a - b|, |a + b|): as accurate for neighbours a millimetre apart as for antipodes.
    """
    if kind == FLAT:
        shift = points[i, 0] - others[j, 0]
        if points.shape[1] == 1:
            return abs(shift)
        square = shift * shift
        for k in range(1, points.shape[1]):
            shift = points[i, k] - others[j, k]
            square += shift * shift
        return math.sqrt(square)
    apart = along = 0.0
    for k in range(3):
        shift = points[i, k] - others[j, k]
        total = points[i, k] + others[j, k]
        apart += shift * shift
        along += total * total
    arc = 2.0 * EARTH_RADIUS * _atan2(math.sqrt(apart), math.sqrt(along))
    if kind == SPHERE:
        return arc
    later = abs(points[i, 3] - others[j, 3])
    longer, shorter = (arc, later) if arc > later else (later, arc)
    if shorter == 0.0:
        return longer
    share = shorter / longer
    return longer * math.sqrt(1.0 + share * share)


def distance_table(points: Array, others: Array, kind: int) -> Array:
    """Return the distances from each of ``points`` (R, q) to each of ``others`` (C, q), as (R, C)."""
    out = np.empty((points.shape[0], others.shape[0]))
    _distance_table(native(points), native(others), kind, out)
    return out


@kernel("void(float64[:, ::1], float64[:, ::1], int64, float64[:, ::1])", literal=True)
def _distance_table(points: Any, others: Any, kind: Any, out: Any) -> None:
    for i in range(points.shape[0]):
        for j in range(others.shape[0]):
            out[i, j] = place_distance(points, i, others, j, kind)


def pair_distances(points: Array, i: Index, j: Index, kind: int) -> Array:
    """Return the distance of each pair of rows (i, j); these broadcast, and count from the end where they are negative."""
    count = points.shape[0]
    shape = np.broadcast_shapes(i.shape, j.shape)
    i, j = (np.broadcast_to(np.where(rows < 0, rows + count, rows), shape).ravel() for rows in (i, j))
    out = np.empty(shape)
    _pair_distances(native(points), native_rows(i, count), native_rows(j, count), kind, out.reshape(-1))
    return out


@kernel("void(float64[:, ::1], int64[::1], int64[::1], int64, float64[::1])", literal=True)
def _pair_distances(points: Any, i: Any, j: Any, kind: Any, out: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = place_distance(points, i[k], points, j[k], kind)


def unit_vectors(degrees: Array) -> Array:
    """Map (longitude, latitude) in degrees to points (..., 3) on the unit sphere."""
    lon = np.radians(degrees[..., 0])
    lat = np.radians(degrees[..., 1])
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)
