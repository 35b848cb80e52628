"""The usual ways with other packages, which the kernels are measured against.

Each does its work in one go on what could be prepared outside: symmetric roots are computed once a model, not once a pair, and
batches are as large as is good for it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.cluster import DBSCAN
from sklearn.covariance import GraphicalLasso

from mcgta.kernels.gaussians.factors import psd_roots
from mcgta.runtime.types import Array, Index, Labels


@dataclass
class LassoFits:
    """scikit-learn's graphical lasso on some windows of n observations, each fit timed by itself.

    Attributes
    ----------
    X : (N, d) features
    indices : (N, n) the rows of each window
    alpha : the penalty
    covariances : window -> its covariance, of all fits so far; None where it raised
    """

    X: Array
    indices: Index
    alpha: float
    covariances: dict[int, Array | None] = field(default_factory=dict)

    @property
    def raised(self) -> int:
        """The windows that raised an exception."""
        return sum(covariance is None for covariance in self.covariances.values())

    def fit(self, rows: Iterable[int]) -> list[float]:
        """Fit these windows; return the seconds of each, those that raised included."""
        out = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in rows:
                window = self.X[self.indices[row]]
                start = time.process_time()
                try:
                    fitted = GraphicalLasso(alpha=self.alpha).fit(window).covariance_
                except (FloatingPointError, ValueError):
                    fitted = None
                out.append(time.process_time() - start)
                self.covariances[row] = fitted
        return out


def shrunk_windows(X: Array, size: int, shrinkage: float = 0.1) -> tuple[Array, Array]:
    """Means (N, d) and shrunk empirical covariances (N, d, d) of the windows around the steps of a series, by NumPy.

    The first and the last window stand for the steps that have none of their own.
    """
    count, d = X.shape
    windows = sliding_window_view(X, size, axis=0)  # (N - size + 1, d, size)
    means = windows.mean(axis=-1)
    centred = windows - means[:, :, None]
    covs = centred @ np.swapaxes(centred, 1, 2) / size
    spherical = np.trace(covs, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    nearest = np.clip(np.arange(count) - size // 2, 0, count - size)
    return means[nearest], ((1 - shrinkage) * covs + shrinkage * spherical)[nearest]


@dataclass(frozen=True)
class Gaussians:
    """Gaussians with what the comparisons below need of each."""

    means: Array
    covs: Array
    roots: Array
    traces: Array

    @classmethod
    def of(cls, means: Array, covs: Array) -> Gaussians:
        """Prepare Gaussians of means (N, d) and covariances (N, d, d)."""
        return cls(means, covs, psd_roots(covs), np.trace(covs, axis1=1, axis2=2))

    @classmethod
    def random(cls, count: int, d: int, seed: int) -> Gaussians:
        """Draw standard normal means, and covariances of samples of 2 d."""
        rng = np.random.default_rng(seed)
        samples = rng.standard_normal((count, 2 * d, d))
        return cls.of(rng.standard_normal((count, d)), np.swapaxes(samples, 1, 2) @ samples / (2 * d))


def eigvalsh_tile(models: Gaussians, rows: slice, cols: slice) -> Array:
    """W2 squared of each of ``rows`` from each of ``cols``, by NumPy's batched eigenvalues of R_i Sigma_j R_i."""
    roots = models.roots[rows, None]
    values = np.linalg.eigvalsh(roots @ models.covs[None, cols] @ roots)
    shift = models.means[rows, None] - models.means[None, cols]
    traces = models.traces[rows, None] + models.traces[None, cols]
    return (shift**2).sum(-1) + traces - 2 * np.sqrt(np.maximum(values, 0.0)).sum(-1)


def sqrtm_pairs(models: Gaussians, i: Index, j: Index, *, rooted: bool) -> Array:
    """W2 squared of the pairs (i[k], j[k]), by SciPy matrix roots as the paper's equation 5 is written.

    Two roots for each pair, or one where those of the models are at hand (``rooted``).
    """
    out = np.empty(i.size)
    for k, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        own = models.roots[a] if rooted else scipy.linalg.sqrtm(models.covs[a]).real
        root = scipy.linalg.sqrtm(own @ models.covs[b] @ own)
        shift = models.means[a] - models.means[b]
        out[k] = shift @ shift + models.traces[a] + models.traces[b] - 2 * np.trace(root).real
    return out


def pot_pairs(ot: Any, models: Gaussians, i: Index, j: Index) -> Array:
    """W2 squared of the pairs (i[k], j[k]), by a call of POT for each."""
    distance = ot.gaussian.bures_wasserstein_distance
    out = np.empty(i.size)
    for k, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        out[k] = distance(models.means[a], models.means[b], models.covs[a], models.covs[b])
    return out**2


def pot_tile(ot: Any, models: Gaussians, rows: slice, cols: slice) -> Array:
    """W2 squared of each of ``rows`` from each of ``cols``, by one call of POT."""
    distances = ot.gaussian.bures_wasserstein_distance(
        models.means[rows], models.means[cols], models.covs[rows], models.covs[cols]
    )
    return np.asarray(distances) ** 2


def pot_mixtures(ot: Any, shares: Array, costs: Array, i: Index, j: Index) -> Array:
    """Squared mixture Wasserstein distance of the pairs (i[k], j[k]), by a call of POT's network simplex for each."""
    return np.array([ot.emd2(shares[a], shares[b], costs) for a, b in zip(i.tolist(), j.tolist(), strict=True)])


def dbscan(matrix: Array, eps: float, min_samples: int) -> Labels:
    """Cluster by scikit-learn on the table of all pairs."""
    return DBSCAN(eps=eps, min_samples=min_samples, metric="precomputed", n_jobs=1).fit_predict(matrix)
