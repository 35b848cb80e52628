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


def shuffled(share, seed=0):
    """The true labels, a share of them at random."""
    rng, labels = np.random.default_rng(seed), TRUTH.copy()
    rows = rng.random(labels.size) < share
    labels[rows] = rng.integers(0, 4, rows.sum())
    return labels


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def attempts(cell):
    method = cell.method
    if method == "good":
        yield Attempt({"k": np.int64(4), "eps": np.inf}, shuffled(0.0), note="as it should be")
    elif method == "grid":
        for share in (0.9, 0.1, 0.1, 0.5):
            yield Attempt({"share": share, "seed": cell.seed}, shuffled(share, cell.seed))
    elif method == "slow grid":
        yield Attempt({"share": 0.1}, shuffled(0.1))
        yield Attempt({"share": 0.9}, shuffled(0.9))
        spin(60)
        yield Attempt({"share": 0.0}, shuffled(0.0))
    elif method == "spins":
        spin(60)
    elif method == "sleeps":
        time.sleep(60)
    elif method == "hogs":
        held = []
        for _ in range(200):
            held.append(np.ones(1_000_000))
            time.sleep(0.02)
    elif method == "hogs in a child":
        code = "import time; b = b'x' * 450_000_000; time.sleep(60)"
        subprocess.run([sys.executable, "-c", code], check=True)
    elif method == "raises":
        raise ValueError("several\nlines, of which the last says why")
    elif method == "raises late":
        yield Attempt({"share": 0.1}, shuffled(0.1))
        raise RuntimeError("too far")
    elif method == "no memory":
        raise MemoryError("1 TB asked for")
    elif method == "crashes":
        os.abort()
    elif method == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif method == "exits":
        sys.exit(3)
    elif method == "leaves a child":
        started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        yield Attempt({"pid": started.pid}, shuffled(0.0))
    elif method == "unsuitable":
        raise Unsuitable("for series only")
    elif method == "no package":
        import a_package_that_is_not_there  # noqa: F401
    elif method == "no data":
        raise MissingDataError("the files of 'climate' are not there. Looked in /home for one of\n  - climate.csv")
    elif method == "no file":
        Path("a file that is not there").read_text()
    elif method == "stuck":
        yield Attempt({"iterations": 100}, shuffled(0.2), note="100 iterations", converged=False)
    elif method == "diverges":
        yield Attempt({"iterations": 100}, None, note="singular", converged=False)
    elif method == "nothing":
        yield Attempt({"k": 3}, None, note="all settings failed")
    elif method == "threads":
        from threadpoolctl import threadpool_info

        of_server = Path(f"/proc/{os.getppid()}/task")
        found = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}
        found["pools"] = sorted({pool["num_threads"] for pool in threadpool_info()})
        found["server"] = len(list(of_server.iterdir())) if of_server.exists() else 1
        yield Attempt(found, TRUTH)
    elif method == "prints":
        os.write(1, b"noise of a library")
        os.write(2, b"noise of a library")
        yield Attempt({}, shuffled(0.0))
    elif method == "tells its pid":
        place = Path(os.environ["BENCH_PIDS"])
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        (place / f"{os.getpid()}.tmp").write_text(f"{os.getpid()} {child.pid}")
        (place / f"{os.getpid()}.tmp").rename(place / f"{os.getpid()}.pid")
        time.sleep(60)


def has_data(name):
    """Whether a data set is there."""
    return name != "climate"


def prepare():
    """Nothing takes time here."""


def solve(cell):
    return Solving(TRUTH, attempts(cell), d=3)


def cells(tables=None, data=None, methods=None, seeds=None, quick=False):
    """The plan: what ``mcgta bench`` would run."""
    found = [
        Cell("baselines", name, method, setting, seed)
        for name in ("pavement", "climate")
        for method in ("good", "grid", "unsuitable")
        for setting in ("tuned", "free")
        for seed in range(1 if quick else seeds or 2)
    ]
    found += [Cell("dissimilarity", "pavement", name, "tuned", 0) for name in ("wasserstein2", "kl")]
    return [
        cell
        for cell in found
        if (tables is None or cell.table in tables)
        and (data is None or cell.data in data)
        and (methods is None or cell.method in methods)
    ]
