"""Shares of time: which clusters hold how much of each pixel column of a timeline, and features as envelopes of columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.runtime.types import Array, Index, Labels

GAP_STEPS = 20.0
"""Steps of typical length from which on the time to the next row is a gap, in which nothing is drawn."""

OWN_SHARE = 0.9
"""Share of a column from which on a cluster has it for itself."""

BAND = (0.1, 0.9)
"""Quantiles between which most values of a column lie."""


class Stretch(NamedTuple):
    """Columns that one cluster has for itself: the first, and the one after the last."""

    cluster: int
    begin: int
    end: int


class Envelope(NamedTuple):
    """The course of a feature in the columns that have rows.

    Attributes
    ----------
    times : (M,) middles of the columns
    least, low, mean, high, largest : (M,) of the values in each column, low and high being the quantiles of ``BAND``; NaN in
        an entry that stands for a gap
    """

    times: Array
    least: Array
    low: Array
    mean: Array
    high: Array
    largest: Array


def holding_times(times: Array, step: float) -> Array:
    """Return how long each of ascending, distinct times holds: up to the next one, or a step where that is far off."""
    holds = np.diff(times, append=times[-1:] + step)
    return np.where(holds > GAP_STEPS * step, step, holds)


def shares_of_time(times: Array, labels: Labels, n_clusters: int, edges: Array, step: float) -> Array:
    """Return the (C, K + 1) share of each column of time that each cluster holds, noise last.

    A row holds the time up to the next one; rows at one time share it. Shares of a column add up to one, or to zero where
    the column is empty.

    Parameters
    ----------
    times : (N,) ascending
    labels : (N,) -1 for noise
    edges : (C + 1,) of the columns
    step : time that the last row holds, and that before a gap
    """
    moments, moment = np.unique(times, return_inverse=True)
    holds = holding_times(moments, step)
    crowd = np.bincount(moment)
    part = np.where(labels < 0, n_clusters, labels)
    held = np.zeros((edges.size - 1, n_clusters + 1))
    for k in np.unique(part).tolist():
        own, rows = np.unique(moment[part == k], return_counts=True)
        weight = holds[own] * rows / crowd[own]
        before = np.r_[0.0, np.cumsum(weight)]
        last = np.searchsorted(moments[own], edges, side="right") - 1
        begun = np.maximum(last, 0)
        elapsed = np.clip((edges - moments[own][begun]) / np.maximum(holds[own][begun], np.finfo(float).tiny), 0, 1)
        total = np.where(last < 0, 0.0, before[begun] + weight[begun] * elapsed)
        held[:, k] = np.diff(total)
    occupied = held.sum(axis=1, keepdims=True)
    width = np.diff(edges)[:, None]
    return np.divide(held, occupied, out=np.zeros_like(held), where=occupied > 1e-9 * width)


def wide_stretches(shares: Array, least: int) -> list[Stretch]:
    """Return the stretches of at least so many columns that one cluster has for itself, the widest first."""
    alone = shares >= OWN_SHARE
    alone[:, -1] = False  # noise
    holder = np.where(alone.any(axis=1), alone.argmax(axis=1), -1)
    begins = np.r_[0, np.flatnonzero(np.diff(holder)) + 1]
    ends = np.r_[begins[1:], holder.size]
    chosen = np.flatnonzero((holder[begins] >= 0) & (ends - begins >= least))
    chosen = chosen[np.argsort(-(ends - begins)[chosen], kind="stable")]
    return [Stretch(int(holder[begins[k]]), int(begins[k]), int(ends[k])) for k in chosen.tolist()]


def stack_shares(shares: Array, height: int) -> Index:
    """Return a picture (height, C): in each column the clusters stacked, each as high as its share; -1 where it is empty.

    Every cluster that is there gets at least one pixel, so that rare ones show.
    """
    wanted = np.where(shares > 0, np.maximum(np.rint(shares * height), 1), 0).astype(np.int64)
    largest = wanted.argmax(axis=1)
    filled = shares.sum(axis=1) > 0
    wanted[np.arange(len(shares)), largest] += np.where(filled, height - wanted.sum(axis=1), 0)
    tops = wanted.cumsum(axis=1)
    level = np.arange(height)[:, None]
    cluster = (level[:, :, None] >= tops[None]).sum(axis=2)
    return np.where(filled[None], np.minimum(cluster, shares.shape[1] - 1), -1)


def envelope(times: Array, values: Array, edges: Array, step: float) -> Envelope:
    """Return where the values of a feature lie in each column; at gaps a NaN breaks the course."""
    column = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, edges.size - 2)
    first = np.r_[0, np.flatnonzero(np.diff(column)) + 1]
    counts = np.diff(np.r_[first, times.size])
    middle = 0.5 * (edges[:-1] + edges[1:])[column[first]]
    ascending = values[np.lexsort((values, column))]
    mean = np.add.reduceat(values, first) / counts
    ranks = [first + np.rint(share * (counts - 1)).astype(np.int64) for share in (0.0, *BAND, 1.0)]
    least, low, high, largest = (ascending[rank] for rank in ranks)
    breaks = np.flatnonzero(times[first[1:]] - times[first[1:] - 1] > GAP_STEPS * step) + 1
    parts = [np.insert(part, breaks, np.nan) for part in (least, low, mean, high, largest)]
    return Envelope(np.insert(middle, breaks, middle[breaks]), *parts)


def course(times: Array, values: Array, step: float) -> tuple[Array, Array]:
    """Return times and values with a NaN at each gap, for a line."""
    breaks = np.flatnonzero(np.diff(times) > GAP_STEPS * step) + 1
    return np.insert(times, breaks, times[breaks]), np.insert(values, breaks, np.nan)
