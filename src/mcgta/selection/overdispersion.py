"""How much of the evidence to believe, where the model is not quite right."""

from __future__ import annotations

import numpy as np

from mcgta.runtime.types import Array, Index
from mcgta.selection.field import Field
from mcgta.selection.scoring import Scored, compact, estimate, fit_tails

BLOCKS = (40, 80, 160)
"""Sizes of the blocks, in observations."""


def estimate_overdispersion(field: Field, scored: Scored) -> float:
    """Return how many observations count as one: the variance of scores summed over blocks, over what it is if independent.

    Scores are the derivatives of a row's log density with respect to its cluster's mean and covariance. Under the model they
    are independent; what the model does not know of (slow changes within clusters, other kinds of dependence) makes those of a
    block alike. The ratio is averaged over parameters, and the largest of several sizes of blocks is taken.
    """
    y, w, _ = field.whiten_by(scored.labels, scored.kinds)
    prior = scored.marginal()[1]
    start = estimate(scored.counts, scored.sums, prior)
    _, clusters, weights = fit_tails(y, w, scored.labels, scored.counts, prior, start, scored.tails)
    upper = np.triu_indices(field.d)
    scores: list[tuple[Index, Array]] = []
    for k in range(scored.clusters):
        rows = np.flatnonzero(scored.labels == k)
        off = (clusters.inverse[k] @ (y[:, rows] - w[:, rows] * clusters.means[k][:, None])).T
        pulled = weights[rows, None] * off
        both = np.column_stack([pulled, pulled[:, upper[0]] * off[:, upper[1]]])
        scores.append((rows, both - both.mean(axis=0)))
    return max(1.0, *(_ratio(field, scores, size) for size in BLOCKS))


def _ratio(field: Field, scores: list[tuple[Index, Array]], size: int) -> float:
    pieces = field.pieces(size)
    summed = np.zeros(scores[0][1].shape[1])
    single = np.zeros_like(summed)
    for rows, part in scores:
        block = compact(pieces[rows])
        held = np.bincount(block)
        spread = 1.0 - float((held**2).sum()) / rows.size**2  # what centring takes away
        if spread < 0.5 or rows.size < 3 * field.d:
            continue
        order = np.argsort(block, kind="stable")
        sums = np.add.reduceat(part[order], np.r_[0, np.cumsum(held)[:-1]], axis=0)
        summed += (sums**2).sum(axis=0) / spread
        single += (part**2).sum(axis=0)
    return float((summed / np.maximum(single, 1e-300)).mean()) if single.any() else 1.0
