"""Telling people what is going on: one line a stage, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Listener = Callable[[str, float], None]
Advance = Callable[[int], None]

_EVERY = 0.2


class Progress:
    """Reports stages.

    Parameters
    ----------
    show : False for silence, True for lines on standard error, or a function called with the stage's name and the
        share done (0 at its start, 1 at its end)
    stream : where lines go
    """

    def __init__(self, show: bool | Listener = False, stream: TextIO | None = None) -> None:
        self._show = show
        self._stream = stream

    @contextmanager
    def stage(self, name: str, total: int = 1) -> Iterator[Advance]:
        """Announce a stage of ``total`` steps; the body calls the yielded function with the steps it has done."""
        begun = last = time.perf_counter()
        done = 0

        def advance(steps: int) -> None:
            nonlocal done, last
            done += steps
            now = time.perf_counter()
            if now - last >= _EVERY and done < total:
                last = now
                self._tell(name, done / total, now - begun)

        self._tell(name, 0.0, 0.0)
        yield advance
        self._tell(name, 1.0, time.perf_counter() - begun)

    def _tell(self, name: str, share: float, elapsed: float) -> None:
        if callable(self._show):
            self._show(name, share)
        elif self._show:
            stream = self._stream or sys.stderr
            live = stream.isatty()
            if share < 1 and not live:
                return
            tail = f"{elapsed:6.1f} s" if share == 1 else f"{share:6.0%}"
            stream.write(f"{chr(13) if live else ''}mcgta: {name:<16} {tail}{chr(10) if share == 1 else ''}")
            stream.flush()
