"""Small data sets with two obvious clusters, shared by the tests of the estimator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

settings.register_profile("no clock", deadline=None)  # no test asserts a time
settings.load_profile("no clock")


class Example(NamedTuple):
    """Observations with known clusters."""

    X: NDArray[np.float64]
    positions: NDArray[np.float64]
    truth: NDArray[np.int64]


def make_features(truth: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Features around (4, 0) in state 0 and around (0, 4) in state 1."""
    return rng.normal(0, 0.5, (truth.size, 2)) + np.where(truth[:, None] == 0, [4.0, 0.0], [0.0, 4.0])


@pytest.fixture(scope="session")
def series() -> Example:
    """120 observations in six segments of two states, at irregular times with gaps between the segments."""
    rng = np.random.default_rng(5)
    truth = np.repeat([0, 1, 0, 1, 0, 1], 20)
    steps = rng.uniform(0.5, 1.5, 120)
    steps[20::20] += 12
    return Example(make_features(truth, rng), np.cumsum(steps), truth)


@pytest.fixture(scope="session")
def plane() -> Example:
    """128 places on a map of sixteen islands, a chess board of two states."""
    rng = np.random.default_rng(6)
    island = np.repeat(np.arange(16), 8)
    positions = rng.uniform(0, 2, (128, 2)) + 5.0 * np.column_stack([island % 4, island // 4])
    truth = (island % 4 + island // 4) % 2
    return Example(make_features(truth, rng), positions, truth)
