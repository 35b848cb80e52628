"""Stage 2: moments, covariance estimators and the mixture prior, window by window."""

import numpy as np
import pytest
from sklearn.covariance import OAS, LedoitWolf, MinCovDet, ShrunkCovariance
from sklearn.mixture import GaussianMixture

from mcgta.kernels.gaussians import covariance
from mcgta.kernels.gaussians.moments import quartic_sums, window_moments
from mcgta.positions.reading import read_positions
from mcgta.stages.local_models import fit_local_models
from mcgta.stages.neighborhoods import find_neighborhoods
from mcgta.stages.prior import GaussianMixturePrior, MixturePrior, update
from naive import algorithm as naive


def series(count, d, seed, offset=0.0, scale=1.0):
    """Correlated features along a time axis."""
    rng = np.random.default_rng(seed)
    return offset + scale * np.cumsum(rng.normal(size=(count, d)), axis=0) @ rng.normal(size=(d, d)) / 3


def hoods(count, n, weights="uniform", groups=None):
    return find_neighborhoods(read_positions(None, count, groups=groups), n, weights=weights)


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("weights", ["uniform", "epanechnikov"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_moments_agree_with_exact_sums_even_at_an_offset_of_a_million(d, weights, offset):
    X = series(30, d, seed=d, offset=offset)
    near = hoods(30, 9, weights)
    models = fit_local_models(X, near, covariance="empirical")
    for row in range(0, 30, 4):
        mean, cov = naive.moments(X[near.indices[row]], near.weights[row])
        np.testing.assert_allclose(models.means[row], mean, rtol=1e-15, atol=1e-13)
        # A mean of 1e6 is stored to 1e-10, which the exact sums' own deviations cannot undercut.
        np.testing.assert_allclose(models.covariances[row], cov, rtol=1e-9, atol=1e-12 + 1e-9 * (offset > 0))


def covariances(windows, weights):
    """Of windows that are not yet rows of one table."""
    count, n, d = windows.shape
    return window_moments(windows.reshape(-1, d), np.arange(count * n).reshape(count, n), weights)[1]


def test_a_column_constant_in_a_window_has_variance_exactly_zero_at_any_offset():
    rng = np.random.default_rng(1)
    windows = rng.normal(size=(3, 8, 3))
    windows[:, :, 1] = np.array([0.0, 0.1, 1e6 + 0.1])[:, None]
    weights = rng.random((3, 8))
    covs = covariances(windows, weights / weights.sum(axis=1, keepdims=True))
    assert (covs[:, 1] == 0).all()
    assert (covs[:, :, 1] == 0).all()
    assert (covs[:, 0, 0] > 0).all()


def test_a_column_that_varies_by_rounding_only_counts_as_constant():
    column = np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])
    assert np.ptp(column) > 0
    windows = np.column_stack([column, [1.0, 2.0, 4.0, 8.0]])[None]
    cov = covariances(windows, np.full((1, 4), 0.25))[0]
    assert cov[0].tolist() == [0, 0]
    assert cov[1, 1] == pytest.approx(naive.moments(windows[0], [0.25] * 4)[1][1, 1])


@pytest.mark.parametrize(("n", "d"), [(30, 1), (30, 2), (30, 5), (20, 8), (4, 8), (2, 3)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_shrinkage_estimators_agree_with_their_formulas_and_with_scikit_learn(n, d, offset):
    X = series(n + 10, d, seed=n + d, offset=offset)
    near = hoods(n + 10, n)
    fitted = {
        kind: fit_local_models(X, near, covariance=estimator).covariances
        for kind, estimator in (
            ("shrunk", ShrunkCovariance(shrinkage=0.3)),
            ("ledoit_wolf", "ledoit_wolf"),
            ("oas", "oas"),
        )
    }
    for row in (0, 5, n + 9):
        window = X[near.indices[row]] - X[0]
        plain = naive.moments(window, near.weights[row])[1]
        level = 1e-9 * np.abs(plain).max()
        np.testing.assert_allclose(fitted["shrunk"][row], naive.shrunk(plain, 0.3), atol=level)
        np.testing.assert_allclose(
            fitted["shrunk"][row], ShrunkCovariance(shrinkage=0.3).fit(window).covariance_, atol=level
        )
        if d == 1:
            np.testing.assert_allclose(fitted["ledoit_wolf"][row], plain, atol=level)
            np.testing.assert_allclose(fitted["oas"][row], plain, atol=level)
            continue
        np.testing.assert_allclose(fitted["ledoit_wolf"][row], naive.ledoit_wolf(window), atol=level)
        np.testing.assert_allclose(fitted["ledoit_wolf"][row], LedoitWolf().fit(window).covariance_, atol=level)
        np.testing.assert_allclose(fitted["oas"][row], naive.oas(plain, n), atol=level)
        np.testing.assert_allclose(fitted["oas"][row], OAS().fit(window).covariance_, atol=level)


@pytest.mark.parametrize("kind", ["shrunk", "ledoit_wolf", "oas", "graphical_lasso", "empirical", "min_cov_det"])
def test_a_constant_column_stays_out_of_every_estimator(kind):
    X = series(14, 3, seed=3)
    padded = np.insert(X, 1, 7.25, axis=1)
    near = hoods(14, 12)
    keep = [0, 2, 3]
    plain, wide = (fit_local_models(data, near, covariance=kind).covariances for data in (X, padded))
    np.testing.assert_allclose(wide[:, keep][:, :, keep], plain, rtol=1e-9, atol=1e-12)
    assert (wide[:, 1] == 0).all()


def test_kernel_weights_enter_ledoit_wolf_as_the_variance_of_a_weighted_mean():
    rng = np.random.default_rng(8)
    X, w = rng.normal(size=(15, 3)) @ rng.normal(size=(3, 3)), rng.random(15)
    w /= w.sum()
    mean, S = naive.moments(X, w)
    m = np.trace(S) / 3
    d2 = ((S - m * np.eye(3)) ** 2).sum()
    b2 = sum(w[k] ** 2 * ((np.outer(X[k] - mean, X[k] - mean) - S) ** 2).sum() for k in range(15))
    rows = np.arange(15)[None]
    means, covs = window_moments(X, rows, w[None])
    found = covariance.ledoit_wolf_shrinkage(covs, quartic_sums(X, rows, w[None], means, covs))[0]
    assert found == pytest.approx(min(b2, d2) / d2, rel=1e-10)
    assert 0 < found < 1


@pytest.mark.parametrize("d", [1, 2, 4])
def test_minimum_covariance_determinant_is_scikit_learns_on_each_window(d):
    X = series(24, d, seed=d)
    X[::9] += 50
    near = find_neighborhoods(read_positions(None, 24), 14, of=np.array([0, 11, 23]))
    models = fit_local_models(X, near, covariance="min_cov_det", random_state=3)
    for row in range(3):
        robust = MinCovDet(random_state=3).fit(X[near.indices[row]])
        np.testing.assert_allclose(models.means[row], robust.location_)
        np.testing.assert_allclose(models.covariances[row], robust.covariance_)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_graphical_lasso_models_agree_with_coordinate_ascent_on_each_window(d):
    X = series(40, d, seed=20 + d)
    near = hoods(40, 10, "triangular")
    models = fit_local_models(X, near, alpha=0.05)
    assert not models.failures
    for row in range(0, 40, 5):
        cov = naive.moments(X[near.indices[row]], near.weights[row])[1]
        np.testing.assert_allclose(models.covariances[row], naive.graphical_lasso(cov, 0.05), atol=2e-6)


def test_beyond_32_features_the_graphical_lasso_is_still_optimal():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(61, 34))
    models = fit_local_models(X, hoods(61, 60), alpha=0.2)
    assert not models.failures
    for row in (0, 60):
        cov = naive.moments(X[hoods(61, 60).indices[row]], np.full(60, 1 / 60))[1]
        assert abs(naive.duality_gap(cov, models.covariances[row], 0.2)) < 1e-4


def test_rows_of_groups_too_small_are_reported_and_not_a_number():
    X = series(20, 2, seed=6)
    groups = ["a"] * 12 + ["b"] * 3 + ["a"] * 5
    models = fit_local_models(X, hoods(20, 6, groups=groups))
    assert list(models.failures) == [12, 13, 14]
    assert np.isnan(models.means[12:15]).all()
    assert np.isfinite(models.covariances[models.fitted]).all()
    assert "n_neighbors=6" in models.failures[12]


def test_square_roots_give_back_their_covariance():
    X = series(30, 4, seed=7)
    models = fit_local_models(X, hoods(30, 3), covariance="empirical")
    np.testing.assert_allclose(models.roots @ models.roots, models.covariances, atol=1e-12 * np.abs(X).max() ** 2)
    np.testing.assert_allclose(models.roots, np.swapaxes(models.roots, 1, 2), atol=1e-14 * np.abs(X).max())
    assert (np.linalg.eigvalsh(models.roots) > -1e-13 * np.abs(X).max()).all()


def test_responsibilities_are_bayes_rule_and_prior_moments_those_of_the_mixture():
    rng = np.random.default_rng(10)
    for d, k in ((1, 2), (2, 3), (5, 4)):
        A = rng.normal(size=(k, d, d))
        prior = MixturePrior(rng.dirichlet(np.ones(k)), rng.normal(size=(k, d)), A @ np.swapaxes(A, 1, 2) + np.eye(d))
        X = rng.normal(size=(8, d))
        weight, (mean, cov) = prior.responsibilities(X), prior.at(X)
        for row, x in enumerate(X):
            parts = (prior.shares, prior.means, prior.covariances)
            np.testing.assert_allclose(weight[row], naive.responsibilities(x, *parts), rtol=1e-9)
            expected = naive.prior_moments(x, *parts)
            np.testing.assert_allclose(mean[row], expected[0], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(cov[row], expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(10.0, 10.0), (30.0, 1.0), (2.0, 100.0)])
def test_the_map_update_weighs_prior_and_neighbours_by_their_counts(n, m):
    rng = np.random.default_rng(int(n))
    means, A = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))
    covs = A @ np.swapaxes(A, 1, 2)
    found = update(means[:1], covs[:1], means[1:], covs[1:], np.array([n]), m)
    expected = naive.map_update(means[0], covs[0], means[1], covs[1], n, m)
    np.testing.assert_allclose(found[0][0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1][0], expected[1], rtol=1e-12)


@pytest.mark.parametrize("strength", [None, 3.5])
@pytest.mark.parametrize("weights", ["uniform", "gaussian"])
def test_models_with_a_prior_are_the_update_of_the_mixture_at_the_centre(strength, weights):
    rng = np.random.default_rng(12)
    X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(4, 2, (30, 2))])
    prior = GaussianMixturePrior(2, strength).fit(X)
    near = hoods(60, 5, weights)
    models = fit_local_models(X, near, covariance="empirical", prior=prior)
    for row in range(0, 60, 7):
        mean, cov = naive.moments(X[near.indices[row]], near.weights[row])
        start = naive.prior_moments(X[row], prior.shares, prior.means, prior.covariances)
        size = 1 / sum(w**2 for w in near.weights[row])
        expected = naive.map_update(mean, cov, *start, size, 5 if strength is None else strength)
        np.testing.assert_allclose(models.means[row], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(models.covariances[row], expected[1], rtol=1e-9, atol=1e-12)


def test_the_mixture_prior_is_scikit_learns_on_standardised_features_with_the_least_bic(monkeypatch):
    monkeypatch.setattr("mcgta.stages.prior.MAX_COMPONENTS", 3)
    rng = np.random.default_rng(13)
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(9, 1, (40, 2))]) * [1, 1000]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    fits = [GaussianMixture(k, n_init=3, random_state=0).fit(scaled) for k in (1, 2, 3)]
    best = min(fits, key=lambda mixture: mixture.bic(scaled))
    prior = GaussianMixturePrior().fit(X)
    assert prior.shares.size == 2
    np.testing.assert_allclose(prior.shares, best.weights_)
    np.testing.assert_allclose(prior.means, best.means_ * X.std(axis=0) + X.mean(axis=0))
    np.testing.assert_allclose(prior.covariances, best.covariances_ * np.outer(X.std(axis=0), X.std(axis=0)))


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e3, 1e5])
def test_no_observation_fails_because_of_the_unit_of_its_features(scale):
    rng = np.random.default_rng(0)
    X = scale * rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8))
    for n in (6, 20):
        models = fit_local_models(X, find_neighborhoods(read_positions(None, 60), n), alpha=0.01)
        assert models.failures == {}
        assert np.isfinite(models.covariances).all()


def test_prior_moments_keep_their_digits_far_from_the_origin():
    prior = MixturePrior(np.array([0.5, 0.5]), np.array([[1e8, 0.0], [1e8, 0.0]]), np.array([np.eye(2)] * 2))
    np.testing.assert_allclose(prior.at(np.array([[1e8, 0.0]]))[1][0], np.eye(2), rtol=1e-12)
