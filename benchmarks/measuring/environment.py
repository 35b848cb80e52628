"""What a benchmark was run with: versions, processor, cores, memory and load."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

_PACKAGES = ("mcgta", "numpy", "scipy", "scikit-learn", "numba", "llvmlite", "POT")


def environment() -> dict[str, Any]:
    """Return versions, processor and load, as they are in this process."""
    libraries = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = {f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')})" for pool in libraries}
    versions = {name: number or "not installed" for name, number in package_versions(_PACKAGES).items()}
    return {
        "versions": {"python": platform.python_version(), **versions},
        "blas": ", ".join(sorted(blas)) or "unknown",
        "system": system(),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": load_average(),
    }


def package_versions(names: Iterable[str]) -> dict[str, str | None]:
    """Return the versions of packages; None where one is not installed."""
    versions: dict[str, str | None] = {}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def system() -> str:
    """Return the names of the operating system and of the machine."""
    return f"{platform.system()} {platform.machine()}"


def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def installed_memory() -> int | None:
    """Return the bytes installed, None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def load_average() -> float | None:
    """Return the load average of the last minute, None where the system keeps none."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
