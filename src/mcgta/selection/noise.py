"""Noise, assigned to the most probable clusters or taken as a cluster of its own."""

from __future__ import annotations

import numpy as np

from mcgta.clustering.labels import small_to_noise
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.relabelling import Relabeller, absorb_small
from mcgta.selection.sampling import LABELLED_AT_A_TIME_ROWS
from mcgta.selection.scoring.correlation_grid import CorrelationGrid
from mcgta.selection.scoring.feature_scale import Scale
from mcgta.selection.scoring.scored_labelling import ScoredLabelling, close_gaps, score
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.scoring.tails import GAUSSIAN, Tails

NOISE_AS_CLUSTER = "class"
"""Noise is a cluster of its own."""

NOISE_ASSIGNED = "assign"
"""Noise is assigned to the clusters that suit it."""


def assign_noise(features: Array, places: Positions, labels: Labels) -> Labels:
    """Assign noise to clusters, of which there must be one, some observations at a time; all are in canonical order.

    Rows are taken as independent of their neighbours, with the tails that suit the clusters best.
    """
    assigned = labels.copy()
    scale: Scale | None = None
    grid: CorrelationGrid | None = None
    for start in range(0, len(places), LABELLED_AT_A_TIME_ROWS):
        rows = np.arange(start, min(start + LABELLED_AT_A_TIME_ROWS, len(places)))
        inside = labels[rows]
        if (inside >= 0).all() or (inside < 0).all():
            continue
        scoring_data = ScoringData.of(features[rows], places.take(rows), scale=scale, correlation_grid=grid)
        scale = scoring_data.scale
        grid = scoring_data.correlation_grid
        independent = np.zeros(scoring_data.d, dtype=np.int64)
        tails = score(scoring_data, close_gaps(inside + 1), correlations=independent).tails
        assigned[rows] = assign_noise_rows(scoring_data, inside, independent, tails)
    left = np.flatnonzero(assigned < 0)  # parts without any cluster
    if left.size:
        known = np.flatnonzero(assigned >= 0)
        assigned[left] = assigned[known[np.minimum(np.searchsorted(known, left), known.size - 1)]]
    return assigned


def assign_noise_rows(
    scoring_data: ScoringData, labels: Labels, correlations: Index, tails: Tails = GAUSSIAN
) -> Labels:
    """Assign noise to the clusters that suit it; there must be one, and cluster numbers need not be consecutive."""
    rows = np.flatnonzero(labels >= 0)
    present = np.unique(labels[rows])
    nearest = np.minimum(np.searchsorted(rows, np.arange(labels.size)), rows.size - 1)
    relabeller = Relabeller(scoring_data, correlations, tails)
    assigned = relabeller.assign_from(rows, np.searchsorted(present, labels[rows]), nearest)
    return np.where(labels >= 0, labels, present[assigned])


def score_with_noise(
    scoring_data: ScoringData,
    labels: Labels,
    *,
    treatments: tuple[str, ...] = (NOISE_AS_CLUSTER, NOISE_ASSIGNED),
    correlations: Index | None = None,
    tails: Tails | None = None,
) -> dict[str, ScoredLabelling]:
    """Score a labelling, in which negative labels are noise, by each treatment of noise; by one if all come to the same.

    Clusters of fewer than d + 2 rows, too few for a covariance, are noise. So few rows of noise are no cluster of their own,
    either, and go with the nearest that is in one. ``correlations`` and ``tails`` are those of :func:`score`.
    """
    labels = small_to_noise(labels, scoring_data.min_cluster_rows)
    noise = labels < 0
    as_cluster = absorb_small(scoring_data, labels + 1)
    scored = score(scoring_data, as_cluster, correlations=correlations, tails=tails)
    if not noise.any() or noise.all():
        return {NOISE_AS_CLUSTER: scored}
    by_treatment = {NOISE_AS_CLUSTER: scored} if NOISE_AS_CLUSTER in treatments else {}
    if NOISE_ASSIGNED in treatments:
        assigned = assign_noise_rows(scoring_data, labels, scored.correlations, scored.tails)
        by_treatment[NOISE_ASSIGNED] = score(scoring_data, assigned, correlations=correlations, tails=tails)
    return by_treatment
