"""Measuring two sides in turns, and what the numbers were measured with."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

Side = Callable[[], list[float]]
"""One turn of one side: does the work and returns the seconds a unit, one number for each time it looked at the clock."""

_PACKAGES = ("mcgta", "numpy", "scipy", "scikit-learn", "numba", "llvmlite", "POT")


def timed(
    function: Callable[[], object],
    *,
    units: int = 1,
    least: float = 0.0,
    clock: Callable[[], float] = time.process_time,
) -> Side:
    """Make a side of a function that does ``units`` of work, called until ``least`` seconds are over.

    The clock is that of the processor, so that what other processes take does not count; on more than one core it must be
    that of the wall, ``time.perf_counter``.
    """

    def turn() -> list[float]:
        calls, start = 0, clock()
        while True:
            function()
            calls += 1
            spent = clock() - start
            if spent >= least:
                return [spent / (calls * units)]

    return turn


def in_turns(*sides: Side, rounds: int, warm: bool = True) -> list[list[list[float]]]:
    """Let the sides work in turns, ours, theirs, ours, theirs, and return the seconds of each in each round.

    Whatever slows the machine for a while slows all sides. With ``warm`` each has a turn before that does not count.
    """
    for side in sides if warm else ():
        side()
    taken: list[list[list[float]]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, seconds in zip(sides, taken, strict=True):
            seconds.append(side())
    return taken


def environment() -> dict[str, Any]:
    """Return versions, processor and load, as they are in this process."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    libraries = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = {f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')})" for pool in libraries}
    return {
        "versions": versions,
        "blas": ", ".join(sorted(blas)) or "unknown",
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": load(),
    }


def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        for line in listed.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def load() -> float | None:
    """Return the load average of the last minute, None where the system keeps none."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
