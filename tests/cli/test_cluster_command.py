"""``mcgta cluster``: the input's columns with the clusters behind them, a model, and words about it."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from mcgta import load
from mcgta.cli import main

QUICK = ["--set", "eps=2", "--set", "n_neighbors=10"]
"""Settings that leave nothing to search for."""


def read(path: Path | str) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_the_columns_of_the_input_stay_and_three_follow(demo):
    before = read(demo.table)
    after = read(demo.clusters)
    assert [row[:-3] for row in after] == before
    assert after[0][-3:] == ["cluster", "probability", "is_noise"]
    model = load(demo.model)
    assert [int(row[-3]) for row in after[1:]] == model.labels_.tolist()
    np.testing.assert_allclose([float(row[-2]) for row in after[1:]], model.probabilities_)
    assert [row[-1] for row in after[1:]] == ["true" if label < 0 else "false" for label in model.labels_]


def test_the_model_knows_its_names_its_file_and_the_command_that_repeats_it(demo):
    model = load(demo.model)
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    origin = model.fitted_.provenance
    assert origin.name == "demo.csv"
    assert origin.columns == ["t", "x0", "x1", "x2"]
    assert origin.roles == {"time": ["t"]}
    assert origin.command == f"mcgta cluster {demo.table} --time t --features x0,x1,x2"


def test_what_is_said_and_what_is_given_as_json(table, capsys):
    assert main(["cluster", table, "--json"]) == 0
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert lines[0] == "read     demo.csv: 240 rows, 4 columns"
    assert lines[1] == "guessed  --time t --features x0,x1,x2"
    assert lines[2].startswith("found    2 states, overwhelming evidence (")
    assert lines[2].endswith(" nats ahead of one); noise 0 %")
    assert lines[3].startswith("         0  ")
    assert lines[4].startswith("range    readings up to ")
    assert lines[4].endswith(" apart in t are related")
    assert lines[5] == "wrote    demo_clusters.csv, demo.mcgta      next: mcgta report demo.mcgta"
    found = json.loads(shown.out)
    assert list(found) == [
        *("mcgta", "command", "input", "roles", "ignored", "missing"),
        *("found", "repeat", "wrote", "notes"),
    ]
    assert found["found"]["clusters"] == 2
    assert sum(found["found"]["shares"]) == pytest.approx(1.0)
    assert found["found"]["labels_source"] == "evidence"
    assert found["found"]["doubts"] == found["notes"] == []
    assert found["found"]["semivariogram"]["range"] > 0
    assert found["wrote"] == {"table": "demo_clusters.csv", "model": "demo.mcgta", "report": None}
    assert found["repeat"] == "mcgta cluster demo.csv --time t --features x0,x1,x2"


def test_the_command_that_a_model_keeps_gives_the_same_bytes_again(table, capsys):
    asked = ["--clusters", "2", "--standardize", "yes", "--set", "n_neighbors=12", "--set", "lags=0", "--ignore", "x2"]
    assert main(["cluster", table, *asked, "--jobs", "2"]) == 0
    first = {name: Path(name).read_bytes() for name in ("demo.mcgta", "demo_clusters.csv")}
    command = shlex.split(load("demo.mcgta").fitted_.provenance.command)
    assert command[:2] == ["mcgta", "cluster"]
    assert main([*command[1:], "--force", "--quiet"]) == 0
    assert {name: Path(name).read_bytes() for name in first} == first
    assert capsys.readouterr().out == ""


def test_with_an_output_only_what_is_asked_for_is_written(table, capsys):
    assert main(["cluster", table, *QUICK, "-o", "labels.csv"]) == 0
    assert sorted(path.name for path in Path().iterdir()) == ["demo.csv", "labels.csv"]
    assert main(["cluster", table, *QUICK, "-o", "labels.csv", "--model", "--force"]) == 0
    assert Path("demo.mcgta").exists()
    assert "wrote    labels.csv, demo.mcgta" in capsys.readouterr().err


def test_quiet_says_nothing(table, capsys):
    assert main(["cluster", table, *QUICK, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_columns_that_have_the_names_already_are_kept_and_the_new_ones_renamed(table, capsys):
    lines = Path(table).read_text().splitlines()
    Path(table).write_text("\n".join([f"{lines[0]},cluster", *(f"{line},7" for line in lines[1:])]) + "\n")
    assert main(["cluster", table, *QUICK]) == 0
    assert read("demo_clusters.csv")[0][-4:] == ["cluster", "cluster_2", "probability", "is_noise"]
    assert "demo.csv has cluster already; new columns are called cluster_2" in capsys.readouterr().err


def test_the_flags_reach_the_estimator(table, capsys):
    given = ["--clusters", "3", "--standardize", "no", "--set", "refine=all", "--set", "bins=10", "--jobs", "1"]
    assert main(["cluster", table, *given]) == 0
    model = load("demo.mcgta")
    assert model.n_clusters_ == 3
    asked = model.fitted_.asked
    assert (asked.n_clusters, asked.standardize, asked.refine, asked.bins) == (3, False, "all", 10)
    assert asked.n_jobs is None
    assert "3 states" in capsys.readouterr().err


def test_groups_and_positions_on_a_map_are_used(table):
    rng = np.random.default_rng(0)
    places = rng.uniform(0, 4, (80, 2))
    v = np.where(places[:, 0] > 2, 5.0, 0.0) + rng.normal(size=80)
    rows = [f"{x:.4f},{y:.4f},{w:.4f},{'ab'[k % 2]}" for k, ((x, y), w) in enumerate(zip(places, v, strict=True))]
    Path("map.csv").write_text("x,y,v,slide\n" + "\n".join(rows) + "\n")
    assert main(["cluster", "map.csv", "--group", "slide", "--set", "eps=1", "--set", "n_neighbors=8", "--quiet"]) == 0
    model = load("map.mcgta")
    assert model.positions_.metric.name == "euclidean"
    assert model.positions_.group_names.tolist() == ["a", "b"]
    np.testing.assert_allclose(model.positions_.coordinates, places, atol=1e-4)
    assert model.fitted_.provenance.roles == {"x": ["x"], "y": ["y"]}


def test_a_time_and_a_place_need_a_scale(table, capsys):
    lines = ["lon,lat,when,v", *(f"{k % 9}.5,{k % 7}.25,2024-01-01 00:{k:02},{k * k % 11}" for k in range(60))]
    Path("st.csv").write_text("\n".join(lines) + "\n")
    both = [
        "cluster",
        "st.csv",
        "--time",
        "when",
        "--lon",
        "lon",
        "--lat",
        "lat",
        "--set",
        "eps=1",
        "--set",
        "n_neighbors=8",
    ]
    assert main(both) == 2
    assert "need --time-scale" in capsys.readouterr().err
    assert main([*both, "--time-scale", "100"]) == 0
    model = load("st.mcgta")
    assert model.positions_.metric.name == "spacetime"
    assert model.positions_.metric.time_scale == 100
    assert "--time-scale 100.0" in model.fitted_.provenance.command


def test_doubts_are_notes_and_there_are_no_python_words_in_them(table, capsys):
    rng = np.random.default_rng(1)
    rows = [f"{k},{a:.5f},{b:.5f}" for k, (a, b) in enumerate(rng.normal(size=(100, 2)))]
    Path("noise.csv").write_text("t,a,b\n" + "\n".join(rows) + "\n")
    assert main(["cluster", "noise.csv"]) == 0
    said = capsys.readouterr().err
    assert said.count("no cluster structure") == 1
    assert "note     no cluster structure" in said
    assert "choice_" not in said


def test_memory_that_does_not_suffice_is_refused(table, capsys):
    assert main(["cluster", table, "--max-memory", "100kB"]) == 4
    said = capsys.readouterr().err
    assert "--max-memory allows 100 kB" in said
    assert not Path("demo_clusters.csv").exists()


@pytest.mark.parametrize("text", ["t,a\n1,2\n", "t,a\n"])
def test_too_few_rows_are_unusable(text, table, capsys):
    Path("few.csv").write_text(text)
    assert main(["cluster", "few.csv"]) == 3
    assert "few.csv" in capsys.readouterr().err


def test_missing_values_are_refused_with_the_line_and_what_to_do(table, capsys):
    lines = Path(table).read_text().splitlines()
    lines[5] = ",".join([*lines[5].split(",")[:-1], ""])
    Path(table).write_text("\n".join(lines) + "\n")
    assert main(["cluster", table]) == 3
    said = capsys.readouterr().err
    assert "demo.csv: x2 has no value in 1 row, the first in line 6" in said
    assert "--missing drop" in said
    assert not Path("demo_clusters.csv").exists()


def test_a_report_is_written_beside_the_input_and_not_replaced_without_force(table, capsys):
    assert main(["cluster", table, "--report", "--set", "n_neighbors=10"]) == 0
    assert capsys.readouterr().err.endswith("demo_clusters.csv, demo.mcgta, demo.html      next: open demo.html\n")
    page = Path("demo.html").read_text(encoding="utf-8")
    assert "2 states in 240 readings" in page
    assert json.loads(Path("demo.json").read_text(encoding="utf-8"))["verdict"]["n_clusters"] == 2
    Path("demo.html").write_text("mine")
    assert main(["cluster", table, "--report", "-o", "other.csv"]) == 4
    assert "demo.html, demo.json exist already" in capsys.readouterr().err
    assert main(["report", "demo.mcgta", "--force"]) == 0
    assert Path("demo.html").read_text(encoding="utf-8") == page, "the report of a model is that of its fit"
