"""A Gaussian mixture on the means and covariances of neighbourhoods in position."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mcgta.baselines.base import K_RULE, Baseline, Task
from mcgta.baselines.plain import COVARIANCE_TYPES, STARTS_RULE, fit_mixture
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Labels
from mcgta.stages.local_models import LocalModels, fit_local_models
from mcgta.stages.neighborhoods import find_neighborhoods


class WindowedGMM(Baseline):
    """A Gaussian mixture on local moments: the mean and covariance of the n nearest rows in position.

    It maximises the likelihood of the local moments (means, variances and covariances of the neighbourhood, each scaled to
    variance one) as independent draws of K Gaussians. Prefer it where the number of states is known and each lasts for
    about ``n_neighbors`` rows or more: it is fast, and hard to beat there. It knows the same local models as MC-GTA, but
    neither the Wasserstein distance nor the semivariogram.

    Parameters
    ----------
    n_clusters : K
    n_neighbors : n, rows of a neighbourhood, the row itself included
    covariance_type : of the mixture: "diag", "full", "tied" or "spherical"
    n_init : starts, of which the best is kept
    max_iter : steps of expectation-maximisation; scikit-learn warns where they do not suffice
    reg_covar : added to the variances of the mixture, of moments scaled to variance one
    metric : of the positions, as in :class:`mcgta.MCGTA`
    random_state : seed of the starts

    Notes
    -----
    Rows of groups with fewer than n rows have no neighbourhood and are noise. After ``fit``, ``converged_`` says whether
    expectation-maximisation has, ``n_iter_`` after how many steps; ``bic_`` is the Bayesian information criterion of the
    moments.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": K_RULE,
        "n_neighbors": Rule(integer=(2, INF)),
        "covariance_type": Rule(words=COVARIANCE_TYPES),
        "n_init": STARTS_RULE,
        "max_iter": Rule(integer=(1, INF)),
        "reg_covar": Rule(real=(0, INF)),
    }

    converged_: bool
    n_iter_: int
    bic_: float

    def __init__(
        self,
        n_clusters: int = 8,
        n_neighbors: int = 30,
        *,
        covariance_type: str = "diag",
        n_init: int = 3,
        max_iter: int = 200,
        reg_covar: float = 1e-6,
        metric: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.covariance_type = covariance_type
        self.n_init = n_init
        self.max_iter = max_iter
        self.reg_covar = reg_covar
        self.metric = metric
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        models = fit_local_models(task.X, find_neighborhoods(task.positions, self.n_neighbors), covariance="empirical")
        rows = np.flatnonzero(models.fitted)
        if rows.size < self.n_clusters:
            raise ValueError(
                f"n_neighbors={self.n_neighbors}: only {rows.size} rows are in a group of that many, fewer than "
                f"n_clusters={self.n_clusters}; n_neighbors must be smaller"
            )
        labels = np.full(len(task.X), -1, dtype=np.int64)
        labels[rows], self.converged_, self.n_iter_, self.bic_ = fit_mixture(
            local_moments(models.take(rows), task.X),
            n_components=self.n_clusters,
            covariance_type=self.covariance_type,
            n_init=self.n_init,
            max_iter=self.max_iter,
            reg_covar=self.reg_covar,
            random_state=task.seed,
        )
        return labels


def local_moments(models: LocalModels, X: Array) -> Array:
    """Means and upper triangles of covariances (N, d + d(d+1)/2), each column of mean zero and variance one, or constant."""
    i, j = np.triu_indices(X.shape[1])
    table = np.column_stack([models.means, models.covariances[:, i, j]])
    table -= table.mean(axis=0)
    scale = table.std(axis=0)
    spread = X.std(axis=0)
    # A column that varies by rounding only must not be blown up.
    rounding = 1e-12 * np.concatenate([np.abs(X).max(axis=0), spread[i] * spread[j]])
    return table / np.where(scale > rounding, scale, 1.0)
