"""The minimum spanning tree of mutual reachability, max(core_i, core_j, M), by Boruvka's rounds.

In every round each component takes the lightest edge that leaves it. A point remembers the lightest edge it has found to
another component, which stays its lightest for as long as the two are apart, and a weight below which it has none; since
components only grow, that weight never falls. So in later rounds few points are looked up again, and their search is cut
off at the lightest edge of their component.

See :mod:`mcgta.kernels.tree.search` for the arguments. ``span`` holds for each point its core distance, component, the other
end of its lightest edge (-1 for none), that edge's weight and the weight below which there is none; for each node its
component (-1 for several) and least core distance; and for each component its lightest edge: weight and the two ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel
from mcgta.kernels.simd.lanes import lean
from mcgta.kernels.tree.build import LEAF, leaf_bounds
from mcgta.kernels.tree.connect import find, join
from mcgta.kernels.tree.nearest import push_fan
from mcgta.kernels.tree.search import (
    CALLS,
    DATA,
    FEATURES,
    SLACK,
    TERMS,
    TREE,
    apart,
    at_least,
    at_most,
    compare,
    penalised,
)
from mcgta.runtime.types import Array, Index

_STACK = 512
_SPAN = (
    "Tuple((float64[::1], int64[::1], int64[::1], float64[::1], float64[::1], int64[::1], float64[::1], "
    "float64[::1], int64[::1], int64[::1]))"
)
Span = tuple[Array, Index, Index, Array, Array, Index, Array, Array, Index, Index]


def begin_span(core: Array, node_core: Array) -> Span:
    """Return the state before the first round, given core distances of points and the least of nodes."""
    count = core.size
    nodes = node_core.size
    rows = np.arange(count)
    return (
        core, rows, np.full(count, -1), np.full(count, np.inf), np.zeros(count), np.full(nodes, -1), node_core,
        np.full(count, np.inf), np.full(count, -1), np.full(count, -1),
    )  # fmt: skip


@kernel(f"int64({TREE}, int64[::1], {_SPAN})")
def begin_round(tree: Any, parent: Any, span: Any) -> int:
    """Note the components, and the lightest edges that are known already; return the number of components."""
    lean()
    nodes = tree[1]
    _, component, other, weight, _, node_component, _, lightest, left, right = span
    components = 0
    for a in range(component.shape[0]):
        component[a] = find(parent, a)
        components += component[a] == a
        lightest[a] = np.inf
    for v in range(nodes.shape[0] - 1, -1, -1):
        child = nodes[v, 2]
        if child >= 0:
            same = node_component[child] == node_component[child + 1]
            node_component[v] = node_component[child] if same else -1
            continue
        node_component[v] = component[nodes[v, 0]]
        for a in range(nodes[v, 0] + 1, nodes[v, 1]):
            if component[a] != node_component[v]:
                node_component[v] = -1
    for a in range(component.shape[0]):
        b = other[a]
        if b < 0 or component[b] == component[a]:
            continue
        for turn in range(2):
            c = component[b] if turn else component[a]
            if weight[a] < lightest[c]:
                lightest[c] = weight[a]
                left[c] = a
                right[c] = b
    return components


@helper
def lightest_of(
    data: Any,
    terms: Any,
    calls: Any,
    room: Any,
    a: int,
    open_: Any,
    waiting: int,
    values: Any,
    core: Any,
    bar: float,
    found: int,
) -> tuple[float, int]:
    """Return weight and end of the lightest edge from point a to those of a list, if it is lighter than that given."""
    lean()
    compare(data, calls, room, a, open_, waiting, values)
    for w in range(waiting):
        b = open_[w]
        reach = max(max(core[a], core[b]), values[w])
        if reach < bar:  # M is not less than W
            reach = max(reach, penalised(terms, calls, values[w], apart(data, calls, a, b)))
        if reach < bar:
            bar = reach
            found = b
    return bar, found


@kernel(f"int64({TREE}, {DATA}, {TERMS}, {CALLS}, float64[::1], {_SPAN}, int64, int64)")
def look_around(tree: Any, data: Any, terms: Any, calls: Any, B: Any, span: Any, first: int, last: int) -> int:
    """Look for lighter edges from the points first .. last - 1 to other components; return the pairs compared."""
    lean()
    points, nodes, _, _, turned, _, _, _ = tree
    core, component, other, weight, floor, node_component, node_core, lightest, left, right = span
    d = calls[FEATURES]
    slack = terms[0][SLACK]
    room = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    open_ = np.empty(LEAF, np.int64)
    values = np.empty(LEAF)
    bounds = np.empty(2 * LEAF)
    stack = np.empty(_STACK, np.int64)
    below = np.empty(_STACK)
    exact = 0
    for a in range(first, last):
        c = component[a]
        if other[a] >= 0 and component[other[a]] != c:
            continue
        bar = lightest[c]
        if floor[a] >= bar or core[a] >= bar:
            continue
        found: Any = np.int64(-1)
        waiting = 0
        stack[0] = 0
        below[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            v = stack[top]
            if core[a] >= bar:  # no edge from here is lighter
                break
            if node_component[v] == c or node_core[v] >= bar or at_least(below[top], slack) >= bar:
                continue
            if nodes[v, 2] >= 0:
                top = push_fan(tree, a, v, d, bounds, stack, below, top, at_most(bar, slack))
                continue
            for b in range(nodes[v, 0], nodes[v, 1]):
                if b % LEAF == 0:
                    leaf_bounds(points, a, turned, b, d, bounds)
                if component[b] != c and core[a] < bar and core[b] < bar and at_least(bounds[b % LEAF], slack) < bar:
                    open_[waiting] = b
                    waiting += 1
                if waiting == LEAF or (bar == np.inf and b == nodes[v, 1] - 1 and waiting > 0):
                    bar, found = lightest_of(data, terms, calls, room, a, open_, waiting, values, core, bar, found)
                    exact += waiting
                    waiting = 0
        if waiting > 0:
            bar, found = lightest_of(data, terms, calls, room, a, open_, waiting, values, core, bar, found)
            exact += waiting
        other[a] = found
        floor[a] = bar
        if found >= 0:
            weight[a] = bar
            for turn in range(2):
                one = component[found] if turn else c
                if bar < lightest[one]:
                    lightest[one] = bar
                    left[one] = a
                    right[one] = found
    return exact


@kernel(f"int64(int64[::1], {_SPAN}, int64[::1], int64[::1], float64[::1], int64)")
def end_round(parent: Any, span: Any, i: Any, j: Any, weights: Any, edges: int) -> int:
    """Join components along their lightest edges, which are written down; return the number of edges so far."""
    lean()
    _, component, _, _, _, _, _, lightest, left, right = span
    for c in range(component.shape[0]):
        if component[c] != c or lightest[c] == np.inf:
            continue
        one = find(parent, left[c])
        two = find(parent, right[c])
        if one != two:
            join(parent, one, two)
            i[edges] = left[c]
            j[edges] = right[c]
            weights[edges] = lightest[c]
            edges += 1
    return edges
