"""Block-Toeplitz graphical lasso for many small covariances, by Newton steps with the penalty kept.

A row stacks w observations of d features, the blocks. A precision Theta (w d x w d) is block Toeplitz if its d x d block of
blocks a and b depends on b - a alone (Hallac et al. 2017). Each problem is::

    minimise over Theta > 0, symmetric and block Toeplitz:   -log det Theta + tr(S Theta) + alpha * sum_{i != j} |Theta_ij|

The diagonal is not penalised, as in :mod:`mcgta.kernels.gaussians.graphical_lasso`, which this is for one block. Entries that
the structure makes equal are one parameter, and S counts by its averages over the entries of each. With W = Theta^-1, its
averages w_p, those s_p of S, and m_p entries of parameter p, the gradient is m_p (s_p - w_p), and the second derivative in p
and q is tr(E_p W E_q W), E_p being the matrix with ones at the entries of p.

A step (Lee, Sun and Saunders 2014): the quadratic model of -log det, with the penalty as it is, is minimised, and the way
there is halved until the objective falls enough; see :mod:`mcgta.kernels.gaussians.penalised_quadratic`.

Clipping the averages of W - S to the penalty gives a point of the dual problem, V = W + clipped - unclipped. Where it is
positive definite log det V + w d is a lower bound of the minimum, and the objective minus this bound is the duality gap.
Work is done in units in which each feature's variance, averaged over the blocks, is 1. Every problem begins at the identity and
does not see the others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mcgta.kernels.gaussians.careful_lasso import GAP
from mcgta.kernels.gaussians.penalised_quadratic import minimise_penalised
from mcgta.kernels.simd.compiled import helper, kernel, native
from mcgta.runtime.types import Array, Index

_STEPS = 60
_HALVINGS = 40
_EPS = 2.220446049250313e-16
_SUFFICIENT = 1e-4  # share of the promised decrease that a step has to keep
_ROUNDING = 1e-13  # of the sum of the objective's terms


class Structure(NamedTuple):
    """Which entries of a symmetric block-Toeplitz matrix of size n = w d are one of P parameters.

    Attributes
    ----------
    parameter : (n, n) number of each entry's parameter
    rows, columns : (n^2,) entries in the order of their parameters
    starts : (P + 1,) where each parameter's entries begin in these
    penalised : (P,) 1 for those off the diagonal, 0 for those on it
    """

    parameter: Index
    rows: Index
    columns: Index
    starts: Index
    penalised: Array


@lru_cache(maxsize=32)
def block_toeplitz_structure(blocks: int, d: int) -> Structure:
    """Return the structure of matrices of so many blocks of d features."""
    block, feature = np.divmod(np.arange(blocks * d), d)
    lag = block[None, :] - block[:, None]
    first, second = np.broadcast_arrays(feature[:, None], feature[None, :])
    # An entry below the diagonal blocks has the name of its mirror entry, and so has one half of the diagonal blocks.
    mirrored = (lag < 0) | ((lag == 0) & (first > second))
    name = (np.abs(lag) * d + np.where(mirrored, second, first)) * d + np.where(mirrored, first, second)
    _, parameter, sizes = np.unique(name, return_inverse=True, return_counts=True)
    parameter = parameter.reshape(name.shape).astype(np.int64)
    rows, columns = np.divmod(np.argsort(parameter, axis=None, kind="stable").astype(np.int64), blocks * d)
    penalised = np.ones(sizes.size)
    penalised[np.diagonal(parameter)] = 0.0
    return Structure(parameter, rows, columns, np.r_[0, np.cumsum(sizes)].astype(np.int64), penalised)


def block_toeplitz_lasso(covs: Array, alpha: float, blocks: int) -> tuple[Array, Array]:
    """Fit every covariance of a stack.

    Parameters
    ----------
    covs : (B, w d, w d) empirical covariances, positive semi-definite; a feature whose variance is zero in all blocks is
        constant, and stays at zero and out of the problem
    alpha : the penalty, > 0
    blocks : w

    Returns
    -------
    fitted : (B, w d, w d) inverses of the block-Toeplitz precisions; positive definite but for constant features
    gaps : (B,) the duality gap reached, in nats, beyond what rounding makes of zero; at most ``GAP`` where converged
    """
    count, size, _ = covs.shape
    if blocks < 1 or size % blocks:
        raise ValueError(f"blocks={blocks} does not divide the {size} rows of the covariances")
    form = block_toeplitz_structure(blocks, size // blocks)
    fitted = np.empty((count, size, size))
    gaps = np.empty(count)
    _fit(
        native(covs),
        float(alpha),
        native(form.parameter, np.int64),
        native(form.rows, np.int64),
        native(form.columns, np.int64),
        native(form.starts, np.int64),
        native(form.penalised),
        fitted,
        gaps,
    )
    return fitted, gaps


@helper
def _factor(matrix: Any, low: Any) -> float:
    """Write the Cholesky factor to ``low`` and return the log determinant; -inf where the matrix is not definite."""
    n = matrix.shape[0]
    level = 0.0
    for j in range(n):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= low[j, k] * low[j, k]
        if not pivot > 4.0 * _EPS * abs(matrix[j, j]):
            return -np.inf
        level += np.log(pivot)
        low[j, j] = np.sqrt(pivot)
        scale = 1.0 / low[j, j]
        for i in range(j + 1, n):
            value = matrix[i, j]
            for k in range(j):
                value -= low[i, k] * low[j, k]
            low[i, j] = value * scale
    return level


@helper
def _invert(low: Any, half: Any, inverse: Any) -> None:
    """Write the inverse of low low^T to ``inverse``; ``half`` gets the inverse of ``low``."""
    n = low.shape[0]
    for j in range(n):
        half[j, j] = 1.0 / low[j, j]
        for i in range(j + 1, n):
            value = 0.0
            for k in range(j, i):
                value += low[i, k] * half[k, j]
            half[i, j] = -value / low[i, i]
    for i in range(n):
        for j in range(i + 1):
            value = 0.0
            for k in range(i, n):
                value += half[k, i] * half[k, j]
            inverse[i, j] = value
            inverse[j, i] = value


@helper
def _average(matrix: Any, rows: Any, columns: Any, starts: Any, averages: Any) -> None:
    """Write the averages of a symmetric matrix over the entries of each parameter."""
    for p in range(averages.size):
        total = 0.0
        for at in range(starts[p], starts[p + 1]):
            total += matrix[rows[at], columns[at]]
        averages[p] = total / (starts[p + 1] - starts[p])


@helper
def _spread(values: Any, parameter: Any, matrix: Any) -> None:
    """Write the block-Toeplitz matrix of some parameters."""
    n = matrix.shape[0]
    for i in range(n):
        for j in range(n):
            matrix[i, j] = values[parameter[i, j]]


@helper
def _objective(values: Any, target: Any, penalty: Any, starts: Any, level: float) -> float:
    """Objective of parameters whose matrix has the log determinant ``level``."""
    total = -level
    for p in range(values.size):
        total += (starts[p + 1] - starts[p]) * (target[p] * values[p] + penalty[p] * abs(values[p]))
    return total


@helper
def _second_derivatives(inverse: Any, rows: Any, columns: Any, starts: Any, hessian: Any, product: Any) -> None:
    """Write the second derivatives of -log det in all pairs of parameters."""
    n = inverse.shape[0]
    number = hessian.shape[0]
    for q in range(number):
        product[:, :] = 0.0
        for at in range(starts[q], starts[q + 1]):
            left = inverse[rows[at]]
            right = inverse[columns[at]]
            for i in range(n):
                factor = left[i]
                for j in range(n):
                    product[i, j] += factor * right[j]
        for p in range(q, number):
            total = 0.0
            for at in range(starts[p], starts[p + 1]):
                total += product[rows[at], columns[at]]
            hessian[p, q] = total
            hessian[q, p] = total


@helper
def _gap(objective: float, values: Any, problem: Any, inverse: Any, parameter: Any, room: Any) -> float:
    """Duality gap beyond what rounding makes of zero, the trace being about the condition number; inf where it is not known."""
    target, penalty, averages = problem
    bound_matrix, low = room
    n = inverse.shape[0]
    trace = 0.0
    for i in range(n):
        trace += values[parameter[i, i]]
        for j in range(i + 1):
            p = parameter[i, j]
            apart = averages[p] - target[p]
            bound_matrix[i, j] = inverse[i, j] + min(max(apart, -penalty[p]), penalty[p]) - apart
    level = _factor(bound_matrix, low)
    if level == -np.inf:
        return np.inf
    return max(abs(objective - level - n) - 4.0 * _EPS * n * trace, 0.0)


@helper
def _search(
    values: Any, goal: Any, promised: float, objective: float, problem: Any, parameter: Any, tried: Any, room: Any
) -> float:
    """Go towards ``goal``, half as far each time until the objective falls enough; return the log determinant there.

    -inf says that it falls nowhere on the way.
    """
    target, penalty, starts = problem
    matrix, low = room
    length = 1.0
    rounding = 1.0
    for p in range(values.size):
        rounding += (starts[p + 1] - starts[p]) * (abs(target[p]) + penalty[p]) * abs(values[p])
    rounding *= _ROUNDING
    for _ in range(_HALVINGS):
        for p in range(values.size):
            tried[p] = goal[p] if length == 1.0 else values[p] + length * (goal[p] - values[p])
        _spread(tried, parameter, matrix)
        level = _factor(matrix, low)
        if level > -np.inf:
            reached = _objective(tried, target, penalty, starts, level)
            if reached <= objective + _SUFFICIENT * length * promised + rounding:
                return level
        length *= 0.5
    return -np.inf


@kernel(
    "void(float64[:, :, ::1], float64, int64[:, ::1], int64[::1], int64[::1], int64[::1], float64[::1], float64[:, :, ::1],"
    " float64[::1])"
)
def _fit(
    covs: Any,
    alpha: float,
    parameter: Any,
    rows: Any,
    columns: Any,
    starts: Any,
    penalised: Any,
    fitted: Any,
    gaps: Any,
) -> None:
    """Fit all covariances; gaps above ``GAP`` mark those that did not converge."""
    count, n, _ = covs.shape
    number = penalised.size
    scale = np.empty(n)
    target = np.empty(number)
    penalty = np.empty(number)
    values = np.empty(number)
    tried = np.empty(number)
    goal = np.empty(number)
    averages = np.empty(number)
    residual = np.empty(number)
    held = np.empty(number)
    vectors = np.empty((3, number))
    listed = np.empty(number, dtype=np.int64)
    hessian = np.empty((number, number))
    system = np.empty((number, number))
    matrix = np.empty((n, n))
    low = np.empty((n, n))
    half = np.empty((n, n))
    inverse = np.empty((n, n))
    product = np.empty((n, n))
    for row in range(count):
        _average(covs[row], rows, columns, starts, target)
        for i in range(n):
            variance = target[parameter[i, i]]
            scale[i] = np.sqrt(variance) if variance > 0.0 else 0.0
        for p in range(number):
            one = scale[rows[starts[p]]]
            two = scale[columns[starts[p]]]
            varies = one > 0.0 and two > 0.0
            on_diagonal = penalised[p] == 0.0
            values[p] = 1.0 if on_diagonal else 0.0
            target[p] = target[p] / (one * two) if varies and not on_diagonal else values[p]
            penalty[p] = alpha * penalised[p] / (one * two) if varies else penalised[p]
        level = 0.0  # of the identity
        _spread(values, parameter, matrix)
        _factor(matrix, low)
        reached = np.inf
        for _ in range(_STEPS):
            _invert(low, half, inverse)
            _average(inverse, rows, columns, starts, averages)
            objective = _objective(values, target, penalty, starts, level)
            reached = _gap(objective, values, (target, penalty, averages), inverse, parameter, (matrix, product))
            if reached <= GAP:
                break
            _second_derivatives(inverse, rows, columns, starts, hessian, product)
            for p in range(number):
                residual[p] = (starts[p + 1] - starts[p]) * (target[p] - averages[p])
                held[p] = (starts[p + 1] - starts[p]) * penalty[p]
                goal[p] = values[p]
                tried[p] = residual[p]
            minimise_penalised(hessian, held, goal, residual, system, listed, vectors)
            promised = 0.0
            for p in range(number):
                promised += tried[p] * (goal[p] - values[p]) + held[p] * (abs(goal[p]) - abs(values[p]))
            level = _search(
                values, goal, promised, objective, (target, penalty, starts), parameter, tried, (matrix, low)
            )
            if level == -np.inf:
                break
            values[:] = tried
        gaps[row] = reached
        for i in range(n):
            for j in range(n):
                fitted[row, i, j] = inverse[i, j] * (scale[i] * scale[j])
