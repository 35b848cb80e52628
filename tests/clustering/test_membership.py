"""How firmly observations belong, and where new ones go."""

import numpy as np
import pytest

from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.membership import Membership
from mcgta.clustering.registry import find_clusters
from naive import clusters as naive_clusters


def clustered(seed, clusterer="dbscan", **options):
    rng = np.random.default_rng(seed)
    points = np.concatenate([rng.normal(c, 0.6, (15, 2)) for c in ((0, 0), (3, 1), (6, 0))])
    new = np.concatenate([rng.uniform(-2, 8, (25, 2)), points[:5]])
    M = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    losses = ((new[:, None] - points[None]) ** 2).sum(axis=-1)
    return find_clusters(M, clusterer, **options), M, losses


def strengths_of(found, M):
    reach = BruteForceSearch.of_table(M).cluster_reachability(found.labels, found.core, found.core_distances)
    return Membership.of(found).strengths_at(reach, found.labels)


OPTIONS = [
    {"eps": 0.3, "min_samples": 4},
    {"eps": 0.8, "min_samples": 6},
    {"eps": 0.2, "min_samples": 1},
    {"clusterer": "hdbscan", "min_samples": 4},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_new_observations_go_to_the_cluster_they_reach_first(seed, options):
    found, _, losses = clustered(seed, **options)
    membership = Membership.of(found)
    labels, strengths = membership.assign(losses[:, membership.anchors] - 0.001)
    for k in range(len(losses)):
        near = losses[k, membership.anchors] - 0.001
        label, strength = naive_clusters.place(near, membership.labels, membership.core_distances, membership.radii)
        assert labels[k] == label
        assert strengths[k] == pytest.approx(strength, abs=1e-12)
    assert len(set(labels.tolist())) > 1


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_strengths_of_known_members_agree_with_their_reach(seed, options):
    found, M, _ = clustered(seed, **options)
    strengths = strengths_of(found, M)
    for i, label in enumerate(found.labels):
        anchors = [a for a in np.flatnonzero(found.core) if found.labels[a] == label]
        expected = 0.0
        if label >= 0:
            reached = naive_clusters.reach(M[i, anchors], found.core_distances[anchors])
            expected = naive_clusters.strength(reached, found.radii[label])
        assert strengths[i] == pytest.approx(expected, abs=1e-12)
    assert strengths.max() > 0


def test_the_anchors_of_dbscan_are_its_core_observations():
    found, M, _ = clustered(1, eps=0.3, min_samples=4)
    labels, core = naive_clusters.dbscan(M, 0.3, 4)
    membership = Membership.of(found)
    assert membership.anchors.tolist() == core
    assert membership.labels.tolist() == [labels[i] for i in core]
    assert membership.core_distances.tolist() == [naive_clusters.core_distance(M, i, 4) for i in core]


def test_an_observation_of_the_fit_given_again_goes_where_it_is_if_it_is_core():
    found, M, _ = clustered(2, eps=0.5, min_samples=4)
    membership = Membership.of(found)
    core = np.flatnonzero(found.core)
    labels, strengths = membership.assign(M[np.ix_(core, core)])
    assert labels.tolist() == found.labels[core].tolist()
    np.testing.assert_allclose(strengths, strengths_of(found, M)[core])


def test_anchors_in_another_order_place_new_observations_alike():
    found, _, losses = clustered(0, eps=0.5, min_samples=4)
    membership = Membership.of(found)
    mixed = np.random.default_rng(0).permutation(membership.anchors.size)
    parts = (membership.anchors, membership.labels, membership.core_distances)
    reordered = Membership(*(part[mixed] for part in parts), membership.radii)
    labels, strengths = membership.assign(losses[:, membership.anchors])
    again, strengths_again = reordered.assign(losses[:, reordered.anchors])
    np.testing.assert_array_equal(labels, again)
    np.testing.assert_array_equal(strengths, strengths_again)


def test_without_clusters_everything_is_noise():
    found = find_clusters(np.array([[0.0, 9.0], [9.0, 0.0]]), eps=1.0, min_samples=2)
    labels, strengths = Membership.of(found).assign(np.zeros((3, 0)))
    assert labels.tolist() == [-1, -1, -1]
    assert strengths.tolist() == [0, 0, 0]


def test_a_cluster_of_radius_zero_takes_in_only_observations_at_loss_zero():
    found = find_clusters(np.zeros((4, 4)), eps=0.0, min_samples=2)
    labels, strengths = Membership.of(found).assign(np.array([[0.0, 0, 0, 0], [0.1, 0.1, 0.1, 0.1]]))
    assert labels.tolist() == [0, -1]
    assert strengths.tolist() == [1, 0]
