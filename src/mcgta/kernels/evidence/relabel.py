"""Labels of least cost, given the clusters' Gaussians: along series exactly, elsewhere one observation at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mcgta.kernels.evidence.whitening import INDEPENDENT, correlation, predict_from
from mcgta.kernels.simd.compiled import helper, kernel

_BLOCK = 64


@kernel("void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[:, ::1])")
def squared_distances(y: Any, w: Any, means: Any, inverse: Any, out: Any) -> None:
    """Write the (N, K) squared Mahalanobis distances of rows (d, N) from each cluster, whose mean counts w times."""
    d, rows = y.shape
    off = np.empty((d, _BLOCK))
    part = np.empty(_BLOCK)
    total = np.empty(_BLOCK)
    for start in range(0, rows, _BLOCK):
        size = min(_BLOCK, rows - start)
        for k in range(means.shape[0]):
            for f in range(d):
                mean = means[k, f]
                for i in range(size):
                    off[f, i] = y[f, start + i] - w[f, start + i] * mean
            total[:] = 0.0
            for f in range(d):
                part[:] = 0.0
                for g in range(f + 1):
                    entry = inverse[k, f, g]
                    for i in range(_BLOCK):
                        part[i] += entry * off[g, i]
                for i in range(_BLOCK):
                    total[i] += part[i] * part[i]
            for i in range(size):
                out[start + i, k] = total[i]


@kernel("void(float64[:, ::1], float64[:, ::1], int64[::1], float64[:, ::1], float64[:, :, ::1], float64[::1])")
def own_distances(y: Any, w: Any, labels: Any, means: Any, inverse: Any, out: Any) -> None:
    """Write the (N,) squared Mahalanobis distance of each row from its own cluster."""
    d = y.shape[0]
    off = np.empty(d)
    for i in range(labels.size):
        k = labels[i]
        total = 0.0
        for f in range(d):
            off[f] = y[f, i] - w[f, i] * means[k, f]
            part = 0.0
            for g in range(f + 1):
                part += inverse[k, f, g] * off[g]
            total += part * part
        out[i] = total


@kernel("void(float64[:, ::1], float64[:, ::1], boolean[::1], float64, int64[::1])")
def best_path(stay: Any, enter: Any, first: Any, cost: float, labels: Any) -> None:
    """Write the labels of series that are likeliest, by Viterbi's algorithm.

    ``stay`` (N, K) are the log densities of a row whose predecessor has the same label, ``enter`` those of a row that another
    label comes before, which costs ``cost``; ``first`` tells where a series begins.
    """
    rows, size = stay.shape
    score = np.empty(size)
    after = np.empty(size)
    came = np.empty((rows, size), dtype=np.int32)
    for k in range(size):
        score[k] = enter[0, k]
    for t in range(1, rows):
        best = 0
        second = -1
        for k in range(1, size):
            if score[k] > score[best]:
                best, second = k, best
            elif second < 0 or score[k] > score[second]:
                second = k
        for k in range(size):
            if first[t]:
                came[t, k] = best
                after[k] = score[best] + enter[t, k]
                continue
            keep = score[k] + stay[t, k]
            other = second if best == k else best
            if other >= 0 and score[other] + enter[t, k] - cost > keep:
                came[t, k] = other
                after[k] = score[other] + enter[t, k] - cost
            else:
                came[t, k] = k
                after[k] = keep
        for k in range(size):
            score[k] = after[k]
    best = 0
    for k in range(1, size):
        if score[k] > score[best]:
            best = k
    labels[rows - 1] = best
    for t in range(rows - 1, 0, -1):
        labels[t - 1] = came[t, labels[t]]


@helper
def log_density(distance: float, d: int, freedom: float, share: float, spread: float) -> float:
    """Log density at a squared distance; see :class:`mcgta.selection.scoring.tails.Tails`."""
    if freedom < math.inf:
        level = math.lgamma(0.5 * (freedom + d)) - math.lgamma(0.5 * freedom) - 0.5 * d * math.log(math.pi * freedom)
        return level - 0.5 * (freedom + d) * math.log1p(distance / freedom)
    near = -0.5 * distance
    if share > 0:
        far = -0.5 * distance / spread - 0.5 * d * math.log(spread) + math.log(share / (1.0 - share))
        top = max(near, far)
        near = math.log(1.0 - share) + top + math.log(math.exp(near - top) + math.exp(far - top))
    return near - 0.5 * d * math.log(2 * math.pi)


@kernel(
    "int64(float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], "
    "float64[::1], int64[::1], int64[::1], float64[::1], float64[::1], float64, float64, float64, float64, float64[::1], "
    "float64, int64, int64[::1])"
)
def visit(
    X: Any,
    listed: Any,
    gaps: Any,
    between: Any,
    means: Any,
    inverse: Any,
    log_root: Any,
    kind_of: Any,
    kinds: Any,
    lengths: Any,
    nuggets: Any,
    freedom: float,
    share: float,
    spread: float,
    together: float,
    shares: Any,
    temper: float,
    near: int,
    labels: Any,
) -> int:
    """Give each observation in turn the label that suits it and its neighbours best; return how many have changed (Besag 1986).

    What suits is ``temper`` times the log density of its features (d,), predicted from the ``near`` nearest of its list that
    have the label, plus ``together`` times the share of those listed first (8 at most) that have it, plus the label's entry in
    ``shares``. Where ``together`` is above 0 only its own label and those in its list are considered. ``kind_of`` (d,) says
    which of the kinds of dependence each feature has.
    """
    d = X.shape[0]
    size = means.shape[0]
    table = np.empty((near, near))
    far = np.empty((near, near))
    factor = np.empty((near, near))
    base = np.empty(near)
    reach = np.empty(near)
    weights = np.empty((kinds.size, near))
    scale = np.empty(kinds.size)
    total = np.empty(kinds.size)
    own = np.empty(near, dtype=np.int64)
    off = np.empty(d)
    agree = np.empty(size)
    changed = 0
    for i in range(labels.size):
        agree[:] = 0.0
        count = 0
        for p in range(listed.shape[1]):
            if listed[i, p] >= 0:
                count += 1
        for p in range(min(count, 8)):
            agree[labels[listed[i, p]]] += 1.0 / min(count, 8)
        top = -math.inf
        best = labels[i]
        for k in range(size):
            number = 0
            for p in range(count):
                if number < near and labels[listed[i, p]] == k:
                    own[number] = p
                    number += 1
            if together > 0 and number == 0 and k != labels[i]:
                continue
            jacobian = 0.0
            for t in range(kinds.size):
                scale[t] = 1.0
                total[t] = 0.0
                if kinds[t] == INDEPENDENT or number == 0:
                    weights[t, :] = 0.0
                    continue
                for a in range(number):
                    p = own[a]
                    base[a] = correlation(kinds[t], gaps[i, p] / lengths[t])
                    reach[a] = (1.0 - nuggets[t]) * base[a]
                    for b in range(a):
                        far[a, b] = correlation(kinds[t], between[i, p * (p - 1) // 2 + own[b]] / lengths[t])
                        table[a, b] = (1.0 - nuggets[t]) * far[a, b]
                scale[t] = predict_from(table, reach, number, factor, weights[t])
                for a in range(number):
                    total[t] += weights[t, a]
            for f in range(d):
                t = kind_of[f]
                left = X[f, i] - (1.0 - total[t]) * means[k, f]
                for a in range(number):
                    left -= weights[t, a] * X[f, listed[i, own[a]]]
                off[f] = left / scale[t]
                jacobian += math.log(scale[t])
            distance = 0.0
            for f in range(d):
                part = 0.0
                for g in range(f + 1):
                    part += inverse[k, f, g] * off[g]
                distance += part * part
            found = (
                temper * (log_density(distance, d, freedom, share, spread) - log_root[k] - jacobian)
                + together * agree[k]
                + shares[k]
            )
            if found > top:
                top = found
                best = k
        if best != labels[i]:
            labels[i] = best
            changed += 1
    return changed
