"""Bad positions and groups, in a fit and in a prediction: each refused, with a message that says what is right."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pytest

from mcgta import MCGTA, read_positions
from mcgta.positions.metrics import SpaceTime

COUNT = 120


def make(**params):
    return MCGTA(**{"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params})


def refused(match, series, positions, groups=None, **params):
    with pytest.raises(ValueError, match=match):
        make(**params).fit(series.X, positions=positions, groups=groups)


def with_one(value, dtype=None, row=5):
    """Times of which one is replaced."""
    values = list(range(COUNT))
    values[row] = value
    return np.array(values, dtype=dtype) if dtype else values


# ---------------------------------------------------------------------- times and coordinates


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
def test_a_missing_or_infinite_position_is_refused_with_its_row(series, value):
    refused(
        r"positions \(position\) is missing or infinite in 1 rows, the first is row 5; .*drop", series, with_one(value)
    )


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[s]"])
def test_a_missing_date_is_refused_with_its_row(series, dtype):
    refused(
        r"positions \(position\) is missing or infinite in 1 rows, the first is row 5",
        series,
        with_one("NaT", dtype),
    )


def test_a_missing_coordinate_is_refused_with_its_column(series):
    places = np.random.default_rng(0).uniform(size=(COUNT, 2))
    places[[7, 9], 1] = np.nan
    refused(r"positions \(column 1\) is missing or infinite in 2 rows, the first is row 7", series, places)


def test_a_missing_value_of_a_frame_is_refused_with_the_name_of_its_column(series):
    import pandas

    frame = pandas.DataFrame({"x": np.arange(120.0), "y": with_one(np.nan)})
    refused(r"positions \(y\) is missing or infinite in 1 rows, the first is row 5", series, frame)


def test_text_is_refused_with_the_advice_to_convert_it(series):
    refused(
        r"positions \(position\) holds <U10, such as .*2024-01-01.*; positions must be numbers, datetimes or timedeltas",
        series,
        np.full(COUNT, "2024-01-01"),
    )
    refused(
        r"positions \(position\) holds 'soon' in row 5; positions must be numbers", series, with_one("soon", object)
    )


def test_complex_positions_are_refused(series):
    refused(r"positions \(position\) holds complex numbers; positions must be real", series, np.arange(COUNT) + 1j)
    refused(r"positions \(position\) holds 1j in row 5; positions must be numbers", series, with_one(1j, object))


@pytest.mark.parametrize("count", [0, 1, 119, 121])
def test_positions_of_another_length_are_refused(series, count):
    refused(rf"positions has {count} rows but X has 120; they must be the same", series, np.arange(float(count)))


@pytest.mark.parametrize("shape", [(), (COUNT, 2, 1)])
def test_positions_with_no_or_many_axes_are_refused(series, shape):
    refused(
        rf"positions must have one or two axes, got {len(shape)} \(shape {re.escape(str(shape))}\)",
        series,
        np.ones(shape),
    )


@pytest.mark.parametrize("metric", ["auto", "euclidean", SpaceTime(1.0)])
def test_positions_too_large_to_square_are_refused_with_the_largest(series, metric):
    places = 1e160 * np.random.default_rng(0).uniform(size=(COUNT, 3))
    said = rf"positions holds {places.max():g}, which is too large to square; use a larger unit, .* at most 1e\+150"
    refused(said.replace("e+", r"e\+"), series, places, metric=metric)


def test_times_are_not_squared_and_may_be_large(series):
    labels = make().fit(series.X, positions=1e160 * series.positions).labels_
    np.testing.assert_array_equal(labels, make().fit(series.X, positions=series.positions).labels_)


def test_dicts_and_structured_arrays_are_refused_with_the_cure(series):
    columns = {"x": np.arange(120.0), "y": np.arange(120.0)}
    refused(r"positions is a dict; pass a table, such as pandas.DataFrame\(positions\)", series, columns)
    structured = np.rec.fromarrays(list(columns.values()), names=list(columns))
    refused(r"positions is a structured array with fields \('x', 'y'\); pass a table", series, structured)


def test_columns_of_one_name_are_refused(series):
    import pandas

    frame = pandas.DataFrame(np.ones((COUNT, 3)), columns=["x", "y", "x"])
    refused("positions has several columns called 'x'; pass each column once", series, frame)


def test_masked_positions_are_refused_with_row_and_column(series):
    places = np.ma.array(np.random.default_rng(0).uniform(size=(COUNT, 2)), mask=False)
    places[[4, 9], 1] = np.ma.masked
    refused("positions has 2 masked cells, the first in row 4, column 1; every observation needs", series, places)
    refused("positions has 2 masked cells, the first in row 4; every", series, places[:, 1])
    table = np.ma.masked_greater(np.abs(series.positions[:, None] - series.positions), 50)
    refused("the table of distances holds masked cells; use inf", series, table, metric="precomputed")


def test_time_takes_one_column(series):
    refused("metric='time' takes one column of positions, got 2", series, np.ones((COUNT, 2)), metric="time")


@pytest.mark.parametrize("metric", ["euclidean", "haversine", "spacetime"])
def test_a_metric_of_space_needs_positions(series, metric):
    refused(f"metric='{metric}' needs positions=, got None; without positions", series, None, metric=metric)


def test_a_date_beside_coordinates_is_refused_with_the_metric_that_takes_it(series):
    import pandas

    frame = pandas.DataFrame({"x": np.arange(120.0), "when": pandas.to_datetime(np.arange(120), unit="D")})
    refused(r"positions has a datetime column beside coordinates; use metric=SpaceTime", series, frame)


def test_positions_all_at_one_place_are_refused(series):
    refused(
        "positions: all observations of each group are at one place, so there is no distance to look at",
        series,
        np.zeros((COUNT, 2)),
    )


def test_repeated_times_are_reported_with_the_advice_to_pass_groups(series):
    times = np.floor(series.positions / 3)
    repeated = COUNT - np.unique(times).size
    with pytest.warns(UserWarning, match=rf"positions: {repeated} of 120 times are repeated .*pass groups=. Ties"):
        model = make().fit(series.X, positions=times)
    np.testing.assert_array_equal(model.labels_, series.truth)


def test_repeated_places_are_no_trouble(plane):
    positions = np.round(plane.positions)
    assert len(np.unique(positions, axis=0)) < 128
    np.testing.assert_array_equal(make().fit(plane.X, positions=positions).labels_, plane.truth)


# ---------------------------------------------------------------------- sphere, space and time


def degrees(lon, lat, row=5):
    out = np.random.default_rng(0).uniform(-60, 60, (COUNT, 2))
    out[row] = lon, lat
    return out


@pytest.mark.parametrize("lat", [90.5, -91.0, 1e9])
def test_a_latitude_out_of_range_is_refused_with_its_row(series, lat):
    refused(
        rf"positions: latitude {re.escape(f'{lat:g}')} in row 5 is outside \[-90, 90\] degrees \(1 such rows\)",
        series,
        degrees(100, lat),
        metric="haversine",
    )


@pytest.mark.parametrize("lon", [-181.0, 360.5])
def test_a_longitude_out_of_range_is_refused_with_its_row(series, lon):
    refused(
        rf"positions: longitude {lon:g} in row 5 is outside \[-180, 360\] degrees",
        series,
        degrees(lon, 0),
        metric="haversine",
    )


@pytest.mark.parametrize(("lon", "lat"), [(-180, 90), (180, -90), (360, 0)])
def test_the_ends_of_the_ranges_of_degrees_are_allowed(series, lon, lat):
    assert make(metric="haversine").fit(series.X, positions=degrees(lon, lat)).labels_.shape == (COUNT,)


def test_swapped_columns_of_degrees_get_a_hint(series):
    rng = np.random.default_rng(0)
    swapped = np.column_stack([rng.uniform(50, 60, COUNT), rng.uniform(100, 120, COUNT)])
    refused(
        r"latitude .* \(120 such rows\); are the columns swapped\? mcgta expects longitude first",
        series,
        swapped,
        metric="haversine",
    )


@pytest.mark.parametrize("width", [1, 3])
def test_a_sphere_takes_two_columns(series, width):
    refused(
        f"metric='haversine' takes two columns, longitude and latitude in degrees, got {width}",
        series,
        np.ones((COUNT, width)),
        metric="haversine",
    )


@pytest.mark.parametrize("scale", [0, -1.0, np.nan, np.inf, "1 h", True, 1j])
def test_a_scale_of_time_must_be_a_positive_number(scale):
    said = re.escape(f"time_scale={scale!r} is not allowed: time_scale must be a number > 0")
    with pytest.raises(ValueError, match=said):
        SpaceTime(scale)


def test_a_kind_of_space_that_is_not_known_is_refused_with_the_nearest():
    said = r"space='haversin' is not allowed: .* one of 'auto', 'euclidean', 'haversine'; did you mean 'haversine'\?"
    with pytest.raises(ValueError, match=said):
        SpaceTime(1.0, "haversin")


def test_space_and_time_need_a_scale_between_them(series):
    said = r"metric='spacetime' needs a time_scale: the units of distance .*; pass metric=SpaceTime\(time_scale=...\)"
    places = np.random.default_rng(0).uniform(size=(COUNT, 3))
    refused(said, series, places, metric="spacetime")
    refused(said, series, places, metric=SpaceTime())


def test_space_and_time_need_both_and_one_time_only(series):
    import pandas

    params = {"metric": SpaceTime(1.0)}
    refused("takes coordinates and a time, got one column of positions", series, np.arange(120.0), **params)
    dates = pandas.to_datetime(np.arange(120), unit="D")
    frame = pandas.DataFrame({"x": np.arange(120.0), "begin": dates, "end": dates})
    refused(r"takes one time column, got \['begin', 'end'\]", series, frame, **params)


# ---------------------------------------------------------------------- tables and functions of distance


def spoiled(table, i, j, value, *, both=True):
    out = table.copy()
    out[i, j] = value
    if both:
        out[j, i] = value
    return out


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda t: None, r"metric='precomputed' needs positions=, the table of distances, got None"),
        (lambda t: t[:-1], r"positions must be a table of distances of shape \(120, 120\), got \(119, 120\)"),
        (lambda t: t[:-1, :-1], r"positions must be a table of distances of shape \(120, 120\), got \(119, 119\)"),
        (lambda t: t[0], r"positions must be a table of distances of shape \(120, 120\), got \(120,\)"),
        (lambda t: spoiled(t, 3, 8, -2.5), r"positions: the table of distances holds negative values, such as -2.5"),
        (lambda t: spoiled(t, 3, 8, np.nan), r"positions: the table of distances holds NaN; use inf for"),
        (lambda t: spoiled(t, 4, 4, 1.0), r"positions: the distance of row 4 from itself is 1, it must be 0"),
        (lambda t: spoiled(t, 3, 8, 77.0, both=False), r"positions: the table of distances must be symmetric"),
        (lambda t: spoiled(t, 3, 8, np.inf, both=False), r"positions: the table of distances must be symmetric"),
    ],
    ids=["none", "not square", "too small", "a row", "negative", "nan", "diagonal", "asymmetric", "one-sided inf"],
)
def test_a_table_that_holds_no_distances_is_refused(series, spoil, said):
    table = np.abs(series.positions[:, None] - series.positions[None])
    refused(said, series, spoil(table), metric="precomputed")


@pytest.mark.parametrize("value", [-1.0, np.nan])
def test_a_function_that_returns_no_distance_is_refused_with_the_rows(series, value):
    refused(
        rf"metric: the function returned {value} for \[.*\] and \[.*\]; distances must be >= 0",
        series,
        series.positions,
        metric=lambda a, b: value,
    )


def test_an_error_in_the_function_is_the_users_to_see(series):
    def broken(a, b):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        make(metric=broken).fit(series.X, positions=series.positions)


def test_a_metric_unknown_to_read_positions_is_refused_with_the_list_and_the_nearest():
    said = r"metric='euclid' is not allowed: metric must be one of 'auto', 'time', .*; did you mean 'euclidean'\?"
    with pytest.raises(ValueError, match=said):
        read_positions([1.0, 2.0], 2, metric="euclid")


# ---------------------------------------------------------------------- groups


@pytest.mark.parametrize(
    ("groups", "shape"),
    [([], "(0,)"), (["a"] * 119, "(119,)"), ("a", "()"), (np.zeros((COUNT, 1)), "(120, 1)")],
    ids=["empty", "short", "scalar", "column"],
)
def test_groups_need_one_label_a_row(series, groups, shape):
    refused(
        rf"groups must hold one label for each of the 120 rows of X, got shape {re.escape(shape)}", series, None, groups
    )


@pytest.mark.parametrize("missing", [None, np.nan, np.datetime64("NaT")])
def test_a_missing_group_is_refused_with_its_row(series, missing):
    groups = np.array(["a"] * COUNT, dtype=object)
    groups[[8, 11]] = missing
    refused(r"groups has 2 missing labels, the first in row 8; every row needs one", series, None, groups)


def test_groups_of_mixed_types_are_refused(series):
    groups = np.array(["a"] * 60 + [1] * 60, dtype=object)
    refused("groups mixes labels of types int, str; use one type, such as text", series, None, groups)


def test_groups_of_a_kind_that_cannot_be_sorted_are_refused(series):
    refused("groups must hold numbers, text or dates, got labels of type complex128", series, None, np.full(COUNT, 1j))


def test_groups_that_are_all_too_small_are_refused(series):
    refused(
        "n_neighbors=6 but there are only 5 observations in the largest of 24 groups", series, None, np.arange(120) // 5
    )


# ---------------------------------------------------------------------- prediction


def test_prediction_refuses_another_number_of_features(series):
    model = make().fit(series.X, positions=series.positions)
    with pytest.raises(ValueError, match="X has 3 features, but MCGTA is expecting 2 features"):
        model.predict(np.ones((10, 3)), positions=np.arange(10.0))


def test_prediction_refuses_missing_features(series):
    with pytest.raises(ValueError, match="X: column 0 holds NaN in 10 rows"):
        make().fit(series.X).predict(np.full((10, 2), np.nan))


def test_prediction_needs_positions_where_the_fit_had_them(series):
    model = make().fit(series.X, positions=series.positions)
    with pytest.raises(ValueError, match="positions is needed: the fit had positions"):
        model.predict(series.X)


def test_prediction_needs_groups_where_the_fit_had_them(series):
    model = make().fit(series.X, positions=series.positions, groups=np.repeat(["north", "south"], 60))
    with pytest.raises(ValueError, match=r"groups is needed: the fit had 2 groups, such as .*'north'"):
        model.predict(series.X, positions=series.positions)


@pytest.mark.parametrize("call", ["predict", "predict_proba"])
def test_prediction_refuses_positions_of_another_length(series, call):
    model = make().fit(series.X, positions=series.positions)
    with pytest.raises(ValueError, match="positions has 9 rows but X has 10"):
        getattr(model, call)(series.X[:10], positions=series.positions[:9])


def test_prediction_refuses_a_table_of_the_wrong_shape_or_content(series):
    table = np.abs(series.positions[:, None] - series.positions[None])
    model = make(metric="precomputed").fit(series.X, positions=table)
    with pytest.raises(
        ValueError, match="positions is needed: the distances of the new observations to those of the fit"
    ):
        model.predict(series.X[:10])
    with pytest.raises(ValueError, match=r"a table of distances of shape \(10, 120\), got \(10, 10\)"):
        model.predict(series.X[:10], positions=table[:10, :10])
    for value in (-1.0, np.nan):
        with pytest.raises(ValueError, match=r"positions: the table of distances holds (NaN|negative values)"):
            model.predict(series.X[:10], positions=spoiled(table[:10], 2, 3, value, both=False))


def test_prediction_refuses_degrees_out_of_range(series):
    model = make(metric="haversine").fit(series.X, positions=degrees(0, 0))
    with pytest.raises(ValueError, match="latitude 95 in row 0 is outside"):
        model.predict(series.X[:1], positions=[[100.0, 95.0]])


def test_prediction_refuses_dates_where_the_fit_had_numbers_and_the_reverse(series):
    dates = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=float(t)) for t in series.positions]
    by_number, by_date = make().fit(series.X, positions=series.positions), make().fit(series.X, positions=dates)
    with pytest.raises(ValueError, match="positions holds datetimes or timedeltas, but those of the fit were numbers"):
        by_number.predict(series.X, positions=dates)
    with pytest.raises(ValueError, match="positions holds numbers, but those of the fit were datetimes or timedeltas"):
        by_date.predict(series.X, positions=series.positions)
