"""Descriptions of fits: for each cluster what sets it apart, when or where it is, and typical rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from builders.descriptions import labelled
from mcgta import MCGTA, SpaceTime
from mcgta.description import describe
from naive import description as naive


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def machine():
    """Two machines with three states, some noise, rows in no order."""
    rng = np.random.default_rng(4)
    n = 300
    labels = rng.integers(-1, 3, n // 6).repeat(6)
    X = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.6, 0], [0, 1, 0.4], [0, 0, 50]]) + labels[:, None] * [0.5, 0, -40]
    groups = np.repeat(["a", "b"], n // 2)
    times = np.tile(np.cumsum(rng.integers(1, 4, n // 2)), 2).astype(float)
    order = rng.permutation(n)
    return X[order], labels[order], times[order], groups[order]


@pytest.fixture(scope="module")
def described(machine):
    X, labels, times, groups = machine
    return describe(labelled(X, labels, positions=times, groups=groups, names=np.array(["temp", "load", "noise"])))


def test_effects_are_those_of_the_slow_twin(machine, described):
    X, labels, *_ = machine
    for each in described.clusters:
        inside = labels == each.cluster
        for contrast in each.contrasts:
            column = X[:, described.feature_names.index(contrast.feature)]
            effect, ratio = naive.effect_and_ratio(column[inside].tolist(), column[~inside].tolist())
            assert contrast.effect == pytest.approx(effect, rel=1e-9)
            assert contrast.spread_ratio == pytest.approx(ratio, rel=1e-9)
            assert contrast.mean == pytest.approx(column[inside].mean(), rel=1e-9)
            assert contrast.rest_mean == pytest.approx(column[~inside].mean(), rel=1e-9)
            assert contrast.deviation == pytest.approx(column[inside].std(ddof=1), rel=1e-9)


def test_spells_and_transitions_are_those_of_the_slow_twin(machine, described):
    _, labels, times, groups = machine
    for each in described.clusters:
        lengths = naive.spells(labels, times, groups, each.cluster)
        assert (each.spells.count, each.spells.longest) == (len(lengths), max(lengths))
        assert each.spells.median_length == np.median(lengths)
    assert described.transitions.tolist() == naive.transitions(labels, times, groups, 3)


def test_partial_correlations_and_typical_rows_are_those_of_the_slow_twin(machine, described):
    X, labels, *_ = machine
    for each in described.clusters:
        rows = np.flatnonzero(labels == each.cluster).tolist()
        np.testing.assert_allclose(each.partial_correlations, naive.partial_correlations(X[rows]), atol=1e-9)
        assert each.typical_rows == naive.typical_rows(X, rows, 3)


def test_sizes_shares_and_noise_add_up(machine, described):
    labels = machine[1]
    assert [each.size for each in described.clusters] == np.bincount(labels[labels >= 0]).tolist()
    assert sum(each.share for each in described.clusters) + described.noise_share == pytest.approx(1)
    assert described.noise_reasons == {"too sparse": int((labels < 0).sum())}


def test_the_most_distinguishing_feature_comes_first_and_into_words(rng):
    labels = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 3)) * np.where(labels[:, None] == 0, [1, 1, 0.2], 1) + np.outer(labels == 0, [0, 4, 0])
    first = describe(labelled(X, labels, names=np.array(["a", "temp", "vibration"]))).clusters[0]
    assert [each.feature for each in first.contrasts] == ["temp", "vibration", "a"]
    assert first.words.startswith("high temp (+")
    assert "steady vibration (0." in first.words
    assert "like the rest" in first.contrasts[2].words


def test_clusters_that_differ_in_correlation_only_are_told_apart(rng):
    mixed = rng.normal(size=(400, 2)) @ np.linalg.cholesky([[1, 0.9], [0.9, 1]]).T
    X = np.where(np.arange(400)[:, None] < 200, mixed, mixed * [1, -1])
    first, second = describe(labelled(X, np.repeat([0, 1], 200), names=np.array(["x", "y"]))).clusters
    assert "x and y moving together (correlation +0.9" in first.words
    assert "x and y moving against each other (correlation -0.9" in second.words
    assert first.partial_correlations[0, 1] > 0.8


def test_patches_are_those_of_the_slow_twin(rng):
    places = rng.uniform(0, 1, (150, 2))
    labels = (places[:, 0] * 4).astype(int) % 3 - 1
    found = describe(labelled(rng.normal(size=(150, 2)), labels, positions=places))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    for each in found.clusters:
        assert each.places.n_patches == naive.count_patches(labels.tolist(), distances, each.cluster, 8)
        center = places[labels == each.cluster].mean(axis=0)
        assert each.places.center == pytest.approx(center.tolist())
        apart = np.linalg.norm(places[labels == each.cluster] - center, axis=1)
        assert each.places.spread == pytest.approx(np.sqrt((apart**2).mean()))
        assert each.spells is None
    assert found.transitions is None


def test_many_rows_at_one_place_do_not_cut_patches(rng):
    places = np.column_stack([np.arange(12.0), np.zeros(12)]).repeat(30, axis=0)
    labels = (places[:, 0] >= 6).astype(int)
    found = describe(labelled(rng.normal(size=(360, 2)), labels, positions=places))
    assert [each.places.n_patches for each in found.clusters] == [1, 1]
    assert [each.places.largest_patch for each in found.clusters] == [180, 180]


def test_datetimes_have_durations_in_readable_units(rng):
    times = np.datetime64("2024-05-01T00:00") + np.arange(60) * np.timedelta64(90, "s")
    spells = describe(labelled(rng.normal(size=(60, 1)), np.repeat([0, 1], 30), positions=times)).clusters[0].spells
    assert (spells.median_length, spells.unit) == (pytest.approx(45), "min")
    assert str(spells) == "1 spell of 45 min"


def test_rows_without_positions_are_counted_in_steps(rng):
    found = describe(labelled(rng.normal(size=(60, 1)), np.tile(np.repeat([0, 1], [4, 6]), 6)))
    assert [(each.spells.median_length, each.spells.unit) for each in found.clusters] == [(4, "steps"), (6, "steps")]
    assert (found.kind, found.unit) == ("time", "step")


def test_places_on_earth_have_a_centre_across_the_antimeridian(rng):
    places = np.column_stack([np.r_[rng.uniform(178, 180, 30), rng.uniform(-180, -178, 30)], rng.uniform(-1, 1, 60)])
    found = describe(labelled(rng.normal(size=(60, 1)), np.zeros(60), positions=places, metric="haversine"))
    longitude, latitude = found.clusters[0].places.center
    assert abs(longitude) > 179
    assert abs(latitude) < 1
    assert (found.kind, found.unit) == ("space", "m")
    assert 50_000 < found.clusters[0].places.spread < 300_000


def test_space_and_time_are_described_by_places(rng):
    positions = np.column_stack([rng.uniform(0, 1, (80, 2)), np.arange(80)])
    metric = SpaceTime(time_scale=0.1, space="euclidean")
    found = describe(labelled(rng.normal(size=(80, 2)), np.arange(80) % 2, positions=positions, metric=metric))
    assert found.kind == "spacetime"
    assert len(found.clusters[0].places.center) == 2


def test_precomputed_distances_have_patches_without_a_centre(rng):
    places = np.r_[rng.uniform(0, 1, 20), rng.uniform(9, 10, 20)]
    distances = np.abs(places[:, None] - places)
    found = describe(labelled(rng.normal(size=(40, 2)), np.zeros(40), positions=distances, metric="precomputed"))
    assert found.kind == "other"
    assert found.clusters[0].places.center is None
    assert found.clusters[0].places.n_patches == 2
    assert str(found.clusters[0].places) == "2 patches"


def test_one_cluster_has_nothing_to_be_compared_with(rng):
    found = describe(labelled(rng.normal(size=(30, 2)), np.zeros(30)))
    assert found.n_clusters == 1
    assert np.isnan(found.clusters[0].contrasts[0].effect)
    assert "no rest to compare with" in str(found)


def test_nothing_but_noise_is_described(rng):
    for positions in (None, rng.uniform(size=(30, 2))):
        found = describe(labelled(rng.normal(size=(30, 2)), np.full(30, -1), positions=positions))
        assert (found.n_clusters, found.noise_share, found.clusters) == (0, 1.0, ())
        assert str(found).startswith("no clusters in 30 rows")


def test_a_cluster_of_one_row_is_described(rng):
    found = describe(labelled(rng.normal(size=(30, 2)), [1, *[0] * 29]))
    single = found.clusters[1]
    assert single.typical_rows == (0,)
    assert np.isnan(single.deviation).all()
    assert np.isfinite([each.effect for each in single.contrasts]).all()
    assert single.partial_correlations.tolist() == np.eye(2).tolist()


def test_two_rows_of_two_clusters_are_described():
    found = describe(labelled([[0.0], [1.0]], [0, 1]))
    assert [each.size for each in found.clusters] == [1, 1]
    assert np.isnan(found.clusters[0].contrasts[0].effect)


def test_features_that_do_not_vary_are_like_the_rest(rng):
    X = np.column_stack([rng.normal(size=60), np.full(60, 0.1)])
    constant = describe(labelled(X, np.arange(60) % 3)).clusters[0].contrasts[-1]
    assert (constant.feature, constant.effect, constant.spread_ratio) == ("feature 1", 0.0, 1.0)


def test_a_feature_that_varies_between_clusters_only_differs_without_bounds():
    labels = np.repeat([0, 1], 20)
    found = describe(labelled(np.column_stack([labels, np.arange(40)]), labels))
    contrast = found.clusters[0].contrasts[0]
    assert contrast.effect == -np.inf
    assert contrast.words == "low feature 0 (always 0, in the rest 1)"
    assert found.to_dict()["clusters"][0]["contrasts"][0]["effect"] is None


def test_typical_rows_that_tie_are_the_first():
    X = np.array([[0.0], [1.0], [1.0], [1.0], [1.0], [2.0]])
    assert describe(labelled(X, np.zeros(6))).clusters[0].typical_rows == (1, 2, 3)


def test_it_can_be_written_as_json(described):
    text = json.dumps(described.to_dict(), allow_nan=False)
    again = json.loads(text)
    assert again["clusters"][1]["contrasts"][0]["feature"] in ("temp", "load", "noise")
    assert again["transitions"] == described.transitions.tolist()
    assert again["clusters"][0]["spells"]["count"] == described.clusters[0].spells.count


def test_the_order_of_rows_changes_nothing_but_the_numbers_of_rows(machine, described):
    X, labels, times, groups = machine
    order = np.argsort(times, kind="stable")
    again = describe(labelled(X[order], labels[order], positions=times[order], groups=groups[order]))
    for one, two in zip(described.clusters, again.clusters, strict=True):
        assert [each.effect for each in one.contrasts] == pytest.approx([each.effect for each in two.contrasts])
        assert one.spells == two.spells
        assert [order[row] for row in two.typical_rows] == list(one.typical_rows)


def test_a_fit_with_lags_is_described_by_the_features_as_they_are(rng):
    X = rng.normal(0, 0.5, (120, 2)) + 4 * np.repeat([0, 1, 0, 1, 0, 1], 20)[:, None]
    found = MCGTA(n_neighbors=10, eps=1.0, lags=2, semivariogram="empirical").fit(X * [1, 100]).describe()
    assert found.feature_names == ("feature 0", "feature 1")
    assert found.clusters[0].mean.shape == (2,)


def test_the_estimator_describes_what_it_has_found(series):
    model = MCGTA(n_neighbors=8, eps=1.0).fit(series.X, positions=series.positions)
    found = model.describe()
    assert [each.size for each in found.clusters] == np.bincount(model.labels_[model.labels_ >= 0]).tolist()
    assert "high feature" in found.clusters[0].words
    assert str(found).count("cluster ") >= found.n_clusters
