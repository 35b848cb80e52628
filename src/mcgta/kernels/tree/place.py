"""Which anchor a new observation reaches first: a search of the tree for models that are not in it.

The reach of an anchor c is max(M, own(c)), M being the loss of the new observation with it. The least one is looked for, and of
anchors at the same reach the first in canonical order, as in a row of the dense table; reaches beyond a cap do not matter.
See :mod:`mcgta.kernels.tree.search` for ``tree``, ``data``, ``terms`` and ``calls``; eps of the terms is the cap.

Contract
--------
``fresh``    of the new observations: points z (M, D) and packed models (flat); positions (M, p); groups (M,), -1 for one that
             the fit has not seen; slack (M,), what bounds and exact values may be off; c/2 (M,) as in ``data``, or empty
``anchors``  own (N,), in the order of the tree, infinite for other observations, NaN where it is not known yet; of each node
             the least own (V,), zero where one is not known, and the first canonical row of an anchor (V,), a huge one without
``nearby``   the terms of the fit, for own where it is not known, and room for as many losses as make a place dense
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.gaussians.calibration import in_units
from mcgta.kernels.positions.metrics import place_distance
from mcgta.kernels.simd.compiled import call, helper, kernel, literal_part
from mcgta.kernels.simd.lanes import lean
from mcgta.kernels.tree.build import LEAF, leaf_bounds
from mcgta.kernels.tree.nearest import kth_loss, push_fan, search_room
from mcgta.kernels.tree.search import (
    CALLS,
    COMPARE,
    DATA,
    EPS,
    FEATURES,
    KIND,
    NORMS,
    TERMS,
    TREE,
    at_least,
    at_most,
    penalised,
)

NO_ROW = 2**62
_STACK = 512
_FRESH = "Tuple((float64[:, ::1], float64[::1], float64[:, ::1], int64[::1], float64[::1], float64[::1]))"
_ANCHORS = "Tuple((float64[::1], float64[::1], int64[::1]))"
_NEARBY = f"Tuple(({TERMS}, float64[::1]))"
_OUT = "float64[::1], int64[::1]"


@literal_part
def _apart(fresh: Any, data: Any, calls: Any, a: int, b: int) -> float:
    """Return the distance of the positions of a new observation and a point of the tree; infinite between groups."""
    lean()
    if fresh[3][a] != data[3][b]:
        return np.inf
    return place_distance(fresh[2], a, data[2], b, calls[KIND])


@helper
def _compare(fresh: Any, data: Any, calls: Any, room: Any, a: int, others: Any, count: int, values: Any) -> None:
    """W of a new observation with each of ``others[:count]``, the new one first, as the dense table has it.

    Pair functions read one table of models, so these few are copied into one.
    """
    lean()
    d = calls[FEATURES]
    size = d + 1 + d * d
    few, left, right, B = room
    few[:size] = fresh[1][a * size : (a + 1) * size]
    for k in range(count):
        row = data[1][others[k]]
        few[(k + 1) * size : (k + 2) * size] = data[0][row * size : (row + 1) * size]
        left[k] = 0
        right[k] = k + 1
    call(calls[COMPARE], (few[: (count + 1) * size], left[:count], right[:count], values, B, d, calls[NORMS]))
    if fresh[5].shape[0] > 0:
        for k in range(count):
            values[k] = in_units(values[k], fresh[5][a], data[4][data[1][others[k]]])


@helper
def _behind(reach: float, row: int, best: float, best_row: int) -> bool:
    """Whether an anchor that is reached at ``reach`` or later does not come before the best one so far."""
    return reach > best or (reach == best and row > best_row)


@kernel(f"int64({TREE}, {DATA}, {TERMS}, {CALLS}, float64[::1], int64, int64, {_FRESH}, {_ANCHORS}, {_NEARBY}, {_OUT})")
def first_reached(
    tree: Any,
    data: Any,
    terms: Any,
    calls: Any,
    B: Any,
    first: int,
    last: int,
    fresh: Any,
    anchors: Any,
    nearby: Any,
    reach: Any,
    found: Any,
) -> int:
    """Write for the new observations first .. last - 1 the least reach, and the canonical row of the anchor.

    Where no anchor is reached within the cap they are infinite and -1. What own was missing for that is written to it. Returns
    the pairs compared.
    """
    lean()
    _, nodes, boxes, places, turned, fans, spokes, wide = tree
    own, least_own, first_row = anchors
    z = fresh[0]
    rows = data[1]
    d = calls[FEATURES]
    search = (z, nodes, boxes, places, turned, fans, spokes, wide)
    few = np.empty((LEAF + 1) * (d + 1 + d * d))
    room = (few, np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    open_ = np.empty(LEAF, np.int64)
    values = np.empty(LEAF)
    bounds = np.empty(2 * LEAF)
    stack = np.empty(_STACK, np.int64)
    floor = np.empty(_STACK)
    around = search_room(B)
    fit_law, nearest = nearby
    exact = 0
    for a in range(first, last):
        slack = fresh[4][a]
        best = terms[0][EPS]
        best_row = np.int64(NO_ROW)
        stack[0] = 0
        floor[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            v = stack[top]
            if floor[top] > at_most(best, slack) or _behind(least_own[v], first_row[v], best, best_row):
                continue
            if nodes[v, 2] >= 0:
                top = push_fan(search, a, v, d, bounds, stack, floor, top, at_most(best, slack))
                continue
            waiting = 0
            for b in range(nodes[v, 0], nodes[v, 1]):
                if b % LEAF == 0:
                    leaf_bounds(z, a, turned, b, d, bounds)
                if not _behind(own[b], rows[b], best, best_row):
                    least = bounds[b % LEAF]
                    most = bounds[LEAF + b % LEAF]
                    if least <= at_most(best, slack):
                        distance = _apart(fresh, data, calls, a, b)
                        if penalised(terms, calls, at_most(most, slack), distance) <= own[b]:
                            best = own[b]
                            best_row = rows[b]  # own decides, whatever M is
                        elif penalised(terms, calls, at_least(least, slack), distance) <= at_most(best, slack):
                            open_[waiting] = b
                            waiting += 1
                if waiting == LEAF or (b == nodes[v, 1] - 1 and waiting > 0):
                    _compare(fresh, data, calls, room, a, open_, waiting, values)
                    exact += waiting
                    for k in range(waiting):
                        b_k = open_[k]
                        loss = penalised(terms, calls, values[k], _apart(fresh, data, calls, a, b_k))
                        if _behind(loss, rows[b_k], best, best_row):
                            continue
                        if np.isnan(own[b_k]):
                            exact += kth_loss(tree, data, fit_law, calls, around, b_k, nearest)
                            own[b_k] = nearest[0]
                        value = max(loss, own[b_k])
                        if not _behind(value, rows[b_k], best, best_row):
                            best = value
                            best_row = rows[b_k]
                    waiting = 0
        reach[a] = best if best_row < NO_ROW else np.inf
        found[a] = best_row if best_row < NO_ROW else -1
    return exact
