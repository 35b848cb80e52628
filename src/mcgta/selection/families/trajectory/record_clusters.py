"""Clusters of records as points: the path of merges from many to one, and their evidence."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import gammaln

from mcgta.kernels.evidence.cluster_evidence import merge_gains
from mcgta.runtime.types import Array, Labels
from mcgta.selection.relabelling import cluster_log_densities
from mcgta.selection.scoring.scored_labelling import best_prior, close_gaps, gaussians_of, sum_cluster_rows
from mcgta.selection.scoring.scoring_data import Whitened
from mcgta.selection.scoring.tails import GAUSSIAN

MIN_CLUSTER_RECORDS = 2
"""Records that a cluster has at least: what does not repeat is no type of record."""

_ROUNDS = 4  # of labelling anew after a merge
_TINY = 1e-300


def initial_labels(points: Array, number: int) -> Labels:
    """Cut points (m, R) into so many clusters by Ward's method."""
    return close_gaps(fcluster(linkage(points.T, "ward"), number, "maxclust").astype(np.int64))


def log_evidence(points: Array, labels: Labels) -> float:
    """Return the log evidence of clusters of points (m, R), what it takes to write the labels down subtracted."""
    counts = np.bincount(labels).astype(np.float64)
    value = best_prior(counts, sum_cluster_rows(Whitened.of_independent(points), labels, counts.size))[0]
    return value - label_nats(labels) if np.isfinite(value) else -np.inf


def label_nats(labels: Labels) -> float:
    """Nats that it takes to write the labels of records down one by one, each as rare as its cluster."""
    counts = np.bincount(labels)
    size = counts.size
    return float(gammaln(labels.size + size) - gammaln(size) - gammaln(counts + 1).sum())


def merge_path(points: Array, labels: Labels) -> list[Labels]:
    """Merge the two clusters that cost least evidence, label anew, and so on; return every labelling on the way."""
    path: list[Labels] = []
    while True:
        labels = relabel(points, labels)
        path.append(labels)
        if labels.max() == 0:
            return path
        labels = merge_two(points, labels)


def merge_two(points: Array, labels: Labels) -> Labels:
    """Return the labels with the two clusters merged for which the evidence is best."""
    counts = np.bincount(labels).astype(np.float64)
    sums = sum_cluster_rows(Whitened.of_independent(points), labels, counts.size)
    prior = best_prior(counts, sums)[1]
    gains = np.empty((counts.size, counts.size))
    merge_gains(counts, sums, 1.0, prior.strength, prior.closeness, prior.middle, prior.pooled, prior.scales, gains)
    i, j = np.unravel_index(int(gains.argmax()), gains.shape)
    return close_gaps(np.where(labels == max(i, j), min(i, j), labels))


def relabel(points: Array, labels: Labels) -> Labels:
    """Give each point the cluster in which it is most probable, until nothing changes; small clusters are dropped."""
    for _ in range(_ROUNDS):
        counts = np.bincount(labels)
        densities = densities_of(points, labels) + np.log(counts)
        if (counts >= MIN_CLUSTER_RECORDS).any():
            densities[:, counts < MIN_CLUSTER_RECORDS] = -np.inf
        again = close_gaps(densities.argmax(axis=1))
        if np.array_equal(again, labels):
            break
        labels = again
    return labels


def densities_of(points: Array, labels: Labels) -> Array:
    """Return (R, K) log densities of points in the clusters of a labelling."""
    whitened = Whitened.of_independent(points)
    counts = np.bincount(labels).astype(np.float64)
    sums = sum_cluster_rows(whitened, labels, counts.size)
    return cluster_log_densities(whitened, gaussians_of(counts, sums, best_prior(counts, sums)[1]), GAUSSIAN)


def least_separation(points: Array, labels: Labels) -> float:
    """Return how far apart the two nearest clusters of points (m, R) are, in standard deviations of both.

    That is along the line that separates two of them best, with covariances that are drawn to the pooled one, less what
    choosing the line gains by chance. The halves of a Gaussian are 1.32 apart.
    """
    whitened = Whitened.of_independent(points)
    n_directions, n_records = points.shape
    counts = np.bincount(labels).astype(np.float64)
    sums = sum_cluster_rows(whitened, labels, counts.size)
    clusters = gaussians_of(counts, sums, best_prior(counts, sums)[1])
    factors = np.linalg.inv(clusters.inverse)
    covariances = factors @ factors.transpose(0, 2, 1)
    freedom = n_records - counts.size
    honest = max(freedom - n_directions - 1.0, 1.0) / max(freedom, 1.0)
    least = np.inf
    for k in range(counts.size):
        for m in range(k):
            gap = clusters.means[k] - clusters.means[m]
            line = np.linalg.solve(covariances[k] + covariances[m], gap)
            widths = np.sqrt([line @ covariances[k] @ line, line @ covariances[m] @ line])
            deviations = 2.0 * float(line @ gap) / max(float(widths.sum()), _TINY)
            squared = honest * deviations**2 - n_directions * (1.0 / counts[k] + 1.0 / counts[m])
            least = min(least, 0.5 * np.sqrt(max(squared, 0.0)))
    return float(least)


def difference_error(points: Array, labels: Labels, others: Labels) -> float:
    """Return the standard error of the difference of the log densities of all points under two labellings."""
    rows = np.arange(labels.size)
    difference = np.zeros(labels.size)
    for sign, clusters in ((1.0, labels), (-1.0, others)):
        shares = np.log(np.bincount(clusters) / clusters.size)
        difference += sign * (densities_of(points, clusters)[rows, clusters] + shares[clusters])
    return float(np.sqrt(labels.size * difference.var()))
