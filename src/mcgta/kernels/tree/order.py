"""The ordering of OPTICS, scikit-learn's to the last bit, by lazy searches of the tree.

A processed point p reaches another one q at max(core(p), M(p, q)), rounded to 15 decimals. Next comes the row that is
reached at the least value, the lowest row at ties; its predecessor is the first point that reached it so. A heap holds for each
processed point a pair (value, row) which no row that it may still reach is before. If the least pair of the heap names a row
that is not processed, that row is next, reached at that value; otherwise the point is looked up again. A search is cut off
somewhat above the next value of the heap, so that few go far: it finds the least pair up to there, or that all are beyond.

See :mod:`mcgta.kernels.tree.search` for the arguments; the boxes of the tree shrink around the points that are not processed
yet, so they must be a copy. ``walk`` holds for each point its core distance, rank in the ordering (-1 before it has one),
reachability, predecessor and leaf; the points in their ordering, and by row; for each node its parent and the least row that
is not processed; the heap (values, rows, points), and how many points are processed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel, literal_helper
from mcgta.kernels.simd.lanes import lean
from mcgta.kernels.tree.build import FAN, LEAF, bound_boxes, leaf_bounds
from mcgta.kernels.tree.nearest import push_fan
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
)
from mcgta.runtime.types import Array, Index

_NO_ROW = 2**62
_STACK = 512
_GROW = 2.0  # how much further a point that has no row near looks the next time
_DECIMALS = 1e15
_WALK = (
    "Tuple((float64[::1], int64[::1], float64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "int64[::1], int64[::1], Tuple((float64[::1], int64[::1], int64[::1])), int64[::1]))"
)
Walk = tuple[Array, Index, Array, Index, Index, Index, Index, Index, Index, Index, tuple[Array, Index, Index], Index]


def begin_walk(core: Array, rows: Index, nodes: Index, spokes: Index) -> Walk:
    """Return the state before the first point, given core distances (rounded), rows of the points of the tree, and fans."""
    count = core.size
    point = np.argsort(rows)
    inner = np.flatnonzero(nodes[:, 2] >= 0)
    leaves = np.flatnonzero(nodes[:, 2] < 0)
    parent = np.full(nodes.shape[0], -1)
    parent[nodes[inner, 2]] = parent[nodes[inner, 2] + 1] = inner
    leaves = leaves[np.argsort(nodes[leaves, 0])]
    leaf = np.repeat(leaves, nodes[leaves, 1] - nodes[leaves, 0])
    home = np.full(nodes.shape[0], -1)
    home[spokes[spokes >= 0]] = np.flatnonzero(spokes >= 0)
    least = bound_boxes(rows[:, None].astype(float), nodes)[:, 0].astype(np.int64)
    heap = (np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64))
    return (
        core, np.full(count, -1), np.full(count, np.inf), np.full(count, -1), leaf, np.full(count, -1), point, parent, home,
        least, heap, np.zeros(1, np.int64),
    )  # fmt: skip


@literal_helper
def rounded(value: float) -> float:
    """As NumPy rounds to 15 decimals."""
    return np.rint(value * _DECIMALS) / _DECIMALS


@helper
def ceiling(terms: Any, bar: float) -> float:
    """Above this, a lower bound of W says that a pair is reached above ``bar`` only."""
    return at_most(bar, terms[0][SLACK]) + 1.0 / _DECIMALS


@helper
def _before(heap: Any, rank: Any, i: int, value: float, row: int, a: int) -> bool:
    """Whether entry i of the heap comes before another; at ties that of the point processed first."""
    values, rows, points = heap
    if values[i] != value:
        return values[i] < value
    return rows[i] < row or (rows[i] == row and rank[points[i]] < rank[a])


@helper
def _rise(heap: Any, rank: Any, i: int, value: float, row: int, a: int) -> None:
    """Add an entry to a heap of i."""
    lean()
    values, rows, points = heap
    while i > 0:
        up = (i - 1) // 2
        if _before(heap, rank, up, value, row, a):
            break
        values[i] = values[up]
        rows[i] = rows[up]
        points[i] = points[up]
        i = up
    values[i] = value
    rows[i] = row
    points[i] = a


@helper
def _sink(heap: Any, rank: Any, size: int, value: float, row: int, a: int) -> None:
    """Put an entry in the place of the least one."""
    lean()
    values, rows, points = heap
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _before(heap, rank, child + 1, values[child], rows[child], points[child]):
            child += 1
        if not _before(heap, rank, child, value, row, a):
            break
        values[i] = values[child]
        rows[i] = rows[child]
        points[i] = points[child]
        i = child
    values[i] = value
    rows[i] = row
    points[i] = a


@helper
def _note(tree: Any, walk: Any, v: int) -> None:
    """Write the box of a node to the fan that it is in, if any."""
    boxes = tree[2]
    wide = tree[7]
    home = walk[8][v]
    if home >= 0:
        at = home // FAN * boxes.shape[1] * FAN + home % FAN
        for k in range(boxes.shape[1]):
            wide[at + k * FAN] = boxes[v, k]


@helper
def _leave(tree: Any, rows: Any, walk: Any, a: int) -> None:
    """Take a point that has been processed out of the nodes above it."""
    lean()
    points, nodes, boxes, _, _, _, _, _ = tree
    _, rank, _, _, leaf, _, _, parent, _, least, _, _ = walk
    columns = points.shape[1]
    v = leaf[a]
    pile = nodes[v, 1] - nodes[v, 0] > LEAF  # all at one place, so that its box stays as it is
    least[v] = _NO_ROW
    for b in range(nodes[v, 0], nodes[v, 1]):
        if rank[b] < 0:
            least[v] = min(least[v], rows[b])
    if least[v] == _NO_ROW or not pile:
        for k in range(columns):
            boxes[v, k] = np.inf
            boxes[v, columns + k] = -np.inf
        for b in range(nodes[v, 0], nodes[v, 1]):
            if rank[b] < 0:
                for k in range(columns):
                    boxes[v, k] = min(boxes[v, k], points[b, k])
                    boxes[v, columns + k] = max(boxes[v, columns + k], points[b, k])
    _note(tree, walk, v)
    changed = True
    while changed and parent[v] >= 0:
        v = parent[v]
        child = nodes[v, 2]
        changed = least[v] == rows[a]
        least[v] = min(least[child], least[child + 1])
        for k in range(columns):
            low = min(boxes[child, k], boxes[child + 1, k])
            high = max(boxes[child, columns + k], boxes[child + 1, columns + k])
            changed = changed or low != boxes[v, k] or high != boxes[v, columns + k]
            boxes[v, k] = low
            boxes[v, columns + k] = high
        _note(tree, walk, v)


@helper
def _look(
    tree: Any, data: Any, terms: Any, calls: Any, room: Any, desk: Any, walk: Any, a: int, known: float, bar: float
) -> tuple[float, int, int, int]:
    """Find the row that is reached first from point a, at ``bar`` or below; none is below ``known``.

    Returns value and row, which are ``bar`` and ``_NO_ROW`` if there is none; nodes seen and pairs compared.
    """
    lean()
    points, nodes, _, _, turned, _, _, _ = tree
    rows = data[1]
    d = calls[FEATURES]
    core = walk[0][a]
    rank = walk[1]
    least = walk[9]
    open_, values, bounds, stack, floor = desk
    # No row is reached below the rounded core distance, so that only rows matter there.
    known = max(known, rounded(core))
    top_bar = ceiling(terms, bar)
    found: Any = np.int64(_NO_ROW)
    exact = seen = 0
    stack[0] = 0
    floor[0] = 0.0
    top = 1
    while top > 0:
        top -= 1
        v = stack[top]
        seen += 1
        if floor[top] > top_bar or least[v] == _NO_ROW or (bar <= known and least[v] >= found):
            continue
        if nodes[v, 2] >= 0:
            top = push_fan(tree, a, v, d, bounds, stack, floor, top, top_bar)
            continue
        waiting = 0
        bounded: Any = np.int64(-1)
        for b in range(nodes[v, 0], nodes[v, 1]):
            if waiting == 0 and bar <= known and least[v] >= found:
                break
            if rank[b] < 0 and (bar > known or rows[b] < found):
                if bounded != b // LEAF:
                    bounded = b // LEAF
                    seen += 1
                    leaf_bounds(points, a, turned, bounded * LEAF, d, bounds)
                if bounds[b % LEAF] <= top_bar:
                    open_[waiting] = b
                    waiting += 1
            if waiting == LEAF or (b == nodes[v, 1] - 1 and waiting > 0):
                compare(data, calls, room, a, open_, waiting, values)
                exact += waiting
                for w in range(waiting):
                    if values[w] > top_bar:
                        continue
                    row = rows[open_[w]]
                    value = rounded(max(core, penalised(terms, calls, values[w], apart(data, calls, a, open_[w]))))
                    if value < bar or (value == bar and row < found):
                        bar = value
                        found = row
                        top_bar = ceiling(terms, value)
                waiting = 0
    return bar, found, seen, exact


@helper
def _equal(data: Any, calls: Any, a: int, b: int) -> bool:
    """Whether two points have the same model, to the last bit, at the same place."""
    lean()
    models, rows, positions, groups, _ = data
    size = calls[FEATURES] + 1 + calls[FEATURES] * calls[FEATURES]
    same = groups[a] == groups[b]
    for k in range(positions.shape[1]):
        same = same and positions[a, k] == positions[b, k]
    for k in range(size):
        same = same and models[rows[a] * size + k] == models[rows[b] * size + k]
    return same


@kernel(f"int64({TREE}, {DATA}, {TERMS}, {CALLS}, float64[::1], {_WALK}, int64)")
def walk_on(tree: Any, data: Any, terms: Any, calls: Any, B: Any, walk: Any, steps: int) -> int:
    """Go on until all points are processed or ``steps`` nodes have been looked at; return the pairs compared."""
    lean()
    core, rank, reach, predecessor, _, order, point, _, _, _, heap, done = walk
    room = (np.empty(LEAF, np.int64), np.empty(LEAF, np.int64), B)
    desk = (np.empty(LEAF, np.int64), np.empty(LEAF), np.empty(2 * LEAF), np.empty(_STACK, np.int64), np.empty(_STACK))
    exact = seen = 0
    while done[0] < rank.shape[0] and seen < steps:
        size = done[0]  # every processed point has one entry
        value = np.inf
        row = np.int64(0)
        a = np.int64(-1)
        if size > 0:
            value = heap[0][0]
            row = heap[1][0]
            a = heap[2][0]
        if 0 <= row < _NO_ROW and rank[point[row]] < 0:
            b = point[row]
            rank[b] = size
            order[size] = b
            reach[b] = value
            predecessor[b] = a
            _leave(tree, data[1], walk, b)
            start = rounded(core[b])
            if a >= 0 and start == 0.0 and _equal(data, calls, a, b):
                start = 1.0 / _DECIMALS  # what is at zero, the equal one before it reaches first
            _rise(heap, rank, size, start, -1, b)
            done[0] += 1
            continue
        bar = np.inf
        for i in range(1, min(3, size)):
            bar = min(bar, heap[0][i])
        bar = max(bar, _GROW * value)
        if bar <= value and row == _NO_ROW:  # all of the heap are at zero, with no row left there
            bar = np.inf
        bar, row, more, compared = _look(tree, data, terms, calls, room, desk, walk, a, value, bar)
        seen += more
        exact += compared
        _sink(heap, rank, size, bar, row, a)
    return exact
