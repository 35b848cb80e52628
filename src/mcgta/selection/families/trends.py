"""One cluster with a trend and a season: the rival of clusters that a steady change, or a cycle, is cut into."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.scoring.scored_labelling import ScoredLabelling, score
from mcgta.selection.scoring.scoring_data import ScoringData

HARMONICS = 2
"""Sines and cosines of the season: its period, and parts of it."""

_FINER = 8  # times that frequencies are nearer to each other than a series tells apart


class Trend(NamedTuple):
    """One cluster with a trend and a season: nats over one cluster without, and the period in the unit of position."""

    gain: float
    period: float


def one_with_trend(
    scoring_data: ScoringData, one: ScoredLabelling, overdispersion: float, correlations: Index | None
) -> Trend:
    """Score one cluster whose mean is a straight line with a season, along time.

    What is left of the features by least squares is scored as ``one`` was, and each coefficient costs half the log of the
    number of rows that count (Schwarz 1978).
    """
    times = scoring_data.places.coordinates[:, 0]
    period = dominant_period(scoring_data.X, times)
    regressors = trend_regressors(times, period)
    coefficients = np.linalg.lstsq(regressors, scoring_data.X.T, rcond=None)[0]
    left = replace(scoring_data, X=native(scoring_data.X - (regressors @ coefficients).T))
    labels: Labels = np.zeros(len(scoring_data), dtype=np.int64)
    scored = score(left, labels, correlations=correlations)
    # The mean is a coefficient of one cluster without a trend, too; the period is one more.
    added = scoring_data.d * (regressors.shape[1] - 1) + 1
    cost = 0.5 * added * np.log(max(len(scoring_data) / overdispersion, 2.0))
    return Trend(scored.log_evidence(overdispersion) - one.log_evidence(overdispersion) - float(cost), period)


def trend_regressors(times: Array, period: float) -> Array:
    """Return the (N, q) regressors: one, time, and sines and cosines of the season."""
    span = max(float(np.ptp(times)), np.finfo(float).tiny)
    columns = [np.ones_like(times), (times - times.mean()) / span]
    for harmonic in range(1, HARMONICS + 1):
        angle = 2.0 * np.pi * harmonic * times / period
        columns += [np.sin(angle), np.cos(angle)]
    return np.column_stack(columns)


def dominant_period(X: Array, times: Array) -> float:
    """Return the period of the strongest sine in features (d, N) without their straight lines.

    Rows are taken to follow each other at the mean step; groups, one after the other, are one series for this.
    """
    count = X.shape[1]
    line = trend_regressors(np.arange(count, dtype=np.float64), 1.0)[:, :2]
    left = X - (line @ np.linalg.lstsq(line, X.T, rcond=None)[0]).T
    size = _FINER * count
    power = (np.abs(np.fft.rfft(left, size, axis=1)) ** 2).sum(axis=0)
    power[: 2 * _FINER] = 0.0  # less than two periods are no season
    steps = size / max(int(power.argmax()), 1)
    step = float(np.median(np.diff(times))) if count > 1 else 1.0
    return steps * (step if step > 0 else 1.0)
