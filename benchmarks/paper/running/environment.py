"""What cells were run with. No dates, so that equal machines give equal texts."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import mcgta
from measuring.environment import installed_memory, package_versions, processor, system

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
_GIT_TIMEOUT = 30  # seconds


def environment() -> dict[str, Any]:
    """Return versions of Python and packages (None where one is not installed), and what the machine is."""
    return {
        "code": code_version(),
        "python": platform.python_version(),
        "packages": package_versions(_PACKAGES),
        "system": system(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory": installed_memory(),
    }


def write_environment(file: Path) -> None:
    """Write it as JSON, beside those of other code, or of other machines and packages, that the file has."""
    here = environment()
    others = _read_environments(file)
    if here not in others:
        file.write_text(json.dumps([*others, here], indent=1) + "\n", encoding="utf-8")


def _read_environments(file: Path) -> list[Any]:
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there, or damaged: it can be written anew
        return []
    return known if isinstance(known, list) else []


def code_version() -> str:
    """Return the version of mcgta and, where it runs from a checkout, the commit; "+" after it says that files differ."""
    package = Path(mcgta.__file__).parent
    benchmarks = Path(__file__).parents[2]
    if not _git(package, "ls-files", "__init__.py"):  # installed, maybe inside the repository of something else
        return mcgta.__version__
    changed = any(
        _git(folder, "status", "--porcelain", "--untracked-files=no", ".") for folder in (package, benchmarks)
    )
    return f"{mcgta.__version__} ({_git(package, 'rev-parse', '--short=10', 'HEAD')}{'+' if changed else ''})"


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=_GIT_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
