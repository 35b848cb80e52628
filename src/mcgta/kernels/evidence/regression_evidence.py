"""Marginal likelihood of whitened rows whose mean is a regression, by sums over each cluster.

A row is y ~ N(B_k^T w, Sigma_k) with q regressors w, and one regressor is a level: then this is the evidence of
:mod:`mcgta.kernels.evidence.cluster_evidence`, to rounding. Features are whitened in U ways, and the regressors with them:
feature f has those of way u = ``ways[f]``. Sums of a cluster: ``counts`` (K,), ``grams`` (K, U, U, q, q) of w_u w_v^T,
``products`` (K, U, d, q) of w_u y_f, and ``squares`` (K, d, d) of y y^T. Priors are those of levels: Sigma_k ~ inverse Wishart
with scale a s_k P and d + 1 + a degrees of freedom, B_k ~ matrix normal about the middle with I / kappa and Sigma_k. Where all
features are whitened alike that is exact; otherwise each feature has the coefficients of its own regression.

The evidence of levels keeps code of its own: its sums have no room for regressors, its search calls it most, and loops over one
regressor would change its speed and its last digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mcgta.kernels.evidence.cluster_evidence import LEAST, estimate_scales, log_determinant, pool
from mcgta.kernels.simd.compiled import helper, kernel

_RIDGE = 1e-10  # of the mean of a Gram matrix's diagonal, added to it: regressors may be alike in a short cluster
_TINY = 1e-12


@helper
def _solve(factor: Any, vector: Any) -> None:
    """Solve factor factor^T x = vector in place."""
    size = vector.size
    for i in range(size):
        s = vector[i]
        for j in range(i):
            s -= factor[i, j] * vector[j]
        vector[i] = s / factor[i, i]
    for i in range(size - 1, -1, -1):
        s = vector[i]
        for j in range(i + 1, size):
            s -= factor[j, i] * vector[j]
        vector[i] = s / factor[i, i]


@helper
def _regress(
    grams: Any, products: Any, squares: Any, ways: Any, curves: Any, scatter: Any, table: Any, factor: Any
) -> None:
    """Coefficients (d, q) by least squares and the scatter (d, d) about them, of one cluster, which is never without noise."""
    d, q = curves.shape
    for u in range(grams.shape[0]):
        trace = 0.0
        for i in range(q):
            trace += grams[u, u, i, i]
        for i in range(q):
            for j in range(q):
                table[i, j] = grams[u, u, i, j]
            table[i, i] += _RIDGE * trace / q if q > 1 else 0.0
            table[i, i] = max(table[i, i], _TINY)
        log_determinant(table, factor)
        for f in range(d):
            if ways[f] == u:
                for i in range(q):
                    curves[f, i] = products[u, f, i]
                _solve(factor, curves[f])
    part = np.empty(q)
    for g in range(d):
        for u in range(grams.shape[0]):
            for i in range(q):
                s = 0.0
                for j in range(q):
                    s += grams[u, ways[g], i, j] * curves[g, j]
                part[i] = s
            for f in range(d):
                if ways[f] == u:
                    s = squares[f, g]
                    for i in range(q):
                        s += curves[f, i] * (part[i] - products[u, g, i]) - curves[g, i] * products[ways[g], f, i]
                    scatter[f, g] = s
    for f in range(d):
        mean = 0.0
        for i in range(q):
            mean += grams[ways[f], ways[f], i, i] / q
        scatter[f, f] = max(scatter[f, f], LEAST * mean)
        for g in range(f):
            scatter[f, g] = 0.5 * (scatter[f, g] + scatter[g, f])
            scatter[g, f] = scatter[f, g]


@helper
def _shrink(grams: Any, temper: float, kappa: float, table: Any, factor: Any, root: Any) -> float:
    """Log determinant of I + A / kappa for a Gram matrix A, and in ``root`` that of (A^-1 + I / kappa)^-1, lower triangular."""
    q = grams.shape[0]
    for i in range(q):
        for j in range(q):
            table[i, j] = temper * grams[i, j]
        table[i, i] += kappa
    found = log_determinant(table, factor) - q * math.log(kappa)
    # The inverse of the factor, then kappa - kappa^2 (A + kappa)^-1.
    for j in range(q):
        for i in range(j, q):
            s = 1.0 if i == j else 0.0
            for p in range(j, i):
                s -= factor[i, p] * root[p, j]
            root[i, j] = s / factor[i, i]
    for i in range(q):
        for j in range(i + 1):
            s = 0.0
            for p in range(i, q):
                s += root[p, i] * root[p, j]
            table[i, j] = -kappa * kappa * s
        table[i, i] += kappa
        table[i, i] = max(table[i, i], _TINY * kappa)
    log_determinant(table, root)
    return found


@helper
def _log_marginal(
    count: float, curves: Any, scatter: Any, roots: Any, shrunk: Any, ways: Any, a: float, pooled: Any, log_pooled: float,
    middle: Any, table: Any, factor: Any, offs: Any,
) -> float:  # fmt: skip
    """Log marginal likelihood of one cluster; ``roots`` and ``shrunk`` are those of :func:`_shrink` for each way."""
    d, q = curves.shape
    freedom = d + 1.0 + a
    total = freedom + count
    found = -0.5 * count * d * math.log(math.pi) + 0.5 * freedom * (log_pooled + d * math.log(a))
    for f in range(d):
        u = ways[f]
        found += math.lgamma(0.5 * (total - f)) - math.lgamma(0.5 * (freedom - f)) - 0.5 * shrunk[u]
        for j in range(q):
            s = 0.0
            for i in range(j, q):
                s += roots[u, i, j] * (curves[f, i] - middle[f, i])
            offs[f, j] = s
    for f in range(d):
        for g in range(f + 1):
            s = scatter[f, g] + a * pooled[f, g]
            for j in range(q):
                s += offs[f, j] * offs[g, j]
            table[f, g] = s
    return found - 0.5 * total * log_determinant(table, factor)


@helper
def _find_middle(grams: Any, products: Any, ways: Any, middle: Any) -> None:
    """Put the coefficients of all clusters as one into ``middle`` (d, q)."""
    size, ways_number = grams.shape[0], grams.shape[1]
    d, q = middle.shape
    table = np.empty((q, q))
    factor = np.empty((q, q))
    for u in range(ways_number):
        table[:] = 0.0
        for k in range(size):
            for i in range(q):
                for j in range(q):
                    table[i, j] += grams[k, u, u, i, j]
        trace = 0.0
        for i in range(q):
            trace += table[i, i]
        for i in range(q):
            table[i, i] += _TINY + (_RIDGE * trace / q if q > 1 else 0.0)
        log_determinant(table, factor)
        for f in range(d):
            if ways[f] == u:
                middle[f] = 0.0
                for k in range(size):
                    for i in range(q):
                        middle[f, i] += products[k, u, f, i]
                _solve(factor, middle[f])


@kernel(
    "float64(float64[::1], float64[:, :, :, :, ::1], float64[:, :, :, ::1], float64[:, :, ::1], int64[::1], float64, "
    "float64[::1], float64[::1], boolean, float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[::1])"
)
def regression_marginal(
    counts: Any,
    grams: Any,
    products: Any,
    squares: Any,
    ways: Any,
    temper: float,
    strengths: Any,
    closeness: Any,
    scaled: bool,
    middle: Any,
    pooled: Any,
    scales: Any,
    best: Any,
    each: Any,
) -> float:
    """Log marginal likelihood of all clusters at the best of the grid, counts and sums multiplied by ``temper``.

    ``scaled`` estimates the scales. Writes the prior's ``middle`` (d, q), ``pooled`` (d, d) and ``scales`` (K,), the ``best`` a
    and kappa, and what ``each`` (K,) cluster has of the total.
    """
    size = counts.size
    d, q = middle.shape
    ways_number = grams.shape[1]
    curves = np.empty((size, d, q))
    scatters = np.empty((size, d, d))
    roots = np.empty((size, ways_number, q, q))
    shrunk = np.empty((size, ways_number))
    wide = np.empty((q, q))
    wide_factor = np.empty((q, q))
    table = np.empty((d, d))
    factor = np.empty((d, d))
    offs = np.empty((d, q))
    total = 0.0
    for k in range(size):
        _regress(grams[k], products[k], squares[k], ways, curves[k], scatters[k], wide, wide_factor)
        total += temper * counts[k]
        for f in range(d):
            for g in range(d):
                scatters[k, f, g] *= temper
    _find_middle(grams, products, ways, middle)
    scales[:] = 1.0
    pool(scatters, scales, total, pooled)
    penalty = 0.0
    if scaled:
        penalty = estimate_scales(scatters, counts, temper, total, pooled, scales, table, factor)
    log_pooled = log_determinant(pooled, factor)
    top = -math.inf
    prior = np.empty((d, d))
    one = np.empty(size)
    for kappa in closeness:
        for k in range(size):
            for u in range(ways_number):
                shrunk[k, u] = _shrink(grams[k, u, u], temper, kappa, wide, wide_factor, roots[k, u])
        for a in strengths:
            found = -penalty
            for k in range(size):
                for f in range(d):
                    for g in range(d):
                        prior[f, g] = scales[k] * pooled[f, g]
                one[k] = _log_marginal(
                    temper * counts[k], curves[k], scatters[k], roots[k], shrunk[k], ways, a, prior,
                    log_pooled + d * math.log(scales[k]), middle, table, factor, offs,
                )  # fmt: skip
                found += one[k]
            if found > top:
                top = found
                best[0] = a
                best[1] = kappa
                each[:] = one
    return top


@kernel(
    "void(float64[::1], float64[:, :, :, :, ::1], float64[:, :, :, ::1], float64[:, :, ::1], int64[::1], float64, float64, "
    "float64, float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1])"
)
def regression_merge_gains(
    counts: Any,
    grams: Any,
    products: Any,
    squares: Any,
    ways: Any,
    temper: float,
    a: float,
    kappa: float,
    middle: Any,
    pooled: Any,
    scales: Any,
    gains: Any,
) -> None:
    """Write what merging two clusters does to the log marginal likelihood, under one prior.

    The scale of two is the mean of theirs, by their rows.
    """
    size = counts.size
    d, q = middle.shape
    ways_number = grams.shape[1]
    curves = np.empty((d, q))
    scatter = np.empty((d, d))
    roots = np.empty((ways_number, q, q))
    shrunk = np.empty(ways_number)
    wide = np.empty((q, q))
    wide_factor = np.empty((q, q))
    table = np.empty((d, d))
    factor = np.empty((d, d))
    prior = np.empty((d, d))
    offs = np.empty((d, q))
    gram = np.empty((ways_number, ways_number, q, q))
    product = np.empty((ways_number, d, q))
    square = np.empty((d, d))
    log_pooled = log_determinant(pooled, factor)
    for k in range(size):
        for m in range(k + 1):
            other = 0.0 if k == m else 1.0
            count = counts[k] + other * counts[m]
            scale = (counts[k] * scales[k] + other * counts[m] * scales[m]) / count
            gram[:] = grams[k] + other * grams[m]
            product[:] = products[k] + other * products[m]
            square[:] = squares[k] + other * squares[m]
            _regress(gram, product, square, ways, curves, scatter, wide, wide_factor)
            for u in range(ways_number):
                shrunk[u] = _shrink(gram[u, u], temper, kappa, wide, wide_factor, roots[u])
            for f in range(d):
                for g in range(d):
                    scatter[f, g] *= temper
                    prior[f, g] = scale * pooled[f, g]
            gains[k, m] = _log_marginal(
                temper * count, curves, scatter, roots, shrunk, ways, a, prior, log_pooled + d * math.log(scale), middle,
                table, factor, offs,
            )  # fmt: skip
    for k in range(size):
        for m in range(k):
            gains[k, m] -= gains[k, k] + gains[m, m]
            gains[m, k] = gains[k, m]
    for k in range(size):
        gains[k, k] = -math.inf


@kernel(
    "void(float64[::1], float64[:, :, :, :, ::1], float64[:, :, :, ::1], float64[:, :, ::1], int64[::1], float64, float64, "
    "float64[:, ::1], float64[:, ::1], float64[::1], float64[:, :, ::1], float64[:, :, ::1])"
)
def regression_plug_in(
    counts: Any,
    grams: Any,
    products: Any,
    squares: Any,
    ways: Any,
    a: float,
    kappa: float,
    middle: Any,
    pooled: Any,
    scales: Any,
    curves: Any,
    covariances: Any,
) -> None:
    """Write the clusters' coefficients ``curves`` (K, d, q) and ``covariances`` (K, d, d).

    They are estimates with the prior's a + d + 1 observations of the scaled, pooled covariance, and kappa of the middle.
    """
    d, q = middle.shape
    wide = np.empty((q, q))
    wide_factor = np.empty((q, q))
    strength = a + d + 1.0
    for k in range(counts.size):
        _regress(grams[k], products[k], squares[k], ways, curves[k], covariances[k], wide, wide_factor)
        for f in range(d):
            for g in range(d):
                mixed = covariances[k, f, g] + strength * scales[k] * pooled[f, g]
                covariances[k, f, g] = mixed / (counts[k] + strength)
        for u in range(grams.shape[1]):
            for i in range(q):
                for j in range(q):
                    wide[i, j] = grams[k, u, u, i, j]
                wide[i, i] += kappa
            log_determinant(wide, wide_factor)
            for f in range(d):
                if ways[f] == u:
                    for i in range(q):
                        curves[k, f, i] = products[k, u, f, i] + kappa * middle[f, i]
                    _solve(wide_factor, curves[k, f])
