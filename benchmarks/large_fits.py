"""Time and memory of a large fit without settings."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mcgta import MCGTA
from measuring.timing import in_turns, timed
from problems.problem import find_problem, missing
from results import Limits, Measure, human

MAX_TIMES = Limits(10, 4)  # a plain fit's time
MAX_PEAK_GB = Limits(2.0, 1.0)
GESTURE_RECORDS = 2238  # of 315 observations
QUICK_ROWS = 4000  # of Vehicle
LARGE_FIT = """
from mcgta import MCGTA
from mcgta.datasets import make_gestures
from measuring.usage import own_peak
X = make_gestures({records}).X
model = MCGTA(n_jobs=1, progress=False).fit(X)
print(own_peak(), len(X), model.n_clusters_, model.choice_.scored)
"""
PLAIN: dict[str, Any] = {
    "n_neighbors": 30,
    "beta": 1.0,
    "margin": 0.0,
    "eps": 0.05,
    "min_samples": 30,
    "dissimilarity": "wasserstein2",
}


def compare_times(folder: Path, *, quick: bool) -> Measure:
    """Measure Vehicle without settings against a plain fit: one thread, in turns, after one turn each that does not count."""
    case = "time of the fit without settings over a plain one, Vehicle"
    limits = Limits() if quick else MAX_TIMES
    measure = Measure("time", case, *limits, unit="times", note=missing("vehicle"))
    whole = find_problem("vehicle", folder)
    if whole is None:
        return measure
    X = whole.X[: QUICK_ROWS if quick else None]
    auto = MCGTA(n_jobs=1, progress=False)
    plain = MCGTA(n_jobs=1, progress=False, **PLAIN, refine="none")
    sides = (timed(partial(model.fit, X)) for model in (auto, plain))
    ours, theirs = (np.ravel(taken) for taken in in_turns(*sides, rounds=1 if quick else 3))
    note = f"{human(float(np.median(ours)))} and {human(float(np.median(theirs)))}"
    return replace(measure, value=float(np.median(ours / theirs)), note=note)


def measure_memory(folder: Path, *, quick: bool) -> Measure:
    """Measure the peak memory of a large fit without settings, in a process of its own."""
    program = LARGE_FIT.format(records=GESTURE_RECORDS // 100 if quick else GESTURE_RECORDS)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    peak, count, clusters, scored = (int(word) for word in done.stdout.split())
    case = f"peak memory of the fit without settings, {count:,} x 3"
    note = f"{clusters} clusters, chosen on a sample of {scored:,}"
    limits = Limits() if quick else MAX_PEAK_GB
    return Measure("memory", case, *limits, unit="GB", value=peak / 1e9, note=note)
