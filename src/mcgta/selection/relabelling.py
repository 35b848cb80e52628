"""Labels and clusters, each found given the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.evidence.relabel import best_path, squared_distances, visit
from mcgta.kernels.evidence.whitening import NEAR
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.scoring.scored_labelling import Gaussians, change_cost, close_gaps, fit_clusters
from mcgta.selection.scoring.scoring_data import ScoringData, Whitened
from mcgta.selection.scoring.tails import Tails

POTTS_NEIGHBORS = 8
"""Nearest rows whose labels count in a Potts model."""

RELABEL_STEPS = 2
"""Steps of fitting tails to the clusters of a labelling that is about to change."""

_POTTS_SWEEPS = 4
_FIRST_AGREEMENT = 3.0  # weight that the estimate of a Potts model begins with
_AGREEMENTS = (1e-3, 12.0)  # least and largest weight
_NEWTON_STEPS = 25
_MAX_NEWTON_STEP = 2.0
_SMALL_NEWTON_STEP = 1e-3  # that ends the steps
_LEAST_CURVATURE = 1e-6


@dataclass(frozen=True, eq=False)
class Relabeller:
    """Gives rows the labels that suit given clusters best.

    Attributes
    ----------
    scoring_data : the rows
    correlations : (d,) row of the correlation grid for each feature
    tails : of all clusters
    likelihood_weight : factor of the rows' log densities; below 1 it takes more rows to change a label
    mixed : whether labels have little to do with position, which then does not count
    """

    scoring_data: ScoringData
    correlations: Index
    tails: Tails
    likelihood_weight: float = 1.0
    mixed: bool = False

    @property
    def independent(self) -> bool:
        """Whether rows are independent of their neighbours, but for the label."""
        return bool((self.correlations == 0).all())

    def relabel_until_stable(self, labels: Labels, rounds: int) -> Labels:
        """Relabel until nothing changes, or that many times. Clusters too small to have a covariance are given up."""
        labels = close_gaps(labels)
        for _ in range(rounds):
            if labels.max() == 0:
                break
            whitened = self.scoring_data.whiten_by(labels, self.correlations)
            fitted = fit_clusters(whitened, labels, self.tails, steps=RELABEL_STEPS)
            changed = absorb_small(self.scoring_data, self.assign(labels, fitted.gaussians, fitted.counts))
            if np.array_equal(changed, labels):
                break
            labels = changed
        return labels

    def assign_from(self, rows: Index, labels: Labels, nearest: Index) -> Labels:
        """Assign all rows, given labels 0 ... K - 1 of some ``rows``; ``nearest`` (N,) is the nearest of these to each row."""
        whitened = self.scoring_data.whiten_as_one(self.correlations)
        some = Whitened(
            native(whitened.rows[:, rows]), native(whitened.weights[:, rows]), native(whitened.log_scales[rows])
        )
        fitted = fit_clusters(some, labels, self.tails)
        return self.assign(labels[nearest], fitted.gaussians, fitted.counts)

    def assign(self, labels: Labels, clusters: Gaussians, counts: Array) -> Labels:
        """Assign all rows to given clusters: by Viterbi's algorithm along series, by a Potts model elsewhere, or a mixture.

        The Potts model begins with ``labels``. ``counts`` (K,) are the sizes of clusters, which count in a mixture.
        """
        scoring_data = self.scoring_data
        if scoring_data.chain and not self.mixed:
            assigned = np.empty(len(scoring_data), dtype=np.int64)
            cost = change_cost(len(scoring_data.edges), clusters.log_root.size)
            best_path(*self.series_log_densities(clusters), scoring_data.series_starts, cost, assigned)
            return assigned
        if not self.mixed:
            agreement = potts_weight(scoring_data.neighbors[:, :POTTS_NEIGHBORS], labels, labels)
            return self._assign_by_neighbors(labels, clusters, agreement, np.zeros(counts.size))
        log_shares = np.log((counts + 0.5) / (counts.sum() + 0.5 * counts.size))
        if self.independent:
            densities = cluster_log_densities(scoring_data.unwhitened, clusters, self.tails)
            return np.asarray((densities + log_shares).argmax(axis=1))
        return self._assign_by_neighbors(labels, clusters, 0.0, log_shares)

    def series_log_densities(self, clusters: Gaussians) -> tuple[Array, Array]:
        """Return (N, K) log densities of rows of series: of those whose predecessor is of the cluster too, and of others."""
        enter = self.likelihood_weight * cluster_log_densities(self.scoring_data.unwhitened, clusters, self.tails)
        if self.independent:
            return enter, enter
        whitened = self.scoring_data.whiten_as_one(self.correlations)
        stay = cluster_log_densities(whitened, clusters, self.tails) - whitened.log_scales[:, None]
        return self.likelihood_weight * stay, enter

    def neighbor_log_densities(self, labels: Labels, clusters: Gaussians) -> Array:
        """Return (N, K) log densities of rows, predicted from their neighbours of each cluster; label -1 is no cluster."""
        if self.independent:
            return self.likelihood_weight * cluster_log_densities(self.scoring_data.unwhitened, clusters, self.tails)
        neighbors = self.scoring_data.neighbors
        beside = np.where(neighbors >= 0, labels[neighbors], -1)
        densities = np.empty((len(self.scoring_data), clusters.log_root.size))
        for k in range(densities.shape[1]):
            order = np.argsort(beside != k, axis=1, kind="stable")[:, :NEAR]
            chosen = np.where(np.take_along_axis(beside, order, 1) == k, order, -1)
            whitened = self.scoring_data.whiten_from_neighbors(chosen, self.correlations)
            one = Gaussians(clusters.means[k : k + 1], clusters.inverse[k : k + 1], clusters.log_root[k : k + 1])
            given = cluster_log_densities(whitened, one, self.tails)[:, 0] - whitened.log_scales
            densities[:, k] = self.likelihood_weight * given
        return densities

    def _assign_by_neighbors(self, labels: Labels, clusters: Gaussians, agreement: float, log_shares: Array) -> Labels:
        """Visit row after row, each given the labels of its neighbours, until nothing changes, or some times."""
        assigned = labels.copy()
        used, which = np.unique(self.correlations, return_inverse=True)
        grid = self.scoring_data.correlation_grid.take(used)
        lists = self.scoring_data.neighbor_lists
        for _ in range(_POTTS_SWEEPS):
            changed = visit(
                self.scoring_data.X,
                lists.rows,
                lists.distances,
                lists.pair_distances,
                clusters.means,
                clusters.inverse,
                clusters.log_root,
                which.astype(np.int64),
                grid.families,
                grid.lengths,
                grid.nuggets,
                self.tails.degrees_of_freedom,
                self.tails.outlier_share,
                self.tails.outlier_spread,
                agreement,
                log_shares,
                self.likelihood_weight,
                NEAR,
                assigned,
            )
            if changed == 0:
                break
        return assigned


def cluster_log_densities(whitened: Whitened, clusters: Gaussians, tails: Tails) -> Array:
    """Return the (N, K) log densities of whitened rows under each cluster."""
    out = np.empty((whitened.rows.shape[1], clusters.log_root.size))
    squared_distances(whitened.rows, whitened.weights, clusters.means, clusters.inverse, out)
    return tails.log_density(out, whitened.rows.shape[0]) - clusters.log_root


def potts_weight(neighbors: Index, own_labels: Labels, labels: Labels) -> float:
    """Estimate how much neighbours agree in label: the weight of the share of neighbours with a label in a Potts model.

    By pseudo-likelihood (Besag 1975), with Newton steps, from some rows with ``own_labels`` and their ``neighbors``, which are
    numbers of ``labels``; -1 is no neighbour, or no label.
    """
    share = np.zeros((own_labels.size, int(labels.max()) + 1))
    near = np.where(neighbors >= 0, labels[neighbors], -1)
    number = np.maximum((near >= 0).sum(axis=1), 1)
    for p in range(neighbors.shape[1]):
        rows = np.flatnonzero(near[:, p] >= 0)
        share[rows, near[rows, p]] += 1.0 / number[rows]
    own = share[np.arange(own_labels.size), own_labels]
    weight = _FIRST_AGREEMENT
    for _ in range(_NEWTON_STEPS):
        chance = np.exp(weight * (share - share.max(axis=1, keepdims=True)))
        chance /= chance.sum(axis=1, keepdims=True)
        mean = (chance * share).sum(axis=1)
        curvature = float(((chance * share**2).sum(axis=1) - mean**2).sum()) + _LEAST_CURVATURE
        step = float(np.clip((own - mean).sum() / curvature, -_MAX_NEWTON_STEP, _MAX_NEWTON_STEP))
        weight = float(np.clip(weight + step, *_AGREEMENTS))
        if abs(step) < _SMALL_NEWTON_STEP:
            break
    return weight


def absorb_small(scoring_data: ScoringData, labels: Labels) -> Labels:
    """Renumber clusters, and give those too small to have a covariance, of fewer than d + 2 rows, to their neighbours."""
    labels = close_gaps(labels)
    counts = np.bincount(labels)
    small = counts < scoring_data.min_cluster_rows
    if not small.any():
        return labels
    if small.all():
        return np.zeros_like(labels)
    absorbed = labels.copy()
    neighbors = scoring_data.neighbors
    while True:
        rows = np.flatnonzero(small[absorbed])
        if rows.size == 0:
            break
        good = (neighbors[rows] >= 0) & ~small[absorbed[neighbors[rows]]]
        some = good.any(axis=1)
        if not some.any():
            absorbed[rows] = int(np.argmax(np.where(small, 0, counts)))
            break
        absorbed[rows[some]] = absorbed[neighbors[rows[some], good[some].argmax(axis=1)]]
    return close_gaps(absorbed)
