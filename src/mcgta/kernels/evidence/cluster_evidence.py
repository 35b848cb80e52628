"""Marginal likelihood of whitened rows that belong to Gaussian clusters, by sums over each cluster.

A row is y ~ N(w mu_k, Sigma_k), w a number for each feature. Sums of a cluster: ``counts`` (K,) and ``sums`` (K, 3, d, d), of
w w^T, w y^T and y y^T. Priors: Sigma_k ~ inverse Wishart with scale a s_k P and d + 1 + a degrees of freedom, mu_k ~ N(centre,
Sigma_k / kappa); P is the pooled covariance. Either all s_k are 1, or each is estimated, which costs half the log of the
cluster's size, so that clusters may differ by scale at little cost. a and kappa are the best of a grid.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel

STRENGTHS = np.array([1.0, 4.0, 16.0, 64.0, 256.0])
"""The a of the grid, in observations."""

CLOSENESS = np.array([0.01, 0.1, 1.0, 10.0])
"""The kappa of the grid."""

LEAST = 1e-9
"""Variance that every cluster has at least, of features scaled to variance 1: rounding hides what is less."""

_ROUNDS = 5  # of estimating the scales


@helper
def _sum_alike(y: Any, labels: Any, weights: Any, counts: Any, sums: Any) -> None:
    """Add rows whose w is 1."""
    d = y.shape[0]
    right = np.empty(d)
    total = np.zeros(counts.size)
    for i in range(labels.size):
        k = labels[i]
        u = weights[i]
        counts[k] += 1.0
        total[k] += u
        for f in range(d):
            right[f] = y[f, i]
        for f in range(d):
            yf = u * right[f]
            sums[k, 1, 0, f] += yf
            for g in range(f + 1):
                sums[k, 2, f, g] += yf * right[g]
    for k in range(counts.size):
        for f in range(d):
            for g in range(d):
                sums[k, 0, f, g] = total[k]
                sums[k, 1, f, g] = sums[k, 1, 0, g]
                sums[k, 2, f, g] = sums[k, 2, max(f, g), min(f, g)]


@kernel("void(float64[:, ::1], float64[:, ::1], int64[::1], float64[::1], float64[::1], float64[:, :, :, ::1])")
def sum_clusters(y: Any, w: Any, labels: Any, weights: Any, counts: Any, sums: Any) -> None:
    """Add the rows (d, N) of each cluster to ``counts`` and ``sums``, the latter with ``weights`` (N,)."""
    d = y.shape[0]
    counts[:] = 0.0
    sums[:] = 0.0
    left = np.empty(d)
    right = np.empty(d)
    alike = True  # whether w is 1 everywhere
    for f in range(d):
        for i in range(labels.size):
            alike &= w[f, i] == 1.0
    if alike:
        _sum_alike(y, labels, weights, counts, sums)
        return
    for i in range(labels.size):
        k = labels[i]
        u = weights[i]
        counts[k] += 1.0
        for f in range(d):
            left[f] = w[f, i]
            right[f] = y[f, i]
        for f in range(d):
            wf = u * left[f]
            yf = u * right[f]
            for g in range(d):
                sums[k, 1, f, g] += wf * right[g]
            for g in range(f + 1):
                sums[k, 0, f, g] += wf * left[g]
                sums[k, 2, f, g] += yf * right[g]
    for k in range(counts.size):
        for f in range(d):
            for g in range(f):
                sums[k, 0, g, f] = sums[k, 0, f, g]
                sums[k, 2, g, f] = sums[k, 2, f, g]


@helper
def centre(sums: Any, mean: Any, weight: Any, scatter: Any) -> None:
    """Mean, its weight for each feature, and scatter about it, of one cluster, which is never quite without noise."""
    d = mean.size
    for f in range(d):
        weight[f] = sums[0, f, f]
        mean[f] = sums[1, f, f] / max(weight[f], 1e-12)
    for f in range(d):
        for g in range(d):
            scatter[f, g] = (
                sums[2, f, g] - mean[f] * sums[1, f, g] - mean[g] * sums[1, g, f] + mean[f] * mean[g] * sums[0, f, g]
            )
        scatter[f, f] = max(scatter[f, f], LEAST * weight[f])


@helper
def log_determinant(matrix: Any, factor: Any) -> float:
    """Log determinant of a positive definite matrix, whose Cholesky factor is put into ``factor``."""
    total = 0.0
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            s = matrix[i, j]
            for q in range(j):
                s -= factor[i, q] * factor[j, q]
            if i == j:
                s = max(s, 1e-300)
                factor[i, i] = math.sqrt(s)
                total += math.log(s)
            else:
                factor[i, j] = s / factor[j, j]
    return total


@helper
def log_marginal(
    count: float, mean: Any, weight: Any, scatter: Any, a: float, kappa: float, pooled: Any, log_pooled: float, middle: Any,
    table: Any, factor: Any,
) -> float:  # fmt: skip
    """Log marginal likelihood of one cluster; ``log_pooled`` is the log determinant of the prior's ``pooled`` covariance."""
    d = mean.size
    freedom = d + 1.0 + a
    total = freedom + count
    found = -0.5 * count * d * math.log(math.pi) + 0.5 * freedom * (log_pooled + d * math.log(a))
    for f in range(d):
        found += math.lgamma(0.5 * (total - f)) - math.lgamma(0.5 * (freedom - f))
        found += 0.5 * math.log(kappa / (kappa + weight[f]))
    for f in range(d):
        off = math.sqrt(kappa * weight[f] / (kappa + weight[f])) * (mean[f] - middle[f])
        for g in range(f + 1):
            other = math.sqrt(kappa * weight[g] / (kappa + weight[g])) * (mean[g] - middle[g])
            table[f, g] = scatter[f, g] + off * other + a * pooled[f, g]
    return found - 0.5 * total * log_determinant(table, factor)


@helper
def pool(scatters: Any, scales: Any, total: float, pooled: Any) -> None:
    """Put the pooled covariance into ``pooled``, each scatter over its scale; a trace of the identity keeps it definite."""
    d = pooled.shape[0]
    pooled[:] = 0.0
    for k in range(scales.size):
        for f in range(d):
            for g in range(d):
                pooled[f, g] += scatters[k, f, g] / (scales[k] * total)
    trace = 0.0
    for f in range(d):
        trace += pooled[f, f]
    for f in range(d):
        pooled[f, f] += 1e-9 * trace / d + 1e-12


@helper
def estimate_scales(
    scatters: Any, counts: Any, temper: float, total: float, pooled: Any, scales: Any, table: Any, factor: Any
) -> float:
    """Estimate the clusters' scales and the pooled covariance with them; return what their number costs."""
    d = pooled.shape[0]
    for _ in range(_ROUNDS):
        log_determinant(pooled, factor)
        for k in range(scales.size):
            # trace of pooled^-1 scatter, by the factor
            trace = 0.0
            for g in range(d):
                for f in range(d):
                    s = scatters[k, f, g]
                    for q in range(f):
                        s -= factor[f, q] * table[q, g]
                    table[f, g] = s / factor[f, f]
            for g in range(d):
                for f in range(d):
                    s = table[g, f]
                    for q in range(f):
                        s -= factor[f, q] * table[g, q]
                    table[g, f] = s / factor[f, f]
                    if f == g:
                        trace += table[g, f]
            scales[k] = max(trace / (d * max(temper * counts[k], 1e-12)), 1e-6)
        pool(scatters, scales, total, pooled)
    penalty = 0.0
    for k in range(scales.size):
        penalty += 0.5 * math.log(max(temper * counts[k], 2.0))
    return penalty


@kernel(
    "float64(float64[::1], float64[:, :, :, ::1], float64, float64[::1], float64[::1], boolean, float64[::1], float64[:, ::1], "
    "float64[::1], float64[::1], float64[::1])"
)
def marginal(
    counts: Any,
    sums: Any,
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

    ``scaled`` estimates the scales. Writes the prior's ``middle`` (d,), ``pooled`` (d, d) and ``scales`` (K,), the ``best`` a
    and kappa, and what ``each`` (K,) cluster has of the total.
    """
    size, d = counts.size, middle.size
    means = np.empty((size, d))
    weights = np.empty((size, d))
    scatters = np.empty((size, d, d))
    table = np.empty((d, d))
    factor = np.empty((d, d))
    total = 0.0
    middle[:] = 0.0
    for k in range(size):
        centre(sums[k], means[k], weights[k], scatters[k])
        total += temper * counts[k]
        for f in range(d):
            weights[k, f] *= temper
            for g in range(d):
                scatters[k, f, g] *= temper
    for f in range(d):
        mass = 1e-12
        for k in range(size):
            middle[f] += weights[k, f] * means[k, f]
            mass += weights[k, f]
        middle[f] /= mass
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
        for a in strengths:
            found = -penalty
            for k in range(size):
                for f in range(d):
                    for g in range(d):
                        prior[f, g] = scales[k] * pooled[f, g]
                one[k] = log_marginal(
                    temper * counts[k], means[k], weights[k], scatters[k], a, kappa, prior,
                    log_pooled + d * math.log(scales[k]), middle, table, factor,
                )  # fmt: skip
                found += one[k]
            if found > top:
                top = found
                best[0] = a
                best[1] = kappa
                each[:] = one
    return top


@kernel(
    "void(float64[::1], float64[:, :, :, ::1], float64, float64, float64, float64[::1], float64[:, ::1], float64[::1], "
    "float64[:, ::1])"
)
def merge_gains(
    counts: Any, sums: Any, temper: float, a: float, kappa: float, middle: Any, pooled: Any, scales: Any, gains: Any
) -> None:
    """Write what merging two clusters does to the log marginal likelihood, under one prior.

    The scale of two is the mean of theirs, by their rows.
    """
    size, d = counts.size, middle.size
    mean = np.empty(d)
    weight = np.empty(d)
    scatter = np.empty((d, d))
    table = np.empty((d, d))
    factor = np.empty((d, d))
    prior = np.empty((d, d))
    both = np.empty((3, d, d))
    log_pooled = log_determinant(pooled, factor)
    for k in range(size):
        for m in range(k + 1):
            count = counts[k] if k == m else counts[k] + counts[m]
            scale = scales[k] if k == m else (counts[k] * scales[k] + counts[m] * scales[m]) / count
            for s in range(3):
                for f in range(d):
                    for g in range(d):
                        both[s, f, g] = sums[k, s, f, g] if k == m else sums[k, s, f, g] + sums[m, s, f, g]
            centre(both, mean, weight, scatter)
            for f in range(d):
                weight[f] *= temper
                for g in range(d):
                    scatter[f, g] *= temper
                    prior[f, g] = scale * pooled[f, g]
            gains[k, m] = log_marginal(
                temper * count, mean, weight, scatter, a, kappa, prior, log_pooled + d * math.log(scale), middle, table, factor
            )  # fmt: skip
    for k in range(size):
        for m in range(k):
            gains[k, m] -= gains[k, k] + gains[m, m]
            gains[m, k] = gains[k, m]
    for k in range(size):
        gains[k, k] = -math.inf


@kernel(
    "void(float64[::1], float64[:, :, :, ::1], float64, float64, float64[::1], float64[:, ::1], float64[::1], float64[:, ::1], "
    "float64[:, :, ::1], float64[::1])"
)
def plug_in(
    counts: Any,
    sums: Any,
    a: float,
    kappa: float,
    middle: Any,
    pooled: Any,
    scales: Any,
    means: Any,
    inverse: Any,
    log_root: Any,
) -> None:
    """Write the clusters' ``means`` (K, d), inverse Cholesky factors (K, d, d) and half log determinants (K,) of covariances.

    They are estimates with the prior's a + d + 1 observations of the scaled, pooled covariance, and kappa of the middle.
    """
    size, d = counts.size, middle.size
    mean = np.empty(d)
    weight = np.empty(d)
    table = np.empty((d, d))
    factor = np.empty((d, d))
    for k in range(size):
        centre(sums[k], mean, weight, table)
        strength = a + d + 1.0
        for f in range(d):
            means[k, f] = (weight[f] * mean[f] + kappa * middle[f]) / (weight[f] + kappa)
            for g in range(d):
                table[f, g] = (table[f, g] + strength * scales[k] * pooled[f, g]) / (counts[k] + strength)
        log_root[k] = 0.5 * log_determinant(table, factor)
        for g in range(d):
            for f in range(d):
                if f < g:
                    inverse[k, f, g] = 0.0
                    continue
                s = 1.0 if f == g else 0.0
                for q in range(g, f):
                    s -= factor[f, q] * inverse[k, q, g]
                inverse[k, f, g] = s / factor[f, f]
