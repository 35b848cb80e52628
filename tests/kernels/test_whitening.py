"""Dependence between neighbours, taken out: against Gaussian processes written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, norm

from mcgta.kernels.evidence.whitening import EXPONENTIAL, INDEPENDENT, MATERN, NEAR, choose_own, profile, whiten
from naive import selection as naive

SOME = settings(max_examples=30, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
KINDS = np.array([INDEPENDENT, EXPONENTIAL, EXPONENTIAL, EXPONENTIAL, MATERN, MATERN])
LENGTHS = np.array([1.0, 0.7, 0.7, 5.0, 0.7, 2.0])
NUGGETS = np.array([1.0, 0.01, 0.4, 0.15, 0.15, 0.02])


def choose(listed, labels):
    chosen = np.empty((len(listed), NEAR), dtype=np.int64)
    choose_own(listed, labels, chosen)
    return chosen


def whiten_all(X, lists, labels, rows=None):
    count, T = X.shape[1], KINDS.size
    out = np.full((T, *X.shape), np.nan), np.full((T, count), np.nan), np.full((T, count), np.nan)
    rows = np.arange(count) if rows is None else rows
    whiten(X, rows, *lists, choose(lists[0], labels), KINDS, LENGTHS, NUGGETS, *out)
    return out


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_whitened_rows_have_the_density_of_the_whole_process(axes, seed):
    rng = np.random.default_rng(seed)
    count = NEAR + 1
    distances = cdist(*[rng.uniform(0, 6, (count, axes))] * 2)
    X, mean = rng.normal(size=(2, count)), 1.7
    y, w, log_s = whiten_all(X, naive.list_rows(distances, NEAR), np.zeros(count, dtype=np.int64))
    found = (norm.logpdf(y - w[:, None] * mean) - log_s[:, None]).sum(axis=2)
    for t in range(1, KINDS.size):
        table = naive.covariance(distances, KINDS[t], LENGTHS[t], NUGGETS[t])
        expected = multivariate_normal(np.full(count, mean), table).logpdf(X)
        np.testing.assert_allclose(found[t], expected, rtol=2e-4)


@given(seed=SEEDS, count=st.integers(2, 30), size=st.integers(1, 16), clusters=st.integers(1, 4), later=st.booleans())
@SOME
def test_rows_are_predicted_from_the_nearest_of_their_label_in_their_list(seed, count, size, clusters, later):
    rng = np.random.default_rng(seed)
    distances = cdist(*[np.round(rng.uniform(0, 5, (count, 2)), 1)] * 2)
    labels, X = rng.integers(0, clusters, count), rng.normal(size=(3, count))
    lists = naive.list_rows(distances, size, keep=lambda i, j: later or j < i)
    chosen = choose(lists[0], labels)
    y, w, log_s = whiten_all(X, lists, labels)
    for i in range(count):
        own = naive.own_places(lists[0], labels, i, NEAR)
        assert chosen[i].tolist() == own + [-1] * (NEAR - len(own))
        others = lists[0][i, own]
        for t in range(KINDS.size):
            for f in range(3):
                expected = naive.whiten(X[f], i, others, distances, KINDS[t], LENGTHS[t], NUGGETS[t])
                np.testing.assert_allclose((y[t, f, i], w[t, i], log_s[t, i]), expected, rtol=1e-6, atol=1e-8)


def test_rows_that_are_independent_or_the_first_of_their_label_are_left_alone():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(2, 6)), np.array([0, 1, 0, 1, 2, 0])
    y, w, log_s = whiten_all(X, naive.list_rows(cdist(*[np.arange(6.0)[:, None]] * 2), 5), labels)
    np.testing.assert_array_equal(y[0], X)
    np.testing.assert_array_equal(y[:, :, [0, 1, 4]], np.broadcast_to(X[:, [0, 1, 4]], (KINDS.size, 2, 3)))
    assert (w[0] == 1).all()
    assert (w[:, [0, 1, 4]] == 1).all()
    assert (log_s[0] == 0).all()
    assert (log_s[1:, [2, 3, 5]] < 0).all()


def test_only_the_rows_asked_for_are_written():
    rng = np.random.default_rng(2)
    X, lists = rng.normal(size=(2, 20)), naive.list_rows(cdist(*[rng.uniform(0, 5, (20, 2))] * 2), 6)
    labels, rows = rng.integers(0, 2, 20), np.array([17, 3])
    every, some = whiten_all(X, lists, labels), whiten_all(X, lists, labels, rows)
    for one, other in zip(every, some, strict=True):
        np.testing.assert_array_equal(one[..., rows], other[..., rows])
        assert np.isnan(np.delete(other, rows, axis=-1)).all()


@given(seed=SEEDS, shift=st.floats(-1e3, 1e3))
@SOME
def test_a_shift_of_all_rows_is_a_shift_of_the_mean_that_counts_w_times(seed, shift):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(2, 25)), rng.integers(0, 2, 25)
    lists = naive.list_rows(cdist(*[rng.uniform(0, 5, (25, 2))] * 2), 12)
    y, w, log_s = whiten_all(X, lists, labels)
    moved, same_w, same_s = whiten_all(X + shift, lists, labels)
    np.testing.assert_allclose(moved, y + shift * w[:, None], rtol=1e-9, atol=1e-6)
    np.testing.assert_array_equal(same_w, w)
    np.testing.assert_array_equal(same_s, log_s)


@given(seed=SEEDS)
@SOME
def test_distances_that_no_space_has_leave_rows_finite_and_no_larger_than_their_jitter_lets_them_be(seed):
    distances = np.triu(np.random.default_rng(seed).uniform(0.1, 3.0, (30, 30)), 1)
    lists = naive.list_rows(distances + distances.T, 16)
    X = np.random.default_rng(seed).normal(size=(2, 30))
    y, w, log_s = whiten_all(X, lists, np.zeros(30, dtype=np.int64))
    assert np.abs(y).max() < 1e7
    assert np.abs(w).max() < 1e7
    assert ((log_s >= np.log(1e-3) - 1e-9) & (log_s <= 0)).all()


def test_rows_at_one_place_without_a_nugget_stay_finite():
    X, labels = np.random.default_rng(3).normal(size=(1, 12)), np.zeros(12, dtype=np.int64)
    lists = naive.list_rows(np.zeros((12, 12)), 8)
    out = np.empty((2, 1, 12)), np.empty((2, 12)), np.empty((2, 12))
    whiten(X, np.arange(12), *lists, choose(lists[0], labels), *np.array([[0, 1]]), np.ones(2), np.zeros(2), *out)
    assert all(np.isfinite(part).all() for part in out)


def test_rows_infinitely_far_away_tell_nothing():
    rng = np.random.default_rng(5)
    side = np.repeat([0, 1], 10)
    near = cdist(*[rng.uniform(0, 4, (20, 2))] * 2)
    X, labels = rng.normal(size=(2, 20)), np.zeros(20, dtype=np.int64)
    apart = np.where(side[:, None] == side, near, np.inf)
    found = whiten_all(X, naive.list_rows(apart, 16), labels)
    expected = whiten_all(X, naive.list_rows(near, 16, keep=lambda i, j: j < i and side[i] == side[j]), labels)
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9)


@given(seed=SEEDS, clusters=st.integers(1, 3))
@SOME
def test_the_profile_is_the_likelihood_at_the_best_means_and_variances(seed, clusters):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(30) % clusters)
    X, lists = rng.normal(size=(2, 30)), naive.list_rows(cdist(*[rng.uniform(0, 5, (30, 2))] * 2), 12)
    y, w, log_s = whiten_all(X, lists, labels)
    found = np.empty((KINDS.size, 2))
    profile(y, w, log_s, labels, np.bincount(labels).astype(float), found)
    for t in range(KINDS.size):
        expected = [naive.profile(y[t, f], w[t], log_s[t], labels) for f in range(2)]
        np.testing.assert_allclose(found[t], expected, rtol=1e-9)


@pytest.mark.parametrize("truth", [1, 3, 5])
def test_the_profile_is_best_for_the_dependence_that_rows_were_drawn_with(truth):
    rng = np.random.default_rng(truth)
    distances = cdist(*[rng.uniform(0, 12, (300, 2))] * 2)
    table = naive.covariance(distances, KINDS[truth], LENGTHS[truth], NUGGETS[truth])
    X = (3 + np.linalg.cholesky(table + 1e-9 * np.eye(300)) @ rng.normal(size=(300, 1))).T.copy()
    labels = np.zeros(300, dtype=np.int64)
    found = np.empty((KINDS.size, 1))
    profile(*whiten_all(X, naive.list_rows(distances, 12), labels), labels, np.array([300.0]), found)
    assert found.argmin() == truth
