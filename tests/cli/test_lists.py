"""``mcgta datasets`` and ``mcgta completion``."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from mcgta import datasets
from mcgta.cli import main
from mcgta.cli.commands.registry import COMMANDS
from mcgta.datasets.catalogue import PUBLISHED


def test_every_loader_is_listed_with_its_source(capsys):
    assert sorted(PUBLISHED) == sorted(name for name in datasets.__all__ if name.startswith("load_"))
    assert main(["datasets"]) == 0
    shown = capsys.readouterr().out
    for loader, about in PUBLISHED.items():
        assert f"mcgta.datasets.{loader}()" in shown
        assert about.source in shown
        assert about.licence in shown


def test_the_list_as_json(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("MCGTA_DATA", str(tmp_path))
    assert main(["datasets", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["mcgta", "command", "folders", "datasets"]
    assert found["folders"][0] == str(tmp_path)
    assert list(found["datasets"][0]) == ["name", "loader", "metric", "recipe", "source", "licence"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_completion_knows_the_commands(shell, capsys):
    assert main(["completion", shell]) == 0
    shown = capsys.readouterr().out
    assert "semivariogram" in shown
    assert "max-memory" in shown


def test_a_completion_of_zsh_tells_what_commands_do_whatever_the_width_of_the_terminal(capsys, monkeypatch):
    for columns in ("40", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["completion", "zsh"]) == 0
        shown = capsys.readouterr().out
        plain = shown.replace("\\", "")  # shtab quotes summaries, as its version does
        for name, command in COMMANDS.items():
            assert f"{name}:'{command.summary}'" in plain or f'"{name}:{command.summary}"' in plain


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_flags_and_files(capsys, tmp_path):
    assert main(["completion", "bash"]) == 0
    (tmp_path / "mcgta").write_text(capsys.readouterr().out)
    (tmp_path / "readings.csv").touch()
    script = r"""
        source ./mcgta
        completer=$(complete -p mcgta | sed 's/.*-F \([^ ]*\).*/\1/')
        try() {
            COMP_WORDS=("$@")
            COMP_CWORD=$(($# - 1))
            COMPREPLY=()
            $completer mcgta "${COMP_WORDS[COMP_CWORD]}"
            echo "${COMPREPLY[@]}"
        }
        try mcgta clu
        try mcgta cluster --max
        try mcgta look read
    """
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["cluster", "--max-memory", "readings.csv"], done.stderr
