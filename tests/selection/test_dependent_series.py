"""Series whose observations depend on those before, or have heavy tails."""

import numpy as np
import pytest
from scipy.stats import t

from mcgta.datasets import make_regions, make_series


def whitened(sample):
    """Features of a series of one state, uncorrelated and of variance 1."""
    return sample.X @ np.linalg.inv(np.linalg.cholesky(sample.covariances[0])).T


def autocorrelation(x, lag):
    return float(np.mean(x[lag:] * x[:-lag]) / np.mean(x**2))


def one(n_samples=20_000, **options):
    return make_series(n_samples, n_clusters=1, n_features=3, noise=0.0, **options)


@pytest.mark.parametrize(
    ("make", "ends", "total"),
    [
        (make_series, [-0.44845942693934, -1.74220054447593], 60.95166272041669),
        (make_regions, [1.11136494269689, -0.98417767873265], 27.474005641206837),
    ],
)
def test_what_is_drawn_by_default_stays_as_it_was(make, ends, total):
    X = make(300).X
    np.testing.assert_allclose(X[[0, -1], 0], ends, rtol=1e-9)
    assert X.sum() == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("correlation", [0.8, 0.95, -0.5])
def test_a_correlated_series_has_that_autocorrelation_and_keeps_its_covariance(correlation):
    x = whitened(one(60_000, correlation=correlation))
    for lag in (1, 2, 5):
        assert autocorrelation(x, lag) == pytest.approx(correlation**lag, abs=0.03)
    np.testing.assert_allclose(np.cov(x.T), np.eye(3), atol=0.15)


def test_correlation_follows_its_recursion_within_segments_and_begins_anew_with_each():
    plain, made = (make_series(400, correlation=phi, random_state=3) for phi in (0.0, 0.6))
    np.testing.assert_array_equal(plain.labels, made.labels)
    for i in range(400):
        first = i == 0 or made.labels[i] != made.labels[i - 1]
        expected = plain.X[i] if first else 0.6 * made.X[i - 1] + 0.8 * plain.X[i]
        np.testing.assert_allclose(made.X[i], expected, atol=1e-12)


def test_one_state_is_one_segment_without_end():
    x = whitened(one(3000, correlation=0.99))
    plain = whitened(one(3000))
    innovations = x[1:] - 0.99 * x[:-1]
    np.testing.assert_allclose(innovations, np.sqrt(1 - 0.99**2) * plain[1:], atol=1e-9)


def test_heavy_tails_keep_the_covariance_and_reach_far():
    x = whitened(one(200_000, tails=5.0))
    np.testing.assert_allclose(np.cov(x.T), np.eye(3), atol=0.06)
    assert np.mean(np.abs(x) > 4) == pytest.approx(2 * t.sf(4 * np.sqrt(5 / 3), 5), rel=0.1)


def test_a_heavy_draw_is_heavy_in_all_its_features():
    x = whitened(one(50_000, tails=3.0)) ** 2
    assert np.corrcoef(np.log(x[:, 0] + 1e-9), np.log(x[:, 1] + 1e-9))[0, 1] > 0.1


def test_volatility_comes_and_goes_slowly_and_leaves_directions():
    plain, made = whitened(one()), whitened(one(volatility=0.15))
    h = np.log(made / plain)
    np.testing.assert_allclose(h, np.repeat(h[:, :1], 3, axis=1), atol=1e-7)
    steps = h[1:, 0] - 0.97 * h[:-1, 0]
    assert steps.std() == pytest.approx(0.15, rel=0.03)
    assert abs(steps.mean()) < 0.01
    assert abs(h[0, 0]) < 1


@pytest.mark.parametrize("options", [{"correlation": 0.5}, {"tails": 4.0}, {"volatility": 0.1}])
def test_the_same_seed_gives_the_same_series(options):
    a, b, c = (make_series(200, random_state=seed, **options) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a.X, b.X)
    assert not np.array_equal(a.X, c.X)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"correlation": 1.0}, r"correlation=1\.0 is not allowed: correlation must be a number between -1 and 1"),
        ({"correlation": float("nan")}, "correlation=nan"),
        ({"tails": 2.0}, r"tails=2\.0 is not allowed: tails must be a number > 2, or None"),
        ({"correlation": "a"}, "correlation='a' is not allowed"),
        ({"correlation": np.array([0.1, 0.2])}, r"correlation=array\(\[0\.1, 0\.2\]\) is not allowed"),
        ({"tails": float("inf")}, "tails=inf"),
        ({"tails": "a"}, "tails='a'"),
        ({"volatility": None}, "volatility=None"),
        ({"volatility": -0.1}, r"volatility=-0\.1 is not allowed: volatility must be a number >= 0"),
    ],
)
def test_impossible_dependence_is_refused_by_name(options, name):
    with pytest.raises(ValueError, match=name):
        make_series(50, **options)
