"""Block-Toeplitz graphical lasso by ADMM, many problems at a time (Hallac et al. 2017, section 4.2).

A row stacks w observations of d features, the blocks; a precision Theta (w d x w d) is block Toeplitz if the d x d block of
blocks a and b depends on b - a alone. Each problem of a stack is::

    minimise over Theta > 0, symmetric and block Toeplitz:   -log det Theta + tr(S Theta) + lambda * sum_ij |Theta_ij|

The sum runs over all entries, the diagonal among them, as in the code of TICC; so with lambda > 0 there is a solution whatever
S is. Entries that the structure makes equal are one parameter.

ADMM takes turns between a dense X, found from eigenvalues, and a Toeplitz Z, found by averaging entries of one parameter and
shrinking the average towards 0; Y is the dual variable of X = Z. After each turn the averages of Y lie within lambda. So for
every block-Toeplitz Theta tr(Y Theta) is at most the penalty of Theta, and log det(S + Y) + w d is a lower bound of the
minimum. The objective at Z minus this bound is the duality gap. A problem stops when it is small: unlike the residuals it has a
unit, nats, and says how much there is still to gain.

Work is done in units in which each feature's penalised variance is 1, the same for all blocks, which keeps the structure and
turns lambda into lambda / (s_i s_j). Problems do not see each other: each has its own step size and stops by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mcgta.runtime.types import Array, Index, Mask

GAP = 1e-7
"""The duality gap, in nats for each of the w d coordinates, at which a problem counts as solved."""

_MAX_TURNS = 2000
_CHECK = 5  # turns between looks at the gap
_RELAXED = 1.6  # over-relaxation; 1 is plain ADMM, and all below 2 converge
_BALANCE_UNTIL = 500  # turns during which the step size may change; ADMM converges for a fixed one
_SEGMENT = np.concatenate([[0.0], 2.0 ** np.arange(-40.0, 1.0)])
_EPS = np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class ToeplitzFit:
    """Solutions of B problems.

    Attributes
    ----------
    precisions : (B, w d, w d) exactly symmetric, exactly block Toeplitz, positive definite
    objectives : (B,) the objective of these very matrices
    gaps : (B,) by how much they can exceed the minimum, at most; in nats
    iterations : (B,) turns taken
    converged : (B,) whether the gap is small enough
    """

    precisions: Array
    objectives: Array
    gaps: Array
    iterations: Index
    converged: Mask


def toeplitz_lasso(
    covariances: Array,
    penalties: Array,
    width: int,
    *,
    start: Array | None = None,
    gap: float = GAP,
    max_iter: int = _MAX_TURNS,
) -> ToeplitzFit:
    """Solve a stack of problems.

    Parameters
    ----------
    covariances : (B, w d, w d) empirical covariances S, positive semi-definite
    penalties : (B,) lambda of each problem, > 0
    width : w, the number of blocks
    start : (B, w d, w d) positive definite block-Toeplitz precisions to start from; diagonal ones by default
    gap : duality gap for each of the w d coordinates at which to stop
    max_iter : the most turns
    """
    count, size, _ = covariances.shape
    if width < 1 or size % width:
        raise ValueError(f"width={width} does not divide the {size} rows of the covariances")
    penalties = np.asarray(penalties, dtype=float)
    if penalties.shape != (count,) or not (penalties > 0).all():
        raise ValueError(f"penalties={penalties} must be {count} numbers > 0, one for each covariance")
    form = _structure(width, size // width)
    scale = _scales(covariances, penalties, width)
    outer = scale[:, :, None] * scale[:, None, :]
    units = outer.reshape(count, -1)[:, form.first]
    run = _alternate(
        covariances / outer,
        penalties[:, None] / units,
        form,
        np.broadcast_to(np.eye(size), outer.shape) if start is None else start * outer,
        gap * size,
        max_iter,
    )
    precisions = (run.values / units)[:, form.parameter]
    objectives = lasso_objectives(covariances, penalties, precisions)
    gaps = np.maximum(objectives - run.bound - 2 * np.log(scale).sum(axis=1), 0.0)
    return ToeplitzFit(
        precisions=precisions,
        objectives=objectives,
        gaps=gaps,
        iterations=run.turns,
        converged=gaps <= gap * size + 64 * _EPS * np.abs(objectives),
    )


def lasso_objectives(covariances: Array, penalties: Array, precisions: Array) -> Array:
    """Return (B,) objectives at some precisions; infinite where they are not positive definite."""
    fit = np.einsum("bij,bij->b", covariances, precisions)
    return np.asarray(fit - _log_det(precisions) + penalties * np.abs(precisions).sum(axis=(1, 2)))


@dataclass(frozen=True, eq=False)
class _Structure:
    """Which entries of a symmetric block-Toeplitz matrix are one parameter.

    Attributes
    ----------
    parameter : (w d, w d) number of each entry's parameter
    order : entries, flat, in the order of their parameters
    starts : (P,) where each parameter's entries begin in ``order``
    first : (P,) one entry of each parameter, flat
    sizes : (P,) entries of each parameter
    """

    parameter: Index
    order: Index
    starts: Index
    first: Index
    sizes: Array

    def average(self, matrices: Array) -> Array:
        """Average (B, P) of the entries of each parameter."""
        flat = matrices.reshape(len(matrices), -1)[:, self.order]
        return np.asarray(np.add.reduceat(flat, self.starts, axis=1) / self.sizes)


@lru_cache(maxsize=32)
def _structure(width: int, d: int) -> _Structure:
    block, feature = np.divmod(np.arange(width * d), d)
    lag = block[None, :] - block[:, None]
    low, high = np.broadcast_arrays(feature[:, None], feature[None, :])
    # Above the diagonal blocks the first feature is that of the earlier block; below, and within a block, the mirror entry
    # has the same name.
    turned = (lag < 0) | ((lag == 0) & (low > high))
    name = (np.abs(lag) * d + np.where(turned, high, low)) * d + np.where(turned, low, high)
    _, first, parameter, sizes = np.unique(name, return_index=True, return_inverse=True, return_counts=True)
    parameter = parameter.reshape(name.shape)
    order = np.argsort(parameter, axis=None, kind="stable")
    return _Structure(parameter, order, np.cumsum(sizes) - sizes, first, sizes.astype(float))


def _scales(covariances: Array, penalties: Array, width: int) -> Array:
    """Root (B, w d) of each feature's variance plus lambda, averaged over blocks: 1/s^2 is its precision if all else is 0."""
    variance = np.diagonal(covariances, axis1=1, axis2=2).reshape(len(covariances), width, -1)
    return np.asarray(np.tile(np.sqrt(variance.mean(axis=1) + penalties[:, None]), (1, width)))


@dataclass(frozen=True, eq=False)
class _Run:
    """Where ADMM ended: parameters (B, P) of positive definite solutions, lower bounds and turns (B,)."""

    values: Array
    bound: Array
    turns: Index


def _alternate(S: Array, weights: Array, form: _Structure, start: Array, gap: float, max_iter: int) -> _Run:
    """Run ADMM in scaled units, ``weights`` (B, P) being the penalty of each parameter's entries."""
    count, size, _ = S.shape
    best = form.average(start)
    bound = np.full(count, -np.inf)
    least = _objectives(S, weights, form, best)
    primal = np.zeros(count)
    dual = np.zeros(count)
    turns = np.zeros(count, dtype=np.int64)
    # What is still going: its problems, and X, Y, Z, the parameters of Z, and the step sizes.
    left = np.arange(count)
    Z = start.copy()
    z = best.copy()
    rho: Array = np.ones(count)
    Y = np.linalg.inv(Z) - S  # for which the first X is Z
    for turn in range(1, max_iter + 1):
        step = rho[:, None, None]
        X = _dense(step * Z - Y - S[left], rho)
        mixed = _RELAXED * X + (1 - _RELAXED) * Z
        V = mixed + Y / step
        average = form.average(V)
        before = Z
        z = np.sign(average) * np.maximum(np.abs(average) - weights[left] / rho[:, None], 0.0)
        Z = z[:, form.parameter]
        Y = step * (V - Z)
        if turn % _CHECK and turn < max_iter:
            continue
        primal[left] = np.sqrt(((X - Z) ** 2).mean(axis=(1, 2)))
        dual[left] = rho * np.sqrt(((Z - before) ** 2).mean(axis=(1, 2)))
        turns[left] = turn
        bound[left] = np.maximum(bound[left], _log_det(S[left] + Y) + size)
        objectives = _objectives(S[left], weights[left], form, z)
        better = objectives < least[left]
        best[left[better]] = z[better]
        least[left[better]] = objectives[better]
        if turn <= _BALANCE_UNTIL:
            rho = _balance(rho, primal[left], dual[left], X, Y)
        going = ~(least[left] - bound[left] <= gap)
        left = left[going]
        Z = Z[going]
        Y = Y[going]
        z = z[going]
        rho = rho[going]
        if left.size == 0:
            break
    if left.size:
        best[left] = _along(S[left], weights[left], form, best[left], z)
    return _Run(best, bound, turns)


def _dense(target: Array, rho: Array) -> Array:
    """Return X with rho X - X^-1 = target."""
    values, vectors = np.linalg.eigh(target)
    root = np.sqrt(values**2 + 4 * rho[:, None])
    # Two forms of one root: each would cancel where the other does not.
    roots = np.where(values > 0, (values + root) / (2 * rho[:, None]), 2 / (root - np.minimum(values, 0)))
    return np.asarray((vectors * roots[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def _balance(rho: Array, primal: Array, dual: Array, X: Array, Y: Array) -> Array:
    """Change the step sizes such that neither residual, relative to its variable, is far ahead of the other."""
    ahead = (primal / np.sqrt((X**2).mean(axis=(1, 2)))) / np.maximum(dual, 1e-300)
    ahead *= np.maximum(np.sqrt((Y**2).mean(axis=(1, 2))), 1e-300)
    factor = np.clip(np.sqrt(ahead), 0.2, 5.0)
    return np.asarray(np.where((factor > 1.5) | (factor < 1 / 1.5), rho * factor, rho))


def _along(S: Array, weights: Array, form: _Structure, good: Array, last: Array) -> Array:
    """Return the least of some points between solutions that are positive definite and last iterates that may not be.

    The objective is convex and infinite outside, so the way from the last iterate into the inside cannot miss what it is worth.
    """
    best = good
    least = _objectives(S, weights, form, good)
    for share in _SEGMENT:
        point = last + share * (good - last)
        objectives = _objectives(S, weights, form, point)
        better = objectives < least
        best = np.where(better[:, None], point, best)
        least = np.where(better, objectives, least)
    return best


def _objectives(S: Array, weights: Array, form: _Structure, values: Array) -> Array:
    """Objectives (B,) at the matrices of some parameters."""
    fit = ((form.average(S) * values + weights * np.abs(values)) * form.sizes).sum(axis=1)
    return np.asarray(fit - _log_det(values[:, form.parameter]))


def _log_det(matrices: Array) -> Array:
    """Logarithms (B,) of determinants; -inf where a matrix is not positive definite by more than rounding."""
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    possible = np.asarray((diagonal > 0).all(axis=1))
    # A diagonal of ones takes the units of features out of what counts as rounding.
    root = np.sqrt(np.where(possible[:, None], diagonal, 1.0))
    values = np.linalg.eigvalsh(matrices / (root[:, :, None] * root[:, None, :]))
    definite = possible & (values[:, 0] > 4 * _EPS * values[:, -1])
    logs = np.log(np.where(definite[:, None], values, 1.0)).sum(axis=1) + 2 * np.log(root).sum(axis=1)
    return np.asarray(np.where(definite, logs, -np.inf))
