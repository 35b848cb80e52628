"""The least and the largest distance of positions, without measuring every pair where there are many."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from mcgta.kernels.positions.metrics import EARTH_RADIUS, FLAT, SPHERE_TIME
from mcgta.kernels.tree.build import bound_boxes, build_tree
from mcgta.positions.positions import Positions
from mcgta.runtime.parallel import triangle
from mcgta.runtime.types import Array, Index

_TILE = 1024
_MAX_MEASURED_PLACES = 1400
"""Up to so many places every pair is measured.

No more places that are all farther apart than half of the largest distance fit into four dimensions, even where distances are
up to pi / 2 times those of points.
"""
_ROUNDING_ROOM = 1 + 1e-9


class Extent(NamedTuple):
    """Least and largest positive distance."""

    least: float
    largest: float


def extent(positions: Positions) -> Extent:
    """Return the least and the largest positive distance within groups.

    The least counts as zero where there are so many places that it cannot exceed half of the largest.
    """
    if positions.points is None:
        measured = _measure(positions)
        return Extent(measured.least if np.isfinite(measured.least) else 0.0, measured.largest)
    least = np.inf
    largest = 0.0
    for code in np.unique(positions.groups):
        members = np.flatnonzero(positions.groups == code)
        _, chosen = np.unique(positions.points[members], axis=0, return_index=True)
        places = members[chosen]
        if places.size <= _MAX_MEASURED_PLACES:
            measured = _measure(positions.take(places))
            least = min(least, measured.least)
            largest = max(largest, measured.largest)
        else:
            least = 0.0
            largest = max(largest, _farthest(positions.take(places)))
    return Extent(least if np.isfinite(least) else 0.0, largest)


def _farthest(positions: Positions) -> float:
    """Return the largest distance, by halving boxes of places and dropping pairs of boxes that are closer than one found."""
    assert positions.points is not None
    assert positions.kind is not None
    points = positions.points
    if positions.kind not in UPPER_BOUNDS:  # on the sphere the farthest is the nearest to the antipode
        _, other = KDTree(points).query(-points)
        return float(positions.of_pairs(np.arange(len(positions)), other).max())
    at_most = UPPER_BOUNDS[positions.kind]
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
        first_pairs = positions.of_pairs(order[nodes[left, 0]], order[nodes[right, 0]])
        best = max(best, float(first_pairs.max()))
        most = at_most(boxes[left], boxes[right])
        open_ = np.argsort(-most, kind="stable")[: np.count_nonzero(most > best)]
        left = left[open_]
        right = right[open_]
        leaves = (nodes[left, 2] < 0) & (nodes[right, 2] < 0)
        for u, v in zip(left[leaves].tolist(), right[leaves].tolist(), strict=True):
            if at_most(boxes[[u]], boxes[[v]])[0] > best:
                inside = positions.between(order[nodes[u, 0] : nodes[u, 1]], order[nodes[v, 0] : nodes[v, 1]])
                best = max(best, float(inside.max()))
        left, right = _halve(left[~leaves], right[~leaves], nodes)
    return best


def _flat_upper_bound(a: Array, b: Array) -> Array:
    """Return what the distance of a place in one box from one in another cannot exceed, for pairs of boxes."""
    return np.asarray(_ROUNDING_ROOM * np.linalg.norm(_largest_shift(a, b), axis=1))


def _sphere_time_upper_bound(a: Array, b: Array) -> Array:
    """Return the same on the globe with time."""
    shift = _largest_shift(a, b)
    chord = np.linalg.norm(shift[:, :3], axis=1) / (2 * EARTH_RADIUS)
    # Near the antipode a chord says little about the arc, and its rounding much.
    arc = 2 * EARTH_RADIUS * np.arcsin(np.minimum(chord + 1e-15, 1.0))
    return np.asarray(_ROUNDING_ROOM * np.hypot(arc, shift[:, 3]))


def _largest_shift(a: Array, b: Array) -> Array:
    """Return the largest difference along each axis between a point of one box and one of another."""
    columns = a.shape[1] // 2
    return np.asarray(np.maximum(a[:, columns:] - b[:, :columns], b[:, columns:] - a[:, :columns]))


UPPER_BOUNDS: dict[int, Callable[[Array, Array], Array]] = {
    FLAT: _flat_upper_bound,
    SPHERE_TIME: _sphere_time_upper_bound,
}
"""Bounds on the distance between boxes, by the kind of distance; the sphere alone has a faster way."""


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


def _measure(positions: Positions) -> Extent:
    """Return least and largest positive finite distance of all pairs; infinity and zero where there are none."""
    least = np.inf
    largest = 0.0
    for rows, cols in triangle(len(positions), _TILE):
        distance = positions.between(rows, cols)
        distance = distance[np.isfinite(distance) & (distance > 0)]
        largest = max(largest, float(distance.max(initial=0.0)))
        least = min(least, float(distance.min(initial=np.inf)))
    return Extent(least, largest)
