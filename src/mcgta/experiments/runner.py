"""Runs cells, each in a process of its own that is held to a time and a size, and writes down each as soon as it is done.

On Linux and macOS a server process, which has imported everything and done nothing, is copied for each cell: that takes
milliseconds, where imports take seconds, and a cell sees nothing of those before it. Elsewhere each cell starts from scratch.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from mcgta.experiments.cells import STATUSES, Cell
from mcgta.experiments.child import THREADS, Solve, work
from mcgta.experiments.environment import code_version, write_environment
from mcgta.experiments.results import Record, add_record, read_records, repair
from mcgta.experiments.usage import Usage, usage_by_group
from mcgta.runtime.sizes import say_size

Progress = Callable[[int, int, Record], None]

_POLL = 0.1  # seconds between looks at what cells have taken
_PATIENCE = 2.0  # seconds that a process may take to end after it has told its result
_WALL = (6.0, 60.0)  # by the clock a cell may take this many times the cap and these seconds more; machines are shared
_MEASURED = (
    *("ari", "ami", "nmi", "ari_singletons", "ari_left_out", "noise", "clusters", "true_clusters", "n", "d"),
    *("params", "tried", "seconds", "total"),
)


def run_cells(
    cells: Sequence[Cell],
    solve: Solve,
    out: str | os.PathLike[str],
    *,
    jobs: int = 2,
    seconds: float = 600.0,
    wall: float | None = None,
    memory: float | None = None,
    again: Collection[str] = (),
    anew: Collection[str] = (),
    fresh: bool = False,
    progress: Progress | None = None,
) -> list[Record]:
    """Run those cells that the file of results does not have yet, and return the records of all.

    Parameters
    ----------
    cells : to be run, in this order
    solve : a function of a module, so that other processes find it; takes a cell
    out : file of results, one JSON object a line; lines of other cells are left alone, ``environment.json`` comes beside it
    jobs : cells that run at the same time, each on one thread
    seconds : of the processor that a cell may take
    wall : seconds by the clock that a cell may take; None for six times ``seconds`` and a minute more, and as many times that
        as there are jobs for each core
    memory : bytes that a cell may hold, its children included; None for no limit. It is looked at ten times a second
    again : cells that have ended with one of these statuses are run again
    anew : keys of cells that are run again, however they have ended
    fresh : whether to run all cells again
    progress : is called with the number of cells done, how many there are to do, and the record, after each cell

    Returns
    -------
    list of dict
        one for each cell, in the order of ``cells``
    """
    _check(solve, jobs=jobs, seconds=seconds, wall=wall, memory=memory, again=again)
    file = Path(out)
    file.parent.mkdir(parents=True, exist_ok=True)
    repair(file)
    known = {} if fresh else {record["key"]: record for record in read_records(file)}
    named = {cell.key: cell for cell in cells}
    left = [cell for key, cell in named.items() if key not in known or known[key]["status"] in again or key in anew]
    if wall is None:
        wall = (_WALL[0] * seconds + _WALL[1]) * max(1.0, jobs / (os.cpu_count() or 1))
    caps = _Caps(seconds, wall, memory)
    if left:
        write_environment(file.with_name("environment.json"))
    code = code_version()
    # Closing ends what runs, at once, whatever interrupts the loop.
    with closing(_run(left, solve, caps, jobs)) as records:
        for number, found in enumerate(records, start=1):
            record = found | {"caps": {"seconds": seconds, "memory": memory}, "code": code}
            add_record(file, record)
            known[record["key"]] = record
            if progress is not None:
                progress(number, len(left), record)
    return [known[cell.key] for cell in cells]


@dataclass(frozen=True)
class _Caps:
    """What a cell may take: seconds of the processor, seconds by the clock, bytes."""

    seconds: float
    wall: float
    memory: float | None

    def passed(self, used: Usage, elapsed: float) -> tuple[str, str] | None:
        """Return the status that follows, and what to say; None where all is well."""
        if self.memory is not None and used.memory > self.memory:
            return "memory", f"held {say_size(used.memory)}, more than {say_size(int(self.memory))}"
        if used.cpu > self.seconds:
            return "time", f"took more than {self.seconds:g} s of the processor"
        if elapsed > self.wall:
            return "time", f"took more than {self.wall:g} s by the clock"
        return None


@dataclass
class _Job:
    """A cell that is running.

    Attributes
    ----------
    known : what its process has told so far
    most : bytes that its group was seen to hold at most
    ended : when it has told its last, or was ended; None before
    """

    cell: Cell
    process: Any
    pipe: Connection
    begun: float
    known: dict[str, Any] = field(default_factory=dict)
    most: int = 0
    ended: float | None = None

    def listen(self) -> None:
        """Take in all that was told."""
        with suppress(EOFError, OSError):  # it has ended, maybe in the middle of a word
            while self.pipe.poll():
                self.known |= self.pipe.recv()
        if "status" in self.known and self.ended is None:
            self.ended = time.monotonic()

    def watch(self, used: Usage, caps: _Caps) -> None:
        """End it if it has taken more than it may."""
        self.most = max(self.most, used.memory)
        over = caps.passed(used, time.monotonic() - self.begun)
        if over is not None and self.ended is None:
            self.kill()
            self.listen()  # what it told before
            if self.ended is None:
                # What the attempt took that was under way belongs to the total, too.
                self.known |= {"status": over[0], "error": over[1], "total": used.cpu}
                self.ended = time.monotonic()

    @property
    def done(self) -> bool:
        """Whether nothing more can come."""
        late = self.ended is not None and time.monotonic() - self.ended > _PATIENCE
        return late or not self.process.is_alive()

    def kill(self) -> None:
        """End the process, and those that it has started."""
        with suppress(ProcessLookupError, PermissionError, AttributeError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()

    def close(self) -> Record:
        """Clean up, and return the record."""
        self.listen()
        elapsed = (self.ended or time.monotonic()) - self.begun
        if self.process.is_alive() or self.process.pid in usage_by_group():
            self.kill()
        self.process.join()
        self.pipe.close()
        return _record(self, elapsed)


def _run(cells: Sequence[Cell], solve: Solve, caps: _Caps, jobs: int) -> Generator[Record, None, None]:
    """Yield the record of each cell when it is done."""
    waiting, running = list(reversed(cells)), list[_Job]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_start(waiting.pop(), solve))
            wait([source for job in running for source in _sources(job)], timeout=_POLL)
            usage = usage_by_group()
            for job in list(running):
                job.listen()
                job.watch(usage.get(job.process.pid, Usage()), caps)
                if job.done:
                    running.remove(job)
                    yield job.close()
    finally:
        for job in running:
            job.kill()
            job.pipe.close()


def _sources(job: _Job) -> list[Any]:
    """What to wait for: something told, until all is told, and the end of the process."""
    return [job.process.sentinel, *([job.pipe] if job.ended is None else [])]


def _start(cell: Cell, solve: Solve) -> _Job:
    if "forkserver" in multiprocessing.get_all_start_methods():
        context: Any = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([work.__module__, solve.__module__])
    else:
        context = multiprocessing.get_context("spawn")
    listener, speaker = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(cell, solve, speaker), daemon=False)
    with _environment(), _undisturbed():
        process.start()
    speaker.close()
    return _Job(cell, process, listener, time.monotonic())


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Put an interrupt off: in the middle of the talk with the server it would leave both with half a word."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[Any] = []
    before = signal.signal(signal.SIGINT, lambda *told: heard.append(told))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard and callable(before):
        before(*heard[0])


@contextmanager
def _environment() -> Iterator[None]:
    """What a new process must find: one thread for each library, and modules in the same places as here."""
    wanted = dict.fromkeys(THREADS, "1") | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _record(job: _Job, elapsed: float) -> Record:
    known = job.known
    status, said = known.get("status"), known.get("error", "")
    if status is None:
        status, said = _died(job.process.exitcode)
    found = known.get("ari") is not None
    if status in ("time", "memory") and found:
        status = "capped"
    elif status == "ok" and not known.get("converged", True):
        status = "not converged"
    elif status == "ok" and not found:
        status, said = "failed", "" if known.get("note") else "there was no attempt with labels"
    return {
        "key": job.cell.key,
        **job.cell.fields(),
        "status": status,
        **dict.fromkeys(_MEASURED),
        "tried": 0,
        "total": 0.0,
        **{name: known[name] for name in _MEASURED if name in known},
        "wall": elapsed,
        "peak": max(job.most, known.get("peak", 0)),
        "peak_before": known.get("peak_before"),
        "note": "; ".join(filter(None, (known.get("note"), said))),
    }


def _died(exitcode: int | None) -> tuple[str, str]:
    """Say why a process has ended that told no reason."""
    if exitcode is None or exitcode >= 0:
        return "failed", f"its process ended with status {exitcode}"
    if -exitcode == getattr(signal, "SIGKILL", None):
        return "memory", "its process was killed from outside, as systems do when memory runs out"
    return "failed", f"its process ended by {signal.Signals(-exitcode).name}"


def _check(
    solve: Solve,
    *,
    jobs: int,
    seconds: float,
    wall: float | None,
    memory: float | None,
    again: Collection[str],
) -> None:
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs={jobs!r} is not allowed: jobs must be an integer >= 1")
    for name, value in (("seconds", seconds), ("wall", wall), ("memory", memory)):
        if value is None and name != "seconds":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
            raise ValueError(f"{name}={value!r} is not allowed: {name} must be a finite number > 0")
    if isinstance(again, str) or not set(again) <= set(STATUSES):
        raise ValueError(f"again={again!r} is not allowed: again must hold some of {', '.join(map(repr, STATUSES))}")
    try:
        pickle.dumps(solve)
    except Exception as error:
        raise ValueError(
            f"solve={solve!r} is not allowed: solve must be a function of a module, so that other processes find it"
        ) from error
