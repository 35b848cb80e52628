"""Regions that overlap: the most probable cluster of each observation, where its surroundings are a mixture.

The labelling with the most evidence is smooth: inside an overlap it cuts where one cluster becomes more common, and so calls
the others wrong, one by one. Given the clusters, fewest labels are wrong if each observation gets the cluster that is most
probable for it: by its features, and by how common each cluster is among its neighbours. How many neighbours that takes is
told by how well they predict: the features of each observation, by the shares of its neighbours' labels, itself left out.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from mcgta.kernels.evidence.shares import local_shares
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.relabelling import cluster_log_densities
from mcgta.selection.scoring.scored_labelling import Gaussians
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.scoring.tails import Tails

OVERLAP_NEIGHBORS = (16, 30, 60, 120, 240)
"""Numbers of neighbours that are tried. Where the fewest predict best borders are sharp, and labels stay as they are."""

MAX_NEIGHBOR_SHARE = 1 / 8
"""Share of a group that its neighbours may be."""

_MEAN_FIELD_STEPS = 20


def resolve_overlap(
    scoring_data: ScoringData, labels: Labels, clusters: Gaussians, correlations: Index, tails: Tails
) -> tuple[Labels, int]:
    """Return the most probable clusters, and by how many neighbours; the labels as they are and 0 where borders are sharp.

    They are also left as they are along time, with one cluster, where position is known by distances only, and where features
    depend on those of neighbours.
    """
    points = scoring_data.places.points
    smallest = int(np.bincount(scoring_data.places.groups).min())
    tried = [count for count in OVERLAP_NEIGHBORS if count <= MAX_NEIGHBOR_SHARE * smallest]
    if scoring_data.chain or points is None or correlations.any() or np.ptp(labels) == 0 or len(tried) < 2:
        return labels, 0
    densities = cluster_log_densities(scoring_data.unwhitened, clusters, tails)
    top = densities.max(axis=1, keepdims=True)
    likely = native(np.exp(densities - top))
    near = _nearest(points, scoring_data.places.groups, tried[-1])
    hard = native(np.eye(likely.shape[1])[labels])
    predicted = [float(np.log((_shares(near, count, hard) * likely).sum(axis=1)).sum()) for count in tried]
    count = tried[int(np.argmax(predicted))]
    if count == tried[0]:
        return labels, 0
    probabilities = hard
    for _ in range(_MEAN_FIELD_STEPS):
        probabilities = _shares(near, count, probabilities) * likely
        probabilities /= probabilities.sum(axis=1, keepdims=True)
    resolved = np.asarray(probabilities.argmax(axis=1), dtype=np.int64)
    if not np.isin(labels, resolved).all():  # no cluster is to be lost on the way
        return labels, 0
    return resolved, count


def _shares(near: Index, count: int, probabilities: Array) -> Array:
    shares = np.empty_like(probabilities)
    local_shares(near, count, probabilities, shares)
    return shares


def _nearest(points: Array, groups: Index, count: int) -> Index:
    """Return the nearest ``count`` rows of each row in its group, itself left out."""
    near = np.empty((len(points), count), dtype=np.int64)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        listed = rows[KDTree(points[rows]).query(points[rows], k=count + 1)[1]]
        own = listed == rows[:, None]
        own[~own.any(axis=1), -1] = True  # many are at one place
        near[rows] = listed[~own].reshape(rows.size, count)
    return near
