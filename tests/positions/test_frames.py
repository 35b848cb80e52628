"""Frames, series and geometries as features and positions."""

from __future__ import annotations

import datetime

import geopandas as gpd
import numpy as np
import pandas as pd
import polars as pl
import pytest

from mcgta import MCGTA
from mcgta.positions.metrics import SpaceTime


def model(**params):
    return MCGTA(**{"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params})


@pytest.fixture
def row(plane):
    """A row of four islands: features, longitude and latitude."""
    return plane.X[:32], 176 + plane.positions[:32, 0], 50 + plane.positions[:32, 1]


@pytest.fixture
def stamps(series):
    return pd.to_datetime("2024-03-30") + pd.to_timedelta((series.positions * 3.6e12).astype(np.int64))


def test_pandas_features_give_their_names_and_are_checked_in_predict(series):
    X = pd.DataFrame(series.X, columns=["speed", "torque"])
    fitted = model().fit(X, positions=series.positions)
    assert fitted.feature_names_in_.tolist() == ["speed", "torque"]
    np.testing.assert_array_equal(fitted.labels_, series.truth)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(X[["torque", "speed"]], positions=series.positions)


def test_polars_features_give_the_same_labels(series):
    X = pl.DataFrame(series.X, schema=["speed", "torque"])
    fitted = model().fit(X, positions=pl.Series("time", series.positions))
    assert fitted.feature_names_in_.tolist() == ["speed", "torque"]
    np.testing.assert_array_equal(fitted.labels_, series.truth)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda t: t,
        list,
        pd.Series,
        lambda t: pd.DataFrame({"time": t}),
        lambda t: pl.Series("time", t),
        lambda t: pl.DataFrame({"time": t}),
        lambda t: t.astype(object),
        lambda t: t[:, None],
    ],
    ids=["array", "list", "pandas series", "pandas frame", "polars series", "polars frame", "objects", "column"],
)
def test_numeric_times_are_read_from_every_container(series, wrap):
    fitted = model().fit(series.X, positions=wrap(series.positions))
    np.testing.assert_array_equal(fitted.positions_.coordinates[:, 0], series.positions)
    np.testing.assert_array_equal(fitted.labels_, series.truth)
    assert fitted.positions_.unit == ""


@pytest.mark.parametrize(
    "wrap",
    [
        lambda t: t,
        pd.Series,
        lambda t: t.tz_localize("UTC").tz_convert("Europe/Berlin"),
        lambda t: pd.Series(t.tz_localize("UTC").tz_convert("Europe/Berlin")),
        lambda t: t.to_numpy(),
        lambda t: list(t.to_pydatetime()),
        lambda t: [stamp.replace(tzinfo=datetime.UTC) for stamp in t.to_pydatetime()],
        lambda t: pl.Series(t.to_numpy()),
        lambda t: pl.Series(t.to_numpy()).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        lambda t: (t - t[0]).to_series(),
        lambda t: (t - t[0]).to_numpy(),
    ],
    ids=[
        "DatetimeIndex",
        "Series",
        "DatetimeIndex across a change to summer time",
        "Series across a change to summer time",
        "datetime64",
        "datetimes",
        "datetimes with zone",
        "polars",
        "polars with zone",
        "pandas timedeltas",
        "timedelta64",
    ],
)
def test_datetimes_of_every_kind_are_seconds(series, stamps, wrap):
    fitted = model().fit(series.X, positions=wrap(stamps))
    seconds = (stamps - stamps[0]) / pd.Timedelta(seconds=1)
    got = fitted.positions_.coordinates[:, 0]
    np.testing.assert_allclose(got - got[0], seconds, atol=2e-6)
    np.testing.assert_array_equal(fitted.labels_, series.truth)
    assert fitted.positions_.unit == fitted.semivariogram_.unit == "s"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("names", [("lon", "lat"), ("Longitude", "Latitude"), ("decimalLongitude", "decimalLatitude")])
def test_columns_named_longitude_and_latitude_are_a_sphere_in_either_order(row, frame, names):
    X, lon, lat = row
    plain = model(metric="haversine").fit(X, positions=np.column_stack([lon, lat]))
    for columns in ({names[0]: lon, names[1]: lat}, {names[1]: lat, names[0]: lon}):
        fitted = model().fit(X, positions=frame(columns))
        assert fitted.positions_.metric.name == "haversine"
        assert fitted.semivariogram_.unit == "m"
        np.testing.assert_array_equal(fitted.positions_.coordinates, plain.positions_.coordinates)
        np.testing.assert_array_equal(fitted.labels_, plain.labels_)


def test_other_columns_are_a_plane(plane):
    fitted = model().fit(plane.X, positions=pd.DataFrame(plane.positions, columns=["x", "y"]))
    assert fitted.positions_.metric.name == "euclidean"
    np.testing.assert_array_equal(fitted.labels_, plane.truth)


def test_points_in_degrees_are_a_sphere(row):
    X, lon, lat = row
    plain = model(metric="haversine").fit(X, positions=np.column_stack([lon, lat]))
    points = gpd.GeoSeries(gpd.points_from_xy(lon, lat), crs="EPSG:4326")
    for positions in (points, gpd.GeoDataFrame({"kind": range(32)}, geometry=points)):
        fitted = model().fit(X, positions=positions)
        assert fitted.positions_.metric.name == "haversine"
        np.testing.assert_array_equal(fitted.positions_.coordinates, plain.positions_.coordinates)
        np.testing.assert_array_equal(fitted.labels_, plain.labels_)


def test_points_in_a_projection_are_a_plane(plane):
    places = 1000 * plane.positions + [400_000, 5_500_000]
    fitted = model().fit(plane.X, positions=gpd.GeoSeries(gpd.points_from_xy(*places.T), crs="EPSG:32633"))
    assert fitted.positions_.metric.name == "euclidean"
    np.testing.assert_array_equal(fitted.positions_.coordinates, places)
    np.testing.assert_array_equal(fitted.labels_, plane.truth)


def test_space_and_time_take_the_datetime_column_wherever_it_stands(plane):
    times = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(128) % 8, unit="min")
    x, y = plane.positions.T
    fits = [
        model(metric=SpaceTime(1 / 600)).fit(plane.X, positions=pd.DataFrame(columns))
        for columns in ({"x": x, "y": y, "when": times}, {"when": times, "x": x, "y": y})
    ]
    for fitted in fits:
        np.testing.assert_array_equal(fitted.labels_, plane.truth)
        np.testing.assert_allclose(fitted.positions_.coordinates[:, 2], 60.0 * (np.arange(128) % 8))
    np.testing.assert_array_equal(fits[0].positions_.coordinates, fits[1].positions_.coordinates)


@pytest.mark.parametrize("wrap", [pd.Series, pd.Categorical, lambda g: pl.Series(g), np.array, list])
def test_groups_are_read_from_every_container(series, wrap):
    groups = ["b"] * 60 + ["a"] * 60
    fitted = model().fit(series.X, positions=series.positions, groups=wrap(groups))
    assert fitted.positions_.group_names.tolist() == ["a", "b"]
    np.testing.assert_array_equal(fitted.positions_.groups, [1] * 60 + [0] * 60)
    assert fitted.n_clusters_ == 2
