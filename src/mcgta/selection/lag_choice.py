"""How many lags local models take along time, chosen by evidence: whether pieces of the series move in their own ways.

The series are cut into pieces as long as a neighbourhood. In each piece an observation y follows its L predecessors z by a
linear regression with a level and a covariance of its own::

    y = level + (B + A) z + noise,   A ~ matrix normal of mean 0 and covariances (V^-1 / k, noise)

B is the regression pooled over all pieces, V the pooled covariance of z, and the noise has an inverse Wishart prior around the
pooled one. All but k is integrated out. With k infinite every piece moves in the same way, and lags have nothing to tell. So
lags are taken only where some finite k has clearly more evidence than all pieces moving alike, by however many lags; and then
as many as have most of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index
from mcgta.selection.choice import CLOSE_NATS

LAGS_TRIED = (1, 2, 3)
"""Lags to try beside none."""

MAX_STACKED_FEATURES = 16
"""Features with their lags, beyond which local models would have too many numbers to be estimated from a neighbourhood."""

PIECE_ROWS = 40
"""Observations of a piece."""

STRENGTHS = (2.0, 5.0, 12.0, 30.0)
"""Strengths k of the prior of a piece's own way to move, in observations."""

_RIDGE = 1e-6  # of the pooled variance of each feature


class LagEvidence(NamedTuple):
    """Log evidence, in nats, of pieces that move in their own ways, and of pieces that all move alike."""

    own: float
    alike: float


def choose_lags(X: Array, positions: Positions) -> int:
    """Return how many lags to stack on features (N, d) in canonical order; none where positions are not times."""
    d = X.shape[1]
    tried = [lags for lags in LAGS_TRIED if d * (lags + 1) <= MAX_STACKED_FEATURES]
    if not positions.is_chain or not tried:
        return 0
    pieces = _cut_pieces(positions, max(tried))
    spread = X.std(axis=0)
    if len(pieces) < 2 or not (spread > 0).all():
        return 0
    scaled = (X - X.mean(axis=0)) / spread
    found = {lags: lag_evidence(scaled, pieces, lags) for lags in tried}
    best = max(tried, key=lambda lags: found[lags].own)
    alike = max(evidence.alike for evidence in found.values())
    return best if found[best].own > alike + CLOSE_NATS else 0


def lag_evidence(X: Array, pieces: list[Index], lags: int) -> LagEvidence:
    """Return the evidence of pieces, rows of features (N, d) that have ``lags`` predecessors each."""
    d = X.shape[1]
    targets = [X[rows] - X[rows].mean(axis=0) for rows in pieces]
    before = [np.concatenate([X[rows - lag] for lag in range(1, lags + 1)], axis=1) for rows in pieces]
    before = [part - part.mean(axis=0) for part in before]
    count = sum(len(rows) for rows in pieces)
    spread = sum(z.T @ z for z in before) / count + _RIDGE * np.eye(d * lags)
    pooled = np.linalg.solve(spread, sum(z.T @ y for z, y in zip(before, targets, strict=True)) / count)
    residuals = [y - z @ pooled for z, y in zip(before, targets, strict=True)]
    noise = sum(r.T @ r for r in residuals) / count + _RIDGE * np.eye(d)
    paid = 0.5 * d * d * lags * np.log(count)  # for the pooled regression
    prior = d + 2.0
    alike = 0.0
    own = np.zeros(len(STRENGTHS))
    for z, r in zip(before, residuals, strict=True):
        freedom = 0.5 * (prior + len(r) - 1)
        around = prior * noise
        alike -= freedom * _log_det(around + r.T @ r)
        for at, strength in enumerate(STRENGTHS):
            penalised = z.T @ z + strength * spread
            gained = r.T @ z @ np.linalg.solve(penalised, z.T @ r)
            own[at] -= freedom * _log_det(around + r.T @ r - gained)
            own[at] -= 0.5 * d * (_log_det(penalised) - _log_det(strength * spread))
    return LagEvidence(float(own.max() - paid), float(alike - paid))


def _cut_pieces(positions: Positions, most_lags: int) -> list[Index]:
    """Return the rows of pieces of series, those that have so many predecessors in their series."""
    starts = np.flatnonzero(positions.group_starts)
    ends = np.r_[starts[1:], len(positions)]
    pieces: list[Index] = []
    for start, end in zip(starts + most_lags, ends, strict=True):
        number = (end - start) // PIECE_ROWS
        if number > 0:
            pieces.extend(np.array_split(np.arange(start, end), number))
    return pieces


def _log_det(matrix: Array) -> float:
    return float(np.linalg.slogdet(matrix)[1])
