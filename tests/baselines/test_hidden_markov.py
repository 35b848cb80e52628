"""The hidden Markov model."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hmmlearn.hmm import GaussianHMM
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mcgta.baselines.hidden_markov import HMM
from mcgta.baselines.plain import GMM
from mcgta.datasets import make_series


def test_states_that_overlap_row_by_row_are_told_apart_by_time() -> None:
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 0, 1, 0], 60)
    X = rng.normal(size=(300, 2)) + 1.2 * truth[:, None]
    model = HMM(2).fit(X)
    found = adjusted_rand_score(truth, model.labels_)
    assert found > 0.9
    assert found > adjusted_rand_score(truth, GMM(2).fit(X).labels_) + 0.2
    assert model.converged_
    np.testing.assert_allclose(model.transitions_.sum(axis=1), 1)
    assert (np.diagonal(model.transitions_) > 0.9).all()


def test_groups_are_series_of_their_own() -> None:
    """One series cut in two between states, where the second part comes first by name."""
    sample = make_series(400, n_clusters=2, segment_lengths=(20, 30), separation=1.8, random_state=3)
    half = np.repeat(["b", "a"], 200)
    labels = HMM(2).fit(sample.X, positions=sample.positions, groups=half).labels_
    assert adjusted_rand_score(sample.labels, labels) > 0.9


def test_units_do_not_matter(series: Any) -> None:
    plain = HMM(2).fit(series.X, positions=series.positions)
    scaled = HMM(2).fit(series.X * [1e-5, 1e5] + 7, positions=series.positions)
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)


def test_a_model_that_did_not_converge_says_so(series: Any) -> None:
    model = HMM(2, max_iter=2, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=2"):
        model.fit(series.X, positions=series.positions)
    assert not model.converged_


def test_an_unknown_covariance_is_refused(series: Any) -> None:
    with pytest.raises(ValueError, match=r"covariance_type='ful' is not allowed: .* did you mean 'full'"):
        HMM(2, covariance_type="ful").fit(series.X)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag"])
def test_the_sign_of_a_feature_does_not_matter(covariance_type: str, series: Any) -> None:
    plain, turned = (
        HMM(2, covariance_type=covariance_type).fit(series.X * sign, positions=series.positions)
        for sign in ([1, 1], [1, -1])
    )
    assert turned.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-12)
    np.testing.assert_array_equal(turned.labels_, plain.labels_)


def test_a_state_that_is_never_left_is_no_trouble(series: Any) -> None:
    """Groups of one row have no transitions at all."""
    model = HMM(2).fit(series.X, groups=np.arange(120))
    assert adjusted_rand_score(series.truth, model.labels_) > 0.99
    np.testing.assert_array_equal(model.transitions_, np.full((2, 2), 0.5))
    np.testing.assert_array_equal(HMM(2).fit([[0.0], [0.1], [9.0]]).labels_, [0, 0, 1])


def test_more_states_than_the_rows_can_tell_are_refused(series: Any) -> None:
    with pytest.raises(ValueError, match="n_clusters=60 states are too many for these 60 rows"):
        HMM(60, n_init=1).fit(series.X[:60])


def test_transitions_are_numbered_as_labels_are() -> None:
    """State 0 lasts 5 rows, state 1 lasts 50."""
    truth = np.tile(np.repeat([0, 1], [5, 50]), 12)
    X = np.random.default_rng(0).normal(size=(truth.size, 2)) + 6 * truth[:, None]
    for shift in (0, 5):  # begin with one, and with the other
        for seed in range(4):
            model = HMM(2, random_state=seed).fit(X[shift:])
            labels = model.labels_
            stays = [np.mean(labels[1:][labels[:-1] == k] == k) for k in (0, 1)]
            np.testing.assert_allclose(np.diag(model.transitions_), stays, atol=0.02)
            assert (stays[0] < stays[1]) == (shift == 0)


def test_seeds_that_follow_each_other_share_no_start() -> None:
    X = np.random.default_rng(1).normal(size=(150, 2))
    seen = []
    for seed in (0, 1):
        with mock.patch("hmmlearn.hmm.GaussianHMM", side_effect=GaussianHMM) as made:
            HMM(2, n_init=3, random_state=seed).fit(X)
        seen += [call.kwargs["random_state"] for call in made.call_args_list]
    assert len(set(seen)) == 6
