"""Graphical lasso for the hard cases of its compiled form: the same method with NumPy, and more patience.

Solves many problems by array operations, each at its own pace, with eigenvalues instead of pivots to tell what is positive
definite, a ridge at rounding level in the Newton system, and conjugate gradients where there are many features. It takes
much longer than the compiled form, and gets through where that stops. The mathematics is stated there.
"""

from __future__ import annotations

import contextlib

import numpy as np

from mcgta.runtime.types import Array, Index, Mask

GAP = 1e-9
"""The duality gap, in nats, at which a fit counts as converged."""

_ROUNDING = 1e-13  # the change of a correlation below which another step is of no use
_MAX_STEPS = 200
_MAX_HALVINGS = 50
_DIRECT = 12  # features up to which the Newton system is solved by elimination
_CG_STEPS = 200
_CG_TOLERANCE = 1e-20
_BATCH_BYTES = 64 * 2**20


def careful_lasso(covs: Array, alpha: float) -> tuple[Array, Array]:
    """Fit every covariance of a stack.

    Parameters
    ----------
    covs : (B, d, d) empirical covariances, positive semi-definite; a zero on the diagonal marks a constant column,
        which stays at zero and out of the problem
    alpha : the penalty, >= 0; with 0 the covariances come back as they are

    Returns
    -------
    fitted : (B, d, d) regularised covariances; positive definite but for constant columns
    gaps : (B,) the duality gap reached, beyond what rounding makes of zero; NaN where the matrix is singular to rounding.
        For singular S and tiny alpha the gap is a difference of huge numbers and cannot become small; yet every entry is
        within 2 alpha of the solution's, since both lie in the dual's box
    """
    count, d, _ = covs.shape
    if alpha == 0 or d == 1:
        return covs.copy(), np.zeros(count)
    fitted = np.empty_like(covs)
    gaps = np.empty(count)
    pairs = d * (d - 1) // 2
    step = max(1, _BATCH_BYTES // (8 * (pairs * pairs if d <= _DIRECT else 16 * pairs)))
    for start in range(0, count, step):
        stop = min(count, start + step)
        with np.errstate(all="ignore"):  # what is singular to rounding shows in the gap
            fitted[start:stop], gaps[start:stop] = _solve(covs[start:stop], alpha)
    return fitted, gaps


def _solve(covs: Array, alpha: float) -> tuple[Array, Array]:
    count, d, _ = covs.shape
    variance = np.diagonal(covs, axis1=1, axis2=2)
    scale = np.sqrt(np.where(variance > 0, variance, 1.0))
    outer = scale[:, :, None] * scale[:, None, :]
    corr = covs / outer
    row, col = np.triu_indices(d, 1)
    index = np.arange(d)
    corr[:, index, index] = 1.0
    target = corr[:, row, col]
    bound = alpha / outer[:, row, col]

    values = _feasible(target, bound, d)
    active = np.arange(count)
    for _ in range(_MAX_STEPS):
        precision = _invert(_fill(values[active], d))
        theta = precision[:, row, col]
        gap = _gaps(precision, theta, target[active], bound[active])
        going = ~(gap <= GAP) & np.isfinite(gap)
        active = active[going]
        precision = precision[going]
        theta = theta[going]
        if active.size == 0:
            break
        moved = _newton_step(values[active], target[active], bound[active], precision, theta, row, col)
        settled = np.abs(moved - values[active]).max(axis=1) <= _ROUNDING
        values[active] = moved
        active = active[~settled]
        if active.size == 0:
            break

    matrices = _fill(values, d)
    precision = _invert(matrices)
    gaps = _gaps(precision, precision[:, row, col], target, bound)
    gaps[np.linalg.eigvalsh(matrices)[:, 0] <= d * np.finfo(float).eps] = np.nan
    fitted = matrices * outer
    fitted[:, index, index] = variance
    return fitted, gaps


def _gaps(precision: Array, theta: Array, target: Array, bound: Array) -> Array:
    """Duality gaps beyond what rounding of the inverse makes of zero, its trace being about the condition number."""
    d = precision.shape[1]
    trace = np.trace(precision, axis1=1, axis2=2)
    gap = np.abs(trace + 2 * (target * theta).sum(axis=1) - d + 2 * (bound * np.abs(theta)).sum(axis=1))
    return np.maximum(gap - 4 * np.finfo(float).eps * d * trace, 0.0)


def _feasible(target: Array, bound: Array, d: int) -> Array:
    """Return a positive definite start within the bounds.

    It is the soft-thresholded matrix where that is definite, else a point part of the way from S to its diagonal.
    """
    shift = -np.clip(target, -bound, bound)
    definite = np.linalg.eigvalsh(_fill(target + shift, d))[:, 0] > 1e-8
    with np.errstate(divide="ignore"):
        towards = np.minimum(np.where(target == 0, np.inf, bound / np.abs(target)).min(axis=1), 1.0)
    return target + np.where(definite[:, None], shift, -towards[:, None] * target)


def _newton_step(
    values: Array, target: Array, bound: Array, precision: Array, theta: Array, row: Index, col: Index
) -> Array:
    """One projected Newton step with Armijo backtracking, for each problem on its own.

    Entries near a bound that the gradient pushes further are left out of the Newton system and take a scaled gradient
    step (Bertsekas 1982): clipping a Newton step that runs into a bound need not be an ascent.
    """
    d = precision.shape[1]
    shift = values - target
    variances = np.diagonal(precision, axis1=1, axis2=2)
    curvature = variances[:, row] * variances[:, col] + theta**2
    gradient_step = theta / curvature
    moved = np.clip(shift + gradient_step, -bound, bound) - shift
    near = np.minimum(0.1, (np.abs(moved) / bound).max(axis=1))[:, None] * bound
    fixed = ((shift >= bound - near) & (theta > 0)) | ((shift <= -bound + near) & (theta < 0))
    solve = _newton_direct if d <= _DIRECT else _newton_iterative
    newton = solve(precision, curvature, np.where(fixed, 0.0, theta), ~fixed, row, col)
    direction = np.nan_to_num(np.where(fixed, gradient_step, newton), nan=0.0, posinf=0.0, neginf=0.0)

    level = -np.linalg.slogdet(precision)[1]
    step = np.ones(values.shape[0])
    out = values.copy()
    open_ = np.arange(values.shape[0])
    for _ in range(_MAX_HALVINGS):
        tried = values[open_] + step[open_, None] * direction[open_]
        tried = np.clip(tried, target[open_] - bound[open_], target[open_] + bound[open_])
        spectrum = np.linalg.eigvalsh(_fill(tried, d))
        with np.errstate(invalid="ignore", divide="ignore"):
            reached = np.where(spectrum[:, 0] > 0, np.log(np.maximum(spectrum, 0.0)).sum(axis=1), -np.inf)
        promised = 2 * (theta[open_] * (tried - values[open_])).sum(axis=1)
        enough = reached >= level[open_] + 1e-4 * promised - 1e-13 * (1 + np.abs(level[open_]))
        out[open_[enough]] = tried[enough]
        open_ = open_[~enough]
        if open_.size == 0:
            break
        step[open_] *= 0.5
    return out


def _newton_direct(precision: Array, curvature: Array, gradient: Array, free: Mask, row: Index, col: Index) -> Array:
    """Solve the Newton system among the free pairs by elimination.

    The second derivative of log det in the pairs (i,j), (k,l) is T_ik T_jl + T_il T_jk, each pair counted once. Scaled to a
    unit diagonal, with a ridge at rounding level, the system is never exactly singular.
    """
    hessian = precision[:, row[:, None], row[None, :]] * precision[:, col[:, None], col[None, :]]
    hessian += precision[:, row[:, None], col[None, :]] * precision[:, col[:, None], row[None, :]]
    root = np.sqrt(curvature)
    hessian *= free[:, :, None] & free[:, None, :]
    hessian /= root[:, :, None] * root[:, None, :]
    every = np.arange(row.size)
    hessian[:, every, every] = 1.0 + 1e-14
    return np.linalg.solve(hessian, (gradient / root)[:, :, None])[:, :, 0] / root


def _newton_iterative(precision: Array, curvature: Array, gradient: Array, free: Mask, row: Index, col: Index) -> Array:
    """Solve the same system by conjugate gradients, for many features: its product with X is T X T, pair by pair."""
    d = precision.shape[1]

    def times(x: Array) -> Array:
        full = np.zeros((x.shape[0], d, d))
        full[:, row, col] = x
        full[:, col, row] = x
        return np.where(free, (precision @ full @ precision)[:, row, col], 0.0)

    x = np.zeros_like(gradient)
    residual = gradient.copy()
    along = residual / curvature
    size = (residual * along).sum(axis=1)
    goal = _CG_TOLERANCE * size
    for _ in range(_CG_STEPS):
        product = times(along)
        bend = (along * product).sum(axis=1)
        going = (bend > 0) & (size > goal)  # those that have arrived stand still, whatever the others do
        step = np.divide(size, bend, out=np.zeros_like(size), where=going)[:, None]
        x += step * along
        residual -= step * product
        scaled = residual / curvature
        new = (residual * scaled).sum(axis=1)
        if np.all(new <= goal):
            break
        along = scaled + np.divide(new, size, out=np.zeros_like(size), where=size > 0)[:, None] * along
        size = new
    return x


def _invert(stack: Array) -> Array:
    """Invert each matrix; NaN for one that is singular, without harm to the others."""
    try:
        return np.linalg.inv(stack)
    except np.linalg.LinAlgError:
        out = np.full(stack.shape, np.nan)
        for k, matrix in enumerate(stack):
            with contextlib.suppress(np.linalg.LinAlgError):
                out[k] = np.linalg.inv(matrix)
        return out


def _fill(values: Array, d: int) -> Array:
    """Correlation matrices from their strict upper triangles."""
    row, col = np.triu_indices(d, 1)
    out = np.empty((values.shape[0], d, d))
    out[:, row, col] = values
    out[:, col, row] = values
    index = np.arange(d)
    out[:, index, index] = 1.0
    return out
