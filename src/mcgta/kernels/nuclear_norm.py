"""Nuclear norms of many small matrices at once: bidiagonalise, then add up the singular values by dqds.

The norm is the sum of the singular values. Householder reflections from both sides bring a matrix to bidiagonal form, backward
stable, so every singular value keeps an absolute error of rounding size times the largest one, however singular the
matrix (Golub and Kahan 1965). The squares q_k, e_k of the two diagonals are then worked on by the differential
quotient-difference algorithm with shifts (Fernando and Parlett 1994), which has high relative accuracy: a sweep

    q'_k = d_k + e_k,   e'_k = e_k q_{k+1} / q'_k,   d_{k+1} = d_k q_{k+1} / q'_k - s

turns the representation of M into that of M - s. Shifts must stay below the least eigenvalue. Here they are Laguerre's
bound n / (S1 + sqrt((n - 1)(n S2 - S1^2))) with S1 = tr M^-1 and S2 = tr M^-2, which no eigenvalue is below and which
converges cubically. Both traces come from the sweep itself, by sums of positive terms: with D_k = -d d_k / d s,

    D_{k+1} = 1 + (e'_k / q'_k) D_k,   S1 = sum D_k / q'_k,   S2 = dS1/ds.

An eigenvalue is deflated when the last pivot is negligible (the coupling e above it then joins the last pivot of what
remains) or the coupling itself is, which changes the sum of the two singular values s, t next to it by e / (2 (s + t)) only.
The last four are added up by their symmetric functions (:func:`root_sum_of_four`).

Eight matrices go in step, one in each lane. A lane that has settled its eigenvalue stands still until all have, so no result
depends on its company. Matrices are stored by columns: entry (r, c) is ``get2(B, base, c, d, r)``.
"""

from __future__ import annotations

from typing import Any

from mcgta.kernels.compiled import helper, snippet
from mcgta.kernels.lanes import (
    WIDTH,
    any_less,
    copysign,
    fabs,
    get,
    get2,
    lean,
    put,
    put2,
    splat,
    sqrt,
    where_less,
)

_NOTHING = 1e-60  # sum of squares of a vector, relative to the matrix, that is nothing but rounding of rounding
_TINY = 1e-290  # keeps 0/0 of zero columns at zero
_FLOOR = 1e-34  # added to the scaled squares: no pivot is zero, and singular values move by 1e-17 of the norm
_BOTTOM = 1e-100  # keeps the reciprocals of pivots, and their squares, finite
_BELOW = 1.0 - 1e-14  # takes rounding off a shift
_SETTLED = 1e-28  # square of the error of a singular value, relative to the Frobenius norm, at which it is deflated
_ALIKE = 1.0 - 1e-13  # keeps a shift below eigenvalues so alike that rounding hides how they differ
_ALONE = 1e-40  # share of the cube
_SWEEPS = 100  # sweeps per eigenvalue, far beyond what is needed


@snippet
def mix(B: Any, a: int, d: int) -> Any:
    """Reflect the columns at ``a`` by I - (2/d) 1 1^T, which leaves the singular values; return the sums of squares.

    Blocks of zeros (features that the graphical lasso found independent) would split the bidiagonal form, and the part
    without the least eigenvalue would converge slowly; after this reflection no such blocks are left.
    """
    squares = splat(0.0)
    for r in range(d):
        total = get(B, a, r)
        for c in range(1, d):
            total = total + get2(B, a, c, d, r)
        total = total * (2.0 / d)
        for c in range(d):
            entry = get2(B, a, c, d, r) - total
            squares = squares + entry * entry
            put2(B, a, c, d, r, entry)
    return squares


@helper
def bidiagonalise(B: Any, a: int, work: int, q: int, e: int, d: int, squares: Any) -> None:
    """Bring the matrices (d, d) at ``a`` to bidiagonal form; squares of the diagonals go to ``q`` and ``e``.

    ``work`` has room for 3 d lanes, and ``squares`` are the matrices' sums of squares: what is 1e-60 of them is left as it is,
    since reflections by vectors that small would not be orthogonal. The matrices are destroyed.

    In step k the reflection I - b v v^T from the left and I - b' p p^T from the right (p the reflected row k) are applied in
    one pass, A <- A - v z^T - w p^T, with z = b A^T v and w = b' (A - v z^T) p; columns and rows go two at a time, to share
    what is loaded.
    """
    lean()
    z, p, w = work, work + d * WIDTH, work + 2 * d * WIDTH
    limit = squares * _NOTHING
    for k in range(d - 1):
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
        if k == d - 2:
            last = get(B, a, d * d - 1) - get(B, z, d - 1) * get(B, v, d - 1)
            put(B, q, d - 1, last * last)
            return

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


@helper
def root_sum_of_four(m1: Any, m2: Any, m3: Any, m4: Any) -> Any:
    """Add up four numbers, given the symmetric functions m1 .. m4 > 0 of their squares.

    With s1 .. s4 those of the numbers: s1^2 = m1 + 2 s2, s2^2 = m2 + 2 s1 s3 - 2 s4, s3^2 = m3 + 2 s2 s4, s4^2 = m4. Newton's
    method on the first three, from the upper bounds s_k^2 <= binom(4, k) m_k, decreases from the first step on (Wilson 1969, of
    whose spectral factorisation this is a small case). Solved by Cramer's rule, all terms but those of the determinant are
    positive, so the least of the four costs no digits.
    """
    lean()
    zero = m1 * 0.0
    s1 = sqrt(m1) * 2.0
    s2 = sqrt(m2 * 6.0)
    s3 = sqrt(m3) * 2.0
    s4 = sqrt(m4)
    going = zero + 1.0
    for _ in range(60):
        height = (m2 + s2 * s2) * 0.5 - s4
        mixed = s2 * s3 - s1 * s4
        scale = 1.0 / (s1 * mixed - s3 * s3 + _TINY)  # the third Hurwitz determinant, positive
        better = s1 * 0.5 + (s3 * height + (m1 * mixed + s1 * m3) * 0.5) * scale
        second = (s1 * s3 * height + (m1 * s3 * s3 + s1 * s1 * m3) * 0.5) * scale
        third = s3 * 0.5 + (s1 * s4 * height + ((s1 * s2 - s3) * m3 + m1 * s3 * s4) * 0.5) * scale
        better = where_less(zero, going, better, s1)
        s2 = where_less(zero, going, second, s2)
        s3 = where_less(zero, going, third, s3)
        going = where_less(better * 1e-11, fabs(better - s1), going, zero)
        s1 = better
        if not any_less(zero, going):
            break
    return s1


@helper
def singular_sum(B: Any, q: int, e: int, d: int) -> Any:
    """Sum of the singular values of 8 bidiagonal matrices of order d >= 4, from the squares of their diagonals.

    The diagonals are destroyed.
    """
    lean()
    zero = splat(0.0)
    total = get(B, q, 0)
    for k in range(1, d):
        total = total + get(B, q, k) + get(B, e, k - 1)
    scale = 1.0 / (total + _TINY)
    for k in range(d):
        put(B, q, k, get(B, q, k) * scale + _FLOOR)
        if k < d - 1:
            put(B, e, k, get(B, e, k) * scale)

    found = shifted = shift = joined = zero
    before1 = before2 = zero  # the traces of what remains when the last eigenvalue is deflated
    going = splat(1.0)
    n = d
    for _ in range(_SWEEPS * d if d > 4 else 0):
        push = _BOTTOM - shift
        here = get(B, q, 0)
        pivot = here + push
        slope = splat(1.0)
        bend = s1 = s2 = coupling = zero
        for k in range(n - 1):
            above = get(B, e, k)
            below = get(B, q, k + 1)
            moved = pivot + above
            inverse = 1.0 / moved
            ratio = below * inverse
            coupling = above * ratio
            put(B, q, k, where_less(zero, going, moved, here))
            put(B, e, k, where_less(zero, going, coupling, above))
            here = below
            pivot = pivot * ratio + push
            part = slope * inverse
            s1 = s1 + part
            s2 = s2 + part * part + bend * inverse
            factor = coupling * inverse
            bend = factor * (part * slope * 2.0 + bend)
            slope = 1.0 + factor * slope
        pivot = pivot + joined
        joined = zero
        put(B, q, n - 1, where_less(zero, going, pivot, here))
        shifted = shifted + shift
        before1 = where_less(zero, going, s1, before1)
        before2 = where_less(zero, going, s2, before2)
        least = where_less(coupling, pivot, coupling, pivot)
        going = where_less((pivot + shifted) * _SETTLED, least * least, going, zero)
        if any_less(zero, going):
            # All of it times the last pivot, which may be zero.
            s1 = s1 * pivot + slope
            spread = ((s2 * pivot + bend) * pivot + slope * slope) * n - s1 * s1 * _ALIKE
            spread = where_less(spread, zero, zero, spread) * (n - 1.0)
            shift = where_less(zero, going, pivot * (n * _BELOW) / (s1 + sqrt(spread)), zero)
        else:
            pivot = get(B, q, n - 1)
            coupling = get(B, e, n - 2)
            found = found + sqrt(pivot + shifted)
            joined = where_less(pivot, coupling, coupling, zero)
            going = splat(1.0)
            n -= 1
            if n == 4:
                break
            spread = before2 * n - before1 * before1 * _ALIKE
            spread = where_less(spread, zero, zero, spread) * (n - 1.0)
            shift = (n * _BELOW) / (before1 + sqrt(spread))

    for k in range(4, n):  # not reached but for NaN
        found = found + sqrt(get(B, q, k) + shifted)
    # The symmetric functions of the last four are sums over sets of entries, no two of them adjacent, in the sequence
    # q0, e0, q1, e1, q2, e2, q3, joined: those of all entries up to one follow from those up to the two before it.
    entry = get(B, q, 0)
    a1 = entry
    entry = get(B, e, 0)
    b1 = a1 + entry
    entry = get(B, q, 1)
    b2 = entry * a1
    a1, b1 = b1, b1 + entry
    entry = get(B, e, 1)
    a2, b2 = b2, b2 + entry * a1
    a1, b1 = b1, b1 + entry
    entry = get(B, q, 2)
    b3 = entry * a2
    a2, b2 = b2, b2 + entry * a1
    a1, b1 = b1, b1 + entry
    entry = get(B, e, 2)
    a3, b3 = b3, b3 + entry * a2
    a2, b2 = b2, b2 + entry * a1
    a1, b1 = b1, b1 + entry
    entry = get(B, q, 3)
    b4 = entry * a3
    a3, b3 = b3, b3 + entry * a2
    a2, b2 = b2, b2 + entry * a1
    a1, b1 = b1, b1 + entry
    m4 = b4 + joined * a3
    m3 = b3 + joined * a2
    m2 = b2 + joined * a1
    m1 = b1 + joined
    # The shift moves all four.
    m4 = m4 + shifted * (m3 + shifted * (m2 + shifted * (m1 + shifted)))
    m3 = m3 + shifted * (m2 * 2.0 + shifted * (m1 * 3.0 + shifted * 4.0))
    m2 = m2 + shifted * (m1 * 3.0 + shifted * 6.0)
    m1 = m1 + shifted * 4.0
    return (found + root_sum_of_four(m1, m2, m3, m4)) * sqrt(total)
