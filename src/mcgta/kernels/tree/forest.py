"""Labels of least cost on a forest, exactly, in time that grows as rows times labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import kernel


@kernel("int64(int64[::1])")
def open_rings(nearest: Any) -> int:
    """Open rings of more than two rows in place, where each row points to another one or, with -1, to none.

    A ring becomes a pair: the row after its first row points back. Returns how many there were. Where rows point to those
    nearest to them there is no such ring, but for ties that are not quite ties.
    """
    size = nearest.size
    seen = np.full(size, -1, dtype=np.int64)
    opened = 0
    for start in range(size):
        i = start
        while i >= 0 and seen[i] < 0:
            seen[i] = start
            i = nearest[i]
        if i < 0 or seen[i] != start:
            continue
        first = i
        length = 1
        j = nearest[i]
        while j != i:
            first = min(first, j)
            length += 1
            j = nearest[j]
        if length > 2:
            nearest[nearest[first]] = first
            opened += 1
    return opened


@kernel("void(float64[:, ::1], int64[::1], float64, int64[::1])")
def best_on_forest(costs: Any, nearest: Any, price: float, labels: Any) -> None:
    """Write the labels for which the sum of ``costs`` (N, K) and ``price`` for each row whose ``nearest`` differs is least.

    ``nearest`` holds no rings of more than two rows; -1 is none. Two rows that are each other's nearest pay twice. Among equals
    the lower label is taken, the parent's before others.
    """
    rows, size = costs.shape
    total = costs.copy()
    waiting = np.zeros(rows, dtype=np.int64)
    order = np.empty(rows, dtype=np.int64)
    came = np.empty((rows, size), dtype=np.int32)
    parent = np.empty(rows, dtype=np.int64)
    for i in range(rows):
        j = nearest[i]
        # Of a mutual pair the first row is the root of its tree.
        parent[i] = -1 if j < 0 or (nearest[j] == i and i < j) else j
        if parent[i] >= 0:
            waiting[parent[i]] += 1
    done = 0
    for i in range(rows):
        if waiting[i] == 0:
            order[done] = i
            done += 1
    # Children before parents: each row is done once no row points to it any more.
    for t in range(rows):
        i = order[t]
        best = 0
        for k in range(1, size):
            if total[i, k] < total[i, best]:
                best = k
        j = parent[i]
        if j < 0:
            labels[i] = best
            continue
        cost = 2.0 * price if nearest[j] == i else price
        for k in range(size):
            if total[i, best] + cost < total[i, k]:
                came[i, k] = best
                total[j, k] += total[i, best] + cost
            else:
                came[i, k] = k
                total[j, k] += total[i, k]
        waiting[j] -= 1
        if waiting[j] == 0:
            order[done] = j
            done += 1
    for t in range(rows - 1, -1, -1):
        i = order[t]
        if parent[i] >= 0:
            labels[i] = came[i, labels[parent[i]]]
