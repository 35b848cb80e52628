"""Maps on smooth random fields."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mcgta.datasets import make_fields
from mcgta.datasets.covariances import space_centres
from naive import algorithm as naive


def correlation_at(sample, low, high):
    """Correlation of the features of pairs of places whose distance is between two bounds."""
    X = (sample.X - sample.X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(sample.covariances[0])).T
    away = cdist(sample.positions, sample.positions)
    i, j = np.nonzero((away > low) & (away < high))
    return float(np.mean(X[i] * X[j]) / np.mean(X**2))


def test_a_field_has_the_shape_that_was_asked_for():
    sample = make_fields(150, n_clusters=3, n_features=4, extent=20.0)
    assert sample.X.shape == (150, 4)
    assert sample.positions.shape == (150, 2)
    assert sample.labels.dtype == np.int64
    assert set(sample.labels.tolist()) == {0, 1, 2}
    assert sample.covariances.shape == (3, 4, 4)
    assert np.isfinite(sample.X).all()
    assert 15 < sample.positions.max() < 20
    assert sample.positions.min() > 0


def test_the_same_seed_gives_the_same_field_and_another_seed_another():
    a, b, c = (make_fields(100, random_state=seed) for seed in (3, 3, 4))
    for name in ("X", "positions", "labels", "covariances"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert not np.array_equal(a.X, c.X)


def test_covariances_are_more_than_one_apart_in_wasserstein_distance():
    zero = np.zeros(5)
    for a, b in itertools.combinations(make_fields(10).covariances, 2):
        assert naive.wasserstein2(zero, a, zero, b) > 1


@pytest.mark.parametrize(("kernel", "length"), [("gaussian", 1.0), ("exponential", 0.7)])
def test_neighbours_are_as_alike_as_the_kernel_says(kernel, length):
    sample = make_fields(
        3000, n_clusters=1, n_features=3, extent=40.0, kernel=kernel, length=length, nugget=0.2, random_state=1
    )
    for h in (0.5, 1.0, 2.0):
        expected = 0.8 * np.exp(-(h**2) / (2 * length**2) if kernel == "gaussian" else -h / length)
        assert correlation_at(sample, h - 0.05, h + 0.05) == pytest.approx(expected, abs=0.05)


def test_a_field_that_is_all_nugget_has_the_mean_and_covariance_of_its_region():
    sample = make_fields(2000, n_clusters=1, n_features=3, nugget=1.0, shift=0.0)
    scale = np.abs(sample.covariances[0]).max()
    np.testing.assert_allclose(sample.X.mean(axis=0), 0.0, atol=5 * np.sqrt(scale / 2000))
    np.testing.assert_allclose(np.cov(sample.X.T), sample.covariances[0], atol=8 * scale / np.sqrt(2000))


def test_a_field_without_nugget_is_smooth():
    sample = make_fields(800, n_clusters=1, nugget=0.0, length=3.0)
    away = cdist(sample.positions, sample.positions) + 100 * np.eye(800)
    nearest = away.argmin(axis=1)
    assert np.abs(sample.X - sample.X[nearest]).max() < 0.5 * sample.X.std()


def test_regions_are_voronoi_cells_with_means_of_their_own():
    sample = make_fields(2000, nugget=1.0, shift=30.0, random_state=2)
    centres = np.array([sample.X[sample.labels == k].mean(axis=0) for k in range(5)])
    np.testing.assert_array_equal(cdist(sample.X, centres).argmin(axis=1), sample.labels)
    nearest = cdist(sample.positions, sample.positions).argsort(axis=1)[:, 1:6]
    assert np.mean(sample.labels[nearest] == sample.labels[:, None]) > 0.9


def test_a_soft_boundary_blends_the_regions_near_it_and_leaves_what_is_far_away():
    sharp, soft = (make_fields(1000, shift=5.0, boundary=width) for width in (0.0, 0.1))
    np.testing.assert_array_equal(sharp.labels, soft.labels)
    away = cdist(sharp.positions, sharp.positions) + np.where(sharp.labels[:, None] == sharp.labels, np.inf, 0.0)
    to_others = away.min(axis=1)
    changes = np.abs(soft.X - sharp.X).max(axis=1)
    assert changes[to_others > 2].max() < 0.01
    assert changes[to_others < 0.2].mean() > 0.5


def test_centres_keep_from_the_edge_and_from_each_other():
    for seed in range(20):
        centres = space_centres(5, 10.0, 2.8, np.random.default_rng(seed), margin=1.0)
        assert centres.min() > 1
        assert centres.max() < 9
        assert (cdist(centres, centres) + 3 * np.eye(5)).min() >= 2.8


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"n_samples": 0}, "n_samples=0 is not allowed: n_samples must be an integer >= 1 and <= 10000"),
        ({"n_samples": 10_001}, "n_samples=10001 is not allowed"),
        ({"n_samples": "many"}, "n_samples='many' is not allowed: n_samples must be an integer"),
        ({"n_samples": 20.0}, r"n_samples=20\.0"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 2.5}, r"n_clusters=2\.5"),
        ({"n_features": "5"}, "n_features='5'"),
        ({"extent": "wide"}, "extent='wide' is not allowed: extent must be a number > 0"),
        ({"length": None}, "length=None"),
        ({"kernel": 3}, "kernel=3"),
        ({"spacing": "a"}, "spacing='a'"),
        ({"separation": None}, "separation=None"),
        ({"random_state": "a"}, "random_state='a'"),
        ({"n_features": 0}, "n_features=0"),
        ({"kernel": "matern"}, "kernel='matern' is not allowed: kernel must be one of 'gaussian', 'exponential'"),
        ({"length": 0.0}, r"length=0\.0"),
        ({"extent": float("inf")}, "extent=inf"),
        ({"nugget": 1.1}, r"nugget=1\.1"),
        ({"shift": -1.0}, r"shift=-1\.0"),
        ({"boundary": float("nan")}, "boundary=nan"),
        ({"spacing": 20.0}, r"spacing=20\.0"),
        ({"separation": 50.0}, r"separation=50\.0"),
    ],
)
def test_impossible_fields_are_refused_by_name(options, name):
    with pytest.raises(ValueError, match=name):
        make_fields(**{"n_samples": 20, **options})
