"""Labels that come back with a period: phases of a cycle, which are no states.

A wave that is cut by its level has a label for its hills and one for its valleys. Such labels agree with themselves one
period later more than half a period later, and again after two periods; labels of states agree the less the later it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.runtime.types import Array, Index, Labels, Mask

MIN_CYCLES = 8
"""Periods that a series has to hold for its labels to be called phases of a cycle."""

MIN_REGULARITY = 0.25
"""Rise of the agreement of labels, from its trough to one and to two periods later, from which on they may be phases."""

CLEAR_RATIO = 1.3
"""Regularity over the largest that irregular labels have by chance, from which on they are phases."""

_SURROGATES = 19  # of each kind
_IRREGULARITY = 0.3  # standard deviation of the logs of how long runs last, where states are irregular
_MAX_ROWS = 20_000  # of labels that are looked at, evenly spaced
_TRIED_LAGS = 50


class Cycle(NamedTuple):
    """How labels recur.

    Attributes
    ----------
    period : in rows
    regularity : by how much the agreement of labels rises one and two periods later
    by_chance : the largest regularity of the same runs in random order, and of runs in this order that last irregularly
    """

    period: int
    regularity: float
    by_chance: float = 0.0

    @property
    def is_clear(self) -> bool:
        """Whether labels are phases of a cycle."""
        return self.regularity >= max(MIN_REGULARITY, CLEAR_RATIO * self.by_chance)


def find_cycle(labels: Labels, starts: Mask, *, seed: int = 0) -> Cycle:
    """Return the clearest cycle in labels along series, which begin at ``starts`` (N,)."""
    every = -(-labels.size // _MAX_ROWS)
    series = [part[::every] for part in np.split(labels, np.flatnonzero(starts)[1:])]
    cycle = _clearest_cycle(series)
    if cycle.regularity < MIN_REGULARITY:
        return cycle._replace(period=every * cycle.period)
    rng = np.random.default_rng(seed)
    by_chance = 0.0
    for irregular in (_shuffle_runs, _redraw_lengths):
        for _ in range(_SURROGATES):
            by_chance = max(by_chance, _clearest_cycle([irregular(part, rng) for part in series]).regularity)
    return Cycle(every * cycle.period, cycle.regularity, by_chance)


def _runs(labels: Labels) -> tuple[Labels, Index]:
    """Return the label of each run, and how many rows it has."""
    begins = np.r_[0, np.flatnonzero(np.diff(labels)) + 1]
    return labels[begins], np.diff(np.r_[begins, labels.size])


def _shuffle_runs(labels: Labels, rng: np.random.Generator) -> Labels:
    """Return the runs of labels in random order."""
    states, lengths = _runs(labels)
    order = rng.permutation(states.size)
    return np.repeat(states[order], lengths[order])


def _redraw_lengths(labels: Labels, rng: np.random.Generator) -> Labels:
    """Return labels that follow each other as they do, each for a time that is irregular about the mean of its label."""
    states, lengths = _runs(labels)
    means = (np.bincount(states, lengths) / np.maximum(np.bincount(states), 1))[states]
    drawn = means * np.exp(_IRREGULARITY * rng.normal(size=states.size))
    return np.repeat(states, np.maximum(1, np.rint(drawn)).astype(np.int64))


def _clearest_cycle(series: list[Labels]) -> Cycle:
    """Return the lag at which labels of series agree again most clearly."""
    longest = max(part.size for part in series) // MIN_CYCLES
    none = Cycle(0, 0.0)
    if longest < 2 or max(map(np.max, series)) == min(map(np.min, series)):
        return none
    agreement = label_agreement(series, 2 * longest)
    rise = (agreement - np.minimum.accumulate(agreement))[: longest + 1]
    best = none
    for lag in np.argsort(-rise, kind="stable")[:_TRIED_LAGS].tolist():
        if lag < 2:
            continue
        around = max(1, lag // MIN_CYCLES)
        second = float(agreement[2 * lag - around : 2 * lag + around + 1].max() - agreement[lag : 2 * lag].min())
        regularity = min(float(rise[lag]), second)
        if regularity > best.regularity:
            best = Cycle(lag, regularity)
    return best


def label_agreement(series: list[Labels], longest: int) -> Array:
    """Return how often labels agree with those some rows later, for lags 0 ... ``longest``: 1 always, 0 as by chance.

    This is Cohen's kappa of labels and later labels, over the pairs within series.
    """
    counts = np.bincount(np.concatenate(series))
    by_chance = float(((counts / counts.sum()) ** 2).sum())
    same = np.zeros(longest + 1)
    pairs = np.zeros(longest + 1)
    for part in series:
        reach = min(longest, part.size - 1)
        pairs[: reach + 1] += part.size - np.arange(reach + 1)
        for k in np.unique(part):
            same[: reach + 1] += _self_products(part == k, reach)
    agreed = same / np.maximum(pairs, 1.0)
    return np.where(pairs > 0, (agreed - by_chance) / (1.0 - by_chance), 0.0)


def _self_products(inside: Mask, reach: int) -> Array:
    """Return how many rows are inside together with the row some later, for lags 0 ... ``reach``."""
    size = 1 << int(np.ceil(np.log2(inside.size + reach + 1)))
    spectrum = np.fft.rfft(inside.astype(np.float64), size)
    products: Array = np.fft.irfft(spectrum * spectrum.conj(), size)
    return products[: reach + 1]


def cycle_in_steps(cycle: Cycle, times: Array, starts: Mask) -> float:
    """Return the period of a cycle in the unit of time, by the median step of the series."""
    steps = np.diff(times)[~starts[1:]]
    return float(cycle.period * np.median(steps)) if steps.size else float(cycle.period)
