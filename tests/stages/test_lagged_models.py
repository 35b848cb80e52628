"""Local models of features with lags: block-Toeplitz precisions along time, by the graphical lasso only."""

import numpy as np
import pytest
from sklearn.covariance import GraphicalLasso

from builders.work import on_threads
from mcgta import MCGTA
from mcgta.positions.reading import read_positions
from mcgta.stages import compare_models, find_neighborhoods, fit_local_models
from mcgta.stages.covariance import COVARIANCES, get_covariance
from mcgta.stages.lags import stack_lags
from naive import block_toeplitz as naive

FIXED = {"n_neighbors": 15, "eps": 1.0, "refine": "none", "standardize": False, "semivariogram": "empirical"}


def make_series(count=120, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = np.zeros((count, d))
    for t in range(1, count):
        x[t] = (0.8 if t < count // 2 else -0.6) * x[t - 1] + rng.normal(size=d)
    return x


def fit(X, *, places=None, **params):
    return MCGTA(**{**FIXED, **params}, progress=False).fit(X, positions=places)


def plain_models(X, places, covariance, lags, alpha=0.01):
    """Models without the structure, in the order of rows, which is that of the times."""
    positions = read_positions(places, len(X))
    stacked = stack_lags(X, positions, lags)
    return fit_local_models(stacked, find_neighborhoods(positions, 15), covariance=covariance, alpha=alpha)


def is_block_toeplitz(covariance, blocks):
    precision = np.linalg.inv(covariance)
    entries = naive.parameters(blocks, len(precision) // blocks)
    return all(np.ptp(precision[some]) <= 1e-7 * np.abs(precision).max() for some in entries)


@pytest.mark.parametrize("weights", ["uniform", "gaussian"])
@pytest.mark.parametrize("lags", [1, 3])
def test_precisions_of_lagged_models_along_time_are_block_toeplitz(lags, weights):
    models = fit(make_series(), lags=lags, weights=weights).local_models_
    assert all(is_block_toeplitz(covariance, lags + 1) for covariance in models.covariances)
    assert not is_block_toeplitz(plain_models(make_series(), None, "graphical_lasso", lags).covariances[60], lags + 1)


def test_a_graphical_lasso_of_scikit_learn_has_the_structure_too():
    models = fit(make_series(), lags=1, covariance=GraphicalLasso(alpha=0.2)).local_models_
    named = fit(make_series(), lags=1, alpha=0.2).local_models_
    np.testing.assert_array_equal(models.covariances, named.covariances)


def test_without_lags_models_are_those_of_the_lasso_to_the_last_bit():
    X = make_series()
    found = fit(X, lags=0).local_models_
    np.testing.assert_array_equal(found.covariances, plain_models(X, None, "graphical_lasso", 0).covariances)
    assert get_covariance("graphical_lasso").along_time(0).regularize is COVARIANCES["graphical_lasso"].regularize


@pytest.mark.parametrize("covariance", ["shrunk", "empirical", "ledoit_wolf", "oas"])
def test_other_covariances_do_not_have_the_structure(covariance):
    X = make_series()
    found = fit(X, lags=1, covariance=covariance).local_models_
    np.testing.assert_array_equal(found.covariances, plain_models(X, None, covariance, 1).covariances)


def test_lags_in_space_do_not_have_the_structure():
    X = make_series()
    order = np.lexsort([np.arange(120) % 7, np.arange(120) // 7])
    places = np.column_stack([np.arange(120) // 7, np.arange(120) % 7]).astype(float)
    model = fit(X, places=places, lags=1)
    expected = plain_models(X[order], places[order], "graphical_lasso", 1)
    np.testing.assert_allclose(model.local_models_.covariances[order], expected.covariances, rtol=1e-9, atol=1e-12)


def test_without_a_penalty_covariances_stay_as_they_are():
    X = make_series()
    found = fit(X, lags=1, alpha=0.0).local_models_
    np.testing.assert_array_equal(found.covariances, plain_models(X, None, "empirical", 1).covariances)


def test_stacks_of_many_features_do_without_the_structure():
    X = make_series(60, d=13)
    found = fit(X, lags=1, n_components=None).local_models_
    np.testing.assert_array_equal(found.covariances, plain_models(X, None, "graphical_lasso", 1).covariances)


def test_a_series_without_noise_under_a_tiny_penalty_has_models():
    t = np.arange(80.0)
    model = fit(np.column_stack([np.sin(t / 40), np.cos(t / 30)]), lags=2, alpha=1e-9)
    assert not model.failed_
    assert np.isfinite(model.local_models_.covariances).all()


def test_lagged_models_do_not_depend_on_threads():
    X = make_series(1300)
    one, two = (on_threads(k, lambda: fit(X, lags=2, n_neighbors=20)) for k in (1, 2))
    np.testing.assert_array_equal(one.local_models_.covariances, two.local_models_.covariances)


def test_models_within_one_way_to_move_differ_as_much_as_without_the_structure():
    """So radii that chance suggests, and significance levels, go on without it."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 2))
    for t in range(1, 400):
        X[t] += 0.7 * X[t - 1]
    apart = np.arange(20, 380, 40)
    found = fit(X, lags=2, n_neighbors=30).local_models_
    positions = read_positions(None, 400)
    without = fit_local_models(stack_lags(X, positions, 2), find_neighborhoods(positions, 30))
    typical = [np.median(compare_models(models.take(apart)).matrix()) for models in (found, without)]
    assert typical[0] == pytest.approx(typical[1], rel=0.1)
