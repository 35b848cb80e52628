"""GeoJSON: features are rows, their points the positions; the text is written back as it was, with properties added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcgta.files import FileProblem, FileTable, Roles, guess_roles, make_observations, read_file, write_file
from mcgta.files.observations import with_points
from mcgta.runtime.config import config_context


def feature(properties: Any, coordinates: Any = (13.0, 52.0), kind: str = "Point") -> dict[str, Any]:
    geometry = None if coordinates is None else {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def read(folder: Path, *features: Any, **members: Any) -> FileTable:
    whole = {"type": "FeatureCollection", **members, "features": features}
    (folder / "a.geojson").write_text(json.dumps(whole))
    return read_file(folder / "a.geojson")


def read_text(folder: Path, text: str) -> FileTable:
    (folder / "a.geojson").write_text(text)
    return read_file(folder / "a.geojson")


def test_points_are_degrees_and_measured_on_the_globe(tmp_path):
    table = read(tmp_path, feature({"v": 1.0}), feature({"v": 2.5}, (14, 53)), feature({"v": 0.5}, None))
    points = table.geometry
    assert (points.crs, points.is_geographic, points.name) == ("EPSG:4326", True, "geometry")
    np.testing.assert_array_equal(points.x, [13.0, 14.0, np.nan])
    assert points.missing.tolist() == [2]
    roles = guess_roles(table)
    assert roles.position == ("geometry",)
    assert list(make_observations(table, roles).positions.columns) == ["longitude", "latitude"]
    assert make_observations(table, roles).without_position.tolist() == [2]


@pytest.mark.parametrize(
    ("values", "kind", "read_as"),
    [
        ([1, 2, None], "integer", [1.0, 2.0, float("nan")]),
        ([1, 2, 3], "integer", [1, 2, 3]),
        ([1, 2.5, 3], "number", [1.0, 2.5, 3.0]),
        ([True, False, True], "flag", [True, False, True]),
        ([True, None, False], "flag", [1.0, float("nan"), 0.0]),
        ([None, None, None], "number", [float("nan")] * 3),
        (["x", None, "y"], "text", ["x", None, "y"]),
        ([1.5, "NA", 2], "number", [1.5, float("nan"), 2.0]),
        (["12", "13", "14"], "text", ["12", "13", "14"]),
        ([True, 2, "x"], "text", ["true", "2", "x"]),
    ],
)
def test_properties_are_columns_by_their_types(tmp_path, values, kind, read_as):
    table = read(tmp_path, *(feature({"v": value}) for value in values))
    assert table.kinds["v"] == kind
    assert repr(table.columns["v"].tolist()) == repr(read_as)


def test_texts_of_times_are_times(tmp_path):
    table = read(tmp_path, feature({"t": "2024-01-02T10:00:00+01:00"}), feature({"t": "2024-01-03T00:00Z"}))
    expected = np.array(["2024-01-02T09:00", "2024-01-03T00:00"], dtype="datetime64[ns]")
    np.testing.assert_array_equal(table.columns["t"], expected)


def test_a_property_that_some_features_lack_is_missing_there(tmp_path):
    table = read(tmp_path, feature({"a": 1}), feature({"b": 2}), feature(None), feature({"a": 4, "b": 5}))
    assert repr(table.columns["a"].tolist()) == "[1.0, nan, nan, 4.0]"
    assert repr(table.columns["b"].tolist()) == "[nan, 2.0, nan, 5.0]"


def test_a_text_among_numbers_is_named_with_its_line(tmp_path):
    lines = ",\n".join(json.dumps(feature({"v": value})) for value in (1.5, 2.5, "broken", 4.5))
    table = read_text(tmp_path, f'{{"type": "FeatureCollection", "features": [\n{lines}\n]}}')
    with pytest.raises(FileProblem, match=r"a\.geojson: line 4, column v: 'broken' is not a number"):
        guess_roles(table)


def test_features_in_one_line_are_named_by_their_rows(tmp_path):
    table = read(tmp_path, *(feature({"v": value}) for value in (1.5, 2.5, "broken", 4.5)))
    with pytest.raises(FileProblem, match=r"a\.geojson: row 2, column v: 'broken' is not a number"):
        guess_roles(table)


def test_the_text_is_kept_character_for_character(tmp_path):
    before = (
        '\ufeff{ "type":"FeatureCollection" , "name":"Größe",\n "features" : [\n'
        '  {"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[13.10,52.0,7]},'
        '"properties":{"v":1.50, "l":[1,2]} },\n'
        '\t{"properties":null, "type":"Feature","geometry":null, "extra":{"properties":{"x":1}}},\n'
        '  {"type":"Feature","geometry":null,"properties":{ }},\n'
        '  {"type":"Feature","geometry":null}\n ], "bbox":[0,0,1,1] }\r\n'
    )
    after = (
        '\ufeff{ "type":"FeatureCollection" , "name":"Größe",\n "features" : [\n'
        '  {"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[13.10,52.0,7]},'
        '"properties":{"v":1.50, "l":[1,2], "k": 0, "p": 0.5} },\n'
        '\t{"properties":{"k": 1, "p": null}, "type":"Feature","geometry":null, "extra":{"properties":{"x":1}}},\n'
        '  {"type":"Feature","geometry":null,"properties":{ "k": 2, "p": 1.0}},\n'
        '  {"properties": {"k": -1, "p": 0.0}, "type":"Feature","geometry":null}\n ], "bbox":[0,0,1,1] }\r\n'
    )
    (tmp_path / "a.geojson").write_bytes(before.encode())
    table = read_file(tmp_path / "a.geojson")
    assert table.notes == ("properties that are lists or objects are no features: l",)
    added = {"k": np.array([0, 1, 2, -1]), "p": np.array([0.5, np.nan, 1.0, 0.0])}
    write_file(table, tmp_path / "b.geojson", added)
    assert (tmp_path / "b.geojson").read_bytes().decode() == after
    assert json.loads(after.removeprefix("\ufeff"))["features"][3]["properties"] == {"k": -1, "p": 0.0}


def test_a_file_that_has_changed_since_it_was_read_is_not_mixed_up(tmp_path):
    table = read(tmp_path, feature({"v": 1}))
    (tmp_path / "a.geojson").write_text("{}")
    with pytest.raises(FileProblem, match="has changed since it was read"):
        write_file(table, tmp_path / "b.geojson", {"k": np.array([1])})
    assert not (tmp_path / "b.geojson").exists()


def test_areas_are_taken_at_their_centroids_and_written_back_as_areas(tmp_path):
    square = [[[0, 0], [2, 0], [2, 4], [0, 4], [0, 0]]]
    table = read(tmp_path, feature({"v": 1}, square, "Polygon"), feature({"v": 2}, (5, 6)))
    np.testing.assert_allclose(table.geometry.x, [1, 5])
    np.testing.assert_allclose(table.geometry.y, [2, 6])
    assert table.notes == ("geometry holds geometries of type Polygon, which are taken at their centroids",)
    write_file(table, tmp_path / "b.parquet", {"k": np.array([0, 1])})
    write_file(read_file(tmp_path / "b.parquet"), tmp_path / "c.geojson", {})
    back = json.loads((tmp_path / "c.geojson").read_text())["features"]
    assert back[0]["geometry"] == {"type": "Polygon", "coordinates": square}
    assert back[1]["geometry"] == {"type": "Point", "coordinates": [5, 6]}


def test_an_area_over_the_antimeridian_has_its_centroid_there(tmp_path):
    west = [[[178, 0], [180, 0], [180, 2], [178, 2], [178, 0]]]
    east = [[[-180, 0], [-179, 0], [-179, 2], [-180, 2], [-180, 0]]]
    table = read(tmp_path, feature({"v": 1}, [west, east], "MultiPolygon"))
    np.testing.assert_allclose([table.geometry.x[0], table.geometry.y[0]], [179.5, 1.0])


def test_a_crs_that_is_named_is_used(tmp_path):
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::25832"}}
    table = read(tmp_path, feature({"v": 1}, (500000, 5500000, 120)), crs=crs)
    assert (table.geometry.crs, table.geometry.unit, table.geometry.is_geographic) == ("EPSG:25832", "m", False)
    assert table.geometry.z.tolist() == [120]
    crs["properties"]["name"] = "nonsense"
    with pytest.raises(FileProblem, match=r"a\.geojson: crs='nonsense' is no coordinate reference system"):
        read(tmp_path, feature({"v": 1}), crs=crs)


def test_a_crs_that_is_said_to_be_unknown_is_unknown(tmp_path):
    table = read(tmp_path, feature({"v": 1}), crs=None)
    assert table.geometry.crs == ""
    observations = make_observations(table, Roles(position=("geometry",), features=("v",), crs="EPSG:4326"))
    assert list(observations.positions.columns) == ["longitude", "latitude"]


def test_columns_of_a_place_are_written_as_points(tmp_path):
    (tmp_path / "a.csv").write_text("lon,lat,v\n13,52,1\n14,,2\n")
    table = read_file(tmp_path / "a.csv")
    roles = Roles(lon="lon", lat="lat", features=("v",))
    write_file(with_points(table, roles), tmp_path / "b.geojson", {"k": np.array([0, 1])})
    back = json.loads((tmp_path / "b.geojson").read_text())
    assert [row["geometry"] for row in back["features"]] == [{"type": "Point", "coordinates": [13.0, 52.0]}, None]
    assert back["features"][1]["properties"] == {"lon": 14, "lat": None, "v": 2, "k": 1}
    assert "crs" not in back


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, character 1: damaged, or not GeoJSON"),
        ("[]", "line 1, character 1: damaged, or not GeoJSON"),
        ('{"type": "FeatureCollection"\n"features": []}', "line 2, character 1: damaged"),
        ('{"type": "FeatureCollection", "features": []} x', "expected the end"),
        ('{"type": "FeatureCollection", "features": [{}, ]}', "line 1"),
        ('{"type": "FeatureCollection", "features": {}}', "expected an array"),
        ('{"type": "FeatureCollection", "features": []}', "the collection has no feature"),
        (
            '{"type": "Feature", "properties": {}, "geometry": null}',
            "must be of type FeatureCollection, is '\"Feature\"'",
        ),
        ('{"type": "FeatureCollection", "features": [1]}', "no object of type Feature"),
        ('{"features": [], "features": []}', "has 'features' twice"),
        (json.dumps({"type": "FeatureCollection", "features": [feature([1])]}), "properties must be an object or null"),
        (json.dumps({"type": "FeatureCollection", "features": [feature({})]}), "features have no property"),
        (json.dumps({"type": "FeatureCollection", "features": [feature({"v": 1}, (1,))]}), "one coordinate only"),
        (json.dumps({"type": "FeatureCollection", "features": [feature({"v": 1}, ("a", 2))]}), "must be numbers"),
        (
            json.dumps({"type": "FeatureCollection", "features": [feature({"v": 1}, 5, "Star")]}),
            "type 'Star' is damaged",
        ),
        ('{"type": "FeatureCollection", "features": [' + "[" * 10**5, "nested too deeply"),
        ('{"type": "FeatureCollection", "features": [' + "1" * 10**5 + "]}", "too many digits"),
    ],
)
def test_what_is_no_collection_of_features_is_refused_with_its_line(tmp_path, text, said):
    with pytest.raises(FileProblem) as problem:
        read_text(tmp_path, text)
    assert str(problem.value).startswith("a.geojson: ")
    assert said in str(problem.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "a.geojson").write_bytes(b'{"type":\n "\xff"}')
    with pytest.raises(FileProblem, match="line 2: byte 11 is not UTF-8"):
        read_file(tmp_path / "a.geojson")


def test_a_text_that_does_not_fit_into_memory_is_refused(tmp_path):
    (tmp_path / "a.geojson").write_text(" " * 10**6)
    with config_context(max_memory="1MB"), pytest.raises(FileProblem, match="more than half of the 1 MB"):
        read_file(tmp_path / "a.geojson")


def test_an_infinite_number_cannot_be_written(tmp_path):
    (tmp_path / "a.csv").write_text("v,w\n1,1\ninf,2\n")
    with pytest.raises(FileProblem, match=r"a\.csv: line 3, column v: inf is infinite"):
        write_file(read_file(tmp_path / "a.csv"), tmp_path / "b.geojson", {})


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), min_size=1, max_size=4), st.integers(0, 3))
def test_any_properties_stay_as_they_are(tmp_path, rows, indent):
    rows[0]["v"] = 1
    rows = [{name: value for name, value in row.items() if name != "k"} for row in rows]
    whole = {"type": "FeatureCollection", "features": [feature(row) for row in rows]}
    (tmp_path / "a.geojson").write_text(json.dumps(whole, indent=indent or None))
    table = read_file(tmp_path / "a.geojson")
    write_file(table, tmp_path / "b.geojson", {"k": np.arange(len(rows))}, force=True)
    back = json.loads((tmp_path / "b.geojson").read_text())
    assert [found["properties"] for found in back["features"]] == [{**row, "k": k} for k, row in enumerate(rows)]
