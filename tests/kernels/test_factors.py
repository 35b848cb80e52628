"""Triangular factors and symmetric roots of positive semi-definite matrices, definite or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta.kernels.gaussians.factors import symmetric_roots, triangular_factors

SOME = settings(max_examples=25, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def turned(rng, values):
    turn = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    cov = (turn * values) @ turn.T
    return (cov + cov.T) / 2


def of_condition(rng, count, d, condition):
    return np.array([turned(rng, np.logspace(0, -np.log10(condition), d)) for _ in range(count)])


def of_rank(rng, count, d, rank):
    half = rng.normal(size=(count, d, rank))
    return half @ np.swapaxes(half, 1, 2)


def factored(covs):
    """Factors, after a look at all that the contract says of them."""
    factors = triangular_factors(covs)
    scale = np.trace(covs, axis1=1, axis2=2)[:, None, None]
    assert (np.abs(factors @ np.swapaxes(factors, 1, 2) - covs) <= 2e-14 * scale).all()
    assert (np.triu(factors, 1) == 0).all()
    assert (np.diagonal(factors, axis1=1, axis2=2) >= 0).all()
    return factors


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 12, 20, 33])
def test_factors_of_definite_matrices_are_those_of_cholesky(d):
    covs = of_condition(np.random.default_rng(d), 11, d, 1e3)
    np.testing.assert_allclose(factored(covs), np.linalg.cholesky(covs), atol=1e-13)


@pytest.mark.parametrize("condition", [1e8, 1e10, 1e12, 1e13, 1e14, 1e16, 1e18])
@pytest.mark.parametrize("d", [2, 3, 5, 9, 16])
def test_nearly_singular_matrices_are_factored(d, condition):
    covs = of_condition(np.random.default_rng(d), 20, d, condition)
    factors = factored(covs)
    values = np.linalg.svd(factors, compute_uv=False) ** 2
    np.testing.assert_allclose(values, np.tile(np.logspace(0, -np.log10(condition), d), (20, 1)), atol=1e-14)


@pytest.mark.parametrize(("d", "rank"), [(2, 1), (3, 1), (3, 2), (5, 1), (5, 4), (8, 3), (16, 1), (20, 10)])
def test_singular_matrices_are_factored(d, rank):
    factored(of_rank(np.random.default_rng(d + rank), 20, d, rank))


@pytest.mark.parametrize("d", [2, 3, 4, 6, 9])
def test_singular_matrices_of_whole_numbers_have_factors_of_their_rank(d):
    half = np.random.default_rng(d).integers(1, 5, (20, d, 1)).astype(float)
    factors = factored(half @ np.swapaxes(half, 1, 2))
    values = np.linalg.svd(factors, compute_uv=False)
    assert (values[:, 1:] <= 1e-13 * values[:, :1]).all()


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_zero_has_the_factor_zero(d):
    assert (triangular_factors(np.zeros((5, d, d))) == 0).all()
    assert (symmetric_roots(np.zeros((5, d, d))) == 0).all()


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_diagonal_matrices_have_the_roots_of_their_diagonal(d):
    sds = np.random.default_rng(d).integers(0, 4, (30, d)).astype(float)
    factors = triangular_factors(sds[:, :, None] ** 2 * np.eye(d))
    np.testing.assert_array_equal(factors, sds[:, :, None] * np.eye(d))
    np.testing.assert_allclose(symmetric_roots(factors), factors, atol=1e-15)


CONSTANT = [[0], [1], [3], [4], [0, 1], [1, 3], [0, 2, 4]]


def with_constant(columns, rank):
    covs = of_rank(np.random.default_rng(rank), 40, 5, rank)
    covs[:, columns] = 0
    covs[:, :, columns] = 0
    return covs


@pytest.mark.parametrize("constant", CONSTANT)
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_constant_columns_have_no_spread_in_factors_and_roots(constant, rank):
    factors = factored(with_constant(constant, rank))
    assert (factors[:, constant] == 0).all()
    assert (symmetric_roots(factors)[:, constant] == 0).all()


@pytest.mark.parametrize("constant", CONSTANT)
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_columns_that_are_zero_in_the_matrix_are_zero_in_the_factor(constant, rank):
    assert (factored(with_constant(constant, rank))[:, :, constant] == 0).all()


def test_features_in_very_different_units_are_factored_each_to_its_own_size():
    units = np.array([1e-6, 1, 1e6, 1e3])
    covs = of_condition(np.random.default_rng(1), 9, 4, 100.0)
    factors = factored(covs * np.outer(units, units))
    np.testing.assert_allclose(factors / units[:, None], np.linalg.cholesky(covs), atol=1e-13)


@pytest.mark.parametrize("power", [-290, -150, -30, 30, 150, 290])
def test_a_change_of_unit_changes_nothing_else(power):
    rng = np.random.default_rng(2)
    covs = of_condition(rng, 5, 4, 100.0)
    unit = 2.0 ** round(np.log2(10.0) * power / 2)
    np.testing.assert_array_equal(factored(covs * unit**2) / unit, triangular_factors(covs))
    factored(of_rank(rng, 5, 4, 2) * unit**2)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 31])
def test_each_matrix_is_factored_by_itself(count):
    rng = np.random.default_rng(3)
    covs = np.concatenate([of_condition(rng, 16, 4, 1e3), of_rank(rng, 15, 4, 2)])[rng.permutation(31)[:count]]
    together = triangular_factors(covs)
    assert together.shape == (count, 4, 4)
    for k in range(count):
        np.testing.assert_array_equal(triangular_factors(covs[k : k + 1])[0], together[k])


def test_matrices_may_be_read_only():
    covs = of_condition(np.random.default_rng(5), 9, 3, 10.0)
    expected = triangular_factors(covs)
    covs.setflags(write=False)
    np.testing.assert_array_equal(triangular_factors(covs), expected)
    roots = symmetric_roots(expected)
    expected.setflags(write=False)
    np.testing.assert_array_equal(symmetric_roots(expected), roots)


def test_matrices_may_be_views_or_of_another_type():
    covs = np.round(of_condition(np.random.default_rng(5), 9, 3, 10.0) * 64) + 64 * np.eye(3)
    expected = triangular_factors(covs)
    np.testing.assert_array_equal(triangular_factors(np.asfortranarray(covs)), expected)
    np.testing.assert_array_equal(triangular_factors(covs.astype(np.float32)), expected)
    np.testing.assert_array_equal(triangular_factors(covs[::2]), expected[::2])
    assert covs.flags.writeable


@pytest.mark.parametrize("count", [1, 7, 8, 9, 20])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 16, 33])
def test_symmetric_roots_agree_with_those_of_the_eigenvalues(d, count):
    covs = of_condition(np.random.default_rng(d), count, d, 1e4)
    values, vectors = np.linalg.eigh(covs)
    expected = (vectors * np.sqrt(values)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    found = symmetric_roots(triangular_factors(covs))
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))


@pytest.mark.parametrize("condition", [1e8, 1e12, 1e16])
@pytest.mark.parametrize("d", [2, 3, 5, 9, 20])
def test_symmetric_roots_of_nearly_singular_matrices_have_the_right_square(d, condition):
    covs = of_condition(np.random.default_rng(d), 12, d, condition)
    roots = symmetric_roots(triangular_factors(covs))
    np.testing.assert_allclose(roots @ roots, covs, atol=2e-14 * d)
    assert (np.linalg.eigvalsh(roots) >= -1e-14).all()


@SOME
@given(seed=SEEDS, d=st.integers(1, 12), rank=st.integers(0, 12), repeats=st.booleans())
def test_every_semi_definite_matrix_has_a_factor_and_a_root(seed, d, rank, repeats):
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 3, d).astype(float) if repeats else rng.exponential(size=d) ** 6
    values[min(rank, d) :] = 0
    covs = np.array([turned(rng, values) for _ in range(9)])
    roots = symmetric_roots(factored(covs))
    scale = np.trace(covs, axis1=1, axis2=2)[:, None, None]
    assert (np.abs(roots @ roots - covs) <= 2e-13 * scale).all()
    assert (np.linalg.eigvalsh(roots) >= -1e-13 * np.sqrt(scale[:, :, 0])).all()
