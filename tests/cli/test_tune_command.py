"""``mcgta tune``: settings chosen by a column of labels."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from mcgta import load
from mcgta.cli import main

SMALL = ["--grid", "n_neighbors=12", "--grid", "beta=0,1", "--grid", "margin=0", "--folds", "2"]


@pytest.fixture
def labelled(table) -> str:
    """The table with the true state of most rows, as text."""
    lines = Path(table).read_text().splitlines()
    assert main(["cluster", table, "--quiet", "-o", "found.csv"]) == 0
    labels = [line.split(",")[4] for line in Path("found.csv").read_text().splitlines()[1:]]
    states = ["" if k % 5 == 0 else ("low", "high")[int(label)] for k, label in enumerate(labels)]
    with_labels = [f"{line},{state}" for line, state in zip(lines[1:], states, strict=True)]
    Path("labelled.csv").write_text("\n".join([f"{lines[0]},state", *with_labels]) + "\n")
    return "labelled.csv"


def test_settings_are_chosen_and_the_model_saved(labelled, capsys):
    assert main(["tune", labelled, "--labels", "state", *SMALL, "--model", "--json"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert list(found) == [
        *("mcgta", "command", "score", "spread", "scoring", "noise", "labels", "classes", "unknown"),
        *("best", "folds", "settings", "run", "wrote", "notes"),
    ]
    assert found["classes"] == 2
    assert found["unknown"] == 48
    assert found["best"]["params"]["n_neighbors"] == 12
    assert found["best"]["score"] > 0.5
    assert "guessed  --time t --features x0,x1,x2" in shown.err
    model = load("labelled.mcgta")
    assert model.n_neighbors_ == 12
    assert model.fitted_.provenance.ignored == {"state": "left out as you say"}
    assert found["run"] == model.fitted_.provenance.command
    assert main([*shlex.split(found["run"])[1:], "-o", "again.csv", "--quiet"]) == 0
    again = [line.split(",")[5] for line in Path("again.csv").read_text().splitlines()[1:]]
    assert again == [str(label) for label in model.labels_]


def test_what_was_found_is_told_in_words(labelled, capsys):
    assert main(["tune", labelled, "--labels", "state", *SMALL, "--scoring", "nmi", "--noise", "left-out"]) == 0
    shown = capsys.readouterr().out
    assert "scored by NMI" in shown
    assert "192 of 240 observations have labels, 2 different ones" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--labels", "sate"], 3, "labelled.csv has no column 'sate'"),
        (["--labels", "state", "--grid", "beta=0", "--grid", "beta=1"], 2, "beta is given more than once"),
        (["--labels", "state", "--grid", "betta=0"], 2, "did you mean beta?"),
        (["--labels", "state", "--grid", "n_neighbors=1"], 2, "an integer >= 2"),
        (["--labels", "state", "--trials", "3"], 2, "--trials 3 has no effect without --search optuna"),
        (["--labels", "state", "--clusters", "3"], 2, "has no flag '--clusters'"),
        (["--labels", "state", "--model", "-"], 2, "a model goes into a file"),
    ],
)
def test_what_cannot_be_tuned_is_refused(labelled, arguments, code, said, capsys):
    assert main(["tune", labelled, *arguments]) == code
    assert said in capsys.readouterr().err
