"""How much two models of one Gaussian differ by chance: the null distribution of the goodness-of-fit test.

Two local models are fitted on samples of one Gaussian that share a part o of their observations. To first order in 1/n their
W2 squared, W, has the mean (1 - o) c with c of :func:`mcgta.kernels.gaussians.wasserstein.null_expectation`, since what is
shared cancels out. The distribution of

    T = W / ((1 - o) (c_i + c_j) / 2)

is found by a parametric bootstrap (Efron and Tibshirani 1993, chapter 6): samples are drawn from some of the local models, and
fitted as these were. Fewer observations that are not shared give T a longer tail, so it is found for several overlaps, with
half as many such observations each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.kernels.gaussians.calibration import chance
from mcgta.kernels.gaussians.wasserstein import pack, wasserstein2_pairs
from mcgta.runtime.archive import Archived
from mcgta.runtime.parallel import tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index
from mcgta.stages.covariance import get_covariance
from mcgta.stages.local_models import LocalModels, fit_local_models
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows

_DRAWN_MODELS = 64  # local models that samples are drawn from
_PAIRS = 4096
_FEWER_PAIRS = 1024
_FEWEST_PAIRS = 128
_MANY_FEATURES = 16  # features beyond which fewer pairs are drawn
_NUMBERS_AT_A_TIME = 2**20  # features drawn at a time


@dataclass(frozen=True, eq=False, repr=False)
class NullDistribution(Archived):
    """The distribution of T under the null hypothesis, by simulation.

    Attributes
    ----------
    overlaps : (L,) shares of common observations that it was simulated for, ascending from 0, all below 1
    ratios : (L, B) simulated T for each, ascending
    """

    overlaps: Array
    ratios: Array

    def __post_init__(self) -> None:
        if self.ratios.ndim != 2 or self.overlaps.shape != self.ratios.shape[:1] or self.ratios.size == 0:
            raise ValueError(f"overlaps {self.overlaps.shape} and ratios {self.ratios.shape} do not fit together")
        if self.overlaps[0] != 0 or not (np.diff(self.overlaps) > 0).all() or not self.overlaps[-1] < 1:
            raise ValueError("overlaps must increase from 0 and stay below 1")
        if not (np.isfinite(self.ratios).all() and (self.ratios >= 0).all() and (np.diff(self.ratios) >= 0).all()):
            raise ValueError("ratios must be numbers >= 0, ascending for each overlap")

    def __repr__(self) -> str:
        return f"NullDistribution({self.ratios.shape[1]} pairs, {self.overlaps.size} overlaps)"

    def p_value(self, ratio: Array | float, overlap: Array | float = 0.0) -> Array:
        """Return the share of pairs of one Gaussian, with that overlap, for which T is ``ratio`` or more.

        It is (1 + those simulated) / (1 + B), so never 0. Between two overlaps that were simulated the logarithm of what is not
        shared is interpolated; neighbourhoods that are the same, with overlap 1, give 1.
        """
        ratio, overlap = np.broadcast_arrays(np.asarray(ratio, dtype=float), np.asarray(overlap, dtype=float))
        size = self.ratios.shape[1]
        low, part = self._between(overlap)
        share = np.zeros(ratio.shape)
        for level, ratios in enumerate(self.ratios):
            weight = np.where(low == level, 1 - part, 0.0) + np.where(low + 1 == level, part, 0.0)
            used = weight > 0
            above = size - np.searchsorted(ratios, ratio[used])
            share[used] += weight[used] * (1 + above) / (1 + size)
        return np.where(overlap >= 1, 1.0, share)

    def quantile(self, level: Array | float, overlap: Array | float = 0.0) -> Array:
        """Return the T that a share ``level`` of the pairs stays below, for each level and each overlap (below 1)."""
        heights = np.quantile(self.ratios, level, axis=1)
        low, part = self._between(np.asarray(overlap, dtype=float))
        return (1 - part) * heights[..., low] + part * heights[..., np.minimum(low + 1, self.overlaps.size - 1)]

    def _between(self, overlap: Array) -> tuple[Index, Array]:
        """Return the simulated overlap before each, and how far it is to the next, by the logarithm of what is not shared."""
        steps = -np.log2(1 - self.overlaps)
        with np.errstate(divide="ignore"):
            here = np.minimum(-np.log2(np.maximum(1 - overlap, 0.0)), steps[-1])
        low = np.searchsorted(steps, here, side="right") - 1
        width = np.diff(steps, append=steps[-1] + 1)
        return low, (here - steps[low]) / width[low]


def draw_null(
    models: LocalModels,
    neighborhoods: Neighborhoods | TimeWindows,
    *,
    covariance: Any,
    alpha: float,
    random_state: int = 0,
) -> NullDistribution:
    """Simulate how much models of one Gaussian differ.

    Samples are drawn from up to 64 of the models, spread evenly over the rows, in the axes of their covariances. So T is the
    same for rotated features, if the estimator of covariances is.

    Parameters
    ----------
    models, neighborhoods : the local models and what each was fitted on
    covariance, alpha : how the models were fitted. Estimators that are fitted window by window take long; with these 128 pairs
        are drawn, for three overlaps, instead of 4,096 (1,024 of more than 16 features)
    random_state : seed
    """
    slow = get_covariance(covariance, alpha).in_processes
    options = {"covariance": covariance, "alpha": alpha, "random_state": random_state}
    rows = _chosen(models, neighborhoods)
    n = neighborhoods.n_neighbors
    d = models.means.shape[1]
    wanted = _FEWEST_PAIRS if slow else _PAIRS if d <= _MANY_FEATURES else _FEWER_PAIRS
    pairs = -(-wanted // max(rows.size, 1))
    fresh = np.unique(_halvings(n)[[0, 1, -1]])[::-1] if slow else _halvings(n)
    if rows.size == 0:  # without spread nothing differs by chance
        return NullDistribution(1 - fresh / n, np.zeros((fresh.size, 1)))
    values, axes = np.linalg.eigh(models.covariances[rows])
    roots = axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    weights = neighborhoods.part(rows)[1]
    simulated = []
    parts = tiles(rows.size, max(1, _NUMBERS_AT_A_TIME // (2 * pairs * n * d)))
    with stage("null distribution", len(parts)) as advance:
        for part in parts:
            draws = [
                _draw(np.random.default_rng([random_state, k]), pairs, n, roots[k])
                for k in range(part.start, part.stop)
            ]
            X, turns = (np.concatenate(arrays) for arrays in zip(*draws, strict=True))
            simulated.append(_ratios(X, turns, np.repeat(weights[part], pairs, axis=0), fresh, options))
            advance(1)
    ratios = np.concatenate(simulated, axis=1)
    ratios = np.sort(ratios[:, np.isfinite(ratios).all(axis=0)], axis=1)
    if ratios.shape[1] == 0:
        raise ValueError(f"none of the {rows.size * pairs} simulated pairs of models could be fitted")
    return NullDistribution(1 - fresh / n, ratios)


def _chosen(models: LocalModels, neighborhoods: Neighborhoods | TimeWindows) -> Index:
    """Rows spread evenly over those with a model that has some spread."""
    variance = np.trace(models.covariances, axis1=1, axis2=2)
    rows = np.flatnonzero(models.fitted & neighborhoods.complete & np.isfinite(variance) & (variance > 0))
    return rows[np.unique(np.linspace(0, rows.size - 1, min(rows.size, _DRAWN_MODELS)).astype(np.int64))]


def _halvings(n: int) -> Index:
    """Numbers of observations that are not shared: n, a half of it, ..., 1."""
    return np.array(sorted({-(-n // 2**k) for k in range(n.bit_length() + 1)}, reverse=True))


def _draw(rng: np.random.Generator, pairs: int, n: int, root: Array) -> tuple[Array, Index]:
    """Draw two samples (pairs, 2, n, d), and for each pair the turns (pairs, n) in which places of the first are replaced."""
    normal = rng.standard_normal((pairs, 2, n, root.shape[0]))
    return normal @ root.T, np.argsort(np.argsort(rng.random((pairs, n)), axis=1), axis=1)


def _ratios(X: Array, turns: Index, weights: Array, fresh: Index, options: dict[str, Any]) -> Array:
    """T (L, P) of samples (P, 2, n, d), the second made of the first by replacing some, for each number of these."""
    count, _, n, d = X.shape
    first = np.arange(count)[:, None] * 2 * n + np.arange(n)
    flat = X.reshape(-1, d)
    square = (weights**2).sum(axis=1)

    def fitted(members: Index) -> tuple[Array, Array]:
        near = Neighborhoods(
            members[:, 0], np.sort(members, axis=1), np.zeros(members.shape), _follow(weights, members)
        )
        models = fit_local_models(flat, near, **options)
        bad = list(models.failures)
        means = models.means.copy()
        covs = models.covariances.copy()
        means[bad] = 0.0
        covs[bad] = 0.0
        c = chance(means, covs, 1 / square)
        c[bad] = np.nan
        return pack(means, covs), c

    before, c_before = fitted(first)
    out = np.empty((fresh.size, count))
    for level, replaced in enumerate(fresh):
        new = turns < replaced
        after, c_after = fitted(np.where(new, first + n, first))
        W = wasserstein2_pairs(np.concatenate([before, after]), np.arange(count), count + np.arange(count))
        apart = np.where(new, weights**2, 0.0).sum(axis=1) / square
        expected = apart * (c_before + c_after) / 2
        out[level] = np.divide(W, expected, out=np.where(np.isnan(expected), np.nan, 0.0), where=expected > 0)
    return out


def _follow(weights: Array, members: Index) -> Array:
    """Weights in the ascending order of the members."""
    return np.take_along_axis(weights, np.argsort(members, axis=1), axis=1)
