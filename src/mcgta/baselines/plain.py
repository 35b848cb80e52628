"""Clustering of the features alone, which does not know positions: the least that any method with positions must beat."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn import cluster, mixture
from threadpoolctl import threadpool_limits

from mcgta.baselines.base import K_RULE, Baseline, Task
from mcgta.baselines.density import Neighbors, dbscan, near_features
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Labels

STARTS_RULE = Rule(integer=(1, INF))
COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")


class KMeans(Baseline):
    """k-means on the features, by scikit-learn.

    It minimises the sum of squared distances to the nearest of K centres. Prefer it where clusters are round, of like
    size and spread, and differ in their means.

    Parameters
    ----------
    n_clusters : K
    n_init : starts, of which the best is kept
    random_state : seed of the starts
    """

    _looks_at_positions = False
    _rules: ClassVar[dict[str, Rule]] = {"n_clusters": K_RULE, "n_init": STARTS_RULE}

    def __init__(self, n_clusters: int = 8, *, n_init: int = 10, random_state: Any = 0) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        with threadpool_limits(1):  # the order of its sums depends on the number of threads
            labels = cluster.KMeans(self.n_clusters, n_init=self.n_init, random_state=task.seed).fit_predict(task.X)
        return np.asarray(labels, dtype=np.int64)


class GMM(Baseline):
    """A Gaussian mixture on the features, by scikit-learn.

    It maximises the likelihood of rows that are drawn independently of K Gaussians. Prefer it where clusters differ in mean
    or covariance and neighbours in position tell little about each other.

    Parameters
    ----------
    n_clusters : K
    covariance_type : "full", "tied" (one for all), "diag" or "spherical"
    n_init : starts, of which the best is kept
    max_iter : steps of expectation-maximisation; scikit-learn warns where they do not suffice
    reg_covar : added to the variances, in the squared unit of the features
    random_state : seed of the starts

    Notes
    -----
    After ``fit``, ``converged_`` says whether expectation-maximisation has, ``n_iter_`` after how many steps; ``bic_`` is the
    Bayesian information criterion.
    """

    _looks_at_positions = False
    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": K_RULE,
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
        *,
        covariance_type: str = "full",
        n_init: int = 1,
        max_iter: int = 100,
        reg_covar: float = 1e-6,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.n_init = n_init
        self.max_iter = max_iter
        self.reg_covar = reg_covar
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        labels, self.converged_, self.n_iter_, self.bic_ = fit_mixture(
            task.X,
            n_components=self.n_clusters,
            covariance_type=self.covariance_type,
            n_init=self.n_init,
            max_iter=self.max_iter,
            reg_covar=self.reg_covar,
            random_state=task.seed,
        )
        return labels


class DBSCAN(Baseline):
    """DBSCAN on the features, by search trees and without lists of all neighbours.

    It optimises nothing: clusters are the connected parts of the rows that have at least ``min_samples`` neighbours. Prefer
    it where clusters are dense and of any shape, their number is unknown and outliers are to be left out. Labels are those of
    scikit-learn's, in memory linear in the rows; with positions, whatever they are, those of rows sorted by group and features.

    Parameters
    ----------
    eps : neighbours' features are at most this far apart, in Euclidean distance
    min_samples : a row with this many neighbours, itself included, is a core row
    random_state : takes no part, since there is no chance; every baseline has it
    """

    _looks_at_positions = False
    _rules: ClassVar[dict[str, Rule]] = {"eps": Rule(real=(0, INF)), "min_samples": Rule(integer=(1, INF))}

    def __init__(self, eps: float = 0.5, min_samples: int = 5, *, random_state: Any = 0) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        return dbscan(Neighbors([near_features(task.X, self.eps)], len(task.X)), self.min_samples)


class HDBSCAN(Baseline):
    """HDBSCAN on the features, by scikit-learn.

    It keeps those clusters of the hierarchy of all DBSCAN radii that last longest. Prefer it to :class:`DBSCAN` where clusters
    differ in density or no radius is known.

    Parameters
    ----------
    min_cluster_size : least rows of a cluster
    min_samples : neighbours that tell the density around a row, itself included; ``min_cluster_size`` if None
    random_state : takes no part, since there is no chance; every baseline has it
    """

    _looks_at_positions = False
    _rules: ClassVar[dict[str, Rule]] = {
        "min_cluster_size": Rule(integer=(2, INF)),
        "min_samples": Rule(integer=(1, INF), none=True),
    }

    def __init__(self, min_cluster_size: int = 5, min_samples: int | None = None, *, random_state: Any = 0) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        asked = self.min_samples or self.min_cluster_size
        count = len(task.X)
        if asked > count:
            name = "min_cluster_size" if self.min_samples is None else "min_samples"
            raise ValueError(f"{name}={asked} but there are only {count} observations; {name} must not be larger")
        model = cluster.HDBSCAN(min_cluster_size=self.min_cluster_size, min_samples=self.min_samples, copy=True)
        return np.asarray(model.fit_predict(task.X), dtype=np.int64)


def fit_mixture(X: Array, **options: Any) -> tuple[Labels, bool, int, float]:
    """Return the labels of a Gaussian mixture with scikit-learn's options, whether it has converged, its steps and its BIC."""
    with threadpool_limits(1):  # products may depend on the number of threads in their last bits
        model = mixture.GaussianMixture(**options).fit(X)
        labels = np.asarray(model.predict(X), dtype=np.int64)
        return labels, bool(model.converged_), int(model.n_iter_), float(model.bic(X))
