"""Lines on a terminal and elsewhere: texts are folded under themselves, commands are not."""

from __future__ import annotations

import io
import sys

import pytest

from mcgta.cli.screen import Screen

COMMAND = "mcgta cluster readings.csv --time t --features pressure,temperature"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal of 50 columns without colours in the place of both streams; a fixture would, before pytest has its own."""
    for name, value in (("COLUMNS", "50"), ("TERM", "xterm"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def lines(terminal: Terminal) -> list[str]:
    return [line.rstrip() for line in terminal.getvalue().splitlines()]


def test_a_text_is_folded_under_itself(monkeypatch):
    terminal = open_terminal(monkeypatch)
    Screen().say("range", "readings up to two and a half hours apart are related")
    assert lines(terminal) == ["range    readings up to two and a half hours apart", "         are related"]


def test_a_command_is_not_folded_so_that_it_can_be_copied(monkeypatch):
    terminal = open_terminal(monkeypatch)
    screen = Screen()
    screen.say_command("guessed", COMMAND)
    screen.show_command("run", COMMAND, width=10)
    assert lines(terminal) == [f"guessed  {COMMAND}", f"run       {COMMAND}"]


def test_what_comes_next_stands_behind_what_was_written_where_there_is_room(monkeypatch):
    terminal = open_terminal(monkeypatch)
    Screen().say_written("a.csv", "mcgta report a.mcgta")
    assert lines(terminal) == ["wrote    a.csv      next: mcgta report a.mcgta"]


def test_what_comes_next_stands_below_where_there_is_no_room(monkeypatch):
    terminal = open_terminal(monkeypatch)
    Screen().say_written("a_clusters.csv, a.mcgta", "mcgta report a.mcgta")
    assert lines(terminal) == ["wrote    a_clusters.csv, a.mcgta", "next     mcgta report a.mcgta"]


def test_elsewhere_everything_is_one_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    Screen().say_written("a_clusters.csv, a.mcgta, a.html", COMMAND)
    assert capsys.readouterr().err == f"wrote    a_clusters.csv, a.mcgta, a.html      next: {COMMAND}\n"


def test_nothing_is_said_where_it_should_be_quiet(capsys):
    screen = Screen(quiet=True)
    screen.say_command("guessed", COMMAND)
    screen.say_written("a.csv", COMMAND)
    assert capsys.readouterr().err == ""
