"""Regions that overlap get the most probable labels, one by one; sharp borders stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcgta import MCGTA, read_positions
from mcgta.datasets import make_regions
from mcgta.kernels.evidence.shares import local_shares
from mcgta.observations.observations import sort_observations
from mcgta.selection.region_overlap import OVERLAP_NEIGHBORS, _nearest, resolve_overlap
from mcgta.selection.scoring.scored_labelling import fit_clusters
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.scoring.tails import GAUSSIAN


def plane(seed, count, mixing):
    """Two kinds, 3 standard deviations apart, left and right; over a width of ``mixing`` their shares change."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 10, (count, 2))
    labels = (places[:, 0] + mixing * rng.uniform(-0.5, 0.5, count) > 5).astype(np.int64)
    X = rng.normal(size=(count, 2)) + 3.0 * labels[:, None] * [1, 0]
    data = sort_observations(X, read_positions(places, count), n_neighbors=30, lags=0, seed=0)
    return (
        ScoringData.of(data.X, data.positions),
        labels[data.order],
        (data.positions.points[:, 0] > 5).astype(np.int64),
    )


def resolved(scoring_data, labels, *, given=None):
    correlations = np.zeros(scoring_data.d, dtype=np.int64)
    of = labels if given is None else given
    clusters = fit_clusters(scoring_data.whiten_by(of, correlations), of, GAUSSIAN).gaussians
    return resolve_overlap(scoring_data, labels, clusters, correlations, GAUSSIAN)


@pytest.mark.parametrize("seed", range(3))
def test_observations_in_an_overlap_get_their_most_probable_cluster(seed):
    scoring_data, truth, smooth = plane(seed, 3000, mixing=8.0)
    labels, around = resolved(scoring_data, smooth)
    assert around > OVERLAP_NEIGHBORS[0]
    assert adjusted_rand_score(truth, labels) > adjusted_rand_score(truth, smooth) + 0.1


@pytest.mark.parametrize("seed", range(3))
def test_sharp_borders_stay_as_they_are(seed):
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 10, (2000, 2))
    labels = (np.floor(places[:, 0] / 1.25) % 2).astype(np.int64)  # narrow stripes
    X = rng.normal(size=(2000, 2)) + 3.0 * labels[:, None] * [1, 0]
    data = sort_observations(X, read_positions(places, 2000), n_neighbors=30, lags=0, seed=0)
    scoring_data = ScoringData.of(data.X, data.positions)
    found, around = resolved(scoring_data, labels[data.order])
    assert around == 0
    np.testing.assert_array_equal(found, labels[data.order])


def test_one_cluster_series_and_dependent_features_stay_as_they_are():
    scoring_data, truth, smooth = plane(0, 1000, mixing=8.0)
    whitened = scoring_data.whiten_by(truth, np.zeros(2, dtype=np.int64))
    clusters = fit_clusters(whitened, truth, GAUSSIAN).gaussians
    assert resolve_overlap(scoring_data, np.zeros_like(truth), clusters, np.zeros(2, dtype=np.int64), GAUSSIAN)[1] == 0
    assert resolve_overlap(scoring_data, smooth, clusters, np.array([0, 1]), GAUSSIAN)[1] == 0
    series = ScoringData.of(scoring_data.X.T, read_positions(None, 1000))
    assert resolve_overlap(series, smooth, clusters, np.zeros(2, dtype=np.int64), GAUSSIAN)[1] == 0


def test_shares_are_those_of_plain_loops():
    rng = np.random.default_rng(0)
    near, chances = rng.integers(0, 20, (12, 9)), rng.dirichlet(np.ones(3), 20)
    shares = np.empty((12, 3))
    local_shares(near, 5, chances, shares)
    for i in range(12):
        expected = (sum(chances[near[i, p]] for p in range(5)) + 1 / 3) / 6
        np.testing.assert_allclose(shares[i], expected, rtol=1e-14)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_the_nearest_are_of_the_same_group_and_not_the_row_itself():
    rng = np.random.default_rng(1)
    points, groups = rng.integers(0, 4, (60, 2)).astype(float), np.repeat([0, 1], 30)  # many at one place
    near = _nearest(points, groups, 6)
    for i in range(60):
        others = np.flatnonzero((groups == groups[i]) & (np.arange(60) != i))
        gaps = np.linalg.norm(points[others] - points[i], axis=1)
        assert i not in near[i]
        assert len(set(near[i].tolist())) == 6
        np.testing.assert_allclose(np.linalg.norm(points[near[i]] - points[i], axis=1), np.sort(gaps)[:6])


def test_a_fit_of_a_map_says_that_regions_overlap_and_keeps_to_it_in_any_order():
    data = make_regions(1200, random_state=60)
    model = MCGTA(refine="all", progress=False).fit(data.X, positions=data.positions)
    assert any("regions overlap" in note for note in model.choice_.notes)
    order = np.random.default_rng(0).permutation(1200)
    other = MCGTA(refine="all", progress=False, n_jobs=2).fit(data.X[order], positions=data.positions[order])
    np.testing.assert_array_equal(other.labels_, model.labels_[order])
