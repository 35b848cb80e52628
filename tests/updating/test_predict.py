"""Placing new observations in the clusters of a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mcgta import MCGTA, GaussianMixturePrior
from mcgta.datasets import make_series
from mcgta.positions.metrics import SpaceTime
from mcgta.updating.unlike import changed_clusters

NOISE = -1
RADII = {"dbscan": 0.5, "hdbscan": 0.0, "optics": 0.5}  # for ragged features


def fit(X, positions=None, groups=None, **params):
    params = {"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params}
    model = MCGTA(**params).fit(X, positions=positions, groups=groups)
    return model.refit(eps="auto") if model.clusterer == "optics" else model  # by the xi method


def strengths_of(model, X, **where):
    return model.predict(X, **where, return_probabilities=True)[1]


def manhattan(a, b):
    return float(np.abs(a - b).sum())


def ragged(rng, count):
    """Features that leave borders, noise and several clusters."""
    return rng.normal(size=(count, 2)) + 2.5 * (np.cumsum(rng.random(count) < 0.06) % 2)[:, None]


@pytest.mark.parametrize("clusterer", RADII)
@pytest.mark.parametrize("kind", ["time", "plane", "sphere", "spacetime", "precomputed"])
def test_the_observations_of_the_fit_keep_their_labels_and_strengths(kind, clusterer):
    rng = np.random.default_rng(3)
    X, params = ragged(rng, 60), {"eps": RADII[clusterer], "clusterer": clusterer}
    positions = rng.uniform(0, 10, (60, 2))
    if kind == "time":
        positions = np.cumsum(rng.exponential(1.0, 60))
    elif kind == "sphere":
        positions, params["metric"] = positions + np.array([175, 60]), "haversine"
    elif kind == "spacetime":
        positions = np.column_stack([positions, rng.uniform(0, 5, 60)])
        params |= {"metric": SpaceTime(time_scale=2.0)}
    elif kind == "precomputed":
        positions, params["metric"] = np.linalg.norm(positions[:, None] - positions[None], axis=2), "precomputed"
    model = fit(X, positions, **params)
    assert {NOISE, 0} <= set(model.labels_.tolist())
    order = rng.permutation(60)
    np.testing.assert_array_equal(model.predict(X, positions=positions), model.labels_)
    np.testing.assert_array_equal(model.predict(X[order], positions=positions[order]), model.labels_[order])
    np.testing.assert_array_equal(strengths_of(model, X, positions=positions), model.probabilities_)


def test_the_observations_of_the_fit_keep_their_labels_among_new_ones(series):
    model = fit(series.X, series.positions)
    between = (series.positions[:5] + series.positions[1:6]) / 2
    X = np.concatenate([series.X[:5] + 0.1, series.X])
    labels = model.predict(X, positions=np.r_[between, series.positions])
    np.testing.assert_array_equal(labels[5:], model.labels_)


def test_the_observations_of_the_fit_keep_their_labels_under_a_function(plane):
    X, positions = ragged(np.random.default_rng(3), 60), plane.positions[:60]
    model = fit(X, positions, metric=manhattan, eps=0.5)
    assert {NOISE, 0} <= set(model.labels_.tolist())
    labels = model.predict(np.r_[X, X[:1]], positions=np.r_[positions, positions[:1] + 0.1])
    np.testing.assert_array_equal(labels[:60], model.labels_)


def test_new_times_between_old_ones_get_the_surrounding_cluster(series):
    model = fit(series.X, series.positions)
    inside = np.flatnonzero(series.truth[1:] == series.truth[:-1])
    inside = inside[np.diff(series.positions)[inside] < 5]
    times = (series.positions[inside] + series.positions[inside + 1]) / 2
    X = (series.X[inside] + series.X[inside + 1]) / 2
    np.testing.assert_array_equal(model.predict(X, positions=times), series.truth[inside])


def test_a_single_new_place_gets_the_cluster_of_its_neighbours(plane):
    model = fit(plane.X, plane.positions)
    for row in (0, 20, 100):
        label = model.predict(plane.X[[row]] + 0.05, positions=plane.positions[[row]] + 0.01)
        assert label.tolist() == [plane.truth[row]]


def test_new_places_on_every_metric_get_the_surrounding_cluster(plane):
    rng = np.random.default_rng(0)
    X, near = plane.X + rng.normal(0, 0.1, plane.X.shape), plane.positions + rng.normal(0, 0.05, (128, 2))
    degrees = np.array([170.0, 10.0])
    on_sphere = fit(plane.X, plane.positions + degrees, metric="haversine")
    assert set(on_sphere.positions_.coordinates[:, 0] < 0) == {True, False}  # both sides of the date line
    on_table = fit(
        plane.X,
        np.linalg.norm(plane.positions[:, None] - plane.positions[None], axis=2),
        metric="precomputed",
    )
    by_function = fit(plane.X[:48], plane.positions[:48], metric=manhattan)
    cross = np.linalg.norm(near[:, None] - plane.positions[None], axis=2)
    for model, positions, count in (
        (fit(plane.X, plane.positions), near, 128),
        (on_sphere, near + degrees, 128),
        (on_table, cross, 128),
        (by_function, near[:48], 48),
    ):
        found = model.predict(X[:count], positions=positions)
        names = {int(label): int(state) for label, state in zip(model.labels_, plane.truth, strict=False)}
        assert [names[label] for label in found.tolist()] == plane.truth[:count].tolist()


def test_a_new_series_without_positions_is_a_series_of_its_own(series):
    model = fit(series.X, eps=0.5)
    rng = np.random.default_rng(1)
    X_new = series.X[40:80] + rng.normal(0, 0.1, (40, 2))
    labels = model.predict(X_new)
    clean = np.r_[3:17, 23:37]  # windows that do not straddle the switch
    np.testing.assert_array_equal(labels[clean], series.truth[40:80][clean])
    core = model.core_sample_indices_
    np.testing.assert_array_equal(model.predict(series.X)[core], model.labels_[core])


def test_a_new_series_shorter_than_a_neighbourhood_is_reported_and_noise(series):
    model = fit(series.X)
    with pytest.warns(UserWarning, match=r"5 of 5 new observations have no model .* fewer than n_neighbors=6"):
        np.testing.assert_array_equal(model.predict(series.X[:5]), [NOISE] * 5)


def test_a_group_not_seen_in_the_fit_is_a_series_of_its_own(series):
    groups = np.repeat(["a", "b"], 60)
    model = fit(series.X, series.positions, groups)
    labels = model.predict(series.X[:40], positions=series.positions[:40], groups=["new"] * 40)
    alone = fit(series.X[:40], series.positions[:40])
    np.testing.assert_array_equal(alone.labels_, series.truth[:40])
    np.testing.assert_array_equal(labels, model.labels_[:40])
    np.testing.assert_array_equal(labels, series.truth[:40])


def test_a_group_too_small_to_be_modelled_is_noise_and_reported(series):
    model = fit(series.X, series.positions, np.repeat(["a", "b"], 60))
    groups = ["a"] * 10 + ["c"] * 3
    with pytest.warns(
        UserWarning, match=r"3 of 13 new observations have no model and are labelled noise; row 10: fewer"
    ):
        labels = model.predict(series.X[:13] + 0.05, positions=series.positions[:13] + 0.05, groups=groups)
    np.testing.assert_array_equal(labels[:10], series.truth[:10])
    np.testing.assert_array_equal(labels[10:], NOISE)


def test_a_series_can_be_continued(series):
    model = fit(series.X[:90], series.positions[:90])
    labels = model.predict(series.X[90:], positions=series.positions[90:])
    np.testing.assert_array_equal(labels[8:], series.truth[98:])
    one_by_one = model.predict(series.X[90:91], positions=series.positions[90:91])
    assert one_by_one.tolist() == [series.truth[90]]


def test_datetimes_continue_from_the_origin_of_the_fit(series):
    import pandas

    stamps = pandas.to_datetime("2024-01-01") + pandas.to_timedelta(np.round(series.positions * 1000), unit="ms")
    model = fit(series.X[:90], stamps[:90])
    labels = model.predict(series.X[90:], positions=stamps[90:])
    np.testing.assert_array_equal(labels[8:], series.truth[98:])
    np.testing.assert_array_equal(model.predict(series.X[30:90], positions=stamps[30:90]), model.labels_[30:])


def test_features_far_from_every_cluster_are_noise_with_strength_zero(series):
    model = fit(series.X)
    with pytest.warns(UserWarning, match="100% of 20 new observations are noise, 0% of those of the fit"):
        labels, strengths = model.predict(series.X[:20] + 100, return_probabilities=True)
    np.testing.assert_array_equal(labels, NOISE)
    np.testing.assert_array_equal(strengths, 0.0)


@pytest.mark.parametrize("clusterer", RADII)
def test_strengths_lie_between_zero_and_one_and_are_zero_for_noise(clusterer):
    rng = np.random.default_rng(9)
    X = ragged(rng, 100)
    model = fit(X, np.arange(100.0), eps=RADII[clusterer], clusterer=clusterer)
    X_new, positions = ragged(rng, 60), rng.uniform(0, 100, 60)
    labels, strengths = model.predict(X_new, positions=positions, return_probabilities=True)
    np.testing.assert_array_equal(model.predict(X_new, positions=positions), labels)
    assert set((labels < 0).tolist()) == {True, False}
    assert np.all((strengths >= 0) & (strengths <= 1))
    assert np.all(strengths[labels < 0] == 0)
    assert np.any(strengths[labels >= 0] > 0)
    assert np.all(model.probabilities_[model.labels_ < 0] == 0)


def test_prediction_does_not_depend_on_the_order_of_the_new_rows():
    rng = np.random.default_rng(4)
    model = fit(ragged(rng, 80), rng.uniform(0, 10, (80, 2)), eps=0.8)
    X_new, positions = ragged(rng, 40), rng.uniform(0, 10, (40, 2))
    order = rng.permutation(40)
    strengths = strengths_of(model, X_new, positions=positions)
    assert len(set(strengths.tolist())) > 20
    np.testing.assert_array_equal(strengths_of(model, X_new[order], positions=positions[order]), strengths[order])


def test_prediction_changes_nothing_in_the_fit(series):
    model = fit(series.X, series.positions)
    before = {name: getattr(model, name).copy() for name in ("labels_", "probabilities_", "core_sample_indices_")}
    first = model.predict(series.X + 0.1, positions=series.positions + 0.1)
    np.testing.assert_array_equal(model.predict(series.X + 0.1, positions=series.positions + 0.1), first)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value)
    assert len(model.positions_) == 120


def test_the_caller_may_change_the_features_after_the_fit(series):
    X = series.X.copy()
    model = fit(X, series.positions)
    expected = model.predict(series.X, positions=series.positions)
    X[:] = 0
    np.testing.assert_array_equal(model.predict(series.X, positions=series.positions), expected)


@pytest.mark.parametrize(
    "params",
    [
        {"lags": 2, "eps": 10.0},
        {"prior": GaussianMixturePrior(n_components=2)},
        {"weights": "epanechnikov"},
        {"dissimilarity": "js", "eps": 0.6},
        {"dissimilarity": "euclidean"},
        {"dissimilarity": "cosine", "eps": 0.2},
        {"covariance": "oas"},
    ],
    ids=lambda params: "-".join(map(str, params.values())),
)
def test_new_observations_are_placed_with_the_options_of_the_fit(series, params):
    model = fit(series.X, series.positions, **params)
    rng = np.random.default_rng(2)
    X_new = series.X + rng.normal(0, 0.1, series.X.shape)
    labels = model.predict(X_new, positions=series.positions + 0.01)
    np.testing.assert_array_equal(labels, series.truth)


def test_rows_of_a_fit_with_lags_keep_their_labels_when_no_others_are_given():
    data = make_series(200, n_clusters=2, segment_lengths=(20, 40), random_state=3)
    model = MCGTA(lags=1).fit(data.X, positions=data.positions)
    np.testing.assert_array_equal(model.predict(data.X[:10], positions=data.positions[:10]), model.labels_[:10])


def test_groups_are_compared_with_gaussian_clusters_only():
    data = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
    model = MCGTA().fit(data.X)
    rule = model.cluster_models_
    counts = np.bincount(model.labels_)
    wider = rule.means[0] + 2.0 * (data.X[model.labels_ == 0] - rule.means[0])
    labels = np.zeros(len(wider), dtype=np.int64)
    assert changed_clusters(rule, counts, wider, labels).tolist() == [0]
    for tails in ({"degrees_of_freedom": 4.0}, {"outlier_share": 0.1, "outlier_spread": 25.0}):
        assert changed_clusters(replace(rule, **tails), counts, wider, labels).size == 0
