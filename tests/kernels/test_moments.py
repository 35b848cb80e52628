"""Means and covariances of windows: sliding along time and gathered, against exact sums."""

import numpy as np
import pytest

from mcgta.kernels.gaussians.moments import quartic_sums, sliding_moments, window_moments
from naive import algorithm as naive


def rows_of(starts, n):
    return starts[:, None] + np.arange(n)


def agree(found, X, rows, weights, *, rtol=1e-12):
    """Against sums without rounding, in units of the window's own spread."""
    means, covs = found
    for k, window in enumerate(rows):
        mean, cov = naive.moments(X[window] - X[window[0]], weights[k])
        size = max(np.abs(cov).max(), 1e-300)
        np.testing.assert_allclose(means[k], mean + X[window[0]], rtol=1e-14, atol=1e-14 * np.abs(X[window]).max())
        np.testing.assert_allclose(covs[k], cov, rtol=0, atol=rtol * size)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 30])
@pytest.mark.parametrize("d", [1, 2, 5, 9])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_sliding_and_gathered_windows_agree_with_exact_sums(n, d, offset):
    rng = np.random.default_rng(n * d)
    X = rng.normal(size=(67, d)) @ rng.normal(size=(d, d)) + offset
    starts = np.clip(np.arange(67) - n // 2, 0, 67 - n)
    rows, uniform = rows_of(starts, n), np.full((67, n), 1 / n)
    agree(sliding_moments(X, starts, np.zeros(67, dtype=np.int64), n), X, rows, uniform)
    agree(window_moments(X, rows, uniform), X, rows, uniform)


@pytest.mark.parametrize("d", [1, 3, 6])
def test_weighted_windows_of_any_rows_agree_with_exact_sums(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(50, d)) * 10.0 ** rng.integers(-3, 4, d)
    rows = np.array([rng.choice(50, 12, replace=False) for _ in range(21)])
    weights = rng.random((21, 12))
    weights /= weights.sum(axis=1, keepdims=True)
    means, covs = window_moments(X, rows, weights)
    for k in range(21):
        mean, cov = naive.moments(X[rows[k]], weights[k])
        np.testing.assert_allclose(means[k], mean, atol=1e-14 * np.abs(X).max())
        np.testing.assert_allclose(covs[k], cov, atol=1e-13 * np.abs(cov).max())
        expected = sum(
            weights[k, m] ** 2 * ((np.outer(x - mean, x - mean) - cov) ** 2).sum() for m, x in enumerate(X[rows[k]])
        )
        found = quartic_sums(X, rows[k : k + 1], weights[k : k + 1], means[k : k + 1], covs[k : k + 1])[0]
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
def test_nothing_builds_up_over_a_million_steps_at_an_offset_of_a_million():
    rng = np.random.default_rng(0)
    count, n = 1_000_000, 30
    X = 1e6 + rng.normal(size=(count, 2)) + 50 * np.sin(np.arange(count) / 1e4)[:, None]
    X[count // 3] += 1e9  # a spike must leave no trace behind it
    starts = np.arange(count - n + 1)
    means, covs = sliding_moments(X, starts, np.zeros(starts.size, dtype=np.int64), n)
    looked = np.array([0, 1, 29, 30, 333_302, 333_334, 333_363, 333_400, 500_000, 999_000, count - n])
    agree((means[looked], covs[looked]), X, rows_of(looked, n), np.full((looked.size, n), 1 / n))


def test_a_window_is_the_same_whatever_else_is_asked_for_and_wherever_its_series_lies():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 4))
    starts = np.arange(81)
    whole = sliding_moments(X, starts, np.zeros(81, dtype=np.int64), 10)
    some = rng.permutation(81)[:23]
    part = sliding_moments(X, starts[some], np.zeros(23, dtype=np.int64), 10)
    later = sliding_moments(np.vstack([rng.normal(size=(7, 4)), X]), starts + 7, np.full(81, 7), 10)
    for k in range(2):
        np.testing.assert_array_equal(part[k], whole[k][some])
        np.testing.assert_array_equal(later[k], whole[k])


def test_a_stuck_sensor_has_variance_zero_in_the_windows_where_it_is_stuck():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    X[20:50, 1] = 1e6 + 0.1
    starts = np.arange(51)
    stuck = (starts >= 20) & (starts + 10 <= 50)
    for _, covs in (
        sliding_moments(X, starts, np.zeros(51, dtype=np.int64), 10),
        window_moments(X, rows_of(starts, 10), np.full((51, 10), 0.1)),
    ):
        np.testing.assert_array_equal(covs[:, 1, 1] == 0, stuck)
        assert (covs[stuck, 1] == 0).all()
        np.testing.assert_array_equal(covs, np.swapaxes(covs, 1, 2))
