"""Cells run in processes of their own, and whatever a process does, there is a line for it and the others go on."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from builders import bench_cells
from builders.bench_cells import shuffled, solve
from measuring import usage
from measuring.scoring import score
from measuring.usage import Usage, own_cpu, own_peak, usage_by_group
from paper.running.caps import Caps
from paper.running.cells import STATUSES, Attempt, Cell, Solving
from paper.running.child import follow
from paper.running.records import read_records
from paper.running.runner import Rerun, run_cells

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="processes are watched on POSIX systems only")
TESTS = Path(__file__).parents[1]
ENDS = {
    "good": "ok",
    "grid": "ok",
    "slow grid": "capped",
    "spins": "time",
    "sleeps": "time",
    "hogs": "memory",
    "hogs in a child": "memory",
    "no memory": "memory",
    "killed": "memory",
    "raises": "failed",
    "raises late": "failed",
    "crashes": "failed",
    "exits": "failed",
    "nothing": "failed",
    "leaves a child": "ok",
    "threads": "ok",
    "prints": "ok",
    "stuck": "not converged",
    "diverges": "not converged",
    "unsuitable": "unsuitable",
    "no package": "missing package",
    "no data": "missing data",
    "no file": "failed",
}


def tuned(*methods, setting="tuned", seed=0):
    return [Cell("baselines", "pavement", method, setting, seed) for method in methods]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def ran(folder):
    """Every kind of end, in one run, by method."""
    hogs = ("hogs", "hogs in a child")
    others = [name for name in ENDS if name not in ("sleeps", *hogs)]
    file = folder / "results.jsonl"
    records = run_cells(tuned(*others), solve, file, caps=Caps(seconds=1.0, wall=120.0, memory=5e8))
    # Filling memory takes processor time, too, and on a busy machine could meet that cap first.
    records += run_cells(tuned(*hogs), solve, file, caps=Caps(seconds=60.0, wall=120.0, memory=5e8))
    records += run_cells(tuned("sleeps"), solve, file, caps=Caps(wall=1.0))
    return {record["method"]: record for record in records}


def test_every_end_has_its_status(ran, folder):
    assert {name: record["status"] for name, record in ran.items()} == ENDS
    assert set(ENDS.values()) == set(STATUSES)
    assert {record["method"]: record for record in read_records(folder / "results.jsonl")} == ran


def test_a_record_says_what_was_found_and_what_it_took(ran):
    record = ran["good"]
    assert {name: record[name] for name in ("key", "table", "data", "method", "setting", "seed")} == {
        "key": "baselines/pavement/good/tuned/0",
        **tuned("good")[0].fields(),
    }
    scores = score(bench_cells.TRUTH, shuffled(0.0))
    assert {name: record[name] for name in scores} == scores
    assert (record["n"], record["d"], record["tried"], record["note"]) == (100, 3, 1, "as it should be")
    assert record["params"] == {"k": 4, "eps": "inf"}
    assert 0 <= record["seconds"] <= record["total"] <= record["wall"] + 1
    assert 0 < record["peak_before"] <= record["peak"] < 5e8
    assert record["code"].startswith("0.")


def test_a_tuned_cell_keeps_the_best_and_the_earlier_of_equal_ones(ran):
    assert ran["grid"]["params"] == {"share": 0.1, "seed": 0}
    assert ran["grid"]["tried"] == 4
    assert ran["grid"]["ari"] == score(bench_cells.TRUTH, shuffled(0.1))["ari"]


def test_a_capped_cell_reports_the_best_of_what_it_tried(ran):
    record = ran["slow grid"]
    assert (record["params"], record["tried"]) == ({"share": 0.1}, 2)
    assert record["ari"] == score(bench_cells.TRUTH, shuffled(0.1))["ari"]
    assert "1 s of the processor" in record["note"]
    assert record["total"] > 1.0 > record["seconds"]


def test_what_waits_is_ended_by_the_clock(ran):
    assert "1 s by the clock" in ran["sleeps"]["note"]
    assert ran["sleeps"]["total"] < 1


def test_memory_of_children_counts(ran):
    for name in ("hogs", "hogs in a child"):
        assert "more than 500 MB" in ran[name]["note"]
        assert ran[name]["peak"] > 5e8
        assert ran[name]["ari"] is None


def test_an_error_is_told_by_its_last_line(ran):
    assert ran["raises"]["note"] == "ValueError: lines, of which the last says why"
    assert ran["crashes"]["note"] == "its process ended by SIGABRT"
    assert ran["exits"]["note"] == "SystemExit: 3"
    assert ran["nothing"]["note"] == "all settings failed"
    assert ran["unsuitable"]["note"] == "for series only"


def test_what_is_missing_is_said_without_the_folders_of_this_machine(ran):
    assert ran["no data"]["note"] == "the files of 'climate' are not there"


def test_a_method_that_did_not_converge_keeps_its_labels_if_it_has_some(ran):
    assert ran["stuck"]["ari"] == score(bench_cells.TRUTH, shuffled(0.2))["ari"]
    assert ran["diverges"]["ari"] is None
    assert (ran["diverges"]["note"], ran["diverges"]["params"]) == ("singular", {"iterations": 100})


def test_cells_have_one_thread_each_and_are_copied_from_a_process_that_has_one(ran):
    params = ran["threads"]["params"]
    assert (params["OMP_NUM_THREADS"], params["NUMBA_NUM_THREADS"]) == ("1", "1")
    assert set(params["pools"]) <= {1}
    assert params["server"] == 1


def test_the_environment_of_the_caller_is_left_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    run_cells(tuned("good"), solve, tmp_path / "results.jsonl")
    assert dict(os.environ) == before


def test_processes_that_a_cell_leaves_behind_are_ended(ran):
    assert _gone(ran["leaves a child"]["params"]["pid"])


def test_what_it_ran_with_is_written_beside_the_results_without_a_date(ran, folder):
    (about,) = json.loads((folder / "environment.json").read_text())
    assert about["packages"]["numpy"] == np.__version__
    assert about["cores"] == os.cpu_count()
    assert not any("date" in name or "time" in name for name in about)


def test_cells_that_are_done_are_not_run_again_unless_asked_for(tmp_path):
    out = tmp_path / "results.jsonl"
    told = []
    cells = tuned("good", "raises", "no package")

    def run(*chosen, **options):
        told.clear()
        records = run_cells(chosen, solve, out, progress=lambda *said: told.append(said), rerun=Rerun(**options))
        assert [record["key"] for record in records] == [cell.key for cell in chosen]
        assert [said[:2] for said in told] == [(k + 1, len(told)) for k in range(len(told))]
        return sorted(record["method"] for _, _, record in told)

    assert run(*cells[:2]) == ["good", "raises"]
    assert run(*cells) == ["no package"]
    assert run(*cells) == []
    before = out.read_bytes()
    assert run(*cells, again={"failed", "missing package"}) == ["no package", "raises"]
    assert run(cells[0], fresh=True) == ["good"]
    assert out.read_bytes().startswith(before)
    assert len(read_records(out)) == 3
    assert run(cells[0], cells[0], fresh=True) == ["good"]


def test_a_cell_whose_line_was_torn_is_run_again_and_the_others_are_not(tmp_path):
    out = tmp_path / "results.jsonl"
    told = []
    cells = tuned("good", "grid")
    run_cells(cells, solve, out, jobs=1)
    whole = out.read_bytes()
    out.write_bytes(whole[:-20])
    run_cells(cells, solve, out, jobs=1, progress=lambda k, m, record: told.append(record["method"]))
    assert told == ["grid"]
    assert out.read_bytes().startswith(whole[: whole.index(b"\n") + 1])
    assert [record["method"] for record in read_records(out)] == ["good", "grid"]


def test_the_number_of_jobs_changes_no_result(tmp_path):
    cells = [cell for seed in range(3) for cell in tuned("grid", seed=seed)]
    one, three = (run_cells(cells, solve, tmp_path / f"{jobs}.jsonl", jobs=jobs) for jobs in (1, 3))
    for a, b in zip(one, three, strict=True):
        for name in ("key", "status", "ari", "ami", "nmi", "params", "tried"):
            assert a[name] == b[name]


def test_where_processes_cannot_be_copied_they_start_from_scratch(tmp_path, monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    (record,) = run_cells(tuned("threads"), solve, tmp_path / "results.jsonl")
    assert (record["status"], record["ari"]) == ("ok", 100)
    assert set(record["params"]["pools"]) <= {1}


def test_a_cell_that_is_not_tuned_keeps_the_last_attempt_with_labels():
    told: dict[str, object] = {}
    attempts = [Attempt({"k": 1}, shuffled(0.1)), Attempt({"k": 2}, shuffled(0.9)), Attempt({"k": 3}, None)]
    follow(tuned("x", setting="free")[0], lambda cell: Solving(bench_cells.TRUTH, iter(attempts), 3), told.update)
    assert (told["params"], told["tried"]) == ({"k": 2}, 3)


def test_an_interrupt_ends_the_children_and_leaves_whole_lines(tmp_path):
    code = (
        "import sys; from paper.running.runner import run_cells; from builders.bench_cells import Cell, solve\n"
        "cells = [Cell('baselines', 'x', name, 'free') for name in ('good', 'tells its pid', 'sleeps')]\n"
        "try: run_cells(cells, solve, sys.argv[1])\n"
        "except KeyboardInterrupt: sys.exit(130)"
    )
    process, pids = _start(code, tmp_path)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert all(_gone(pid) for pid in pids)
    assert [record["method"] for record in read_records(tmp_path / "results.jsonl")] == ["good"]
    assert (tmp_path / "results.jsonl").read_bytes().endswith(b"\n")


def test_children_end_when_the_runner_is_killed(tmp_path):
    code = (
        "import sys; from paper.running.runner import run_cells; from builders.bench_cells import Cell, solve\n"
        "run_cells([Cell('baselines', 'x', 'tells its pid', 'free')], solve, sys.argv[1])"
    )
    process, pids = _start(code, tmp_path)
    process.kill()
    process.wait()
    assert all(_gone(pid) for pid in pids)


@pytest.mark.parametrize("jobs", [0, 1.5, True])
def test_a_number_of_jobs_that_is_not_allowed_is_refused_before_anything_is_written(tmp_path, jobs):
    with pytest.raises(ValueError, match=f"^jobs={jobs}"):
        run_cells(tuned("good"), solve, tmp_path / "new" / "results.jsonl", jobs=jobs)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("seconds", 0), ("seconds", None), ("memory", np.inf), ("memory", np.nan), ("wall", -1.0), ("wall", True)],
)
def test_a_cap_that_is_not_allowed_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name}={value}"):
        Caps(**{name: value})


@pytest.mark.parametrize("again", [{"bad"}, "failed"])
def test_statuses_that_there_are_not_cannot_be_run_again(again):
    with pytest.raises(ValueError, match=f"^again={again!r}"):
        Rerun(again=again)


def test_a_function_that_other_processes_cannot_find_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must be a function of a module"):
        run_cells(tuned("good"), lambda cell: solve(cell), tmp_path / "results.jsonl")


def test_usage_is_that_of_the_group_and_grows():
    before = usage_by_group()[os.getpgrp()]
    held = np.ones(20_000_000)
    bench_cells.spin(0.2)
    after = usage_by_group()[os.getpgrp()]
    assert after.cpu >= before.cpu + 0.1
    assert after.memory >= before.memory + 0.9 * held.nbytes
    assert own_peak() >= held.nbytes
    assert own_cpu() > 0
    assert Usage(1, 2) + Usage(3, 4) == Usage(4, 6)


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps")
def test_what_ps_tells_is_what_proc_tells(monkeypatch, tmp_path):
    code = (
        "import time; held = b'x' * 50_000_000\n"
        "while time.process_time() < 1.5: pass\n"
        "print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        exact = usage_by_group()[process.pid]
        monkeypatch.setattr(usage, "_PROC", tmp_path)
        told = usage_by_group()[process.pid]
        process.kill()
    assert exact.cpu >= told.cpu >= 1 > exact.cpu - told.cpu  # in whole seconds
    assert told.memory == pytest.approx(exact.memory, rel=0.1)
    assert told.memory > 50_000_000


@pytest.mark.parametrize(("text", "seconds"), [("0:01.50", 1.5), ("01:02:03", 3723), ("2-00:00:01", 172801)])
def test_times_of_ps_are_read(text, seconds):
    assert usage._seconds(text) == seconds


def _start(code, folder):
    """Start a runner, and return it and the pids of a cell's process and its child, when both are there."""
    paths = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder / "results.jsonl")],
        env={**os.environ, "PYTHONPATH": paths, "BENCH_PIDS": str(folder)},
        start_new_session=True,
    )
    for _ in range(2400):
        told = list(folder.glob("*.pid"))
        if told and ("good" not in code or read_records(folder / "results.jsonl")):
            return process, list(map(int, told[0].read_text().split()))
        time.sleep(0.05)
    process.kill()
    raise AssertionError("the cell has not begun")


def _gone(pid):
    """Whether a process ends soon, if it has not; one that only waits to be noticed has ended."""
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False
