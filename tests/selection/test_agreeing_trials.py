"""Where labels have to be the clusterer's, its settings are those with which it agrees best with the search."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import mcgta.selection.trials
from mcgta import MCGTA
from mcgta.datasets import make_series
from mcgta.observations.observations import sort_observations
from mcgta.positions.reading import read_positions
from mcgta.selection.merit import ByAgreement, ByEvidence
from mcgta.selection.search import search
from mcgta.selection.trial_values import values_to_agree
from mcgta.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore:semivariogram. no spherical model fits:UserWarning")

SHORT = make_series(600, segment_lengths=(6, 30), random_state=3)


@pytest.fixture(scope="module")
def found():
    """The labels of the search."""
    return MCGTA(refine="all").fit(SHORT.X).labels_


def test_the_clusterer_alone_finds_short_segments(found, monkeypatch):
    agreeing = MCGTA(refine="none").fit(SHORT.X)
    monkeypatch.setattr(mcgta.selection.trials.Trials, "_target", lambda *_: None)
    by_evidence = MCGTA(refine="none").fit(SHORT.X)
    assert agreeing.labels_source_ == "clusterer"
    assert adjusted_rand_score(SHORT.labels, agreeing.labels_) > adjusted_rand_score(SHORT.labels, by_evidence.labels_)
    assert adjusted_rand_score(found, agreeing.labels_) > adjusted_rand_score(found, by_evidence.labels_)
    assert agreeing.choice_.clusterer_log_evidence <= by_evidence.choice_.clusterer_log_evidence


def test_no_radius_or_density_nearby_agrees_clearly_better(found):
    model = MCGTA(refine="none").fit(SHORT.X)
    chosen = model.choice_.settings
    agreed = adjusted_rand_score(found, model.labels_)
    for change in ({"eps": 0.8 * chosen["eps"]}, {"eps": 1.25 * chosen["eps"]}, {"min_samples": chosen["n_neighbors"]}):
        other = MCGTA(**{**chosen, **change}, refine="none").fit(SHORT.X)
        assert adjusted_rand_score(found, other.labels_) <= agreed + mcgta.selection.trials.LEAST_AGREEMENT_GAIN


def test_noise_that_will_be_assigned_is_assigned_for_the_agreement(found):
    places = read_positions(None, len(SHORT.X))
    data, result = search(SHORT.X, places)
    noisy = np.where(np.arange(600) % 3 == 0, -1, result.labels)
    as_class = ByAgreement(ByEvidence(data, result, assigns_noise=False), result.labels)
    assigned = ByAgreement(ByEvidence(data, result, assigns_noise=True), result.labels)
    assert as_class(result.labels) == assigned(result.labels) == 1.0
    assert as_class(noisy) == pytest.approx(adjusted_rand_score(result.labels, noisy))
    assert as_class(noisy) < 0.8 < assigned(noisy)


def test_where_the_search_finds_no_clusters_evidence_decides():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="no cluster structure|explain the observations no better"):
        model = MCGTA(refine="none").fit(rng.normal(size=(300, 3)))
    assert model.n_clusters_ <= 1


def test_small_neighbourhoods_are_tried_where_the_estimator_can_be_fitted_on_them():
    X = np.random.default_rng(0).normal(size=(200, 14))
    data = sort_observations(X, read_positions(None, 200), n_neighbors="auto", lags=0, seed=0)
    assert {15, 20} <= set(values_to_agree(Settings(), data)["n_neighbors"])
    robust = values_to_agree(Settings(covariance="min_cov_det"), data)["n_neighbors"]
    assert 15 not in robust
    assert 20 in robust
