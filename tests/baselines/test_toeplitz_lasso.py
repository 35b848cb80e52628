"""The block-Toeplitz graphical lasso against a generic optimiser, its own certificate, and the plain graphical lasso."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from mcgta.baselines.toeplitz_lasso import GAP, lasso_objectives, toeplitz_lasso
from mcgta.kernels.gaussians.graphical_lasso import graphical_lasso
from mcgta.runtime.types import Array


def covariance(size: int, rows: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, size)) @ (np.eye(size) + 0.4 * rng.normal(size=(size, size)))
    return np.cov(x.T, bias=True).reshape(size, size)


def naive_blocks(values: Array, width: int, d: int) -> list[Array]:
    """Blocks A_0 (symmetric), A_1, ... of a list of free parameters."""
    values = list(values)
    blocks = [np.zeros((d, d)) for _ in range(width)]
    for i in range(d):
        for j in range(i, d):
            blocks[0][i, j] = blocks[0][j, i] = values.pop(0)
    for lag in range(1, width):
        for i in range(d):
            for j in range(d):
                blocks[lag][i, j] = values.pop(0)
    return blocks


def naive_matrix(blocks: list[Array], width: int, d: int) -> Array:
    out = np.zeros((width * d, width * d))
    for a in range(width):
        for b in range(width):
            block = blocks[b - a] if b >= a else blocks[a - b].T
            out[a * d : (a + 1) * d, b * d : (b + 1) * d] = block
    return out


def naive_minimum(S: Array, penalty: float, width: int) -> float:
    """The least objective, by L-BFGS on the positive and negative parts of the free parameters."""
    d = len(S) // width
    count = d * (d + 1) // 2 + (width - 1) * d * d
    basis = np.array([naive_matrix(naive_blocks(unit, width, d), width, d) for unit in np.eye(count)])
    entries = basis.sum(axis=(1, 2))

    def objective(parts: Array) -> tuple[float, Array]:
        theta = np.tensordot(parts[:count] - parts[count:], basis, 1)
        values = np.linalg.eigvalsh(theta)
        if values[0] <= 1e-10:
            return 1e6, np.zeros_like(parts)
        slope = np.tensordot(basis, S - np.linalg.inv(theta), 2)
        found = -np.log(values).sum() + (S * theta).sum() + penalty * (entries * (parts[:count] + parts[count:])).sum()
        return found, np.concatenate([slope + penalty * entries, penalty * entries - slope])

    diagonal = naive_blocks(np.arange(count), width, d)[0].diagonal().astype(int)
    start = np.zeros(2 * count)
    start[diagonal] = 1 / (np.diagonal(S).mean() + penalty)
    options = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-10}
    return float(minimize(objective, start, jac=True, bounds=[(0, None)] * 2 * count, options=options).fun)


def check_structure(theta: Array, width: int) -> None:
    d = len(theta) // width
    blocks = [theta[:d, lag * d : (lag + 1) * d] for lag in range(width)]
    np.testing.assert_array_equal(theta, naive_matrix(blocks, width, d))
    np.testing.assert_array_equal(theta, theta.T)
    assert np.linalg.eigvalsh(theta)[0] > 0


@pytest.mark.parametrize(("width", "d"), [(1, 3), (2, 2), (3, 1), (3, 2), (4, 2)])
@pytest.mark.parametrize("penalty", [0.02, 0.3])
def test_it_finds_the_minimum_that_a_generic_optimiser_finds(width: int, d: int, penalty: float) -> None:
    S = covariance(width * d, 40, seed=width * 10 + d)
    fit = toeplitz_lasso(S[None], np.array([penalty]), width, gap=1e-9)
    assert fit.converged.all()
    assert fit.objectives[0] == pytest.approx(naive_minimum(S, penalty, width), abs=2e-6)


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.floats(1e-3, 2.0),
    st.integers(2, 60),
    st.integers(0, 10**6),
    st.integers(1, 40),
)
@example(4, 2, 0.001953125, 2, 0, 1)
@settings(max_examples=60, deadline=None)
def test_what_comes_back_has_the_structure_and_the_objective_that_is_said(
    width: int, d: int, penalty: float, rows: int, seed: int, turns: int
) -> None:
    """However early it is stopped, and however few rows the covariance is from."""
    S = covariance(width * d, rows, seed)
    fit = toeplitz_lasso(S[None], np.array([penalty]), width, max_iter=turns)
    theta = fit.precisions[0]
    check_structure(theta, width)
    said = -np.linalg.slogdet(theta)[1] + np.trace(S @ theta) + penalty * np.abs(theta).sum()
    assert fit.objectives[0] == pytest.approx(said, rel=1e-9, abs=1e-9)
    # Covariances of two rows with next to no penalty take more than the usual turns.
    solved = toeplitz_lasso(S[None], np.array([penalty]), width, max_iter=20_000)
    assert solved.converged.all()
    assert fit.objectives[0] - fit.gaps[0] <= solved.objectives[0] + 1e-9  # the gap is a certificate
    assert fit.converged[0] == (fit.gaps[0] <= GAP * width * d + 1e-12)


def test_one_block_is_the_graphical_lasso() -> None:
    """Which leaves the diagonal alone: penalising it adds lambda to the variances."""
    S = np.stack([covariance(5, 200, seed) for seed in range(3)])
    fit = toeplitz_lasso(S, np.full(3, 0.1), 1, gap=1e-11)
    known = np.linalg.inv(graphical_lasso(S + 0.1 * np.eye(5), 0.1)[0])
    np.testing.assert_allclose(fit.precisions, known, atol=2e-5)
    assert ((np.abs(known) < 1e-9) == (fit.precisions == 0)).all()
    assert (fit.precisions == 0).any()


def test_a_penalty_above_all_covariances_leaves_a_diagonal() -> None:
    S = covariance(6, 100, seed=1)
    fit = toeplitz_lasso(S[None], np.array([50.0]), 3, gap=1e-12)
    variance = np.diagonal(S).reshape(3, 2).mean(axis=0)
    np.testing.assert_allclose(fit.precisions[0], np.diag(np.tile(1 / (variance + 50), 3)), rtol=1e-6)


def test_problems_of_a_stack_do_not_see_each_other() -> None:
    S = np.stack([covariance(6, rows, seed) for seed, rows in enumerate((5, 50, 500))])
    penalties = np.array([0.05, 0.1, 0.3])
    together = toeplitz_lasso(S, penalties, 2)
    for k in range(3):
        alone = toeplitz_lasso(S[k : k + 1], penalties[k : k + 1], 2)
        np.testing.assert_allclose(alone.precisions[0], together.precisions[k], rtol=0, atol=1e-12)
        assert alone.iterations[0] == together.iterations[k]


def test_a_start_near_the_solution_takes_fewer_turns() -> None:
    S = np.stack([covariance(12, 30, seed) for seed in range(4)])
    penalties = np.full(4, 0.02)
    cold = toeplitz_lasso(S, penalties, 3)
    warm = toeplitz_lasso(1.01 * S, penalties, 3, start=cold.precisions)
    assert warm.converged.all()
    assert warm.iterations.sum() < toeplitz_lasso(1.01 * S, penalties, 3).iterations.sum()
    assert (lasso_objectives(1.01 * S, penalties, cold.precisions) >= warm.objectives - warm.gaps).all()


def test_units_of_features_do_not_keep_it_from_converging() -> None:
    units = np.tile([1e-3, 1.0, 1e8], 3)
    S = covariance(9, 50, seed=3) * units * units[:, None]
    fit = toeplitz_lasso(S[None], np.array([0.1]), 3)
    assert fit.converged.all()
    precision = fit.precisions[0]
    np.testing.assert_array_equal(precision[:6, :6], precision[3:, 3:])
    np.linalg.cholesky(precision)  # which does not mind units
    assert fit.objectives[0] < lasso_objectives(S[None], np.array([0.1]), np.diag(1 / (np.diagonal(S) + 0.1))[None])[0]


def test_features_without_variance_are_no_trouble() -> None:
    S = covariance(6, 50, seed=4)
    S[:, [0, 2, 4]] = S[[0, 2, 4]] = 0.0
    fit = toeplitz_lasso(S[None], np.array([0.1]), 3)
    assert fit.converged.all()
    assert fit.precisions[0, 0, 0] == pytest.approx(10.0, rel=1e-3)


def test_bad_arguments_are_named() -> None:
    S = covariance(6, 50, seed=5)[None]
    with pytest.raises(ValueError, match=r"width=4 does not divide the 6 rows"):
        toeplitz_lasso(S, np.array([0.1]), 4)
    with pytest.raises(ValueError, match=r"penalties=\[0\.\] must be 1 numbers > 0"):
        toeplitz_lasso(S, np.array([0.0]), 3)
