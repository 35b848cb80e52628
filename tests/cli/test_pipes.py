"""Pipes, closed streams, full disks and folders that take no files, with the program as a process."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import environment, without_notice

MCGTA = f"{shlex.quote(sys.executable)} -m mcgta"
FULL = Path("/dev/full")
CLUSTER = ["--set", "n_neighbors=10", "--set", "eps=2"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shell is that of POSIX")


def shell(script: str, folder: Path, **options) -> subprocess.CompletedProcess[str]:
    """Run a script of the shell, in which ``mcgta`` is the program."""
    text = f'mcgta() {{ {MCGTA} "$@"; }}\n{script}'
    given = {"capture_output": True, "text": True, "check": False, "env": environment(), **options}
    return without_notice(subprocess.run(["bash", "-c", text], cwd=folder, **given))


def test_a_table_goes_through_pipes_as_through_files(demo, table, process):
    done = process("cluster", table, "-o", "out.csv", *CLUSTER)
    assert done.returncode == 0, done.stderr
    piped = process("cluster", "-", *CLUSTER, input=demo.table.read_text())
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout == Path("out.csv").read_text()
    assert piped.stderr.startswith("read     -: 240 rows, 4 columns\nguessed  --time t")
    assert "wrote" not in piped.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["demo.csv", "out.csv"]


def test_commands_go_into_each_other(tmp_path):
    done = shell(
        f"set -o pipefail; mcgta synth --rows 120 | mcgta cluster - --model m.mcgta --quiet {shlex.join(CLUSTER)} > a.csv"
        " && cat a.csv | mcgta predict m.mcgta - --quiet > placed.csv",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    header, *rows = (tmp_path / "placed.csv").read_text().splitlines()
    assert header == "t,x0,x1,x2,x3,x4,cluster,probability,is_noise,cluster_2,probability_2,is_noise_2"
    assert len(rows) == 120
    assert all(row.split(",")[6] == row.split(",")[9] for row in rows)


@pytest.mark.parametrize(
    ("script", "first"),
    [
        ("mcgta synth --rows 300000", "t,x0,x1,x2,x3,x4"),
        ("mcgta completion bash | head -1 | cut -c -25", "# AUTOMATICALLY GENERATED"),
        ("mcgta look demo.csv --json", "{"),
        (f"mcgta cluster demo.csv -o - --quiet {shlex.join(CLUSTER)}", "t,x0,x1,x2,cluster,probability,is_noise"),
    ],
)
def test_a_reader_that_has_seen_enough_is_no_error(script, first, table, tmp_path):
    done = shell(f"{script} | head -1; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{first}\n", "")


def test_words_that_are_not_read_do_no_harm(table, tmp_path):
    done = shell(f"mcgta cluster demo.csv -o - {shlex.join(CLUSTER)} 2>&-", tmp_path)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 241


@pytest.mark.parametrize("command", ["look demo.csv", "synth --rows 5", f"cluster demo.csv -o - {shlex.join(CLUSTER)}"])
def test_a_closed_standard_output_is_refused_in_words(command, table, tmp_path):
    done = shell(f"mcgta {command} >&-", tmp_path)
    assert done.returncode == 4
    assert done.stderr.endswith("mcgta: standard output is closed\n")


def test_a_closed_standard_input_is_unusable(tmp_path):
    done = shell("mcgta look - <&-", tmp_path)
    assert (done.returncode, done.stderr) == (3, "mcgta: standard input is closed\n")


@pytest.mark.parametrize("text", ["", "\n", "t,a\n"])
def test_an_input_without_rows_is_unusable(text, process):
    done = process("cluster", "-", input=text)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["look demo.csv", "synth --rows 5", f"cluster demo.csv -o - {shlex.join(CLUSTER)}"])
def test_a_full_disk_behind_standard_output_is_told(command, table, tmp_path):
    done = shell(f"mcgta {command} --quiet > {FULL}", tmp_path)
    assert done.returncode == 4
    assert done.stderr == "mcgta: standard output cannot be written: No space left on device\n"


def test_files_that_do_not_fit_leave_nothing_behind(table, tmp_path):
    done = shell(f"ulimit -f 4; mcgta cluster demo.csv --quiet {shlex.join(CLUSTER)}", tmp_path)
    assert done.returncode == 4
    assert done.stderr == "mcgta: demo_clusters.csv cannot be written: File too large\n"
    assert [path.name for path in tmp_path.iterdir()] == ["demo.csv"]


@pytest.fixture
def mounted(tmp_path):
    """Mount a small file system on a folder, with options; skip where that is not allowed."""
    folder = tmp_path / "mounted"
    folder.mkdir()

    def mount(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            pytest.skip("there is no mount")
        if done.returncode:
            pytest.skip(f"file systems cannot be mounted here: {done.stderr.strip()}")
        return folder

    yield mount
    if os.path.ismount(folder):
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_leaves_nothing_behind(demo, mounted, process):
    folder = mounted("size=32k")
    (folder / "demo.csv").write_bytes(demo.table.read_bytes())
    done = process("cluster", "mounted/demo.csv", "--quiet", *CLUSTER)
    assert done.returncode == 4
    assert done.stderr.endswith(": No space left on device\n")
    assert done.stderr.startswith("mcgta: mounted/demo")
    assert {path.name for path in folder.iterdir()} <= {"demo.csv", "demo_clusters.csv"}


def test_a_read_only_disk_is_refused_before_anything_is_computed(table, mounted, process):
    mounted("ro")
    for arguments in (["cluster", table, "-o", "mounted/a.csv"], ["synth", "-o", "mounted/a.csv"]):
        done = process(*arguments)
        assert done.returncode == 4
        assert done.stderr == "mcgta: mounted/a.csv cannot be written: Read-only file system\n"
