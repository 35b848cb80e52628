"""Cells that misbehave in known ways, and a small plan of them; kept apart so that child processes can import it quickly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from mcgta.datasets.cache import MissingDataError
from paper.running.cells import Attempt, Cell, Solving, Unsuitable

TRUTH = np.repeat(np.arange(4), 25)
TABLES = ("baselines", "dissimilarity", "runtime")
BEHAVIOURS = {}
"""Method -> function of a cell that gives its attempts, or ends otherwise."""


def shuffled(share, seed=0):
    """The true labels, a share of them at random."""
    rng = np.random.default_rng(seed)
    labels = TRUTH.copy()
    rows = rng.random(labels.size) < share
    labels[rows] = rng.integers(0, 4, rows.sum())
    return labels


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def behaviour(name):
    """Have a function solve the cells of this method."""

    def add(function):
        BEHAVIOURS[name] = function
        return function

    return add


@behaviour("good")
def _good(cell):
    yield Attempt({"k": np.int64(4), "eps": np.inf}, shuffled(0.0), note="as it should be")


@behaviour("grid")
def _grid(cell):
    for share in (0.9, 0.1, 0.1, 0.5):
        yield Attempt({"share": share, "seed": cell.seed}, shuffled(share, cell.seed))


@behaviour("slow grid")
def _slow_grid(cell):
    yield Attempt({"share": 0.1}, shuffled(0.1))
    yield Attempt({"share": 0.9}, shuffled(0.9))
    spin(60)
    yield Attempt({"share": 0.0}, shuffled(0.0))


@behaviour("spins")
def _spins(cell):
    yield spin(60)


@behaviour("sleeps")
def _sleeps(cell):
    yield time.sleep(60)


@behaviour("hogs")
def _hogs(cell):
    held = []
    for _ in range(200):
        held.append(np.ones(1_000_000))
        time.sleep(0.02)
    yield Attempt({}, shuffled(0.0))


@behaviour("hogs in a child")
def _hogs_in_a_child(cell):
    code = "import time; b = b'x' * 450_000_000; time.sleep(60)"
    yield subprocess.run([sys.executable, "-c", code], check=True)


@behaviour("raises")
def _raises(cell):
    raise ValueError("several\nlines, of which the last says why")


@behaviour("raises late")
def _raises_late(cell):
    yield Attempt({"share": 0.1}, shuffled(0.1))
    raise RuntimeError("too far")


@behaviour("no memory")
def _no_memory(cell):
    raise MemoryError("1 TB asked for")


@behaviour("crashes")
def _crashes(cell):
    os.abort()


@behaviour("killed")
def _killed(cell):
    os.kill(os.getpid(), signal.SIGKILL)


@behaviour("exits")
def _exits(cell):
    sys.exit(3)


@behaviour("leaves a child")
def _leaves_a_child(cell):
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield Attempt({"pid": started.pid}, shuffled(0.0))


@behaviour("unsuitable")
def _unsuitable(cell):
    raise Unsuitable("for series only")


@behaviour("no package")
def _no_package(cell):
    import a_package_that_is_not_there  # noqa: F401


@behaviour("no data")
def _no_data(cell):
    raise MissingDataError("the files of 'climate' are not there. Looked in /home for one of\n  - climate.csv")


@behaviour("no file")
def _no_file(cell):
    Path("a file that is not there").read_text()


@behaviour("stuck")
def _stuck(cell):
    yield Attempt({"iterations": 100}, shuffled(0.2), note="100 iterations", converged=False)


@behaviour("diverges")
def _diverges(cell):
    yield Attempt({"iterations": 100}, None, note="singular", converged=False)


@behaviour("nothing")
def _nothing(cell):
    yield Attempt({"k": 3}, None, note="all settings failed")


@behaviour("threads")
def _threads(cell):
    from threadpoolctl import threadpool_info

    of_server = Path(f"/proc/{os.getppid()}/task")
    seen = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}
    seen["pools"] = sorted({pool["num_threads"] for pool in threadpool_info()})
    seen["server"] = len(list(of_server.iterdir())) if of_server.exists() else 1
    yield Attempt(seen, TRUTH)


@behaviour("prints")
def _prints(cell):
    os.write(1, b"noise of a library")
    os.write(2, b"noise of a library")
    yield Attempt({}, shuffled(0.0))


@behaviour("tells its pid")
def _tells_its_pid(cell):
    place = Path(os.environ["BENCH_PIDS"])
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (place / f"{os.getpid()}.tmp").write_text(f"{os.getpid()} {child.pid}")
    (place / f"{os.getpid()}.tmp").rename(place / f"{os.getpid()}.pid")
    yield time.sleep(60)


def has_data(name):
    """Whether a data set is there."""
    return name != "climate"


def prepare():
    """Nothing takes time here."""


def attempts(cell):
    """The attempts of a cell; a method that is not known has none."""
    yield from BEHAVIOURS.get(cell.method, lambda cell: ())(cell) or ()


def solve(cell):
    return Solving(TRUTH, attempts(cell), d=3)


def cells(tables=None, data=None, methods=None, seeds=None, quick=False):
    """The plan: what ``python -m paper`` would run."""
    planned = [
        Cell("baselines", name, method, setting, seed)
        for name in ("pavement", "climate")
        for method in ("good", "grid", "unsuitable")
        for setting in ("tuned", "free")
        for seed in range(1 if quick else seeds or 2)
    ]
    planned += [Cell("dissimilarity", "pavement", name, "tuned", 0) for name in ("wasserstein2", "kl")]
    return [
        cell
        for cell in planned
        if (tables is None or cell.table in tables)
        and (data is None or cell.data in data)
        and (methods is None or cell.method in methods)
    ]
