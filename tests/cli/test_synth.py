"""``mcgta synth``: tables with known clusters."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from mcgta.cli import main
from mcgta.datasets import make_mixed_regions, make_regions, make_series


def made(capsys, *arguments: str) -> list[list[str]]:
    assert main(["synth", *arguments]) == 0
    return list(csv.reader(io.StringIO(capsys.readouterr().out)))


def test_a_series_has_its_time_and_features_and_no_truth(capsys):
    header, *rows = made(capsys, "--rows", "50", "--features", "2")
    assert header == ["t", "x0", "x1"]
    assert [row[0] for row in rows] == [str(k) for k in range(1, 51)]


@pytest.mark.parametrize(
    ("kind", "make"), [("series", make_series), ("regions", make_regions), ("mixed", make_mixed_regions)]
)
def test_the_numbers_are_those_of_the_library(kind, make, capsys):
    _, *rows = made(capsys, kind, "--rows", "80", "--clusters", "2", "--features", "3", "--seed", "5", "--truth")
    expected = make(80, n_clusters=2, n_features=3, random_state=5)
    values = np.array(rows, dtype=float)
    np.testing.assert_allclose(values[:, -4:-1], expected.X, rtol=1e-5)
    np.testing.assert_allclose(values[:, :-4], expected.positions.reshape(80, -1), rtol=1e-5)
    np.testing.assert_array_equal(values[:, -1], expected.labels)


def test_other_knobs_are_set_by_name(capsys):
    given = ["--set", "n_segments=4", "--set", "segment_lengths=10,10", "--set", "repeats=yes", "--set", "tails=none"]
    assert len(made(capsys, *given)) == 1 + 200


def test_mixed_regions_along_time_have_a_column_of_times(capsys):
    header, *rows = made(capsys, "mixed", "--rows", "30", "--features", "2", "--set", "layout=series")
    assert header == ["t", "x0", "x1"]
    assert rows[29][0] == "30"


def test_the_same_arguments_give_the_same_bytes(tmp_path, capsys):
    for name in ("a.csv", "b.csv"):
        assert main(["synth", "regions", "--rows", "60", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert "60 rows, columns x, y, x0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--set", "segment_length=3,4"], 2, "did you mean segment_lengths?"),
        (["--set", "tails=1"], 2, "tails=1 is not allowed"),
        (["--set", "segment_lengths=9,3"], 2, "the least and the greatest"),
        (["--set", "n_clusters=3"], 2, "use --clusters"),
        (["--rows", "10", "--set", "n_segments=3"], 2, "give one of them"),
        (["regions", "--set", "segment_lengths=3,4"], 2, "regions have no parameter 'segment_lengths'"),
        (["mixed", "--set", "layout=rings"], 2, "layout must be one of 'layers', 'patches', 'series'"),
        (["-o", "demo.parquet"], 2, "synth writes CSV"),
        (["-o", "nowhere/demo.csv"], 4, "there is no folder"),
    ],
)
def test_what_cannot_be_made_is_refused(arguments, code, said, capsys):
    assert main(["synth", *arguments]) == code
    assert said in capsys.readouterr().err


def test_the_command_that_comes_next_leaves_the_truth_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["synth", "--rows", "9", "-o", "a b.csv"]) == 0
    assert capsys.readouterr().err.endswith("next: mcgta cluster 'a b.csv'\n")
    assert main(["synth", "--rows", "9", "--truth", "-o", "c.csv"]) == 0
    assert capsys.readouterr().err.endswith("next: mcgta cluster c.csv --ignore truth\n")


def test_a_file_is_not_replaced_without_force(tmp_path, capsys):
    path = tmp_path / "demo.csv"
    path.write_text("mine")
    assert main(["synth", "-o", str(path)]) == 4
    assert path.read_text() == "mine"
    assert main(["synth", "-o", str(path), "--force"]) == 0
    assert path.read_text().startswith("t,x0")
