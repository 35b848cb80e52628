"""``python -m paper`` does what it is asked for, and says what is wrong with what it is asked for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from builders import bench_cells
from paper import command
from paper.running.cells import Cell
from paper.running.records import add_record, read_records

TESTS = Path(__file__).parents[1]


class Figures:
    """Draws a file, and remembers what it was given."""

    def __init__(self, error=None):
        self.error = error
        self.records = None

    def draw(self, folder, records):
        if self.error:
            raise self.error
        folder.mkdir(exist_ok=True)
        (folder / "one.png").write_bytes(b"")
        self.records = records
        return [folder / "one.png"]


def bench(*arguments, figures=None):
    return command.main(list(map(str, arguments)), plan=bench_cells, figures=figures or Figures())


def test_the_package_can_be_run_as_a_command(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "paper", "--help"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.startswith("usage: python -m paper ")
    assert "--memory SIZE" in done.stdout


def test_cells_are_run_and_files_written_and_named(tmp_path, capsys):
    out = tmp_path / "bench"
    figures = Figures()
    assert bench("baselines", "--data", "pavement", "--quick", "--out", out, figures=figures) == 0
    told = capsys.readouterr()
    names = ("results.jsonl", "environment.json", "tables.md", "figures/one.png")
    assert all(str(out / name) in told.err.splitlines() and (out / name).exists() for name in names)
    assert figures.records == read_records(out / "results.jsonl")
    assert len(figures.records) == 6
    lines = [line for line in told.err.splitlines() if " of 6  " in line]
    assert len(lines) == 6
    assert sum("pavement  grid  tuned  seed 0  ok  ARI 79.1" in line for line in lines) == 1
    assert "*100.0 / *100.0" in told.out
    assert "| grid | tuned | 79.12 |" in (out / "tables.md").read_text(encoding="utf-8")


def test_a_second_call_runs_nothing_again_and_can_render_alone(tmp_path, capsys):
    asked = ("baselines", "--data", "climate", "--method", "good", "unsuitable", "--seeds", 1, "--out", tmp_path)
    assert bench(*asked) == 0
    (tmp_path / "tables.md").unlink()
    before = (tmp_path / "results.jsonl").read_bytes()
    capsys.readouterr()
    assert bench(*asked) == bench(*asked, "--render") == 0
    assert (tmp_path / "results.jsonl").read_bytes() == before
    assert (tmp_path / "tables.md").exists()
    assert "of 4  " not in capsys.readouterr().err
    assert bench(*asked, "--again", "unsuitable") == 0
    assert " of 2  " in capsys.readouterr().err


def test_cells_that_met_a_smaller_cap_are_kept_and_named(tmp_path, capsys):
    asked = ("baselines", "--data", "climate", "--method", "good", "--seeds", 1, "--out", tmp_path)
    bench(*asked)
    for one in read_records(tmp_path / "results.jsonl"):
        note = "held out in blocks: 80 ± 1; took more than 50 s of the processor"
        add_record(
            tmp_path / "results.jsonl",
            {**one, "status": "capped", "note": note, "caps": {"seconds": 50.0, "memory": 1e9}},
        )
    capsys.readouterr()
    bench(*asked, "--seconds", 50)
    assert "kept although" not in capsys.readouterr().err
    bench(*asked, "--seconds", 60)
    said = "kept although they had met a smaller cap than there is now: 2; to run them again, add --again capped"
    assert said in capsys.readouterr().err
    bench(*asked, "--seconds", 60, "--again", "capped")
    assert "kept although" not in capsys.readouterr().err
    assert {one["caps"]["seconds"] for one in read_records(tmp_path / "results.jsonl")} == {60.0}


def test_cells_that_met_a_smaller_cap_on_memory_are_named_too(tmp_path, capsys):
    asked = ("baselines", "--data", "climate", "--method", "good", "--seeds", 1, "--out", tmp_path)
    bench(*asked)
    known = read_records(tmp_path / "results.jsonl")
    for one, status in zip(known, ("memory", "capped"), strict=True):
        note = "held out in blocks: 80 ± 1; held 2 GB, more than 1 GB"
        add_record(
            tmp_path / "results.jsonl",
            {**one, "status": status, "note": note, "caps": {"seconds": 600, "memory": 1e9}},
        )
    capsys.readouterr()
    bench(*asked, "--memory", "1GB")
    assert "kept although" not in capsys.readouterr().err
    bench(*asked, "--memory", "3GB")
    assert "smaller cap than there is now: 2; to run them again, add --again capped memory" in capsys.readouterr().err


def test_results_of_other_code_are_kept_and_named(tmp_path, capsys):
    asked = ("baselines", "--data", "climate", "--method", "good", "unsuitable", "--seeds", 1, "--out", tmp_path)
    bench(*asked)
    assert "other versions" not in capsys.readouterr().err
    for one in read_records(tmp_path / "results.jsonl"):
        add_record(tmp_path / "results.jsonl", {**one, "code": "0.0.1"})
    about = json.loads((tmp_path / "environment.json").read_text())
    (tmp_path / "environment.json").write_text(json.dumps([{**about[0], "code": "0.0.1"}]))
    bench(*asked)
    told = capsys.readouterr().err
    assert "kept from other versions of mcgta, this being " in told
    assert ": 2 of 0.0.1; to run all again, add --fresh" in told
    bench(*asked, "--fresh")
    assert "other versions" not in capsys.readouterr().err
    assert [one["code"] for one in json.loads((tmp_path / "environment.json").read_text())] == [
        "0.0.1",
        about[0]["code"],
    ]


def test_cells_whose_data_have_come_are_run(tmp_path, capsys, monkeypatch):
    asked = ("baselines", "--method", "good", "--seeds", 1, "--out", tmp_path)
    bench(*asked)
    for one in read_records(tmp_path / "results.jsonl"):
        add_record(tmp_path / "results.jsonl", {**one, "status": "missing data", "note": "no files"})
    capsys.readouterr()
    bench(*asked)  # those of pavement are there
    told = capsys.readouterr().err
    assert told.count(" of 2  baselines  pavement  good") == 2
    assert "missing data: climate. Their loaders (mcgta.datasets.load_...) download what can be had" in told
    monkeypatch.setattr(bench_cells, "has_data", lambda name: True)
    bench(*asked)
    assert capsys.readouterr().err.count(" of 2  baselines  climate  good") == 2
    assert {one["status"] for one in read_records(tmp_path / "results.jsonl")} == {"ok"}


def test_a_folder_that_another_run_works_in_is_refused(tmp_path, capsys):
    with command._alone(tmp_path):
        assert bench("--method", "good", "--quick", "--out", tmp_path) == 2
    assert f"--out {tmp_path} is in use by another run; wait for it" in capsys.readouterr().err
    assert bench("--method", "good", "--quick", "--out", tmp_path) == 0


def test_more_jobs_than_there_is_memory_for_are_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "budget", lambda: 10**9)
    assert bench("--jobs", 6, "--out", tmp_path) == 2
    said = "--jobs 6 leaves 167 MB of memory for each cell, and 200 MB is the least; it must be 5 at most, or --memory"
    assert said in capsys.readouterr().err
    assert bench("--jobs", 6, "--memory", "300MB", "--method", "good", "--quick", "--out", tmp_path) == 0


def test_a_disk_that_fills_up_meanwhile_is_said_in_one_line(tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError("is there space left?")

    monkeypatch.setattr("paper.running.runner.add_record", full)
    assert bench("--method", "good", "--quick", "--out", tmp_path) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("cannot be used: is there space left?")


def test_cells_are_listed_with_what_is_known_of_them(tmp_path, capsys):
    asked = ("--method", "good", "--data", "pavement", "--quick", "--out", tmp_path)
    assert bench(*asked, "--list") == 0
    before = capsys.readouterr().out.splitlines()
    assert [line.split() for line in before] == [
        ["baselines", "pavement", "good", setting, "0"] for setting in ("tuned", "free")
    ]
    assert list(tmp_path.iterdir()) == []
    bench(*asked)
    capsys.readouterr()
    bench(*asked, "--list")
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["ok", "ok"]


def test_without_the_package_that_draws_there_are_tables_all_the_same(tmp_path, capsys):
    missing = Figures(ImportError("pip install 'mcgta[plot]'"))
    assert bench("--method", "good", "--quick", "--out", tmp_path, figures=missing) == 0
    told = capsys.readouterr().err
    assert "no figures: pip install 'mcgta[plot]'" in told
    assert str(tmp_path / "tables.md") in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "TABLE 'nonsense' is not known; choose from baselines, dissimilarity, runtime"),
        (["--data", "moon"], "--data 'moon' is not known; choose from pavement, climate"),
        (["--method", "good", "magic"], "--method 'magic' is not known; choose from good, grid"),
        (["dissimilarity", "--method", "good"], "no cell of the plan"),
        (["--render"], "there are no results in"),
    ],
)
def test_names_that_the_plan_does_not_have_are_refused(tmp_path, capsys, arguments, said):
    assert bench(*arguments, "--out", tmp_path / "bench") == 2
    assert f"python -m paper: error: {said}" in capsys.readouterr().err.replace("--render: ", "")
    assert not (tmp_path / "bench").exists()


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--jobs", "0", "must be an integer >= 1"),
        ("--seeds", "two", "must be an integer >= 1"),
        ("--seconds", "nan", "must be a number of seconds > 0"),
        ("--seconds", "-3", "must be a number of seconds > 0"),
        ("--memory", "4Q", "must be a size such as '1.5GB'"),
        ("--memory", "12", "200 MB or more"),
        ("--again", "bad", "invalid choice: 'bad'"),
    ],
)
def test_values_that_are_not_allowed_are_refused(capsys, option, value, said):
    with pytest.raises(SystemExit) as ended:
        bench(option, value)
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert f"argument {option}:" in told
    assert repr(value) in told
    assert said in told


def test_a_file_in_the_place_of_the_folder_and_a_file_that_holds_something_else_are_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert bench("--out", tmp_path / "file") == 2
    assert "is a file" in capsys.readouterr().err
    (tmp_path / "results.jsonl").write_text("something else\n")
    assert bench("--out", tmp_path) == 2
    assert "line 1" in capsys.readouterr().err
    assert (tmp_path / "results.jsonl").read_text() == "something else\n"


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals are POSIX")
def test_an_interrupt_ends_with_130_and_says_that_the_same_command_goes_on(tmp_path):
    code = (
        "import sys; from builders import bench_cells; from paper import command\n"
        "bench_cells.cells = lambda **chosen: [bench_cells.Cell('baselines', 'x', n, 'free') for n in ('good', 'sleeps')]\n"
        "sys.exit(command.main(plan=bench_cells))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--out", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(2400):
        if read_records(tmp_path / "results.jsonl"):
            break
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to all of the group
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "the same command goes on from there" in told
    assert "Traceback" not in told
    assert [record["method"] for record in read_records(tmp_path / "results.jsonl")] == ["good"]


@pytest.mark.parametrize("place", ["file/below", "file/two/below"])
def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_run(tmp_path, capsys, place):
    (tmp_path / "file").write_text("")
    assert bench("--method", "good", "--out", tmp_path / place) == 2
    told = capsys.readouterr().err
    assert "python -m paper: error: " in told
    assert str(tmp_path / "file") in told
    assert "ARI" not in told


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_run(tmp_path, capsys, monkeypatch):
    (tmp_path / "results.jsonl").mkdir()
    assert bench("--method", "good", "--out", tmp_path) == 2
    assert "results.jsonl" in capsys.readouterr().err
    (tmp_path / "tables.md").mkdir()
    (tmp_path / "results.jsonl").rmdir()
    assert bench("--method", "good", "--quick", "--out", tmp_path) == 2
    assert "cannot be used" in capsys.readouterr().err


def test_a_line_without_its_names_is_no_result(tmp_path, capsys):
    (tmp_path / "results.jsonl").write_text('{"key": "baselines/pavement/good/free/0", "status": "ok"}\n')
    assert bench("--render", "--out", tmp_path) == 2
    assert "line 1 is no result of a benchmark" in capsys.readouterr().err


@pytest.mark.parametrize("render", [(), ("--render",), ("--list",)])
def test_a_damaged_field_is_refused_in_one_line(tmp_path, capsys, render):
    assert bench("--method", "good", "--quick", "--out", tmp_path) == 0
    capsys.readouterr()
    file = tmp_path / "results.jsonl"
    file.write_text(file.read_text().replace('"caps": {"seconds": 600.0', '"caps": {"seconds": "x"'))
    assert bench("--method", "good", "--quick", "--out", tmp_path, *render) == 2
    told = capsys.readouterr().err
    assert told.startswith(
        f"python -m paper: error: {file}, line 1 is no result of a benchmark: caps.seconds='x' is not"
    )
    assert told.count("\n") == 1


def test_what_is_done_once_is_done_only_if_there_is_a_cell_to_run(tmp_path, monkeypatch):
    times = []
    monkeypatch.setattr(bench_cells, "prepare", lambda: times.append(1))
    asked = ("--method", "good", "--quick", "--out", tmp_path)
    assert [bench(*asked) or len(times) for _ in range(2)] == [1, 1]
    assert bench(*asked, "--again", "failed") == 0
    assert len(times) == 1
    assert bench(*asked, "--again", "ok") == 0
    assert len(times) == 2


def test_a_variable_that_names_no_folder_is_told_of(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MCGTA_DATA", os.pathsep.join([str(tmp_path), str(tmp_path / "nowhere")]))
    assert bench("--method", "good", "--quick", "--out", tmp_path / "bench") == 0
    told = capsys.readouterr().err
    assert f"MCGTA_DATA names {tmp_path / 'nowhere'}, which is no folder" in told
    assert f"MCGTA_DATA names {tmp_path}," not in told


def test_what_is_missing_is_named_once_with_what_to_do(tmp_path, capsys):
    lacking = {"status": "missing data", "note": "the files of 'climate' are not there"}
    lacking |= dict.fromkeys(("ari", "ami", "nmi"))
    for seed in range(3):
        cell = Cell("baselines", "climate", "good", "free", seed)
        add_record(tmp_path / "results.jsonl", {"key": cell.key, **cell.fields(), **lacking})
    assert bench("--render", "--out", tmp_path) == 0
    told = capsys.readouterr().err
    assert told.count("climate") == 1
    assert "Their loaders" in told


def test_an_interrupt_while_figures_are_drawn_is_no_accident(tmp_path, capsys):
    assert bench("--method", "good", "--quick", "--out", tmp_path, figures=Figures(KeyboardInterrupt())) == 130
    assert "interrupted" in capsys.readouterr().err
