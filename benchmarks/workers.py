"""Processes that measure problems side by side, and hand back their results in the order asked for."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from threadpoolctl import threadpool_limits

from mcgta import MCGTA
from mcgta.datasets import make_regions, make_series
from problems.auto_sets import ALL
from problems.sources import Key
from runs import Extent, Run, measure

WARM_ROWS = 2500  # of the fits before, which read the kernels from their cache


@dataclass(frozen=True)
class Task:
    """A problem, the settings of the estimator, and what is measured."""

    key: Key
    settings: tuple[tuple[str, Any], ...]
    extent: Extent
    folder: Path
    share: float

    def run(self) -> Run:
        """Make the problem and measure it."""
        problem = ALL[self.key.data].make(self.key, self.folder, self.share)
        return measure(problem, dict(self.settings), self.extent)


class Workers:
    """Processes, each of which measures one problem at a time on one thread; with a single job, this process itself."""

    def __init__(self, jobs: int) -> None:
        if jobs < 1:
            raise ValueError(f"jobs={jobs} is not allowed: jobs must be at least 1")
        self._jobs = jobs
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def measure(self, tasks: Sequence[Task]) -> Iterator[Run]:
        """Yield the run of each task, in their order."""
        if self._jobs == 1:
            _prepare()
            yield from map(Task.run, tasks)
            return
        context = multiprocessing.get_context("spawn")
        pool = self._stack.enter_context(ProcessPoolExecutor(self._jobs, context, initializer=_prepare))
        yield from pool.map(Task.run, tasks)


def _prepare() -> None:
    """Have one thread, no warnings, and the kernels ready, so that no fit that is timed waits for them."""
    threadpool_limits(limits=1)
    warnings.simplefilter("ignore")
    for sample in (make_series(WARM_ROWS), make_regions(WARM_ROWS)):
        MCGTA(n_jobs=1, progress=False).fit(sample.X, positions=sample.positions)
