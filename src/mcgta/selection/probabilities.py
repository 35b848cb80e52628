"""How probable each cluster is for each observation, given the clusters of a labelling."""

from __future__ import annotations

import numpy as np

from mcgta.kernels.evidence.chances import path_chances, sweep_chances
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.cluster_models import ClusterModels, shares_of
from mcgta.selection.field import LISTED, neighbours
from mcgta.selection.relabelling import weigh_agreement
from mcgta.selection.search import PART

_NEIGHBORS_THAT_COUNT = 8
_SWEEPS = 20
_SETTLED = 1e-4  # change of a probability that is none


def membership_probabilities(
    features: Array, places: Positions, labels: Labels, clusters: ClusterModels | None, *, seed: int
) -> Array:
    """Return the (N, K) probabilities of clusters 0 ... K - 1 for observations in canonical order, given a labelling.

    The clusters are taken as known; without any, probabilities are their shares. Noise, labelled -1, has probabilities, too.
    Along time these are sums over all labellings, each change of label at the cost that it has in the search, and with log
    densities over the overdispersion. Elsewhere they are those of a mean field that begins with the labels: neighbours
    suggest their own labels, the more so the more they agree throughout. Along time about as many observations are right as
    the probabilities say; mean fields are too sure of themselves. Where labels are mixed, have little to do with position,
    they are those of a mixture, each observation by itself.
    """
    labels = native(labels, np.int64)
    size = int(labels.max(initial=-1)) + 1
    if size < 2:
        return np.ones((labels.size, size))
    if clusters is None:
        return np.tile(shares_of(labels), (labels.size, 1))
    if clusters.mixed:
        return normalise(clusters.log_densities(features) + clusters.log_shares)
    if places.is_chain:
        return chances_along(clusters, features, places)
    return chances_around(clusters, features, places, labels, seed)


def chances_along(clusters: ClusterModels, features: Array, places: Positions) -> Array:
    """Return probabilities along series."""
    count = len(features)
    enter = np.empty((count, len(clusters)))
    stay = enter if clusters.independent else np.empty((count, len(clusters)))
    for start in range(0, count, PART):
        stop = min(start + PART, count)
        begin = max(start - LISTED, 0)  # with all that the first is predicted from
        rows = np.arange(begin, stop)
        densities = clusters.relabelling(features[rows], places.take(rows)).along(clusters.gaussians)
        for whole, part in zip((stay, enter), densities, strict=True):
            whole[start:stop] = part[start - begin :]
    first = np.r_[True, places.groups[1:] != places.groups[:-1]]
    chances = np.empty((count, len(clusters)))
    path_chances(stay, enter, first, clusters.change_cost, chances)
    return chances


def chances_around(clusters: ClusterModels, features: Array, places: Positions, labels: Labels, seed: int) -> Array:
    """Return probabilities by what is near, in space or by given distances."""
    near = neighbours(places, LISTED + 1)[0]
    if clusters.independent:
        worth = (1.0 / clusters.overdispersion) * clusters.log_densities(features)
    else:
        worth = np.empty((len(features), len(clusters)))
        for start in range(0, len(features), PART):
            part = np.arange(start, min(start + PART, len(features)))
            rows = np.unique(np.append(part, near[part][near[part] >= 0]))  # with all that these are predicted from
            prepared = clusters.relabelling(features[rows], places.take(rows))
            worth[part] = prepared.around(labels[rows], clusters.gaussians)[np.searchsorted(rows, part)]
    leave_out_far(worth, near, labels)
    known = np.flatnonzero(labels >= 0)
    if known.size > PART:
        known = np.sort(np.random.default_rng(seed).permutation(known)[:PART])
    beside = native(near[:, :_NEIGHBORS_THAT_COUNT], np.int64)
    agreement = weigh_agreement(beside[known], labels[known], labels)
    chances = normalise(worth.copy())
    rows = np.flatnonzero(labels >= 0)
    chances[rows] = 0.0
    chances[rows, labels[rows]] = 1.0
    return sweep(worth, beside, agreement, chances)


def sweep(worth: Array, beside: Index, agreement: float, chances: Array) -> Array:
    """Let rows suggest their labels to their neighbours until probabilities change no more; ``chances`` is written to."""
    for _ in range(_SWEEPS):
        if sweep_chances(worth, beside, agreement, chances) < _SETTLED:
            break
    return chances


def leave_out_far(worth: Array, near: Index, labels: Labels) -> None:
    """Make clusters impossible for observations that have none of them near, as the search does; unless all are noise there."""
    possible = np.zeros(worth.shape, dtype=bool)
    for listed in (*near.T, np.arange(labels.size)):
        rows = np.flatnonzero((listed >= 0) & (labels[listed] >= 0))
        possible[rows, labels[listed[rows]]] = True
    possible[~possible.any(axis=1)] = True
    worth[~possible] = -np.inf


def normalise(logs: Array) -> Array:
    """Turn logs into numbers with sum one in each row, in place."""
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return logs
