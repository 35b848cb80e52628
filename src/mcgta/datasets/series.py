"""How a synthetic series is drawn, segment by segment, in memory that does not grow with its length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.datasets.covariances import draw, make_covariances, perturb
from mcgta.datasets.knobs import check_knobs
from mcgta.datasets.sample import CHUNK, Rows, split_normals
from mcgta.runtime.types import Array

LENGTH = 1000  # where neither the length nor the number of segments is given
_PERSISTENCE = 0.97  # of the logarithm of the volatility


@dataclass(frozen=True)
class SeriesRecipe:
    """The knobs of :func:`mcgta.datasets.make_series`, checked."""

    n_samples: int | None = None
    n_segments: int | tuple[int, int] | None = None
    n_clusters: int = 5
    n_features: int = 5
    segment_lengths: tuple[int, int] = (6, 30)
    repeats: bool = False
    batch: int = 5
    noise: float = 0.005
    noise_limit: float | None = 0.1
    separation: float = 1.0
    log_scale: float = 1.2
    shift: float = 0.0
    correlation: float = 0.0
    tails: float | None = None
    volatility: float = 0.0
    random_state: Any = 0

    def __post_init__(self) -> None:
        check_knobs({name: getattr(self, name) for name in self.__dataclass_fields__})
        if self.n_samples is not None and self.n_segments is not None:
            raise ValueError(
                f"n_samples={self.n_samples} and n_segments={self.n_segments}: give one of them; the other follows from it"
            )

    def begin(self) -> tuple[Array, Iterator[Rows]]:
        """Return the clusters' covariances, and the rows in pieces."""
        rng = np.random.default_rng(self.random_state)
        # Scales and means have numbers of their own: all other draws are the same with and without them.
        (scale_rng,) = rng.spawn(1)
        (mean_rng,) = scale_rng.spawn(1)
        covariances = make_covariances(
            self.n_clusters, self.n_features, separation=self.separation, rng=rng, log_scale=self.log_scale
        )
        means = self.shift * mean_rng.normal(size=(self.n_clusters, self.n_features))
        return covariances, self._draw_rows(covariances, means, rng, scale_rng)

    def _draw_rows(
        self, covariances: Array, means: Array, rng: np.random.Generator, scale_rng: np.random.Generator
    ) -> Iterator[Rows]:
        if self.n_segments is None:
            total = LENGTH if self.n_samples is None else self.n_samples
            segments = self._endless(total, rng)
        else:
            plan = self._plan(rng)
            total = self.batch * sum(length for _, length in plan)
            segments = iter(plan)
        take_scales = scale_maker(total, self.tails, self.volatility, scale_rng)
        done = 0
        while done < total:
            state, length = next(segments)
            correlate = correlator(self.correlation)
            for draws in self._draw_segment(covariances[state], length, rng):
                kept = draws[: total - done]
                if not len(kept):
                    break
                X = correlate(kept * take_scales(len(kept))[:, None])
                if self.shift:
                    X = X + means[state]
                steps = np.arange(done + 1.0, done + len(kept) + 1)
                yield X, steps, np.full(len(kept), state, dtype=np.int64)
                done += len(kept)

    def _endless(self, total: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
        """States and steps of segments, each drawn when it is asked for."""
        if self.n_clusters == 1 and not self.repeats:
            yield 0, -(-total // self.batch)
        state = -1
        while True:
            state = self._next_state(state, rng)
            yield state, self._length(rng)

    def _plan(self, rng: np.random.Generator) -> list[tuple[int, int]]:
        """States and steps of all segments, drawn before any of their rows as in the paper's appendix."""
        asked: Any = self.n_segments
        bounds = np.ravel(asked)  # one number, or the least and the greatest
        count = int(bounds[0] if bounds.size == 1 else rng.integers(bounds[0], bounds[1] + 1))
        states = [-1]
        for _ in range(count):
            states.append(self._next_state(states[-1], rng))
        return [(state, self._length(rng)) for state in states[1:]]

    def _next_state(self, state: int, rng: np.random.Generator) -> int:
        if self.repeats or self.n_clusters == 1:
            return int(rng.integers(self.n_clusters))
        return int(rng.choice([k for k in range(self.n_clusters) if k != state]))

    def _length(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self.segment_lengths[0], self.segment_lengths[1] + 1))

    def _draw_segment(self, covariance: Array, length: int, rng: np.random.Generator) -> Iterator[Array]:
        """Draws of a segment, some steps at a time, with the numbers of drawing all noise first and then all rows."""
        at_once = max(1, CHUNK // self.batch)
        noise_rng = rng if length <= at_once else split_normals(rng, length * self.n_features**2)
        for first in range(0, length, at_once):
            steps = np.arange(first + 1, min(first + at_once, length) + 1)
            perturbed = perturb(covariance, self.noise * steps, noise_rng, limit=self.noise_limit)
            yield draw(np.repeat(perturbed, self.batch, axis=0), rng)


def correlator(correlation: float) -> Callable[[Array], Array]:
    """Return a function that makes independent draws (length, d) a stationary autoregressive series, part after part.

    It begins with the first of the draws.
    """
    from scipy.signal import lfilter  # costs a second, and independent draws need none

    fresh = np.sqrt(1 - correlation**2)
    state: list[Array] = []

    def correlate(draws: Array) -> Array:
        before = state.pop() if state else (1 - fresh) * draws[:1]
        out, after = lfilter([fresh], [1.0, -correlation], draws, axis=0, zi=before)
        state.append(after)
        return np.asarray(out)

    return correlate


def scale_maker(total: int, tails: float | None, volatility: float, rng: np.random.Generator) -> Callable[[int], Array]:
    """Return a function that gives the next factors, of ``total``.

    They give Gaussian draws the tails of a t distribution and a volatility that comes and goes.
    """
    tail_rng = rng
    if tails is not None and volatility:  # the steps of the volatility come after all the tails
        tail_rng = deepcopy(rng)
        for first in range(0, total, CHUNK):
            rng.chisquare(tails, min(CHUNK, total - first))
    held = np.zeros(1)

    def take(count: int) -> Array:
        nonlocal held
        scales = np.ones(count)
        if tails is not None:
            scales *= np.sqrt((tails - 2) / tail_rng.chisquare(tails, count))
        if volatility:
            from scipy.signal import lfilter  # costs a second, and draws of constant volatility need none

            steps = rng.normal(scale=volatility, size=count)
            logs, held = lfilter([1.0], [1.0, -_PERSISTENCE], steps, zi=held)
            scales *= np.exp(logs)
        return scales

    return take
