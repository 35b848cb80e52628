"""Local mixtures over shared components: their shares, their moments, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mcgta import GaussianMixturePrior, load, read_positions
from mcgta.stages import LocalModels, find_neighborhoods, fit_local_mixtures
from mcgta.stages.prior import MAX_SHARED_COMPONENTS, MixturePrior, fit_shared_components
from naive.mixture import local_shares

CENTERS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 5.0]])


@pytest.fixture
def mixed():
    """Features of three kinds, the third of which becomes more common along time, and what they share."""
    rng = np.random.default_rng(3)
    later = rng.uniform(size=90) < np.linspace(0.1, 0.9, 90)
    kinds = np.where(later, 2, rng.integers(0, 2, 90))
    X = CENTERS[kinds] + rng.normal(size=(90, 2)) * [1.0, 0.7]
    return X, GaussianMixturePrior(n_components=3).fit(X)


@pytest.mark.parametrize("weights", ["uniform", "triangular"])
def test_shares_are_weighted_means_of_responsibilities(mixed, weights):
    X, components = mixed
    near = find_neighborhoods(read_positions(None, 90), 8, weights=weights)
    found = fit_local_mixtures(X, near, components)
    parts = components.shares, components.means, components.covariances
    np.testing.assert_allclose(found.shares, local_shares(X, *parts, near.indices, near.weights), atol=1e-12)
    np.testing.assert_allclose(found.shares.sum(axis=1), 1.0, rtol=1e-14)


def test_means_and_covariances_are_the_moments_of_the_mixtures(mixed):
    X, components = mixed
    models = fit_local_mixtures(X, find_neighborhoods(read_positions(None, 90), 8), components)
    row = 41
    mean = sum(w * m for w, m in zip(models.shares[row], components.means, strict=True))
    second = sum(
        w * (c + np.outer(m, m))
        for w, m, c in zip(models.shares[row], components.means, components.covariances, strict=True)
    )
    np.testing.assert_allclose(models.means[row], mean, rtol=1e-12)
    np.testing.assert_allclose(models.covariances[row], second - np.outer(mean, mean), rtol=1e-10, atol=1e-12)


def test_an_observation_without_enough_neighbours_has_no_mixture(mixed):
    X, components = mixed
    places = read_positions(None, 90, groups=np.repeat([0, 1], [85, 5]))
    models = fit_local_mixtures(X, find_neighborhoods(places, 8), components)
    assert list(models.failures) == [85, 86, 87, 88, 89]
    assert np.isnan(models.shares[85:]).all()
    assert np.isfinite(models.shares[:85]).all()


def test_taken_joined_scaled_and_saved_mixtures_keep_their_shares(mixed, tmp_path):
    X, components = mixed
    models = fit_local_mixtures(X, find_neighborhoods(read_positions(None, 90), 8), components)
    halves = models.take(np.arange(40)).append(models.take(np.arange(40, 90)))
    np.testing.assert_array_equal(halves.shares, models.shares)
    scaled = models.scaled(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(scaled.shares, models.shares)
    np.testing.assert_allclose(scaled.means, scaled.prior.moments(scaled.shares)[0], rtol=1e-12)
    models.save(tmp_path / "models.mcgta")
    np.testing.assert_array_equal(load(tmp_path / "models.mcgta").shares, models.shares)


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        (np.full((2, 2), 0.5), "for each observation and component"),
        (np.array([[1.5, -0.5, 0.0]] * 2), "numbers >= 0 that sum to one"),
        (np.full((2, 3), 0.5), "numbers >= 0 that sum to one"),
        (np.full((2, 3), np.nan), "numbers >= 0 that sum to one"),
    ],
)
def test_shares_that_are_none_are_refused(shares, said):
    components = MixturePrior(np.full(3, 1 / 3), CENTERS, np.tile(np.eye(2), (3, 1, 1)))
    with pytest.raises(ValueError, match=said):
        LocalModels(np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1)), prior=components, shares=shares)


def test_components_of_other_features_are_refused(mixed):
    X, components = mixed
    near = find_neighborhoods(read_positions(None, 90), 8)
    with pytest.raises(ValueError, match="X has 1 features, but components have 2"):
        fit_local_mixtures(X[:, :1], near, components)


def test_shared_components_of_many_observations_are_those_of_a_sample(monkeypatch):
    monkeypatch.setattr("mcgta.stages.prior.SHARED_COMPONENTS_ROWS", 500)
    rng = np.random.default_rng(0)
    X = CENTERS[rng.integers(0, 3, 3000)] + 0.5 * rng.normal(size=(3000, 2))
    found = fit_shared_components(X, GaussianMixturePrior(), 0)
    assert found.shares.size == 3 <= MAX_SHARED_COMPONENTS
    nearest = np.linalg.norm(found.means[:, None] - CENTERS, axis=2).min(axis=0)
    assert (nearest < 0.2).all()
