"""A GeoDataFrame as X: its geometry is the position, its columns of numbers are the features."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from shapely import MultiPoint

from mcgta import MCGTA, BlockSplit, SpaceTime, stability, tune


def model(**params):
    return MCGTA(**{"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params})


@pytest.fixture
def stations(plane):
    """128 stations in metres of UTM zone 33, with two readings each."""
    points = gpd.points_from_xy(*(1000 * plane.positions + [400_000, 5_500_000]).T, crs=32633)
    return gpd.GeoDataFrame({"ozone": plane.X[:, 0], "dust": plane.X[:, 1]}, geometry=points)


def test_a_projection_is_measured_in_its_unit(stations, plane):
    fitted = model().fit(stations)
    assert fitted.positions_.metric.name == "euclidean"
    assert fitted.positions_.unit == "m"
    assert fitted.positions_.crs == "WGS 84 / UTM zone 33N"
    assert fitted.feature_names_in_.tolist() == ["ozone", "dust"]
    np.testing.assert_array_equal(fitted.labels_, plane.truth)


def test_degrees_are_measured_along_great_circles(stations):
    fitted = model().fit(stations.to_crs(4326))
    assert fitted.positions_.metric.name == "haversine"
    assert fitted.n_clusters_ == 2


def test_the_crs_is_asked_for_where_there_is_none(stations, plane):
    bare = stations.set_crs(None, allow_override=True)
    with pytest.raises(
        ValueError, match=r"X is a GeoDataFrame without a CRS, .*X.set_crs\(4326\) for degrees, or set metric="
    ):
        model().fit(bare)
    np.testing.assert_array_equal(model(metric="euclidean").fit(bare).labels_, plane.truth)


def test_the_whole_life_of_a_model_goes_by_the_geometry(stations, plane):
    fitted = model().fit(stations[:100])
    np.testing.assert_array_equal(fitted.predict(stations[:100]), fitted.labels_)
    assert fitted.predict_proba(stations[100:]).shape == (28, 2)
    fitted.append(stations[100:])
    np.testing.assert_array_equal(fitted.labels_, plane.truth)
    np.testing.assert_array_equal(fitted.positions_.coordinates, stations.get_coordinates())
    assert stability(fitted, n_resamples=2, progress=False).drawn.size == 2


def test_tuning_and_splits_go_by_the_geometry(stations, plane):
    grid = {"n_neighbors": [6], "beta": [1.0], "margin": [0.0]}
    found = tune(stations, plane.truth, grid=grid, folds=2, estimator=model(eps="auto"), progress=False)
    assert found.best_estimator.positions_.unit == "m"
    splits = list(BlockSplit(2).split(stations, plane.truth))
    given = list(BlockSplit(2).split(plane.X, plane.truth, positions=stations.geometry))
    np.testing.assert_array_equal(splits[0][1], given[0][1])


def test_results_are_a_frame_with_the_index_of_the_stations(stations):
    stations.index = [f"station {k}" for k in range(128)]
    frame = model().fit(stations).to_frame()
    assert frame.index.equals(stations.index)
    assert stations.join(frame).columns.tolist() == ["ozone", "dust", "geometry", "cluster", "probability", "is_noise"]


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.rename_geometry("where"),
        lambda frame: frame.set_axis([0] * 128),
        lambda frame: frame.set_axis(pd.MultiIndex.from_product([list("ab"), range(64)])),
        lambda frame: frame.set_axis(pd.date_range("2024", periods=128, tz="Europe/Berlin")),
        lambda frame: frame.astype({"ozone": "Float64"}),
        lambda frame: frame[frame.ozone > -100],
    ],
    ids=["renamed geometry", "one label for all", "two levels", "times", "nullable", "selected rows"],
)
def test_the_shape_of_the_frame_does_not_matter(stations, plane, change):
    np.testing.assert_array_equal(model().fit(change(stations)).labels_, plane.truth)


def test_columns_of_no_numbers_are_named_and_left_out(stations):
    frame = stations.assign(id=[f"s{k}" for k in range(128)], kind=pd.Categorical(["a", "b"] * 64))
    with pytest.warns(UserWarning, match="^X: column 'id', column 'kind' holds no numbers and is left out") as caught:
        fitted = model().fit(frame)
    assert caught[0].filename == __file__
    assert fitted.feature_names_in_.tolist() == ["ozone", "dust"]
    np.testing.assert_array_equal(fitted.predict(frame), fitted.labels_)  # said once; warnings are errors here


@pytest.mark.parametrize("names", [("lon", "lat"), ("utm_x", "utm_y")])
def test_columns_that_repeat_the_position_are_no_features(stations, names):
    degrees = stations.to_crs(4326).geometry
    places = {"lon": degrees.x, "lat": degrees.y, "utm_x": stations.geometry.x, "utm_y": stations.geometry.y}
    frame = stations.assign(**{name: places[name] for name in names})
    with pytest.warns(
        UserWarning, match=f"^X: column '{names[0]}', column '{names[1]}' says again where the points are"
    ):
        fitted = model().fit(frame)
    assert fitted.feature_names_in_.tolist() == ["ozone", "dust"]


def test_a_column_of_times_is_the_time_of_spacetime(stations):
    frame = stations.assign(when=pd.date_range("2024", periods=128, freq="min"))
    fitted = model(metric=SpaceTime(0.1)).fit(frame)
    np.testing.assert_array_equal(fitted.positions_.coordinates[:, 2], 60.0 * np.arange(128))


def test_missing_places_and_values_are_left_out_or_filled_in(stations):
    stations.loc[3, "geometry"] = None
    stations.loc[5, "ozone"] = np.nan
    with pytest.warns(UserWarning, match="2 of 128 rows have missing values"):
        dropped = model(missing="drop").fit(stations)
    assert dropped.failed_ == {3: "missing position", 5: "missing value in column 'ozone'"}
    with pytest.warns(UserWarning, match="1 of 128 rows .* 1 missing values in 1 of 128 rows are imputed"):
        filled = model(missing="impute").fit(stations)
    assert np.flatnonzero(filled.labels_ < 0).tolist() == [3]
    with pytest.warns(UserWarning, match="2 of 10 new rows"):
        assert np.flatnonzero(dropped.predict(stations[:10]) < 0).tolist() == [3, 5]


@pytest.mark.parametrize(
    "change", [lambda points: points.buffer(1), lambda points: points.apply(lambda p: MultiPoint([p]))]
)
def test_other_geometries_are_refused_with_the_cure(stations, plane, change):
    shapes = stations.set_geometry(change(stations.geometry))
    said = r"geometries of type (Polygon|MultiPoint), and positions are points; .*X.set_geometry\(X.representative_point\(\)\)"
    with pytest.raises(ValueError, match=said):
        model().fit(shapes)
    cured = shapes.set_geometry(shapes.representative_point())
    np.testing.assert_array_equal(model().fit(cured).labels_, plane.truth)


def test_a_frame_without_geometry_or_numbers_is_refused(stations):
    with pytest.raises(
        ValueError, match=r"X is a GeoDataFrame without a column of geometries in use; .*X.set_geometry"
    ):
        model().fit(gpd.GeoDataFrame({"ozone": stations.ozone}))
    with pytest.raises(ValueError, match="X is a GeoDataFrame without a column of numbers"):
        model().fit(stations[["geometry"]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.to_crs(4326), "positions are in degrees, but those of the fit were in m; use to_crs"),
        (lambda frame: frame.to_crs(2263), "positions are in ft, but those of the fit were in m; use to_crs"),
        (
            lambda frame: frame.to_crs(25832),
            "positions are in ETRS89 / UTM zone 32N, but those of the fit were in WGS 84 / ",
        ),
        (
            lambda frame: frame.set_crs(None, allow_override=True),
            "points without a CRS, but those of the fit were in WGS 84",
        ),
    ],
    ids=["degrees", "feet", "another zone", "none"],
)
def test_new_points_must_be_in_the_crs_of_the_fit(stations, change, said):
    fitted = model().fit(stations)
    with pytest.raises(ValueError, match=said):
        fitted.predict(change(stations))


def test_a_saved_model_knows_its_crs(stations, tmp_path):
    from mcgta import load

    model().fit(stations).save(tmp_path / "stations.mcgta")
    read = load(tmp_path / "stations.mcgta")
    assert read.positions_.crs == "WGS 84 / UTM zone 33N"
    with pytest.raises(ValueError, match="use to_crs"):
        read.predict(stations.to_crs(25832))
