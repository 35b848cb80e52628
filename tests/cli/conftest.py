"""A small series in a file, the model that was made of it, and the program as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mcgta.cli import main

ROWS = 240
NOTICE = "mcgta: compiling numerical kernels, once for this machine (up to half a minute)\n"


class Demo(NamedTuple):
    """A folder with a table, the table of its clusters, and a model."""

    folder: Path
    table: Path
    clusters: Path
    model: Path


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> Demo:
    """A series of two states that differ in their means."""
    folder = tmp_path_factory.mktemp("demo")
    table = folder / "demo.csv"
    knobs = ["--set", "shift=2", "--set", "segment_lengths=6,12", "--seed", "3"]
    made = ["synth", "--rows", str(ROWS), "--clusters", "2", "--features", "3", *knobs, "-o", str(table), "--quiet"]
    assert main(made) == 0
    assert main(["cluster", str(table), "--quiet"]) == 0
    return Demo(folder, table, folder / "demo_clusters.csv", folder / "demo.mcgta")


@pytest.fixture
def table(demo, tmp_path, monkeypatch) -> str:
    """A copy of the table in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo.csv").write_bytes(demo.table.read_bytes())
    return "demo.csv"


@pytest.fixture
def model(demo, tmp_path, monkeypatch) -> str:
    """A copy of the model in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo.mcgta").write_bytes(demo.model.read_bytes())
    return "demo.mcgta"


@pytest.fixture
def process(tmp_path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the program as a process of its own in a folder of its own."""

    def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
        return run_process(*arguments, **{"cwd": tmp_path, **options})

    return run


def run_process(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """Run the program as a process of its own, and wait for its end; it has no terminal, and nothing to read by default."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if "input" in options:
        del streams["stdin"]
    given = {**streams, "text": True, "check": False, "env": environment(), **options}
    return without_notice(subprocess.run([sys.executable, "-m", "mcgta", *arguments], **given))


def without_notice(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Leave out what is said on a machine that has not compiled the kernels yet, or is slow to read them."""
    if isinstance(done.stderr, str):
        done.stderr = done.stderr.replace(NOTICE, "")
    return done


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process: without settings of the terminal that tests run in."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    return {**kept, **more}
