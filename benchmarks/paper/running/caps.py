"""The limits of a cell, and how it ends that exceeds them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import NamedTuple

from mcgta.runtime.sizes import say_size
from measuring.usage import Usage

# By the clock a cell may take this many times its cap, and a minute more, since machines are shared.
_WALL_FACTOR = 6.0
_WALL_SECONDS = 60.0


class End(NamedTuple):
    """How a cell has ended: its status, and what there is to say of it."""

    status: str
    note: str


@dataclass(frozen=True)
class Caps:
    """The limits of a cell.

    Attributes
    ----------
    seconds : of the processor
    wall : seconds by the clock; None for six times ``seconds`` and a minute more, and as many times that as there are
        jobs for each core
    memory : bytes, its children included, looked at ten times a second; None for no limit
    """

    seconds: float = 600.0
    wall: float | None = None
    memory: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("seconds", self.seconds), ("wall", self.wall), ("memory", self.memory)):
            if value is None and name != "seconds":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
                raise ValueError(f"{name}={value!r} is not allowed: {name} must be a finite number > 0")

    def for_jobs(self, jobs: int) -> Caps:
        """Return the caps with a limit by the clock, which depends on how many cells share a core."""
        if self.wall is not None:
            return self
        crowding = max(1.0, jobs / (os.cpu_count() or 1))
        return replace(self, wall=(_WALL_FACTOR * self.seconds + _WALL_SECONDS) * crowding)

    def passed(self, used: Usage, elapsed: float) -> End | None:
        """Return the end of a cell that has taken more than it may; None where it has not."""
        if self.memory is not None and used.memory > self.memory:
            return End("memory", f"held {say_size(used.memory)}, more than {say_size(int(self.memory))}")
        if used.cpu > self.seconds:
            return End("time", f"took more than {self.seconds:g} s of the processor")
        if self.wall is not None and elapsed > self.wall:
            return End("time", f"took more than {self.wall:g} s by the clock")
        return None
