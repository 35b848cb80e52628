"""Distances between positions, row by row or as a table.

Contract: ``a`` (..., p) and ``b`` (..., p) broadcast against each other over the leading axes; the result has the
broadcast shape without the last axis. Distances are exact differences, never the expanded square, so two equal
positions are at distance zero to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.compiled import kernel, native
from mcgta.types import Array

TIE = 1e-9
"""Distances that differ by less than this share are tied."""

EARTH_RADIUS = 6_371_008.8
"""Mean radius of the earth in metres (IUGG)."""


def euclidean(a: Array, b: Array) -> Array:
    """|a - b|."""
    if a.shape[-1] == 1:
        return np.abs(a[..., 0] - b[..., 0])
    square = (a[..., 0] - b[..., 0]) ** 2
    for k in range(1, a.shape[-1]):
        square += (a[..., k] - b[..., k]) ** 2
    return np.sqrt(square)


def euclidean_table(a: Array, b: Array) -> Array:
    """|a_i - b_j| for points (R, p) and (C, p), as (R, C), with the bits that :func:`euclidean` gives."""
    out = np.empty((a.shape[0], b.shape[0]))
    _euclidean_table(native(a), native(b), out)
    return out


@kernel("void(float64[:, ::1], float64[:, ::1], float64[:, ::1])", literal=True)
def _euclidean_table(a: Any, b: Any, out: Any) -> None:
    """One pass over the table."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            shift = a[i, 0] - b[j, 0]
            if a.shape[1] == 1:
                out[i, j] = abs(shift)
                continue
            square = shift * shift
            for k in range(1, a.shape[1]):
                shift = a[i, k] - b[j, k]
                square += shift * shift
            out[i, j] = np.sqrt(square)


def unit_vectors(degrees: Array) -> Array:
    """Map (longitude, latitude) in degrees to points (..., 3) on the unit sphere."""
    lon, lat = np.radians(degrees[..., 0]), np.radians(degrees[..., 1])
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def great_circle(a: Array, b: Array) -> Array:
    """Return metres along the great circle between unit vectors.

    2 R atan2(|a - b|, |a + b|): as accurate for neighbours a millimetre apart as for antipodes.
    """
    return 2 * EARTH_RADIUS * np.arctan2(euclidean(a, b), euclidean(a, -b))
