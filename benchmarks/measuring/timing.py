"""Two sides measured in turns."""

from __future__ import annotations

import time
from collections.abc import Callable

Side = Callable[[], list[float]]
"""One turn of one side: does the work and returns the seconds a unit, one number for each time it looked at the clock."""


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
        calls = 0
        start = clock()
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
