"""Values that are missing from a table: refused with their line, or noted with what becomes of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mcgta.cli import main

QUICK = ["--set", "n_neighbors=10", "--set", "eps=2"]


@pytest.fixture
def gaps(table) -> str:
    """The table with no value of x1 in line 4, and no time in line 6."""
    lines = Path(table).read_text().splitlines()
    t, x0, _, x2 = lines[3].split(",")
    lines[3] = f"{t},{x0},,{x2}"
    lines[5] = lines[5][lines[5].index(",") :]
    Path("gaps.csv").write_text("\n".join(lines) + "\n")
    return "gaps.csv"


def clusters(path: str) -> list[str]:
    with open(path, newline="") as file:
        return [row["cluster"] for row in csv.DictReader(file)]


def test_rows_that_are_dropped_are_noise_and_their_lines_are_named(gaps, capsys):
    assert main(["cluster", gaps, "--missing", "drop", "-o", "a.csv", *QUICK]) == 0
    said = capsys.readouterr().err
    assert "note     x1 has no value in 1 row, the first in line 4: such rows become noise\n" in said
    assert "note     t has no value in 1 row, the first in line 6: such rows become noise\n" in said
    assert said.count("note") == 2
    assert (clusters("a.csv")[2], clusters("a.csv")[4]) == ("-1", "-1")


def test_features_are_filled_in_and_positions_are_not(gaps, capsys):
    assert main(["cluster", gaps, "--missing", "impute", "-o", "a.csv", "--set", "n_neighbors=10"]) == 0
    said = capsys.readouterr().err
    assert "x1 has no value in 1 row, the first in line 4: filled in from rows nearby\n" in said
    assert "t has no value in 1 row, the first in line 6: such rows become noise\n" in said
    assert clusters("a.csv")[2] != "-1"
    assert clusters("a.csv")[4] == "-1"


@pytest.mark.parametrize("rule", ["drop", "impute"])
def test_a_semivariogram_leaves_out_or_fills_in_what_is_missing(rule, gaps, capsys):
    assert main(["semivariogram", gaps, "--missing", rule, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["range"] > 0
    assert len(found["notes"]) == 2


def test_a_semivariogram_of_missing_values_is_refused_by_default(gaps, capsys):
    assert main(["semivariogram", gaps]) == 3
    assert "x1 has no value in 1 row, the first in line 4" in capsys.readouterr().err


def test_new_rows_with_missing_values_need_a_model_that_takes_them(gaps, model, capsys):
    assert main(["predict", model, gaps, "-o", "a.csv"]) == 3
    said = capsys.readouterr().err
    assert "x1 has no value in 1 row, the first in line 4" in said
    assert "make the model with --missing drop" in said
    assert not Path("a.csv").exists()


def test_a_model_that_drops_rows_labels_new_ones_noise(gaps, capsys):
    assert main(["cluster", gaps, "--missing", "drop", "--quiet", *QUICK]) == 0
    assert main(["predict", "gaps.mcgta", gaps, "-o", "a.csv"]) == 0
    assert "x1 has no value in 1 row, the first in line 4: such rows become noise\n" in capsys.readouterr().err
    assert clusters("a.csv")[2] == "-1"


@pytest.mark.parametrize("rule", ["error", "drop", "impute"])
def test_a_row_without_a_group_is_refused_whatever_the_rule(rule, table, capsys):
    lines = Path(table).read_text().splitlines()
    cars = ["car", *("red" if k else "" for k in range(len(lines) - 1))]
    Path("cars.csv").write_text("".join(f"{car},{line}\n" for car, line in zip(cars, lines, strict=True)))
    assert main(["cluster", "cars.csv", "--group", "car", "--missing", rule]) == 3
    said = capsys.readouterr().err
    assert "car has no value in 1 row, the first in line 2\n  each row needs a group, whatever --missing says" in said
    assert "become noise" not in said


@pytest.mark.parametrize("command", ["look", "cluster", "predict"])
def test_numbers_that_look_like_missing_values_are_noted_with_their_line(command, table, demo, capsys):
    lines = Path(table).read_text().splitlines()
    for line in (3, 7):
        lines[line] = lines[line].rpartition(",")[0] + ",-999"
    Path("coded.csv").write_text("\n".join(lines) + "\n")
    arguments = {"look": [], "cluster": ["-o", "a.csv", *QUICK], "predict": [str(demo.model)]}[command]
    given = [*arguments, "coded.csv"] if command == "predict" else ["coded.csv", *arguments]
    assert main([command, *given]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "x2 is -999 in 2 rows, the first in line 4, far from all else; if no value is meant, leave these cells empty"
        in said
    )


def test_numbers_among_others_are_no_missing_values(table, capsys):
    Path("a.csv").write_text("t,v\n" + "".join(f"{k},{k * k * 37 % 1999 - 999}\n" for k in range(60)))
    assert main(["look", "a.csv"]) == 0
    assert "far from all else" not in capsys.readouterr().err
