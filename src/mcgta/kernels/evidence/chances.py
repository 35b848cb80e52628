"""Probabilities of labels, given how well each suits each row: along series exactly, elsewhere by mean fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel


@helper
def _add(a: float, b: float) -> float:
    """Log of the sum of two numbers given by their logs."""
    top = max(a, b)
    return top if top == -math.inf else top + math.log1p(math.exp(min(a, b) - top))


@helper
def _sum_others(logs: Any, out: Any) -> None:
    """Write for each entry the log of the sum of all others, given their logs.

    The largest is not taken away from the sum again: others that are far smaller would be lost.
    """
    best = 0
    second = -1
    for k in range(1, logs.size):
        if logs[k] > logs[best]:
            best, second = k, best
        elif second < 0 or logs[k] > logs[second]:
            second = k
    if second < 0 or logs[second] == -math.inf:
        out[:] = logs[best]
        out[best] = -math.inf
        return
    small = 0.0
    rest = 0.0
    for k in range(logs.size):
        if k != best:
            small += math.exp(logs[k] - logs[second])
            rest += math.exp(logs[k] - logs[best])
    for k in range(logs.size):
        if k != best:
            out[k] = logs[best] + math.log1p(max(rest - math.exp(logs[k] - logs[best]), 0.0))
    out[best] = logs[second] + math.log(small)


@helper
def _normalise(logs: Any) -> None:
    """Turn logs into numbers with sum one."""
    top = logs.max()
    total = 0.0
    for k in range(logs.size):
        logs[k] = math.exp(logs[k] - top)
        total += logs[k]
    for k in range(logs.size):
        logs[k] /= total


@kernel("void(float64[:, ::1], float64[:, ::1], boolean[::1], float64, float64[:, ::1])")
def path_chances(stay: Any, enter: Any, first: Any, cost: float, chances: Any) -> None:
    """Write the (N, K) probabilities of the labels of series, summed over all paths, by the forward-backward algorithm.

    Paths have the weights that :func:`mcgta.kernels.evidence.relabel.best_path` compares, and the arguments are its.
    """
    rows, size = stay.shape
    others = np.empty(size)
    after = np.empty(size)
    later = np.zeros(size)
    for t in range(rows):
        if t == 0 or first[t]:
            chances[t] = enter[t]
        else:
            _sum_others(chances[t - 1], others)
            for k in range(size):
                chances[t, k] = _add(chances[t - 1, k] + stay[t, k], others[k] + enter[t, k] - cost)
        chances[t] -= chances[t].max()  # only differences count, and small numbers have more digits
    for t in range(rows - 1, -1, -1):
        chances[t] += later
        _normalise(chances[t])
        if t == 0 or first[t]:
            later[:] = 0.0
            continue
        for k in range(size):
            after[k] = enter[t, k] - cost + later[k]
        _sum_others(after, others)
        for k in range(size):
            after[k] = _add(stay[t, k] + later[k], others[k])
        later[:] = after - after.max()


@kernel("float64(float64[:, ::1], int64[:, ::1], float64, float64[:, ::1])")
def sweep_chances(worth: Any, listed: Any, together: float, chances: Any) -> float:
    """Give each row in turn the probabilities that its worth and its neighbours suggest; return the largest change.

    The log odds of labels are ``worth`` (N, K), plus ``together`` times the mean of the probabilities of the rows ``listed``,
    -1 where there are no more: the mean field of the model of :func:`mcgta.kernels.evidence.relabel.visit`.
    """
    size = worth.shape[1]
    largest = 0.0
    found = np.empty(size)
    for i in range(worth.shape[0]):
        count = 0
        found[:] = 0.0
        for p in range(listed.shape[1]):
            if listed[i, p] >= 0:
                count += 1
                found += chances[listed[i, p]]
        for k in range(size):
            found[k] = worth[i, k] + together * found[k] / max(count, 1)
        _normalise(found)
        for k in range(size):
            largest = max(largest, abs(found[k] - chances[i, k]))
            chances[i, k] = found[k]
    return largest
