"""Marginal likelihood of clusters, against its definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.stats import invgamma, multivariate_t, norm, ortho_group

from mcgta.kernels.evidence.cluster_evidence import CLOSENESS, STRENGTHS, marginal, merge_gains, plug_in, sum_clusters
from naive import selection as naive

SOME = settings(max_examples=25, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def rows(seed, count=40, d=3, clusters=3, *, same=False):
    """Rows (d, N) of clusters that differ, what their means count, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count) % clusters)
    w = rng.uniform(0.2, 1.5, (1 if same else d, count)) * np.ones((d, 1))
    mix = rng.normal(size=(clusters, d, d))
    y = w * rng.normal(0, 2, (clusters, d))[labels].T + np.einsum(
        "nfg,gn->fn", mix[labels], rng.normal(size=(d, count))
    )
    return y, w, labels


def add_up(y, w, labels, weights=None):
    size, d = labels.max() + 1, len(y)
    counts, sums = np.empty(size), np.empty((size, 3, d, d))
    sum_clusters(y, w, labels, np.ones(labels.size) if weights is None else weights, counts, sums)
    return counts, sums


def evidence(counts, sums, temper=1.0, *, strengths=STRENGTHS, closeness=CLOSENESS, scaled=False):
    """Log marginal likelihood, the best a and kappa, middle, pooled, scales, and what each cluster has."""
    size, d = counts.size, sums.shape[2]
    middle, pooled, scales, best, each = np.empty(d), np.empty((d, d)), np.empty(size), np.empty(2), np.empty(size)
    strengths, closeness = np.array(strengths, dtype=float), np.array(closeness, dtype=float)
    found = marginal(counts, sums, temper, strengths, closeness, scaled, middle, pooled, scales, best, each)
    return found, best, middle, pooled, scales, each


@given(seed=SEEDS, d=st.integers(1, 4), clusters=st.integers(1, 4))
@SOME
def test_sums_are_those_over_the_rows_of_each_cluster(seed, d, clusters):
    y, w, labels = rows(seed, d=d, clusters=clusters)
    weights = np.random.default_rng(seed).uniform(0, 2, labels.size)
    counts, sums = add_up(y, w, labels, weights)
    for k in range(clusters):
        own = labels == k
        assert counts[k] == own.sum()
        for place, (left, right) in enumerate([(w, w), (w, y), (y, y)]):
            np.testing.assert_allclose(sums[k, place], (weights[own] * left[:, own]) @ right[:, own].T, atol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
@given(seed=SEEDS, d=st.integers(1, 4), clusters=st.integers(1, 4), temper=st.sampled_from([1.0, 0.3]))
@SOME
def test_the_marginal_is_the_best_of_the_grid(scaled, seed, d, clusters, temper):
    y, w, labels = rows(seed, d=d, clusters=clusters)
    found, best, middle, pooled, scales, each = evidence(*add_up(y, w, labels), temper, scaled=scaled)
    expected = naive.marginal(y.T, w.T, labels, STRENGTHS, CLOSENESS, scaled, temper)
    assert (found, *best) == pytest.approx(expected, rel=1e-9)
    for one, other in zip((middle, pooled, scales), naive.pooled_prior(y.T, w.T, labels, scaled, temper), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)
    cost = 0.5 * np.log(np.maximum(temper * np.bincount(labels), 2)).sum() if scaled else 0.0
    assert each.sum() - cost == pytest.approx(found)


@pytest.mark.parametrize(("a", "kappa"), [(1.0, 0.01), (16.0, 1.0)])
@pytest.mark.parametrize("d", [1, 3])
def test_the_marginal_is_the_product_of_what_each_row_is_expected_to_be_given_those_before(a, kappa, d):
    y, w, labels = rows(d, count=12, d=d, clusters=1, same=True)
    found, _, middle, pooled, _, _ = evidence(*add_up(y, w, labels), strengths=[a], closeness=[kappa])
    mean, weight, freedom, scale, expected = middle, kappa, d + 1 + a, a * pooled, 0.0
    for x, u in zip(y.T, w[0], strict=True):
        spread = (1 + u**2 / weight) * scale / (freedom - d + 1)
        expected += multivariate_t(u * mean, spread, df=freedom - d + 1).logpdf(x)
        mean, weight, old = (weight * mean + u * x) / (weight + u**2), weight + u**2, mean
        scale = scale + np.outer(x - u * old, x - u * mean)
        freedom += 1
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("a", "kappa", "seed"), [(1.0, 0.5, 1), (4.0, 2.0, 2)])
def test_the_marginal_of_a_few_numbers_is_the_integral_over_means_and_variances(a, kappa, seed):
    y, w, labels = rows(seed, count=4, d=1, clusters=1)
    found, _, middle, pooled, _, _ = evidence(*add_up(y, w, labels), strengths=[a], closeness=[kappa])
    prior = invgamma((2 + a) / 2, scale=a * pooled[0, 0] / 2)
    z, log_variance = np.linspace(-12, 12, 801)[:, None], np.linspace(-8, 14, 2001) + np.log(pooled[0, 0])
    s = np.exp(log_variance / 2)
    mean = middle[0] + z * s / np.sqrt(kappa)
    density = norm.pdf(z) * prior.pdf(s**2) * s**2
    for x, u in zip(y[0], w[0], strict=True):
        density = density * norm.pdf(x, u * mean, s)
    expected = trapezoid(trapezoid(density, z[:, 0], axis=0), log_variance)
    assert found == pytest.approx(np.log(expected), abs=1e-6)


@given(seed=SEEDS, scaled=st.booleans())
@SOME
def test_the_order_of_rows_and_the_numbers_of_clusters_do_not_matter(seed, scaled):
    y, w, labels = rows(seed)
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(labels.size), rng.permutation(3)
    one = evidence(*add_up(y, w, labels), scaled=scaled)
    moved = add_up(y[:, order].copy(), w[:, order].copy(), names[labels[order]])
    two = evidence(*moved, scaled=scaled)
    assert two[0] == pytest.approx(one[0], rel=1e-9)
    np.testing.assert_array_equal(two[1], one[1])
    np.testing.assert_allclose(two[5][names], one[5], rtol=1e-9)


@given(seed=SEEDS, scaled=st.booleans())
@SOME
def test_rotated_features_have_the_same_evidence_where_the_mean_counts_the_same_in_each(seed, scaled):
    y, w, labels = rows(seed, same=True)
    turned = ortho_group.rvs(3, random_state=seed % 2**31) @ y
    one, two = (evidence(*add_up(x, w, labels), scaled=scaled)[0] for x in (y, turned))
    assert two == pytest.approx(one, rel=1e-9)


@given(seed=SEEDS, temper=st.floats(0.05, 1.0), scaled=st.booleans())
@SOME
def test_tempering_is_the_same_as_fewer_rows(seed, temper, scaled):
    counts, sums = add_up(*rows(seed))
    one, two = evidence(counts, sums, temper, scaled=scaled), evidence(temper * counts, temper * sums, scaled=scaled)
    assert one[0] == pytest.approx(two[0], rel=1e-9)
    np.testing.assert_array_equal(one[1], two[1])


@given(seed=SEEDS, clusters=st.integers(2, 5), temper=st.sampled_from([1.0, 0.4]))
@SOME
def test_gains_are_the_marginal_of_two_clusters_as_one_less_that_of_each(seed, clusters, temper):
    y, w, labels = rows(seed, count=60, clusters=clusters)
    counts, sums = add_up(y, w, labels)
    _, (a, kappa), middle, pooled, scales, each = evidence(counts, sums, temper, scaled=True)
    gains = np.empty((clusters, clusters))
    merge_gains(counts, sums, temper, a, kappa, middle, pooled, scales, gains)
    np.testing.assert_array_equal(gains, gains.T)
    assert (np.diag(gains) == -np.inf).all()
    for k, m in itertools.combinations(range(clusters), 2):
        own = (labels == k) | (labels == m)
        scale = (counts[k] * scales[k] + counts[m] * scales[m]) / (counts[k] + counts[m])
        both = naive.log_marginal(y[:, own].T, w[:, own].T, a, kappa, scale * pooled, middle, temper)
        assert gains[k, m] == pytest.approx(both - each[k] - each[m], rel=1e-7, abs=1e-7)


def test_merging_pays_for_two_halves_of_a_cluster_and_not_for_two_clusters():
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], 50)
    y = rng.normal(size=(2, 150)) + 5.0 * (labels == 2)
    counts, sums = add_up(y, np.ones_like(y), labels)
    _, (a, kappa), middle, pooled, scales, _ = evidence(counts, sums)
    gains = np.empty((3, 3))
    merge_gains(counts, sums, 1.0, a, kappa, middle, pooled, scales, gains)
    assert gains[0, 1] > 0 > max(gains[0, 2], gains[1, 2])


@given(seed=SEEDS, d=st.integers(1, 4), a=st.sampled_from(STRENGTHS), kappa=st.sampled_from(CLOSENESS))
@SOME
def test_plugged_in_are_means_and_covariances_drawn_to_the_prior(seed, d, a, kappa):
    y, w, labels = rows(seed, d=d)
    counts, sums = add_up(y, w, labels)
    _, _, middle, pooled, scales, _ = evidence(counts, sums, scaled=True)
    means, inverse, log_root = np.empty((3, d)), np.empty((3, d, d)), np.empty(3)
    plug_in(counts, sums, a, kappa, middle, pooled, scales, means, inverse, log_root)
    for k in range(3):
        mean, weight, scatter = naive.moments(y[:, labels == k].T, w[:, labels == k].T)
        table = (scatter + (a + d + 1) * scales[k] * pooled) / (counts[k] + a + d + 1)
        np.testing.assert_allclose(means[k], (weight * mean + kappa * middle) / (weight + kappa), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(inverse[k] @ table @ inverse[k].T, np.eye(d), atol=1e-8)
        assert (np.triu(inverse[k], 1) == 0).all()
        assert log_root[k] == pytest.approx(0.5 * np.linalg.slogdet(table)[1])


def test_clusters_of_different_size_in_space_are_better_explained_by_scales_of_their_own():
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1, 2, 3], 60)
    y = rng.normal(size=(3, 240)) * np.array([0.1, 1.0, 3.0, 10.0])[labels]
    sums = add_up(y, np.ones_like(y), labels)
    assert evidence(*sums, scaled=True)[0] > evidence(*sums)[0]
    alike = add_up(rng.normal(size=(3, 240)), np.ones_like(y), labels)
    assert evidence(*alike, scaled=True)[0] < evidence(*alike)[0]


@pytest.mark.parametrize("scaled", [False, True])
def test_clusters_of_equal_rows_and_features_that_are_the_same_have_finite_evidence(scaled):
    y = np.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 3.0]] * 2)
    found = evidence(*add_up(y, np.ones_like(y), np.array([0, 0, 0, 1, 1, 1, 2, 2])), scaled=scaled)
    assert all(np.isfinite(part).all() for part in found)
