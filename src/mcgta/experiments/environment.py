"""What results were computed with: versions, processor, cores and memory. No dates, so equal machines give equal texts."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "gstools",
    "joblib",
    "fast-ticc",
    "tslearn",
    "spopt",
    "hmmlearn",
    "ruptures",
)


def environment() -> dict[str, Any]:
    """Return versions of Python and packages (None where one is not installed), and what the machine is."""
    return {
        "code": code_version(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": _memory(),
    }


def write_environment(file: Path) -> None:
    """Write it as JSON, beside those of other code, or of other machines and packages, that the file has."""
    here, others = environment(), _read_environments(file)
    if here not in others:
        file.write_text(json.dumps([*others, here], indent=1) + "\n", encoding="utf-8")


def _read_environments(file: Path) -> list[Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there, or damaged: it can be written anew
        return []
    return found if isinstance(found, list) else []


def code_version() -> str:
    """Return the version of mcgta and, where it runs from a checkout, the commit; "+" after it says that files differ."""
    folder, number = Path(__file__).parent, version("mcgta")
    if not _git(folder, "ls-files", Path(__file__).name):  # installed, maybe inside the repository of something else
        return number
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "..")
    return f"{number} ({_git(folder, 'rev-parse', '--short=10', 'HEAD')}{'+' if changed else ''})"


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _memory() -> int | None:
    """Bytes installed, if the system says."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
