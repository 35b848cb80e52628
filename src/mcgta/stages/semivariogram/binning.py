"""Bins of distance for the semivariogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import KDTree

from mcgta.kernels.positions.metrics import EARTH_RADIUS, FLAT, SPHERE, TIE
from mcgta.kernels.tree.build import bound_boxes, build_tree
from mcgta.positions.positions import Positions
from mcgta.runtime.parallel import triangle
from mcgta.runtime.types import Array, Index

MAX_BINS = 10_000
"""Bins of a semivariogram at most; the curve is read in tens of them, and each takes time and memory."""

_TILE_ROWS = 1024
# Places that are all farther apart than half of the largest distance: no more fit into four dimensions, even where distances
# are up to pi / 2 times those of points.
_FEW_PLACES = 1400
_LONG_SERIES_ROWS = 2000  # observations
_NEAR_PLACES = 8
_ASKED_PLACES = 256


def make_edges(positions: Positions, bins: int | Sequence[float] | Array, max_lag: float | None) -> Array:
    """Return the edges: as given, or at (k/bins)^2 of the maximum lag, which is half the largest distance by default.

    The least distance is within the maximum lag in any case. Where that is left to the default and there are more than 2,000
    observations, the power is larger if need be for the first edge to be within reach of a few neighbours: over a long series
    all of the rise would be in one bin.
    """
    check_bins(bins)
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
        if len(positions) > _LONG_SERIES_ROWS and bins > 1 and (near := _typical(positions)) > 0:
            power = max(2.0, np.log(max_lag / near) / np.log(bins))
            return np.asarray(max_lag * (np.arange(bins + 1) / bins) ** power, dtype=np.float64)
    return np.asarray(max_lag * (np.arange(bins + 1) / bins) ** 2, dtype=np.float64)


def check_bins(bins: int | Sequence[float] | Array) -> None:
    """Refuse more bins than a semivariogram can use, or edges that do not increase, before any work."""
    if isinstance(bins, (int, np.integer)):
        if not 1 <= bins <= MAX_BINS:
            raise ValueError(f"bins={bins} is not allowed: bins must be from 1 to {MAX_BINS}, or the edges of the bins")
        return
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or edges.size < 2 or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise ValueError(f"bins={bins!r} is not allowed: edges must be at least two numbers that increase")
    if edges.size - 1 > MAX_BINS:
        raise ValueError(f"bins gives the edges of {edges.size - 1} bins; at most {MAX_BINS} are allowed")


def extent(positions: Positions) -> tuple[float, float]:
    """Return the least and the largest positive distance within groups.

    The least counts as zero where there are so many places that it cannot exceed half of the largest.
    """
    if positions.points is None:
        least, largest = _measure(positions)
        return (least if np.isfinite(least) else 0.0), largest
    least = np.inf
    largest = 0.0
    for code in np.unique(positions.groups):
        members = np.flatnonzero(positions.groups == code)
        _, chosen = np.unique(positions.points[members], axis=0, return_index=True)
        places = members[chosen]
        if places.size <= _FEW_PLACES:
            low, high = _measure(positions.take(places))
            least = min(least, low)
            largest = max(largest, high)
        else:
            least = 0.0
            largest = max(largest, _farthest(positions.take(places)))
    return (least if np.isfinite(least) else 0.0), largest


def _typical(positions: Positions) -> float:
    """Return the distance of the eighth nearest place, in the middle of some observations; zero where there are no so many.

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


def _farthest(positions: Positions) -> float:
    """Return the largest distance, by halving boxes of places and dropping pairs of boxes that are closer than one found."""
    assert positions.points is not None
    points = positions.points
    if positions.kind == SPHERE:  # the farthest is the nearest to the antipode
        _, other = KDTree(points).query(-points)
        return float(positions.of_pairs(np.arange(len(positions)), other).max())
    order, nodes = build_tree(points, np.ones(points.shape[1]))
    boxes = bound_boxes(points[order], nodes)
    best = 0.0
    at = order[:1]
    for _ in range(4):  # from a place to the farthest from it
        distance = positions.between(at, order)[0]
        at = order[[distance.argmax()]]
        best = max(best, float(distance.max()))
    left = np.zeros(1, dtype=np.int64)
    right = np.zeros(1, dtype=np.int64)
    while left.size:
        first = order[nodes[left, 0]], order[nodes[right, 0]]
        best = max(best, float(positions.of_pairs(*first).max()))
        most = _at_most(boxes[left], boxes[right], positions.kind)
        open_ = np.argsort(-most, kind="stable")[: np.count_nonzero(most > best)]
        left = left[open_]
        right = right[open_]
        leaves = (nodes[left, 2] < 0) & (nodes[right, 2] < 0)
        for u, v in zip(left[leaves].tolist(), right[leaves].tolist(), strict=True):
            if _at_most(boxes[[u]], boxes[[v]], positions.kind)[0] > best:
                inside = (order[nodes[w, 0] : nodes[w, 1]] for w in (u, v))
                best = max(best, float(positions.between(*inside).max()))
        left, right = _halve(left[~leaves], right[~leaves], nodes)
    return best


def _at_most(a: Array, b: Array, kind: int | None) -> Array:
    """Return what the distance of a place in one box from one in another cannot exceed, for pairs of boxes."""
    columns = a.shape[1] // 2
    shift = np.maximum(a[:, columns:] - b[:, :columns], b[:, columns:] - a[:, :columns])
    room = 1 + 1e-9
    if kind == FLAT:
        return room * np.linalg.norm(shift, axis=1)
    chord = np.linalg.norm(shift[:, :3], axis=1) / (2 * EARTH_RADIUS)
    # Near the antipode a chord says little about the arc, and its rounding much.
    arc = 2 * EARTH_RADIUS * np.arcsin(np.minimum(chord + 1e-15, 1.0))
    return room * np.hypot(arc, shift[:, 3])


def _halve(left: Index, right: Index, nodes: Index) -> tuple[Index, Index]:
    """Replace the larger node of each pair by its children; of a node and itself there are three pairs of children."""
    size = nodes[:, 1] - nodes[:, 0]
    same = left == right
    swap = (nodes[left, 2] < 0) | ((nodes[right, 2] >= 0) & (size[right] > size[left]))
    large = np.where(swap, right, left)[~same]
    small = np.where(swap, left, right)[~same]
    child = nodes[left[same], 2]
    return (
        np.concatenate([nodes[large, 2], nodes[large, 2] + 1, child, child, child + 1]),
        np.concatenate([small, small, child, child + 1, child + 1]),
    )


def _measure(positions: Positions) -> tuple[float, float]:
    """Least and largest positive finite distance, by all of them; infinity and zero where there are none."""
    least = np.inf
    largest = 0.0
    for rows, cols in triangle(len(positions), _TILE_ROWS):
        distance = positions.between(rows, cols)
        distance = distance[np.isfinite(distance) & (distance > 0)]
        largest = max(largest, float(distance.max(initial=0.0)))
        least = min(least, float(distance.min(initial=np.inf)))
    return least, largest
