"""Units of features: what they are divided by, and that no row is lost to them."""

import numpy as np
import pytest

from mcgta import MCGTA, load
from mcgta.datasets import make_series
from mcgta.stages.units import choose_spreads, feature_spreads

DATA = make_series(400, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
FACTORS = np.array([1e-3, 1e6, 1.0, 1e-2, 1e3])
PLAIN = {"n_neighbors": 20, "eps": 0.6, "progress": False}


def test_spreads_are_standard_deviations_of_any_size():
    X = np.column_stack([DATA.X[:, 0] * 1e200, DATA.X[:, 1] * 1e-200, np.full(400, 7.0)])
    spreads = feature_spreads(X)
    np.testing.assert_allclose(spreads, [DATA.X[:, 0].std() * 1e200, DATA.X[:, 1].std() * 1e-200, 1.0])


def test_features_that_share_a_unit_are_left_as_they_are():
    assert choose_spreads(DATA.X, "auto") is None
    assert choose_spreads(DATA.X * FACTORS, False) is None
    assert choose_spreads(DATA.X, True) is not None


def test_units_do_not_matter_where_spreads_differ_more_than_tenfold():
    standard = MCGTA(**PLAIN, standardize=True).fit(DATA.X)
    raw = MCGTA(**PLAIN).fit(DATA.X * FACTORS)
    np.testing.assert_array_equal(raw.labels_, standard.labels_)
    assert raw.semivariogram_.sill_ == pytest.approx(standard.semivariogram_.sill_)


def test_raw_units_and_collinear_features_lose_no_row():
    X = DATA.X * FACTORS
    X = np.column_stack([X, 7 * X[:, 0] + 1e-9 * X[:, 1], X[:, 1] / 3])
    assert MCGTA(n_neighbors=20, progress=False, eps=0.6).fit(X).failed_ == {}


def test_local_models_are_in_the_units_of_the_features():
    model = MCGTA(**PLAIN).fit(DATA.X * FACTORS)
    plain = MCGTA(**PLAIN, standardize=True).fit(DATA.X)
    np.testing.assert_allclose(model.local_models_.means, plain.local_models_.means * FACTORS, rtol=1e-6, atol=1e-12)


def test_new_observations_are_placed_in_the_same_units(tmp_path):
    X = DATA.X * FACTORS
    model = MCGTA(**PLAIN).fit(X[:300])
    plain = MCGTA(**PLAIN, standardize=True).fit(DATA.X[:300])
    np.testing.assert_array_equal(model.predict(X[300:]), plain.predict(DATA.X[300:]))
    model.save(tmp_path / "fit.mcgta")
    np.testing.assert_array_equal(load(tmp_path / "fit.mcgta").predict(X[300:]), model.predict(X[300:]))
    np.testing.assert_array_equal(model.append(X[300:]).labels_, plain.append(DATA.X[300:]).labels_)


def test_a_prior_is_in_the_units_of_the_features():
    model = MCGTA(**PLAIN, prior="gmm").fit(DATA.X * FACTORS)
    plain = MCGTA(**PLAIN, prior="gmm", standardize=True).fit(DATA.X)
    np.testing.assert_allclose(model.prior_.means, plain.prior_.means * FACTORS, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.local_models_.prior.covariances, model.prior_.covariances)
    again = model.refit(local_models=model.local_models_)
    np.testing.assert_array_equal(again.labels_, model.labels_)
