"""The wait besides the work: imports, the compiler, and the first result; each in fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from measuring.timing import in_turns

_IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
_FIRST_FIT = """
import time
from mcgta import MCGTA
from mcgta.datasets import make_series
data = make_series(300, n_clusters=2, n_features=5, random_state=0)
start = time.perf_counter()
MCGTA().fit(data.X)
print(time.perf_counter() - start)
"""


def measure_startup(rounds: int, cold_rounds: int) -> list[dict[str, Any]]:
    """Return a row for each wait: its name, its seconds (medians) and its limit, where there is one."""

    def import_sklearn() -> list[float]:
        return [_seconds(_IMPORT.format("sklearn.cluster"))]

    def import_mcgta() -> list[float]:
        return [_seconds(_IMPORT.format("mcgta"))]

    theirs, ours = (float(np.median(side)) for side in in_turns(import_sklearn, import_mcgta, rounds=rounds))
    cold: list[float] = []
    warm: list[list[float]] = []
    for _ in range(cold_rounds):
        with tempfile.TemporaryDirectory() as folder:
            cache = {"NUMBA_CACHE_DIR": folder}
            cold.append(_seconds(_FIRST_FIT, cache))
            warm.append([_seconds(_FIRST_FIT, cache) for _ in range(rounds)])
    first = float(np.median(warm))
    compiling = float(np.median([one - np.median(many) for one, many in zip(cold, warm, strict=True)]))
    return [
        {"what": "import sklearn.cluster", "seconds": theirs, "limit": None},
        {"what": "import mcgta", "seconds": ours, "limit": None},
        {"what": "import mcgta, beyond scikit-learn's", "seconds": ours - theirs, "limit": 1.0},
        {"what": "compiling all of the default path, once for a machine", "seconds": compiling, "limit": 10.0},
        {"what": "the first small fit after the import, compiled before", "seconds": first, "limit": 1.0},
    ]


def _seconds(program: str, settings: Mapping[str, str] | None = None) -> float:
    """Run a program in a fresh process and return the seconds it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, **(settings or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a fresh process failed:\n{done.stderr}")
    return float(done.stdout)
