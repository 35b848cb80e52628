"""Square roots of positive semi-definite matrices: triangular factors and symmetric roots.

A triangular factor L has L L^T = Sigma, zeros above the diagonal and a diagonal >= 0; singular matrices have one too. The
symmetric root R = R^T has R R = Sigma and no negative eigenvalue. Variances may be anything from 1e-150 to 1e150.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import kernel, native
from mcgta.kernels.simd.lanes import (
    WIDTH,
    any_less,
    copysign,
    fabs,
    get2,
    lean,
    put2,
    splat,
    sqrt,
    where_less,
    workspace,
)
from mcgta.runtime.types import Array

# A pivot below this share of its variance is left to the eigenvalues, which know no order of elimination.
_PIVOT = 1e-13
_ORTHOGONAL = 1e-30  # square of the cosine at which two columns count as orthogonal
_SWEEPS = 30


def triangular_factors(covs: Array) -> Array:
    """Return the triangular factors (N, d, d) of positive semi-definite matrices (N, d, d).

    Cholesky's method; where a pivot is lost in rounding the factor is that of a QR decomposition of the symmetric root. A
    column that is zero in the matrix is zero in the factor.
    """
    covs = native(covs)
    factors = np.zeros_like(covs)
    lost = np.zeros(covs.shape[0], dtype=np.bool_)
    _cholesky(covs, factors, lost)
    if lost.any():
        factors[lost] = _factors_of_roots(covs[lost])
    return factors


def _factors_of_roots(covs: Array) -> Array:
    """Triangular factors by QR decomposition of the symmetric roots, of the columns that are not zero."""
    out = np.zeros_like(covs)
    patterns, which = np.unique(np.diagonal(covs, axis1=1, axis2=2) > 0, axis=0, return_inverse=True)
    for k, varies in enumerate(patterns):
        rows = np.flatnonzero(which == k)
        columns = np.flatnonzero(varies)
        inside = np.ix_(rows, columns, columns)
        upper = np.linalg.qr(psd_roots(covs[inside]), mode="r")
        signs = np.where(np.diagonal(upper, axis1=1, axis2=2) < 0, -1.0, 1.0)
        out[inside] = np.swapaxes(signs[:, :, None] * upper, 1, 2)
    return out


@kernel("void(float64[:, :, ::1], float64[:, :, ::1], boolean[::1])")
def _cholesky(covs: Any, factors: Any, lost: Any) -> None:
    """Factor each matrix; mark those with a pivot lost in rounding."""
    lean()
    count, d, _ = covs.shape
    for b in range(count):
        for j in range(d):
            own = covs[b, j, j]
            pivot = own
            for k in range(j):
                pivot -= factors[b, j, k] * factors[b, j, k]
            if own == 0.0:
                continue
            if not pivot > _PIVOT * own:
                lost[b] = True
                break
            root = np.sqrt(pivot)
            factors[b, j, j] = root
            for i in range(j + 1, d):
                value = covs[b, i, j]
                for k in range(j):
                    value -= factors[b, i, k] * factors[b, j, k]
                factors[b, i, j] = value / root


def symmetric_roots(factors: Array) -> Array:
    """Return the symmetric roots (N, d, d) of L L^T for any factors L (N, d, d), 8 matrices at a time.

    Rotations from the right make the columns of L orthogonal (one-sided Jacobi, Hestenes 1958); then
    R = sum_k g_k g_k^T / |g_k| over the columns g.
    """
    roots = np.empty(factors.shape)
    d = factors.shape[1]
    _rotate(native(factors), roots, workspace(2 * d * d))
    return roots


@kernel("void(float64[:, :, ::1], float64[:, :, ::1], float64[::1])")
def _rotate(factors: Any, roots: Any, B: Any) -> None:
    """Symmetric roots of products of factors; ``B`` holds the columns, then the roots."""
    lean()
    count, d, _ = factors.shape
    result = d * d * WIDTH
    for first in range(0, count, WIDTH):
        lanes = count - first if count - first < WIDTH else WIDTH
        for lane in range(WIDTH):
            b = first + (lane if lane < lanes else lanes - 1)
            for r in range(d):
                for c in range(d):
                    B[(c * d + r) * WIDTH + lane] = factors[b, r, c]
        for _ in range(_SWEEPS):
            going = False
            for p in range(d):
                for q in range(p + 1, d):
                    alpha = splat(0.0)
                    beta = splat(0.0)
                    gamma = splat(0.0)
                    for r in range(d):
                        left = get2(B, 0, p, d, r)
                        right = get2(B, 0, q, d, r)
                        alpha = alpha + left * left
                        beta = beta + right * right
                        gamma = gamma + left * right
                    if not any_less(alpha * beta * _ORTHOGONAL, gamma * gamma):
                        continue
                    going = True
                    # The tangent of the angle that makes the two orthogonal; zero where they are.
                    slope = (beta - alpha) * 0.5
                    tangent = gamma / (slope + copysign(sqrt(slope * slope + gamma * gamma), slope) + 1e-300)
                    tangent = where_less(splat(0.0), fabs(gamma), tangent, splat(0.0))
                    cosine = 1.0 / sqrt(1.0 + tangent * tangent)
                    sine = cosine * tangent
                    for r in range(d):
                        left = get2(B, 0, p, d, r)
                        right = get2(B, 0, q, d, r)
                        put2(B, 0, p, d, r, cosine * left - sine * right)
                        put2(B, 0, q, d, r, sine * left + cosine * right)
            if not going:
                break
        for k in range(d * d):
            put2(B, result, 0, 0, k, splat(0.0))
        for c in range(d):
            norm = splat(0.0)
            for r in range(d):
                entry = get2(B, 0, c, d, r)
                norm = norm + entry * entry
            scale = 1.0 / (sqrt(norm) + 1e-300)
            for i in range(d):
                scaled = get2(B, 0, c, d, i) * scale
                for j in range(i + 1):
                    put2(B, result, i, d, j, get2(B, result, i, d, j) + scaled * get2(B, 0, c, d, j))
        for lane in range(lanes):
            for i in range(d):
                for j in range(i + 1):
                    value = B[result + (i * d + j) * WIDTH + lane]
                    roots[first + lane, i, j] = value
                    roots[first + lane, j, i] = value


def psd_roots(covs: Array) -> Array:
    """Return the symmetric square roots of positive semi-definite matrices (N, d, d).

    Eigenvalues at the level of rounding count as zero: the root of rounding is 1e-8, and would be noise among singular models.
    """
    values, vectors = np.linalg.eigh(covs)
    level = 2 * covs.shape[-1] * np.finfo(float).eps * values[:, -1:]
    roots = np.sqrt(np.where(values > level, values, 0.0))
    return (vectors * roots[:, None, :]) @ np.swapaxes(vectors, 1, 2)
