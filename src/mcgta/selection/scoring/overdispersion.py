"""Overdispersion: how many observations count as one, where the model is not quite right."""

from __future__ import annotations

import numpy as np

from mcgta.runtime.types import Array, Index
from mcgta.selection.scoring.scored_labelling import ScoredLabelling, close_gaps, fit_clusters, whiten_as_scored
from mcgta.selection.scoring.scoring_data import ScoringData

BLOCK_ROWS = (40, 80, 160)
"""Observations of the blocks that scores are summed over."""


def estimate_overdispersion(scoring_data: ScoringData, scored: ScoredLabelling) -> float:
    """Return how many observations count as one: the variance of scores summed over blocks, over what it is if independent.

    Scores are the derivatives of a row's log density with respect to its cluster's mean and covariance. Under the model they
    are independent; what the model does not know of (slow changes within clusters, other correlations) makes those of a
    block alike. The ratio is averaged over parameters, and the largest of several sizes of blocks is taken.
    """
    whitened = whiten_as_scored(scoring_data, scored)
    fitted = fit_clusters(whitened, scored.labels, scored.tails, scored.marginal()[1])
    clusters = fitted.gaussians
    upper = np.triu_indices(scoring_data.d)
    scores: list[tuple[Index, Array]] = []
    for k in range(scored.n_clusters):
        rows = np.flatnonzero(scored.labels == k)
        centered = whitened.rows[:, rows] - whitened.weights[:, rows] * clusters.means[k][:, None]
        off = (clusters.inverse[k] @ centered).T
        pulled = fitted.weights[rows, None] * off
        both = np.column_stack([pulled, pulled[:, upper[0]] * off[:, upper[1]]])
        scores.append((rows, both - both.mean(axis=0)))
    return max(1.0, *(_variance_ratio(scoring_data, scores, size) for size in BLOCK_ROWS))


def _variance_ratio(scoring_data: ScoringData, scores: list[tuple[Index, Array]], size: int) -> float:
    """Return the variance of scores summed over blocks of ``size`` rows, over that of single ones, averaged over parameters."""
    blocks = scoring_data.blocks(size)
    summed = np.zeros(scores[0][1].shape[1])
    single = np.zeros_like(summed)
    for rows, part in scores:
        block = close_gaps(blocks[rows])
        held = np.bincount(block)
        spread = 1.0 - float((held**2).sum()) / rows.size**2  # what centring takes away
        if spread < 0.5 or rows.size < 3 * scoring_data.d:
            continue
        order = np.argsort(block, kind="stable")
        sums = np.add.reduceat(part[order], np.r_[0, np.cumsum(held)[:-1]], axis=0)
        summed += (sums**2).sum(axis=0) / spread
        single += (part**2).sum(axis=0)
    return float((summed / np.maximum(single, 1e-300)).mean()) if single.any() else 1.0
