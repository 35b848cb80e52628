"""A view of motion: one length of blocks, one random draw of features, and the slow directions among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.kernels.motion.features import motion_features
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index
from mcgta.selection.families.dynamics.regular import RegularSeries
from mcgta.selection.families.dynamics.slow import find_slow_directions

FILTERS = 200
"""Random filters of a view."""

TAPS = 9
"""Weights of a filter."""

MAX_CHANNELS = 6
"""Channels that are looked at; of more features their leading principal components."""

_ORDER = 8  # of the pooled autoregression
_DENSE_LAGS = 12
_SPREAD_LAGS = 24
_QUANTILES = np.linspace(0.1, 0.9, 33)
_THRESHOLD_STEPS = 500  # that thresholds are quantiles of
_CLIP = 4.0  # standard deviations of an innovation
_RIDGE = 1e-5
_AMPLITUDE_FLOOR = 1.0  # of a channel's variance, added to its local one
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class MotionView(Archived):
    """How a step of a series is turned into a few numbers, whose means over blocks tell states apart.

    Attributes
    ----------
    width : steps of a block; the moving mean over twice as many is subtracted first
    centers : (d,) subtracted from features
    channels : (d, c) that these are then projected on
    taps, dilations, mixtures, thresholds : (n, 9), (n,), (n, c) and (n,) of the filters
    lags : of the products of a channel with itself
    past : (p, c, c) coefficients of the pooled autoregression, of the channel that is foretold last
    innovation_spreads : (c,) standard deviations of its innovations
    offset : (J,) subtracted from a step's projections
    directions : (F, J) that the features of a step are projected on
    ratios : (J,) variance of the states' means over that of a block's noise, which is 1
    """

    width: int
    centers: Array
    channels: Array
    taps: Array
    dilations: Index
    mixtures: Array
    thresholds: Array
    lags: Index
    past: Array
    innovation_spreads: Array
    offset: Array
    directions: Array
    ratios: Array

    @property
    def reach(self) -> int:
        """Steps before and after a step that its projections depend on."""
        inner = max(int(self.dilations.max()) * (TAPS // 2), int(self.lags.max(initial=0)), len(self.past))
        return inner + 2 * self.width + 1  # of the moving mean, and of the moving mean square

    def project(self, series: RegularSeries) -> Array:
        """Return the (J, T) projections of steps; their mean over a block is what the block is judged by."""
        motion = _Motion.of(series, self.width, self.centers, self.channels)
        out = np.zeros((self.ratios.size, len(series)))
        self._run(motion, series, np.empty((0, 0)), out)
        return out - self.offset[:, None]

    def _run(self, motion: _Motion, series: RegularSeries, sums: Array, out: Array) -> None:
        motion_features(
            motion.x,
            motion.innovations(self.past, self.innovation_spreads, series.starts),
            native(series.starts, np.int64),
            self.width,
            native(self.taps),
            native(self.dilations, np.int64),
            native(self.mixtures),
            native(self.thresholds),
            native(self.lags, np.int64),
            len(self.past),
            native(self.directions),
            sums,
            out,
        )


class DrawnView(NamedTuple):
    """A view with the blocks that it was made from.

    Attributes
    ----------
    view : the view
    blocks : (M, J) means of projections over blocks
    starts : (M,) first step of each block
    pieces : (M,) piece of the series that each is in
    """

    view: MotionView
    blocks: Array
    starts: Index
    pieces: Index


def draw_view(series: RegularSeries, width: int, rng: np.random.Generator) -> DrawnView:
    """Draw the features of a view at random, and find its slow directions."""
    centers = series.values.mean(axis=0)
    channels = _channels(series, width, centers)
    motion = _Motion.of(series, width, centers, channels)
    order = min(_ORDER, width)
    past = motion.autoregression(order, series.starts)
    spreads = motion.innovations(past, np.ones(len(motion.x)), series.starts, clip=False).std(axis=1) + _TINY
    taps, dilations, mixtures = _draw_filters(motion.x.shape[0], width, rng)
    thresholds = motion.thresholds(taps, dilations, mixtures, series.starts, rng)
    dense = np.arange(min(width, _DENSE_LAGS))
    lags = np.unique(np.append(dense, np.rint(np.linspace(0, width, _SPREAD_LAGS)))).astype(np.int64)
    count = FILTERS + lags.size * len(channels.T) + order * channels.shape[1] ** 2 + channels.shape[1]
    none = np.zeros((count, 0))
    view = MotionView(
        width,
        centers,
        channels,
        taps,
        dilations,
        mixtures,
        thresholds,
        lags,
        past,
        spreads,
        np.empty(0),
        none,
        np.empty(0),
    )
    per_piece = series.lengths // width
    sums = np.empty((int(per_piece.sum()), count))
    view._run(motion, series, sums, np.empty((0, 0)))
    pieces = np.repeat(np.arange(per_piece.size), per_piece)
    inside = np.arange(len(sums)) - np.repeat(np.cumsum(per_piece) - per_piece, per_piece)
    starts = series.starts[pieces] + inside * width
    means = sums / width
    slow = find_slow_directions(means, pieces, rng)
    blocks = (means - slow.offset) @ slow.directions
    made = MotionView(
        width,
        centers,
        channels,
        taps,
        dilations,
        mixtures,
        thresholds,
        lags,
        past,
        spreads,
        slow.offset @ slow.directions,
        slow.directions,
        slow.ratios,
    )
    return DrawnView(made, native(blocks), starts, pieces)


def _channels(series: RegularSeries, width: int, centers: Array) -> Array:
    """Return the (d, c) that features are projected on: each over its spread of motion, or their principal components."""
    x = high_pass(series.values - centers, series.starts, 2 * width)
    scaled = np.diag(1 / (x.std(axis=0) + _TINY))
    if scaled.shape[0] <= MAX_CHANNELS:
        return scaled
    x = x @ scaled
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    leading = vectors[:, ::-1][:, :MAX_CHANNELS]
    return np.asarray(scaled @ leading / np.sqrt(values[::-1][:MAX_CHANNELS] + _TINY))


def high_pass(x: Array, starts: Index, width: int) -> Array:
    """Subtract the moving mean over an odd number of steps, about ``width``; fewer at the ends of a piece."""
    half = width // 2
    sums = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])
    steps = np.arange(len(x))
    lengths = np.diff(starts)
    low = np.maximum(steps - half, np.repeat(starts[:-1], lengths))
    high = np.minimum(steps + half + 1, np.repeat(starts[1:], lengths))
    return np.asarray(x - (sums[high] - sums[low]) / (high - low)[:, None])


def _draw_filters(channels: int, width: int, rng: np.random.Generator) -> tuple[Array, Index, Array]:
    """Draw taps that sum to zero, dilations by powers of two up to the length of a block, and mixtures of channels."""
    powers = int(np.log2(max((width - 1) // (TAPS - 1), 1))) + 1
    dilations = 2 ** rng.integers(0, powers, FILTERS)
    taps = rng.normal(size=(FILTERS, TAPS))
    taps -= taps.mean(axis=1, keepdims=True)
    mixtures = np.ones((FILTERS, 1))
    if channels > 1:
        mixtures = rng.normal(size=(FILTERS, channels)) * (rng.random((FILTERS, channels)) < 0.5)
        mixtures[~mixtures.any(axis=1), 0] = 1.0
    return taps, dilations.astype(np.int64), mixtures


class _Motion(NamedTuple):
    """The channels (c, T) of a series without its slow mean, over their local amplitude."""

    x: Array

    @classmethod
    def of(cls, series: RegularSeries, width: int, centers: Array, channels: Array) -> _Motion:
        moved = high_pass(series.values - centers, series.starts, 2 * width) @ channels
        # Channels have variance 1 in the fit. Amplitudes that come and go are no way of moving.
        squares = moved**2
        local = squares - high_pass(squares, series.starts, 2 * width)
        return cls(native((moved / np.sqrt(_AMPLITUDE_FLOOR + np.maximum(local, 0.0))).T))

    def _lagged(self, lag: int, starts: Index) -> Array:
        """Return the channels ``lag`` steps ago, 0 before a piece begins."""
        out = np.zeros_like(self.x)
        out[:, lag:] = self.x[:, :-lag]
        for shift in range(lag):
            early = starts[:-1] + shift
            out[:, early[early < self.x.shape[1]]] = 0.0
        return out

    def autoregression(self, order: int, starts: Index) -> Array:
        """Return the coefficients (order, c, c) of a regression of each step on those before, with a small ridge."""
        channels, steps = self.x.shape
        past = np.concatenate([self._lagged(lag, starts) for lag in range(1, order + 1)])
        gram = past @ past.T + _RIDGE * steps * np.eye(len(past))
        return np.asarray(np.linalg.solve(gram, past @ self.x.T)).reshape(order, channels, channels)

    def innovations(self, past: Array, spreads: Array, starts: Index, *, clip: bool = True) -> Array:
        """Return what the past does not foretell (c, T), over its spread and clipped."""
        left = self.x.copy()
        for lag in range(1, len(past) + 1):
            left -= past[lag - 1].T @ self._lagged(lag, starts)
        left /= spreads[:, None]
        return native(np.clip(left, -_CLIP, _CLIP) if clip else left)

    def thresholds(
        self, taps: Array, dilations: Index, mixtures: Array, starts: Index, rng: np.random.Generator
    ) -> Array:
        """Return for each filter a random quantile of what it gives at some steps."""
        count = self.x.shape[1]
        some = np.arange(0, count, max(1, count // _THRESHOLD_STEPS))
        piece = np.searchsorted(starts, some, side="right") - 1
        low = starts[piece]
        high = starts[piece + 1] - 1
        thresholds = np.empty(len(taps))
        which = rng.integers(0, _QUANTILES.size, len(taps))
        for dilation in np.unique(dilations):
            own = np.flatnonzero(dilations == dilation)
            reach = dilation * (np.arange(TAPS) - TAPS // 2)
            at = np.clip(some[:, None] + reach, low[:, None], high[:, None])
            mixed = np.tensordot(mixtures[own], self.x[:, at], axes=1)
            given = np.einsum("fsk,fk->fs", mixed, taps[own])
            thresholds[own] = np.quantile(given, _QUANTILES, axis=1)[which[own], np.arange(own.size)]
        return thresholds
