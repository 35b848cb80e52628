"""Regions of a graph, grown by merging neighbours that are most alike in their means (Ward 1963, kept to the graph)."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel
from mcgta.kernels.tree.connect import find


@helper
def _cost(means: Any, counts: Any, i: int, j: int) -> float:
    far = 0.0
    for f in range(means.shape[1]):
        far += (means[i, f] - means[j, f]) ** 2
    return far * counts[i] * counts[j] / (counts[i] + counts[j])


@kernel("int64(float64[:, ::1], int64[::1], int64[::1], int64, int64[::1])")
def grow(X: Any, i: Any, j: Any, wanted: int, region: Any) -> int:
    """Merge what edges (i, j) join until ``wanted`` regions are left, or none can be merged; return how many.

    The merge that adds least to the sum of squares about the means of X (N, d) comes first; of equal ones that of the lower
    edge. Writes for each row its ``region``, named by a row in it.
    """
    rows, d = X.shape
    means = X.copy()
    counts = np.ones(rows)
    version = np.zeros(rows, dtype=np.int64)
    parent = np.arange(rows)
    # Edges of a region are a chain of cells, joined when regions are.
    head = np.full(rows, -1)
    last = np.full(rows, -1)
    cell = np.empty(2 * i.size, dtype=np.int64)
    after = np.full(2 * i.size, -1)
    queue = [(0.0, 0, 0, 0, 0, 0)]
    queue.pop()
    for e in range(i.size):
        a = i[e]
        b = j[e]
        if a == b:
            continue
        for side in range(2):
            own, c = (a, 2 * e) if side == 0 else (b, 2 * e + 1)
            cell[c] = b if side == 0 else a
            after[c] = head[own]
            if head[own] < 0:
                last[own] = c
            head[own] = c
        queue.append((_cost(means, counts, a, b), e, a, b, 0, 0))
    heapq.heapify(queue)
    left = rows
    serial = i.size
    seen = np.full(rows, -1)
    while left > wanted and len(queue) > 0:
        _, _, a, b, va, vb = heapq.heappop(queue)
        if parent[a] != a or parent[b] != b or version[a] != va or version[b] != vb:
            continue
        if b < a:
            a, b = b, a
        for f in range(d):
            means[a, f] = (counts[a] * means[a, f] + counts[b] * means[b, f]) / (counts[a] + counts[b])
        counts[a] += counts[b]
        parent[b] = a
        version[a] += 1
        left -= 1
        if head[b] >= 0:
            if head[a] < 0:
                head[a] = head[b]
            else:
                after[last[a]] = head[b]
            last[a] = last[b]
        # One entry for each neighbour; the chain is rebuilt of those.
        c = head[a]
        previous = -1
        while c >= 0:
            other = find(parent, cell[c])
            if other == a or seen[other] == serial:
                if previous < 0:
                    head[a] = after[c]
                else:
                    after[previous] = after[c]
            else:
                seen[other] = serial
                cell[c] = other
                heapq.heappush(queue, (_cost(means, counts, a, other), serial, a, other, version[a], version[other]))
                previous = c
            c = after[c]
        last[a] = previous
        serial += 1
    for r in range(rows):
        region[r] = find(parent, r)
    return left
