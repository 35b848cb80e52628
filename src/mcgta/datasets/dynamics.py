"""A series whose states differ in how they move and in nothing else: equal means, equal covariances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.datasets.knobs import check_knobs
from mcgta.datasets.sample import CHUNK, Rows, Sample, gather
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array

KINDS = ("matrices", "periods", "damping")
_SINGULAR_VALUES = (0.3, 0.95)  # of the matrices that foretell a step from the one before
_LEAST_APART = 0.7  # of random matrices, in Frobenius norm over the root of the number of features
_TRIES = 200
_SHORTEST_PERIOD = 8.0  # steps
_PERIOD_RATIO = 1.6
_MEMORY_PERIODS = 3.0  # in which a cycle forgets its phase, where states differ in period
_DAMPED_PERIOD = 16.0  # steps, where states differ in damping
_SHORTEST_MEMORY = 4.0  # steps
_MEMORY_RATIO = 4.0
_LEAST_LOADING = 0.5  # of a feature on its own component


@dataclass(frozen=True)
class DynamicsRecipe:
    """The knobs of :func:`make_dynamics`, checked."""

    n_samples: int = 3000
    n_clusters: int = 3
    n_features: int = 3
    kind: str = "matrices"
    segment_lengths: tuple[int, int] = (200, 500)
    random_state: Any = 0

    def __post_init__(self) -> None:
        check_value("n_samples", self.n_samples, Rule(integer=(1, INF)))
        check_value("kind", self.kind, Rule(words=KINDS))
        names = ("n_clusters", "n_features", "segment_lengths", "random_state")
        check_knobs({name: getattr(self, name) for name in names})

    def begin(self) -> tuple[Array, Iterator[Rows]]:
        """Return the clusters' covariances, which are equal, and the rows in pieces."""
        rng = np.random.default_rng(self.random_state)
        mixing = self._mixing(rng)
        transitions = self._transitions(rng)
        covariances = np.broadcast_to(mixing @ mixing.T, (self.n_clusters, self.n_features, self.n_features)).copy()
        return covariances, self._draw_rows(transitions, mixing, rng)

    def _mixing(self, rng: np.random.Generator) -> Array:
        """Draw how features are made of independent components; each has variance 1."""
        mixing = np.eye(self.n_features) + _LEAST_LOADING * rng.normal(size=(self.n_features, self.n_features))
        return np.asarray(mixing / np.linalg.norm(mixing, axis=1, keepdims=True))

    def _transitions(self, rng: np.random.Generator) -> Array:
        """Return the matrices (K, q, q) that foretell the components of a step; their stationary covariance is the identity."""
        if self.kind == "matrices":
            return self._random_matrices(rng)
        number = np.arange(self.n_clusters)
        if self.kind == "periods":
            periods = _SHORTEST_PERIOD * _PERIOD_RATIO**number
            memories = _MEMORY_PERIODS * periods
        else:
            periods = np.full(self.n_clusters, _DAMPED_PERIOD)
            memories = _SHORTEST_MEMORY * _MEMORY_RATIO**number
        angles = 2 * np.pi / periods
        turns = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)
        turns *= np.exp(-1 / memories)[:, None, None]
        return np.stack([np.kron(turn, np.eye(self.n_features)) for turn in turns])

    def _random_matrices(self, rng: np.random.Generator) -> Array:
        """Draw matrices with singular values below 1, no two of which are alike, as far as tries go."""
        d = self.n_features
        if d == 1:
            levels = np.linspace(-1, 1, self.n_clusters + 2)[1:-1] if self.n_clusters > 2 else np.array([-0.5, 0.9])
            return rng.permutation(levels[: self.n_clusters]).reshape(-1, 1, 1)
        chosen: list[Array] = []
        while len(chosen) < self.n_clusters:
            for _ in range(_TRIES):
                left = np.linalg.qr(rng.normal(size=(d, d)))[0]
                right = np.linalg.qr(rng.normal(size=(d, d)))[0]
                drawn = left @ np.diag(rng.uniform(*_SINGULAR_VALUES, d)) @ right
                if all(np.linalg.norm(drawn - other) >= _LEAST_APART * np.sqrt(d) for other in chosen):
                    break
            chosen.append(drawn)
        return np.stack(chosen)

    def _draw_rows(self, transitions: Array, mixing: Array, rng: np.random.Generator) -> Iterator[Rows]:
        size = transitions.shape[1]
        factors = np.linalg.cholesky(np.eye(size) - transitions @ transitions.transpose(0, 2, 1))
        now = rng.normal(size=size)
        state = -1
        done = 0
        while done < self.n_samples:
            others = [k for k in range(self.n_clusters) if k != state or self.n_clusters == 1]
            state = int(rng.choice(others))
            length = int(rng.integers(self.segment_lengths[0], self.segment_lengths[1] + 1))
            end = min(done + length, self.n_samples)
            while done < end:
                count = min(CHUNK, end - done)
                shocks = rng.normal(size=(count, size)) @ factors[state].T
                components = np.empty((count, size))
                for t in range(count):
                    now = transitions[state] @ now + shocks[t]
                    components[t] = now
                steps = np.arange(done + 1.0, done + count + 1)
                yield components[:, : self.n_features] @ mixing.T, steps, np.full(count, state, dtype=np.int64)
                done += count


def make_dynamics(
    n_samples: int = 3000,
    *,
    n_clusters: int = 3,
    n_features: int = 3,
    kind: str = "matrices",
    segment_lengths: tuple[int, int] = (200, 500),
    random_state: Any = 0,
) -> Sample:
    """Make a series whose states differ in how they move: all have mean 0 and the same covariance.

    Components of variance 1 are foretold from the step before, by a matrix of the state's, and features are mixtures of them
    that all states share. States come again, and the series runs on through changes of state without a jump.

    Parameters
    ----------
    n_samples : number of steps
    n_clusters : K states
    kind : "matrices" for random vector autoregressions, of one feature with coefficients between -1 and 1; "periods" for
        cycles of 8, 12.8, 20.5, ... steps; "damping" for cycles of 16 steps that forget their phase in 4, 16, 64, ... steps
    segment_lengths : least and greatest number of steps of a segment
    random_state : seed

    Returns
    -------
    Sample
        ``covariances`` are equal

    Examples
    --------
    >>> make_dynamics(500, kind="periods").X.shape
    (500, 3)
    """
    covariances, pieces = DynamicsRecipe(n_samples, n_clusters, n_features, kind, segment_lengths, random_state).begin()
    return gather(pieces, covariances)
