"""Stage 3: how much two models, or two feature vectors, differ."""

import math

import numpy as np
import pytest

from builders.work import on_threads
from mcgta.kernels.gaussians.wasserstein import null_expectation
from mcgta.stages.dissimilarity.compare import compare_features, compare_models, sampling_error
from mcgta.stages.dissimilarity.registry import get_dissimilarity
from mcgta.stages.local_models import LocalModels
from naive import algorithm as naive


def gaussians(count, d, seed, *, spread=1.0, condition=None, offset=0.0):
    """Random models; with ``condition`` every covariance has that condition number."""
    rng = np.random.default_rng(seed)
    covs = []
    for _ in range(count):
        q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        values = np.exp(rng.normal(0, 0.7, d)) if condition is None else np.logspace(0, -math.log10(condition), d)
        cov = (q * values) @ q.T
        covs.append((cov + cov.T) / 2)
    return LocalModels(offset + spread * rng.normal(size=(count, d)), np.array(covs))


def table(models, function):
    count = len(models)
    out = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            if i != j:
                out[i, j] = function(models.means[i], models.covariances[i], models.means[j], models.covariances[j])
    return out


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squared_wasserstein_distances_agree_with_the_formula_of_matrix_roots(d, offset):
    models = gaussians(7, d, seed=d, offset=offset)
    found = compare_models(models).matrix()
    np.testing.assert_allclose(found, table(models, naive.wasserstein2), rtol=1e-10, atol=1e-11)
    assert (np.diag(found) == 0).all()


@pytest.mark.parametrize(("d", "rank"), [(2, 1), (3, 1), (5, 2), (8, 3), (4, 0)])
def test_squared_wasserstein_distances_of_singular_models_agree_with_the_nuclear_norm_of_factors(d, rank):
    rng = np.random.default_rng(d)
    means, factors = rng.normal(size=(6, d)), rng.normal(size=(6, d, rank))
    factors[5] = factors[4]
    means[5] = means[4]
    models = LocalModels(means, factors @ np.swapaxes(factors, 1, 2))
    found = compare_models(models).matrix()
    for i in range(6):
        for j in range(i):
            expected = naive.wasserstein2_of_factors(means[i], factors[i], means[j], factors[j])
            assert found[i, j] == pytest.approx(expected, abs=2e-7 * d)
    assert found[4, 5] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_squared_wasserstein_distances_hold_at_condition_1e12(d):
    models = gaussians(6, d, seed=30 + d, condition=1e12)
    factors = [np.linalg.cholesky(cov) for cov in models.covariances]
    found = compare_models(models).matrix()
    for i in range(6):
        for j in range(i):
            expected = naive.wasserstein2_of_factors(models.means[i], factors[i], models.means[j], factors[j])
            assert found[i, j] == pytest.approx(expected, rel=1e-6)


def test_models_that_commute_differ_by_the_differences_of_their_standard_deviations():
    rng = np.random.default_rng(2)
    means, sds = rng.normal(size=(8, 5)), rng.exponential(size=(8, 5))
    sds[:, 2] = 0
    found = compare_models(LocalModels(means, np.array([np.diag(s**2) for s in sds]))).matrix()
    for i in range(8):
        for j in range(8):
            expected = naive.squared_euclidean(means[i], means[j]) + naive.squared_euclidean(sds[i], sds[j])
            assert found[i, j] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("d", range(1, 9))
def test_kullback_leibler_is_the_mean_of_both_directions(d):
    models = gaussians(6, d, seed=d)
    np.testing.assert_allclose(
        compare_models(models, "kl").matrix(), table(models, naive.symmetric_kl), rtol=1e-10, atol=1e-12
    )


def test_kullback_leibler_holds_at_an_offset_of_a_million_and_at_condition_1e6():
    models = gaussians(5, 4, seed=3, condition=1e6, offset=1e6)
    np.testing.assert_allclose(compare_models(models, "kl").matrix(), table(models, naive.symmetric_kl), rtol=1e-8)


@pytest.mark.parametrize("kind", ["js", "tv"])
def test_divergences_by_sampling_agree_with_integrals_in_one_dimension(kind):
    means = np.array([0.0, 0.0, 1.0, 3.0, -20.0, 0.3])
    sds = np.array([1.0, 2.0, 1.0, 0.3, 5.0, 1.1])
    models = LocalModels(means[:, None], (sds**2)[:, None, None])
    found = compare_models(models, kind).matrix()
    integrand = {"js": naive.js_integrand, "tv": naive.tv_integrand}[kind]
    for i in range(6):
        for j in range(i):
            expected = naive.integral_1d(integrand, means[i], sds[i], means[j], sds[j])
            assert found[i, j] == pytest.approx(expected, abs=3e-3)


@pytest.mark.parametrize("kind", ["js", "tv"])
@pytest.mark.parametrize("d", [2, 3])
def test_divergences_by_sampling_agree_with_large_monte_carlo(kind, d):
    models = gaussians(5, d, seed=d)
    found = compare_models(models, kind).matrix()
    np.testing.assert_array_equal(found, found.T)
    for i in range(5):
        for j in range(i):
            pair = (models.means[i], models.covariances[i], models.means[j], models.covariances[j])
            expected, error = naive.monte_carlo(kind, *pair, 100_000, seed=i)
            assert found[i, j] == pytest.approx(expected, abs=0.015 + 5 * error)


@pytest.mark.parametrize("kind", ["js", "tv"])
def test_the_stated_sampling_error_is_the_size_of_the_true_one(kind):
    means, sds = np.random.default_rng(5).normal(size=(12, 1)), np.linspace(0.5, 2, 12)
    models = LocalModels(means, (sds**2)[:, None, None])
    integrand = {"js": naive.js_integrand, "tv": naive.tv_integrand}[kind]
    exact = [
        [naive.integral_1d(integrand, means[i, 0], sds[i], means[j, 0], sds[j]) for j in range(12)] for i in range(12)
    ]
    errors = [compare_models(models, kind, random_state=s).matrix() - exact for s in range(10)]
    true = math.sqrt(np.mean(np.square(errors)))
    assert true / 3 < sampling_error(models, kind) < 3 * true
    assert sampling_error(models, "wasserstein2") == 0


def test_divergences_by_sampling_stay_within_their_bounds_for_models_far_apart():
    models = LocalModels(np.array([[0.0, 0.0], [1e6, 0.0], [0.0, 0.0]]), np.array([np.eye(2), np.eye(2), np.eye(2)]))
    js, tv = (compare_models(models, kind).matrix() for kind in ("js", "tv"))
    assert js[0, 1] == pytest.approx(math.log(2), abs=1e-12)
    assert tv[0, 1] == pytest.approx(1, abs=1e-12)
    assert js[0, 2] == tv[0, 2] == 0


@pytest.mark.parametrize("d", [1, 2, 8])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squared_euclidean_distances_of_features_agree_with_a_sum(d, offset):
    X = np.random.default_rng(d).normal(size=(15, d)) + offset
    expected = [[naive.squared_euclidean(x, y) for y in X] for x in X]
    np.testing.assert_allclose(compare_features(X).matrix(), expected, rtol=1e-13)


@pytest.mark.parametrize("d", [1, 2, 8])
def test_cosine_distances_of_features_agree_with_the_angle(d):
    X = np.random.default_rng(d).normal(size=(15, d)) * 1e3
    expected = [[naive.cosine(x, y) for y in X] for x in X]
    np.testing.assert_allclose(compare_features(X, "cosine").matrix(), expected, atol=1e-14)


def test_rows_of_zeros_have_no_angle():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, -0.0]])
    assert list(get_dissimilarity("cosine").incomparable(X)) == [0, 2]
    assert get_dissimilarity("euclidean").incomparable(X) == {}


@pytest.mark.parametrize("kind", ["wasserstein2", "kl", "js", "tv"])
def test_pairs_tiles_and_the_whole_table_agree(kind):
    models = gaussians(23, 3, seed=9)
    whole = compare_models(models, kind).matrix()
    tiled = on_threads(2, lambda: compare_models(models, kind).matrix(tile=5))
    np.testing.assert_allclose(tiled, whole, rtol=1e-12, atol=1e-14)
    i, j = np.array([0, 5, 22, 7]), np.array([1, 5, 3, 20])
    np.testing.assert_allclose(compare_models(models, kind).of_pairs(i, j), whole[i, j], rtol=1e-12, atol=1e-13)
    rows, cols = np.array([4, 2]), slice(8, 20)
    np.testing.assert_allclose(compare_models(models, kind).between(rows, cols), whole[rows][:, cols], rtol=1e-12)


@pytest.mark.parametrize("values", [[1.0], [1.0, 4.0], [0.2, 1.0, 5.0], [1.0, 1e-4, 0.5]])
def test_the_expected_distance_of_two_samples_of_one_model_agrees_with_simulation(values):
    d, n = len(values), 300
    q = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))[0]
    cov = (q * values) @ q.T
    expected, error = naive.simulated_null(cov, n, 400, seed=d)
    found = null_expectation(cov[None], n)[0]
    assert found == pytest.approx(expected, abs=4 * error + 0.02 * expected)


def test_the_expected_distance_is_that_of_means_and_spreads_in_one_dimension():
    # E (m_a - m_b)^2 = 2 s^2/n and E (s_a - s_b)^2 = s^2/n to first order.
    assert null_expectation(np.array([[[9.0]]]), 100)[0] == pytest.approx(3 * 9 / 100)
    assert null_expectation(np.zeros((1, 3, 3)), 10)[0] == 0
