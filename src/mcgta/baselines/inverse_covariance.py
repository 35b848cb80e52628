"""What TICC and STICC share: Gaussians of sparse block-Toeplitz precision, and labels that prefer neighbours to agree.

Each item (a window of a series, a subregion of a map) is a row x_i that stacks w observations. One objective is minimised over
labels z, means mu_k and precisions Theta_k::

    sum over clusters k that have items   c |Theta_k|_1
    + sum over items i                    -log density of x_i under N(mu_z, Theta_z^-1)
    + beta * (pairs of neighbours whose labels differ)

The codes of the papers penalise each cluster by half of lambda times the 1-norm of Theta for each of its items, which is not
one objective: its weight changes with the labels. Here c = lambda (N / K) / 2 is fixed, N items, K clusters, which is theirs
where clusters are of equal size. A smaller cluster is therefore penalised more for each item, as the papers' formulas have it.

Labels and clusters take turns. Both steps lower the objective or leave it: labels are the best of all, means are those of the
items, and a precision that would be worse than the one before is not taken.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from mcgta.baselines.base import K_RULE, Baseline, Task, standardise
from mcgta.baselines.toeplitz_lasso import lasso_objectives, toeplitz_lasso
from mcgta.clustering.labels import number_by_first_member
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn

INITS = ("gmm", "kmeans")

_ROUNDING = 1e-9  # of the objective's parts, relative
_WIDE_GAP = 1e-3  # nats for each item by which precisions may miss the best ones before it is worth a warning


class ObjectiveWarning(UserWarning):
    """The objective has increased, which it should not."""


class Contiguity(Protocol):
    """How much it costs that neighbours have different labels."""

    def best(self, costs: Array) -> Labels:
        """Return the labels (N,) for which the sum of their ``costs`` (N, K) plus ``price`` is least."""

    def price(self, labels: Labels) -> float:
        """Return what the disagreements among these labels cost."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """K Gaussians.

    Attributes
    ----------
    means : (K, w d)
    precisions : (K, w d, w d) block Toeplitz
    gap : by how many nats for each item a precision may exceed the best one, at most
    """

    means: Array
    precisions: Array
    gap: float

    def costs(self, rows: Array) -> Array:
        """Negative log densities (N, K) of some rows."""
        out = np.empty((len(rows), len(self.means)))
        for k, (mean, precision) in enumerate(zip(self.means, self.precisions, strict=True)):
            factor = np.linalg.cholesky(precision)
            off = (rows - mean) @ factor
            level = np.log(np.diagonal(factor)).sum() - 0.5 * mean.size * np.log(2 * np.pi)
            out[:, k] = 0.5 * np.einsum("ij,ij->i", off, off) - level
        return out


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised.

    Attributes
    ----------
    rows : (N, w d) items
    width : w
    n_clusters : K
    sparsity : lambda
    contiguity : what disagreement costs
    """

    rows: Array
    width: int
    n_clusters: int
    sparsity: float
    contiguity: Contiguity

    @property
    def penalty(self) -> float:
        """The c of the objective."""
        return 0.5 * self.sparsity * len(self.rows) / self.n_clusters

    def objective(self, labels: Labels, clusters: Clusters) -> float:
        """Return the objective; ``labels`` are indices of ``clusters``, all of which have items."""
        own = clusters.costs(self.rows)[np.arange(labels.size), labels].sum()
        return float(own + self.penalty * np.abs(clusters.precisions).sum() + self.contiguity.price(labels))

    def bic(self, labels: Labels, clusters: Clusters) -> float:
        """Return the Bayesian information criterion, items counted as if they were independent.

        What is free are the means, and those entries of the precisions' first row of blocks that are not zero.
        """
        d = self.rows.shape[1] // self.width
        own = clusters.costs(self.rows)[np.arange(labels.size), labels].sum()
        above = np.arange(self.rows.shape[1]) >= np.arange(d)[:, None]  # the first block is symmetric
        free = clusters.means.size + np.count_nonzero(clusters.precisions[:, :d] * above)
        return float(2 * own + np.log(labels.size) * free)

    def clusters(self, labels: Labels, before: Array | None = None) -> Clusters:
        """Return the best clusters for labels 0, 1, ..., all of which occur; ``before`` are precisions to improve on."""
        sizes = np.bincount(labels)
        means = np.stack([self.rows[labels == k].mean(axis=0) for k in range(sizes.size)])
        off = self.rows - means[labels]
        scatter = np.stack([off[labels == k].T @ off[labels == k] / size for k, size in enumerate(sizes)])
        penalties = 2 * self.penalty / sizes
        fit = toeplitz_lasso(scatter, penalties, self.width, start=before)
        precisions = fit.precisions
        if before is not None:
            worse = lasso_objectives(scatter, penalties, before) < fit.objectives
            precisions = np.where(worse[:, None, None], before, precisions)
        return Clusters(means, precisions, float(fit.gaps.max()) / 2)


@dataclass(frozen=True, eq=False)
class Solution:
    """Labels (N,), their clusters, the objective of each iteration, and whether labels stayed or it hardly fell any more."""

    labels: Labels
    clusters: Clusters
    objective: list[float]
    converged: bool


def alternate(problem: Problem, labels: Labels, *, max_iter: int, tol: float) -> Solution:
    """Improve labels until they stay, or the objective falls by less than ``tol`` for each item."""
    labels = _dense(labels)[0]
    clusters = problem.clusters(labels)
    best = Solution(labels, clusters, [problem.objective(labels, clusters)], converged=False)
    trace = list(best.objective)
    settled = False
    while len(trace) <= max_iter and not settled:
        # A cluster that has lost all items is gone for good.
        new, alive = _dense(problem.contiguity.best(clusters.costs(problem.rows)))
        clusters = problem.clusters(new, clusters.precisions[alive])
        value = problem.objective(new, clusters)
        rounding = _ROUNDING * (abs(value) + abs(trace[-1]) + labels.size)
        if value > trace[-1] + rounding:
            warn(
                f"the objective has increased, from {trace[-1]:.10g} to {value:.10g} in iteration {len(trace)}; the best "
                "labels so far are kept",
                ObjectiveWarning,
            )
        settled = np.array_equal(new, labels) or abs(trace[-1] - value) <= tol * labels.size
        labels = new
        trace.append(value)
        if value <= best.objective[-1]:
            best = Solution(labels, clusters, [value], converged=False)
    return Solution(best.labels, best.clusters, trace, settled)


def start_labels(scaled: Array, n_clusters: int, init: str, seed: int, *, first: bool = True) -> Labels:
    """Return labels to begin with, of a Gaussian mixture ("gmm") or by k-means ("kmeans") of standardised rows.

    The ``first`` run of k-means begins with the best of ten, as the papers' codes do, which is the same for most seeds; further
    ones with one, so that they differ.
    """
    if n_clusters == 1:
        return np.zeros(len(scaled), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a start need not be a solution
        if init == "kmeans":
            labels = KMeans(n_clusters, n_init=10 if first else 1, random_state=seed).fit_predict(scaled)
        else:
            labels = GaussianMixture(n_clusters, reg_covar=1e-4, random_state=seed).fit_predict(scaled)
    return np.asarray(labels, dtype=np.int64)


def _dense(labels: Labels) -> tuple[Labels, Index]:
    """Number labels 0, 1, ... without gaps; also return which they were."""
    names, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int64), names


class InverseCovarianceClustering(Baseline):
    """What the two estimators share; see the module.

    After ``fit`` there are, clusters numbered as in ``labels_``, ``means_`` (K', w d) and ``precisions_`` (K', w d, w d);
    ``objective_`` (n_iter_ + 1,), of the start and each iteration of the best of ``n_init`` runs; ``n_iter_``; ``converged_``;
    ``gap_``, by how many nats for each item a precision may exceed the best one for its cluster; and ``bic_``, the Bayesian
    information criterion, for which overlapping items count as if they were independent.
    """

    n_clusters: int
    sparsity: float
    init: str
    n_init: int
    max_iter: int
    tol: float

    means_: Array
    precisions_: Array
    objective_: Array
    n_iter_: int
    converged_: bool
    gap_: float
    bic_: float

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": K_RULE,
        "beta": Rule(real=(0, INF)),
        "sparsity": Rule(real=(0, INF), above=True),
        "init": Rule(words=INITS),
        "n_init": Rule(integer=(1, INF)),
        "max_iter": Rule(integer=(1, INF)),
        "tol": Rule(real=(0, INF)),
    }

    def _solve(self, task: Task, rows: Array, width: int, contiguity: Contiguity, spoken: Any) -> Labels:
        """Find labels of the task's rows and set the fitted attributes.

        Parameters
        ----------
        rows : (M, width * d) items
        spoken : function of the items' labels and the clusters that gives labels to all of the task's rows
        """
        # Far from zero the differences from means would be mostly rounding.
        centre = np.tile(np.median(task.X, axis=0), width)
        scaled = standardise(rows)
        rows = rows - centre
        problem = Problem(rows, width, self.n_clusters, self.sparsity, contiguity)
        seeds = np.random.SeedSequence(task.seed).generate_state(self.n_init)
        best: Solution | None = None
        # One thread: sums have the same order whatever the machine, and small matrices gain nothing from more.
        with threadpool_limits(limits=1):
            for run, seed in enumerate(seeds.tolist()):
                labels = start_labels(scaled, self.n_clusters, self.init, seed, first=run == 0)
                solution = alternate(problem, labels, max_iter=self.max_iter, tol=self.tol)
                if best is None or min(solution.objective) < min(best.objective):
                    best = solution
            assert best is not None
            clusters = replace(best.clusters, means=best.clusters.means + centre)
            labels = spoken(best.labels, clusters)
        if not best.converged:
            warn(
                f"labels still changed after max_iter={self.max_iter} iterations; a larger max_iter would go on",
                ConvergenceWarning,
            )
        if best.clusters.gap > _WIDE_GAP:
            warn(
                f"precisions may miss the best ones by {best.clusters.gap:.2g} nats for each item: covariances are "
                f"singular, but for sparsity={self.sparsity}; a larger sparsity would help",
                ConvergenceWarning,
            )
        # Clusters get the numbers that their labels will have in the caller's order of rows.
        given = np.empty_like(labels)
        given[task.rows] = labels
        first = np.array([np.flatnonzero(given == k)[0] for k in range(len(clusters.means))])
        order = np.argsort(first)
        self.means_ = clusters.means[order]
        self.precisions_ = clusters.precisions[order]
        self.objective_ = np.array(best.objective)
        self.n_iter_ = len(best.objective) - 1
        self.converged_ = best.converged
        self.gap_ = best.clusters.gap
        self.bic_ = problem.bic(best.labels, best.clusters)
        return number_by_first_member(labels)
