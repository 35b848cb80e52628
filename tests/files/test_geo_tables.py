"""GeoParquet and GeoPackage: geometries are positions with a CRS, and are written back as they were."""

from __future__ import annotations

import json
import sqlite3

import geopandas
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely

from mcgta.files import FileProblem, guess_roles, make_observations, read_file, write_file

SUFFIXES = (".parquet", ".feather", ".gpkg")
PLACES = [shapely.Point(500000, 5500000), None, shapely.Point(500100, 5500200)]


def save(frame, path):
    writers = {".parquet": frame.to_parquet, ".feather": frame.to_feather, ".gpkg": frame.to_file}
    writers[path.suffix](path)
    return path


def load(path):
    readers = {".parquet": geopandas.read_parquet, ".feather": geopandas.read_feather, ".gpkg": geopandas.read_file}
    return readers[path.suffix](path)


def make_frame(geometry=PLACES, crs="EPSG:25832", **columns):
    return geopandas.GeoDataFrame({"v": [1.5, 2.5, 3.5], **columns}, geometry=list(geometry), crs=crs)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_points_are_positions_in_the_unit_of_their_crs(tmp_path, suffix):
    table = read_file(save(make_frame(), tmp_path / f"a{suffix}"))
    points = table.geometry
    assert (points.crs, points.unit, points.is_geographic) == ("EPSG:25832", "m", False)
    np.testing.assert_array_equal(points.x, [500000, np.nan, 500100])
    roles = guess_roles(table)
    assert roles.position == (points.name,)
    assert roles.features == ("v",)
    observations = make_observations(table, roles)
    assert observations.positions.crs.unit == "m"
    assert observations.without_position.tolist() == [1]


@pytest.mark.filterwarnings("ignore:'crs' was not provided")
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:25832", "+proj=laea +lat_0=52 +lon_0=10 +ellps=GRS80", None])
def test_the_frame_comes_back_with_its_geometry_and_crs(tmp_path, suffix, crs):
    places = [shapely.Point(10, 50), None, shapely.Point(11, 51)]
    when = pandas.to_datetime(["2024-01-01", None, "2024-01-03"]).astype("datetime64[ms]").tz_localize("UTC")
    frame = make_frame(places, crs, n=[1, 2, 3], s=["x", None, "z"], ok=[True, False, True], when=when)
    path = save(frame, tmp_path / f"a{suffix}")
    before = load(path)
    write_file(read_file(path), tmp_path / f"b{suffix}", {"cluster": np.array([0, 1, -1])})
    after = load(tmp_path / f"b{suffix}")
    assert after.pop("cluster").tolist() == [0, 1, -1]
    assert after.crs == before.crs
    pandas.testing.assert_frame_equal(pandas.DataFrame(after[before.columns]), pandas.DataFrame(before))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_degrees_and_heights_are_known(tmp_path, suffix):
    places = [shapely.Point(10, 50, 7), None, shapely.Point(11, 51, 8)]
    points = read_file(save(make_frame(places, "EPSG:4326"), tmp_path / f"a{suffix}")).geometry
    assert (points.crs, points.is_geographic, points.unit) == ("EPSG:4326", True, "degree")
    np.testing.assert_array_equal(points.z, [7, np.nan, 8])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_areas_and_lines_are_taken_at_their_centroids_and_written_back(tmp_path, suffix):
    places = [shapely.box(0, 0, 2, 4), shapely.LineString([(0, 0), (2, 2)]), shapely.Point(5, 6)]
    path = save(make_frame(places), tmp_path / f"a{suffix}")
    table = read_file(path)
    np.testing.assert_allclose(table.geometry.x, [1, 1, 5])
    np.testing.assert_allclose(table.geometry.y, [2, 1, 6])
    assert "geometries of type LineString and Polygon, which are taken at their centroids" in table.notes[0]
    write_file(table, tmp_path / f"b{suffix}", {"k": np.arange(3)})
    assert load(tmp_path / f"b{suffix}").geometry.geom_equals(load(path).geometry).all()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("target", [".parquet", ".feather", ".gpkg", ".geojson"])
def test_points_go_from_one_format_to_another(tmp_path, suffix, target):
    frame = make_frame(n=pandas.array([1, None, 3], dtype="Int64"), s=["x", None, "z"])
    table = read_file(save(frame, tmp_path / f"a{suffix}"))
    write_file(table, tmp_path / f"b{target}", {"cluster": np.array([0, 1, -1])})
    back = read_file(tmp_path / f"b{target}")
    assert (back.geometry.crs, back.geometry.unit) == ("EPSG:25832", "m")
    np.testing.assert_array_equal(back.geometry.x, table.geometry.x)
    assert list(back.columns) == ["v", "n", "s", "cluster"]
    np.testing.assert_array_equal(back.columns["n"], [1, np.nan, 3])
    assert back.columns["s"].tolist() == ["x", None, "z"]


def geoparquet(path, column, array, **said):
    metadata = {"version": "1.1.0", "primary_column": column, "columns": {column: said}}
    table = pa.table({"v": np.arange(float(len(array))), column: array})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(metadata)}), path)
    return path


NATIVE = pa.array([{"x": 1.0, "y": 2.0}, None], pa.struct([("x", pa.float64()), ("y", pa.float64())]))


def test_native_points_are_read_and_written_back(tmp_path):
    path = geoparquet(tmp_path / "a.parquet", "place", NATIVE, encoding="point", geometry_types=["Point"])
    table = read_file(path)
    np.testing.assert_array_equal(table.geometry.x, [1, np.nan])
    assert table.geometry.crs == "EPSG:4326"  # by the specification, where none is said
    write_file(table, tmp_path / "b.parquet", {"k": np.arange(2)})
    back = pq.read_table(tmp_path / "b.parquet")
    assert back.column("place").to_pylist() == NATIVE.to_pylist()
    assert back.schema.metadata[b"geo"] == pq.read_schema(path).metadata[b"geo"]


def test_a_crs_that_is_null_is_unknown(tmp_path):
    path = geoparquet(tmp_path / "a.parquet", "place", NATIVE, encoding="point", crs=None)
    assert read_file(path).geometry.crs == ""


@pytest.mark.parametrize(
    ("array", "said", "problem"),
    [
        (
            NATIVE,
            {"encoding": "polygon"},
            "geometries of column g are encoded as 'polygon'; write them as 'WKB' or 'point'",
        ),
        (NATIVE, {"encoding": "WKB"}, "column g holds struct<.*>, which is not WKB"),
        (pa.array([1, 2]), {"encoding": "point"}, "column g holds int64, which are no points"),
        (pa.array([b"\x01\x01", None]), {"encoding": "WKB"}, "row 0, column g: its geometry is damaged"),
        (
            pa.array([b"\x01\x03\x00\x00\x00\xff\xff\xff\xff", None]),
            {"encoding": "WKB"},
            "column g, row 0: its geometry is",
        ),
        (NATIVE, {"encoding": "point", "crs": {"type": "Nonsense"}}, "CRS of column g=.* is no coordinate reference"),
    ],
)
def test_geometries_that_cannot_be_read_are_refused(tmp_path, array, said, problem):
    path = geoparquet(tmp_path / "a.parquet", "g", array, **said)
    with pytest.raises(FileProblem, match=rf"^a\.parquet: .*{problem}"):
        read_file(path)


@pytest.mark.parametrize("geo", ["no JSON", "[]", "{}", '{"primary_column": "h", "columns": {"h": {}}}', "[" * 10**5])
def test_damaged_metadata_are_refused(tmp_path, geo):
    table = pa.table({"v": [1.0]}).replace_schema_metadata({"geo": geo})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(FileProblem, match=r"^a\.parquet: the metadata 'geo'"):
        read_file(tmp_path / "a.parquet")


def test_points_of_arrow_without_geoparquet_are_known_by_their_extension(tmp_path):
    pairs = pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2))
    field = pa.field("place", pairs.type, metadata={"ARROW:extension:name": "geoarrow.point"})
    table = pa.table([pa.array([1.0, 2.0]), pairs], schema=pa.schema([pa.field("v", pa.float64()), field]))
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    read = read_file(tmp_path / "a.arrow")
    np.testing.assert_array_equal(read.geometry.y, [2, np.nan])
    assert read.geometry.crs == ""


def test_more_than_one_layer_is_refused_with_their_names(tmp_path):
    path = tmp_path / "a.gpkg"
    for layer in ("wells", "rivers"):
        make_frame().to_file(path, layer=layer)
    with pytest.raises(FileProblem, match=r"a\.gpkg: it has 2 layers \(wells, rivers\)"):
        read_file(path)


def test_a_table_without_geometries_beside_the_layer_does_not_matter(tmp_path):
    path = tmp_path / "a.gpkg"
    make_frame().to_file(path, layer="wells")
    pyogrio.write_dataframe(pandas.DataFrame({"w": [1]}), path, layer="remarks")
    assert list(read_file(path).columns) == ["v"]


def test_a_layer_keeps_its_name_and_a_table_without_points_has_no_geometry(tmp_path):
    make_frame().to_file(tmp_path / "a.gpkg", layer="wells")
    write_file(read_file(tmp_path / "a.gpkg"), tmp_path / "b.gpkg", {"k": np.arange(3)})
    assert pyogrio.list_layers(tmp_path / "b.gpkg").tolist() == [["wells", "Point"]]
    (tmp_path / "a.csv").write_text("fid,v\n7,1\n7,2\n")
    write_file(read_file(tmp_path / "a.csv"), tmp_path / "c.gpkg", {})
    assert pyogrio.list_layers(tmp_path / "c.gpkg").tolist() == [["c", None]]
    assert read_file(tmp_path / "c.gpkg").columns["fid"].tolist() == [7, 7]


@pytest.mark.parametrize("content", [b"", b"{}", b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_geopackage_is_refused(tmp_path, content):
    (tmp_path / "a.gpkg").write_bytes(content)
    with pytest.raises(FileProblem, match=r"^a\.gpkg: damaged, or not GeoPackage"):
        read_file(tmp_path / "a.gpkg")


def test_a_database_without_layers_is_refused(tmp_path):
    database = sqlite3.connect(tmp_path / "a.gpkg")
    database.execute("CREATE TABLE t (v)")
    database.commit()
    database.close()
    with pytest.raises(FileProblem, match=r"^a\.gpkg: "):
        read_file(tmp_path / "a.gpkg")


def test_grads_are_refused(tmp_path):
    with pytest.raises(FileProblem, match="is measured in grads; convert geometry to degrees"):
        read_file(save(make_frame(crs="EPSG:4807"), tmp_path / "a.parquet"))
