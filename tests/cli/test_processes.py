"""Every command as a process of its own without a terminal: results on standard output, words on standard error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.conftest import run_process
from mcgta.cli.commands.registry import COMMANDS


class Run(NamedTuple):
    """A command, and what is expected of it.

    Attributes
    ----------
    arguments : those of the command line
    shows : the beginning of what is on standard output
    says : part of what is on standard error; "" for nothing at all
    """

    arguments: str
    shows: str
    says: str


RUNS = [
    Run("synth --rows 160 --clusters 2 --features 3 --seed 3 --truth --set shift=2 -o a.csv", "", "wrote    a.csv"),
    Run("look a.csv --ignore truth", "rows      160 rows, 5 columns", ""),
    Run("cluster a.csv --ignore truth --set n_neighbors=12", "", "wrote    a_clusters.csv, a.mcgta"),
    Run("info a.mcgta", "rows      160 rows of 3 features, along time", ""),
    Run("report a.mcgta --title A", "", "wrote    a.html, a.json      next: open a.html\n"),
    Run("predict a.mcgta a.csv -o placed.csv", "", "placed   160 rows"),
    Run("semivariogram a.csv --ignore truth", "range    ", "guessed  --time t"),
    Run("stability a.mcgta --resamples 2", "cluster  share", ""),
    Run("tune a.csv --labels truth --grid n_neighbors=10,14 --folds 2", "", "guessed  --time t"),
    Run("datasets", "", ""),
    Run("completion bash", "# AUTOMATICALLY GENERATED", ""),
]
"""One of each command, in an order in which each has what it needs."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("processes")


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.arguments.split()[0])
def test_a_command_shows_its_result_and_ends_with_0(run, folder):
    done = run_process(*run.arguments.split(), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(run.shows)
    assert bool(done.stdout) == (run.arguments.split()[0] not in ("synth", "cluster", "report", "predict"))
    assert run.says in done.stderr
    assert bool(done.stderr) == bool(run.says)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments", ["info a.mcgta", "stability a.mcgta --resamples 2", "report a.mcgta --force", "datasets"]
)
def test_json_is_all_that_is_on_standard_output(arguments, folder):
    done = run_process(*arguments.split(), "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ("wrote    a.html, a.json      next: open a.html\n" if "report" in arguments else "")
    assert done.stdout.isascii()
    assert json.loads(done.stdout)["command"] == arguments.split()[0]


def test_every_command_is_run_here():
    assert {run.arguments.split()[0] for run in RUNS} == set(COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("cluster a.csv", 4, "mcgta: a_clusters.csv, a.mcgta exist already\n  add --force"),
        ("cluster a.csv -o a.csv/out.csv", 4, "mcgta: a.csv/out.csv cannot be written: there is no folder a.csv\n"),
        ("cluster nowhere.csv", 3, "mcgta: there is no file nowhere.csv\n"),
        ("look .", 3, "mcgta: . is a folder, not a file\n"),
        ("info a.csv", 3, "mcgta: a.csv: damaged, or not a file that mcgta wrote"),
        ("cluster a.csv --clusters many", 2, "mcgta: --clusters: 'many' must be a whole number from 1 on"),
        ("predict a.mcgta a.csv -o b.csv --features x0", 3, "mcgta: a.csv: 1 features, and the model was made with 3"),
    ],
)
def test_an_error_is_a_sentence_without_a_traceback(arguments, code, said, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run_process(*arguments.split(), cwd=folder)
    assert done.returncode == code
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_equal_commands_give_equal_bytes_whatever_the_number_of_threads(folder):
    for name, jobs in (("one", "1"), ("two", "2")):
        given = ["--ignore", "truth", "--set", "n_neighbors=12", "--quiet", "--jobs", jobs]
        done = run_process("cluster", "a.csv", *given, "-o", f"{name}.csv", "--model", f"{name}.mcgta", cwd=folder)
        assert done.returncode == 0, done.stderr
    for suffix in ("csv", "mcgta"):
        assert (folder / f"one.{suffix}").read_bytes() == (folder / f"two.{suffix}").read_bytes()
