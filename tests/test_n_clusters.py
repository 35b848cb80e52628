"""A number of clusters that is asked for is given, and the alternatives to the number found are told of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mcgta import MCGTA
from mcgta.datasets import make_fields, make_regions, make_series

NUMBERS = [*range(1, 9), 25]
DATA = {
    "time": make_series(400, n_clusters=4, segment_lengths=(20, 40), random_state=1),
    "plane": make_regions(400, n_clusters=4, spacing=5.0, random_state=1),
}
FIELD = make_fields(300, n_clusters=1, random_state=0)
RNG = np.random.default_rng(0)
WHITE = RNG.normal(size=(300, 3))
PLACES = RNG.uniform(0, 10, (300, 2))
WITHOUT_CLUSTERS = {
    "one field": (FIELD.X, {"positions": FIELD.positions}),
    "white noise in time": (WHITE, {}),
    "white noise in a plane": (WHITE, {"positions": PLACES}),
}


def fit(X, n_clusters="auto", **options):
    where = {name: options.pop(name) for name in ("positions",) if name in options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MCGTA(n_clusters, **options).fit(X, **where)


def count_clusters(labels):
    return np.unique(labels[labels >= 0]).size


@pytest.mark.parametrize("refine", ["auto", "all"])
@pytest.mark.parametrize("place", DATA)
@pytest.mark.parametrize("n_clusters", NUMBERS)
def test_as_many_clusters_as_are_asked_for_are_given_by_evidence(place, n_clusters, refine):
    data = DATA[place]
    model = fit(data.X, n_clusters, refine=refine, positions=data.positions)
    assert count_clusters(model.labels_) == model.n_clusters_ == n_clusters
    assert (model.labels_ >= 0).all()
    assert model.labels_source_ == "evidence"
    assert np.isfinite(model.choice_.log_evidence)


@pytest.mark.parametrize("refine", ["none", "noise"])
@pytest.mark.parametrize("place", DATA)
@pytest.mark.parametrize("n_clusters", NUMBERS)
def test_as_many_clusters_as_are_asked_for_are_given_by_the_clusterer(place, n_clusters, refine):
    data = DATA[place]
    model = fit(data.X, n_clusters, refine=refine, n_neighbors=10, min_samples=2, positions=data.positions)
    assert count_clusters(model.labels_) == model.n_clusters_ == n_clusters
    assert model.labels_source_ == "clusterer"
    assert (model.noise_share_ == 0.0) or refine == "none"


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
def test_every_clusterer_can_be_cut_where_it_has_three_clusters(clusterer):
    data = DATA["time"]
    model = fit(data.X, 3, refine="none", clusterer=clusterer, min_samples=4, positions=data.positions)
    assert count_clusters(model.labels_) == model.n_clusters_ == 3


def test_a_number_that_no_setting_gives_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="n_clusters=25 is not possible with min_samples=200"):
        fit(DATA["time"].X, 25, refine="none", min_samples=200)


@pytest.mark.parametrize("n_clusters", [2, 5])
@pytest.mark.parametrize("kind", WITHOUT_CLUSTERS)
def test_data_without_clusters_are_divided_into_zones_all_the_same(kind, n_clusters):
    X, where = WITHOUT_CLUSTERS[kind]
    model = fit(X, n_clusters, **where)
    assert count_clusters(model.labels_) == n_clusters
    assert np.isfinite(model.probabilities_).all()


def test_zones_of_data_without_clusters_are_called_doubtful():
    model = fit(WHITE, 3)
    assert any("explain the observations no better than one cluster" in doubt for doubt in model.choice_.doubts)


@pytest.mark.parametrize("place", DATA)
def test_labels_for_a_number_are_those_of_a_fit_with_it(place):
    data = DATA[place]
    model = fit(data.X, positions=data.positions)
    looked_at = [item.n_clusters for item in model.alternatives_ if item.labels is not None]
    for n_clusters in (*looked_at[:4], 25):
        labels = model.labels_for(n_clusters)
        assert count_clusters(labels) == n_clusters
    for n_clusters in (1, 3, 25):
        expected = fit(data.X, n_clusters, positions=data.positions)
        differ = model.labels_for(n_clusters) != expected.labels_
        resolved = any("regions overlap" in note for note in expected.choice_.notes)  # which alternatives are not
        assert differ.mean() <= (0.01 if resolved else 0.0)


@pytest.mark.parametrize("place", DATA)
def test_the_labels_for_the_number_found_are_those_of_the_fit(place):
    data = DATA[place]
    model = fit(data.X, positions=data.positions)
    np.testing.assert_array_equal(model.labels_for(model.n_clusters_), model.labels_)


@pytest.mark.parametrize("place", DATA)
def test_alternatives_are_sorted_and_have_evidence_and_a_difference_in_words(place):
    data = DATA[place]
    model = fit(data.X, positions=data.positions)
    numbers = [item.n_clusters for item in model.alternatives_]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1
    assert model.n_clusters_ in numbers
    for item in model.alternatives_:
        assert np.isfinite(item.log_evidence)
        assert len(item.difference.split()) >= 4
        assert count_clusters(item.labels) == item.n_clusters
    np.testing.assert_array_equal(numbers, model.choice_.cluster_counts)
    assert "is split into parts of" in model.alternatives_[1].difference


@pytest.mark.parametrize("value", [0, -1, 2.5, "three", None, True])
def test_a_number_of_clusters_that_is_none_is_refused(value):
    model = MCGTA(n_neighbors=20, eps=0.6, semivariogram="empirical").fit(DATA["time"].X)
    with pytest.raises(ValueError, match="n_clusters="):
        model.labels_for(value)


@pytest.mark.filterwarnings("ignore:X. column .* is constant:UserWarning")
@pytest.mark.filterwarnings("ignore:semivariogram. no spherical model fits:UserWarning")
def test_features_that_do_not_vary_have_no_number_of_clusters():
    X = np.ones((60, 2))
    with pytest.raises(ValueError, match="n_clusters=3 is not possible: no feature varies"):
        MCGTA(3).fit(X)
    model = MCGTA().fit(X)
    with pytest.raises(ValueError, match="n_clusters=2 is not possible: no feature varies"):
        model.labels_for(2)
