"""From many clusters to one: the path of merges, settled after each."""

from __future__ import annotations

import numpy as np

from mcgta.kernels.evidence.cluster_evidence import merge_gains
from mcgta.runtime.types import Labels
from mcgta.selection.field import Field
from mcgta.selection.relabelling import Relabelling, drop_small
from mcgta.selection.scoring import Scored, compact, score, switch_cost

_FEW = 8  # clusters, from where on dependence is found anew after each merge; tails are, there and at the start


def merge_path(
    field: Field, labels: Labels, *, temper: float = 1.0, mixed: bool = False, independent: bool = False
) -> list[Scored]:
    """Merge the pair of clusters that costs least evidence, settle, and so on; return every labelling on the way, scored.

    ``temper`` and ``mixed`` are those of :class:`Relabelling`. ``independent`` takes rows of a cluster as independent.
    """
    none = np.zeros(field.d, dtype=np.int64) if independent else None
    labels = drop_small(field, compact(labels), field.d + 2)
    found = score(field, labels, kinds=none)
    path: list[Scored] = []
    while True:
        settling = Relabelling(field, found.kinds, found.tails, temper=temper, mixed=mixed)
        labels = settling.settle(labels, 1 if found.clusters > _FEW + 1 else 4)
        size = int(labels.max()) + 1
        kinds = none if size <= _FEW else found.kinds
        found = score(field, labels, kinds=kinds, tails=None if size == _FEW else found.tails)
        path.append(found)
        if found.clusters == 1:
            return path
        labels = _merged(field, found, temper, mixed)


def merge_down(field: Field, scored: Scored, n_clusters: int) -> Scored:
    """Merge clusters, each time those that cost least evidence, until ``n_clusters`` are left; labels stay otherwise."""
    while scored.clusters > n_clusters:
        scored = score(field, _merged(field, scored, 1.0, mixed=False), kinds=scored.kinds, tails=scored.tails)
    return scored


def _merged(field: Field, found: Scored, temper: float, mixed: bool) -> Labels:
    """Return the labels with the two clusters merged for which the evidence is best."""
    size = found.clusters
    prior = found.marginal(1.0 / temper)[1]
    gains = np.empty((size, size))
    merge_gains(
        found.counts,
        found.sums,
        temper,
        prior.strength,
        prior.closeness,
        prior.middle,
        prior.pooled,
        prior.scales,
        gains,
    )
    if not mixed:
        changes = np.zeros((size, size))
        np.add.at(changes, tuple(found.labels[field.edges].T), 1.0)
        gains += switch_cost(len(field.edges), size) * (changes + changes.T)
    i, j = np.unravel_index(int(gains.argmax()), gains.shape)
    return compact(np.where(found.labels == max(i, j), min(i, j), found.labels))
