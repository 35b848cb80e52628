"""Series without states: what depends on the past, wanders, is calm or wild, or has a season and a trend, but never switches.

Each maker takes a seed and a number of steps, and returns a problem with one cluster.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.signal import lfilter

from mcgta.runtime.types import Array
from problems.problem import Problem
from problems.sources import Made, Source

CORRELATION = 0.95  # of consecutive steps of the autoregression
VOLATILITY_CORRELATION = 0.95  # of consecutive logarithms of the variance
LOG_VARIANCE_SPREAD = 0.8  # standard deviation of the logarithm of the variance
PERIODS_STEPS = (40, 120)  # of the season
TREND_RISE = 4.0  # from first to last step, in standard deviations of the noise
SEASON_HEIGHT = 2.0  # in standard deviations of the noise
NOISE_CORRELATION = 0.5  # of consecutive steps of what is left when season and trend are taken away
STEPS = 2000


def autoregression(seed: int, count: int, *, d: int) -> Problem:
    """Features that each keep 0.95 of their value from step to step, in their stationary distribution from the start."""
    return _one(_autoregress(np.random.default_rng(seed), count, d, CORRELATION))


def random_walk(seed: int, count: int, *, d: int) -> Problem:
    """Features that each add a standard normal number a step."""
    return _one(np.random.default_rng(seed).normal(size=(count, d)).cumsum(axis=0))


def stochastic_volatility(seed: int, count: int, *, d: int) -> Problem:
    """White noise whose standard deviation, common to all features, comes and goes: its logarithm is an autoregression."""
    rng = np.random.default_rng(seed)
    log_variance = LOG_VARIANCE_SPREAD * _autoregress(rng, count, 1, VOLATILITY_CORRELATION)
    return _one(np.exp(0.5 * log_variance) * rng.normal(size=(count, d)))


def season_with_trend(seed: int, count: int, *, d: int) -> Problem:
    """A sine of one period with a phase for each feature, a straight line up or down, and autoregressive noise."""
    rng = np.random.default_rng(seed)
    steps = np.arange(count)[:, None]
    phase = rng.uniform(0.0, 2.0 * np.pi, d)
    season = SEASON_HEIGHT * np.sin(2.0 * np.pi * steps / rng.uniform(*PERIODS_STEPS) + phase)
    trend = TREND_RISE * rng.choice([-1.0, 1.0], d) * steps / count
    return _one(season + trend + _autoregress(rng, count, d, NOISE_CORRELATION))


def _autoregress(rng: np.random.Generator, count: int, d: int, correlation: float) -> Array:
    """Return stationary autoregressions (count, d) of variance one."""
    shocks = np.sqrt(1.0 - correlation**2) * rng.normal(size=(count, d))
    shocks[0] = rng.normal(size=d)
    return np.asarray(lfilter([1.0], [1.0, -correlation], shocks, axis=0))


def _one(X: Array) -> Problem:
    return Problem(X, None, np.zeros(len(X), dtype=np.int64))


NULLS: dict[str, Source] = {
    f"null-{name}-{d}": Made(partial(make, d=d), STEPS)
    for name, make in (
        ("ar95", autoregression),
        ("walk", random_walk),
        ("volatility", stochastic_volatility),
        ("season", season_with_trend),
    )
    for d in (3, 1)
}
"""Each with three features and with one."""
