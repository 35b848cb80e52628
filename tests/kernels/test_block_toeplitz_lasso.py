"""The block-Toeplitz graphical lasso of many small covariances, against plain ADMM and the lasso without structure."""

import numpy as np
import pytest

from mcgta.kernels.gaussians.block_toeplitz_lasso import block_toeplitz_lasso
from mcgta.kernels.gaussians.graphical_lasso import graphical_lasso
from naive import block_toeplitz as naive


def stacked_covariances(count, n, d, blocks, seed, *, memory=0.7):
    """Covariances of successive windows of an autoregressive series, stacked with its lags."""
    rng = np.random.default_rng(seed)
    rows = count + n + blocks
    turn = memory * np.linalg.qr(rng.normal(size=(d, d)))[0]
    x = np.zeros((rows, d))
    for t in range(1, rows):
        x[t] = turn @ x[t - 1] + rng.normal(size=d)
    x *= np.arange(1, d + 1)
    stacked = np.concatenate([x[blocks - 1 - lag : rows - lag] for lag in range(blocks)], axis=1)
    return np.array([np.cov(stacked[k : k + n].T, bias=True) for k in range(count)]).reshape(count, d * blocks, -1)


def is_block_toeplitz(matrix, blocks, d):
    return all(np.ptp(matrix[entries]) <= 1e-9 * np.abs(matrix).max() for entries in naive.parameters(blocks, d))


@pytest.mark.parametrize(("d", "blocks"), [(1, 2), (1, 4), (2, 2), (2, 3), (3, 3), (4, 2)])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
def test_objectives_agree_with_plain_admm(d, blocks, alpha):
    covs = stacked_covariances(2, 30, d, blocks, seed=d + blocks)
    fitted, gaps = block_toeplitz_lasso(covs, alpha, blocks)
    assert (gaps <= 1e-9).all()
    for cov, found in zip(covs, fitted, strict=True):
        precision = np.linalg.inv(found)
        slow = naive.lasso(cov, alpha, blocks)
        reached, expected = (naive.objective(cov, theta, alpha) for theta in (precision, slow))
        assert reached == pytest.approx(expected, abs=1e-8)
        np.testing.assert_allclose(precision, slow, atol=1e-5 * np.abs(slow).max())


@pytest.mark.parametrize(("d", "blocks"), [(1, 5), (2, 4), (3, 3), (8, 2)])
def test_precisions_are_block_toeplitz_and_covariances_symmetric_and_definite(d, blocks):
    fitted = block_toeplitz_lasso(stacked_covariances(20, 25, d, blocks, seed=3), 0.05, blocks)[0]
    for found in fitted:
        assert is_block_toeplitz(np.linalg.inv(found), blocks, d)
        np.testing.assert_array_equal(found, found.T)
        assert np.linalg.eigvalsh(found)[0] > 0


def test_no_small_change_within_the_structure_lowers_the_objective():
    blocks, d, alpha = 3, 2, 0.1
    rng = np.random.default_rng(1)
    cov = stacked_covariances(1, 20, d, blocks, seed=8)[0]
    precision = np.linalg.inv(block_toeplitz_lasso(cov[None], alpha, blocks)[0][0])
    least = naive.objective(cov, precision, alpha)
    for _ in range(50):
        moved = precision.copy()
        for entries in naive.parameters(blocks, d):
            moved[entries] += 1e-3 * rng.normal()
        assert naive.objective(cov, moved, alpha) > least


def test_one_block_is_the_lasso_without_structure():
    covs = stacked_covariances(5, 20, 4, 1, seed=2)
    found = block_toeplitz_lasso(covs, 0.1, 1)[0]
    np.testing.assert_allclose(found, graphical_lasso(covs, 0.1)[0], atol=1e-3)


def test_a_large_penalty_leaves_the_variances_averaged_over_blocks():
    d, blocks = 3, 3
    covs = stacked_covariances(4, 20, d, blocks, seed=5)
    variances = np.diagonal(covs, axis1=1, axis2=2).reshape(4, blocks, d).mean(axis=1)
    found = block_toeplitz_lasso(covs, 1e4, blocks)[0]
    for one, expected in zip(found, variances, strict=True):
        np.testing.assert_allclose(one, np.diag(np.tile(expected, blocks)), rtol=1e-12)


@pytest.mark.parametrize("memory", [0.0, 0.9, 0.999])
@pytest.mark.parametrize("n", [2, 5, 40])
def test_few_observations_and_long_memory_still_reach_the_optimum(memory, n):
    covs = stacked_covariances(50, n, 3, 3, seed=n, memory=memory)
    fitted, gaps = block_toeplitz_lasso(covs, 0.01, 3)
    assert (gaps <= 1e-9).all()
    assert (np.linalg.eigvalsh(fitted)[:, 0] > 0).all()


def test_constant_features_stay_at_zero_and_out_of_the_problem():
    covs = stacked_covariances(3, 20, 3, 2, seed=4)
    constant = [1, 4]
    covs[:, constant, :] = 0.0
    covs[:, :, constant] = 0.0
    others = [0, 2, 3, 5]
    found = block_toeplitz_lasso(covs, 0.1, 2)[0]
    assert (found[:, constant] == 0).all()
    alone = block_toeplitz_lasso(covs[:, others][:, :, others], 0.1, 2)[0]
    np.testing.assert_allclose(found[:, others][:, :, others], alone, rtol=1e-5, atol=1e-5)


def test_a_feature_that_is_constant_in_one_block_only_is_in_the_problem():
    cov = np.diag([0.0, 2.0, 1.0, 2.0])
    found = block_toeplitz_lasso(cov[None], 0.1, 2)[0][0]
    np.testing.assert_allclose(found, np.diag([0.5, 2.0, 0.5, 2.0]), atol=1e-12)


def test_no_problem_sees_the_others():
    covs = stacked_covariances(12, 20, 3, 3, seed=6)
    together = block_toeplitz_lasso(covs, 0.05, 3)[0]
    for k in range(12):
        np.testing.assert_array_equal(block_toeplitz_lasso(covs[k : k + 1], 0.05, 3)[0][0], together[k])


def test_units_of_features_change_nothing_but_units():
    covs = stacked_covariances(3, 30, 2, 3, seed=7)
    found = block_toeplitz_lasso(covs, 0.1, 3)[0]
    np.testing.assert_allclose(block_toeplitz_lasso(1e6 * covs, 1e5, 3)[0], 1e6 * found, rtol=1e-6)


def test_blocks_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="blocks=4 does not divide"):
        block_toeplitz_lasso(np.eye(6)[None], 0.1, 4)
