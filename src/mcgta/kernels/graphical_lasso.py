"""Graphical lasso for a stack of small covariances, by projected Newton on the dual.

Primal (Friedman, Hastie and Tibshirani 2008; the diagonal is not penalised):

    minimise over Theta > 0:   -log det Theta + tr(S Theta) + alpha * sum_{i != j} |Theta_ij|

Dual: maximise log det(S + U) subject to |U_ij| <= alpha off the diagonal and U_ii = 0; the covariance is S + U and
Theta its inverse. For Theta = (S + U)^-1 the duality gap is tr(S Theta) - d + alpha * sum_{i != j} |Theta_ij|.

The dual keeps every iterate positive definite, has box constraints only, and needs a handful of Newton steps whatever
the conditioning: block coordinate descent on the primal runs to a thousand iterations on nearly singular windows.
Work is done on the correlation scale, where the penalties become alpha / (s_i s_j) and the gap is unchanged.
"""

from __future__ import annotations

import numpy as np

from mcgta.types import Array, Index

GAP = 1e-9
"""The duality gap, in nats, at which a fit counts as converged."""

_MAX_STEPS = 200
_MAX_HALVINGS = 50
_HESSIAN_BYTES = 64 * 2**20


def graphical_lasso(covs: Array, alpha: float) -> tuple[Array, Array]:
    """Fit every covariance of a stack.

    Parameters
    ----------
    covs : (B, d, d) empirical covariances, positive semi-definite; a zero on the diagonal marks a constant column,
        which stays at zero and out of the problem
    alpha : the penalty, >= 0; with 0 the covariances come back as they are

    Returns
    -------
    fitted : (B, d, d) regularised covariances; positive definite but for constant columns
    gaps : (B,) the duality gap reached; NaN where the matrix could not be started
    """
    count, d, _ = covs.shape
    if alpha == 0 or d == 1:
        return covs.copy(), np.zeros(count)
    fitted = np.empty_like(covs)
    gaps = np.empty(count)
    pairs = d * (d - 1) // 2
    step = max(1, _HESSIAN_BYTES // (8 * pairs * pairs))
    for start in range(0, count, step):
        stop = min(count, start + step)
        fitted[start:stop], gaps[start:stop] = _solve(covs[start:stop], alpha)
    return fitted, gaps


def _solve(covs: Array, alpha: float) -> tuple[Array, Array]:
    count, d, _ = covs.shape
    variance = np.diagonal(covs, axis1=1, axis2=2)
    varies = variance > 0
    scale = np.sqrt(np.where(varies, variance, 1.0))
    outer = scale[:, :, None] * scale[:, None, :]
    corr = covs / outer
    row, col = np.triu_indices(d, 1)
    index = np.arange(d)
    corr[:, index, index] = 1.0
    target = corr[:, row, col]
    bound = alpha / outer[:, row, col]

    # A feasible positive definite start: the soft-thresholded matrix where that is definite, else a step from S
    # towards its diagonal.
    shift = -np.clip(target, -bound, bound)
    definite = np.linalg.eigvalsh(_fill(target + shift, d))[:, 0] > 1e-8
    with np.errstate(divide="ignore"):
        towards = np.minimum(np.where(target == 0, np.inf, bound / np.abs(target)).min(axis=1), 1.0)
    shift = np.where(definite[:, None], shift, -towards[:, None] * target)

    gaps = np.full(count, np.nan)
    values = target + shift
    active = np.arange(count)
    for _ in range(_MAX_STEPS):
        here = _fill(values[active], d)
        precision = np.linalg.inv(here)
        theta = precision[:, row, col]
        trace = np.trace(precision, axis1=1, axis2=2) + 2 * (target[active] * theta).sum(axis=1)
        gaps[active] = trace - d + 2 * (bound[active] * np.abs(theta)).sum(axis=1)
        going = ~(np.abs(gaps[active]) <= GAP)
        if not going.any():
            break
        active, precision, theta = active[going], precision[going], theta[going]
        moved = _newton_step(values[active], target[active], bound[active], precision, theta, row, col)
        stalled = np.all(moved == values[active], axis=1)
        values[active] = moved
        active = active[~stalled]
        if active.size == 0:
            break

    fitted = _fill(values, d) * outer
    fitted[:, index, index] = variance
    return fitted, gaps


def _newton_step(
    values: Array,
    target: Array,
    bound: Array,
    precision: Array,
    theta: Array,
    row: Index,
    col: Index,
) -> Array:
    """One projected Newton step with Armijo backtracking, for each problem on its own."""
    d = precision.shape[1]
    slack = 1e-12 * bound
    shift = values - target
    fixed = ((shift >= bound - slack) & (theta >= 0)) | ((shift <= -bound + slack) & (theta <= 0))
    gradient = np.where(fixed, 0.0, theta)
    # Second derivative of log det in the pairs (i,j), (k,l): T_ik T_jl + T_il T_jk, each pair counted once.
    hessian = precision[:, row[:, None], row[None, :]] * precision[:, col[:, None], col[None, :]]
    hessian += precision[:, row[:, None], col[None, :]] * precision[:, col[:, None], row[None, :]]
    free = ~fixed
    hessian *= free[:, :, None] & free[:, None, :]
    diagonal = np.arange(row.size)
    hessian[:, diagonal, diagonal] += fixed
    direction = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]

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
        promised = 2 * (gradient[open_] * (tried - values[open_])).sum(axis=1)
        enough = reached >= level[open_] + 1e-4 * promised - 1e-13 * (1 + np.abs(level[open_]))
        out[open_[enough]] = tried[enough]
        open_ = open_[~enough]
        if open_.size == 0:
            break
        step[open_] *= 0.5
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
