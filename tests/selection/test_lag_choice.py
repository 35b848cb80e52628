"""Lags are chosen by evidence: where pieces of a series move in their own ways, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcgta import MCGTA, load
from mcgta.datasets import make_series
from mcgta.positions.reading import read_positions
from mcgta.selection.lag_choice import choose_lags, lag_evidence

pytestmark = pytest.mark.filterwarnings(
    "ignore:semivariogram. no spherical model fits:UserWarning", "ignore::UserWarning"
)

TRUTH = np.arange(900) // 150 % 2


def make_moving_states(seed, d=3):
    """Two states of equal mean and covariance, in which observations follow their predecessors by 0.6 and -0.6."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(1 - 0.6**2) * rng.normal(size=(TRUTH.size, d))
    for t in range(1, TRUTH.size):
        X[t] += np.where(TRUTH[t], 0.6, -0.6) * X[t - 1]
    return X


def autoregression(coefficient, seed, count=900):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    for t in range(1, count):
        X[t] += coefficient * X[t - 1]
    return X


def lags_of(X, positions=None):
    return choose_lags(X, read_positions(positions, len(X)))


def test_states_that_differ_in_how_they_move_alone_are_found_with_lags():
    X = make_moving_states(0)
    with_lags = MCGTA(lags="auto", refine="none").fit(X)
    without = MCGTA(refine="none").fit(X)
    assert with_lags.choice_.settings["lags"] == 1
    assert with_lags.n_clusters_ >= 2
    assert adjusted_rand_score(TRUTH, with_lags.labels_) > 0.6
    assert adjusted_rand_score(TRUTH, without.labels_) < 0.1


def test_lags_that_are_chosen_are_those_of_a_fit_with_as_many(tmp_path):
    X = make_moving_states(1, d=2)
    model = MCGTA(lags="auto", n_neighbors=30, eps=0.4).fit(X)
    given = MCGTA(lags=1, n_neighbors=30, eps=0.4).fit(X)
    np.testing.assert_array_equal(model.labels_, given.labels_)
    np.testing.assert_array_equal(model.refit(eps=0.5).labels_, given.refit(eps=0.5).labels_)
    np.testing.assert_array_equal(model.append(X[:40]).labels_, given.append(X[:40]).labels_)
    model.save(tmp_path / "model.mcgta")
    np.testing.assert_array_equal(load(tmp_path / "model.mcgta").labels_, given.labels_)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.95, 1.0])
def test_series_that_move_in_one_way_have_no_lags(coefficient, seed):
    assert lags_of(autoregression(coefficient, seed)) == 0


@pytest.mark.parametrize("seed", range(3))
def test_states_that_differ_in_covariance_have_no_lags(seed):
    assert lags_of(make_series(900, random_state=seed).X) == 0


def test_places_and_short_series_have_no_lags():
    X = make_moving_states(0, d=2)
    assert lags_of(X) == 1
    assert lags_of(X, np.random.default_rng(0).uniform(size=(900, 2))) == 0
    assert lags_of(X[:60]) == 0
    assert lags_of(np.tile(X, (1, 5))) == 0


def test_the_evidence_is_that_of_regressions_integrated_numerically():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    pieces = [np.arange(1, 30), np.arange(30, 60)]
    found = lag_evidence(X, pieces, 1)
    y = np.concatenate([X[rows] - X[rows].mean(axis=0) for rows in pieces])[:, 0]
    z = np.concatenate([X[rows - 1] - X[rows - 1].mean(axis=0) for rows in pieces])[:, 0]
    V = (z @ z) / y.size
    r = y - z * (z @ y) / (z @ z)
    noise = (r @ r) / y.size
    parts = (slice(0, 29), slice(29, 59))
    slopes = np.linspace(-4, 4, 4001)
    best = -np.inf
    for strength in (2.0, 5.0, 12.0, 30.0):
        total = 0.0
        for part in parts:
            freedom = 0.5 * (3.0 + r[part].size - 1)
            # The noise is integrated out: given the slope, slope and data share one inverse gamma.
            squares = ((r[part][None] - slopes[:, None] * z[part][None]) ** 2).sum(axis=1) + strength * V * slopes**2
            density = np.exp(-(freedom + 0.5) * (np.log(3.0 * noise + squares) - np.log(3.0 * noise)))
            integral = density.sum() * (slopes[1] - slopes[0])
            norm = ((1 + strength * V * slopes**2 / (3.0 * noise)) ** -(freedom + 0.5)).sum() * (slopes[1] - slopes[0])
            total += np.log(integral / norm) - freedom * np.log(3.0 * noise)
        best = max(best, total)
    paid = 0.5 * np.log(y.size)
    assert found.own == pytest.approx(best - paid, rel=1e-3)
