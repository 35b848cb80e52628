"""Rasters of xarray: which axes are read as what, and what comes back."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pyproj
import pytest
import xarray as xr

import mcgta
from mcgta import SpaceTime, config_context
from mcgta.drawing.palette import NOISE_COLOR, cluster_color

SETTINGS = {"n_clusters": 2, "n_neighbors": 9, "semivariogram": "empirical"}
ROWS = 12
COLUMNS = 20
EAST = np.broadcast_to(np.arange(COLUMNS) >= 10, (ROWS, COLUMNS))
LON = 10 + np.arange(COLUMNS) / 10
LAT = 50 - np.arange(ROWS) / 10


def cluster(data, **options):
    return mcgta.cluster_xarray(data, **{**SETTINGS, **options})


def values(*shape, seed=0):
    """Numbers around 0 in the west and around 8 in the east."""
    return np.random.default_rng(seed).normal(size=(*shape, ROWS, COLUMNS)) + 8 * EAST


def raster(x="x", y="y", **coords):
    """Three bands on a grid of ten metres."""
    places = {y: 10.0 * np.arange(ROWS), x: 10.0 * np.arange(COLUMNS)}
    return xr.DataArray(values(3), dims=("band", y, x), coords={"band": ["red", "green", "blue"], **places, **coords})


def months():
    """Temperature and rain of four months, and the height, on a map in degrees."""
    place = {"lat": LAT, "lon": LON, "time": pd.date_range("2024", periods=4, freq="MS")}
    dims = ("time", "lat", "lon")
    fields = {
        "temperature": (dims, values(4, seed=1)),
        "rain": (dims, values(4, seed=2)),
        "height": (dims[1:], values(seed=3)),
    }
    return xr.Dataset(fields, coords=place)


def agrees(clusters):
    """Whether two clusters are the west and the east."""
    found = np.asarray(clusters["cluster"])
    return {len(np.unique(found[..., EAST])), len(np.unique(found[..., ~EAST]))} == {1} and len(np.unique(found)) == 2


def test_a_raster_of_bands_comes_back_with_its_coordinates():
    data = raster(zone=("x", np.arange(COLUMNS) // 5))
    clusters, model = cluster(data)
    assert dict(clusters.sizes) == {"y": ROWS, "x": COLUMNS}
    assert set(clusters.coords) == {"x", "y", "zone"}
    xr.testing.assert_identical(clusters.x, data.drop_vars("band").x)
    assert agrees(clusters)
    np.testing.assert_array_equal(clusters.cluster.values.ravel(), model.labels_)
    np.testing.assert_array_equal(clusters.probability.values.ravel(), model.probabilities_)
    assert model.feature_names_in_.tolist() == ["red", "green", "blue"]
    assert model.positions_.metric.name == "euclidean"


def test_the_order_of_dimensions_does_not_matter():
    clusters, _ = cluster(raster().transpose("x", "band", "y"))
    xr.testing.assert_equal(clusters, cluster(raster()).clusters)


def test_clusters_tell_their_meaning_and_colour_and_survive_a_file(tmp_path):
    clusters = cluster(raster()).clusters
    clusters.to_netcdf(tmp_path / "clusters.nc")
    with xr.open_dataset(tmp_path / "clusters.nc") as read:
        attributes = read.cluster.attrs
        np.testing.assert_array_equal(read.cluster, clusters.cluster)
    assert attributes["flag_meanings"] == "noise cluster_0 cluster_1"
    assert attributes["flag_values"].tolist() == [-1, 0, 1]
    assert attributes["flag_colors"] == f"{NOISE_COLOR} {cluster_color(0)} {cluster_color(1)}"


# ---------------------------------------------------------------------- the place


def test_longitude_and_latitude_are_measured_on_the_globe():
    data = months().isel(time=0)
    clusters, model = cluster(data)
    assert model.positions_.metric.name == "haversine"
    assert set(model.positions_.coordinates[:, 0].round(1)) == set(LON.round(1))
    assert clusters.time == data.time
    assert model.feature_names_in_.tolist() == ["temperature", "rain", "height"]


def in_degrees():
    return raster().assign_coords(x=LON, y=LAT)


@pytest.mark.parametrize(
    "say",
    [
        lambda data: data.assign_attrs(crs="EPSG:4326"),
        lambda data: data.assign_coords(spatial_ref=((), 0, {"crs_wkt": pyproj.CRS(4326).to_wkt()})),
        lambda data: data.assign_coords(
            x=("x", LON, {"units": "degrees_east"}), y=("y", LAT, {"units": "degrees_north"})
        ),
        lambda data: data.assign_coords(
            x=("x", LON, {"standard_name": "longitude"}), y=("y", LAT, {"standard_name": "latitude"})
        ),
    ],
    ids=["attribute", "grid mapping", "units", "standard names"],
)
def test_degrees_are_known_by_a_crs_or_by_attributes(say):
    assert cluster(say(in_degrees())).model.positions_.metric.name == "haversine"


def test_degrees_of_which_nothing_is_known_are_reported():
    with pytest.warns(UserWarning, match="look like degrees but are measured on a plane"):
        cluster(in_degrees())
    assert cluster(in_degrees(), crs=4326).model.positions_.metric.name == "haversine"


@pytest.mark.parametrize(("crs", "unit"), [("EPSG:32633", "m"), (2263, "ft"), (pyproj.CRS(3035), "m")])
def test_a_projection_gives_its_unit(crs, unit):
    assert cluster(raster(), crs=crs).model.positions_.unit == unit


def test_the_crs_of_rioxarray_is_taken(monkeypatch):
    accessor = type("Rio", (), {"crs": pyproj.CRS(2263)})
    monkeypatch.setattr(xr.Dataset, "rio", accessor(), raising=False)
    assert cluster(raster()).model.positions_.unit == "ft"


def test_the_unit_of_coordinates_is_taken():
    data = raster()
    data.x.attrs["units"] = "km"
    assert cluster(data).model.positions_.unit == "km"


def test_a_curvilinear_grid_is_placed_by_its_coordinates_of_two_dimensions():
    lon, lat = np.meshgrid(LON, LAT)
    data = xr.DataArray(values(2), dims=("band", "y", "x"), coords={"lon": (("y", "x"), lon), "lat": (("y", "x"), lat)})
    clusters, model = cluster(data)
    assert model.positions_.metric.name == "haversine"
    np.testing.assert_array_equal(cluster(months().isel(time=0)[["rain", "height"]]).clusters.lon, LON)
    assert clusters.cluster.dims == ("y", "x")
    assert model.feature_names_in_.tolist() == ["band 0", "band 1"]


def test_scattered_stations_are_rows(plane):
    lon, lat = (plane.positions / 10 + [10, 50]).T
    fields = {"temperature": ("station", plane.X[:, 0]), "rain": ("station", plane.X[:, 1])}
    data = xr.Dataset(fields, coords={"lon": ("station", lon), "lat": ("station", lat)})
    clusters, model = cluster(data, n_neighbors=6)
    assert model.positions_.metric.name == "haversine"
    np.testing.assert_array_equal(clusters.cluster, plane.truth)


def test_pixels_without_coordinates_are_counted():
    _, model = cluster(xr.DataArray(values(), dims=("row", "column"), name="ndvi"), x="column", y="row")
    assert model.feature_names_in_.tolist() == ["ndvi"]
    np.testing.assert_array_equal(model.positions_.coordinates[COLUMNS], [0, 1])


# ---------------------------------------------------------------------- time


def test_a_time_beside_the_place_is_asked_for():
    said = r"data has a time, 'time', beside the place; .*groups='time' .*features='time' .*metric=SpaceTime"
    with pytest.raises(ValueError, match=said):
        cluster(months())


def test_times_may_be_groups():
    clusters, model = cluster(months(), groups="time")
    assert dict(clusters.sizes) == {"time": 4, "lat": ROWS, "lon": COLUMNS}
    assert model.positions_.group_names.size == 4
    assert agrees(clusters)


def test_times_may_be_features():
    clusters, model = cluster(months()[["temperature"]], features="time")
    assert dict(clusters.sizes) == {"lat": ROWS, "lon": COLUMNS}
    assert model.feature_names_in_.tolist() == ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"]
    assert agrees(clusters)
    both = cluster(months()[["temperature", "height"]], features="time").model
    assert both.feature_names_in_.tolist()[-2:] == ["temperature 2024-04-01", "height"]


def test_times_may_be_part_of_the_distance():
    clusters, model = cluster(months(), metric=SpaceTime(0.01))
    assert model.positions_.metric == SpaceTime(0.01, "haversine")
    assert dict(clusters.sizes) == {"time": 4, "lat": ROWS, "lon": COLUMNS}


def test_a_single_time_is_no_question():
    clusters, _ = cluster(months().isel(time=[2]))
    assert clusters.time == months().time[2]
    bare = cluster(months().isel(time=[2]).drop_vars("time")).clusters
    xr.testing.assert_equal(bare.cluster, clusters.cluster.drop_vars("time"))


def test_a_series_is_placed_by_its_times_and_stations_may_be_groups(series):
    times = pd.date_range("2024", periods=120, freq="h")
    fields = {name: (("time", "station"), series.X[:, [k, k]]) for k, name in enumerate(["speed", "torque"])}
    data = xr.Dataset(fields, coords={"time": times, "station": ["a", "b"]})
    clusters, model = cluster(data, groups="station")
    assert model.positions_.unit == "s"
    assert model.positions_.group_names.tolist() == ["a", "b"]
    assert clusters.cluster.sizes == {"station": 2, "time": 120}
    alone = cluster(data.isel(station=0)).model
    assert alone.positions_.metric.name == "time"


# ---------------------------------------------------------------------- cells without values


def test_cells_without_a_value_stay_nan():
    data = raster().where(lambda data: (data.x > 30) | (data.y > 50))
    clusters, model = cluster(data)
    sea = data.isel(band=0).isnull().drop_vars("band")
    assert sea.sum() == 24
    xr.testing.assert_equal(clusters.cluster.isnull(), sea)
    xr.testing.assert_equal(clusters.probability.isnull(), sea)
    assert model.labels_.size == ROWS * COLUMNS - 24


def test_cells_that_miss_a_band_go_by_the_parameter_missing():
    data = raster()
    data[0, 3, 4] = np.nan
    with pytest.raises(ValueError, match="column 'red' holds NaN in 1 row"):
        cluster(data)
    with pytest.warns(UserWarning, match="1 of 240 rows have missing values"):
        dropped = cluster(data, missing="drop").clusters
    assert (dropped.cluster == -1).sum() == 1
    assert dropped.cluster[3, 4] == -1
    with pytest.warns(UserWarning, match="imputed"):
        assert cluster(data, missing="impute").clusters.cluster[3, 4] >= 0


@pytest.mark.parametrize("key", ["_FillValue", "missing_value", "nodata"])
def test_a_number_that_stands_for_no_value_is_read_as_such(key):
    data = (100 * raster()).astype("int16")
    data[:, :, 7] = -9999
    clusters, _ = cluster(data.assign_attrs({key: -9999}))
    assert clusters.cluster.isnull().sum() == ROWS


# ---------------------------------------------------------------------- bad input


def test_variables_that_are_no_features_are_named():
    data = months().isel(time=0).assign(zone=("lat", ["a"] * ROWS), edges=(("lat", "side"), np.zeros((ROWS, 2))))
    with pytest.warns(UserWarning, match="^data: 'zone', 'edges' are left out; features are variables of numbers"):
        cluster(data)


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (
            raster,
            {"x": "lon"},
            "x='lon' is not a dimension or a coordinate of data, which has dimensions 'band', 'y', 'x'",
        ),
        (raster, {"features": "time"}, "features='time' is not a dimension of data"),
        (raster, {"crs": "EPSG:nowhere"}, "crs='EPSG:nowhere' is no coordinate reference system"),
        (
            lambda: raster("i", "j"),
            {},
            "dimensions 'band', 'j', 'i', of which none is a place or a time; name x= and y=",
        ),
        (lambda: raster("lon", "j"), {}, "data has x='lon' but no coordinate for y"),
        (lambda: raster().expand_dims(easting=[1.0, 2.0]), {}, "'easting' and 'x' could both be x; say which"),
        (lambda: months().isel(time=0), {"crs": 25832}, "crs=25832 is a projection, but 'lon' and 'lat' are degrees"),
        (lambda: raster().expand_dims(level=[1, 2]), {}, "dimensions 'level' and 'band' beside the position"),
        (lambda: raster() * np.nan, {}, "data has 0 cells with a value and a place, of 240"),
        (lambda: raster().astype(str), {}, "data has no variable of numbers with dimensions 'x', 'y'"),
        (lambda: months().mean("lon").mean("lat"), {"crs": 4326}, "crs=4326 has no effect, since data has no place"),
        (lambda: raster(), {"y": "band"}, "data: 'band' holds <U5, such as .*; positions must be numbers or times"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(make, options, said):
    with pytest.raises(ValueError, match=said):
        cluster(make(), **options)


def test_other_containers_and_parameters_are_refused():
    with pytest.raises(ValueError, match="data is a ndarray; cluster_xarray takes a DataArray or a Dataset"):
        cluster(values())
    with pytest.raises(
        TypeError, match="cluster_xarray has no parameter 'group', nor has MCGTA; did you mean 'groups'"
    ):
        cluster(raster(), group="band")


def test_what_would_not_fit_into_memory_is_refused():
    said = r"data has 12 x 20 cells of 3 features, 11.5 kB as rows, but max_memory allows 5 kB; .*coarsen"
    with config_context(max_memory="5kB"), pytest.raises(MemoryError, match=said):
        cluster(raster())


def test_without_xarray_it_is_said_what_to_install():
    code = "import sys; sys.modules['xarray'] = None; import mcgta; mcgta.cluster_xarray([[1.0]])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert "cluster_xarray needs xarray: pip install 'mcgta[rasters]'" in done.stderr
