"""How a series moves, in two numbers for each feature: its dominant period and its time constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.runtime.types import Array, Index

MIN_STEPS = 8
"""Steps of the shortest run that is looked at."""

_MAX_LAGS = 4096
_LEAST_RUNS = 2  # runs that are at least as long as the longest lag, if there are as many
_NEARLY_HIGHEST = 0.8  # of the highest peak; the first that has it is the period
_SIGNIFICANT = 3.0  # standard errors of an autocorrelation of independent steps
_LEAST_PEAK = 0.1


@dataclass(frozen=True, eq=False)
class MotionSummary:
    """How each feature moves.

    Attributes
    ----------
    periods : (d,) dominant period in the unit of position; nan where there is none
    time_constants : (d,) time in which the envelope of the autocorrelation falls to 1/e; nan where it does not, as far as seen
    """

    periods: Array
    time_constants: Array


def motion_summary(x: Array, step: float, starts: Index | None = None) -> MotionSummary:
    """Summarise the motion of rows (N, d) that are ``step`` apart; a run of neighbours begins at each of ``starts``.

    Examples
    --------
    >>> import numpy as np
    >>> time = np.arange(400) * 0.1
    >>> motion_summary(np.sin(2 * np.pi * time / 2.5)[:, None], 0.1).periods.round(2).tolist()
    [2.5]
    """
    bounds = np.array([0, len(x)]) if starts is None else np.append(starts, len(x))
    correlation, steps = _autocorrelation(x, bounds)
    periods = np.array([_period(column, steps) for column in correlation.T])
    constants = np.array([_e_folding(column) for column in correlation.T])
    return MotionSummary(step * periods, step * constants)


def _autocorrelation(x: Array, bounds: Index) -> tuple[Array, int]:
    """Return the (lags, d) autocorrelation of runs together, up to half of a long run, and the steps that it is from."""
    lengths = np.diff(bounds)
    long = np.sort(lengths)[::-1]
    reference = int(long[min(_LEAST_RUNS, long.size) - 1])
    lags = max(min(reference // 2, _MAX_LAGS), 1)
    sums = np.zeros((lags + 1, x.shape[1]))
    counts = np.zeros(lags + 1)
    steps = 0
    for first, length in zip(bounds[:-1], lengths, strict=True):
        if length < max(MIN_STEPS, lags // 2):
            continue
        run = x[first : first + length] - x[first : first + length].mean(axis=0)
        power = np.abs(np.fft.rfft(run, 2 * length, axis=0)) ** 2
        found = np.fft.irfft(power, axis=0)[: min(lags, length - 1) + 1]
        sums[: len(found)] += found
        counts[: len(found)] += length - np.arange(len(found))
        steps += int(length)
    means = sums / np.maximum(counts, 1.0)[:, None]
    level = means[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(level > 0, means / level, np.nan), steps


def _period(correlation: Array, steps: int) -> float:
    """Return the lag of the first high peak after the first zero, between lags by a parabola; nan where no peak is high."""
    below = correlation < 0
    if not below.any():
        return float("nan")
    first = int(np.argmax(below))
    inner = np.arange(first, correlation.size - 1)
    if inner.size == 0:
        return float("nan")
    peak = (correlation[inner] >= correlation[inner - 1]) & (correlation[inner] > correlation[inner + 1])
    least = max(_NEARLY_HIGHEST * correlation[first:].max(), _SIGNIFICANT / np.sqrt(steps), _LEAST_PEAK)
    high = inner[peak & (correlation[inner] >= least)]
    if high.size == 0:
        return float("nan")
    at = int(high[0])
    before, top, after = correlation[at - 1 : at + 2]
    bend = before - 2 * top + after
    return float(at + 0.5 * (before - after) / bend) if bend < 0 else float(at)


def _e_folding(correlation: Array) -> float:
    """Return the lag at which the largest correlation from there on falls below 1/e; nan where it does not."""
    envelope = np.maximum.accumulate(np.abs(correlation)[::-1])[::-1]
    low = envelope < np.exp(-1)
    if not low.any():
        return float("nan")
    at = int(np.argmax(low))
    drop = envelope[at - 1] - envelope[at]
    return float(at - 1 + (envelope[at - 1] - np.exp(-1)) / drop) if drop > 0 else float(at)
