"""Work that is stopped when it has taken too much of the processor."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTime(BaseException):
    """The time is up. No exception of the usual kind, so that nothing that is run takes it for one of its own."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise :class:`OutOfTime` in the block when the process has taken that many seconds of the processor in it.

    The block must run in the main thread. Compiled code is not interrupted: the exception comes when it returns to Python.
    """

    def stop(*_: object) -> None:
        raise OutOfTime(f"cut at {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
