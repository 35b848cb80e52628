"""The compiled graphical lasso: against its careful form and coordinate ascent, and no fit depends on its company."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta.kernels.gaussians import graphical_lasso as lanes
from mcgta.kernels.gaussians.careful_lasso import GAP, careful_lasso
from mcgta.kernels.gaussians.graphical_lasso import graphical_lasso
from naive import algorithm as naive

SOME = settings(max_examples=20, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def windows(rng, count, n, d):
    """Covariances of windows of n correlated observations."""
    drawn = rng.normal(size=(count, n, d)) @ rng.normal(size=(count, d, d))
    centred = drawn - drawn.mean(axis=1, keepdims=True)
    covs = np.swapaxes(centred, 1, 2) @ centred / n
    return (covs + np.swapaxes(covs, 1, 2)) / 2


def of_condition(rng, d, condition):
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    cov = (turn * np.logspace(0, -np.log10(condition), d)) @ turn.T
    return (cov + cov.T) / 2


def hard_ones(rng, d):
    """Covariances that are singular or nearly so, with constant columns or huge units, or nothing but zeros."""
    line = rng.normal(size=(d, 1))
    constant, idle = windows(rng, 2, d // 2 + 1, d)
    constant[0], constant[:, 0] = 0, 0
    idle[1:], idle[:, 1:] = 0, 0
    huge = np.diag(10.0 ** rng.uniform(-4, 6, d))
    return np.array(
        [
            line @ line.T,
            *windows(rng, 2, 2, d),
            *windows(rng, 2, d // 2 + 1, d),
            of_condition(rng, d, 1e12),
            of_condition(rng, d, 1e15),
            constant,
            idle,
            huge @ windows(rng, 1, 4 * d, d)[0] @ huge,
            windows(rng, 1, 2, d)[0] * 1e12,
            np.zeros((d, d)),
            np.eye(d),
        ]
    )


def optimal(cov, fitted, alpha):
    """Within the dual's box, positive definite and at most 1e-8 nats from the optimum, beyond rounding."""
    off = ~np.eye(len(cov), dtype=bool)
    assert (np.abs(fitted - cov)[off] <= alpha + 1e-14 * np.abs(cov).max()).all()
    np.testing.assert_array_equal(np.diag(fitted), np.diag(cov))
    np.testing.assert_array_equal(fitted, fitted.T)
    values = np.linalg.eigvalsh(fitted)
    assert values[0] > 0
    assert abs(naive.duality_gap(cov, fitted, alpha)) <= 1e-8 + 1e-15 * len(cov) * values[-1] / values[0]


@pytest.mark.parametrize("d", [*range(2, 13), 16, 20])
@pytest.mark.parametrize("alpha", [1e-4, 1e-3, 1e-2, 0.1, 1.0])
def test_fits_are_optimal_and_agree_with_the_careful_form(d, alpha):
    covs = windows(np.random.default_rng(d), 3 if d > 12 else 9, 4 * d, d)
    fitted, gaps = graphical_lasso(covs, alpha)
    assert (gaps <= GAP).all()
    for cov, found in zip(covs, fitted, strict=True):
        optimal(cov, found, alpha)
    # A gap of 1e-9 leaves correlations some 1e-5 to differ by.
    careful = careful_lasso(covs, alpha)[0]
    outer = np.sqrt(np.einsum("bi,bj->bij", *[np.diagonal(covs, axis1=1, axis2=2)] * 2))
    np.testing.assert_allclose(fitted / outer, careful / outer, atol=3e-5)


@pytest.mark.parametrize("d", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("alpha", [1e-3, 0.05, 0.5])
def test_fits_agree_with_coordinate_ascent(d, alpha):
    covs = windows(np.random.default_rng(10 + d), 3, 3 * d, d)
    for cov, found in zip(covs, graphical_lasso(covs, alpha)[0], strict=True):
        np.testing.assert_allclose(found, naive.graphical_lasso(cov, alpha, tol=1e-11), atol=3e-5 * cov.max())


@pytest.mark.parametrize(("n", "d"), [(2, 2), (2, 3), (3, 5), (4, 8), (7, 12), (2, 16)])
@pytest.mark.parametrize("alpha", [1e-3, 1e-2, 0.1, 1.0])
def test_fewer_observations_than_features_are_fitted_to_the_optimum(n, d, alpha):
    covs = windows(np.random.default_rng(n * d), 9, n, d)
    for cov, found in zip(covs, graphical_lasso(covs, alpha)[0], strict=True):
        optimal(cov, found, alpha)


@pytest.mark.parametrize("d", [2, 3, 5, 9, 12, 16, 20])
@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 0.3])
def test_a_fit_is_the_same_to_the_last_bit_alone_in_a_stack_and_in_another_order(d, alpha):
    rng = np.random.default_rng(d)
    covs = np.concatenate([windows(rng, 6, 3 * d, d), windows(rng, 5, d + 1, d), windows(rng, 2, 40 * d, d)])
    fitted, gaps = graphical_lasso(covs, alpha)
    order = rng.permutation(len(covs))
    moved, moved_gaps = graphical_lasso(covs[order], alpha)
    np.testing.assert_array_equal(moved, fitted[order])
    np.testing.assert_array_equal(moved_gaps, gaps[order])
    for k, cov in enumerate(covs):
        alone, gap = graphical_lasso(cov[None], alpha)
        np.testing.assert_array_equal(alone[0], fitted[k])
        assert gap[0] == gaps[k]


@pytest.mark.filterwarnings("ignore::RuntimeWarning:mcgta.kernels.gaussians.careful_lasso")
@pytest.mark.parametrize("d", [2, 3, 4, 6, 8, 12, 16])
@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0])
def test_hard_ones_change_no_bit_of_easy_ones(d, alpha):
    rng = np.random.default_rng(d)
    easy, hard = windows(rng, 11, 5 * d, d), hard_ones(rng, d)
    covs = np.concatenate([easy, hard])
    order = rng.permutation(len(covs))
    fitted = np.empty_like(covs)
    fitted[order] = graphical_lasso(covs[order], alpha)[0]
    for k, cov in enumerate(easy):
        np.testing.assert_array_equal(fitted[k], graphical_lasso(cov[None], alpha)[0][0])
    assert np.isfinite(fitted).all()
    largest = np.abs(covs).max(axis=(1, 2))[:, None, None]
    assert (np.abs(fitted - covs) <= alpha + 1e-14 * largest).all()


@pytest.mark.parametrize("d", [4, 12, 16])
def test_hard_ones_are_fitted_the_same_to_the_last_bit_in_any_company(d):
    covs = windows(np.random.default_rng(d), 9, d // 2, d)
    fitted = graphical_lasso(covs, 1e-3)[0]
    for cov, found in zip(covs, fitted, strict=True):
        np.testing.assert_array_equal(graphical_lasso(cov[None], 1e-3)[0][0], found)


def test_one_that_is_solved_at_the_start_stands_still_while_others_go_on():
    solved = np.eye(3)
    solved[0, 1] = solved[1, 0] = 0.9999999961814751
    half = np.random.default_rng(0).normal(size=(20, 3, 2))
    alpha = 4.892292671346727e-10
    alone = graphical_lasso(solved[None], alpha)[0][0]
    for other in half @ np.swapaxes(half, 1, 2):
        np.testing.assert_array_equal(graphical_lasso(np.array([solved, other]), alpha)[0][0], alone)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:mcgta.kernels.gaussians.careful_lasso")
@pytest.mark.parametrize("d", [2, 6, 12])
@pytest.mark.parametrize("alpha", [1e-14, 1e-16, 1e-18])
def test_none_counts_as_converged_that_is_not_positive_definite(d, alpha):
    covs = windows(np.random.default_rng(d), 17, d // 2 + 1, d)
    fitted, gaps = graphical_lasso(covs, alpha)
    scale = np.sqrt(np.diagonal(covs, axis1=1, axis2=2))
    lowest = np.linalg.eigvalsh(fitted / (scale[:, :, None] * scale[:, None, :]))[:, 0]
    assert (lowest[gaps <= GAP] > 0).all()


def test_hard_ones_raise_no_warnings():
    covs = windows(np.random.default_rng(12), 17, 2, 12)
    assert np.isfinite(graphical_lasso(covs, 1e-14)[0]).all()


@pytest.mark.parametrize("constant", [[0], [3], [1, 2], [0, 1, 2], [0, 1, 2, 3]])
def test_constant_columns_stay_at_zero_in_any_company(constant):
    rng = np.random.default_rng(7)
    covs = windows(rng, 11, 12, 4)
    covs[3, constant], covs[3, :, constant] = 0, 0
    found = graphical_lasso(covs, 0.05)[0][3]
    assert (found[constant] == 0).all()
    np.testing.assert_allclose(found, naive.graphical_lasso(covs[3], 0.05), atol=1e-6)


@pytest.mark.parametrize("power", [-10, -5, 5, 10])
def test_a_change_of_unit_of_features_and_penalty_changes_nothing_else(power):
    covs = windows(np.random.default_rng(9), 9, 15, 5)
    unit = 2.0 ** round(np.log2(10.0) * power)
    fitted = graphical_lasso(covs * unit, 0.05 * unit)[0]
    np.testing.assert_allclose(fitted / unit, graphical_lasso(covs, 0.05)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("d", [2, 5, 16])
def test_a_large_penalty_leaves_the_diagonal(d):
    covs = windows(np.random.default_rng(d), 9, 3 * d, d)
    fitted, gaps = graphical_lasso(covs, 1e4)
    np.testing.assert_array_equal(fitted, covs * np.eye(d))
    assert (gaps <= GAP).all()


def test_without_penalty_nothing_changes():
    covs = windows(np.random.default_rng(1), 9, 3, 5)
    np.testing.assert_array_equal(graphical_lasso(covs, 0.0)[0], covs)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 23])
def test_any_number_of_covariances_is_fitted(count):
    covs = windows(np.random.default_rng(3), 23, 12, 4)
    fitted, gaps = graphical_lasso(covs[:count], 0.1)
    assert gaps.shape == (count,)
    np.testing.assert_array_equal(fitted, graphical_lasso(covs, 0.1)[0][:count])


def test_covariances_may_be_read_only():
    covs = windows(np.random.default_rng(4), 9, 12, 4)
    expected = graphical_lasso(covs, 0.1)[0]
    covs.setflags(write=False)
    np.testing.assert_array_equal(graphical_lasso(covs, 0.1)[0], expected)


def test_covariances_are_left_as_they_are():
    covs = np.concatenate([windows(np.random.default_rng(4), 9, 12, 4), windows(np.random.default_rng(4), 2, 2, 4)])
    before = covs.copy()
    graphical_lasso(covs, 0.01)
    np.testing.assert_array_equal(covs, before)


def test_more_than_forty_features_go_the_careful_way(monkeypatch):
    taken = []
    monkeypatch.setattr(
        lanes, "careful_lasso", lambda covs, alpha: taken.append(len(covs)) or careful_lasso(covs, alpha)
    )
    few, many = windows(np.random.default_rng(5), 2, 200, 40), windows(np.random.default_rng(5), 2, 200, 41)
    fitted, gaps = graphical_lasso(few, 10.0)
    assert taken == []
    assert (gaps <= GAP).all()
    np.testing.assert_array_equal(graphical_lasso(many, 10.0)[0], careful_lasso(many, 10.0)[0])
    assert taken == [2]
    for cov, found in zip(few, fitted, strict=True):
        optimal(cov, found, 10.0)


@SOME
@given(seed=SEEDS, d=st.integers(2, 9), digits=st.floats(-3, 0), extra=st.integers(1, 20))
def test_every_fit_is_optimal_whatever_the_windows(seed, d, digits, extra):
    covs = windows(np.random.default_rng(seed), 5, d + extra, d)
    fitted, gaps = graphical_lasso(covs, 10**digits)
    assert (gaps <= GAP).all()
    for cov, found in zip(covs, fitted, strict=True):
        optimal(cov, found, 10**digits)
