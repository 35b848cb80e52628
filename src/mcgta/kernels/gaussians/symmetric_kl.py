"""Symmetrised Kullback-Leibler divergence of Gaussians, for tiles of pairs or lists of them.

    (KL(a|b) + KL(b|a)) / 2 = 1/4 [ tr(P_b S_a) + tr(P_a S_b) - 2 d + (m_a - m_b)^T (P_a + P_b) (m_a - m_b) ]

with covariances S and precisions P = S^-1 (Kullback and Leibler 1951); the log determinants cancel. Means are subtracted
before they are multiplied, so an offset they share costs no digits.

Contract
--------
A *packed* model is a row of d + 2 t numbers, t = d (d + 1) / 2: mean, lower triangle of the covariance by rows with entries off
the diagonal doubled, lower triangle of the precision. Results are in nats and non-negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import kernel, native, native_rows
from mcgta.kernels.simd.lanes import WIDTH, gather, get, lean, put, splat, where_less, workspace
from mcgta.runtime.types import Array, Index

_NO_PAIRS = np.empty(0, dtype=np.int64)


def pack(means: Array, covs: Array) -> Array:
    """Return the packed models of means (N, d) and positive definite covariances (N, d, d)."""
    d = means.shape[1]
    row, col = np.tril_indices(d)
    doubled = np.where(row == col, 1.0, 2.0)
    precisions = np.linalg.inv(covs)
    precisions = (precisions + np.swapaxes(precisions, 1, 2)) / 2
    return np.ascontiguousarray(np.hstack([means, covs[:, row, col] * doubled, precisions[:, row, col]]))


def features_of(packed: Array) -> int:
    """Return d from the width d (d + 2) of packed models."""
    return int(np.sqrt(packed.shape[1] + 1) - 1 + 0.5)


def symmetric_kl_tile(left: Array, right: Array) -> Array:
    """Divergence of each packed model of ``left`` (R, m) from each of ``right`` (C, m), as a table (R, C)."""
    out = np.empty((left.shape[0], right.shape[0]))
    sides = native(left), native(right)
    _compare(*sides, features_of(left), _NO_PAIRS, _NO_PAIRS, out, _room(left))
    return out


def symmetric_kl_pairs(packed: Array, i: Index, j: Index) -> Array:
    """Divergence of the packed models i[k] and j[k], as (len(i),)."""
    out = np.empty((1, i.shape[0]))
    if i.size:
        models = native(packed)
        rows = native_rows(i, len(models)), native_rows(j, len(models))
        _compare(models, models, features_of(packed), *rows, out, _room(packed))
    return out[0]


def _room(packed: Array) -> Array:
    return workspace(2 * packed.shape[1] + features_of(packed) + 1)


@kernel("void(float64[:, ::1], float64[:, ::1], int64, int64[::1], int64[::1], float64[:, ::1], float64[::1])")
def _compare(left: Any, right: Any, d: int, i: Any, j: Any, out: Any, B: Any) -> None:
    """Compare all of left with all of right, or the pairs (i[k], j[k]) where i is not empty."""
    lean()
    size = left.shape[1]
    triangle = d * (d + 1) // 2
    x = 0
    y = size * WIDTH
    shift = 2 * size * WIDTH
    result = (2 * size + d) * WIDTH
    listed = i.shape[0] > 0
    rows = 1 if listed else left.shape[0]
    for first in range(0, out.shape[1], WIDTH):
        gather(right, first, j, WIDTH, B, y)
        if listed:
            gather(left, first, i, WIDTH, B, x)
        for row in range(rows):
            if not listed:
                for k in range(size):
                    put(B, x, k, splat(left[row, k]))
            value = splat(-2.0 * d)
            cov = d
            precision = d + triangle
            for r in range(d):
                here = get(B, x, r) - get(B, y, r)
                put(B, shift, r, here)
                pulled = splat(0.0)
                for c in range(r + 1):
                    precision_x = get(B, x, precision)
                    precision_y = get(B, y, precision)
                    value = value + get(B, x, cov) * precision_y + get(B, y, cov) * precision_x
                    weight = 1.0 if c == r else 2.0
                    pulled = pulled + (precision_x + precision_y) * get(B, shift, c) * weight
                    cov += 1
                    precision += 1
                value = value + here * pulled
            value = value * 0.25
            put(B, result, 0, where_less(value, splat(0.0), splat(0.0), value))
            for lane in range(min(WIDTH, out.shape[1] - first)):
                out[row, first + lane] = B[result + lane]
