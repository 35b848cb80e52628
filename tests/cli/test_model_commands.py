"""Commands on a saved model: ``info``, ``predict``, ``stability`` and ``semivariogram``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from mcgta import MCGTA, load
from mcgta.cli import main


def columns(path: str | Path) -> dict[str, list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


def test_info_tells_what_is_in_a_model(model, capsys):
    assert main(["info", model]) == 0
    shown = capsys.readouterr().out
    for line in (
        "rows      240 rows of 3 features, along time",
        "position  t",
        "features  x0 x1 x2",
        "found     2 states",
    ):
        assert f"{line}" in shown
    assert "input     demo.csv, SHA-256 " in shown
    assert "settings  all left open; chosen: n_neighbors=" in shown
    assert "repeat    mcgta cluster " in shown


def test_info_as_json(model, capsys):
    assert main(["info", model, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [
        *("mcgta", "command", "file", "kind", "clusters_are"),
        *("found", "provenance", "settings", "description", "notes"),
    ]
    assert found["kind"] == "MCGTA"
    assert found["clusters_are"] == "states"
    assert found["provenance"]["roles"] == {"time": ["t"]}
    assert found["settings"]["asked"] == {}
    assert found["settings"]["chosen"]["labels"] == "evidence"
    assert len(found["description"]["clusters"]) == 2


def test_info_of_a_model_made_in_python_and_of_other_things(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(40, 2))
    fitted = MCGTA(n_neighbors=8, eps=1.0, semivariogram="empirical").fit(X)
    fitted.save(tmp_path / "plain.mcgta")
    assert main(["info", str(tmp_path / "plain.mcgta")]) == 0
    shown = capsys.readouterr().out
    assert "settings  n_neighbors=8 semivariogram=empirical eps=1.0; chosen:" in shown
    assert "input" not in shown
    fitted.semivariogram_.save(tmp_path / "curve.mcgta")
    assert main(["info", str(tmp_path / "curve.mcgta"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "Semivariogram"
    assert main(["stability", str(tmp_path / "curve.mcgta")]) == 3
    assert "holds a Semivariogram, not a model" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["info", "report", "stability", "predict"])
def test_a_file_that_is_no_model_is_unusable(command, tmp_path, capsys):
    path = tmp_path / "broken.mcgta"
    path.write_bytes(b"PK not really")
    more = [str(path)] if command == "predict" else []
    assert main([command, str(path), *more, *(["-o", str(tmp_path / "o.csv")] if more else [])]) == 3
    assert "broken.mcgta: damaged, or not a file that mcgta wrote" in capsys.readouterr().err
    assert (
        main([command, str(tmp_path / "nowhere.mcgta"), *more, *(["-o", str(tmp_path / "o.csv")] if more else [])]) == 3
    )
    assert "there is no file" in capsys.readouterr().err


def test_rows_of_the_fit_keep_their_clusters_whatever_the_order_of_the_columns(model, demo, capsys):
    table = columns(demo.table)
    names = ["x2", "t", "extra", "x1", "x0"]
    rows = zip(*(table.get(name, ["7"] * len(table["t"])) for name in names), strict=True)
    Path("again.csv").write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    assert main(["predict", model, "again.csv", "--json"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert list(found) == [
        *("mcgta", "command", "input", "roles", "shares"),
        *("noise_share", "wrote", "notes"),
    ]
    assert found["roles"]["features"] == ["x0", "x1", "x2"]
    assert found["wrote"] == {"table": "again_clusters.csv"}
    placed = columns("again_clusters.csv")
    assert list(placed) == [*names, "cluster", "probability", "is_noise"]
    assert [int(label) for label in placed["cluster"]] == load(model).labels_.tolist()
    assert "placed   240 rows in 2 states; noise 0 %" in shown.err


def test_columns_that_are_called_otherwise_are_named_by_flags(model, demo, capsys):
    text = demo.table.read_text().replace("t,x0,x1,x2", "when,a,b,c")
    Path("other.csv").write_text(text)
    assert main(["predict", model, "other.csv"]) == 3
    said = capsys.readouterr().err
    assert "other.csv lacks columns that the model was made with: t, x0, x1, x2" in said
    assert "it has when, a, b, c" in said
    assert main(["predict", model, "other.csv", "--time", "when", "--features", "a,b,c", "--quiet"]) == 0
    assert [int(label) for label in columns("other_clusters.csv")["cluster"]] == load(model).labels_.tolist()
    assert capsys.readouterr().err == ""


def test_another_number_of_features_is_unusable(model, demo, capsys):
    Path("more.csv").write_text(demo.table.read_text())
    assert main(["predict", model, "more.csv", "--features", "x0,x1"]) == 3
    assert "more.csv: 2 features, and the model was made with 3" in capsys.readouterr().err


def test_a_prediction_replaces_nothing(model, demo, capsys):
    Path("more.csv").write_text(demo.table.read_text())
    Path("more_clusters.csv").write_text("mine")
    assert main(["predict", model, "more.csv"]) == 4
    assert "more_clusters.csv exists already" in capsys.readouterr().err


def test_stability_gives_a_verdict_for_each_cluster(model, capsys):
    assert main(["stability", model, "--resamples", "2", "--seed", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["cluster", "share", "found", "again", "verdict"]
    assert [line.split()[0] for line in lines[1:3]] == ["0", "1"]
    assert lines[-1].startswith("2 resamples of ")
    assert main(["stability", model, "--resamples", "2", "--seed", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [
        *("mcgta", "command", "resamples", "share", "blocks", "adjusted_rand_index"),
        *("numbers_of_clusters", "clusters", "words", "notes"),
    ]
    assert [each["cluster"] for each in found["clusters"]] == [0, 1]
    assert found["words"] == lines[-1]


def test_a_share_of_all_blocks_is_refused(model, capsys):
    assert main(["stability", model, "--share", "1"]) == 2
    assert "--share 1 must be below 1" in capsys.readouterr().err


def test_the_semivariogram_of_a_table_is_that_of_a_fit_with_the_same_settings(table, capsys):
    given = ["--set", "n_neighbors=12", "--set", "dissimilarity=wasserstein2"]
    assert main(["semivariogram", table, *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["mcgta", "command", "model", "range", "sill", "nugget", "unit", "r2", "bins", "notes"]
    assert main(["cluster", table, *given, "--set", "eps=1", "--quiet"]) == 0
    curve = load("demo.mcgta").semivariogram_
    assert found["range"] == curve.range_
    assert [item["pairs"] for item in found["bins"]] == curve.counts.tolist()


def test_the_semivariogram_of_a_model_for_people_and_as_csv(model, capsys):
    assert main(["semivariogram", model, "-o", "bins.csv"]) == 0
    shown = capsys.readouterr().out
    curve = load(model).semivariogram_
    assert shown.startswith("range    ")
    assert "sill     " in shown
    assert "nugget   " in shown
    assert f"model    {curve.model}" in shown
    bins = columns("bins.csv")
    assert list(bins) == ["from", "to", "distance", "semivariance", "fitted", "pairs", "standard_error"]
    np.testing.assert_array_equal([float(value) for value in bins["to"]], curve.edges[1:])
    assert main(["semivariogram", model, "-o", "-"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == ",".join(bins)
    assert main(["semivariogram", model, "-o", "bins.xlsx"]) == 2
    assert main(["semivariogram", model, "-o", "bins.csv"]) == 4


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("demo.csv", ["--set", "eps=1"], "--set eps=1 has no effect on the semivariogram"),
        ("demo.mcgta", ["--time", "t"], "--time has no effect on demo.mcgta"),
        ("demo.mcgta", ["--set", "bins=5"], "--set has no effect on demo.mcgta"),
        ("demo.mcgta", ["-o", "-", "--json"], "both go to standard output"),
    ],
)
def test_flags_without_an_effect_on_a_semivariogram_are_refused(table, model, name, arguments, said, capsys):
    assert main(["semivariogram", name, *arguments]) == 2
    assert said in capsys.readouterr().err
