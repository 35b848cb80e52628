"""Distances that are infinite: places that cannot be reached from each other share clusters, but no dependence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mcgta import MCGTA, evidence

RNG = np.random.default_rng(4)
SIDE = np.repeat([0, 1], 60)
SITES = RNG.uniform(0, 10, (120, 2))
TABLE = np.where(SIDE[:, None] == SIDE, cdist(SITES, SITES), np.inf)


def smooth_features(state):
    """Two features that follow their neighbours, as a Gaussian process does, around a level for each state."""
    correlation = np.exp(-cdist(SITES, SITES) / 2) * (SIDE[:, None] == SIDE)
    factor = np.linalg.cholesky(correlation + 1e-9 * np.eye(120))
    return factor @ np.random.default_rng(1).normal(size=(120, 2)) + 6.0 * state[:, None]


FEATURES = {
    "independent": np.random.default_rng(2).normal(size=(120, 2)) + 5.0 * SIDE[:, None],
    "smooth": smooth_features(SIDE),
}


@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("params", [{}, {"refine": "all"}, {"n_clusters": 2}], ids=str)
def test_two_parts_that_cannot_be_reached_from_each_other_are_two_clusters(kind, params):
    X = FEATURES[kind]
    model = MCGTA(metric="precomputed", semivariogram="empirical", **params).fit(X, positions=TABLE)
    assert model.n_clusters_ == 2
    assert len(set(zip(model.labels_.tolist(), SIDE.tolist(), strict=True))) == 2
    assert np.isfinite(model.probabilities_).all()
    np.testing.assert_allclose(model.membership_probabilities_.sum(axis=1), 1.0)
    assert np.isfinite(model.choice_.log_evidence)
    assert np.isfinite([item.log_evidence for item in model.alternatives_]).all()


@pytest.mark.parametrize("kind", FEATURES)
def test_the_evidence_across_infinite_distances_is_that_of_groups_but_for_the_labels_code(kind):
    X = FEATURES[kind]
    apart = evidence(X, SIDE, positions=TABLE, metric="precomputed")
    assert np.isfinite([apart.log_evidence, apart.suggested_overdispersion]).all()
    grouped = evidence(X, SIDE, positions=cdist(SITES, SITES), groups=SIDE, metric="precomputed")
    assert apart.marginal == pytest.approx(grouped.marginal, rel=1e-6)
    assert apart.jacobian == pytest.approx(grouped.jacobian, rel=1e-6, abs=1e-9)


def test_states_are_shared_by_parts_that_cannot_be_reached_from_each_other():
    state = (SITES[:, 0] > 5).astype(int)
    X = np.random.default_rng(3).normal(size=(120, 2)) + 6.0 * state[:, None]
    model = MCGTA(metric="precomputed", semivariogram="empirical").fit(X, positions=TABLE)
    assert model.n_clusters_ == 2
    agreement = np.mean(model.labels_ == state)
    assert max(agreement, 1 - agreement) > 0.95


def test_new_places_out_of_reach_are_placed_by_their_features():
    X = FEATURES["independent"]
    model = MCGTA(metric="precomputed", semivariogram="empirical").fit(X, positions=TABLE)
    new = np.array([[0.0, 0.0], [5.0, 5.0]])
    labels, strengths = model.predict(new, positions=np.full((2, 120), np.inf), return_probabilities=True)
    assert labels.tolist() == [model.labels_[0], model.labels_[-1]]
    assert np.isfinite(strengths).all()
