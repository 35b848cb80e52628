"""CLaP, asked of a process in the environment that claspy has to itself: its requirements are not those of this package."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from measuring.timebox import OutOfTime
from problems.problem import Problem

BENCHMARKS = Path(__file__).parent.parent

_WALL_FACTOR = 4.0  # seconds by the clock for each of the processor, since machines are shared
_WARM_SECONDS = 240.0  # that compiling may take, by the clock


class NotInstalledError(Exception):
    """The environment is not there."""


class ClapProcess:
    """The process that is asked; it is started anew after it had to be stopped."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.stop)

    def ask(self, problem: Problem, seconds: float) -> dict[str, Any]:
        """Return the answer of :mod:`peers.clap_server`; groups follow one another as one series."""
        first = self._process is None
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "series.npy")
            np.save(file, problem.X)
            process = self._process = self._process or _start()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{file} {seconds:g}\n".encode())
            process.stdin.flush()
            patience = _WALL_FACTOR * seconds + _WARM_SECONDS * first
            if not select.select([process.stdout], [], [], patience)[0]:
                self.stop()
                raise OutOfTime(f"cut at {patience:g} s by the clock")
            line = process.stdout.readline()
            if not line:
                self.stop()
                raise RuntimeError("the process of claspy has ended")
            return dict(json.loads(line))

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


@lru_cache
def clap_process() -> ClapProcess:
    """Return the process of this one."""
    return ClapProcess()


def environment_folder() -> Path:
    """Return the folder of the environment, which ``make .venv-peers`` sets up, or that of the variable PEERS."""
    return Path(os.environ.get("PEERS", BENCHMARKS.parent / ".venv-peers")).absolute()


def _start() -> subprocess.Popen[bytes]:
    folder = environment_folder()
    if not any(folder.glob("lib/*/site-packages/claspy")):
        raise NotInstalledError("claspy is not installed: make .venv-peers")
    threads = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    return subprocess.Popen(
        [str(folder / "bin" / "python"), "-W", "ignore", "-m", "peers.clap_server"],
        cwd=BENCHMARKS,
        env={**os.environ, **threads},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
