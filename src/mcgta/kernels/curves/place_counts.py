"""Pairs of observations by bin of distance, without going through all: a walk down pairs of nodes of a tree of positions.

All pairs between two nodes whose least and largest distance fall into one bin are counted together, and with n, s and S the
number, the sum of z and the sum of |z|^2 of a node, their squared differences are

    sum |z_a - z_b|^2 = n_b S_a + n_a S_b - 2 s_a . s_b.

Nodes that are not alike in that are divided, the larger first, down to leaves whose pairs are measured one by one. In the plane
that is work for about N^1.5 pairs, not N^2 / 2. Counts are those of going through the table, to the pair: bounds leave room for
rounding, and what is not certain is measured.

The mean distance of pairs counted together comes from means and covariances of the positions of both nodes, by Taylor's series
to the second order. Nodes are divided until the sum of their diagonals is at most ``NEAR`` of their distance: what is left out
is then 1e-9 of the mean of a bin where positions spread evenly, and was 1e-6 where they stand in clumps.

Contract
--------
``points``    (N, q)       positions in the order of the tree; ``kind`` is of :mod:`mcgta.kernels.positions.metrics`
``z``         (N, m + 1)   what squared differences are taken of, in the same order, and |z|^2
``nodes``     (V, 3)       as in :mod:`mcgta.kernels.tree.build`
``boxes``     (V, 2 q)     least and largest of each coordinate
``shape``     (V, 1 + q + q^2)  diagonal of the box (0 for a single place), mean and covariance of the positions
``sums``      (V, m + 1)   s and S
``block``     (V,)         for leaves of at most 8 points, where they stand side by side in ``lanes``; else -1
``lanes``     flat         for each block: q groups of 8 for positions, m for z and one for |z|^2, NaN where there is no point
``passes``    (E,)         squared distances from which on pairs are beyond an edge, as the rule for rounding has it
``pairs``     (P, 2)       nodes to compare; a node with itself stands for the pairs within it
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.kernels.curves.lag_sums import bin_guide, place_in_bin, rank_state
from mcgta.kernels.positions.metrics import EARTH_RADIUS, FLAT, SPHERE_TIME, TIE, place_distance
from mcgta.kernels.simd.compiled import kernel, literal_helper, native
from mcgta.kernels.simd.lanes import WIDTH, any_less, fabs, get, lean, put, splat, sqrt, total_of, where_less, workspace
from mcgta.kernels.tree.build import bound_boxes
from mcgta.runtime.types import Array, Index

NEAR = 0.1
_UNSURE = 1e-11  # of a squared distance: closer to an edge, a pair is measured as elsewhere
_TINY = 1e-300  # squares as small as this are not certain at all
_STACK = 1024
_EDGES = 6  # more edges than this between two leaves are not looked at one by one


@dataclass(frozen=True, eq=False)
class PlaceTree:
    """A tree over positions with what is known of each node; see the contract."""

    points: Array
    z: Array
    kind: int
    nodes: Index
    boxes: Array
    shape: Array
    sums: Array
    block: Index
    lanes: Array


def place_tree(points: Array, z: Array, kind: int, nodes: Index) -> PlaceTree:
    """Add up the nodes, for points and z in the order of the tree."""
    points = native(points)
    z = native(np.column_stack([z, np.einsum("nm,nm->n", z, z)]))
    q = points.shape[1]
    boxes = bound_boxes(points, nodes)
    shape, sums = np.zeros((len(nodes), 1 + q + q * q)), np.zeros((len(nodes), z.shape[1]))
    _add_up(points, z, nodes, boxes, shape, sums)
    size = nodes[:, 1] - nodes[:, 0]
    side_by_side = (nodes[:, 2] < 0) & (size <= WIDTH)
    block = np.where(side_by_side, np.cumsum(side_by_side) - 1, -1)
    lanes = workspace(int(side_by_side.sum()) * (q + z.shape[1]))
    _lay_out(points, z, nodes, block, lanes)
    return PlaceTree(points, z, kind, nodes, boxes, shape, sums, block, lanes)


def count_pairs(tree: PlaceTree, pairs: Index, edges: Array, rounding: float) -> Array:
    """Number of pairs, sum of distances and sum of squared differences in each bin, (3, bins), for pairs of nodes."""
    out = np.zeros((3, edges.shape[0] + 1))
    none = np.zeros(0, dtype=np.int64)
    _walk_tree(tree, pairs, edges, rounding, out, none, none, np.zeros((3, 0), dtype=np.int64), none, none)
    return out[:, 1:-1]


def find_pairs(
    tree: PlaceTree, pairs: Index, edges: Array, rounding: float, ranks: Index, begins: Index
) -> tuple[Index, Index]:
    """Rows, in the order of the tree, of the pairs that are the ranks[k]-th of their bin, as the walk comes by them.

    ``ranks`` holds ascending ranks, bin after bin; those of bin k are ranks[begins[k] : begins[k + 1]].
    """
    rows = np.empty(ranks.shape[0], dtype=np.int64)
    cols = np.empty(ranks.shape[0], dtype=np.int64)
    state = rank_state(edges, ranks, begins)
    _walk_tree(tree, pairs, edges, rounding, np.zeros((3, 0)), ranks, begins, state, rows, cols)
    return rows, cols


def _walk_tree(
    tree: PlaceTree, pairs: Index, edges: Array, rounding: float, out: Array,
    ranks: Index, begins: Index, state: Index, rows: Index, cols: Index,
) -> None:  # fmt: skip
    guide, hops = bin_guide(edges, rounding)
    passes = (edges - rounding) / (1 + TIE)
    passes[-1] = (edges[-1] + rounding) / (1 - TIE)
    passes *= np.abs(passes)
    _walk(
        tree.points, tree.z, tree.kind, tree.nodes, tree.boxes, tree.shape, tree.sums, tree.block, tree.lanes,
        native(pairs, np.int64), native(edges), passes, guide, hops, float(rounding), out,
        native(ranks, np.int64), native(begins, np.int64), state, rows, cols, np.empty((_STACK, 4), dtype=np.int64),
        workspace(3 * WIDTH), np.zeros((3, _EDGES + 2)),
    )  # fmt: skip


@kernel("void(float64[:, ::1], float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])")
def _add_up(points: Any, z: Any, nodes: Any, boxes: Any, shape: Any, sums: Any) -> None:
    """Leaves from their points, the others from their children."""
    lean()
    q = points.shape[1]
    m = z.shape[1] - 1
    for v in range(nodes.shape[0] - 1, -1, -1):
        first = nodes[v, 0]
        last = nodes[v, 1]
        child = nodes[v, 2]
        size = last - first
        square = widest = 0.0
        for k in range(q):
            side = boxes[v, q + k] - boxes[v, k]
            square += side * side
            widest = max(widest, side)
        shape[v, 0] = max(math.sqrt(square), widest)  # not zero where squares are too small for doubles
        if child >= 0:
            left = nodes[child, 1] - nodes[child, 0]
            right = nodes[child + 1, 1] - nodes[child + 1, 0]
            a = left / size
            b = right / size
            for k in range(m + 1):
                sums[v, k] = sums[child, k] + sums[child + 1, k]
            for k in range(q):
                shape[v, 1 + k] = a * shape[child, 1 + k] + b * shape[child + 1, 1 + k]
            for k in range(q):
                for j in range(q):
                    at = 1 + q + k * q + j
                    apart = (shape[child, 1 + k] - shape[child + 1, 1 + k]) * (
                        shape[child, 1 + j] - shape[child + 1, 1 + j]
                    )
                    shape[v, at] = a * shape[child, at] + b * shape[child + 1, at] + a * b * apart
            continue
        for p in range(first, last):
            for k in range(m + 1):
                sums[v, k] += z[p, k]
            for k in range(q):
                shape[v, 1 + k] += (points[p, k] - points[first, k]) / size
        for k in range(q):
            shape[v, 1 + k] += points[first, k]
        for p in range(first, last):
            for k in range(q):
                for j in range(q):
                    product = (points[p, k] - shape[v, 1 + k]) * (points[p, j] - shape[v, 1 + j])
                    shape[v, 1 + q + k * q + j] += product / size


@kernel("void(float64[:, ::1], float64[:, ::1], int64[:, ::1], int64[::1], float64[::1])")
def _lay_out(points: Any, z: Any, nodes: Any, block: Any, lanes: Any) -> None:
    """Write the points of leaves side by side."""
    lean()
    q = points.shape[1]
    m = z.shape[1] - 1
    for v in range(nodes.shape[0]):
        if block[v] < 0:
            continue
        at = block[v] * (q + m + 1) * WIDTH
        for lane in range(WIDTH):
            p = nodes[v, 0] + lane
            there = p < nodes[v, 1]
            for k in range(q):
                lanes[at + k * WIDTH + lane] = points[p, k] if there else np.nan
            for k in range(m + 1):
                lanes[at + (q + k) * WIDTH + lane] = z[p, k] if there else 0.0


@literal_helper
def _arcs(chord: Any) -> Any:
    """Arcs of squared chords, for 8 lanes: the arc sine by the rational function of Moshier's Cephes."""
    x = sqrt(chord) * (0.5 / EARTH_RADIUS)
    half = splat(0.5)
    y = where_less(half, x, sqrt((1.0 - x) * 0.5), x)
    w = y * y
    p = w * 4.253011369004428248960e-3 + -6.019598008014123785661e-1
    p = p * w + 5.444622390564711410273
    p = p * w + -1.626247967210700244449e1
    p = p * w + 1.956261983317594739197e1
    p = p * w + -8.198089802484824371615
    r = w + -1.474091372988853791896e1
    r = r * w + 7.049610280856842141659e1
    r = r * w + -1.471791292232726029859e2
    r = r * w + 1.395105614657485689735e2
    r = r * w + -4.918853881490881290097e1
    found = y + y * (w * p / r)
    return where_less(half, x, (math.pi / 2) - 2.0 * found, found) * (2.0 * EARTH_RADIUS)


@literal_helper
def _compare_leaves(
    points: Any, z: Any, kind: int, first: int, last: int, at: int, lanes: Any,
    passes: Any, low: int, high: int, only_count: bool, room: Any, found: Any,
) -> bool:  # fmt: skip
    """Add up the pairs of points first .. last and a block, for bins low .. high; False where some are close to an edge.

    Column e of ``found`` gets number, distances and squared differences of the pairs beyond the e-th of the edges in between;
    column 0 gets the distances of all.
    """
    q = points.shape[1]
    m = z.shape[1] - 1
    size = last - first
    none = splat(0.0)
    one = splat(1.0)
    total = none
    for i in range(size):
        row = first + i
        square = none
        for k in range(q if kind == FLAT else 3):
            shift = get(lanes, at, k) - points[row, k]
            square = square + shift * shift
        if kind != FLAT:
            arc = _arcs(square)
            square = arc * arc
            if kind == SPHERE_TIME:
                shift = get(lanes, at, 3) - points[row, 3]
                square = square + shift * shift
        for e in range(low, high):
            if any_less(fabs(square - passes[e]), splat(abs(passes[e]) * _UNSURE + _TINY)):
                return False
        put(room, 0, i, square)
        if not only_count:
            distance = sqrt(square)
            total = total + where_less(none - one, square, distance, none)
            inner = none
            for k in range(m):
                inner = inner + get(lanes, at, q + k) * z[row, k]
            put(room, 0, WIDTH + i, distance)
            put(room, 0, 2 * WIDTH + i, get(lanes, at, q + m) + z[row, m] - 2.0 * inner)
    found[1, 0] = total_of(total)
    for e in range(low, high):
        edge = splat(passes[e])
        number = none
        distances = none
        values = none
        for i in range(size):
            square = get(room, 0, i)
            number = number + where_less(edge, square, one, none)
            if not only_count:
                distances = distances + where_less(edge, square, get(room, 0, WIDTH + i), none)
                values = values + where_less(edge, square, get(room, 0, 2 * WIDTH + i), none)
        found[0, e - low + 1] = total_of(number)
        found[1, e - low + 1] = total_of(distances)
        found[2, e - low + 1] = total_of(values)
    return True


@literal_helper
def _square_bounds(boxes: Any, u: int, v: int, kind: int) -> tuple[float, float, float]:
    """Squares of the least and the largest distance of the points of two nodes; how far from antipodes they stay."""
    q = boxes.shape[1] // 2
    flat = q if kind == FLAT else 3
    least = most = 0.0
    for k in range(flat):
        low = boxes[v, k] - boxes[u, q + k]
        high = boxes[u, k] - boxes[v, q + k]
        out = max(max(low, high), 0.0)
        far = max(-low, -high)
        least += out * out
        most += far * far
    if kind == FLAT:
        return least, most, np.inf
    # Rounded points are not quite on the sphere, which matters for antipodes.
    across = 4.0 * EARTH_RADIUS * EARTH_RADIUS
    room = 1e-12 * across
    near = 2.0 * EARTH_RADIUS * math.atan2(math.sqrt(least), math.sqrt(max(across + room - least, 0.0)))
    away = 2.0 * EARTH_RADIUS * math.atan2(math.sqrt(most), math.sqrt(max(across - room - most, 0.0)))
    least = near * near
    most = away * away
    if kind == SPHERE_TIME:
        low = boxes[v, 3] - boxes[u, 7]
        high = boxes[u, 3] - boxes[v, 7]
        out = max(max(low, high), 0.0)
        far = max(-low, -high)
        least += out * out
        most += far * far
    return least, most, math.pi * EARTH_RADIUS - away


@literal_helper
def _mean_distance(shape: Any, q: int, u: int, v: int, kind: int) -> float:
    """Mean distance of the points of two nodes far from each other.

    With D the square of the distance as a function of the difference x of two points, and C the covariance of x, mean D is
    D + tr(D'' C) / 2, its variance is D' C D', and the mean of the root of D is from both.
    """
    flat = q if kind == FLAT else 3
    chord = 0.0
    for k in range(flat):
        x = shape[u, 1 + k] - shape[v, 1 + k]
        chord += x * x
    square = chord
    slope = 1.0
    bend = 0.0  # the squared arc as a function of the squared chord, and its derivatives
    if kind != FLAT:
        share = chord / (4.0 * EARTH_RADIUS * EARTH_RADIUS)
        bend = 1.0 / (6.0 * EARTH_RADIUS * EARTH_RADIUS)
        if share > 1e-6:
            c = math.sqrt(chord)
            steep = 1.0 / math.sqrt(1.0 - share)
            arc = 2.0 * EARTH_RADIUS * math.asin(math.sqrt(share))
            square = arc * arc
            slope = arc * steep / c
            bend = (
                steep * steep / (2.0 * chord)
                + arc * steep * steep * steep / (8.0 * EARTH_RADIUS * EARTH_RADIUS * c)
                - arc * steep / (2.0 * chord * c)
            )
        else:
            square = chord * (1.0 + 0.5 * bend * chord)
            slope = 1.0 + bend * chord
    trace = along = variance = 0.0
    for k in range(q):
        x = shape[u, 1 + k] - shape[v, 1 + k]
        rate = 2.0 * x * (slope if k < flat else 1.0)
        if k >= flat:
            square += x * x
        for j in range(q):
            at = 1 + q + k * q + j
            spread = shape[u, at] + shape[v, at]
            y = shape[u, 1 + j] - shape[v, 1 + j]
            variance += rate * spread * 2.0 * y * (slope if j < flat else 1.0)
            if k < flat and j < flat:
                along += x * spread * y
            if k == j:
                trace += spread * (slope if k < flat else 1.0)
    root = math.sqrt(square)
    return root + (trace + 2.0 * bend * along) / (2.0 * root) - variance / (8.0 * square * root)


@literal_helper
def _squares(sums: Any, u: int, v: int, nu: int, nv: int) -> float:
    """Sum of squared differences of z between two nodes."""
    m = sums.shape[1] - 1
    inner = 0.0
    for k in range(m):
        inner += sums[u, k] * sums[v, k]
    return nv * sums[u, m] + nu * sums[v, m] - 2.0 * inner


@literal_helper
def _note(
    n: int, m: int, k: int, u: int, v: int, nodes: Any, state: Any, ranks: Any, begins: Any, rows: Any, cols: Any
) -> None:
    """Count the pairs of two whole nodes of n and m points in bin k, and note those whose turn it is."""
    number = n * (n - 1) // 2 if u == v else n * m
    seen = state[0, k]
    while 0 <= state[1, k] < seen + number:
        at = state[2, k]
        rank = state[1, k] - seen
        if u == v:  # pair (i, j) with j < i has rank i (i - 1) / 2 + j
            i = int((1.0 + math.sqrt(1.0 + 8.0 * rank)) / 2.0)
            while i * (i - 1) // 2 > rank:
                i -= 1
            while i * (i + 1) // 2 <= rank:
                i += 1
            j = rank - i * (i - 1) // 2
        else:
            i = rank // m
            j = rank - i * m
        rows[at] = nodes[u, 0] + i
        cols[at] = nodes[v, 0] + j
        state[2, k] = at + 1
        state[1, k] = ranks[at + 1] if at + 1 < begins[k] else -1
    state[0, k] = seen + number


@kernel(
    "void(float64[:, ::1], float64[:, ::1], int64, int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], "
    "int64[::1], float64[::1], int64[:, ::1], float64[::1], float64[::1], int64[::1], int64, float64, float64[:, ::1], "
    "int64[::1], int64[::1], int64[:, ::1], int64[::1], int64[::1], int64[:, ::1], float64[::1], float64[:, ::1])"
)
def _walk(
    points: Any, z: Any, kind: int, nodes: Any, boxes: Any, shape: Any, sums: Any,
    block: Any, lanes: Any, pairs: Any, edges: Any, passes: Any, guide: Any, hops: int, rounding: float, out: Any,
    ranks: Any, begins: Any, state: Any, rows: Any, cols: Any, stack: Any, room: Any, found: Any,
) -> None:  # fmt: skip
    """Walk down from each pair of nodes; add to ``out``, or, where it is empty, look for ranks."""
    q = points.shape[1]
    m = z.shape[1] - 1
    scale = (guide.shape[0] - 1) / edges[-1]
    finding = out.shape[1] == 0
    beyond = edges.shape[0]
    for pair in range(pairs.shape[0]):
        stack[0, 0], stack[0, 1] = pairs[pair, 0], pairs[pair, 1]
        stack[0, 2], stack[0, 3] = 0, beyond
        top = 1
        while top > 0:
            top -= 1
            u = stack[top, 0]
            v = stack[top, 1]
            low = stack[top, 2]
            high = stack[top, 3]
            nu = nodes[u, 1] - nodes[u, 0]
            nv = nodes[v, 1] - nodes[v, 0]
            size = shape[u, 0] + shape[v, 0]
            distance = 0.0
            from_antipodes = np.inf
            whole = size == 0.0
            if whole:
                distance = place_distance(points, nodes[u, 0], points, nodes[v, 0], kind)
                low = high = place_in_bin(distance, edges, guide, scale, hops, rounding)
            else:
                least, most, from_antipodes = _square_bounds(boxes, u, v, kind)
                while low < high and passes[low] < least * (1.0 - _UNSURE) - _TINY:
                    low += 1
                while low < high and passes[high - 1] > most * (1.0 + _UNSURE) + _TINY:
                    high -= 1
                if kind == FLAT and q == 1:
                    whole = least > 0.0
                else:
                    whole = size * size <= NEAR * NEAR * least and size <= NEAR * from_antipodes
            if low == high and (low == 0 or low == beyond):
                continue
            if low == high and whole:
                if finding:
                    _note(nu, nv, low, u, v, nodes, state, ranks, begins, rows, cols)
                    continue
                number = float(nu * nv)
                if u == v:
                    number = 0.5 * nu * (nu - 1)
                elif size > 0.0:
                    distance = _mean_distance(shape, q, u, v, kind)
                out[0, low] += number
                out[1, low] += number * distance
                out[2, low] += (0.5 if u == v else 1.0) * _squares(sums, u, v, nu, nv)
                continue
            left = nodes[u, 2]
            right = nodes[v, 2]
            if left >= 0 or right >= 0:
                first = top
                if u == v:
                    stack[top, 0], stack[top, 1] = left, left
                    stack[top + 1, 0], stack[top + 1, 1] = left, left + 1
                    stack[top + 2, 0], stack[top + 2, 1] = left + 1, left + 1
                    top += 3
                elif left >= 0 and (right < 0 or shape[u, 0] >= shape[v, 0]):
                    stack[top, 0], stack[top, 1] = left, v
                    stack[top + 1, 0], stack[top + 1, 1] = left + 1, v
                    top += 2
                else:
                    stack[top, 0], stack[top, 1] = u, right
                    stack[top + 1, 0], stack[top + 1, 1] = u, right + 1
                    top += 2
                for at in range(first, top):
                    stack[at, 2], stack[at, 3] = low, high
                continue
            aside = u != v and block[u] >= 0 and block[v] >= 0 and high - low <= _EDGES
            if aside and from_antipodes > 0.1 * EARTH_RADIUS:
                at = block[v] * (q + m + 1) * WIDTH
                if _compare_leaves(
                    points, z, kind, nodes[u, 0], nodes[u, 1], at, lanes, passes, low, high, finding, room, found
                ):
                    found[0, 0] = nu * nv
                    if not finding:
                        found[2, 0] = _squares(sums, u, v, nu, nv)
                        for e in range(high - low + 1):
                            for row in range(3):
                                out[row, low + e] += found[row, e] - (found[row, e + 1] if low + e < high else 0.0)
                        continue
                    due = False
                    for e in range(high - low + 1):
                        found[0, e] -= found[0, e + 1] if low + e < high else 0.0
                        due |= 0 <= state[1, low + e] < state[0, low + e] + int(found[0, e])
                    if not due:
                        for e in range(high - low + 1):
                            state[0, low + e] += int(found[0, e])
                        continue
            for i in range(nodes[u, 0], nodes[u, 1]):
                for j in range(i + 1 if u == v else nodes[v, 0], nodes[v, 1]):
                    distance = place_distance(points, i, points, j, kind)
                    k = place_in_bin(distance, edges, guide, scale, hops, rounding)
                    if finding:
                        while state[0, k] == state[1, k]:
                            at = state[2, k]
                            rows[at] = i
                            cols[at] = j
                            state[2, k] = at + 1
                            state[1, k] = ranks[at + 1] if at + 1 < begins[k] else -1
                        state[0, k] += 1
                        continue
                    square = 0.0
                    for c in range(m):
                        shift = z[i, c] - z[j, c]
                        square += shift * shift
                    out[0, k] += 1.0
                    out[1, k] += distance
                    out[2, k] += square
