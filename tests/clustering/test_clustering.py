"""Stage 6: DBSCAN by its definition, beside scikit-learn, and the numbering of clusters."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering

from mcgta.clustering.dbscan import knee
from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.registry import find_clusters
from naive import clusters as naive_clusters


def table(count, seed, *, levels=None):
    """A symmetric table with zero diagonal; with ``levels`` full of ties."""
    rng = np.random.default_rng(seed)
    if levels is None:
        points = np.concatenate([rng.normal(c, 0.7, (count // 3, 2)) for c in ((0, 0), (2, 1), (6, 0))])
        points = rng.permutation(points)
        return ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    raw = np.triu(rng.integers(0, levels, (count, count)).astype(float), 1)
    return raw + raw.T


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("eps", "min_samples"), [(0.1, 3), (0.3, 4), (0.3, 1), (1.0, 8), (1e9, 2), (0.2, 100)])
def test_dbscan_agrees_with_its_definition_and_with_scikit_learn(seed, eps, min_samples):
    M = table(45, seed)
    found = find_clusters(M, eps=eps, min_samples=min_samples)
    labels, core = naive_clusters.dbscan(M, eps, min_samples)
    assert found.labels.tolist() == labels
    assert np.flatnonzero(found.core).tolist() == core
    theirs = DBSCAN(eps=eps, min_samples=min_samples, metric="precomputed").fit_predict(M)
    assert found.labels.tolist() == naive_clusters.renumber(theirs.tolist())


@pytest.mark.parametrize("seed", range(10))
def test_border_observations_within_reach_of_several_clusters_go_to_the_first(seed):
    M = table(24, seed, levels=12)
    for min_samples in (3, 4, 5):
        for eps in (0.0, 1.0, 2.0):
            labels, core = naive_clusters.dbscan(M, eps, min_samples)
            found = find_clusters(M, eps=eps, min_samples=min_samples)
            assert found.labels.tolist() == labels
            assert np.flatnonzero(found.core).tolist() == core


def test_a_border_observation_between_two_clusters_joins_the_earlier_one():
    x = np.array([0.0, 0.5, 1.0, 1.25, 2.25, 3.25, 3.5, 4.0, 4.5])
    M = np.abs(x[:, None] - x[None])
    labels = find_clusters(M, eps=1.0, min_samples=4).labels
    assert labels.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]
    mirrored = find_clusters(M[::-1, ::-1], eps=1.0, min_samples=4).labels
    assert mirrored.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_a_radius_of_zero_joins_observations_at_loss_zero():
    x = np.array([1.0, 0, 0, 5, 0, 1, 1, 9])
    found = find_clusters(np.abs(x[:, None] - x[None]), eps=0.0, min_samples=3)
    assert found.labels.tolist() == [0, 1, 1, -1, 1, 0, 0, -1]


@pytest.mark.parametrize("min_samples", [1, 3, 7, 50])
def test_core_distances_are_those_of_a_sort(min_samples):
    M = table(45, 1)
    found = find_clusters(M, eps=0.5, min_samples=min_samples)
    for i in range(45):
        expected = naive_clusters.core_distance(M, i, min_samples) if found.core[i] else np.inf
        assert found.core_distances[i] == expected
    assert (found.radii == 0.5).all()
    assert found.radii.size == len(set(found.labels[found.labels >= 0]))


def test_clusters_below_the_least_size_are_noise_and_the_rest_is_renumbered():
    x = np.array([0.0, 0.1, 9.0, 9.1, 9.2, 20.0, 4.0, 4.1, 4.2])
    M = np.abs(x[:, None] - x[None])
    assert find_clusters(M, eps=0.5, min_samples=1).labels.tolist() == [0, 0, 1, 1, 1, 2, 3, 3, 3]
    found = find_clusters(M, eps=0.5, min_samples=1, min_cluster_size=3)
    assert found.labels.tolist() == [-1, -1, 0, 0, 0, -1, 1, 1, 1]
    assert np.flatnonzero(found.core).tolist() == [2, 3, 4, 6, 7, 8]


def test_clusters_are_numbered_by_their_first_member():
    rng = np.random.default_rng(3)
    for _ in range(20):
        labels = rng.integers(-2, 6, 15)
        assert number_by_first_member(labels).tolist() == naive_clusters.renumber(labels.tolist())


def test_the_knee_is_where_the_sorted_curve_is_farthest_below_its_chord():
    rng = np.random.default_rng(4)
    for _ in range(10):
        heights = rng.exponential(size=30) ** 2
        curve = sorted(heights)
        below = [k / 29 - (y - curve[0]) / (curve[-1] - curve[0]) for k, y in enumerate(curve)]
        assert knee(heights) == curve[below.index(max(below))]
    assert knee(np.full(5, 2.0)) == 2.0


def test_the_automatic_radius_is_the_knee_of_the_core_distances():
    M = table(45, 6)
    found = find_clusters(M, min_samples=4)
    assert found.eps == knee(np.array([naive_clusters.core_distance(M, i, 4) for i in range(45)]))
    assert found.labels.tolist() == naive_clusters.dbscan(M, found.eps, 4)[0]


@pytest.mark.parametrize(
    "clusterer", ["hdbscan", "optics", AgglomerativeClustering(3, metric="precomputed", linkage="average")]
)
def test_other_algorithms_give_each_member_its_loss_to_the_nearest_of_its_cluster(clusterer):
    M = table(45, 2)
    found = find_clusters(M, clusterer, min_samples=5)
    assert found.labels.max() >= 0
    assert found.labels.tolist() == naive_clusters.renumber(found.labels.tolist())
    for i in range(45):
        members = [j for j in range(45) if found.labels[j] == found.labels[i] and j != i]
        expected = np.inf if found.labels[i] < 0 else min((M[i, j] for j in members), default=0.0)
        assert found.core_distances[i] == expected
        assert found.core[i] == (found.labels[i] >= 0)
    for label, radius in enumerate(found.radii):
        assert radius == max(found.core_distances[found.labels == label])


def test_one_observation_is_no_cluster_of_optics_or_hdbscan_even_where_small_clusters_are_allowed():
    x = np.array([0.0, 2.0, 1.0])  # the last one is core, visited when both others are noise already
    M = np.abs(x[:, None] - x[None])
    assert find_clusters(M, "optics", eps=1.0, min_samples=3, min_cluster_size=1).labels.tolist() == [-1, -1, -1]
    M = table(45, 2)
    pairs = find_clusters(M, "hdbscan", min_samples=1, min_cluster_size=2)
    assert pairs.labels.max() > 0
    for size in (1, None):
        found = find_clusters(M, "hdbscan", min_samples=1, min_cluster_size=size)
        assert found.labels.tolist() == pairs.labels.tolist()


def test_the_only_member_of_a_cluster_is_at_distance_zero_of_it():
    x = np.array([0.0, 1.0, 50.0])
    two = AgglomerativeClustering(2, metric="precomputed", linkage="average")
    found = find_clusters(np.abs(x[:, None] - x[None]), two)
    assert found.labels.tolist() == [0, 0, 1]
    assert found.core_distances.tolist() == [1.0, 1.0, 0.0]
    assert found.radii.tolist() == [1.0, 0.0]
