"""The graphical lasso of many small covariances, against coordinate ascent on the dual and scikit-learn."""

import numpy as np
import pytest
from sklearn.covariance import graphical_lasso as sklearn_lasso

from mcgta.kernels.gaussians.graphical_lasso import graphical_lasso
from naive import algorithm as naive


def empirical(count, n, d, seed, *, mix=True):
    """Maximum-likelihood covariances of correlated windows."""
    rng = np.random.default_rng(seed)
    windows = rng.normal(size=(count, n, d))
    if mix:
        windows = windows @ rng.normal(size=(count, d, d))
    return np.array([np.cov(window.T, bias=True) for window in windows]).reshape(count, d, d)


def optimal(cov, fitted, alpha):
    """Feasible for the dual, and at most 1e-8 nats from the optimum."""
    d = len(cov)
    off = ~np.eye(d, dtype=bool)
    scale = np.abs(cov).max()
    assert (np.abs(fitted - cov)[off] <= alpha + 1e-12 * scale).all()
    np.testing.assert_array_equal(np.diag(fitted), np.diag(cov))
    assert np.linalg.eigvalsh(fitted)[0] > 0
    assert abs(naive.duality_gap(cov, fitted, alpha)) < 1e-8


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.1, 1.0])
def test_fits_agree_with_coordinate_ascent_on_the_dual(d, alpha):
    covs = empirical(3, 20, d, seed=d)
    fitted, gaps = graphical_lasso(covs, alpha)
    assert (np.abs(gaps) <= 1e-9).all()
    for cov, found in zip(covs, fitted, strict=True):
        expected = naive.graphical_lasso(cov, alpha, tol=1e-11)
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.sqrt(np.abs(gaps).max() + 1e-11) + 1e-6)
        if d > 1:
            optimal(cov, found, alpha)


@pytest.mark.parametrize("d", [2, 4, 8, 15])
@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_fits_agree_with_scikit_learn_at_tight_tolerance(d, alpha):
    covs = empirical(3, 8 * d, d, seed=100 + d, mix=d < 10)
    fitted = graphical_lasso(covs, alpha)[0]
    for cov, found in zip(covs, fitted, strict=True):
        expected = sklearn_lasso(cov, alpha, tol=1e-9, enet_tol=1e-11, max_iter=5000)[0]
        np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(cov).max())


@pytest.mark.parametrize("seed", range(4))
def test_nearly_singular_windows_of_condition_1e12_are_fitted_to_the_optimum(seed):
    rng = np.random.default_rng(seed)
    covs = []
    for d in (5, 5, 5):
        q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        cov = (q * np.logspace(0, -12, d)) @ q.T
        covs.append((cov + cov.T) / 2)
    for alpha in (0.1, 0.01, 1e-3):
        fitted, gaps = graphical_lasso(np.array(covs), alpha)
        assert (np.abs(gaps) <= 1e-9).all()
        for cov, found in zip(covs, fitted, strict=True):
            optimal(cov, found, alpha)


@pytest.mark.parametrize(("n", "d"), [(2, 3), (3, 8), (5, 6), (2, 8), (8, 12)])
def test_fewer_observations_than_features_still_give_a_definite_optimum(n, d):
    covs = empirical(4, n, d, seed=n * d)
    fitted, gaps = graphical_lasso(covs, 0.05)
    assert (np.abs(gaps) <= 1e-9).all()
    for cov, found in zip(covs, fitted, strict=True):
        optimal(cov, found, 0.05)


def test_small_singular_problems_agree_with_coordinate_ascent():
    for cov in empirical(4, 3, 4, seed=12):
        found = graphical_lasso(cov[None], 0.1)[0][0]
        np.testing.assert_allclose(found, naive.graphical_lasso(cov, 0.1), atol=1e-5)


@pytest.mark.parametrize("constant", [[0], [2], [0, 3], [0, 1, 2], [0, 1, 2, 3]])
def test_constant_columns_stay_at_zero_and_out_of_the_problem(constant):
    cov = empirical(1, 15, 4, seed=5)[0]
    cov[constant, :] = 0
    cov[:, constant] = 0
    found = graphical_lasso(cov[None], 0.05)[0][0]
    assert (found[constant] == 0).all()
    assert (found[:, constant] == 0).all()
    np.testing.assert_allclose(found, naive.graphical_lasso(cov, 0.05), atol=1e-6)


def test_without_penalty_the_covariance_comes_back_as_it_is():
    covs = empirical(3, 4, 6, seed=1)
    fitted, gaps = graphical_lasso(covs, 0.0)
    np.testing.assert_array_equal(fitted, covs)
    assert (gaps == 0).all()


def test_a_large_penalty_leaves_the_diagonal_alone():
    covs = empirical(3, 10, 5, seed=2)
    fitted = graphical_lasso(covs, 1e3)[0]
    for cov, found in zip(covs, fitted, strict=True):
        np.testing.assert_allclose(found, np.diag(np.diag(cov)), atol=1e-14)


def test_each_fit_is_the_same_alone_and_in_a_stack():
    covs = empirical(300, 6, 6, seed=4)
    together = graphical_lasso(covs, 0.02)[0]
    for k in (0, 17, 299):
        np.testing.assert_allclose(graphical_lasso(covs[k : k + 1], 0.02)[0][0], together[k], rtol=1e-10)


@pytest.mark.parametrize("units", [[1, 1, 1, 1], [100, 100, 100, 100], [1e4, 1e4, 1e4, 1e4], [1e-3, 1, 1e3, 1]])
def test_fits_converge_in_whatever_units_the_features_come(units):
    covs = empirical(8, 30, 4, seed=3) * np.outer(units, units)
    fitted, gaps = graphical_lasso(covs, 0.01)
    assert np.abs(gaps).max() < 1e-7
    off = ~np.eye(4, dtype=bool)
    assert (np.abs(fitted - covs)[:, off] <= 0.01 + 1e-12 * np.abs(covs).max()).all()


def test_windows_that_rounding_makes_singular_harm_no_others():
    good = empirical(1, 30, 8, seed=1)
    bad = empirical(1, 6, 8, seed=2) * 1e12
    fitted, gaps = graphical_lasso(np.concatenate([bad, good]), 0.01)
    np.testing.assert_array_equal(fitted[1], graphical_lasso(good, 0.01)[0][0])
    assert abs(gaps[1]) < 1e-9
    assert np.abs(fitted[0] - bad[0]).max() <= 0.01 + 1e-12 * bad.max()
