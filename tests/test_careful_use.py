"""What a careful reader of the documents would try next."""

from __future__ import annotations

import tracemalloc

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS

from mcgta import MCGTA, GaussianMixturePrior, read_positions
from mcgta.clustering.registry import find_clusters
from mcgta.positions.metrics import SpaceTime
from mcgta.stages import (
    Loss,
    compare_features,
    compare_models,
    empirical_semivariogram,
    find_neighborhoods,
    fit_local_models,
    fit_semivariogram,
)


def make(**params):
    return MCGTA(**{"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params})


@pytest.fixture(scope="module")
def models(series):
    return fit_local_models(series.X, find_neighborhoods(read_positions(series.positions, 120), 20))


@pytest.mark.parametrize("kind", ["wasserstein2", "js"])
def test_blocks_of_pairs_take_little_memory_whatever_their_size(models, kind):
    compared = compare_models(models, kind)
    tracemalloc.start()
    table = compared.between(slice(None), slice(None))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.shape == (120, 120)
    assert peak < 80 * 2**20
    np.testing.assert_allclose(
        table[:7, 90:], compared.between(np.arange(7), np.arange(90, 120)), rtol=1e-12, atol=1e-12
    )


def test_a_clusterer_that_writes_into_its_input_changes_nothing_else(series):
    plain, careful = (
        make(eps="auto", clusterer=HDBSCAN(metric="precomputed", copy=copy)).fit(series.X, positions=series.positions)
        for copy in (False, True)
    )
    np.testing.assert_array_equal(plain.probabilities_, careful.probabilities_)


@pytest.mark.parametrize("kind", [DBSCAN, HDBSCAN, OPTICS])
def test_no_hinge_refuses_the_objects_that_need_distances_too(series, kind):
    with pytest.raises(ValueError, match="penalty='no_hinge' makes the loss of close pairs negative"):
        make(eps="auto", penalty="no_hinge", clusterer=kind(metric="precomputed")).fit(series.X)


def test_a_geodataframe_brings_its_time_to_spacetime():
    when = pd.date_range("2026-01-01", periods=5, freq="min")
    frame = gpd.GeoDataFrame({"when": when}, geometry=gpd.points_from_xy(range(5), [0] * 5), crs=4326)
    found = read_positions(frame, 5, metric=SpaceTime(1.0))
    assert found.metric.space == "haversine"
    np.testing.assert_allclose(found.coordinates, np.column_stack([range(5), np.zeros(5), 60.0 * np.arange(5)]))
    with pytest.raises(ValueError, match="needs one datetime column beside the geometry"):
        read_positions(frame.geometry, 5, metric=SpaceTime(1.0))


def test_columns_are_found_by_their_names_in_spacetime():
    frame = pd.DataFrame({"time": [0.0, 1.0], "lat": [10.0, 11.0], "lon": [100.0, 101.0]})
    found = read_positions(frame, 2, metric=SpaceTime(1.0))
    assert found.metric.space == "haversine"
    np.testing.assert_array_equal(found.coordinates, [[100, 10, 0], [101, 11, 1]])


def test_degrees_beside_other_columns_are_not_taken_for_a_plane():
    frame = pd.DataFrame({"lon": [1.0, 2.0], "lat": [1.0, 2.0], "altitude": [1.0, 2.0]})
    with pytest.raises(ValueError, match="degrees and others"):
        read_positions(frame, 2)


def test_polygons_are_refused_with_advice():
    squares = gpd.GeoSeries(gpd.points_from_xy([0, 1], [0, 1])).buffer(1)
    with pytest.raises(ValueError, match=r"type Polygon; pass a point of each, by positions.representative_point\(\)"):
        read_positions(squares, 2)


def test_heights_of_projected_points_count():
    points = gpd.GeoSeries(gpd.points_from_xy([0, 0], [0, 0], [0, 5]), crs=32633)
    assert read_positions(points, 2).of_pairs(np.array([0]), np.array([1]))[0] == 5


def test_precomputed_rows_alike_in_features_are_told_apart_by_their_distances():
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(range(9), range(9)), -1).reshape(-1, 2) + rng.uniform(0, 0.01, (81, 2))
    X = np.column_stack([(grid[:, 0] > 4) * 2.0 + rng.integers(0, 2, 81), rng.integers(0, 2, 81)])
    table = np.hypot(*(grid[:, None] - grid[None]).T)
    table = (table + table.T) / 2
    shuffled = rng.permutation(81)
    for clusterer, eps in (("dbscan", 0.09), ("hdbscan", 0.0), ("optics", 0.09)):
        params = {"n_neighbors": 7, "min_samples": 4, "metric": "precomputed", "clusterer": clusterer, "eps": eps}
        first = make(**params).fit(X, positions=table).labels_
        second = make(**params).fit(X[shuffled], positions=table[np.ix_(shuffled, shuffled)]).labels_
        np.testing.assert_array_equal(second, first[shuffled])


def test_a_failed_fit_does_not_change_the_columns_of_the_earlier_one(series):
    model = make().fit(series.X, positions=series.positions)
    with pytest.raises(ValueError, match="positions"):
        model.fit(np.column_stack([series.X, series.X]), positions=series.positions[:5])
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(series.X, positions=series.positions), model.labels_)


def test_a_new_observation_that_cannot_be_modelled_takes_no_other_answer_along(series):
    groups = ["car"] * 120
    model = make().fit(series.X, positions=series.positions, groups=groups)
    with pytest.warns(UserWarning, match="1 of 1 new observations have no model and are labelled noise; row 1"):
        found = model.predict(series.X[:2], positions=series.positions[:2], groups=["car", "van"])
    np.testing.assert_array_equal(found, [model.labels_[0], -1])


def strengths_of(model, X, positions):
    return model.predict(X, positions=positions, return_probabilities=True)[1]


@pytest.mark.parametrize("kind", ["series", "plane"])
def test_within_the_fit_a_prediction_does_not_depend_on_what_else_is_asked(request, kind):
    data = request.getfixturevalue(kind)
    model = make().fit(data.X[::2], positions=data.positions[::2])
    X, positions = data.X[1::2], data.positions[1::2]
    together = strengths_of(model, X, positions)
    alone = [strengths_of(model, X[k : k + 1], positions[k : k + 1])[0] for k in range(0, len(X), 5)]
    inside = np.isclose(together[::5], alone, atol=1e-12)
    assert inside.mean() > 0.85


def test_beyond_the_fit_new_observations_are_each_others_neighbours(series):
    model = make().fit(series.X[:80], positions=series.positions[:80])
    found = model.predict(series.X[80:], positions=series.positions[80:])
    assert (found == np.repeat([0, 1], 20)).mean() > 0.9


def test_pairs_below_the_first_bin_are_counted_too(series):
    model = make(bins=[5.0, 10.0, 20.0, 40.0]).fit(series.X, positions=series.positions)
    assert model.goodness_of_fit().pairs.sum() == model.objective_.pairs


def test_the_mixture_comes_back_with_the_models(series, monkeypatch):
    first = make(prior=GaussianMixturePrior(n_components=2)).fit(series.X, positions=series.positions)
    monkeypatch.setattr(GaussianMixturePrior, "fit", None)  # calling it would fail
    again = first.refit(local_models=first.local_models_)
    assert again.prior_ is first.local_models_.prior


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"dissimilarity": "euclidean", "weights": "gaussian"}, "weights"),
        ({"dissimilarity": "cosine", "prior": "gmm"}, "prior"),
    ],
)
def test_options_without_effect_are_refused(series, params, name):
    with pytest.raises(ValueError, match=f"{name}=.* has no effect"):
        make(**params).fit(series.X)


def test_a_semivariogram_in_steps_is_not_used_for_seconds(series):
    steps = make().fit(series.X).semivariogram_
    with pytest.raises(ValueError, match="distances in step, but positions are in s"):
        make(semivariogram=steps).fit(series.X, positions=pd.date_range("2026-01-01", periods=120))


@pytest.mark.parametrize(("clusterer", "eps"), [("dbscan", 0.09), ("hdbscan", 0.0), ("optics", 0.09)])
@pytest.mark.parametrize("params", [{"min_samples": 500}, {"min_cluster_size": 500}])
def test_clusters_larger_than_the_data_are_never_found(series, clusterer, eps, params):
    model = make(clusterer=clusterer, eps=eps, **params).fit(series.X, positions=series.positions)
    assert model.noise_share_ == 1.0


@pytest.mark.parametrize(
    "y", [np.zeros((120, 2)), np.arange(120).astype("datetime64[s]"), gpd.points_from_xy(range(120), range(120))]
)
def test_positions_in_the_place_of_the_target_are_pointed_out(series, y):
    with pytest.warns(UserWarning, match="did you mean"):
        make().fit(series.X, y)


def test_stages_used_alone_refuse_what_they_cannot_use(series, models):
    positions = read_positions(series.positions, 120)
    near = find_neighborhoods(positions, 6)
    curve = fit_semivariogram(empirical_semivariogram(compare_models(models), positions), "empirical")
    for match, call in [
        ("100 have positions", lambda: empirical_semivariogram(compare_models(models), positions.take(np.arange(100)))),
        ("finite numbers", lambda: fit_local_models(np.full((120, 2), np.nan), near)),
        ("alpha=-1", lambda: fit_local_models(series.X, near, alpha=-1)),
        ("covariance='best'", lambda: fit_local_models(series.X, near, covariance="best")),
        ("beta=-1", lambda: Loss(compare_models(models), positions, curve, beta=-1)),
        ("clusterer='dbscam'", lambda: find_clusters(np.zeros((3, 3)), "dbscam")),
        ("n_neighbors=0", lambda: find_neighborhoods(positions, 0)),
        ("rows of zeros", lambda: compare_features(np.zeros((5, 2)), "cosine")),
        ("table of finite numbers", lambda: compare_features([1.0, 2.0])),
        ("max_lag=3", lambda: empirical_semivariogram(compare_models(models), positions, bins=[0, 1], max_lag=3)),
    ]:
        with pytest.raises(ValueError, match=match):
            call()


def test_the_empirical_curve_ends_at_its_sill(series):
    curve = make().fit(series.X, positions=series.positions).semivariogram_
    assert curve(np.inf) == curve.sill_ >= curve(curve.max_lag)


@pytest.mark.parametrize("d", [13, 24, 34])
def test_many_features_are_fitted_with_few_neighbours(d):
    X = np.random.default_rng(d).normal(size=(40, d))
    models = fit_local_models(X, find_neighborhoods(read_positions(None, 40), 20))
    assert models.failures == {}
    assert np.linalg.eigvalsh(models.covariances)[:, 0].min() > 0
