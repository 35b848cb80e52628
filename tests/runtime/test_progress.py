"""What people see while they wait: bars on a terminal, lines in a log, nothing where nobody looks."""

import io
import itertools
import os
import subprocess
import sys
import threading
import time

import pytest

from mcgta import MCGTA
from mcgta.runtime import progress
from mcgta.runtime.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal, and plays one back."""

    encoding = "utf-8"

    def isatty(self):
        return True

    def frames(self):
        """What stands on the last line after each write, and the lines above it at the end."""
        lines, at = [""], 0
        seen = []
        for char in self.getvalue():
            if char == "\r":
                seen.append(lines[-1].rstrip())
                at = 0
            elif char == "\n":
                lines.append("")
                at = 0
            else:
                lines[-1] = lines[-1][:at] + char + lines[-1][at + 1 :]
                at += 1
        return seen, [line.rstrip() for line in lines]


class Ascii(Terminal):
    encoding = "ascii"


@pytest.fixture
def quick(monkeypatch):
    """The same in a tenth of a second."""
    monkeypatch.setattr(progress, "_DRAW_SECONDS", 0.01)
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.1)
    monkeypatch.setattr(progress, "_LOG_SECONDS", 0.1)
    monkeypatch.setenv("COLUMNS", "80")


def wait_until(condition):
    """Wait for a thread to get there."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited for five seconds")


def test_a_terminal_shows_stage_bar_share_and_times_on_one_line(quick):
    stream = Terminal()
    with Progress(True, stream).stage("dissimilarity", 10) as advance:
        advance(4)
        wait_until(lambda: "40%" in stream.getvalue())
    seen, lines = stream.frames()
    bar = next(frame for frame in seen if "40%" in frame)
    assert bar.startswith("mcgta: dissimilarity")
    assert "█" in bar
    assert bar.endswith(" left")
    assert max(map(len, seen)) < 80
    assert len(lines) == 2
    assert lines[0].startswith("mcgta: dissimilarity")
    assert lines[0].endswith(" s")
    assert "█" not in lines[0]


@pytest.mark.parametrize("columns", [10, 30, 45, 60, 200])
def test_a_bar_fits_the_terminal(quick, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    with Progress(True, stream).stage("dissimilarity", 10) as advance:
        advance(4)
        wait_until(lambda: stream.getvalue().count("\r") > 4)
    assert max(map(len, stream.frames()[0])) < columns


def test_a_stream_without_block_characters_gets_plain_ones(quick):
    stream = Ascii()
    with Progress(True, stream).stage("loss", 10) as advance:
        advance(5)
        wait_until(lambda: "50%" in stream.getvalue())
    assert stream.getvalue().isascii()
    assert "[####" in stream.getvalue()


@pytest.mark.parametrize("width", [1, 2, 7, 40])
@pytest.mark.parametrize("steps", [progress._BLOCKS, progress._ASCII_BLOCKS])
def test_a_bar_grows_from_empty_to_full_and_keeps_its_width(width, steps):
    bars = [progress._filled(k / 100, width, steps) for k in range(101)]
    assert all(len(bar) == width for bar in bars)
    assert (bars[0], bars[-1]) == (steps[0] * width, steps[-1] * width)
    ranks = [[steps.index(char) for char in bar] for bar in bars]
    assert all(sum(a) <= sum(b) for a, b in itertools.pairwise(ranks))


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (59.4, "59 s"), (65, "1:05"), (3599.6, "1:00:00"), (3725, "1:02:05")]
)
def test_times_are_short_to_read(seconds, said):
    assert progress._clock(seconds) == said


def test_a_stage_of_unknown_length_shows_its_time_and_no_share(quick):
    stream = Terminal()
    with Progress(True, stream).stage("clustering"):
        wait_until(lambda: stream.getvalue().count("\r") > 4)
    assert "%" not in stream.getvalue()
    assert "left" not in stream.getvalue()
    assert "mcgta: clustering       0 s" in stream.getvalue()


def test_a_bar_is_drawn_at_most_five_times_a_second():
    stream = Terminal()
    with Progress(True, stream).stage("loss", 10**6) as advance:
        until = time.perf_counter() + 0.7
        while time.perf_counter() < until:
            advance(1)
    assert 1 <= stream.getvalue().count("%") <= 4


def test_what_others_print_begins_at_the_beginning_of_the_line(quick):
    stream = Terminal()
    with Progress(True, stream).stage("loss"):
        wait_until(lambda: stream.getvalue())
        assert stream.getvalue().endswith("\r")


def test_a_log_gets_a_line_for_each_stage_and_some_from_long_ones(quick):
    stream = io.StringIO()
    shown = Progress(True, stream)
    with shown.stage("short"):
        pass
    with shown.stage("long", 4) as advance:
        advance(1)
        wait_until(lambda: stream.getvalue().count("25%") >= 2)
    lines = stream.getvalue().splitlines()
    assert "\r" not in stream.getvalue()
    assert lines[0].startswith("mcgta: short")
    assert all(line.startswith("mcgta: long") for line in lines[1:])
    assert all("25%, " in line and line.endswith(" left") for line in lines[1:-1])
    assert lines[-1].endswith(" s")


def test_auto_is_silent_at_first_and_then_shows_bars_and_the_notes_held_back(quick):
    stream = Terminal()
    shown = Progress("auto", stream)
    with shown.stage("neighbourhoods"):
        shown.note("first remark")
    shown.note("second remark")
    assert stream.getvalue() == ""
    with shown.stage("loss", 2) as advance:
        advance(1)
        wait_until(lambda: "50%" in stream.getvalue())
        shown.note("third remark")
    lines = stream.frames()[1]
    assert lines[:3] == ["mcgta: first remark", "mcgta: second remark", "mcgta: third remark"]
    assert lines[3].startswith("mcgta: loss")


def test_auto_is_silent_where_there_is_no_terminal(quick):
    stream = io.StringIO()
    shown = Progress("auto", stream)
    shown.note("remark")
    with shown.stage("loss", 2) as advance:
        advance(1)
        time.sleep(0.2)
    assert stream.getvalue() == ""


def test_notes_stand_between_the_stages_they_were_made_in():
    stream = io.StringIO()
    shown = Progress(True, stream)
    shown.note("before")
    with shown.stage("loss"):
        shown.note("in between")
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["before", "in", "loss"]


@pytest.mark.parametrize("show", [False, lambda name, share: None], ids=["silence", "function"])
def test_notes_are_for_lines_only(show, capsys):
    shown = Progress(show)
    shown.note("remark")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "log"])
def test_a_stage_that_is_interrupted_says_so_on_a_line_of_its_own(quick, stream):
    def begin():
        with Progress(True, stream).stage("loss", 4) as advance:
            advance(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin()
    assert "stopped after" in stream.getvalue()
    assert stream.getvalue().endswith("s at 25%\n")


def test_silence_and_functions_start_no_thread():
    code = (
        "import threading, numpy as np; from mcgta import MCGTA; X = np.random.default_rng(0).normal(size=(80, 2)); "
        "[MCGTA(n_neighbors=10, eps=1.0, progress=p).fit(X) for p in (False, 'auto', lambda name, share: None)]; "
        "print(threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_a_stream_that_nobody_reads_does_not_stop_the_work():
    stream = io.StringIO()
    shown = Progress(True, stream)
    stream.close()
    with shown.stage("loss", 2) as advance:
        advance(1)
    shown.note("remark")


def test_no_standard_error_is_silence(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    for show in (True, "auto"):
        shown = Progress(show)
        shown.note("remark")
        with shown.stage("loss", 1) as advance:
            advance(1)


def test_a_child_process_can_draw_bars_after_a_fork():
    code = (
        "import os, time, mcgta.runtime.progress as p; p._DRAW_SECONDS = 0.01\n"
        "class T:\n"
        "    encoding, n = 'ascii', 0\n"
        "    def isatty(self): return True\n"
        "    def write(self, text): self.n += 1\n"
        "    def flush(self): pass\n"
        "def work():\n"
        "    t = T()\n"
        "    with p.Progress(True, t).stage('loss'):\n"
        "        until = time.time() + 5\n"
        "        while t.n < 3 and time.time() < until: time.sleep(0.01)\n"
        "    return t.n\n"
        "work()\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(0 if work() > 2 else 1)\n"
        "print(os.waitpid(pid, 0)[1])\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_many_stages_share_one_thread(quick):
    before = threading.active_count()
    shown = Progress(True, Terminal())
    for _ in range(50):
        with shown.stage("loss"):
            pass
    assert threading.active_count() <= before + 1


def test_a_fit_in_a_real_terminal_finishes_each_stage_with_a_line():
    code = (
        "import numpy as np; from mcgta import MCGTA; "
        "MCGTA(n_neighbors=10, eps=1.0, progress=True).fit(np.random.default_rng(0).normal(size=(80, 2)))"
    )
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    done = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stderr=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    assert done.wait(60) == 0
    stream = Terminal(text.decode().replace("\r\n", "\n"))
    lines = [line for line in stream.frames()[1] if line and "compiling" not in line]
    stages = ["neighbourhoods", "local models", "dissimilarity", "semivariogram", "loss", "clustering"]
    assert "table backend" in lines.pop(4)
    assert [line[7:23].strip() for line in lines] == stages


def test_the_default_is_auto():
    assert MCGTA().progress == "auto"
