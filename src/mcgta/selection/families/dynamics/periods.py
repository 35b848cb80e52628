"""The period of a series, which sets the scales at which its motion is looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.runtime.types import Array
from mcgta.selection.families.dynamics.regular import RegularSeries

PARTS = 8
"""Parts of a series whose autocorrelations are averaged."""

_NEARLY_HIGHEST = 0.8  # of the highest peak; the first peak that has it is the period


class Period(NamedTuple):
    """A period in steps, and the mean autocorrelation at it."""

    steps: int
    correlation: float


def dominant_period(series: RegularSeries) -> Period:
    """Return the period: the first high peak of the mean autocorrelation after its first zero.

    Where the autocorrelation never falls to zero it is a quarter of a part.
    """
    longest = int(np.median(np.repeat(series.lengths, series.lengths)))
    length = max(min(len(series) // PARTS, longest), 4)
    correlation = _mean_autocorrelation(series, length)
    half = length // 2
    first = max(int(np.argmax(correlation < 0)), 1)
    if first >= half or not (correlation < 0).any():
        return Period(max(length // 4, 2), 0.0)
    found = correlation[first:half]
    inner = np.arange(first, half - 1)
    high = (
        (correlation[inner] >= correlation[inner - 1])
        & (correlation[inner] >= correlation[inner + 1])
        & (correlation[inner] >= _NEARLY_HIGHEST * found.max())
    )
    steps = int(inner[np.argmax(high)]) if high.any() else first + int(found.argmax())
    return Period(steps, float(correlation[steps]))


def _mean_autocorrelation(series: RegularSeries, length: int) -> Array:
    """Return the (length,) autocorrelation, averaged over channels and parts of that length; shrunk towards 0 at long lags."""
    total = np.zeros(length)
    for start, end in zip(series.starts[:-1], series.starts[1:], strict=True):
        count = (end - start) // length
        if count == 0:
            continue
        parts = series.values[start : start + count * length].reshape(count, length, -1)
        parts = parts - parts.mean(axis=1, keepdims=True)
        power = np.abs(np.fft.rfft(parts, 2 * length, axis=1)) ** 2
        found = np.fft.irfft(power, axis=1)[:, :length]
        total += (found / np.maximum(found[:, :1], np.finfo(float).tiny)).mean(axis=2).sum(axis=0)
    return total / max(total[0], np.finfo(float).tiny)
