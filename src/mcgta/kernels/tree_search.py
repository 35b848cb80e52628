"""Who is near whom in the loss: searches of the tree for one observation, or one node, at a time.

The loss of a pair is M = W + beta max(0, W - t(d)) within the reach of the semivariogram and W beyond, so for every pair

    M <= eps  <=>  W <= T(d),   T = eps beyond the reach or where eps <= t(d), else (eps + beta t(d)) / (1 + beta),

and T does not fall with d. Bounds of W decide whole nodes at once: nobody of a node is near where the lower bound is above
eps, and everybody where the upper bound is below T at the least distance. What bounds leave open, or decide by less than
``slack``, is compared exactly, by the arithmetic of the dense table to the last bit.

Contract
--------
``tree``   points, nodes, boxes, places: see :mod:`mcgta.kernels.tree`
``data``   models (packed, flat, in canonical order); rows (N,), the canonical row of each point of the tree; and in the order
           of the tree positions (N, p) and groups (N,)
``law``    eps, beta, margin, reach, slack; and the curve's parameters: see :mod:`mcgta.kernels.curves`
``calls``  features d, kind of distance, curve's code, addresses of the pair functions
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.compiled import call, helper, kernel, literal_helper, literal_part
from mcgta.kernels.curves import curve_height
from mcgta.kernels.lanes import lean
from mcgta.kernels.metrics import place_distance
from mcgta.kernels.tree import LEAF, box_bounds, point_bounds

EPS, BETA, MARGIN, REACH, SLACK = range(5)
FEATURES, KIND, CURVE, COMPARE, NORMS = range(5)
TREE = "Tuple((float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[:, ::1]))"
DATA = "Tuple((float64[::1], int64[::1], float64[:, ::1], int64[::1]))"
LAW = "Tuple((float64[::1], float64[::1], float64[::1], float64[::1]))"
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
def expected(law: Any, calls: Any, distance: float) -> float:
    """t(d) of a pair within reach."""
    lean()
    numbers, parameters, x, y = law
    return 2.0 * curve_height(calls[CURVE], parameters, x, y, distance) - numbers[MARGIN]


@literal_helper
def penalised(law: Any, calls: Any, value: float, distance: float) -> float:
    """M of a pair, given W and d."""
    numbers = law[0]
    if numbers[BETA] == 0.0 or distance > numbers[REACH]:
        return value
    return value + numbers[BETA] * max(value - expected(law, calls, distance), 0.0)


@literal_helper
def limit(law: Any, calls: Any, distance: float) -> float:
    """T(d)."""
    numbers = law[0]
    if numbers[BETA] == 0.0 or distance > numbers[REACH]:
        return numbers[EPS]
    height = expected(law, calls, distance)
    if numbers[EPS] <= height:
        return numbers[EPS]
    return (numbers[EPS] + numbers[BETA] * height) / (1.0 + numbers[BETA])


@literal_part
def apart(data: Any, calls: Any, a: int, b: int) -> float:
    """Return the distance of the positions of two points of the tree; infinite between groups."""
    lean()
    _, _, positions, groups = data
    if groups[a] != groups[b]:
        return np.inf
    return place_distance(positions, a, positions, b, calls[KIND])


@literal_part
def gap_to(data: Any, places: Any, a: int, v: int) -> float:
    """Least distance of a point's position from those of a node; infinite between groups."""
    lean()
    _, _, positions, groups = data
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
def compare(data: Any, calls: Any, room: Any, a: int, others: Any, count: int, values: Any) -> None:
    """W of point a with each of ``others[:count]``, the earlier row first, as the dense table has it."""
    lean()
    models, rows, _, _ = data
    left, right, B = room
    for k in range(count):
        left[k] = min(rows[a], rows[others[k]])
        right[k] = max(rows[a], rows[others[k]])
    call(calls[COMPARE], (models, left[:count], right[:count], values, B, calls[FEATURES], calls[NORMS]))


@helper
def near_in_leaf(
    tree: Any,
    data: Any,
    law: Any,
    calls: Any,
    room: Any,
    a: int,
    first: int,
    last: int,
    wanted: int,
    open_: Any,
    values: Any,
) -> tuple[int, int]:
    """Count the points first .. last - 1 near point a, itself included, up to ``wanted``, and those compared exactly."""
    lean()
    slack = law[0][SLACK]
    found = exact = waiting = 0
    for b in range(first, last):
        if b == a:
            found += 1
        else:
            least, most = point_bounds(tree[0], a, b, calls[FEATURES])
            if least <= law[0][EPS] + slack:
                distance = apart(data, calls, a, b)
                bar = limit(law, calls, distance)
                if most <= bar - slack:
                    found += 1
                elif least <= bar + slack:
                    open_[waiting] = b
                    waiting += 1
        if found >= wanted:
            return found, exact
        if waiting == LEAF or (b == last - 1 and waiting > 0):
            compare(data, calls, room, a, open_, waiting, values)
            exact += waiting
            for k in range(waiting):
                if penalised(law, calls, values[k], apart(data, calls, a, open_[k])) <= law[0][EPS]:
                    found += 1
            waiting = 0
    return found, exact


@kernel(f"int64({TREE}, {DATA}, {LAW}, {CALLS}, float64[::1], int64, int64, int64, boolean[::1])")
def count_near(
    tree: Any, data: Any, law: Any, calls: Any, B: Any, first: int, last: int, wanted: int, dense: Any
) -> int:
    """Tell of the points first .. last - 1 whether at least ``wanted`` are near, itself included; return the pairs compared."""
    lean()
    points, nodes, boxes, places = tree
    d, slack, eps = calls[FEATURES], law[0][SLACK], law[0][EPS]
    room = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    open_, values = np.empty(LEAF, np.int64), np.empty(LEAF)
    stack = np.empty(_STACK, np.int64)
    exact = 0
    for a in range(first, last):
        found = 0
        stack[0] = 0
        top = 1
        while top > 0 and found < wanted:
            top -= 1
            v = stack[top]
            child = nodes[v, 2]
            if child < 0:
                more, compared = near_in_leaf(
                    tree, data, law, calls, room, a, nodes[v, 0], nodes[v, 1], wanted - found, open_, values
                )
                found += more
                exact += compared
                continue
            low0, high0 = box_bounds(points, a, boxes, child, d)
            low1, high1 = box_bounds(points, a, boxes, child + 1, d)
            nearer = 0 if low0 <= low1 else 1
            for turn in range(2):  # the nearer child is looked at first, so it goes on top
                side = 1 - nearer if turn == 0 else nearer
                low = low1 if side else low0
                high = high1 if side else high0
                u = child + side
                if low > eps + slack:
                    continue
                if high <= eps - slack and high <= limit(law, calls, gap_to(data, places, a, u)) - slack:
                    found += nodes[u, 1] - nodes[u, 0]
                    continue
                stack[top] = u
                top += 1
        dense[a] = found >= wanted
    return exact


@kernel(f"int64({TREE}, {DATA}, {LAW}, {CALLS}, float64[::1], int64, int64, {_RANKS}, int64[::1])")
def first_near(tree: Any, data: Any, law: Any, calls: Any, B: Any, first: int, last: int, known: Any, best: Any) -> int:
    """Write the least rank among those near each of the points first .. last - 1; return the pairs compared.

    ``known`` holds the ranks (N,), -1 for points that do not count, and the least of each node (V,), a huge one without such. A
    point with a rank keeps it; the others get -1 where nobody is near.
    """
    lean()
    points, nodes, boxes, places = tree
    d, slack, eps = calls[FEATURES], law[0][SLACK], law[0][EPS]
    ranks, least_rank = known
    nobody = np.int64(2**62)
    room = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    open_, values = np.empty(1, np.int64), np.empty(1)
    stack = np.empty(_STACK, np.int64)
    exact = 0
    for a in range(first, last):
        if ranks[a] >= 0:
            best[a] = ranks[a]
            continue
        found = nobody
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            v = stack[top]
            if least_rank[v] >= found:
                continue
            low, high = box_bounds(points, a, boxes, v, d)
            if low > eps + slack:
                continue
            if high <= eps - slack and high <= limit(law, calls, gap_to(data, places, a, v)) - slack:
                found = least_rank[v]
                continue
            child = nodes[v, 2]
            if child >= 0:
                stack[top] = child
                stack[top + 1] = child + 1
                top += 2
                continue
            for b in range(nodes[v, 0], nodes[v, 1]):
                if ranks[b] < 0 or ranks[b] >= found:
                    continue
                least, most = point_bounds(points, a, b, d)
                if least > eps + slack:
                    continue
                distance = apart(data, calls, a, b)
                bar = limit(law, calls, distance)
                near = most <= bar - slack
                if not near and least <= bar + slack:
                    open_[0] = b
                    compare(data, calls, room, a, open_, 1, values)
                    exact += 1
                    near = penalised(law, calls, values[0], distance) <= eps
                if near:
                    found = ranks[b]
        best[a] = found if found < nobody else -1
    return exact
