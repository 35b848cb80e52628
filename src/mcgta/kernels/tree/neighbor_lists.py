"""Lists of the points that are nearer to a point than a bar of its own.

See :mod:`mcgta.kernels.tree.search` for the arguments. With core distances as bars a list has fewer than ``min_samples``
points, so that lists of all points take room in proportion to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel
from mcgta.kernels.simd.lanes import lean
from mcgta.kernels.tree.build import LEAF, leaf_bounds
from mcgta.kernels.tree.nearest import push_fan
from mcgta.kernels.tree.search import CALLS, DATA, FEATURES, SLACK, TERMS, TREE, apart, at_most, compare, penalised

_STACK = 512
_LISTS = "Tuple((int64[:, ::1], float64[:, ::1]))"


@helper
def _write_nearer(
    data: Any, terms: Any, calls: Any, pairs: Any, a: int, open_: Any, waiting: int, values: Any, bar: float, lists: Any
) -> None:
    """Compare point a with those of a list, and write down the ones below the bar."""
    lean()
    compare(data, calls, pairs, a, open_, waiting, values)
    others, losses = lists
    used = 0
    while used < others.shape[1] and others[a, used] >= 0:
        used += 1
    for w in range(waiting):
        if values[w] < bar:  # M is not less than W
            value = penalised(terms, calls, values[w], apart(data, calls, a, open_[w]))
            if value < bar:
                others[a, used] = open_[w]
                losses[a, used] = value
                used += 1


@kernel(f"int64({TREE}, {DATA}, {TERMS}, {CALLS}, float64[::1], int64, int64, float64[::1], {_LISTS})")
def list_nearer(
    tree: Any, data: Any, terms: Any, calls: Any, B: Any, first: int, last: int, bars: Any, lists: Any
) -> int:
    """Write the points whose loss with each of the points first .. last - 1 is below its bar, itself left out.

    ``lists`` holds points (N, k), -1 behind the last one, and losses (N, k); k must suffice. Returns the pairs compared.
    """
    lean()
    points, nodes, _, _, turned, _, _, _ = tree
    d = calls[FEATURES]
    slack = terms[0][SLACK]
    pairs = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    open_ = np.empty(LEAF, np.int64)
    values = np.empty(LEAF)
    bounds = np.empty(2 * LEAF)
    stack = np.empty(_STACK, np.int64)
    floor = np.empty(_STACK)
    exact = 0
    for a in range(first, last):
        bar = bars[a]
        if bar <= 0.0:
            continue
        far = at_most(bar, slack)
        waiting = 0
        stack[0] = 0
        floor[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            v = stack[top]
            if nodes[v, 2] >= 0:
                top = push_fan(tree, a, v, d, bounds, stack, floor, top, far)
                continue
            for b in range(nodes[v, 0], nodes[v, 1]):
                if b % LEAF == 0:
                    leaf_bounds(points, a, turned, b, d, bounds)
                if b != a and bounds[b % LEAF] <= far:
                    open_[waiting] = b
                    waiting += 1
                if waiting == LEAF:
                    _write_nearer(data, terms, calls, pairs, a, open_, waiting, values, bar, lists)
                    exact += waiting
                    waiting = 0
        if waiting > 0:
            _write_nearer(data, terms, calls, pairs, a, open_, waiting, values, bar, lists)
            exact += waiting
    return exact
