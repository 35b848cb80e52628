"""Clustering of the features alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import cluster, mixture
from sklearn.exceptions import ConvergenceWarning

from mcgta.baselines import density
from mcgta.baselines.plain import DBSCAN, GMM, HDBSCAN, KMeans
from mcgta.clustering.labels import number_by_first_member


def blobs(count: int, features: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, features)) + 3.0 * rng.integers(0, 3, (count, 1))


@pytest.mark.parametrize("shape", [(40, 1), (300, 2), (200, 5)])
@pytest.mark.parametrize("eps", [0.0, 0.2, 0.7, 2.5])
@pytest.mark.parametrize("min_samples", [1, 4, 12, 35])
def test_dbscan_gives_scikit_learns_labels(shape: tuple[int, int], eps: float, min_samples: int) -> None:
    """Rows in canonical order, in which border rows go to the same cluster."""
    X = blobs(*shape, seed=2)
    X = X[np.lexsort(X.T[::-1])]
    slow = cluster.DBSCAN(eps=max(eps, 1e-300), min_samples=min_samples, algorithm="brute", metric="precomputed")
    apart = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    found = DBSCAN(eps, min_samples).fit(X, positions=np.arange(len(X))).labels_
    np.testing.assert_array_equal(found, number_by_first_member(slow.fit_predict(apart)))


@pytest.mark.parametrize("pairs", [1, 37, 500])
def test_the_size_of_blocks_does_not_change_labels(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = blobs(250, 2, seed=3)
    whole = DBSCAN(0.5, 5).fit(X).labels_
    monkeypatch.setattr(density, "PAIRS", pairs)
    np.testing.assert_array_equal(DBSCAN(0.5, 5).fit(X).labels_, whole)


def test_blocks_hold_no_more_pairs_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    X = blobs(400, 2, seed=4)
    monkeypatch.setattr(density, "PAIRS", 1000)
    neighbors = density.Neighbors([density.near_features(X, 0.5)], len(X))
    sizes = [i.size for i, _ in neighbors.blocks()]
    assert len(sizes) > 4
    assert max(sizes) <= 1000


def test_a_radius_over_all_rows_looks_at_few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    near = density.Neighbors._near
    monkeypatch.setattr(density, "PAIRS", 10_000)
    monkeypatch.setattr(density.Neighbors, "_near", lambda self, i, j: looked.append(i.size) or near(self, i, j))
    model = DBSCAN(1e9, 5).fit(blobs(1000, 2, seed=10))
    assert model.n_clusters_ == 1
    assert (model.labels_ == 0).all()
    assert sum(looked) <= 5 * 1000 + 10_000


@pytest.mark.parametrize("min_samples", [1, 4, 12, 35, 101])
@pytest.mark.parametrize("eps", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_equal_rows_keep_scikit_learns_labels(min_samples: int, eps: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(blobs(200, 2, seed=seed), 1 - seed % 2)
    X[rng.random(200) < 0.3 * (seed % 3)] = 0.0
    X[rng.random(X.shape) < 0.2] *= -1.0  # there are two zeros, which are equal
    slow = cluster.DBSCAN(eps=max(eps, 1e-300), min_samples=min_samples, algorithm="brute", metric="precomputed")
    apart = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    found = DBSCAN(eps, min_samples).fit(X).labels_  # in the order of the rows
    np.testing.assert_array_equal(found, number_by_first_member(slow.fit_predict(apart)))


@pytest.mark.parametrize("min_samples", [5, 40])
def test_equal_rows_are_looked_at_once(min_samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    near = density.Neighbors._near
    monkeypatch.setattr(density.Neighbors, "_near", lambda self, i, j: looked.append(i.size) or near(self, i, j))
    X = np.repeat(blobs(100, 2, seed=11), 30, axis=0)
    found = DBSCAN(1e-6, min_samples).fit(X).labels_
    np.testing.assert_array_equal(found, np.repeat(np.arange(100), 30) if min_samples <= 30 else -1)
    assert sum(looked) <= 3 * 100 * 5


def test_equal_rows_are_one_with_a_weight() -> None:
    X = np.array([[2.0], [0.0], [2.0], [1.0], [-0.0], [2.0]])
    neighbors = density.Neighbors([density.near_features(X, 0.5)], 6)
    assert neighbors.rows.tolist() == [0, 1, 3]
    assert neighbors.weights.tolist() == [3, 2, 1]
    assert neighbors.codes.tolist() == [0, 1, 0, 2, 1, 0]
    assert neighbors.members(np.array([1, 0])).tolist() == [0, 1, 2, 4, 5]
    assert neighbors.members(np.array([], dtype=np.int64)).tolist() == []


def test_the_neighbours_of_one_row_are_those_of_the_blocks() -> None:
    X = blobs(150, 3, seed=5)
    neighbors = density.Neighbors([density.near_features(X, 1.0)], len(X))
    i, j = (np.concatenate(parts) for parts in zip(*neighbors.blocks(), strict=True))
    for row in range(0, 150, 10):
        np.testing.assert_array_equal(neighbors.of(row), np.sort(j[i == row]))


def test_positions_do_not_matter_to_features_alone(series: Any) -> None:
    rng = np.random.default_rng(0)
    for model in (DBSCAN(0.6), HDBSCAN(10)):
        here = model.fit(series.X, positions=series.positions).labels_
        there = model.fit(series.X, positions=rng.permutation(series.positions)).labels_
        assert ((here[:, None] == here) == (there[:, None] == there)).mean() > 0.99


def test_kmeans_and_gmm_are_scikit_learns() -> None:
    X = blobs(200, 3, seed=6)  # the order of time is that of the rows
    ours, theirs = KMeans(3).fit(X).labels_, cluster.KMeans(3, n_init=10, random_state=0).fit_predict(X)
    np.testing.assert_array_equal(ours, number_by_first_member(theirs))
    model = GMM(3, covariance_type="diag").fit(X)
    theirs = mixture.GaussianMixture(3, covariance_type="diag", random_state=0).fit_predict(X)
    np.testing.assert_array_equal(model.labels_, number_by_first_member(theirs))
    assert model.converged_


def test_a_mixture_that_did_not_converge_says_so() -> None:
    model = GMM(3, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(blobs(200, 3, seed=7))
    assert not model.converged_


def test_noise_everywhere_is_no_cluster() -> None:
    model = DBSCAN(0.01, 3).fit(blobs(50, 2, seed=8))
    assert model.n_clusters_ == 0
    assert (model.labels_ == -1).all()


@pytest.mark.parametrize(("model", "said"), [(HDBSCAN(60), "min_cluster_size=60"), (HDBSCAN(5, 60), "min_samples=60")])
def test_hdbscan_refuses_more_neighbours_than_rows(model: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"{said} but there are only 50"):
        model.fit(blobs(50, 2, seed=9))
