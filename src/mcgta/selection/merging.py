"""The path of merges from many clusters to one, relabelled after each merge."""

from __future__ import annotations

import numpy as np

from mcgta.kernels.evidence.cluster_evidence import merge_gains
from mcgta.runtime.types import Labels
from mcgta.selection.relabelling import Relabeller, absorb_small
from mcgta.selection.scoring.scored_labelling import ScoredLabelling, change_cost, close_gaps, score
from mcgta.selection.scoring.scoring_data import ScoringData

_FEW_CLUSTERS = 8  # from where on correlations are found anew after each merge; tails are, there and at the start
_FEW_ROUNDS = 4  # of relabelling after a merge into few clusters; otherwise there is one


def merge_path(
    scoring_data: ScoringData,
    labels: Labels,
    *,
    likelihood_weight: float = 1.0,
    mixed: bool = False,
    independent: bool = False,
) -> list[ScoredLabelling]:
    """Merge the pair of clusters that costs least evidence, relabel, and so on; return every labelling on the way, scored.

    ``likelihood_weight`` and ``mixed`` are those of :class:`Relabeller`. ``independent`` takes rows of a cluster as
    independent.
    """
    given = np.zeros(scoring_data.d, dtype=np.int64) if independent else None
    labels = absorb_small(scoring_data, labels)
    scored = score(scoring_data, labels, correlations=given, quick=True)
    path: list[ScoredLabelling] = []
    while True:
        relabeller = Relabeller(scoring_data, scored.correlations, scored.tails, likelihood_weight, mixed)
        rounds = 1 if scored.n_clusters > _FEW_CLUSTERS + 1 else _FEW_ROUNDS
        labels = relabeller.relabel_until_stable(labels, rounds)
        size = int(labels.max()) + 1
        correlations = given if size <= _FEW_CLUSTERS else scored.correlations
        tails = None if size == _FEW_CLUSTERS else scored.tails
        scored = score(scoring_data, labels, correlations=correlations, tails=tails, quick=True)
        path.append(scored)
        if scored.n_clusters == 1:
            return path
        labels = _merge_two(scoring_data, scored, likelihood_weight, mixed=mixed)


def merge_down(scoring_data: ScoringData, scored: ScoredLabelling, n_clusters: int) -> ScoredLabelling:
    """Merge clusters, each time those that cost least evidence, until ``n_clusters`` are left; labels stay otherwise."""
    while scored.n_clusters > n_clusters:
        labels = _merge_two(scoring_data, scored)
        scored = score(scoring_data, labels, correlations=scored.correlations, tails=scored.tails, quick=True)
    return scored


def _merge_two(
    scoring_data: ScoringData, scored: ScoredLabelling, likelihood_weight: float = 1.0, *, mixed: bool = False
) -> Labels:
    """Return the labels with the two clusters merged for which the evidence is best."""
    size = scored.n_clusters
    prior = scored.marginal(1.0 / likelihood_weight)[1]
    by = (prior.strength, prior.closeness, prior.middle, prior.pooled, prior.scales)
    gains = np.empty((size, size))
    merge_gains(scored.counts, scored.sums, likelihood_weight, *by, gains)
    if not mixed:
        changes = np.zeros((size, size))
        np.add.at(changes, tuple(scored.labels[scoring_data.edges].T), 1.0)
        gains += change_cost(len(scoring_data.edges), size) * (changes + changes.T)
    i, j = np.unravel_index(int(gains.argmax()), gains.shape)
    return close_gaps(np.where(scored.labels == max(i, j), min(i, j), scored.labels))
