"""How near the nearest are: losses to the k-th nearest, and to the nearest dense place of a cluster.

See :mod:`mcgta.kernels.tree.search` for the arguments. Nodes are looked at nearest first, and dropped once their lower bound is
beyond what has been found; since M >= W, a bound of W is one of M.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel
from mcgta.kernels.simd.lanes import lean
from mcgta.kernels.tree.build import FAN, LEAF, fan_bounds, leaf_bounds
from mcgta.kernels.tree.search import (
    CALLS,
    DATA,
    FEATURES,
    SLACK,
    TERMS,
    TREE,
    apart,
    at_most,
    compare,
    penalised,
    push,
)

_STACK = 512
_CLUSTERS = "Tuple((int64[::1], int64[::1], float64[::1], float64[::1]))"


@helper
def push_fan(tree: Any, a: int, v: int, d: int, bounds: Any, stack: Any, floor: Any, top: int, bar: float) -> int:
    """Put the nodes below one that may hold something below ``bar`` on the stack, the nearest on top."""
    lean()
    points, _, _, _, _, fans, spokes, wide = tree
    fan_bounds(points, a, wide, fans[v], d, bounds)
    bottom = top
    for spoke in range(FAN):
        u = spokes[fans[v] * FAN + spoke]
        if u >= 0 and bounds[spoke] <= bar:
            top = push(stack, floor, bottom, top, u, bounds[spoke])
    return top


@helper
def search_room(B: Any) -> Any:
    """Return room for :func:`kth_loss`, given that for comparing pairs."""
    lists = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), np.empty(_STACK, np.int64))
    return lists, np.empty(LEAF), np.empty(2 * LEAF), np.empty(_STACK), B


@helper
def keep_nearest(
    data: Any, terms: Any, calls: Any, pairs: Any, a: int, open_: Any, waiting: int, values: Any, best: Any
) -> None:
    """Compare point a with those of a list, and put the losses that are small enough among the best, descending."""
    lean()
    compare(data, calls, pairs, a, open_, waiting, values)
    for w in range(waiting):
        if values[w] >= best[0]:  # and so is M
            continue
        value = penalised(terms, calls, values[w], apart(data, calls, a, open_[w]))
        if value < best[0]:
            place = 0
            while place + 1 < best.shape[0] and best[place + 1] > value:
                best[place] = best[place + 1]
                place += 1
            best[place] = value


@helper
def kth_loss(tree: Any, data: Any, terms: Any, calls: Any, room: Any, a: int, best: Any) -> int:
    """Find the losses of the nearest of point a, itself the first at zero, descending, as many as ``best`` has room for.

    Infinite where there are fewer. Returns the pairs compared.
    """
    lean()
    points, nodes, _, _, turned, _, _, _ = tree
    d = calls[FEATURES]
    slack = terms[0][SLACK]
    (left, right, open_, stack), values, bounds, floor, B = room
    pairs = (left, right, B)
    exact = waiting = 0
    best[:] = np.inf
    best[best.shape[0] - 1] = 0.0
    stack[0] = 0
    floor[0] = 0.0
    top = 1
    while top > 0:
        top -= 1
        v = stack[top]
        if floor[top] > at_most(best[0], slack):
            continue
        if nodes[v, 2] >= 0:
            top = push_fan(tree, a, v, d, bounds, stack, floor, top, at_most(best[0], slack))
            continue
        for b in range(nodes[v, 0], nodes[v, 1]):
            if best[0] == 0.0:  # no row is nearer than k equal ones
                return exact
            if b % LEAF == 0:
                leaf_bounds(points, a, turned, b, d, bounds)
            if b != a and bounds[b % LEAF] <= at_most(best[0], slack):
                open_[waiting] = b  # W is at hand as soon as the penalty of a bound
                waiting += 1
            # Pairs are compared many at a time, unless there is nothing yet to stop the search.
            if waiting == LEAF or (best[0] == np.inf and b == nodes[v, 1] - 1 and waiting > 0):
                keep_nearest(data, terms, calls, pairs, a, open_, waiting, values, best)
                exact += waiting
                waiting = 0
    if waiting > 0:
        keep_nearest(data, terms, calls, pairs, a, open_, waiting, values, best)
        exact += waiting
    return exact


@kernel(f"int64({TREE}, {DATA}, {TERMS}, {CALLS}, float64[::1], int64, int64, int64, boolean[::1], float64[::1])")
def nearest_losses(
    tree: Any, data: Any, terms: Any, calls: Any, B: Any, first: int, last: int, k: int, wanted: Any, out: Any
) -> int:
    """Write the loss of the k-th nearest, itself the first at zero, of the wanted of the points first .. last - 1.

    Infinite where there are fewer than k. Returns the pairs compared.
    """
    lean()
    room = search_room(B)
    best = np.empty(k)
    exact = 0
    for a in range(first, last):
        if wanted[a]:
            exact += kth_loss(tree, data, terms, calls, room, a, best)
            out[a] = best[0]
    return exact


@helper
def least_reach(
    data: Any, terms: Any, calls: Any, room: Any, a: int, open_: Any, waiting: int, values: Any, own: Any
) -> float:
    """Return the least of max(M, own) of point a with those of a list."""
    lean()
    compare(data, calls, room, a, open_, waiting, values)
    best = np.inf
    for w in range(waiting):
        if max(values[w], own[open_[w]]) < best:  # M is not less
            best = min(best, max(penalised(terms, calls, values[w], apart(data, calls, a, open_[w])), own[open_[w]]))
    return best


@kernel(f"int64({TREE}, {DATA}, {TERMS}, {CALLS}, float64[::1], int64, int64, {_CLUSTERS}, boolean, float64[::1])")
def reach_anchors(
    tree: Any, data: Any, terms: Any, calls: Any, B: Any, first: int, last: int, clusters: Any, others: bool, out: Any
) -> int:
    """Write for each of the points first .. last - 1 the least of max(M, own) over the anchors of its cluster.

    ``clusters`` holds labels (N,), -1 for noise, which is left out; those of anchors (N,), -1 for others; own (N,), infinite
    but for anchors; and the least own of each node (V,). ``others`` leaves out the point itself. Returns the pairs compared.
    """
    lean()
    labels, anchors, own, least_own = clusters
    points, nodes, _, _, turned, _, _, _ = tree
    d = calls[FEATURES]
    slack = terms[0][SLACK]
    room = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    open_ = np.empty(LEAF, np.int64)
    values = np.empty(LEAF)
    bounds = np.empty(2 * LEAF)
    stack = np.empty(_STACK, np.int64)
    floor = np.empty(_STACK)
    exact = 0
    for a in range(first, last):
        if labels[a] < 0:
            continue
        best = np.inf if others else own[a]  # of itself, where it is an anchor
        stack[0] = 0
        floor[0] = 0.0
        top = 1
        waiting = 0
        while top > 0:
            top -= 1
            v = stack[top]
            if floor[top] > at_most(best, slack) or least_own[v] >= best:
                continue
            if nodes[v, 2] >= 0:
                top = push_fan(tree, a, v, d, bounds, stack, floor, top, at_most(best, slack))
                continue
            for b in range(nodes[v, 0], nodes[v, 1]):
                if b % LEAF == 0:
                    leaf_bounds(points, a, turned, b, d, bounds)
                if anchors[b] == labels[a] and own[b] < best and b != a and bounds[b % LEAF] <= at_most(best, slack):
                    open_[waiting] = b
                    waiting += 1
                if waiting == LEAF or (best == np.inf and b == nodes[v, 1] - 1 and waiting > 0):
                    best = min(best, least_reach(data, terms, calls, room, a, open_, waiting, values, own))
                    exact += waiting
                    waiting = 0
        if waiting > 0:
            best = min(best, least_reach(data, terms, calls, room, a, open_, waiting, values, own))
            exact += waiting
        out[a] = best
    return exact
