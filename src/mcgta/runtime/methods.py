"""Methods of an estimator work on its threads and report its progress."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from mcgta.runtime.parallel import threads
from mcgta.runtime.progress import reporting

Result = TypeVar("Result")


def with_threads_and_progress(method: Callable[..., Result]) -> Callable[..., Result]:
    """Run a method on the ``n_jobs`` threads of its estimator, reported as its ``progress`` says."""

    @wraps(method)
    def work(self: Any, *args: Any, **options: Any) -> Result:
        with threads(self.n_jobs), reporting(self.progress):
            return method(self, *args, **options)

    return work
