"""Estimators of covariances: their rows in the registry, scikit-learn's objects, and any others."""

import re
from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.covariance import (
    OAS,
    EllipticEnvelope,
    EmpiricalCovariance,
    GraphicalLasso,
    LedoitWolf,
    MinCovDet,
    ShrunkCovariance,
)

from builders.work import on_threads
from mcgta import GaussianMixturePrior, load, read_positions
from mcgta.stages import find_neighborhoods, fit_local_models
from mcgta.stages.covariance import COVARIANCES, CovarianceEstimator, Moments, get_covariance
from mcgta.stages.prior import MixturePrior


def series(count=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, d)) @ rng.normal(size=(d, d))


def hoods(count=40, n=12, weights="uniform"):
    return find_neighborhoods(read_positions(None, count), n, weights=weights)


class Spherical(BaseEstimator):
    """An estimator of the user's: the mean variance on the diagonal."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y=None):
        if X[:, 0].max() > 100:
            raise RuntimeError("too large for me")
        self.location_ = np.median(X, axis=0)
        self.covariance_ = self.scale * X.var(axis=0).mean() * np.eye(X.shape[1])
        return self


class Crooked(Spherical):
    """One that gives what is no covariance."""

    def fit(self, X, y=None):
        super().fit(X)
        self.covariance_ = np.diag([1.0, -1.0, 1.0]) if self.scale == 1 else np.triu(np.ones((3, 3)))
        return self


class WithoutLocation(Spherical):
    """One that does not tell the location."""

    def fit(self, X, y=None):
        self.covariance_ = np.eye(X.shape[1])
        return self


@pytest.mark.parametrize("name", COVARIANCES)
def test_every_row_is_complete(name):
    row = COVARIANCES[name]
    assert row.name == name
    assert {field.name for field in fields(CovarianceEstimator)} <= set(vars(row))
    assert row.least_neighbors >= 2
    covs = np.stack([np.eye(3), 2 * np.eye(3)])
    if row.regularize is None:
        return
    found = row.regularize(Moments(covs, np.full(2, 9.0), np.ones(2)), row.parameter)
    assert found.covariances.shape == (2, 3, 3)
    assert found.failures == {}
    assert row.by_moments or row.fit_windows(series()[None, :12], 0).means.shape == (1, 3)


@pytest.mark.parametrize(
    ("estimator", "name", "options"),
    [
        (GraphicalLasso(alpha=0.2), "graphical_lasso", {"alpha": 0.2}),
        (MinCovDet(), "min_cov_det", {}),
        (ShrunkCovariance(), "shrunk", {}),
        (EmpiricalCovariance(store_precision=False), "empirical", {}),
        (LedoitWolf(block_size=7), "ledoit_wolf", {}),
        (OAS(), "oas", {}),
    ],
    ids=repr,
)
def test_estimators_of_scikit_learn_are_the_rows_of_the_registry(estimator, name, options):
    X, near = series(), hoods()
    found = fit_local_models(X, near, covariance=estimator, alpha=options.get("alpha", 99.0), random_state=4)
    expected = fit_local_models(X, near, covariance=name, random_state=4, **options)
    np.testing.assert_array_equal(found.means, expected.means)
    np.testing.assert_array_equal(found.covariances, expected.covariances)


def test_the_penalty_of_an_object_is_its_own():
    X, near = series(), hoods()
    found = fit_local_models(X, near, covariance=GraphicalLasso(alpha=0.2), alpha=0.7)
    np.testing.assert_array_equal(found.covariances, fit_local_models(X, near, alpha=0.2).covariances)


@pytest.mark.parametrize(
    "estimator",
    [
        GraphicalLasso(alpha=0.3, tol=1e-6),
        EmpiricalCovariance(assume_centered=True),
        MinCovDet(support_fraction=0.9, random_state=1),
        Spherical(2.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_other_estimators_are_fitted_on_each_neighbourhood(estimator, n_jobs):
    X, near = series(), hoods()
    found = on_threads(n_jobs, lambda: fit_local_models(X, near, covariance=estimator))
    for row in (0, 17, 39):
        alone = estimator.fit(X[near.indices[row]])
        np.testing.assert_allclose(found.means[row], alone.location_, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.covariances[row], alone.covariance_, rtol=1e-12)


def test_an_estimator_that_draws_is_seeded_and_left_as_it_was():
    X, near, estimator = series(), hoods(), EllipticEnvelope()
    one, same, other = (fit_local_models(X, near, covariance=estimator, random_state=k) for k in (1, 1, 2))
    np.testing.assert_array_equal(one.covariances, same.covariances)
    assert (one.covariances != other.covariances).any()
    assert estimator.random_state is None
    assert not hasattr(estimator, "covariance_")


def test_columns_that_are_constant_in_a_window_stay_at_zero_variance():
    X = series()
    X[:, 1] = 5.0
    found = fit_local_models(X, hoods(), covariance=Spherical())
    assert (found.means[:, 1] == 5).all()
    assert (found.covariances[:, 1] == 0).all()
    assert (found.covariances[:, 0, 0] > 0).all()


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (Spherical(), r"Spherical failed \(too large for me\)"),
        (Crooked(), "Crooked gave a covariance that is not positive semi-definite"),
        (Crooked(2.0), "Crooked gave a covariance that is not symmetric"),
        (Spherical(np.inf), "Spherical gave no finite covariance"),
        (WithoutLocation(), "WithoutLocation failed .*location_"),
    ],
)
def test_what_an_estimator_cannot_fit_is_reported_row_by_row(estimator, said):
    X = series()
    X[3, 0] = 1000.0 if "large" in said else 0.0
    found = fit_local_models(X, hoods(), covariance=estimator)
    assert re.match(said, found.failures[3])
    assert np.isnan(found.covariances[3]).all()
    assert (30 in found.failures) == ("large" not in said)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("ledoit-wolf", "did you mean 'ledoit_wolf'"),
        (None, "None is not one of"),
        (LedoitWolf, "is not one of"),
        (ShrunkCovariance(shrinkage=1.5), "is not allowed: shrinkage must be a number >= 0 and <= 1"),
        (GraphicalLasso(alpha=-1.0), "is not allowed: alpha must be a number >= 0"),
    ],
    ids=repr,
)
def test_what_is_no_estimator_is_refused(value, said):
    with pytest.raises(ValueError, match=f"^covariance=.*{said}"):
        get_covariance(value)


@pytest.mark.parametrize("estimator", ["min_cov_det", Spherical()], ids=repr)
def test_estimators_of_windows_know_uniform_weights_only(estimator):
    with pytest.raises(ValueError, match="knows uniform weights only"):
        fit_local_models(series(), hoods(weights="gaussian"), covariance=estimator)


@pytest.mark.parametrize(
    ("value", "alpha"), [("empirical", 0.1), ("graphical_lasso", 0.0), (ShrunkCovariance(shrinkage=0), 1)]
)
def test_what_does_not_regularise_can_be_singular(value, alpha):
    assert get_covariance(value, alpha).singular
    assert not get_covariance("graphical_lasso", 0.1).singular


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_components": 0}, "n_components=0 is not allowed"),
        ({"n_components": 2.5}, "n_components=2.5 is not allowed"),
        ({"strength": 0}, "strength=0 is not allowed"),
        ({"strength": "n"}, "strength='n' is not allowed"),
    ],
)
def test_options_of_a_prior_are_checked(options, said):
    with pytest.raises(ValueError, match=said):
        GaussianMixturePrior(**options)


def test_a_prior_with_more_components_than_observations_is_refused():
    with pytest.raises(ValueError, match="n_components=50 but there are only 40 observations"):
        GaussianMixturePrior(50).fit(series())


def test_a_prior_and_its_options_come_back_from_files(tmp_path):
    options = GaussianMixturePrior(2, 7.5)
    options.save(tmp_path / "options.mcgta")
    options.fit(series()).save(tmp_path / "prior.mcgta")
    assert load(tmp_path / "options.mcgta") == options
    assert repr(options) == "GaussianMixturePrior(n_components=2, strength=7.5)"
    prior = load(tmp_path / "prior.mcgta")
    assert isinstance(prior, MixturePrior)
    assert prior.strength == 7.5
    assert prior.shares.size == 2
