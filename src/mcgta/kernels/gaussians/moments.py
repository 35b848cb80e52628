"""Means and covariances of many neighbourhoods.

Contract
--------
``X``        (N, d)     features
``indices``  (B, n)     rows of X that make up each neighbourhood
``weights``  (B, n)     the weight of each, summing to one
``starts``   (B,)       first row of a neighbourhood of n consecutive rows
``means``    (B, d)
``covs``     (B, d, d)  symmetric, positive semi-definite, maximum-likelihood (divided by the weights' sum)

A column that is constant within a window has variance and covariances exactly 0; so has one that varies by rounding only.
Values are taken relative to a row of the window (or a few rows away), so an offset of any size costs no digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel, native, native_rows, snippet
from mcgta.kernels.simd.lanes import WIDTH, get, get2, lean, put, put2, splat, sqrt, workspace
from mcgta.runtime.types import Array, Index

# A column whose deviation is below this share of its mean varies by rounding only.
_ROUNDING = 16 * 2.220446049250313e-16


def window_moments(X: Array, indices: Index, weights: Array) -> tuple[Array, Array]:
    """Weighted means and covariances: mu = sum_k w_k x_k, Sigma = sum_k w_k (x_k - mu)(x_k - mu)^T, in two passes."""
    count = indices.shape[0]
    d = X.shape[1]
    means = np.empty((count, d))
    covs = np.empty((count, d, d))
    _window(
        native(X),
        native_rows(indices, len(X)),
        native(weights),
        means,
        covs,
        workspace((indices.shape[1] + 1) * (d + 1) + 1),
    )
    return means, covs


def sliding_moments(
    X: Array, starts: Index, origins: Index, n: int, out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """Means and covariances of the windows X[start : start + n], at a cost a row that does not depend on n.

    Rows are cut into blocks of n from ``origins`` (B,) on, at or before the starts; the beginning of its series is a good one
    for every window. A window is the end of one block and the beginning of the next; sums of squares about their
    means are kept for every end of the block and the beginning so far, and the two are joined (Chan, Golub and LeVeque 1979):

        M = M_a + M_b + (mu_b - mu_a)(mu_b - mu_a)^T n_a n_b / n

    Nothing is ever subtracted from a sum, so there is no cancellation and nothing that builds up along a series. What comes out
    for a window depends on its rows only, not on which others are asked for.
    """
    count = starts.shape[0]
    d = X.shape[1]
    means, covs = out if out is not None else (np.empty((count, d)), np.empty((count, d, d)))
    _slide(
        native(X),
        native(starts, np.int64),
        native(origins, np.int64),
        n,
        means,
        covs,
        np.empty((n + 2) * (d + d * d)),
        np.empty(d),
    )
    return means, covs


def quartic_sums(X: Array, indices: Index, weights: Array, means: Array, covs: Array) -> Array:
    """sum_k w_k^2 |(x_k - mu)(x_k - mu)^T - Sigma|_F^2 over the columns that vary, one value for each window (B,)."""
    out = np.empty(indices.shape[0])
    _quartics(
        native(X), native_rows(indices, len(X)), native(weights), native(means), native(covs), out, np.empty(X.shape[1])
    )
    return out


@snippet
def _flatten(means: Any, covs: Any, b: int, d: int) -> None:
    """Mirror the lower triangle, and set what varies by rounding only to zero."""
    for i in range(d):
        limit = _ROUNDING * means[b, i]
        if covs[b, i, i] <= limit * limit:
            for j in range(d):
                covs[b, i, j] = 0.0
                covs[b, j, i] = 0.0
    for i in range(d):
        for j in range(i):
            covs[b, j, i] = covs[b, i, j]


@kernel("void(float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[::1])")
def _window(X: Any, indices: Any, weights: Any, means: Any, covs: Any, B: Any) -> None:
    """Moments of gathered windows about their first row, 8 at a time."""
    lean()
    count, n = indices.shape
    d = X.shape[1]
    centred = 0
    weight = n * d * WIDTH
    mean = n * (d + 1) * WIDTH
    result = (n + 1) * (d + 1) * WIDTH
    for first in range(0, count, WIDTH):
        lanes = count - first if count - first < WIDTH else WIDTH
        for lane in range(WIDTH):
            b = first + (lane if lane < lanes else lanes - 1)
            anchor = indices[b, 0]
            for k in range(n):
                row = indices[b, k]
                B[weight + k * WIDTH + lane] = weights[b, k]
                for c in range(d):
                    B[centred + (k * d + c) * WIDTH + lane] = X[row, c] - X[anchor, c]
        for c in range(d):
            total = splat(0.0)
            for k in range(n):
                total = total + get(B, weight, k) * get2(B, centred, k, d, c)
            put(B, mean, c, total)
        for k in range(n):
            root = sqrt(get(B, weight, k))
            for c in range(d):
                put2(B, centred, k, d, c, (get2(B, centred, k, d, c) - get(B, mean, c)) * root)
        for i in range(d):
            for j in range(i + 1):
                total = splat(0.0)
                for k in range(n):
                    total = total + get2(B, centred, k, d, i) * get2(B, centred, k, d, j)
                put(B, result, 0, total)
                for lane in range(lanes):
                    covs[first + lane, i, j] = B[result + lane]
        for lane in range(lanes):
            b = first + lane
            for c in range(d):
                means[b, c] = X[indices[b, 0], c] + B[mean + c * WIDTH + lane]
            _flatten(means, covs, b, d)


@helper
def _add(X: Any, row: int, anchor: int, total: int, state: Any, at: int, shift: Any) -> None:
    """Take one more row, the ``total``-th, into a mean (relative to the anchor's row) and a sum of squares about it."""
    lean()
    d = X.shape[1]
    for c in range(d):
        shift[c] = X[row, c] - X[anchor, c] - state[at + c]
        state[at + c] += shift[c] / total
    weight = (total - 1) / total
    for i in range(d):
        for j in range(i + 1):
            state[at + d + i * d + j] += weight * shift[i] * shift[j]


@kernel(
    "void(float64[:, ::1], int64[::1], int64[::1], int64, float64[:, ::1], float64[:, :, ::1], float64[::1], float64[::1])"
)
def _slide(X: Any, starts: Any, origins: Any, n: int, means: Any, covs: Any, state: Any, shift: Any) -> None:
    """Moments of consecutive rows.

    ``state`` holds n + 2 means with sums of squares: entry k is the end of the block from its k-th row on, entry n is empty,
    and entry n + 1 is the beginning of the next block, as far as it has been taken.
    """
    lean()
    d = X.shape[1]
    size = d + d * d
    begun = (n + 1) * size
    block = -1
    taken = 0
    for b in range(starts.shape[0]):
        start = starts[b]
        k = (start - origins[b]) % n
        after = start - k + n
        anchor = (after if after < X.shape[0] else X.shape[0]) - 1
        fresh = start - k != block
        if fresh:
            block = start - k
            empty = (anchor + 1 - block) * size
            for c in range(size):
                state[empty + c] = 0.0
            for row in range(anchor, block - 1, -1):
                at = (row - block) * size
                for c in range(size):
                    state[at + c] = state[at + size + c]
                _add(X, row, anchor, anchor - row + 1, state, at, shift)
        if fresh or k < taken:
            taken = 0
            for c in range(size):
                state[begun + c] = 0.0
        while taken < k:
            taken += 1
            _add(X, after + taken - 1, after, taken, state, begun, shift)
        share = k / n
        end = k * size
        for c in range(d):
            shift[c] = X[after, c] - X[anchor, c] + state[begun + c] - state[end + c] if k > 0 else 0.0
            means[b, c] = X[anchor, c] + (state[end + c] + share * shift[c])
        between = share * (1.0 - share)
        for i in range(d):
            for j in range(i + 1):
                at = d + i * d + j
                covs[b, i, j] = (state[end + at] + state[begun + at]) / n + between * shift[i] * shift[j]
        _flatten(means, covs, b, d)


@kernel(
    "void(float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[::1], float64[::1])"
)
def _quartics(X: Any, indices: Any, weights: Any, means: Any, covs: Any, out: Any, centred: Any) -> None:
    """|x x^T - S|^2 = |x|^4 - 2 x^T S x + |S|^2, summed with the squared weights."""
    count, n = indices.shape
    d = X.shape[1]
    for b in range(count):
        norm = 0.0
        for i in range(d):
            for j in range(d):
                norm += covs[b, i, j] * covs[b, i, j]
        total = 0.0
        for k in range(n):
            row = indices[b, k]
            square = 0.0
            for c in range(d):
                centred[c] = X[row, c] - means[b, c] if covs[b, c, c] > 0.0 else 0.0
                square += centred[c] * centred[c]
            form = 0.0
            for i in range(d):
                pulled = 0.0
                for j in range(i):
                    pulled += covs[b, i, j] * centred[j]
                form += centred[i] * (2.0 * pulled + covs[b, i, i] * centred[i])
            total += weights[b, k] * weights[b, k] * (square * square - 2.0 * form + norm)
        out[b] = total
