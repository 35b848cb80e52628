"""Nuclear norms of many small matrices at once: bidiagonalise, then integrate the sum of the singular values.

Householder reflections from both sides bring a matrix to bidiagonal form, backward stable, so every singular value keeps
an absolute error of rounding size times the largest one, however singular the matrix (Golub and Kahan 1965). With q_k, e_k
the squares of the two diagonals and l_i the squares of the singular values, the norm sum_i l_i^1/2 is, by a rule of
:mod:`mcgta.kernels.gaussians.root_rule`,

    sum_j w_j F(s_j),   F(s) = sum_i l_i / (l_i + s).

F needs no singular value. Up to order 16 it is read from the symmetric functions m_k of the l_i: with P(s) the product
of all l_i + s,

    P(s) = sum_k m_k s^(d-k),   F(s) = sum_k k m_k s^(d-k) / P(s).

m_k is the sum of the products of k entries, no two of them neighbours, of the sequence q_0, e_0, q_1, ..., q_(d-1); a
recurrence adds it up entry by entry. Larger matrices would leave the range of doubles. There F is the derivative of
ln det(t B^T B + s) by t at 1, from the quotient-difference sweep with shift -s (Fernando and Parlett 1994) and its
derivative D,

    q'_k = d_k + e_k,   d_(k+1) = d_k q_(k+1) / q'_k + s,   D_(k+1) = q_(k+1) (D_k e_k + d_k^2) / q'_k^2,

as the sum of (D_k + e_k) / q'_k. Nothing is subtracted in any of this, so the norm keeps the relative accuracy of the
bidiagonal form: relative errors of entries bring relative errors of m_k, of P and of F.

Eight matrices go in step, one in each lane, up to the symmetric functions; the rule then takes one matrix after the
other, sixteen nodes in step, as many as its own spread of singular values needs. So no result depends on its company.
Matrices are stored by columns: entry (r, c) is ``get2(B, base, c, d, r)``.
"""

from __future__ import annotations

from typing import Any

from mcgta.kernels.gaussians.root_rule import COUNTS, GROUP, NODES, SPREADS, STARTS, WEIGHTS
from mcgta.kernels.simd.compiled import carray, helper, shared, snippet
from mcgta.kernels.simd.lanes import (
    WIDTH,
    any_less,
    copysign,
    fabs,
    get,
    get2,
    get16,
    lean,
    put,
    splat,
    splat16,
    sqrt,
    total_of,
    where_less,
)

_NOTHING = 1e-250  # sum of squares below which a vector is nothing but rounding of rounding
_TINY = 1e-290  # keeps 0/0 of zero columns at zero
_ALONE = 1e-40  # share of the cube
_MOST = 16  # largest order whose symmetric functions are within the range of doubles
_SIZE = 1e16  # trace at which they are: l_i + s is then between 1e-18 and 1e18
_LEAST = 1e-290  # a determinant below it has no reciprocal
_HUGE = 1e90  # and is one of matrices that need all nodes
_LAST_RULE = len(COUNTS) - 1
_SQUARED_SPREADS = SPREADS**2


@helper
def bidiagonalise(B: Any, a: int, work: int, q: int, e: int, d: int) -> None:
    """Bring the matrices (d, d) at ``a`` to bidiagonal form; squares of the diagonals go to ``q`` and ``e``.

    ``work`` has room for 3 d lanes. Vectors so small that rounding would spoil the reflection count as nothing. The matrices
    are destroyed.

    In step k the reflection I - b v v^T from the left and I - b' p p^T from the right (p the reflected row k) are applied in
    one pass, A <- A - v z^T - w p^T, with z = b A^T v and w = b' (A - v z^T) p; columns and rows go two at a time, to share
    what is loaded.
    """
    lean()
    z = work
    p = work + d * WIDTH
    w = work + 2 * d * WIDTH
    limit = splat(_NOTHING)
    for k in range(d - 2):
        v = a + k * d * WIDTH
        corner = get(B, v, k)
        norm2 = corner * corner
        for r in range(k + 1, d):
            entry = get(B, v, r)
            norm2 = norm2 + entry * entry
        put(B, q, k, norm2)
        norm = sqrt(norm2)
        reach = fabs(corner) + norm
        scale = where_less(limit, norm2, 1.0 / (norm * reach + _TINY), splat(0.0))
        head = copysign(reach, corner)
        put(B, v, k, head)

        norm2 = splat(0.0)
        inner = splat(0.0)  # z . p
        c = k + 1
        if (d - c) % 2 == 1:
            one = a + c * d * WIDTH
            top = get(B, one, k)
            z1 = top * head
            for r in range(k + 1, d):
                z1 = z1 + get(B, one, r) * get(B, v, r)
            z1 = z1 * scale
            p1 = top - z1 * head
            put(B, z, c, z1)
            put(B, p, c, p1)
            norm2 = p1 * p1
            inner = z1 * p1
            c += 1
        while c < d:
            one = a + c * d * WIDTH
            two = one + d * WIDTH
            top = get(B, one, k)
            top2 = get(B, two, k)
            z1 = top * head
            z2 = top2 * head
            for r in range(k + 1, d):
                entry = get(B, v, r)
                z1 = z1 + get(B, one, r) * entry
                z2 = z2 + get(B, two, r) * entry
            z1 = z1 * scale
            z2 = z2 * scale
            p1 = top - z1 * head
            p2 = top2 - z2 * head
            put(B, z, c, z1)
            put(B, z, c + 1, z2)
            put(B, p, c, p1)
            put(B, p, c + 1, p2)
            norm2 = norm2 + p1 * p1 + p2 * p2
            inner = inner + z1 * p1 + z2 * p2
            c += 2
        put(B, e, k, norm2)

        norm = sqrt(norm2)
        corner = get(B, p, k + 1)
        reach = fabs(corner) + norm
        scale = where_less(limit, norm2, 1.0 / (norm * reach + _TINY), splat(0.0))
        head = copysign(reach, corner)
        inner = inner + get(B, z, k + 1) * (head - corner)
        put(B, p, k + 1, head)
        r = k + 1
        if (d - r) % 2 == 1:
            w1 = splat(0.0) - get(B, v, r) * inner
            for c in range(k + 1, d):
                w1 = w1 + get2(B, a, c, d, r) * get(B, p, c)
            put(B, w, r, w1 * scale)
            r += 1
        while r < d:
            w1 = splat(0.0) - get(B, v, r) * inner
            w2 = splat(0.0) - get(B, v, r + 1) * inner
            for c in range(k + 1, d):
                entry = get(B, p, c)
                at = a + (c * d + r) * WIDTH
                w1 = w1 + get(B, at, 0) * entry
                w2 = w2 + get(B, at, 1) * entry
            put(B, w, r, w1 * scale)
            put(B, w, r + 1, w2 * scale)
            r += 2

        c = k + 1
        if (d - c) % 2 == 1:
            one = a + c * d * WIDTH
            z1 = get(B, z, c)
            p1 = get(B, p, c)
            for r in range(k + 1, d):
                at = one + r * WIDTH
                put(B, at, 0, get(B, at, 0) - get(B, v, r) * z1 - get(B, w, r) * p1)
            c += 1
        while c < d:
            one = a + c * d * WIDTH
            two = one + d * WIDTH
            z1 = get(B, z, c)
            p1 = get(B, p, c)
            z2 = get(B, z, c + 1)
            p2 = get(B, p, c + 1)
            for r in range(k + 1, d):
                left = get(B, v, r)
                right = get(B, w, r)
                put(B, one, r, get(B, one, r) - left * z1 - right * p1)
                put(B, two, r, get(B, two, r) - left * z2 - right * p2)
            c += 2

    # What is left, with columns (x, y) and (s, t), needs no reflection: |x, y|, and xs + yt and xt - ys divided by it.
    one = a + (d - 2) * d * WIDTH
    two = one + d * WIDTH
    x = get(B, one, d - 2)
    y = get(B, one, d - 1)
    s = get(B, two, d - 2)
    t = get(B, two, d - 1)
    norm2 = x * x + y * y
    scale = 1.0 / (norm2 + _TINY)
    along = x * s + y * t
    across = x * t - y * s
    put(B, q, d - 2, norm2)
    put(B, e, d - 2, where_less(limit, norm2, along * along * scale, s * s))
    put(B, q, d - 1, where_less(limit, norm2, across * across * scale, t * t))


@helper
def root_sum(e1: Any, e2: Any, root: Any) -> Any:
    """X + y + z, given e1 = x^2 + y^2 + z^2, e2 = x^2 y^2 + x^2 z^2 + y^2 z^2 and root = x y z (all >= 0).

    With s1 the sum and s2 = xy + xz + yz: s1^2 = e1 + 2 s2 and s2^2 = e2 + 2 root s1. Newton's method on the two,
    from a start above, has only positive terms but for s1 s2 - root, which is at least 8 root.
    """
    lean()
    zero = e1 * 0.0
    s2 = sqrt(e2 + root * sqrt(e1 + sqrt(e2) * 2.0) * 2.0)
    s1 = sqrt(e1 + s2 * 2.0)
    going = zero + 1.0
    for _ in range(20):
        first = (e1 + s1 * s1) * 0.5
        second = (e2 + s2 * s2) * 0.5
        slope = s1 * s2 - root
        # Where one of the three is all there is, the start is right and the slope is lost in rounding.
        going = where_less(s1 * s1 * s1 * _ALONE, slope, going, zero)
        scale = 1.0 / (slope + _TINY)
        better = where_less(zero, going, (first * s2 + second) * scale, s1)
        s2 = where_less(zero, going, (s1 * second + root * first) * scale, s2)
        going = where_less(better * 1e-11, fabs(better - s1), going, zero)
        s1 = better
        if not any_less(zero, going):
            break
    return s1


@snippet
def _symmetric_functions(B: Any, q: int, e: int, m: int, d: int, scale: Any) -> None:
    """Write m_k of the squares of the diagonals times ``scale`` to ``m``, k = 0 .. d, and k m_k after them."""
    # Those of the entries up to q_k are in m, of the entries up to e_(k-1) in less.
    less = m + (d + 1) * WIDTH
    put(B, m, 0, splat(1.0))
    put(B, m, 1, get(B, q, 0) * scale)
    put(B, less, 0, splat(1.0))
    put(B, less, 1, splat(0.0))
    for k in range(1, d):
        coupling = get(B, e, k - 1) * scale
        pivot = get(B, q, k) * scale
        here = splat(0.0)
        for j in range(k + 1, 0, -1):
            below = get(B, m, j - 1)
            part = here + coupling * get(B, less, j - 1)
            put(B, less, j, part)
            put(B, m, j, part + pivot * below)
            here = below
    for k in range(1, d + 1):
        put(B, less, k, get(B, m, k) * k)


@snippet
def _trace_of_inverse(B: Any, q: int, e: int, d: int) -> Any:
    """Sum of 1 / l_i; infinite or no number where there is none."""
    pivot = get(B, q, 0)
    slope = splat(1.0)
    trace = splat(0.0)
    for k in range(d - 1):
        inverse = 1.0 / (pivot + get(B, e, k))
        ratio = get(B, q, k + 1) * inverse
        trace = trace + slope * inverse
        slope = 1.0 + get(B, e, k) * ratio * inverse * slope
        pivot = pivot * ratio
    return trace + slope / pivot


@snippet
def _by_symmetric_functions(B: Any, m: int, d: int, rule: int, high: float) -> float:
    """Integrate with the symmetric functions that begin at ``m``, one number in every 8."""
    times = m + (d + 1) * WIDTH
    first = STARTS[rule]
    value = splat16(0.0)
    for group in range(COUNTS[rule] // GROUP):
        s = get16(NODES, first, group) * high
        below = s + B[m + WIDTH]
        above = splat16(B[times + WIDTH])
        for k in range(2, d + 1):
            below = below * s + B[m + k * WIDTH]
            above = above * s + B[times + k * WIDTH]
        value = value + get16(WEIGHTS, first, group) * above / below
    return total_of(value)


@snippet
def _by_sweeps(B: Any, q: int, e: int, d: int, rule: int, high: float) -> float:
    """Integrate by a sweep for each node over the diagonals that begin at ``q`` and ``e``, one number in every 8."""
    first = STARTS[rule]
    value = splat16(0.0)
    for group in range(COUNTS[rule] // GROUP):
        s = get16(NODES, first, group) * high
        pivot = s + B[q]
        slope = splat16(B[q])
        share = splat16(0.0)
        for k in range(d - 1):
            coupling = B[e + k * WIDTH]
            inverse = 1.0 / (pivot + coupling)
            ratio = inverse * B[q + (k + 1) * WIDTH]
            share = share + (slope + coupling) * inverse
            slope = ratio * inverse * (slope * coupling + pivot * pivot)
            pivot = pivot * ratio + s
        value = value + get16(WEIGHTS, first, group) * (share + slope / pivot)
    return total_of(value)


@helper
def singular_sum(B: Any, q: int, e: int, work: int, d: int) -> Any:
    """Sum of the singular values of 8 bidiagonal matrices of order d >= 2, from the squares of their diagonals.

    ``work`` has room for 2 d + 4 lanes. The diagonals are destroyed.
    """
    lean()
    trace = get(B, q, 0)
    squares = trace * trace  # trace of the square
    for k in range(1, d):
        coupling = get(B, e, k - 1)
        entry = get(B, q, k) + coupling
        trace = trace + entry
        squares = squares + entry * entry + get(B, q, k - 1) * coupling * 2.0
    scale = _SIZE / (trace + _TINY)
    high = sqrt(squares) * scale  # at least the largest l_i, and at most the trace
    high = where_less(splat(0.0), high, high, splat(_SIZE))
    # low is the trace of the inverse squared, or at least that.
    if d <= _MOST:
        _symmetric_functions(B, q, e, work, d, scale)
        determinant = get(B, work, d)
        inverse = 1.0 / determinant
        low = get(B, work, d - 1) * inverse
        low = low * low - get(B, work, d - 2) * inverse * 2.0
        low = where_less(splat(_LEAST), determinant, low, splat(_HUGE))
    else:
        put(B, q, 0, get(B, q, 0) * scale)
        for k in range(1, d):
            put(B, q, k, get(B, q, k) * scale)
            put(B, e, k - 1, get(B, e, k - 1) * scale)
        low = _trace_of_inverse(B, q, e, d)
        low = low * low
    largest = work + (2 * d + 2) * WIDTH
    spread = largest + WIDTH
    put(B, largest, 0, high)
    put(B, spread, 0, high * high * low)
    for lane in range(WIDTH):
        rule = 0
        while rule < _LAST_RULE and not B[spread + lane] <= _SQUARED_SPREADS[rule]:  # no number: all nodes
            rule += 1
        if d <= _MOST:
            value = _by_symmetric_functions(B, work + lane, d, rule, B[largest + lane])
        else:
            value = _by_sweeps(B, q + lane, e + lane, d, rule, B[largest + lane])
        B[largest + lane] = value
    return get(B, largest, 0) * sqrt(sqrt(squares))


@shared("void(CPointer(float64), int64, int64, int64, int64, int64, int64, int64)")
def nuclear_norms(room: Any, size: int, a: int, work: int, q: int, e: int, d: int, result: int) -> None:
    """Nuclear norms of the 8 matrices (d, d) at ``a``, d >= 4, to ``result``.

    ``work`` has room for 3 d lanes, ``q`` and ``e`` for d each. The matrices are destroyed.
    """
    B = carray(room, size)
    bidiagonalise(B, a, work, q, e, d)
    put(B, result, 0, singular_sum(B, q, e, work, d))
