"""Squared Wasserstein-2 distance of Gaussians (the paper's equation 5), for tiles of pairs or lists of them.

    W = |mu_i - mu_j|^2 + tr Sigma_i + tr Sigma_j - 2 |L_i^T L_j|_*

tr (Sigma_i^1/2 Sigma_j Sigma_i^1/2)^1/2 is the nuclear norm of L_i^T L_j for any factors with L L^T = Sigma; here they are
lower triangular. Singular values instead of roots of eigenvalues keep all digits where covariances are singular: the
eigenvalue form keeps half of them.

d = 1    L_i L_j
d = 2    a root of a^2 + b^2 with a, b the sum of the diagonal and the difference of the off-diagonal entries
d = 3    from the symmetric functions |P|^2, |minors of P|^2 and det P (:func:`mcgta.kernels.gaussians.nuclear_norm.root_sum`)
d >= 4   bidiagonalisation and quadrature, :mod:`mcgta.kernels.gaussians.nuclear_norm`

Bounds that hold for every pair, with H^2 = |R_i - R_j|_F^2 of the symmetric roots:  |dmu|^2 + H^2/2 <= W <= |dmu|^2 + H^2.

Contract
--------
A *packed* model is a row of d + 1 + d^2 numbers: mean, trace of the covariance, factor by rows with zeros above the diagonal.
Results are non-negative, with an error of about 1e-15 of the two traces' sum. Eight or sixteen pairs go in step, but each is
computed as if it were alone: its bits depend neither on its company nor on tiles or threads. Variances may be anything from
1e-60 to 1e60.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.gaussians.factors import symmetric_roots, triangular_factors
from mcgta.kernels.gaussians.nuclear_norm import nuclear_norms, root_sum
from mcgta.kernels.simd.compiled import call, carray, helper, kernel, native, native_rows, shared, snippet
from mcgta.kernels.simd.lanes import (
    WIDE,
    WIDTH,
    gather,
    get,
    get2,
    get16,
    lean,
    put,
    put2,
    splat,
    splat16,
    sqrt,
    where_less,
    workspace,
)
from mcgta.runtime.types import Array, Index

_BLOCKS = 16  # blocks of 16 columns that stay in the first-level cache
_FLOATS = "CPointer(float64), int64"
_ROWS = "CPointer(int64), int64"
_ALL = np.empty(0, dtype=np.int64)
_PAIRS = f"void({_FLOATS}, {_ROWS}, {_ROWS}, {_FLOATS}, {_FLOATS}, int64, int64)"


def pack(means: Array, covs: Array) -> Array:
    """Return the packed models (N, d + 1 + d^2) of means (N, d) and positive semi-definite covariances (N, d, d)."""
    count, d = means.shape
    out = np.empty((count, d + 1 + d * d))
    out[:, :d] = means
    out[:, d] = np.trace(covs, axis1=1, axis2=2)
    out[:, d + 1 :] = triangular_factors(covs).reshape(count, d * d)
    return out


def features_of(packed: Array) -> int:
    """Return d from the width of packed models."""
    return int((np.sqrt(4 * packed.shape[1] - 3) - 1) / 2 + 0.5)


def embed(packed: Array, *, spectra: bool = False) -> Array:
    """Return points (N, d + d (d + 1)/2) with squared distances |dmu|^2 + |R_i - R_j|_F^2, R the symmetric roots.

    They are upper bounds of W, and at most twice W. Entries off the diagonal, which the Frobenius norm counts twice, are scaled
    by the root of two. ``spectra`` adds d columns with the eigenvalues of R, ascending: |dmu|^2 plus the squared distance of
    these is a lower bound of W.
    """
    d = features_of(packed)
    roots = symmetric_roots(packed[:, d + 1 :].reshape(-1, d, d))
    row, col = np.tril_indices(d)
    parts = [packed[:, :d], roots[:, row, col] * np.where(row == col, 1.0, np.sqrt(2.0))]
    return np.hstack([*parts, np.linalg.eigvalsh(roots)] if spectra else parts)


def wasserstein2_tile(left: Array, right: Array) -> Array:
    """W2 squared of each packed model of ``left`` (R, m) from each of ``right`` (C, m), as a table (R, C)."""
    out = np.empty((left.shape[0], right.shape[0]))
    d = features_of(left)
    size = left.shape[1]
    if d <= 3:
        _across_few(native(left), native(right), d, out, workspace(2 * (size + _BLOCKS * size + 1)))
    else:
        _across_many(native(left), native(right), d, out, pair_workspace(d), nuclear_norms.address)
    return out


def wasserstein2_pairs(packed: Array, i: Index, j: Index) -> Array:
    """W2 squared of the packed models i[k] and j[k], as (len(i),)."""
    out = np.empty(i.shape[0])
    d = features_of(packed)
    if i.size:
        models = native(packed)
        rows = native_rows(i, len(models)), native_rows(j, len(models))
        _list(models.reshape(-1), *rows, out, pair_workspace(d), d, *pair_functions(d))
    return out


def pair_functions(d: int) -> tuple[int, int]:
    """Return the addresses of the function that compares listed pairs, for use in other kernels, and of what it calls.

    ``call(first, (models, i, j, out, B, d, second))``, with packed models as a flat array, rows i and j, and
    ``pair_workspace(d)`` for B.
    """
    return (_pairs_few.address, 0) if d <= 3 else (_pairs_many.address, nuclear_norms.address)


def pair_workspace(d: int) -> Array:
    """Return room for comparing pairs."""
    size = d + 1 + d * d
    return workspace(2 * (2 * size + 1) if d <= 3 else 2 * size + d * d + 5 * d + 1)


@kernel("void(float64[::1], int64[::1], int64[::1], float64[::1], float64[::1], int64, int64, int64)")
def _list(models: Any, i: Any, j: Any, out: Any, B: Any, d: int, compare: int, norms: int) -> None:
    """Compare listed pairs."""
    call(compare, (models, i, j, out, B, d, norms))


@helper
def _multiply(x: Any, at: int, B: Any, y: int, a: int, d: int) -> None:
    """L_x^T L_y for one x (a row of the flat table ``x``) and 8 y, into columns at ``a``."""
    lean()
    for c in range(d):
        r = 0
        while r < d:
            low = max(r, c)
            entry = get2(B, y, low, d, c)
            row = at + low * d + r
            if (
                r + 4 <= d
            ):  # four entries of a column share what is loaded; zeros above the diagonal of L_x are harmless
                p0 = entry * x[row]
                p1 = entry * x[row + 1]
                p2 = entry * x[row + 2]
                p3 = entry * x[row + 3]
                for k in range(low + 1, d):
                    entry = get2(B, y, k, d, c)
                    row = at + k * d + r
                    p0 = p0 + entry * x[row]
                    p1 = p1 + entry * x[row + 1]
                    p2 = p2 + entry * x[row + 2]
                    p3 = p3 + entry * x[row + 3]
                base = a + (c * d + r) * WIDTH
                put(B, base, 0, p0)
                put(B, base, 1, p1)
                put(B, base, 2, p2)
                put(B, base, 3, p3)
                r += 4
            else:
                p0 = entry * x[row]
                for k in range(low + 1, d):
                    p0 = p0 + get2(B, y, k, d, c) * x[at + k * d + r]
                put2(B, a, c, d, r, p0)
                r += 1


@helper
def _multiply_lanes(B: Any, x: int, y: int, a: int, d: int) -> None:
    """L_x^T L_y for 8 pairs, into columns at ``a``."""
    lean()
    for c in range(d):
        for r in range(d):
            low = max(r, c)
            value = get2(B, x, low, d, r) * get2(B, y, low, d, c)
            for k in range(low + 1, d):
                value = value + get2(B, x, k, d, r) * get2(B, y, k, d, c)
            put2(B, a, c, d, r, value)


@snippet
def _finish(B: Any, x: int, y: int, result: int, d: int) -> None:
    """Turn the nuclear norms at ``result`` into W, for 8 models at ``x`` and 8 at ``y``."""
    value = get(B, x, d) + get(B, y, d) - get(B, result, 0) * 2.0
    value = where_less(value, splat(0.0), splat(0.0), value)
    for k in range(d):
        shift = get(B, x, k) - get(B, y, k)
        value = value + shift * shift
    put(B, result, 0, value)


@kernel("void(float64[:, ::1], float64[:, ::1], int64, float64[:, ::1], float64[::1], int64)")
def _across_many(left: Any, right: Any, d: int, out: Any, B: Any, norms: int) -> None:
    """Compare all of left with all of right by bidiagonalisation, d >= 4."""
    lean()
    size = left.shape[1]
    x = 0
    y = size * WIDTH
    a = 2 * y
    work = a + d * d * WIDTH
    q = work + 3 * d * WIDTH
    e = q + d * WIDTH
    result = e + d * WIDTH
    flat = left.reshape(-1)
    columns = out.shape[1]
    for first in range(0, columns, WIDTH):
        lanes = columns - first if columns - first < WIDTH else WIDTH
        gather(right, first, _ALL, WIDTH, B, y)
        for row in range(out.shape[0]):
            for k in range(d + 1):
                put(B, x, k, splat(left[row, k]))
            _multiply(flat, row * size + d + 1, B, y + (d + 1) * WIDTH, a, d)
            call(norms, (B, a, work, q, e, d, result))
            _finish(B, x, y, result, d)
            for lane in range(lanes):
                out[row, first + lane] = B[result + lane]


@shared(_PAIRS)
def _pairs_many(
    models: Any,
    size: int,
    i: Any,
    count: int,
    j: Any,
    _j: int,
    out: Any,
    _out: int,
    room: Any,
    most: int,
    d: int,
    norms: int,
) -> None:
    """Compare listed pairs by bidiagonalisation, d >= 4."""
    wide = d + 1 + d * d
    packed = carray(models, (size // wide, wide))
    left = carray(i, count)
    right = carray(j, count)
    B = carray(room, most)
    x = 0
    y = wide * WIDTH
    a = 2 * y
    work = a + d * d * WIDTH
    q = work + 3 * d * WIDTH
    e = q + d * WIDTH
    result = e + d * WIDTH
    for first in range(0, count, WIDTH):
        gather(packed, first, left, WIDTH, B, x)
        gather(packed, first, right, WIDTH, B, y)
        _multiply_lanes(B, x + (d + 1) * WIDTH, y + (d + 1) * WIDTH, a, d)
        call(norms, (B, a, work, q, e, d, result))
        _finish(B, x, y, result, d)
        for lane in range(min(WIDTH, count - first)):
            out[first + lane] = B[result + lane]


@snippet
def _gap(B: Any, norm: Any, trace: Any, y: int, d: int) -> Any:
    """Tr Sigma_x + tr Sigma_y - 2 norm, not below zero."""
    value = trace + get16(B, y, d) - norm * 2.0
    return where_less(value, splat16(0.0), splat16(0.0), value)


@helper
def _across_two(B: Any, x: int, y: int, blocks: int, out: Any, at: int) -> None:
    """W of the 16 models at ``x`` and each block of 16 from ``y`` on, two features; goes to ``out`` from ``at`` on."""
    lean()
    m0 = get16(B, x, 0)
    m1 = get16(B, x, 1)
    trace = get16(B, x, 2)
    x00 = get16(B, x, 3)
    x10 = get16(B, x, 5)
    x11 = get16(B, x, 6)
    for b in range(blocks):
        y10 = get16(B, y, 5)
        y11 = get16(B, y, 6)
        along = x00 * get16(B, y, 3) + x10 * y10 + x11 * y11
        across = x10 * y11 - x11 * y10
        value = _gap(B, sqrt(along * along + across * across), trace, y, 2)
        s0 = m0 - get16(B, y, 0)
        s1 = m1 - get16(B, y, 1)
        put(out, at, b, value + s0 * s0 + s1 * s1)
        y += 7 * WIDE


@helper
def _across_three(B: Any, x: int, y: int, blocks: int, out: Any, at: int) -> None:
    """The same for three features."""
    lean()
    for b in range(blocks):
        y10 = get16(B, y, 7)
        y11 = get16(B, y, 8)
        y20 = get16(B, y, 10)
        y21 = get16(B, y, 11)
        y22 = get16(B, y, 12)
        x22 = get16(B, x, 12)
        p20 = x22 * y20
        p21 = x22 * y21
        p22 = x22 * y22
        x11 = get16(B, x, 8)
        x21 = get16(B, x, 11)
        p10 = x11 * y10 + x21 * y20
        p11 = x11 * y11 + x21 * y21
        p12 = x21 * y22
        e1 = p10 * p10 + p11 * p11 + p12 * p12 + p20 * p20 + p21 * p21 + p22 * p22
        m0 = p11 * p22 - p12 * p21
        m1 = p10 * p22 - p12 * p20
        m2 = p10 * p21 - p11 * p20
        e2 = m0 * m0 + m1 * m1 + m2 * m2
        x00 = get16(B, x, 4)
        x10 = get16(B, x, 7)
        x20 = get16(B, x, 10)
        y00 = get16(B, y, 4)
        p00 = x00 * y00 + x10 * y10 + x20 * y20
        p01 = x10 * y11 + x20 * y21
        p02 = x20 * y22
        e1 = e1 + p00 * p00 + p01 * p01 + p02 * p02
        m0 = p01 * p22 - p02 * p21
        m1 = p00 * p22 - p02 * p20
        m2 = p00 * p21 - p01 * p20
        e2 = e2 + m0 * m0 + m1 * m1 + m2 * m2
        m0 = p01 * p12 - p02 * p11
        m1 = p00 * p12 - p02 * p10
        m2 = p00 * p11 - p01 * p10
        e2 = e2 + m0 * m0 + m1 * m1 + m2 * m2
        value = _gap(B, root_sum(e1, e2, x00 * x11 * x22 * y00 * y11 * y22), get16(B, x, 3), y, 3)
        for k in range(3):
            shift = get16(B, x, k) - get16(B, y, k)
            value = value + shift * shift
        put(out, at, b, value)
        y += 13 * WIDE


@helper
def _across(B: Any, x: int, y: int, blocks: int, out: Any, at: int, d: int) -> None:
    """The same for up to three features."""
    lean()
    if d == 3:
        _across_three(B, x, y, blocks, out, at)
    elif d == 2:
        _across_two(B, x, y, blocks, out, at)
    else:
        for b in range(blocks):
            value = _gap(B, get16(B, x, 2) * get16(B, y, 2), get16(B, x, 1), y, 1)
            shift = get16(B, x, 0) - get16(B, y, 0)
            put(out, at, b, value + shift * shift)
            y += 3 * WIDE


@kernel("void(float64[:, ::1], float64[:, ::1], int64, float64[:, ::1], float64[::1])")
def _across_few(left: Any, right: Any, d: int, out: Any, B: Any) -> None:
    """Compare all of left with all of right in closed form, d <= 3."""
    lean()
    size = left.shape[1]
    columns = out.shape[1]
    block = size * WIDE
    x = 0
    y = block
    result = y + _BLOCKS * block
    flat = out.reshape(-1)
    for start in range(0, columns, _BLOCKS * WIDE):
        rest = columns - start
        whole = rest // WIDE if rest < _BLOCKS * WIDE else _BLOCKS
        tail = rest - whole * WIDE if whole < _BLOCKS else 0
        for b in range(whole + (tail > 0)):
            gather(right, start + b * WIDE, _ALL, WIDE, B, y + b * block)
        for row in range(out.shape[0]):
            at = row * columns + start
            for k in range(size):
                put(B, x, k, splat16(left[row, k]))
            _across(B, x, y, whole, flat, at, d)
            if tail > 0:
                _across(B, x, y + whole * block, 1, B, result, d)
                for lane in range(tail):
                    flat[at + whole * WIDE + lane] = B[result + lane]


@shared(_PAIRS)
def _pairs_few(
    models: Any,
    size: int,
    i: Any,
    count: int,
    j: Any,
    _j: int,
    out: Any,
    _out: int,
    room: Any,
    most: int,
    d: int,
    norms: int,
) -> None:
    """Compare listed pairs in closed form, d <= 3."""
    wide = d + 1 + d * d
    packed = carray(models, (size // wide, wide))
    left = carray(i, count)
    right = carray(j, count)
    B = carray(room, most)
    x = 0
    y = wide * WIDE
    result = 2 * wide * WIDE
    for first in range(0, count, WIDE):
        gather(packed, first, left, WIDE, B, x)
        gather(packed, first, right, WIDE, B, y)
        _across(B, x, y, 1, B, result, d)
        for lane in range(min(WIDE, count - first)):
            out[first + lane] = B[result + lane]


def null_expectation(covs: Array, sample_size: float | Array) -> Array:
    """Expected W2 squared between two independent samples of one Gaussian, to first order in 1/n.

    c = [ 2 tr Sigma + sum_kl l_k l_l (1 + [k = l]) / (l_k + l_l) ] / n with the eigenvalues l of Sigma: the first term
    comes from the means, the second from the covariances.

    Parameters
    ----------
    covs : (N, d, d)
    sample_size : n, observations in each sample; one number, or (N,)

    Returns
    -------
    (N,)
    """
    values = np.maximum(np.linalg.eigvalsh(covs), 0.0)
    product = values[:, :, None] * values[:, None, :]
    total = values[:, :, None] + values[:, None, :]
    terms = np.divide(product, total, out=np.zeros_like(product), where=total > 0)
    shape = terms.sum(axis=(1, 2)) + np.trace(terms, axis1=1, axis2=2)
    return (2 * values.sum(axis=1) + shape) / sample_size
