"""The search for regions that are mixtures of kinds."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcgta.datasets import make_fields, make_mixed_regions, make_regions
from mcgta.loading import load
from mcgta.observations.observations import sort_observations
from mcgta.positions.reading import read_positions
from mcgta.selection.families.composition.choosing import REGIONS
from mcgta.selection.families.composition.search import search_composition
from mcgta.selection.search import search
from naive import composition as naive

LAYERS = make_mixed_regions(1200, n_clusters=3, n_kinds=5, n_features=5, separation=8.0, random_state=3)
SERIES = make_mixed_regions(1500, n_clusters=3, n_kinds=4, n_features=4, layout="series", random_state=1)


def found_in(sample, n_clusters=None):
    """What the family finds in a sample, and its true labels, both in canonical order."""
    places = read_positions(sample.positions, len(sample.X))
    data = sort_observations(sample.X, places, n_neighbors="auto", lags=0, seed=0)
    scoring_data, result = search(data.X, data.positions, seed=0)
    family = search_composition(scoring_data, result, n_features=data.X.shape[1], seed=0, n_clusters=n_clusters)
    return family, sample.labels[data.order], data


@pytest.fixture(scope="module")
def layers():
    return found_in(LAYERS)


def test_regions_of_mixed_kinds_are_found(layers):
    family, truth, _ = layers
    assert family.level == REGIONS
    assert adjusted_rand_score(truth, family.best.labels) > 0.7
    assert family.nats.regions > family.nats.mixture > family.nats.one


def test_segments_of_mixed_kinds_are_found_along_time():
    family, truth, _ = found_in(SERIES)
    assert family.level == REGIONS
    assert adjusted_rand_score(truth, family.best.labels) > 0.8


def test_kinds_are_found_without_position(layers):
    family, _, data = layers
    assert adjusted_rand_score(LAYERS.kinds[data.order], family.kinds) > 0.8
    shares = family.shares(family.best.labels)
    assert shares.shape == (family.best.n_clusters, len(family.kind_means))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_one_region_is_a_candidate_with_a_gain_of_nothing(layers):
    family, _, _ = layers
    (one,) = [each for each in family.candidates if each.n_clusters == 1]
    assert one.gain == 0.0
    assert sorted({each.n_clusters for each in family.candidates}) == [each.n_clusters for each in family.candidates]


def test_regions_with_borders_explain_more_than_smooth_shares(layers):
    family, _, _ = layers
    assert family.nats.mixture < family.nats.smooth < family.nats.regions


@pytest.mark.parametrize("seed", [3, 7])
def test_steep_gradients_of_shares_are_no_regions(seed):
    sample = make_mixed_regions(1000, n_kinds=4, n_features=5, gradient=True, random_state=seed)
    family, _, _ = found_in(sample)
    assert family is None or family.level != REGIONS


def test_the_gain_of_a_candidate_is_that_of_its_labels(layers):
    family, truth, _ = layers
    assert family.gain(family.best.labels) == pytest.approx(family.best.gain)
    shuffled = np.random.default_rng(0).permutation(truth)
    assert family.gain(shuffled) < 0 < family.gain(truth)


@pytest.mark.parametrize("knobs", [{"n_clusters": 1}, {"gradient": True}, {"n_kinds": 1}])
def test_there_are_no_regions_where_there_is_no_border(knobs):
    family, _, _ = found_in(make_mixed_regions(1000, n_features=5, **{"n_kinds": 5, **knobs}, random_state=2))
    assert family is None or family.level != REGIONS


@pytest.mark.parametrize("sample", [make_regions(600, random_state=1000), make_fields(500, random_state=1000)])
def test_clusters_of_one_gaussian_each_stay_as_they_are(sample):
    family, _, _ = found_in(sample)
    assert family is None or family.level == "one"


@pytest.mark.parametrize("n_clusters", [2, 5, 30])
def test_as_many_regions_are_found_as_are_asked_for(n_clusters):
    family, _, _ = found_in(make_mixed_regions(600, n_clusters=3, n_kinds=4, n_features=4), n_clusters)
    assert family.best.n_clusters == n_clusters
    assert np.unique(family.best.labels).size == n_clusters


def test_the_largest_contrast_is_told_in_words(layers):
    family, _, _ = layers
    said = family.describe(family.best.labels)
    assert said.startswith(f"regions differ in their shares of {len(family.kind_means)} kinds: kind ")
    assert "% of region" in said
    assert family.describe(np.zeros(1200, dtype=np.int64)).startswith("one region of")


def test_models_have_the_densities_of_mixtures_of_kinds(layers):
    family, _, data = layers
    models = family.models(family.best.labels)
    densities = np.exp(models.kind_log_densities(data.X))
    expected = naive.region_log_densities(densities[:40], models.shares)
    found = models.row_log_densities(data.X, data.positions)[:40]
    np.testing.assert_allclose(found * models.overdispersion, expected, rtol=1e-9)


def test_models_are_renumbered_saved_and_read_back(layers, tmp_path):
    family, _, data = layers
    models = family.models(family.best.labels)
    size = len(models)
    rank = np.roll(np.arange(size), 1)
    moved = models.renumbered(rank)
    np.testing.assert_array_equal(moved.shares[rank], models.shares)
    moved.save(tmp_path / "a.mcgta")
    again = load(tmp_path / "a.mcgta")
    expected = moved.row_log_densities(data.X, data.positions)
    np.testing.assert_array_equal(again.row_log_densities(data.X, data.positions), expected)


def test_noise_has_no_part_in_the_models(layers):
    family, _, _ = layers
    labels = family.best.labels.copy()
    labels[::3] = -1
    models = family.models(labels)
    assert len(models) == family.best.n_clusters
    assert np.exp(models.log_shares).sum() == pytest.approx(1.0)
