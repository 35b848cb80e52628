"""Which observations are near in the loss: searches of the tree for one observation, or one node, at a time.

The loss of a pair is M = W + beta max(0, W - t(d)) within the reach of the semivariogram and W beyond, so for every pair

    M <= eps  <=>  W <= T(d),   T = eps beyond the reach or where eps <= t(d), else (eps + beta t(d)) / (1 + beta),

and T does not fall with d. Bounds of W decide whole nodes at once: no row of a node is near where the lower bound is above
eps, and all are where the upper bound is below T at the least distance. What bounds leave open, or decide by less than
``slack``, is compared exactly, by the arithmetic of the dense table to the last bit.

Contract
--------
``tree``   points, nodes, boxes, places, turned, fans, spokes, wide: see :mod:`mcgta.kernels.tree.build`
``data``   models (packed, flat, in canonical order); rows (N,), the canonical row of each point of the tree; in the order
           of the tree positions (N, p) and groups (N,); and in canonical order c/2 (N,) for what is in units of chance, see
           :mod:`mcgta.kernels.gaussians.calibration`, empty for W itself
``terms``  eps, beta, margin, reach, slack; and the curve's parameters: see :mod:`mcgta.kernels.curves.heights`
``calls``  features d, kind of distance, curve's code, addresses of the pair functions
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.curves.heights import curve_height
from mcgta.kernels.gaussians.calibration import in_units
from mcgta.kernels.positions.metrics import place_distance
from mcgta.kernels.simd.compiled import call, helper, kernel, literal_helper, literal_part
from mcgta.kernels.simd.lanes import lean
from mcgta.kernels.tree.build import FAN, LEAF, fan_bounds, leaf_bounds

EPS, BETA, MARGIN, REACH, SLACK = range(5)
FEATURES, KIND, CURVE, COMPARE, NORMS = range(5)
TREE = (
    "Tuple((float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], int64[::1], int64[::1], "
    "float64[::1]))"
)
DATA = "Tuple((float64[::1], int64[::1], float64[:, ::1], int64[::1], float64[::1]))"
TERMS = "Tuple((float64[::1], float64[::1], float64[::1], float64[::1]))"
CALLS = "int64[::1]"
_STACK = 512
_ROUNDING = 1e-12  # of a value, on top of the slack
_RANKS = "Tuple((int64[::1], int64[::1]))"


@helper
def at_least(value: float, slack: float) -> float:
    """What a lower bound is sure of, whatever rounding has done to it."""
    return max(value * (1.0 - _ROUNDING) - slack, 0.0)


@helper
def at_most(value: float, slack: float) -> float:
    """What an upper bound is sure of, whatever rounding has done to it."""
    return value * (1.0 + _ROUNDING) + slack


@literal_part
def expected(terms: Any, calls: Any, distance: float) -> float:
    """t(d) of a pair within reach."""
    lean()
    numbers, parameters, x, y = terms
    return 2.0 * curve_height(calls[CURVE], parameters, x, y, distance) - numbers[MARGIN]


@literal_helper
def penalised(terms: Any, calls: Any, value: float, distance: float) -> float:
    """M of a pair, given W and d."""
    numbers = terms[0]
    if numbers[BETA] == 0.0 or distance > numbers[REACH]:
        return value
    return value + numbers[BETA] * max(value - expected(terms, calls, distance), 0.0)


@literal_helper
def limit(terms: Any, calls: Any, distance: float) -> float:
    """T(d)."""
    numbers = terms[0]
    if numbers[BETA] == 0.0 or distance > numbers[REACH]:
        return numbers[EPS]
    height = expected(terms, calls, distance)
    if numbers[EPS] <= height:
        return numbers[EPS]
    return (numbers[EPS] + numbers[BETA] * height) / (1.0 + numbers[BETA])


@literal_part
def apart(data: Any, calls: Any, a: int, b: int) -> float:
    """Return the distance of the positions of two points of the tree; infinite between groups."""
    lean()
    _, _, positions, groups, _ = data
    if groups[a] != groups[b]:
        return np.inf
    return place_distance(positions, a, positions, b, calls[KIND])


@literal_part
def gap_to(data: Any, places: Any, a: int, v: int) -> float:
    """Least distance of a point's position from those of a node; infinite between groups."""
    lean()
    _, _, positions, groups, _ = data
    columns = positions.shape[1]
    if groups[a] < places[v, columns] or groups[a] > places[v, 2 * columns + 1]:
        return np.inf
    square = 0.0
    for k in range(columns):
        out = max(max(places[v, k] - positions[a, k], positions[a, k] - places[v, columns + 1 + k]), 0.0)
        square += out * out
    return np.sqrt(square) * (1.0 - 1e-12)


@literal_part
def gap_between(places: Any, u: int, v: int) -> float:
    """Least distance of the positions of two nodes; infinite between groups."""
    lean()
    columns = places.shape[1] // 2 - 1
    if places[u, columns] > places[v, 2 * columns + 1] or places[v, columns] > places[u, 2 * columns + 1]:
        return np.inf
    square = 0.0
    for k in range(columns):
        out = max(max(places[v, k] - places[u, columns + 1 + k], places[u, k] - places[v, columns + 1 + k]), 0.0)
        square += out * out
    return np.sqrt(square) * (1.0 - 1e-12)


@helper
def push(stack: Any, floor: Any, bottom: int, top: int, v: int, low: float) -> int:
    """Put a node on the stack among those from ``bottom`` on, the nearest on top; return the new top."""
    at = top
    while at > bottom and floor[at - 1] < low:
        floor[at] = floor[at - 1]
        stack[at] = stack[at - 1]
        at -= 1
    floor[at] = low
    stack[at] = v
    return top + 1


@helper
def compare(data: Any, calls: Any, room: Any, a: int, others: Any, count: int, values: Any) -> None:
    """W of point a with each of ``others[:count]``, the earlier row first, as the dense table has it."""
    lean()
    models, rows, _, _, half = data
    left, right, B = room
    for k in range(count):
        left[k] = min(rows[a], rows[others[k]])
        right[k] = max(rows[a], rows[others[k]])
    call(calls[COMPARE], (models, left[:count], right[:count], values, B, calls[FEATURES], calls[NORMS]))
    if half.shape[0] > 0:
        for k in range(count):
            values[k] = in_units(values[k], half[left[k]], half[right[k]])


@helper
def near_in_leaf(
    tree: Any,
    data: Any,
    terms: Any,
    calls: Any,
    room: Any,
    a: int,
    v: int,
    wanted: int,
    open_: Any,
    bounds: Any,
    waiting: int,
) -> tuple[int, int, int]:
    """Count the points of a leaf near point a, itself included, up to ``wanted``; and those compared exactly.

    What bounds leave open goes to a list, which is compared when it is full: pairs are compared many at a time.
    Returns the length of the list last.
    """
    lean()
    slack = terms[0][SLACK]
    found = exact = 0
    for b in range(tree[1][v, 0], tree[1][v, 1]):
        if b % LEAF == 0:
            leaf_bounds(tree[0], a, tree[4], b, calls[FEATURES], bounds)
        least = bounds[b % LEAF]
        most = bounds[LEAF + b % LEAF]
        if b == a:
            found += 1
        elif least <= terms[0][EPS] + slack:
            bar = limit(terms, calls, apart(data, calls, a, b))
            if most <= bar - slack:
                found += 1
            elif least <= bar + slack:
                open_[waiting] = b
                waiting += 1
        if found >= wanted:
            return found, exact, waiting
        if waiting == LEAF:
            found += near_among(data, terms, calls, room, a, open_, waiting, bounds)
            exact += waiting
            waiting = 0
            leaf_bounds(tree[0], a, tree[4], b - b % LEAF, calls[FEATURES], bounds)
    return found, exact, waiting


@helper
def near_among(data: Any, terms: Any, calls: Any, room: Any, a: int, open_: Any, waiting: int, values: Any) -> int:
    """Count the points of a list near point a, by comparing them."""
    lean()
    compare(data, calls, room, a, open_, waiting, values)
    found = 0
    for k in range(waiting):
        if values[k] <= terms[0][EPS]:
            found += penalised(terms, calls, values[k], apart(data, calls, a, open_[k])) <= terms[0][EPS]
    return found


@kernel(f"int64({TREE}, {DATA}, {TERMS}, {CALLS}, float64[::1], int64, int64, int64, boolean[::1])")
def count_near(
    tree: Any, data: Any, terms: Any, calls: Any, B: Any, first: int, last: int, wanted: int, dense: Any
) -> int:
    """Tell of the points first .. last - 1 whether at least ``wanted`` are near, itself included; return the pairs compared."""
    lean()
    points, nodes, _, places, _, fans, spokes, wide = tree
    d = calls[FEATURES]
    slack = terms[0][SLACK]
    eps = terms[0][EPS]
    room = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    open_ = np.empty(LEAF, np.int64)
    bounds = np.empty(2 * LEAF)
    stack = np.empty(_STACK, np.int64)
    floor = np.empty(_STACK)
    exact = 0
    for a in range(first, last):
        found = waiting = 0
        stack[0] = 0
        top = 1
        while top > 0 and found < wanted:
            top -= 1
            v = stack[top]
            fan = fans[v]
            if fan < 0:
                more, compared, waiting = near_in_leaf(
                    tree, data, terms, calls, room, a, v, wanted - found, open_, bounds, waiting
                )
                found += more
                exact += compared
                continue
            fan_bounds(points, a, wide, fan, d, bounds)
            bottom = top
            for spoke in range(FAN):
                low = bounds[spoke]
                high = bounds[FAN + spoke]
                if low > eps + slack:
                    continue
                u = spokes[fan * FAN + spoke]
                if high <= eps - slack and high <= limit(terms, calls, gap_to(data, places, a, u)) - slack:
                    found += nodes[u, 1] - nodes[u, 0]
                    continue
                top = push(stack, floor, bottom, top, u, low)
        if found < wanted <= found + waiting:
            found += near_among(data, terms, calls, room, a, open_, waiting, bounds)
            exact += waiting
        dense[a] = found >= wanted
    return exact


@kernel(f"int64({TREE}, {DATA}, {TERMS}, {CALLS}, float64[::1], int64, int64, {_RANKS}, int64[::1])")
def first_near(
    tree: Any, data: Any, terms: Any, calls: Any, B: Any, first: int, last: int, known: Any, best: Any
) -> int:
    """Write the least rank among those near each of the points first .. last - 1; return the pairs compared.

    ``known`` holds the ranks (N,), -1 for points that do not count, and the least of each node (V,), a huge one without such. A
    point with a rank keeps it; the others get -1 where no row is near.
    """
    lean()
    points, nodes, _, places, turned, fans, spokes, wide = tree
    d = calls[FEATURES]
    slack = terms[0][SLACK]
    eps = terms[0][EPS]
    ranks, least_rank = known
    no_row = np.int64(2**62)
    room = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    open_ = np.empty(1, np.int64)
    values = np.empty(1)
    bounds = np.empty(2 * LEAF)
    stack = np.empty(_STACK, np.int64)
    exact = 0
    for a in range(first, last):
        if ranks[a] >= 0:
            best[a] = ranks[a]
            continue
        found = no_row
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            v = stack[top]
            if least_rank[v] >= found:
                continue
            fan = fans[v]
            if fan >= 0:
                fan_bounds(points, a, wide, fan, d, bounds)
                for spoke in range(FAN):
                    low = bounds[spoke]
                    high = bounds[FAN + spoke]
                    if low > eps + slack:
                        continue
                    u = spokes[fan * FAN + spoke]
                    if high <= eps - slack and high <= limit(terms, calls, gap_to(data, places, a, u)) - slack:
                        found = min(found, least_rank[u])
                        continue
                    stack[top] = u
                    top += 1
                continue
            for b in range(nodes[v, 0], nodes[v, 1]):
                if b % LEAF == 0:
                    leaf_bounds(points, a, turned, b, d, bounds)
                if ranks[b] < 0 or ranks[b] >= found:
                    continue
                least = bounds[b % LEAF]
                most = bounds[LEAF + b % LEAF]
                if least > eps + slack:
                    continue
                distance = apart(data, calls, a, b)
                bar = limit(terms, calls, distance)
                near = most <= bar - slack
                if not near and least <= bar + slack:
                    open_[0] = b
                    compare(data, calls, room, a, open_, 1, values)
                    exact += 1
                    near = penalised(terms, calls, values[0], distance) <= eps
                if near:
                    found = ranks[b]
        best[a] = found if found < no_row else -1
    return exact
