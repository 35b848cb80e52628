"""Graphical lasso for many small covariances, by projected Newton on the dual, 8 problems at a time.

Primal (Friedman, Hastie and Tibshirani 2008; the diagonal is not penalised):

    minimise over Theta > 0:   -log det Theta + tr(S Theta) + alpha * sum_{i != j} |Theta_ij|

Dual: maximise log det(S + U) subject to |U_ij| <= alpha off the diagonal and U_ii = 0; the covariance is S + U and
Theta its inverse. For Theta = (S + U)^-1 the duality gap is tr(S Theta) - d + alpha * sum_{i != j} |Theta_ij|.

The dual keeps every iterate positive definite, has box constraints only, and needs a handful of Newton steps whatever
the conditioning: block coordinate descent on the primal runs to a thousand iterations on nearly singular windows.
Work is done on the correlation scale, where the penalties become alpha / (s_i s_j) and the gap is unchanged.

A step (Bertsekas 1982): pairs near a bound that the gradient pushes further take a scaled gradient step, the others a Newton
step; both are cut off at the bounds, and halved until log det rises enough. The second derivative of log det in the
pairs (i,j), (k,l) is T_ik T_jl + T_il T_jk with T the inverse of S + U. Eight problems go in step, one in each lane, each with
its own list of free pairs; one that has converged stands still. So no result depends on the seven others.

Problems that do not converge this way (singular to rounding, or hidden by it) are handed on to
:mod:`mcgta.kernels.gaussians.careful_lasso`, which goes about it more slowly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.gaussians.careful_lasso import GAP, careful_lasso
from mcgta.kernels.simd.compiled import helper, kernel, native, snippet
from mcgta.kernels.simd.lanes import (
    WIDTH,
    any_less,
    fabs,
    get,
    get2,
    lean,
    put,
    put2,
    splat,
    sqrt,
    where_less,
    workspace,
)
from mcgta.runtime.types import Array

_STEPS = 30
_HALVINGS = 30
_EPS = 2.220446049250313e-16
_PIVOT = 1e-12  # least pivot of a matrix that counts as positive definite, on the correlation scale
_START = 1e-8  # least pivot of a start
_LARGEST = 40  # features beyond which the Newton system would be too large to solve by elimination


def graphical_lasso(covs: Array, alpha: float, *, in_place: bool = False) -> tuple[Array, Array]:
    """Fit every covariance of a stack, into a new one or ``in_place``.

    Parameters
    ----------
    covs : (B, d, d) empirical covariances, positive semi-definite; a zero on the diagonal marks a constant column,
        which stays at zero and out of the problem
    alpha : the penalty, >= 0; with 0 the covariances come back as they are

    Returns
    -------
    fitted : (B, d, d) regularised covariances; positive definite but for constant columns
    gaps : (B,) the duality gap reached, at most ``GAP`` where converged; see :func:`careful_lasso` for the others
    """
    count, d, _ = covs.shape
    if alpha == 0 or d == 1:
        return (covs if in_place else covs.copy()), np.zeros(count)
    if d > _LARGEST:
        return careful_lasso(covs, alpha)
    covs = native(covs)
    fitted = covs if in_place else np.empty_like(covs)
    gaps = np.empty(count)
    pairs = d * (d - 1) // 2
    room = workspace(d + 10 * d * d + 2 + 2 * pairs + pairs * pairs)
    _fit(covs, float(alpha), fitted, gaps, room, np.zeros((2 * pairs + 1) * WIDTH, dtype=np.int64))
    if not gaps.max(initial=0.0) <= GAP:  # or NaN
        hard = np.flatnonzero(~(gaps <= GAP))
        fitted[hard], gaps[hard] = careful_lasso(covs[hard], alpha)
    return fitted, gaps


@helper
def _factor(B: Any, m: int, low: int, d: int) -> Any:
    """Cholesky factors of the matrices at ``m`` into ``low``, reciprocals on the diagonal; return the least pivots."""
    lean()
    least = splat(1.0)
    for j in range(d):
        pivot = get2(B, m, j, d, j)
        for k in range(j):
            entry = get2(B, low, j, d, k)
            pivot = pivot - entry * entry
        least = where_less(pivot, least, pivot, least)
        scale = 1.0 / sqrt(where_less(pivot, splat(1e-30), splat(1e-30), pivot))
        put2(B, low, j, d, j, scale)
        for i in range(j + 1, d):
            value = get2(B, m, i, d, j)
            for k in range(j):
                value = value - get2(B, low, i, d, k) * get2(B, low, j, d, k)
            put2(B, low, i, d, j, value * scale)
    return least


@helper
def _invert(B: Any, low: int, half: int, inverse: int, d: int) -> None:
    """Inverses, from the factors at ``low``; ``half`` gets the inverses of the factors."""
    lean()
    for j in range(d):
        put2(B, half, j, d, j, get2(B, low, j, d, j))
        for i in range(j + 1, d):
            value = get2(B, low, i, d, j) * get2(B, half, j, d, j)
            for k in range(j + 1, i):
                value = value + get2(B, low, i, d, k) * get2(B, half, k, d, j)
            put2(B, half, i, d, j, 0.0 - value * get2(B, low, i, d, i))
    for i in range(d):
        for j in range(i + 1):
            value = get2(B, half, i, d, i) * get2(B, half, i, d, j)
            for k in range(i + 1, d):
                value = value + get2(B, half, k, d, i) * get2(B, half, k, d, j)
            put2(B, inverse, i, d, j, value)
            put2(B, inverse, j, d, i, value)


@snippet
def _solve(B: Any, h: int, x: int, size: int) -> None:
    """Solve the systems with lower triangle at ``h`` (rows of length ``size``) for the right-hand sides at ``x``."""
    for j in range(size):
        pivot = get2(B, h, j, size, j)
        value = get(B, x, j)
        for k in range(j):
            entry = get2(B, h, j, size, k)
            pivot = pivot - entry * entry
            value = value - entry * get(B, x, k)
        # Scaled to a unit diagonal a pivot at rounding level is a direction of no curvature: leave it be.
        scale = 1.0 / sqrt(where_less(pivot, splat(1e-14), splat(1e-14), pivot))
        put2(B, h, j, size, j, scale)
        put(B, x, j, value * scale)
        for i in range(j + 1, size):
            entry = get2(B, h, i, size, j)
            for k in range(j):
                entry = entry - get2(B, h, i, size, k) * get2(B, h, j, size, k)
            put2(B, h, i, size, j, entry * scale)
    for j in range(size - 1, -1, -1):
        value = get(B, x, j)
        for k in range(j + 1, size):
            value = value - get2(B, h, k, size, j) * get(B, x, k)
        put(B, x, j, value * get2(B, h, j, size, j))


@snippet
def _level_ratio(B: Any, old: int, new: int, d: int) -> Any:
    """det(new) / det(old), from factors with reciprocals on the diagonal."""
    ratio = splat(1.0)
    for k in range(d):
        ratio = ratio * (get2(B, old, k, d, k) / get2(B, new, k, d, k))
    return ratio * ratio


@helper
def _start(B: Any, s: int, bound: int, w: int, low: int, d: int) -> Any:
    """Write a positive definite start within the bounds to ``w``, and its factors to ``low``; return the least pivots.

    It is the soft-thresholded matrix where that is definite, else a point part of the way from S to its diagonal.
    """
    lean()
    towards = splat(1.0)
    for i in range(d):
        put2(B, w, i, d, i, splat(1.0))
        for j in range(i):
            value = get2(B, s, i, d, j)
            limit = get2(B, bound, i, d, j)
            size = fabs(value)
            share = limit / (size + 1e-300)
            towards = where_less(share, towards, share, towards)
            cut = where_less(size, limit, size, limit)
            put2(B, w, i, d, j, value - where_less(value, splat(0.0), 0.0 - cut, cut))
    least = towards
    for attempt in range(2):
        least = _factor(B, w, low, d)
        if attempt == 1 or not any_less(least, splat(_START)):
            break
        for i in range(d):
            for j in range(i):
                at = i * d + j
                part = get(B, s, at) * (1.0 - towards)
                put(B, w, at, where_less(least, splat(_START), part, get(B, w, at)))
    return least


@snippet
def _gaps(B: Any, s: int, bound: int, inverse: int, d: int) -> Any:
    """Duality gaps beyond what rounding of the inverse makes of zero, the trace being about the condition number."""
    gap = splat(-1.0 * d)
    trace = splat(0.0)
    for i in range(d):
        own = get2(B, inverse, i, d, i)
        trace = trace + own
        for j in range(i):
            at = i * d + j
            theta = get(B, inverse, at)
            gap = gap + (get(B, s, at) * theta + get(B, bound, at) * fabs(theta)) * 2.0
    value = fabs(gap + trace) - trace * (4.0 * _EPS * d)
    return where_less(value, splat(0.0), splat(0.0), value)


@helper
def _gradient_step(B: Any, s: int, bound: int, w: int, inverse: int, step: int, room: int, d: int) -> Any:
    """Write the scaled gradient step of every pair to ``step``, and to ``room`` its distance from the bound ahead.

    Both count in bounds; returns how near a bound counts as being at it.
    """
    lean()
    reach = splat(0.0)
    for i in range(d):
        for j in range(i):
            at = i * d + j
            theta = get(B, inverse, at)
            limit = get(B, bound, at)
            shift = get(B, w, at) - get(B, s, at)
            own = get2(B, inverse, i, d, i) * get2(B, inverse, j, d, j)
            move = theta / (own + theta * theta)
            ahead = shift + move
            ahead = where_less(ahead, limit, ahead, limit)
            ahead = where_less(0.0 - limit, ahead, ahead, 0.0 - limit)
            share = fabs(ahead - shift) / limit
            reach = where_less(reach, share, share, reach)
            put(B, step, at, move)
            put(B, room, at, 1.0 - where_less(theta, splat(0.0), 0.0 - shift, shift) / limit)
    return where_less(reach, splat(0.1), reach, splat(0.1))


@helper
def _newton_step(B: Any, inverse: int, step: int, room: int, near: int, h: int, x: int, lists: Any, d: int) -> None:
    """Replace the steps of the free pairs by those of Newton's method.

    A lane lists its own free pairs, those farther than ``near`` from the bound ahead; where it has fewer than another lane
    the system goes on with the identity. ``lists`` holds the number of pairs of each lane, then their rows and columns.
    """
    lean()
    size = 0
    for lane in range(WIDTH):
        found = 0
        if B[near + lane] < 1.0:
            for i in range(d):
                for j in range(i):
                    if B[room + (i * d + j) * WIDTH + lane] > B[near + lane]:
                        at = (1 + 2 * found) * WIDTH + lane
                        lists[at] = i
                        lists[at + WIDTH] = j
                        found += 1
        lists[lane] = found
        if found > size:
            size = found
    table = h + size * WIDTH  # after the scales that make the diagonal one
    for a in range(size):
        for lane in range(WIDTH):
            here = h + a * WIDTH + lane
            row = table + a * size * WIDTH + lane
            listed = a < lists[lane]
            i = lists[(1 + 2 * a) * WIDTH + lane] * WIDTH
            j = lists[(2 + 2 * a) * WIDTH + lane] * WIDTH
            first = inverse + i * d + lane  # row i of the inverse
            second = inverse + j * d + lane
            own = B[first + i] * B[second + j] + B[first + j] * B[first + j]
            B[here] = 1.0 / np.sqrt(own) if listed else 0.0
            B[x + a * WIDTH + lane] = B[first + j] * B[here]
            for b in range(a):
                k = lists[(1 + 2 * b) * WIDTH + lane] * WIDTH
                m = lists[(2 + 2 * b) * WIDTH + lane] * WIDTH
                value = B[first + k] * B[second + m] + B[first + m] * B[second + k]
                B[row + b * WIDTH] = value * B[here] * B[h + b * WIDTH + lane]
            B[row + a * WIDTH] = 1.0
    _solve(B, table, x, size)
    for lane in range(WIDTH):
        for a in range(lists[lane]):
            at = lists[(1 + 2 * a) * WIDTH + lane] * d + lists[(2 + 2 * a) * WIDTH + lane]
            B[step + at * WIDTH + lane] = B[x + a * WIDTH + lane] * B[h + a * WIDTH + lane]


@helper
def _search(
    B: Any, s: int, bound: int, w: int, tried: int, inverse: int, step: int, low: int, trial: int, going: Any, d: int
) -> Any:
    """Go along the step, halved in each lane until log det rises enough; return the largest changes.

    log r >= 1 - 1/r spares the logarithm.
    """
    lean()
    length = going  # those that have converged stand still
    zero = splat(0.0)
    change = zero
    for attempt in range(_HALVINGS):
        promised = zero
        change = zero
        for i in range(d):
            put2(B, tried, i, d, i, splat(1.0))
            for j in range(i):
                at = i * d + j
                centre = get(B, s, at)
                limit = get(B, bound, at)
                here = get(B, w, at)
                there = here + length * get(B, step, at)
                there = where_less(there, centre + limit, there, centre + limit)
                there = where_less(centre - limit, there, there, centre - limit)
                there = where_less(zero, length, there, here)
                move = there - here
                promised = promised + get(B, inverse, at) * move * 2.0
                change = where_less(change, fabs(move), fabs(move), change)
                put(B, tried, at, there)
        least = _factor(B, tried, trial, d)
        ratio = _level_ratio(B, low, trial, d)
        short = promised * 1e-4 - 1e-12 - (1.0 - 1.0 / ratio)
        short = where_less(least, splat(_PIVOT), splat(1.0), short)
        if not any_less(zero, short):
            break
        # Those that found no way up in the end stay where they are.
        shorter = length * (0.5 if attempt < _HALVINGS - 2 else 0.0)
        length = where_less(zero, short, shorter, length)
    return change


@kernel("void(float64[:, :, ::1], float64, float64[:, :, ::1], float64[::1], float64[::1], int64[::1])")
def _fit(covs: Any, alpha: float, fitted: Any, gaps: Any, B: Any, lists: Any) -> None:
    """Fit all covariances; gaps above ``GAP`` or NaN mark those that did not converge."""
    lean()
    count, d, _ = covs.shape
    matrix = d * d * WIDTH
    most = d * (d - 1) // 2
    scale = 0
    s = d * WIDTH
    bound = s + matrix
    w = s + 2 * matrix
    tried = s + 3 * matrix
    low = s + 4 * matrix
    trial = s + 5 * matrix
    half = s + 6 * matrix
    inverse = s + 7 * matrix
    step = s + 8 * matrix
    room = s + 9 * matrix
    near = s + 10 * matrix
    state = s + 10 * matrix + WIDTH
    x = state + WIDTH
    h = x + most * WIDTH
    for first in range(0, count, WIDTH):
        lanes = min(WIDTH, count - first)
        for lane in range(WIDTH):
            row = min(first + lane, count - 1)
            for i in range(d):
                variance = covs[row, i, i]
                B[scale + i * WIDTH + lane] = np.sqrt(variance) if variance > 0.0 else 1.0
            for i in range(d):
                for j in range(i + 1):
                    product = B[scale + i * WIDTH + lane] * B[scale + j * WIDTH + lane]
                    at = (i * d + j) * WIDTH + lane
                    B[s + at] = covs[row, i, j] / product if i != j else 1.0
                    B[bound + at] = alpha / product
        least = _start(B, s, bound, w, low, d)
        going = where_less(least, splat(_PIVOT), splat(0.0), splat(1.0))
        reached = splat(1e300)
        for _ in range(_STEPS):
            _invert(B, low, half, inverse, d)
            reached = where_less(splat(0.5), going, _gaps(B, s, bound, inverse, d), reached)
            going = where_less(splat(GAP), reached, going, splat(0.0))
            if not any_less(splat(0.5), going):
                break
            within = _gradient_step(B, s, bound, w, inverse, step, room, d)
            put(B, near, 0, where_less(splat(0.5), going, within, splat(1.0)))
            _newton_step(B, inverse, step, room, near, h, x, lists, d)
            change = _search(B, s, bound, w, tried, inverse, step, low, trial, going, d)
            w, tried = tried, w
            low, trial = trial, low
            # What moves no more without having converged is for others.
            going = where_less(change, splat(1e-15), splat(0.0), going)
        put(B, state, 0, reached)
        for lane in range(lanes):
            row = first + lane
            gaps[row] = B[state + lane]
            settled = gaps[row] <= GAP  # the others stay as they came
            for i in range(d):
                fitted[row, i, i] = covs[row, i, i]
                for j in range(i):
                    value = covs[row, i, j]
                    if settled:
                        value = B[w + (i * d + j) * WIDTH + lane]
                        value *= B[scale + i * WIDTH + lane] * B[scale + j * WIDTH + lane]
                    fitted[row, i, j] = value
                    fitted[row, j, i] = value
