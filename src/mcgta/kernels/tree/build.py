"""A tree over models, with bounds of W2 squared for whole nodes of it.

Models are points z = (mu, R, s): mean, symmetric root of the covariance by its lower triangle (entries off the diagonal
times the root of two), roots of its eigenvalues in order. With m, h and e the squared distances of the three parts,

    m + max(h / 2, e)  <=  W  <=  m + h,

so the box of a node bounds W of all pairs in it. A last coordinate, c/2, makes these bounds of T = W / (c_i/2 + c_j/2)
(:mod:`mcgta.kernels.gaussians.calibration`); without it W is what is bounded. Nodes are halved along their widest side
until at most ``LEAF`` points are left, if not told otherwise. Points are kept in the order of the leaves, and so is
everything that goes with
them.

Contract
--------
``points``   (N, D)      z in the order of the tree, with c/2 or without
``nodes``    (V, 3)      first point, the one after the last, and the first of two children that stand side by side, after
                         their parent; -1 for a leaf
``boxes``    (V, 2 D)    least and largest of each coordinate
``places``   (V, 2 p)    the same for positions, the group being the last column
``turned``   flat        the points by groups of ``LEAF``, each coordinate of a group side by side; infinite behind the last
``fans``     (V,)        which fan a node has, -1 for a leaf and for what is within a fan
``spokes``   flat        the ``FAN`` nodes of each fan: three levels below its node, or the leaves before; -1 for none
``wide``     flat        their boxes, each coordinate of a fan side by side; empty for none
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel, native
from mcgta.kernels.simd.lanes import WIDE, WIDTH, get, get16, lean, put, splat, splat16, where_less
from mcgta.runtime.types import Array, Index

LEAF = WIDE
FAN = WIDTH


def build_tree(points: Array, weights: Array, leaf: int = LEAF, *, full: bool = False) -> tuple[Index, Index]:
    """Return the order of the points (N,) and the nodes (V, 3); sides are compared times ``weights`` (D,).

    With ``full``, nodes are halved such that all leaves but one have as many points as they may.
    """
    count = points.shape[0]
    order = np.arange(count)
    nodes = np.empty((2 * max(1, 2 * (count // leaf) + 1) + 1, 3), dtype=np.int64)
    used = _build(native(points), native(weights), leaf, full, order, nodes, np.empty((2, points.shape[1])))
    return order, nodes[:used].copy()


def bound_boxes(values: Array, nodes: Index) -> Array:
    """Return the least and the largest of each column (N, p) for every node, (V, 2 p)."""
    boxes = np.empty((nodes.shape[0], 2 * values.shape[1]))
    _bound(native(values), nodes, boxes)
    return boxes


def turn_points(points: Array) -> Array:
    """Return points (N, D) by groups of ``LEAF``, coordinate by coordinate; see above."""
    count, columns = points.shape
    out = np.full((-(-count // LEAF), columns, LEAF), np.inf)
    whole = count // LEAF
    out[:whole] = points[: whole * LEAF].reshape(whole, LEAF, columns).transpose(0, 2, 1)
    if count > whole * LEAF:
        out[whole, :, : count - whole * LEAF] = points[whole * LEAF :].T
    return out.reshape(-1)


def spread_fans(nodes: Index, boxes: Array) -> tuple[Index, Index, Array]:
    """Return fans, spokes and wide of a tree; see above."""
    fans = np.full(nodes.shape[0], -1)
    found = []
    used = 0
    level = np.zeros(1, dtype=np.int64)
    while (level := level[nodes[level, 2] >= 0]).size:
        fans[level] = used + np.arange(level.size)
        used += level.size
        spokes = level[:, None]
        for _ in range(3):
            child = np.where(spokes >= 0, nodes[spokes, 2], -1)
            spokes = np.stack([np.where(child >= 0, child, spokes), np.where(child >= 0, child + 1, -1)], axis=2)
            spokes = spokes.reshape(level.size, -1)
        found.append(spokes)
        level = spokes[spokes >= 0]
    members = np.concatenate(found) if found else np.empty((0, FAN), dtype=np.int64)
    half = boxes.shape[1] // 2
    empty = np.repeat([np.inf, -np.inf], half)
    wide = np.where(members[:, :, None] >= 0, boxes[members], empty).transpose(0, 2, 1)
    return fans, members.reshape(-1), np.ascontiguousarray(wide).reshape(-1)


@kernel(
    "int64(float64[:, ::1], float64[::1], int64, boolean, int64[::1], int64[:, ::1], float64[:, ::1])", literal=True
)
def _build(points: Any, weights: Any, leaf: int, full: bool, order: Any, nodes: Any, side: Any) -> int:
    """Halve nodes at their median; ties stand in the order of the rows."""
    lean()
    count, columns = points.shape
    nodes[0, 0] = 0
    nodes[0, 1] = count
    nodes[0, 2] = -1
    used = 1
    v = 0
    while v < used:
        first = nodes[v, 0]
        last = nodes[v, 1]
        if last - first > leaf:
            for k in range(columns):
                side[0, k] = np.inf
                side[1, k] = -np.inf
            for p in range(first, last):
                for k in range(columns):
                    value = points[order[p], k]
                    side[0, k] = min(side[0, k], value)
                    side[1, k] = max(side[1, k], value)
            widest = 0.0
            axis = -1
            for k in range(columns):
                width = (side[1, k] - side[0, k]) * weights[k]
                if width > widest:
                    widest = width
                    axis = k
            if axis >= 0:  # else all are at one place
                middle = (first + last) // 2
                if full:
                    middle = first + ((last - first + 2 * leaf - 1) // (2 * leaf)) * leaf
                _select(points, axis, order, first, last - 1, middle)
                for child in range(2):
                    nodes[used + child, 0] = middle if child else first
                    nodes[used + child, 1] = last if child else middle
                    nodes[used + child, 2] = -1
                nodes[v, 2] = used
                used += 2
        v += 1
    return used


@helper
def _before(points: Any, axis: int, a: int, b: int) -> bool:
    """Whether row a comes before row b along an axis."""
    return points[a, axis] < points[b, axis] or (points[a, axis] == points[b, axis] and a < b)


@helper
def _select(points: Any, axis: int, order: Any, low: int, high: int, middle: int) -> None:
    """Bring the middle-th of order[low .. high] to its place, smaller ones before it and larger ones behind (Hoare 1961)."""
    while low < high:
        pivot = order[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while _before(points, axis, order[i], pivot):
                i += 1
            while _before(points, axis, pivot, order[j]):
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel("void(float64[:, ::1], int64[:, ::1], float64[:, ::1])", literal=True)
def _bound(values: Any, nodes: Any, boxes: Any) -> None:
    """Boxes of the leaves, and of the others from those of their children."""
    lean()
    columns = values.shape[1]
    for v in range(nodes.shape[0] - 1, -1, -1):
        child = nodes[v, 2]
        for k in range(columns):
            if child >= 0:
                boxes[v, k] = min(boxes[child, k], boxes[child + 1, k])
                boxes[v, columns + k] = max(boxes[child, columns + k], boxes[child + 1, columns + k])
                continue
            low = np.inf
            high = -np.inf
            for p in range(nodes[v, 0], nodes[v, 1]):
                low = min(low, values[p, k])
                high = max(high, values[p, k])
            boxes[v, k] = low
            boxes[v, columns + k] = high


@helper
def in_units_of(least: float, most: float, low: float, high: float) -> tuple[float, float]:
    """Bounds of T, given those of W and of the sum of both c/2.

    Where the latter may be zero the upper one is infinite or NaN, which decides nothing. A node without rows is infinitely far.
    """
    return least / (high if high > 0.0 else 1.0), most / low


@helper
def point_bounds(points: Any, a: int, b: int, d: int) -> tuple[float, float]:
    """Bounds of W for two points."""
    end = d + d * (d + 1) // 2
    mean = 0.0
    for k in range(d):
        shift = points[a, k] - points[b, k]
        mean += shift * shift
    root = 0.0
    for k in range(d, end):
        shift = points[a, k] - points[b, k]
        root += shift * shift
    spectrum = 0.0
    for k in range(end, end + d):
        shift = points[a, k] - points[b, k]
        spectrum += shift * shift
    least = mean + max(0.5 * root, spectrum)
    most = mean + root
    if points.shape[1] > end + d:
        total = points[a, end + d] + points[b, end + d]
        return in_units_of(least, most, total, total)
    return least, most


@helper
def box_bounds(points: Any, a: int, boxes: Any, v: int, d: int) -> tuple[float, float]:
    """Bounds of W for a point and all of a node."""
    end = d + d * (d + 1) // 2
    columns = points.shape[1]
    least = most = root = spectrum = 0.0
    for k in range(end + d):
        value = points[a, k]
        low = boxes[v, k] - value
        high = value - boxes[v, columns + k]
        out = max(max(low, high), 0.0)
        far = max(-low, -high)
        if k < d:
            least += out * out
            most += far * far
        elif k < end:
            root += out * out
            most += far * far
        else:
            spectrum += out * out
    least += max(0.5 * root, spectrum)
    if columns > end + d:
        low = boxes[v, end + d]
        high = boxes[v, columns + end + d]
        return in_units_of(least, most, points[a, end + d] + low, points[a, end + d] + high)
    return least, most


@helper
def node_bounds(boxes: Any, u: int, v: int, d: int) -> tuple[float, float]:
    """Bounds of W for all of one node and all of another."""
    end = d + d * (d + 1) // 2
    columns = boxes.shape[1] // 2
    least = most = root = spectrum = 0.0
    for k in range(end + d):
        low = boxes[v, k] - boxes[u, columns + k]
        high = boxes[u, k] - boxes[v, columns + k]
        out = max(max(low, high), 0.0)
        far = max(-low, -high)
        if k < d:
            least += out * out
            most += far * far
        elif k < end:
            root += out * out
            most += far * far
        else:
            spectrum += out * out
    least += max(0.5 * root, spectrum)
    if columns > end + d:
        k = end + d
        return in_units_of(least, most, boxes[u, k] + boxes[v, k], boxes[u, columns + k] + boxes[v, columns + k])
    return least, most


@helper
def leaf_bounds(points: Any, a: int, turned: Any, first: int, d: int, bounds: Any) -> None:
    """Bounds of W for a point and ``LEAF`` others from ``first`` on, a multiple: the lower ones, then the upper ones."""
    lean()
    end = d + d * (d + 1) // 2
    at = first * points.shape[1]
    mean = root = spectrum = splat16(0.0)
    for k in range(d):
        shift = get16(turned, at, k) - points[a, k]
        mean = mean + shift * shift
    for k in range(d, end):
        shift = get16(turned, at, k) - points[a, k]
        root = root + shift * shift
    for k in range(end, end + d):
        shift = get16(turned, at, k) - points[a, k]
        spectrum = spectrum + shift * shift
    half = root * 0.5
    least = mean + where_less(half, spectrum, spectrum, half)
    most = mean + root
    if points.shape[1] > end + d:
        total = get16(turned, at, end + d) + points[a, end + d]
        least = least / where_less(splat16(0.0), total, total, splat16(1.0))
        most = most / total
    put(bounds, 0, 0, least)
    put(bounds, 0, 1, most)


@helper
def fan_bounds(points: Any, a: int, wide: Any, fan: int, d: int, bounds: Any) -> None:
    """Bounds of W for a point and all of each node of a fan: the lower ones, then the upper ones."""
    lean()
    end = d + d * (d + 1) // 2
    columns = points.shape[1]
    at = fan * 2 * columns * FAN
    zero = splat(0.0)
    least = root = spectrum = most = zero
    for k in range(end + d):
        below = get(wide, at, k) - points[a, k]
        above = points[a, k] - get(wide, at, columns + k)
        out = where_less(below, above, above, below)
        near = where_less(out, zero, zero, out)
        if k >= end:
            spectrum = spectrum + near * near
            continue
        inner = where_less(below, above, below, above)
        most = most + inner * inner
        if k < d:
            least = least + near * near
        else:
            root = root + near * near
    half = root * 0.5
    least = least + where_less(half, spectrum, spectrum, half)
    if columns > end + d:
        total = get(wide, at, columns + end + d) + points[a, end + d]
        least = least / where_less(zero, total, total, splat(1.0))
        most = most / (get(wide, at, end + d) + points[a, end + d])
    put(bounds, 0, 0, least)
    put(bounds, 0, 1, most)
