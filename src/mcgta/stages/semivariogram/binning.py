"""Bins of distance for the semivariogram.

A rule for bins is a function that returns their edges, such as :func:`lag_edges`. What another rule returns can be passed as
``bins``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
from scipy.spatial import KDTree

from mcgta.kernels.positions.metrics import TIE
from mcgta.positions.extent import extent
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index

DEFAULT_BINS = 40

MAX_BINS = 10_000
"""Bins of a semivariogram at most; the curve is read in tens of them, and each takes time and memory."""

_LONG_SERIES_ROWS = 2000
_POWER = 2.0  # of k/bins, which the k-th edge is at
_NEAR_PLACES = 8  # the nearest of a place, which the first bin is to reach
_ASKED_PLACES = 256  # places whose nearest are looked for


def make_edges(positions: Positions, bins: int | Sequence[float] | Array, max_lag: float | None) -> Array:
    """Return the edges: as given, or at (k/bins)^2 of the maximum lag, which is half the largest distance by default.

    The least distance is within the maximum lag in any case. Where that is left to the default and there are more than 2,000
    observations, the power is larger if need be for the first edge to be within reach of a few neighbours: over a long series
    all of the rise would be in one bin.
    """
    check_bins(bins, max_lag)
    if not is_count(bins):
        return np.asarray(bins, dtype=np.float64)
    count = int(bins)
    if max_lag is None:
        least, largest = extent(positions)
        if largest == 0:
            raise ValueError(
                "positions: all observations of each group are at one place, so there is no distance to look at"
            )
        max_lag = max(largest / 2, least)
        if len(positions) > _LONG_SERIES_ROWS and count > 1 and (near := _typical_spacing(positions)) > 0:
            power = max(_POWER, np.log(max_lag / near) / np.log(count))
            return lag_edges(max_lag, count, power)
    return lag_edges(max_lag, count)


def lag_edges(max_lag: float, bins: int = DEFAULT_BINS, power: float = _POWER) -> Array:
    """Return the edges of bins from zero to a maximum lag, the k-th at (k/bins)^power of it.

    Examples
    --------
    >>> from mcgta.stages.semivariogram.binning import lag_edges
    >>> lag_edges(100.0, 4)
    array([  0.  ,   6.25,  25.  ,  56.25, 100.  ])
    """
    return np.asarray(max_lag * (np.arange(bins + 1) / bins) ** power, dtype=np.float64)


def is_count(bins: int | Sequence[float] | Array) -> TypeGuard[int]:
    """Whether bins are told by their number, and not by their edges."""
    return isinstance(bins, (int, np.integer))


def check_bins(bins: int | Sequence[float] | Array, max_lag: float | None) -> None:
    """Refuse more bins than a semivariogram can use, edges that do not increase, and a maximum lag beside edges."""
    if is_count(bins):
        if not 1 <= bins <= MAX_BINS:
            raise ValueError(f"bins={bins} is not allowed: bins must be from 1 to {MAX_BINS}, or the edges of the bins")
        return
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or edges.size < 2 or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise ValueError(f"bins={bins!r} is not allowed: edges must be at least two numbers that increase")
    if edges.size - 1 > MAX_BINS:
        raise ValueError(f"bins gives the edges of {edges.size - 1} bins; at most {MAX_BINS} are allowed")
    if max_lag is not None:
        raise ValueError(f"max_lag={max_lag!r} has no effect where bins gives the edges; end them there")


def _typical_spacing(positions: Positions) -> float:
    """Return the distance of the eighth nearest place, in the middle of some observations; 0 where there are fewer.

    Tables of distances are not looked through.
    """
    if positions.points is None:
        return 0.0
    code = np.bincount(positions.groups).argmax()
    points = np.unique(positions.points[positions.groups == code], axis=0)
    if points.shape[0] <= _NEAR_PLACES:
        return 0.0
    asked = points[np.linspace(0, points.shape[0] - 1, _ASKED_PLACES).astype(int)]
    return float(np.median(KDTree(points).query(asked, k=[_NEAR_PLACES + 1])[0]))


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
