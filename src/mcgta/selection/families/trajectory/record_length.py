"""The length of records that follow each other in one series, found by the jumps between them.

What a series does next is foretold by an autoregression. Where a new record begins, it does something else, so that the
innovation is large there: always after the same number of steps. Innovations are compared with those just before them, and
their ranks are folded by every length that their autocorrelation suggests (epoch folding): where nothing repeats, the sum over
each place in the fold is of a known gamma distribution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import rankdata

from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array

MIN_RECORD_STEPS = 10
"""Steps that a record has at least."""

MIN_RECORDS = 6
"""Records that a series has at least."""

_MAX_ROWS = 60_000  # that a length is looked for in; the first ones
_MAX_FEATURES = 16  # that innovations are taken of
_LAGS = 8  # of the autoregression
_BEFORE = 5  # innovations just before one, which it is compared with
_TRIED_LENGTHS = 12  # by autocorrelation; halves and thirds of them, too
_MIN_NATS = 12.0  # of the chance that a fold is as uneven where nothing repeats, after all that were looked at
_EQUAL_STEPS = 1e-3  # of a step, by which steps may differ
_TINY = 1e-12


class RecordLength(NamedTuple):
    """Steps of a record, and steps of the series before the first one begins."""

    n_steps: int
    n_steps_before: int


def find_record_length(features: Array, places: Positions) -> RecordLength | None:
    """Find the length of the records in one series of equal steps; None where there is no such thing."""
    count = len(features)
    if count < MIN_RECORDS * MIN_RECORD_STEPS or int(places.group_starts.sum()) > 1:
        return None
    steps = np.diff(places.coordinates[:, 0])
    typical = float(steps.mean())
    if not typical > 0 or np.abs(steps - typical).max() > _EQUAL_STEPS * typical * max(1.0, np.sqrt(count)):
        return None
    count = min(count, _MAX_ROWS)
    features = features[:count]
    columns = np.unique(np.linspace(0, features.shape[1] - 1, _MAX_FEATURES).round().astype(np.int64))
    scores = _surprise_scores(features[:, columns])
    longest = count // MIN_RECORDS
    size = next_fast_len(2 * count, real=True)
    power = np.abs(rfft(scores - scores.mean(), size)) ** 2
    products = irfft(power, size)[: longest + 1] / np.sqrt(count - np.arange(longest + 1))
    products[:MIN_RECORD_STEPS] = -np.inf
    tried = np.argsort(-products, kind="stable")[:_TRIED_LENGTHS]
    lengths = {int(length) // part for length in tried for part in (1, 2, 3) if length % part == 0}
    best_nats = _MIN_NATS + np.log(longest)
    best = None
    for length in sorted(length for length in lengths if length >= MIN_RECORD_STEPS):
        nats, place = _fold(scores, length)
        if nats > best_nats:
            best_nats = nats
            best = RecordLength(length, place)
    return best


def _surprise_scores(features: Array) -> Array:
    """Return (N,) ranks of innovations against those just before, as quantiles of an exponential distribution of mean 1."""
    count = len(features)
    energy = np.zeros(count)
    for column in features.T:
        spread = float(column.std())
        if spread <= _TINY * max(float(np.abs(column).max()), _TINY):
            continue
        x = (column - column.mean()) / spread
        lagged = np.stack([x[_LAGS - lag : count - lag] for lag in range(1, _LAGS + 1)])
        table = lagged @ lagged.T
        weights = np.linalg.solve(table + 1e-6 * count * np.eye(_LAGS), lagged @ x[_LAGS:])
        left = x[_LAGS:] - weights @ lagged
        energy[_LAGS:] += (left / max(float(np.median(np.abs(left))), _TINY)) ** 2
    logs = np.log(energy[_LAGS:] + _TINY)
    summed = np.concatenate([[0.0], np.cumsum(logs)])
    before = (summed[_BEFORE:-1] - summed[: -_BEFORE - 1]) / _BEFORE
    surprises = logs[_BEFORE:] - before
    scores = np.ones(count)
    scores[_LAGS + _BEFORE :] = -np.log1p(-rankdata(surprises) / (surprises.size + 1))
    return scores


def _fold(scores: Array, length: int) -> tuple[float, int]:
    """Return the place in a fold with the largest scores, and minus the log of the chance that there is such a place."""
    places = np.arange(scores.size) % length
    held = np.bincount(places)
    means = np.bincount(places, scores) / held
    # Chernoff's bound of the tail of a gamma distribution
    nats = np.where(means > 1, held * (means - 1 - np.log(np.maximum(means, _TINY))), 0.0)
    place = int(nats.argmax())
    return float(nats[place]) - float(np.log(length)), place
