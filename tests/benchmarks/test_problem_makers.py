"""Made problems are as their makers say."""

from __future__ import annotations

import numpy as np
import pytest

from problems.auto_sets import ALL
from problems.family_sets import GESTURE_SEEDS, MIXED_REGIONS, RECORD_STEPS, dynamics, gestures, mixed_regions
from problems.null_sets import (
    CORRELATION,
    NULLS,
    PERIODS_STEPS,
    autoregression,
    random_walk,
    season_with_trend,
    stochastic_volatility,
)

LONG = 40_000


def correlation(x, lag=1):
    """Correlation of a series with itself some steps before."""
    return np.corrcoef(x[lag:], x[:-lag])[0, 1]


def test_nulls_have_one_cluster_and_one_or_three_features():
    for name, source in NULLS.items():
        problem = source.make(source.keys(name, [3], None)[0], None, 1.0)
        assert problem.X.shape == (2000, int(name[-1]))
        assert problem.clusters == 1
        assert problem.kind == "time"


def test_the_autoregression_is_stationary_from_the_start():
    X = autoregression(0, LONG, d=1).X[:, 0]
    assert correlation(X) == pytest.approx(CORRELATION, abs=0.01)
    starts = np.array([autoregression(seed, 2, d=50).X[0] for seed in range(40)])
    assert starts.std() == pytest.approx(1.0, abs=0.05)
    assert X.std() == pytest.approx(1.0, abs=0.1)


def test_steps_of_the_random_walk_are_white():
    steps = np.diff(random_walk(0, LONG, d=1).X[:, 0])
    assert steps.std() == pytest.approx(1.0, abs=0.02)
    assert abs(correlation(steps)) < 0.02


def test_volatility_comes_and_goes_for_all_features_at_once():
    X = stochastic_volatility(0, LONG, d=2).X
    assert abs(correlation(X[:, 0])) < 0.03
    assert correlation(np.abs(X[:, 0])) > 0.1
    assert np.corrcoef(np.abs(X.T))[0, 1] > 0.1
    assert abs(np.corrcoef(X.T)[0, 1]) < 0.03


def test_a_season_with_a_trend_has_both_and_nothing_else():
    X = season_with_trend(0, LONG, d=1).X[:, 0]
    steps = np.arange(LONG)
    trend = np.polyfit(steps, X, 1)
    rest = X - np.polyval(trend, steps)
    power = np.abs(np.fft.rfft(rest)) ** 2
    period = LONG / power.argmax()
    assert abs(trend[0]) * LONG == pytest.approx(4.0, abs=0.3)
    assert PERIODS_STEPS[0] <= period <= PERIODS_STEPS[1]
    wave = np.column_stack([np.sin(2 * np.pi * steps / period), np.cos(2 * np.pi * steps / period)])
    assert np.linalg.norm(np.linalg.lstsq(wave, rest, rcond=None)[0]) > 1.0


def test_gestures_are_groups_of_one_type_or_one_long_series():
    grouped = gestures(0, 5 * RECORD_STEPS, grouped=True)
    series = gestures(0, 5 * RECORD_STEPS, grouped=False)
    np.testing.assert_array_equal(grouped.X, series.X)
    assert series.groups is None
    assert (np.diff(series.positions) == 1).all()
    for group in range(5):
        own = grouped.groups == group
        assert np.unique(grouped.truth[own]).size == 1
        np.testing.assert_array_equal(grouped.positions[own], np.arange(1.0, RECORD_STEPS + 1))
    assert len(ALL["gestures-series"].keys("gestures-series", range(10), None)) == GESTURE_SEEDS


@pytest.mark.parametrize("kind", ["matrices", "periods", "damping"])
def test_states_that_differ_in_dynamics_have_equal_means_and_covariances(kind):
    problem = dynamics(3, LONG, kind=kind)
    parts = [problem.X[problem.truth == state] for state in range(problem.clusters)]
    assert len(parts) > 1
    for part in parts:
        assert np.abs(part.mean(axis=0)).max() < 0.25
        np.testing.assert_allclose(np.cov(part.T), np.cov(problem.X.T), atol=0.25)


def test_mixed_regions_vary_in_size_and_number_from_seed_to_seed():
    made = [mixed_regions(seed, 3000, layout="layers") for seed in range(8)]
    numbers = {problem.clusters for problem in made}
    assert len({len(problem.X) for problem in made}) > 4
    assert len(numbers) > 2
    assert min(numbers) >= MIXED_REGIONS[0]
    assert max(numbers) <= MIXED_REGIONS[1]
    assert all(problem.kind == "space" for problem in made)


def test_a_quick_look_makes_fewer_observations():
    source = ALL["mixed-patches"]
    key = source.keys("mixed-patches", [1], None)[0]
    assert len(source.make(key, None, 0.25).X) < 0.3 * len(source.make(key, None, 1.0).X)
