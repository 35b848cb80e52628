"""Alternatives to the number of clusters found: one cluster and the labelling that was chosen are always among them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from mcgta import MCGTA
from mcgta.datasets import make_regions, make_series

RNG = np.random.default_rng(1)
TRUTH = np.arange(240) // 40 % 2
SERIES = RNG.normal(size=(240, 2)) + 4.0 * TRUTH[:, None]
MIXTURE = RNG.normal(size=(240, 3)) + 8 * np.eye(3)[RNG.integers(0, 3, 240)]  # position does not help
WHITE = RNG.normal(size=(240, 2))


def fit(X, n_clusters="auto", **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MCGTA(n_clusters, refine="all", progress=False).fit(X, **arguments)


@pytest.mark.parametrize("n_clusters", ["auto", 2, 17])
@pytest.mark.parametrize("X", [SERIES, MIXTURE, WHITE], ids=["series", "mixture", "white noise"])
def test_one_cluster_and_the_chosen_labelling_are_among_them(X, n_clusters):
    model = fit(X, n_clusters)
    first = model.alternatives_[0]
    assert (first.n_clusters, first.difference) == (1, "all observations are one cluster")
    assert first.log_evidence == pytest.approx(model.choice_.one_cluster_log_evidence, abs=1e-6)
    np.testing.assert_array_equal(first.labels, 0)
    (chosen,) = [each for each in model.alternatives_ if each.n_clusters == model.n_clusters_]
    assert chosen.log_evidence == model.choice_.log_evidence
    np.testing.assert_array_equal(chosen.labels, model.labels_)
    assert [each.n_clusters for each in model.alternatives_] == model.choice_.cluster_counts.tolist()
    assert all("one cluster" not in each.difference for each in model.alternatives_[1:])


def test_labels_for_the_number_found_are_those_of_the_fit_where_regions_overlap():
    data = make_regions(1200, random_state=60)
    model = fit(data.X, positions=data.positions)
    assert model.cluster_models_.overlap > 0
    np.testing.assert_array_equal(model.labels_for(model.n_clusters_), model.labels_)


def test_labels_for_the_number_found_are_those_of_the_fit_where_some_have_no_model():
    model = fit(np.vstack([SERIES, WHITE[:3]]), groups=np.repeat(["long", "short"], [240, 3]))
    assert sorted(model.failed_) == [240, 241, 242]
    np.testing.assert_array_equal(model.labels_for(model.n_clusters_), model.labels_)


def test_what_distinguishes_them_is_told_by_the_names_of_features():
    shifted = WHITE + 4.0 * np.column_stack([np.zeros(240), TRUTH])
    named = fit(pd.DataFrame(shifted, columns=["heat", "speed"]))
    assert named.alternatives_[1].difference.endswith("differ most in the level of 'speed'")
    assert fit(shifted).alternatives_[1].difference.endswith("differ most in the level of feature 1")


def test_what_distinguishes_them_is_told_with_its_lag():
    X = np.random.default_rng(5).normal(size=(300, 2))
    X[:, 1] += 6.0 * (np.arange(300) % 2)  # lag 1 is low where the feature is high
    frame = pd.DataFrame(X, columns=["heat", "speed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MCGTA(2, refine="all", lags=1, progress=False).fit(frame)
    two = model.alternatives_[1].difference
    assert two.endswith(("of 'speed'", "of lag 1 of 'speed'"))


def test_labels_of_alternatives_are_in_the_order_of_the_rows():
    data = make_series(300, n_clusters=3, segment_lengths=(20, 40), random_state=3)
    rows = np.random.default_rng(0).permutation(300)
    model = MCGTA().fit(data.X[rows], positions=data.positions[rows])
    (own,) = [each for each in model.alternatives_ if each.n_clusters == model.n_clusters_]
    np.testing.assert_array_equal(own.labels, model.labels_)
