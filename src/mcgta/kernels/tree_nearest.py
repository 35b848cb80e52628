"""How near the nearest are: losses to the k-th nearest, and to the nearest dense place of a cluster.

See :mod:`mcgta.kernels.tree_search` for the arguments. Nodes are looked at nearest first, and dropped once their lower bound is
beyond what has been found; since M >= W, a bound of W is one of M.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.compiled import helper, kernel
from mcgta.kernels.lanes import lean
from mcgta.kernels.tree import LEAF, box_bounds, point_bounds
from mcgta.kernels.tree_search import (
    CALLS,
    DATA,
    FEATURES,
    LAW,
    SLACK,
    TREE,
    apart,
    at_least,
    at_most,
    compare,
    penalised,
)

_STACK = 512
_CLUSTERS = "Tuple((int64[::1], int64[::1], float64[::1], float64[::1]))"


@helper
def push_children(tree: Any, a: int, child: int, d: int, stack: Any, floor: Any, top: int, bar: float) -> int:
    """Put the children of a node that may hold something below ``bar`` on the stack, the nearer one on top."""
    lean()
    points, _, boxes, _ = tree
    low0, _ = box_bounds(points, a, boxes, child, d)
    low1, _ = box_bounds(points, a, boxes, child + 1, d)
    nearer = 0 if low0 <= low1 else 1
    for turn in range(2):
        side = 1 - nearer if turn == 0 else nearer
        low = low1 if side else low0
        if low <= bar:
            stack[top] = child + side
            floor[top] = low
            top += 1
    return top


@helper
def search_room(B: Any) -> Any:
    """Return room for :func:`kth_loss`, given that for comparing pairs."""
    lists = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), np.empty(_STACK, np.int64))
    return lists, np.empty(LEAF), np.empty(_STACK), B


@helper
def kth_loss(tree: Any, data: Any, law: Any, calls: Any, room: Any, a: int, best: Any) -> int:
    """Find the losses of the nearest of point a, itself the first at zero, descending, as many as ``best`` has room for.

    Infinite where there are fewer. Returns the pairs compared.
    """
    lean()
    points, nodes, _, _ = tree
    d, slack, k = calls[FEATURES], law[0][SLACK], best.shape[0]
    (left, right, open_, stack), values, floor, B = room
    pairs = (left, right, B)
    exact = 0
    best[:] = np.inf
    best[k - 1] = 0.0
    stack[0] = 0
    floor[0] = 0.0
    top = 1
    while top > 0:
        top -= 1
        v = stack[top]
        if floor[top] > at_most(best[0], slack):
            continue
        if nodes[v, 2] >= 0:
            top = push_children(tree, a, nodes[v, 2], d, stack, floor, top, at_most(best[0], slack))
            continue
        waiting = 0
        for b in range(nodes[v, 0], nodes[v, 1]):
            if b != a:
                least, _ = point_bounds(points, a, b, d)
                if least <= at_most(best[0], slack):
                    least = penalised(law, calls, at_least(least, slack), apart(data, calls, a, b))
                    if least <= at_most(best[0], slack):
                        open_[waiting] = b
                        waiting += 1
            if waiting == LEAF or (b == nodes[v, 1] - 1 and waiting > 0):
                compare(data, calls, pairs, a, open_, waiting, values)
                exact += waiting
                for w in range(waiting):
                    value = penalised(law, calls, values[w], apart(data, calls, a, open_[w]))
                    if value < best[0]:
                        place = 0
                        while place + 1 < k and best[place + 1] > value:
                            best[place] = best[place + 1]
                            place += 1
                        best[place] = value
                waiting = 0
    return exact


@kernel(f"int64({TREE}, {DATA}, {LAW}, {CALLS}, float64[::1], int64, int64, int64, boolean[::1], float64[::1])")
def nearest_losses(
    tree: Any, data: Any, law: Any, calls: Any, B: Any, first: int, last: int, k: int, wanted: Any, out: Any
) -> int:
    """Write the loss of the k-th nearest, itself the first at zero, of the wanted of the points first .. last - 1.

    Infinite where there are fewer than k. Returns the pairs compared.
    """
    lean()
    room, best = search_room(B), np.empty(k)
    exact = 0
    for a in range(first, last):
        if wanted[a]:
            exact += kth_loss(tree, data, law, calls, room, a, best)
            out[a] = best[0]
    return exact


@kernel(f"int64({TREE}, {DATA}, {LAW}, {CALLS}, float64[::1], int64, int64, {_CLUSTERS}, boolean, float64[::1])")
def reach_anchors(
    tree: Any, data: Any, law: Any, calls: Any, B: Any, first: int, last: int, clusters: Any, others: bool, out: Any
) -> int:
    """Write for each of the points first .. last - 1 the least of max(M, own) over the anchors of its cluster.

    ``clusters`` holds labels (N,), -1 for noise, which is left out; those of anchors (N,), -1 for others; own (N,), infinite
    but for anchors; and the least own of each node (V,). ``others`` leaves out the point itself. Returns the pairs compared.
    """
    lean()
    labels, anchors, own, least_own = clusters
    points, nodes, _, _ = tree
    d, slack = calls[FEATURES], law[0][SLACK]
    room = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    open_, values = np.empty(1, np.int64), np.empty(1)
    stack, floor = np.empty(_STACK, np.int64), np.empty(_STACK)
    exact = 0
    for a in range(first, last):
        if labels[a] < 0:
            continue
        best = np.inf if others else own[a]  # of itself, where it is an anchor
        stack[0] = 0
        floor[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            v = stack[top]
            if floor[top] > at_most(best, slack) or least_own[v] >= best:
                continue
            if nodes[v, 2] >= 0:
                top = push_children(tree, a, nodes[v, 2], d, stack, floor, top, at_most(best, slack))
                continue
            for b in range(nodes[v, 0], nodes[v, 1]):
                if anchors[b] != labels[a] or own[b] >= best or b == a:
                    continue
                least, most = point_bounds(points, a, b, d)
                if least > at_most(best, slack):
                    continue
                distance = apart(data, calls, a, b)
                if penalised(law, calls, at_most(most, slack), distance) <= own[b]:
                    best = own[b]
                    continue
                open_[0] = b
                compare(data, calls, room, a, open_, 1, values)
                exact += 1
                best = min(best, max(penalised(law, calls, values[0], distance), own[b]))
        out[a] = best
    return exact
