"""Which observations hang together: the components of the graph of those near each other.

Pairs of nodes are looked at from the leaves upwards and the nearer ones first. A pair is skipped where both nodes are one
component already, joined at once where bounds say that all rows are near, and dropped where they say none is. Only what
is left goes down to pairs of points, and only pairs of different components are compared.

See :mod:`mcgta.kernels.tree.search` for the arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel
from mcgta.kernels.simd.lanes import lean
from mcgta.kernels.tree.build import LEAF, box_bounds, node_bounds, point_bounds
from mcgta.kernels.tree.search import (
    CALLS,
    DATA,
    EPS,
    FEATURES,
    SLACK,
    TERMS,
    TREE,
    apart,
    compare,
    gap_between,
    limit,
    penalised,
)
from mcgta.runtime.types import Index

_STACK = 4096
_STATE = "Tuple((int64[::1], int64[::1], int64[::1], int64[::1], int64[::1]))"


def begin(points: int, nodes: int) -> tuple[Index, Index, Index, Index, Index]:
    """Return the state before anything is joined: parents (each its own), a member of each node, a stack, node and top."""
    rows = np.arange(points)
    return rows, np.full(nodes, -1), np.empty(_STACK, np.int64), np.empty(_STACK, np.int64), np.array([nodes - 1, 0])


@helper
def find(parent: Any, a: int) -> int:
    """Return the root of a point's component, halving the way there (Tarjan and van Leeuwen 1984)."""
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


@helper
def join(parent: Any, a: int, b: int) -> None:
    """Make two roots one, the smaller."""
    if a < b:
        parent[b] = a
    else:
        parent[a] = b


@helper
def whole(tree: Any, parent: Any, some: Any, member: Any, v: int) -> None:
    """Note in ``some[v]`` a member of a node that is one component; -1 where it is several, -2 where it has no members."""
    lean()
    nodes = tree[1]
    child = nodes[v, 2]
    if child >= 0:
        one = some[child]
        two = some[child + 1]
        if one == -2 or two == -2:
            some[v] = max(one, two)
        elif one == -1 or two == -1:
            some[v] = -1
        else:
            some[v] = one if find(parent, one) == find(parent, two) else -1
        return
    found = -2
    for a in range(nodes[v, 0], nodes[v, 1]):
        if member[a]:
            if found == -2:
                found = a
            elif find(parent, a) != find(parent, found):
                found = -1
                break
    some[v] = found


@helper
def join_points(
    tree: Any, data: Any, terms: Any, calls: Any, room: Any, parent: Any, member: Any, a: int, first: int, last: int
) -> int:
    """Join point a with those of first .. last - 1 that are near it; return the pairs compared."""
    lean()
    eps = terms[0][EPS]
    slack = terms[0][SLACK]
    other, value, scratch = room
    exact = 0
    for b in range(first, last):
        if not member[b]:
            continue
        least, most = point_bounds(tree[0], a, b, calls[FEATURES])
        if least > eps + slack:
            continue
        one = find(parent, a)
        two = find(parent, b)
        if one == two:
            continue
        distance = apart(data, calls, a, b)
        bar = limit(terms, calls, distance)
        near = most <= bar - slack
        if not near and least <= bar + slack:
            other[0] = b
            compare(data, calls, scratch, a, other, 1, value)
            exact += 1
            near = penalised(terms, calls, value[0], distance) <= eps
        if near:
            join(parent, one, two)
    return exact


@helper
def in_one(parent: Any, member: Any, first: int, last: int) -> bool:
    """Whether the members among the points first .. last - 1 are one component."""
    root: Any = np.int64(-1)
    for a in range(first, last):
        if member[a]:
            if root >= 0 and find(parent, a) != root:
                return False
            root = find(parent, a)
    return True


@helper
def join_all(tree: Any, parent: Any, member: Any, some: Any, v: int, root: int) -> int:
    """Make all members of a node one component, with that of ``root`` unless -1; return the root of it."""
    lean()
    nodes = tree[1]
    for a in range(nodes[v, 0], nodes[v, 1]):
        if member[a]:
            some[v] = a
            one = find(parent, a)
            if root < 0:
                root = one
            elif one != root:
                join(parent, one, root)
                root = min(one, root)
    return root


@kernel(f"int64({TREE}, {DATA}, {TERMS}, {CALLS}, float64[::1], boolean[::1], {_STATE}, int64)")
def connect(tree: Any, data: Any, terms: Any, calls: Any, B: Any, member: Any, state: Any, steps: int) -> int:
    """Join what hangs together; return the pairs compared, after some number of steps at the latest.

    The state is what :func:`begin` makes, and all is done when its node is -1.
    """
    lean()
    points, nodes, boxes, places, _, _, _, _ = tree
    parent, some, left, right, place = state
    d = calls[FEATURES]
    slack = terms[0][SLACK]
    eps = terms[0][EPS]
    room = (np.empty(1, np.int64), np.empty(1), (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B))
    node, top = place
    exact = 0
    while node >= 0 and steps > 0:
        steps -= 1
        if top == 0:  # begin the node
            child = nodes[node, 2]
            if child >= 0:
                left[0] = child
                right[0] = child + 1
                top = 1
            else:
                start = nodes[node, 0]
                stop = nodes[node, 1]
                _, high = node_bounds(boxes, node, node, d)
                if high <= eps - slack and high <= limit(terms, calls, 0.0) - slack:
                    join_all(tree, parent, member, some, node, -1)
                    stop = start
                for a in range(start, stop):
                    if member[a]:
                        exact += join_points(tree, data, terms, calls, room, parent, member, a, a + 1, stop)
                        # In a pile of equal ones all hang together with the first already.
                        if stop - start > LEAF and in_one(parent, member, start, stop):
                            break
        if top > 0:
            top -= 1
            u = left[top]
            v = right[top]
            if some[u] == -1:
                whole(tree, parent, some, member, u)
            if some[v] == -1:
                whole(tree, parent, some, member, v)
            low, high = node_bounds(boxes, u, v, d)
            one = some[u] >= 0 and some[v] >= 0 and find(parent, some[u]) == find(parent, some[v])
            if some[u] == -2 or some[v] == -2 or one or low > eps + slack:
                pass
            elif high <= eps - slack and high <= limit(terms, calls, gap_between(places, u, v)) - slack:
                root = join_all(tree, parent, member, some, u, -1)
                join_all(tree, parent, member, some, v, root)
            elif nodes[u, 2] < 0 and nodes[v, 2] < 0:
                for a in range(nodes[u, 0], nodes[u, 1]):
                    low, _ = box_bounds(points, a, boxes, v, d)
                    if member[a] and low <= eps + slack:
                        start = nodes[v, 0]
                        stop = nodes[v, 1]
                        exact += join_points(tree, data, terms, calls, room, parent, member, a, start, stop)
                whole(tree, parent, some, member, u)
                whole(tree, parent, some, member, v)
            else:  # the larger of the two is divided, and its nearer half goes on top
                divided = u
                kept = v
                if nodes[u, 2] < 0 or (nodes[v, 2] >= 0 and nodes[v, 1] - nodes[v, 0] > nodes[u, 1] - nodes[u, 0]):
                    divided = v
                    kept = u
                half = nodes[divided, 2]
                near0, _ = node_bounds(boxes, half, kept, d)
                near1, _ = node_bounds(boxes, half + 1, kept, d)
                nearer = half if near0 <= near1 else half + 1
                left[top] = 2 * half + 1 - nearer
                right[top] = kept
                left[top + 1] = nearer
                right[top + 1] = kept
                top += 2
        if top == 0:
            whole(tree, parent, some, member, node)
            node -= 1
    place[0] = node
    place[1] = top
    return exact
