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
from mcgta.positions.reading import read_positions


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


# ---------------------------------------------------------------------- the index of features


@pytest.mark.parametrize(
    "wrap",
    [lambda t: t, lambda t: t - t[0], lambda t: t.tz_localize("UTC"), lambda t: t.to_period("s")],
    ids=["DatetimeIndex", "TimedeltaIndex", "with a time zone", "PeriodIndex"],
)
def test_an_index_of_times_is_the_positions_where_there_are_none(series, stamps, wrap):
    index = wrap(stamps.floor("s"))
    frame = pd.DataFrame(series.X, columns=["speed", "torque"], index=index)
    given = index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index
    fitted = model().fit(frame)
    assert fitted.positions_.unit == "s"
    expected = model().fit(series.X, positions=given)
    np.testing.assert_array_equal(fitted.positions_.coordinates, expected.positions_.coordinates)
    np.testing.assert_array_equal(fitted.labels_, series.truth)
    np.testing.assert_array_equal(fitted.predict(frame), fitted.labels_)


def test_positions_that_are_given_win_over_an_index_of_times(series, stamps):
    frame = pd.DataFrame(series.X, index=stamps, columns=["speed", "torque"])
    assert model().fit(frame, positions=series.positions).positions_.unit == ""


def test_rows_added_to_a_fit_bring_their_times_along(series, stamps):
    frame = pd.DataFrame(series.X, index=stamps, columns=["speed", "torque"])
    grown = model().fit(frame[:100]).append(frame[100:])
    whole = model().fit(frame)
    np.testing.assert_array_equal(grown.positions_.coordinates, whole.positions_.coordinates)


def test_a_metric_that_needs_positions_does_not_take_the_index(series, stamps):
    frame = pd.DataFrame(series.X, index=stamps, columns=["speed", "torque"])
    with pytest.raises(ValueError, match="metric='euclidean' needs positions=, got None"):
        model(metric="euclidean").fit(frame)


def test_an_index_of_several_levels_with_times_is_refused_with_what_to_pass(series, stamps):
    index = pd.MultiIndex.from_arrays([["car"] * 120, stamps], names=["machine", "when"])
    with pytest.raises(
        ValueError, match=r"X has an index of 2 levels, .*positions=X.index.get_level_values\(1\), and groups="
    ):
        model().fit(pd.DataFrame(series.X, index=index, columns=["speed", "torque"]))


@pytest.mark.parametrize("name", ["positions", "groups"])
def test_the_labels_of_features_in_another_order_are_refused(series, name):
    frame = pd.DataFrame(series.X, columns=["speed", "torque"])
    right = pd.Series({"positions": series.positions, "groups": np.repeat(["a", "b"], 60)}[name])
    given = right.sample(frac=1, random_state=0)
    said = rf"{name} has the index labels of X in another order; reindex it by {name}.loc\[X.index\]"
    with pytest.raises(ValueError, match=said):
        model().fit(frame, **{name: given})
    fitted = model().fit(frame, **{name: given.loc[frame.index]})
    np.testing.assert_array_equal(fitted.labels_, model().fit(series.X, **{name: right.to_numpy()}).labels_)


def test_other_labels_than_those_of_features_are_refused(series):
    frame = pd.DataFrame(series.X, columns=["speed", "torque"], index=[f"row {k}" for k in range(120)])
    times = pd.Series(series.positions, index=[f"row {k + 1}" for k in range(120)])
    with pytest.raises(
        ValueError, match="positions has other index labels than X, such as 'row 1' for 'row 0' in row 0"
    ):
        model().fit(frame, positions=times)
    fitted = model().fit(frame, positions=times.set_axis(frame.index))
    with pytest.raises(ValueError, match="positions has other index labels than X"):
        fitted.predict(frame, positions=times)


def test_labels_that_pandas_made_up_are_compared_with_nothing(series):
    frame = pd.DataFrame(series.X, columns=["speed", "torque"], index=[f"row {k}" for k in range(120)])
    times = pd.Series(series.positions)
    np.testing.assert_array_equal(model().fit(frame, positions=times).labels_, series.truth)
    times.index = times.index + 1000
    plain = frame.reset_index(drop=True)
    np.testing.assert_array_equal(model().fit(plain, positions=times).labels_, series.truth)


# ---------------------------------------------------------------------- places on earth, taken for a plane

DEGREES = {
    "a city": ([-74.2, -73.7], [40.5, 40.9]),
    "a city, latitude first": ([40.5, 40.9], [-74.2, -73.7]),
    "a city in the east, latitude first": ([35.5, 35.9], [139.3, 139.9]),
    "a continent": ([-10, 30], [35, 71]),
    "the world": ([-170, 178], [-55, 70]),
}
PLANES = {
    "a unit square": ([0, 1], [0, 1]),
    "a square": ([0, 10], [0, 10]),
    "a square around zero": ([-50, 50], [-50, 50]),
    "metres": ([400_000, 410_000], [5_500_000, 5_510_000]),
    "a slide": ([100, 250], [80, 200]),
    "a point": ([40.701, 40.702], [-74.0, -73.999]),
}


def spread(ranges):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.uniform(*limits, 128) for limits in ranges])


@pytest.mark.parametrize("ranges", DEGREES.values(), ids=DEGREES.keys())
def test_columns_that_look_like_degrees_are_reported(plane, ranges):
    places = spread(ranges)
    with pytest.warns(
        UserWarning, match=r"look like degrees but are measured on a plane; pass metric='haversine'"
    ) as caught:
        fitted = model().fit(plane.X, positions=places)
    assert caught[0].filename == __file__
    fitted.predict(plane.X, positions=places)  # reported once; warnings are errors here
    model(metric="euclidean").fit(plane.X, positions=places)  # the user's word


@pytest.mark.parametrize("ranges", PLANES.values(), ids=PLANES.keys())
def test_columns_of_a_plane_are_not_reported(plane, ranges):
    model().fit(plane.X, positions=spread(ranges))
    model().fit(plane.X, positions=np.random.default_rng(0).permutation(128 * 2).reshape(128, 2) % 40 + 45)


def test_degrees_with_a_time_are_reported_as_well(plane):
    places = np.column_stack([spread(DEGREES["a city"]), np.arange(128.0)])
    with pytest.warns(UserWarning, match="look like degrees"):
        model(metric=SpaceTime(0.01)).fit(plane.X, positions=places)
    model(metric=SpaceTime(0.01, "euclidean")).fit(plane.X, positions=places)


@pytest.mark.parametrize("metric", ["auto", "euclidean"])
def test_points_without_a_crs_that_look_like_degrees_are_reported(plane, metric):
    points = gpd.GeoSeries(gpd.points_from_xy(*plane.positions.T))
    with pytest.warns(UserWarning, match="points without a CRS, at .*, look like degrees"):
        model(metric=metric).fit(plane.X, positions=points)
    model(metric=metric).fit(plane.X, positions=gpd.GeoSeries(gpd.points_from_xy(*(1000 * plane.positions).T)))


def test_web_mercator_over_many_latitudes_is_reported(plane):
    wide = gpd.GeoSeries(gpd.points_from_xy(*plane.positions.T), crs="EPSG:4326").to_crs(3857)
    with pytest.warns(UserWarning, match=r"EPSG:3857 .* stretches distances .* span 1\d\.?\d* degrees; project them"):
        model().fit(plane.X, positions=wide)
    narrow = gpd.GeoSeries(gpd.points_from_xy(*(plane.positions / 2).T), crs="EPSG:4326").to_crs(3857)
    model().fit(plane.X, positions=narrow)


def test_longitude_and_latitude_are_not_taken_for_metres_of_the_fit():
    fitted = read_positions(gpd.GeoSeries.from_xy([4e5, 4.1e5], [5.8e6, 5.9e6], crs="EPSG:25832"), 2)
    with pytest.raises(ValueError, match="longitude and latitude, but those of the fit were in ETRS89 / UTM zone 32N"):
        read_positions(pd.DataFrame({"lon": [9.0, 9.1], "lat": [52.0, 52.1]}), 2, like=fitted)


def test_a_frame_whose_columns_are_numbered_is_read_by_columns(row):
    X, lon, lat = row
    numbered = pd.DataFrame(np.column_stack([lon, lat]))
    groups = pd.DataFrame(np.repeat(["a", "b"], 16))
    read = read_positions(numbered, len(X), groups=groups)
    assert read.coordinates.tolist() == numbered.to_numpy().tolist()
    assert read.group_names.tolist() == ["a", "b"]
    assert len(read_positions(numbered[[1]], len(X))) == len(X)


def test_categories_in_a_column_that_is_numbered_are_named():
    with pytest.raises(ValueError, match="column '1' holds categories, such as 'u'"):
        model().fit(pd.DataFrame({0: np.arange(40.0), 1: pd.Categorical(["u", "v"] * 20)}))


KINDS_OF_TIMES = {
    "datetimes without a time zone": pd.date_range("2024-03-30", periods=4, freq="h"),
    "datetimes with a time zone": pd.date_range("2024-03-30", periods=4, freq="h", tz="Europe/Berlin"),
    "timedeltas": pd.to_timedelta(np.arange(4), unit="h"),
}


@pytest.mark.parametrize("new", KINDS_OF_TIMES)
@pytest.mark.parametrize("fitted", KINDS_OF_TIMES)
@pytest.mark.parametrize(
    "make", [pd.Index, pd.Series, lambda times: [*times], lambda times: pl.from_pandas(pd.Series(times))]
)
def test_times_of_another_kind_than_those_of_the_fit_are_refused(make, fitted, new):
    before = read_positions(make(KINDS_OF_TIMES[fitted]), 4)
    if new == fitted:
        assert read_positions(make(KINDS_OF_TIMES[new]), 4, like=before).coordinates[1, 0] == 3600
        return
    with pytest.raises(ValueError, match=f"positions holds {new}, but those of the fit were {fitted}"):
        read_positions(make(KINDS_OF_TIMES[new]), 4, like=before)


def test_another_time_zone_than_that_of_the_fit_is_converted():
    times = KINDS_OF_TIMES["datetimes with a time zone"]
    before = read_positions(times, 4)
    assert (
        read_positions(times.tz_convert("Asia/Tokyo"), 4, like=before).coordinates.tolist()
        == before.coordinates.tolist()
    )


def test_datetimes_with_and_without_a_time_zone_are_not_mixed():
    mixed = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)]
    with pytest.raises(ValueError, match="mixes datetimes without a time zone and with one"):
        read_positions(mixed, 2)
