"""Running things on some threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mcgta.runtime.parallel import threads

Result = TypeVar("Result")


def on_threads(count: int, work: Callable[[], Result]) -> Result:
    """Return what a function returns, at work on so many threads."""
    with threads(count):
        return work()
