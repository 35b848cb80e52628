"""No states are found where there are none: series that wander, whose scale comes and goes, or with heavy tails."""

import numpy as np
import pytest
from scipy.signal import lfilter

from mcgta.positions.reading import read_positions
from mcgta.selection.search import search

COUNT = 1200


def make_autoregression(rng, d):
    return lfilter([1.0], [1.0, -0.95], rng.normal(size=(COUNT, d)), axis=0)


def make_random_walk(rng, d):
    return np.cumsum(rng.normal(size=(COUNT, d)), axis=0)


def make_volatility(rng, d):
    logs = lfilter([1.0], [1.0, -0.97], rng.normal(scale=0.15, size=COUNT))
    return rng.normal(size=(COUNT, d)) * np.exp(logs)[:, None]


def make_heavy_tails(rng, d):
    return rng.normal(size=(COUNT, d)) / np.sqrt(rng.chisquare(4, COUNT) / 4)[:, None]


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("make", [make_autoregression, make_random_walk, make_volatility, make_heavy_tails])
def test_a_series_without_states_is_one_cluster(make, d):
    rng = np.random.default_rng(d)
    X = make(rng, d) @ (rng.normal(size=(d, d)) + 1.5 * np.eye(d))
    assert search(X, read_positions(None, COUNT))[1].best.n_clusters == 1


@pytest.mark.parametrize("d", [1, 3])
def test_states_that_differ_in_scale_alone_are_told_from_a_volatility(d):
    rng = np.random.default_rng(d)
    truth = np.arange(COUNT) // 100 % 2
    X = rng.normal(size=(COUNT, d)) * np.where(truth == 1, 4.0, 1.0)[:, None]
    assert search(X, read_positions(None, COUNT))[1].best.n_clusters == 2
