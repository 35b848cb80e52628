"""Fits with lags along time: added to, predicted from, and saved."""

import numpy as np
import pytest

import mcgta
from mcgta import MCGTA


@pytest.fixture
def series():
    rng = np.random.default_rng(5)
    x = np.zeros((160, 2))
    for t in range(1, 160):
        x[t] = (0.9 if (t // 40) % 2 else -0.7) * x[t - 1] + rng.normal(size=2)
    return x


def fit(X, **params):
    chosen = {"n_neighbors": 15, "lags": 2, "eps": 1.5, "refine": "none", "standardize": False, **params}
    return MCGTA(**chosen, semivariogram="empirical", progress=False).fit(X)


def test_models_after_adding_observations_are_those_of_a_fit_on_all_to_the_last_bit(series):
    grown = fit(series[:131])
    grown.append(series[131:])
    whole = fit(series)
    np.testing.assert_array_equal(grown.local_models_.means, whole.local_models_.means)
    np.testing.assert_array_equal(grown.local_models_.covariances, whole.local_models_.covariances)


def test_a_saved_fit_predicts_as_before(series, tmp_path):
    model = fit(series[:140])
    before = model.predict(series[140:], positions=np.arange(140, 160))
    model.save(tmp_path / "lagged.mcgta")
    loaded = mcgta.load(tmp_path / "lagged.mcgta")
    np.testing.assert_array_equal(loaded.local_models_.covariances, model.local_models_.covariances)
    np.testing.assert_array_equal(loaded.predict(series[140:], positions=np.arange(140, 160)), before)


def test_observations_of_the_fit_keep_their_labels(series):
    model = fit(series)
    np.testing.assert_array_equal(model.predict(series, positions=np.arange(160)), model.labels_)
