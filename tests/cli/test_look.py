"""``mcgta look``: what a file holds, as lines and as JSON, and the command that would cluster it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from mcgta.cli import main


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def rows(header: str, count: int, line: str) -> str:
    return f"{header}\n" + "".join(line.format(k=k, odd=k * k % 7) + "\n" for k in range(count))


def test_a_series_with_names_that_need_quotes(capsys):
    path = write("my data.csv", rows("t,air temp,id", 30, "{k},{odd},n{k}"))
    assert main(["look", path]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.splitlines() == [
        "rows      30 rows, 3 columns",
        "position  time t",
        "features  air temp",
        "ignored   id (unique text)",
        "run       mcgta cluster 'my data.csv' --time t --features 'air temp'",
    ]


def test_missing_values_are_named_with_what_to_do(capsys):
    path = write("a.csv", rows("lon,lat,o3", 30, "{k}.5,{odd}.25,{odd}") + "1.5,2.25,\n")
    assert main(["look", path]) == 0
    shown = capsys.readouterr().out
    assert "position  longitude lon, latitude lat (great-circle distances in metres)" in shown
    assert "missing   o3: 1 row, so add --missing drop or --missing impute" in shown
    assert shown.endswith("--missing drop\n")


def test_without_a_position_the_order_of_the_rows_is_the_time(capsys):
    path = write("a.csv", rows("a,b", 20, "{odd},{odd}.5"))
    assert main(["look", path]) == 0
    assert "position  the order of the rows, as time" in capsys.readouterr().out


def test_the_command_repeats_what_was_seen(capsys):
    path = write("a.csv", rows("t,b,c d,e", 20, "{k},{odd}.5,{odd}.25,{odd}"))
    assert main(["look", path, "--features", "b", "--features", "c d"]) == 0
    first = capsys.readouterr().out
    command = shlex.split(first.splitlines()[-1].removeprefix("run"))
    assert main(["look", *command[2:]]) == 0
    assert capsys.readouterr().out == first


def test_names_with_commas_are_told_apart(capsys):
    path = write("a.csv", rows('t,"a,b",a,b', 20, "{k},{odd}.5,{odd}.25,{odd}.75"))
    assert main(["look", path, "--features", "a,b"]) == 0
    assert "features  a,b\n" in capsys.readouterr().out
    assert main(["look", path, "--features", "b,a"]) == 0
    assert "features  b a\n" in capsys.readouterr().out
    assert main(["look", path]) == 0
    assert capsys.readouterr().out.endswith("--features a,b --features a --features b\n")


def test_the_result_as_json(capsys):
    path = write("a.csv", rows("t,a,city", 30, "{k},{odd},x") + "31,,x\n")
    assert main(["look", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["mcgta", "command", "input", "roles", "ignored", "missing", "run", "notes"]
    assert found["command"] == "look"
    assert found["input"]["rows"] == 31
    assert found["input"]["columns"] == {"t": "integer", "a": "integer", "city": "text"}
    assert found["roles"] == {"time": ["t"], "group": None, "features": ["a"], "crs": None}
    assert found["missing"] == {"a": 1}
    assert set(found["ignored"]) == {"city"}
    assert found["run"].startswith("mcgta cluster a.csv --time t --features a --missing drop")


def test_two_columns_that_could_be_the_time_are_asked_about(capsys):
    path = write("trips.csv", "started_at,ended_at,v\n2024-01-01,2024-01-02,1\n2024-01-02,2024-01-03,2\n")
    assert main(["look", path]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "mcgta: two columns could be the time: started_at, ended_at",
        "  say which:  mcgta look trips.csv --time started_at",
        "  or:         mcgta look trips.csv --time ended_at",
    ]


def test_a_time_and_a_place_are_asked_about_with_all_three_answers(capsys):
    path = write("a.csv", rows("lon,lat,t,v", 9, "1.{k},2.5,{k},{odd}"))
    assert main(["look", path]) == 2
    said = capsys.readouterr().err
    assert [line.partition("mcgta look a.csv")[2] for line in said.splitlines()[1:]] == [
        " --time t",
        " --lon lon --lat lat",
        " --time t --lon lon --lat lat",
    ]
    assert main(["look", path, *["--time", "t", "--lon", "lon", "--lat", "lat"]]) == 0
    assert "--time-scale S" in capsys.readouterr().out
    assert main(["cluster", path]) == 2
    assert "--time t --lon lon --lat lat --time-scale S" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "2 points without a CRS; say which by --crs"),
        (["--crs", "EPSG:4326"], "2 points, EPSG:4326 (degrees, so great-circle distances in metres)"),
        (["--crs", "EPSG:25832"], "2 points, EPSG:25832 (in m)"),
    ],
)
def test_points_without_a_crs_are_in_that_of_the_flag(flags, said, tmp_path, capsys):
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed: pip install 'mcgta[geo]'")
    points = geopandas.GeoDataFrame({"a": [1.5, 2.5]}, geometry=geopandas.points_from_xy([8.0, 9.0], [50.0, 51.0]))
    points.to_parquet(tmp_path / "a.parquet")
    assert main(["look", str(tmp_path / "a.parquet"), *flags]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"rows      {said}"


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("a,b\n1,2\n3\n", [], "line 3"),
        ("a,b\n1,2\n3,4\n", ["--features", "c"], "c"),
        ("a,b\n1,2\n3,4\n", ["--time", "when"], "no column 'when'"),
        ("x,y,a\n1,2,3\n3,4,5\n", ["--x", "x", "--y", "y", "--crs", "EPSG:1"], "mcgta: --crs EPSG:1 is no coordinate"),
        ("", [], "a.csv"),
    ],
)
def test_unusable_files_end_with_3_and_say_where(text, arguments, said, capsys):
    assert main(["look", write("a.csv", text), *arguments]) == 3
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(("path", "said"), [("nowhere.csv", "there is no file nowhere.csv"), (".", "folder")])
def test_a_file_that_is_not_there_ends_with_3(path, said, capsys):
    Path("d.csv").mkdir()
    assert main(["look", "d.csv" if path == "." else path]) == 3
    assert said in capsys.readouterr().err


def test_a_column_that_is_called_as_a_flag_can_be_typed_as_it_is_printed(capsys):
    path = write("a.csv", rows('t,"a,b",--json', 30, "{k},{odd},{odd}.5"))
    assert main(["look", path]) == 0
    command = shlex.split(capsys.readouterr().out.rpartition("run")[2])
    assert command[-3:] == ["--features", "a,b", "--features=--json"]
    assert main(["look", *command[2:]]) == 0
    assert "features  a,b --json" in capsys.readouterr().out


@pytest.mark.parametrize("flag", ["--time", "--position", "--features", "--ignore"])
def test_a_flag_that_names_nothing_is_refused_and_not_ignored(flag, capsys):
    assert main(["look", write("a.csv", rows("t,v", 30, "{k},{odd}")), flag, ""]) == 2
    assert capsys.readouterr().err == f"mcgta: {flag} '' names no column\n  a.csv has t, v\n"
