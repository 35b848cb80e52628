"""Dependence between neighbours in position, taken out of the features.

Inside a cluster each feature is a Gaussian process over position with variance one, correlation (1 - nugget) rho(h / length) at
distance h, and a mean. A row is predicted from at most ``NEAR`` rows of its cluster that come before it (Vecchia 1988): what is
left, over its standard deviation s, is y = (x - sum_j b_j x_j) / s, which has mean w times that of the process,
w = (1 - sum_j b_j) / s. Whitened rows of one cluster are independent; the density of x is that of y over s, for each feature.

Rows have lists of P candidates, nearest first, -1 at the end: ``listed`` (N, P), how far they are, ``gaps`` (N, P), and how far
from each other, ``between`` (N, P (P - 1) / 2), of the p-th and q-th, p < q, at q (q - 1) / 2 + p.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel

NEAR = 8
"""Rows that a row is predicted from."""

INDEPENDENT = -1
EXPONENTIAL = 0
MATERN = 1
"""Kinds of correlation: none, exp(-u), and Matern's with smoothness 3/2, (1 + v) exp(-v) for v = sqrt(3) u."""

_JITTER = 1e-6


@helper
def correlation(kind: int, u: float) -> float:
    """Correlation at a distance of ``u`` lengths."""
    if kind == EXPONENTIAL:
        return math.exp(-u)
    v = math.sqrt(3.0) * u
    if math.isinf(v):
        return 0.0
    return (1 + v) * math.exp(-v)


@helper
def predict_from(table: Any, reach: Any, size: int, factor: Any, weights: Any) -> float:
    """Put the weights of the best linear prediction into ``weights``; return the standard deviation of what is left.

    ``table`` holds correlations of the ``size`` rows with each other below the diagonal, ``reach`` those with the predicted
    row. Distances that belong to no space may give correlations that no rows can have; a row that would have to explain more
    than there is left gets no weight.
    """
    left = 1.0
    for i in range(size):
        for j in range(i):
            s = table[i, j]
            for q in range(j):
                s -= factor[i, q] * factor[j, q]
            factor[i, j] = s / factor[j, j] if factor[j, j] > 0 else 0.0
        own = 1.0 + _JITTER
        s = reach[i]
        for q in range(i):
            own -= factor[i, q] * factor[i, q]
            s -= factor[i, q] * weights[q]
        if own > 0.5 * _JITTER and s * s < own * left:
            factor[i, i] = math.sqrt(own)
            weights[i] = s / factor[i, i]
            left -= weights[i] * weights[i]
        else:
            factor[i, i] = weights[i] = 0.0
    for i in range(size - 1, -1, -1):
        if factor[i, i] > 0:
            s = weights[i]
            for q in range(i + 1, size):
                s -= factor[q, i] * weights[q]
            weights[i] = s / factor[i, i]
    return math.sqrt(max(left, _JITTER))


@kernel("void(int64[:, ::1], int64[::1], int64[:, ::1])")
def choose_own(listed: Any, labels: Any, chosen: Any) -> None:
    """Put into ``chosen`` (N, NEAR) where in its list each row has its nearest of its own label; -1 where there are no more."""
    for i in range(listed.shape[0]):
        size = 0
        for p in range(listed.shape[1]):
            if size == chosen.shape[1] or listed[i, p] < 0:
                break
            if labels[listed[i, p]] == labels[i]:
                chosen[i, size] = p
                size += 1
        chosen[i, size:] = -1


@kernel(
    "void(float64[:, ::1], int64[::1], int64[:, ::1], float64[:, ::1], float64[:, ::1], int64[:, ::1], int64[::1], "
    "float64[::1], float64[::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1])"
)
def whiten(
    X: Any,
    rows: Any,
    listed: Any,
    gaps: Any,
    between: Any,
    chosen: Any,
    kinds: Any,
    lengths: Any,
    nuggets: Any,
    y: Any,
    w: Any,
    log_s: Any,
) -> None:
    """Whiten some ``rows`` of X (d, N) by each of T kinds of dependence.

    ``chosen`` (N, NEAR) says what of its list each row is predicted from. Writes y (T, d, N), w (T, N) and log s (T, N) of
    those rows.
    """
    d = X.shape[0]
    near = chosen.shape[1]
    far = np.empty((near, near))
    table = np.empty((near, near))
    factor = np.empty((near, near))
    base = np.empty(near)
    reach = np.empty(near)
    weights = np.empty(near)
    for r in range(rows.size):
        i = rows[r]
        size = 0
        while size < near and chosen[i, size] >= 0:
            size += 1
        for t in range(kinds.size):
            if kinds[t] == INDEPENDENT or size == 0:
                for f in range(d):
                    y[t, f, i] = X[f, i]
                w[t, i] = 1.0
                log_s[t, i] = 0.0
                continue
            if t == 0 or kinds[t] != kinds[t - 1] or lengths[t] != lengths[t - 1]:
                for a in range(size):
                    p = chosen[i, a]
                    base[a] = correlation(kinds[t], gaps[i, p] / lengths[t])
                    for b in range(a):
                        far[a, b] = correlation(kinds[t], between[i, p * (p - 1) // 2 + chosen[i, b]] / lengths[t])
            share = 1.0 - nuggets[t]
            for a in range(size):
                reach[a] = share * base[a]
                for b in range(a):
                    table[a, b] = share * far[a, b]
            s = predict_from(table, reach, size, factor, weights)
            total = 0.0
            for a in range(size):
                total += weights[a]
            for f in range(d):
                left = X[f, i]
                for a in range(size):
                    left -= weights[a] * X[f, listed[i, chosen[i, a]]]
                y[t, f, i] = left / s
            w[t, i] = (1.0 - total) / s
            log_s[t, i] = math.log(s)


@kernel("void(float64[:, :, ::1], float64[:, ::1], float64[:, ::1], int64[::1], float64[::1], float64[:, ::1])")
def profile(y: Any, w: Any, log_s: Any, labels: Any, counts: Any, score: Any) -> None:
    """Write to ``score`` (T, d) minus the log-likelihood of each kind of dependence for each feature.

    Means and variances of clusters are fitted, constants left out. ``counts`` (K,) are the clusters' sizes.
    """
    size = counts.size
    ww = np.empty(size)
    wy = np.empty(size)
    yy = np.empty(size)
    for t in range(y.shape[0]):
        jacobian = 0.0
        ww[:] = 0.0
        for i in range(labels.size):
            ww[labels[i]] += w[t, i] * w[t, i]
            jacobian += log_s[t, i]
        for f in range(y.shape[1]):
            wy[:] = 0.0
            yy[:] = 0.0
            for i in range(labels.size):
                k = labels[i]
                wy[k] += w[t, i] * y[t, f, i]
                yy[k] += y[t, f, i] * y[t, f, i]
            s = jacobian
            for k in range(size):
                rest = max(yy[k] - wy[k] * wy[k] / max(ww[k], 1e-9), 1e-12)
                s += 0.5 * counts[k] * math.log(rest / counts[k]) + 0.5 * math.log(1.0 + ww[k])
            score[t, f] = s
