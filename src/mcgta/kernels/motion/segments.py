"""Segments of blocks with a constant mean, exactly, and the path of their merges into states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel


@kernel("void(float64[:, ::1], float64[::1], int64[::1], float64, int64, int64[::1])")
def best_segments(sums: Any, ratios: Any, first: Any, cost: float, shortest: int, back: Any) -> None:
    """Write for each number of blocks where the last segment of their best segmentation begins.

    Parameters
    ----------
    sums : (M + 1, J) of the blocks before each, whose noise has variance 1
    ratios : (J,) variance of the segments' means over that of the noise
    first : (M,) first block of the piece that a block is in; no segment is in two pieces
    cost : nats of a change within a piece
    shortest : blocks of the shortest segment, but for pieces that are shorter
    back : (M + 1,) written
    """
    blocks = sums.shape[0] - 1
    size = ratios.size
    slopes = np.empty((blocks + 1, size))
    levels = np.zeros(blocks + 1)
    for n in range(blocks + 1):
        for j in range(size):
            slopes[n, j] = 0.5 * ratios[j] / (1.0 + n * ratios[j])
            levels[n] -= 0.5 * math.log1p(n * ratios[j])
    best = np.full(blocks + 1, -math.inf)
    best[0] = 0.0
    back[0] = 0
    for end in range(1, blocks + 1):
        begin = first[end - 1]
        top = -math.inf
        where = begin
        back[end] = begin
        if end - begin < shortest and end < blocks and first[end] == begin:
            continue
        for i in range(begin, max(end - shortest, begin) + 1):
            if best[i] == -math.inf:
                continue
            n = end - i
            found = best[i] + levels[n]
            if i > begin:
                found -= cost
            for j in range(size):
                gap = sums[end, j] - sums[i, j]
                found += slopes[n, j] * gap * gap
            if found > top:
                top = found
                where = i
        best[end] = top
        back[end] = where


@helper
def _evidence(n: float, sums: Any, ratios: Any) -> float:
    total = 0.0
    for j in range(ratios.size):
        grown = 1.0 + n * ratios[j]
        total += 0.5 * ratios[j] / grown * sums[j] * sums[j] - 0.5 * math.log(grown)
    return total


@helper
def _gain(a: int, b: int, counts: Any, sums: Any, own: Any, ratios: Any, both: Any) -> float:
    for j in range(ratios.size):
        both[j] = sums[a, j] + sums[b, j]
    return _evidence(counts[a] + counts[b], both, ratios) - own[a] - own[b]


@kernel("void(float64[::1], float64[:, ::1], float64[::1], int64[:, ::1])")
def merge_path(counts: Any, sums: Any, ratios: Any, merges: Any) -> None:
    """Merge the two states whose union loses least evidence, again and again, and write which (K - 1, 2): the second goes.

    ``counts`` (K,) and ``sums`` (K, J) are of the blocks of each state; both are used up.
    """
    size = counts.size
    own = np.empty(size)
    both = np.empty(ratios.size)
    alive = np.ones(size, dtype=np.bool_)
    partner = np.full(size, -1)
    gain = np.full(size, -math.inf)
    for a in range(size):
        own[a] = _evidence(counts[a], sums[a], ratios)
    for a in range(size):
        for b in range(a):
            found = _gain(a, b, counts, sums, own, ratios, both)
            if found > gain[a]:
                gain[a] = found
                partner[a] = b
    for step in range(size - 1):
        a = -1
        for k in range(size):
            if alive[k] and partner[k] >= 0 and (a < 0 or gain[k] > gain[a]):
                a = k
        b = partner[a]
        merges[step, 0] = b
        merges[step, 1] = a
        alive[a] = False
        counts[b] += counts[a]
        for j in range(ratios.size):
            sums[b, j] += sums[a, j]
        own[b] = _evidence(counts[b], sums[b], ratios)
        # A state looks for its partner among those before it.
        for k in range(b, size):
            if not alive[k]:
                continue
            if k == b or partner[k] == a or partner[k] == b:
                gain[k] = -math.inf
                partner[k] = -1
                for other in range(k):
                    if alive[other]:
                        found = _gain(k, other, counts, sums, own, ratios, both)
                        if found > gain[k]:
                            gain[k] = found
                            partner[k] = other
            elif k > b:
                found = _gain(k, b, counts, sums, own, ratios, both)
                if found > gain[k]:
                    gain[k] = found
                    partner[k] = b
