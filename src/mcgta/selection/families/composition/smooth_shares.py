"""Shares of kinds that change smoothly with position, without any border: what regions have to explain more than.

Each row belongs to a few anchors, spread evenly over all positions, the more the nearer they are. Anchors have shares of kinds
as regions do, so that shares in between change from those of one anchor to those of the next.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from mcgta.runtime.types import Array, Labels
from mcgta.selection.families.composition.region_model import RegionModel, Shares
from mcgta.selection.families.composition.region_score import RegionScore
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.starts import kmeans_labels

ANCHORS = (2, 3, 4, 6, 9, 13, 18)
"""Numbers of anchors that are tried."""

WIDTHS = (0.7, 1.0)
"""Widths of an anchor's reach that are tried, in root mean square distances of rows from their nearest anchor."""

_STEPS = 40  # of estimating shares and the kinds of rows in turn
_PRIOR_ROWS = 0.5  # of all rows' shares, that each anchor has from the beginning
_LEAST_MEMBERSHIP = 1e-12


def score_smooth_shares(model: RegionModel, seed: int) -> RegionScore:
    """Return what the best of all smooth shares explain beyond those of one region; nothing where positions have no points."""
    best = RegionScore(0.0, model.one_region)
    points = _points(model.scoring_data)
    if points is None:
        return best
    for number in ANCHORS:
        anchors = kmeans_labels(points, number, seed)
        distances = cdist(points, _centres(points, anchors), "sqeuclidean")
        reach = float(distances.min(axis=1).mean())
        for width in WIDTHS:
            near = np.exp(-(distances - distances.min(axis=1, keepdims=True)) / (2.0 * width**2 * max(reach, 1e-300)))
            near = np.maximum(near, _LEAST_MEMBERSHIP)
            scored = _score_memberships(model, near / near.sum(axis=1, keepdims=True))
            if scored.nats > best.nats:
                best = scored
    return best


def _points(scoring_data: ScoringData) -> Array | None:
    """Return positions (N, q) that anchors are spread over: each group is far from the others."""
    places = scoring_data.places
    points = np.arange(len(places), dtype=np.float64)[:, None] if scoring_data.chain else places.points
    if points is None:
        return None
    if scoring_data.chain or len(places.group_names) == 1:
        return np.asarray(points)
    apart = 2.0 * float(np.linalg.norm(np.ptp(points, axis=0)))
    return np.column_stack([points, apart * places.groups])


def _centres(points: Array, labels: Labels) -> Array:
    counts = np.bincount(labels)
    sums = np.stack([np.bincount(labels, column) for column in points.T], axis=1)
    return np.asarray((sums / np.maximum(counts, 1)[:, None])[counts > 0])


def _score_memberships(model: RegionModel, memberships: Array) -> RegionScore:
    """Return what anchors explain that rows belong to with ``memberships`` (N, A), their shares being unknown."""
    shares = np.tile(model.shares, (memberships.shape[1], 1))
    counts = shares
    for _ in range(_STEPS):
        inside = (memberships * (model.likelihoods @ shares.T)).sum(axis=1)
        counts = shares * ((memberships / inside[:, None]).T @ model.likelihoods)
        shares = counts + _PRIOR_ROWS * model.shares
        shares /= shares.sum(axis=1, keepdims=True)
    rows = np.log((memberships * (model.likelihoods @ shares.T)).sum(axis=1))
    nats = float((rows - model.one_region).sum()) + model.occam(Shares(shares, counts))
    return RegionScore(nats, rows)
