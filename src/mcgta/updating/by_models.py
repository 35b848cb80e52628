"""New observations placed by cluster models: along time by Viterbi's algorithm, elsewhere by a mean field.

Labels of the observations of the fit stay as they are, and tell which clusters are near; new observations tell each other, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.kernels.evidence.chances import path_chances
from mcgta.kernels.evidence.relabel import best_path
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.cluster_models import ClusterModels
from mcgta.selection.families.family import FamilyModels
from mcgta.selection.probabilities import family_probabilities, keep_to, mean_field, softmax_rows


class Placed(NamedTuple):
    """Clusters of new observations, (F,), and how probable each cluster is for each, (F, K)."""

    labels: Labels
    probabilities: Array


class SeriesContext:
    """The observations of series, in canonical order, that stand next to new ones in time."""

    def __init__(self, positions: Positions, reach: int) -> None:
        self._positions = positions
        self._reach = reach

    def around(self, new: Positions, groups: Index) -> Index:
        """Return the rows, ascending, before and after new observations; ``groups`` (M,) are codes of the fit, -1 unknown."""
        times = self._positions.coordinates[:, 0]
        steps = np.arange(-self._reach, self._reach)
        rows = [np.empty(0, dtype=np.int64)]
        for code in np.unique(groups[groups >= 0]).tolist():
            first, last = np.searchsorted(self._positions.groups, [code, code + 1])
            later = first + np.searchsorted(times[first:last], new.coordinates[groups == code, 0])
            beside = later[:, None] + steps
            rows.append(beside[(beside >= first) & (beside < last)])
        return np.unique(np.concatenate(rows))


def place_by_models(clusters: ClusterModels | FamilyModels, X: Array, places: Positions, labels: Labels) -> Placed:
    """Place observations that have no label yet, -2; those of the fit have a cluster, or -1 for noise.

    ``X`` (N, d) and ``places`` are of observations of the fit and new ones, in any order.
    """
    order = places.order(X)
    features = X[order]
    positions = places.take(order)
    held = native(np.maximum(labels[order], -1), np.int64)
    if isinstance(clusters, FamilyModels):
        assigned, chances = _by_family(clusters, features, positions, held)
    elif clusters.mixed:
        chances = softmax_rows(clusters.log_densities(features) + clusters.log_shares)
        assigned = chances.argmax(axis=1)
    elif positions.is_chain:
        assigned, chances = _along(clusters, features, positions, held)
    else:
        chances = mean_field(clusters, features, positions, held, certain=True)
        assigned = chances.argmax(axis=1)
    back = np.empty(order.size, dtype=np.int64)
    back[order] = np.arange(order.size)
    new = back[np.flatnonzero(labels == -2)]
    return Placed(np.asarray(assigned[new], dtype=np.int64), chances[new])


def _along(clusters: ClusterModels, features: Array, positions: Positions, held: Labels) -> tuple[Labels, Array]:
    """Return the likeliest labels along series, and probabilities over all paths; known labels are kept to."""
    stay, enter = clusters.relabeller(features, positions).series_log_densities(clusters.gaussians)
    keep_to(stay, held)
    keep_to(enter, held)
    labels = np.empty(held.size, dtype=np.int64)
    best_path(stay, enter, positions.group_starts, clusters.change_cost, labels)
    chances = np.empty(stay.shape)
    path_chances(stay, enter, positions.group_starts, clusters.change_cost, chances)
    return labels, chances


def _by_family(clusters: FamilyModels, features: Array, positions: Positions, held: Labels) -> tuple[Labels, Array]:
    """Return the likeliest labels by the models of a family, and probabilities; known labels are kept to."""
    chances = family_probabilities(clusters, features, positions, held, certain=True)
    if not positions.is_chain:
        return np.asarray(chances.argmax(axis=1)), chances
    densities = native(clusters.row_log_densities(features, positions))
    keep_to(densities, held)
    labels = np.empty(held.size, dtype=np.int64)
    best_path(densities, densities, positions.group_starts, clusters.change_cost, labels)
    return labels, chances
