"""How probable each cluster is for each observation, given the clusters of a labelling."""

from __future__ import annotations

import numpy as np

from mcgta.kernels.evidence.chances import path_chances, sweep_chances
from mcgta.kernels.evidence.shares import local_shares
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.cluster_models import ClusterModels, cluster_shares
from mcgta.selection.families.family import FamilyModels
from mcgta.selection.relabelling import POTTS_NEIGHBORS
from mcgta.selection.sampling import LABELLED_AT_A_TIME_ROWS
from mcgta.selection.scoring.neighbor_graph import LISTED_NEIGHBORS, nearest_neighbors

_MEAN_FIELD_SWEEPS = 20
_STABLE_CHANGE = 1e-4  # of a probability
_PREDICTION_ROUNDS = 2  # of predicting observations from those that have the same label
_OVERLAP_STEPS = 20


def membership_probabilities(
    features: Array, places: Positions, labels: Labels, clusters: ClusterModels | FamilyModels | None
) -> Array:
    """Return the (N, K) probabilities of clusters 0 ... K - 1 for observations in canonical order, given a labelling.

    The clusters are taken as known; without any, probabilities are their shares. Noise, labelled -1, has probabilities, too.
    Along time these are sums over all labellings, each change of label at the cost that it has in the search, and with log
    densities over the overdispersion. Elsewhere they are those of a mean field that begins with the labels: neighbours
    suggest their own labels, the more so the more they agree throughout. Where regions overlap they are those that labels were
    resolved by. Along time about as many observations are right as the probabilities say; mean fields are too sure of
    themselves. Where labels are mixed, have little to do with position, each observation has those of a mixture, by itself.
    """
    labels = native(labels, np.int64)
    size = int(labels.max(initial=-1)) + 1
    if size < 2:
        return np.ones((labels.size, size))
    if clusters is None:
        return np.tile(cluster_shares(labels), (labels.size, 1))
    if isinstance(clusters, FamilyModels):
        return family_probabilities(clusters, features, places, labels)
    if clusters.mixed:
        return softmax_rows(clusters.log_densities(features) + clusters.log_shares)
    if places.is_chain:
        return forward_backward(clusters, features, places)
    return mean_field(clusters, features, places, labels)


def forward_backward(clusters: ClusterModels, features: Array, places: Positions) -> Array:
    """Return probabilities along series, by the forward-backward algorithm."""
    count = len(features)
    enter = np.empty((count, len(clusters)))
    stay = enter if clusters.independent else np.empty((count, len(clusters)))
    for start in range(0, count, LABELLED_AT_A_TIME_ROWS):
        stop = min(start + LABELLED_AT_A_TIME_ROWS, count)
        begin = max(start - LISTED_NEIGHBORS, 0)  # with all that the first is predicted from
        rows = np.arange(begin, stop)
        densities = clusters.relabeller(features[rows], places.take(rows)).series_log_densities(clusters.gaussians)
        for whole, part in zip((stay, enter), densities, strict=True):
            whole[start:stop] = part[start - begin :]
    probabilities = np.empty((count, len(clusters)))
    path_chances(stay, enter, places.group_starts, clusters.change_cost, probabilities)
    return probabilities


def family_probabilities(
    clusters: FamilyModels, features: Array, places: Positions, labels: Labels, *, certain: bool = False
) -> Array:
    """Return probabilities by the models of a family: over all paths along series, by a mean field elsewhere; -1 is no label.

    With ``certain`` labels that are there have probability one throughout, and others are to be found.
    """
    log_densities = native(clusters.row_log_densities(features, places))
    if places.is_chain:
        if certain:
            keep_to(log_densities, labels)
        probabilities = np.empty(log_densities.shape)
        path_chances(log_densities, log_densities, places.group_starts, clusters.change_cost, probabilities)
        return probabilities
    near = nearest_neighbors(places, LISTED_NEIGHBORS + 1)[0]
    forbid_absent_clusters(log_densities, near, labels)
    if certain:
        keep_to(log_densities, labels)
    beside = native(near[:, :POTTS_NEIGHBORS], np.int64)
    first = _with_labels(softmax_rows(log_densities.copy()), labels)
    return iterate_mean_field(log_densities, beside, clusters.agreement, first)


def mean_field(
    clusters: ClusterModels, features: Array, places: Positions, labels: Labels, *, certain: bool = False
) -> Array:
    """Return probabilities by a mean field over neighbours, in space or by given distances, beginning with labels; -1 is none.

    With ``certain`` labels that are there have probability one throughout, and others are to be found.
    """
    if clusters.overlap:
        return _overlap_probabilities(clusters, features, places, labels, certain=certain)
    near = nearest_neighbors(places, LISTED_NEIGHBORS + 1)[0]
    beside = native(near[:, :POTTS_NEIGHBORS], np.int64)
    current = labels
    probabilities: Array = np.empty((labels.size, len(clusters)))
    for _ in range(_PREDICTION_ROUNDS if certain and not clusters.independent else 1):
        log_densities = _predicted_log_densities(clusters, features, places, current, near)
        forbid_absent_clusters(log_densities, near, labels)
        if certain:
            keep_to(log_densities, labels)
        probabilities = iterate_mean_field(
            log_densities, beside, clusters.agreement, _with_labels(softmax_rows(log_densities.copy()), labels)
        )
        current = native(probabilities.argmax(axis=1), np.int64)
    return probabilities


def _predicted_log_densities(
    clusters: ClusterModels, features: Array, places: Positions, labels: Labels, near: Index
) -> Array:
    """Return (N, K) log densities over the overdispersion, predicted from those of each cluster that are near."""
    if clusters.independent:
        return (1.0 / clusters.overdispersion) * clusters.log_densities(features)
    log_densities = np.empty((len(features), len(clusters)))
    for start in range(0, len(features), LABELLED_AT_A_TIME_ROWS):
        part = np.arange(start, min(start + LABELLED_AT_A_TIME_ROWS, len(features)))
        rows = np.unique(np.append(part, near[part][near[part] >= 0]))  # with all that these are predicted from
        relabeller = clusters.relabeller(features[rows], places.take(rows))
        around = relabeller.neighbor_log_densities(labels[rows], clusters.gaussians)
        log_densities[part] = around[np.searchsorted(rows, part)]
    return log_densities


def _overlap_probabilities(
    clusters: ClusterModels, features: Array, places: Positions, labels: Labels, *, certain: bool
) -> Array:
    """Return probabilities where regions overlap: by the features, and by the shares of clusters among many neighbours."""
    near = nearest_neighbors(places, clusters.overlap + 1)[0]
    near = native(np.where(near >= 0, near, labels.size), np.int64)  # the row after the last counts for nothing
    likely = clusters.log_densities(features)
    likely = np.exp(likely - likely.max(axis=1, keepdims=True))
    probabilities = np.vstack([np.tile(np.exp(clusters.log_shares), (labels.size, 1)), np.zeros(len(clusters))])
    rows = _with_labels(probabilities[:-1], labels)
    shares = np.empty_like(likely)
    for _ in range(_OVERLAP_STEPS):
        local_shares(near, clusters.overlap, probabilities, shares)
        shares *= likely
        rows[:] = shares / shares.sum(axis=1, keepdims=True)
        if certain:
            _with_labels(rows, labels)
    return rows


def _with_labels(probabilities: Array, labels: Labels) -> Array:
    """Make labels that are there certain, in place."""
    rows = np.flatnonzero(labels >= 0)
    probabilities[rows] = 0.0
    probabilities[rows, labels[rows]] = 1.0
    return probabilities


def keep_to(log_densities: Array, labels: Labels) -> None:
    """Make all clusters but that of a label impossible, in place; -1 is no label."""
    rows = np.flatnonzero(labels >= 0)
    log_densities[rows] = -np.inf
    log_densities[rows, labels[rows]] = 0.0


def iterate_mean_field(log_densities: Array, beside: Index, agreement: float, probabilities: Array) -> Array:
    """Let rows suggest their labels to their neighbours until probabilities change no more; ``probabilities`` is written to."""
    for _ in range(_MEAN_FIELD_SWEEPS):
        if sweep_chances(log_densities, beside, agreement, probabilities) < _STABLE_CHANGE:
            break
    return probabilities


def forbid_absent_clusters(log_densities: Array, near: Index, labels: Labels) -> None:
    """Make clusters impossible for observations that have none of them near, as the search does; unless all are noise there."""
    possible = np.zeros(log_densities.shape, dtype=bool)
    for listed in (*near.T, np.arange(labels.size)):
        rows = np.flatnonzero((listed >= 0) & (labels[listed] >= 0))
        possible[rows, labels[listed[rows]]] = True
    possible[~possible.any(axis=1)] = True
    log_densities[~possible] = -np.inf


def softmax_rows(logs: Array) -> Array:
    """Turn logs into numbers with sum one in each row, in place."""
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return logs
