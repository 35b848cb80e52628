"""Runs cells, each in a process of its own that is held to a time and a size, and writes down each as soon as it is done.

On Linux and macOS a server process, which has imported everything and done nothing, is copied for each cell: that takes
milliseconds, where imports take seconds, and a cell sees nothing of those before it. Elsewhere each cell starts from scratch.
"""

from __future__ import annotations

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

from measuring.usage import Usage, usage_by_group
from paper.running.caps import Caps, End
from paper.running.cells import STATUSES, Cell
from paper.running.child import ONE_THREAD, Solve, work
from paper.running.environment import code_version, write_environment
from paper.running.records import Record, add_record, read_records, repair

Progress = Callable[[int, int, Record], None]

_POLL_SECONDS = 0.1  # between looks at what cells have taken
_ENDING_SECONDS = 2.0  # that a process may take to end after it has told its result
_MEASURED = (
    *("ari", "ami", "nmi", "ari_singletons", "ari_left_out", "noise", "clusters", "true_clusters", "n", "d"),
    *("params", "tried", "seconds", "total"),
)


@dataclass(frozen=True)
class Rerun:
    """Cells that are run again although the file of results has them.

    Attributes
    ----------
    again : those that have ended with one of these statuses
    keys : those with these keys, however they have ended
    fresh : whether all of them
    """

    again: Collection[str] = ()
    keys: Collection[str] = ()
    fresh: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.again, str) or not set(self.again) <= set(STATUSES):
            raise ValueError(
                f"again={self.again!r} is not allowed: again must hold some of {', '.join(map(repr, STATUSES))}"
            )

    def asks_for(self, record: Record) -> bool:
        """Whether the cell of a record is run again."""
        return self.fresh or record["status"] in self.again or record["key"] in self.keys


def run_cells(
    cells: Sequence[Cell],
    solve: Solve,
    out: str | os.PathLike[str],
    *,
    jobs: int = 2,
    caps: Caps | None = None,
    rerun: Rerun | None = None,
    progress: Progress | None = None,
) -> list[Record]:
    """Run those cells that the file of results does not have yet, and return the records of all.

    Parameters
    ----------
    cells : to be run, in this order
    solve : a function of a module, so that other processes find it; takes a cell
    out : file of results, one JSON object a line; lines of other cells are left alone, ``environment.json`` comes beside it
    jobs : cells that run at the same time, each on one thread
    caps : of each cell; None for ten minutes of the processor and any amount of memory
    rerun : cells of the file that are run again; None for none
    progress : is called with the number of cells done, how many there are to do, and the record, after each cell

    Returns
    -------
    list of dict
        one for each cell, in the order of ``cells``
    """
    caps = caps or Caps()
    rerun = rerun or Rerun()
    _check(solve, jobs)
    file = Path(out)
    file.parent.mkdir(parents=True, exist_ok=True)
    repair(file)
    known = {} if rerun.fresh else {record["key"]: record for record in read_records(file)}
    named = {cell.key: cell for cell in cells}
    left = [cell for key, cell in named.items() if key not in known or rerun.asks_for(known[key])]
    if left:
        write_environment(file.with_name("environment.json"))
    told = {"caps": {"seconds": caps.seconds, "memory": caps.memory}, "code": code_version()}
    # Closing ends what runs, at once, whatever interrupts the loop.
    with closing(_run(left, solve, caps.for_jobs(jobs), jobs)) as records:
        for number, measured in enumerate(records, start=1):
            record = measured | told
            add_record(file, record)
            known[record["key"]] = record
            if progress is not None:
                progress(number, len(left), record)
    return [known[cell.key] for cell in cells]


@dataclass
class _Job:
    """A cell that is running.

    Attributes
    ----------
    known : entries of its record that its process has told so far
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

    def watch(self, used: Usage, caps: Caps) -> None:
        """End it if it has taken more than it may."""
        self.most = max(self.most, used.memory)
        end = caps.passed(used, time.monotonic() - self.begun)
        if end is not None and self.ended is None:
            self.kill()
            self.listen()  # what it told before
            if self.ended is None:
                # What the attempt took that was under way belongs to the total, too.
                self.known |= {"status": end.status, "error": end.note, "total": used.cpu}
                self.ended = time.monotonic()

    @property
    def done(self) -> bool:
        """Whether nothing more can come."""
        late = self.ended is not None and time.monotonic() - self.ended > _ENDING_SECONDS
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


def _run(cells: Sequence[Cell], solve: Solve, caps: Caps, jobs: int) -> Generator[Record, None, None]:
    """Yield the record of each cell when it is done."""
    waiting = list(reversed(cells))
    running: list[_Job] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                with _undisturbed():  # so that an interrupt finds the new process among those to be ended
                    running.append(_start(waiting.pop(), solve))
            wait([source for job in running for source in _sources(job)], timeout=_POLL_SECONDS)
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
    """Return what to wait for: something told, until all is told, and the end of the process."""
    return [job.process.sentinel, *([job.pipe] if job.ended is None else [])]


def _start(cell: Cell, solve: Solve) -> _Job:
    if "forkserver" in multiprocessing.get_all_start_methods():
        context: Any = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([work.__module__, solve.__module__])
    else:
        context = multiprocessing.get_context("spawn")
    listener, speaker = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(cell, solve, speaker), daemon=False)
    with _environment():
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
    """Set what a new process must find: one thread for each library, and modules in the same places as here."""
    wanted = ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
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
    end = _end(known, job.process.exitcode)
    return {
        "key": job.cell.key,
        **job.cell.fields(),
        "status": end.status,
        **dict.fromkeys(_MEASURED),
        "tried": 0,
        "total": 0.0,
        **{name: known[name] for name in _MEASURED if name in known},
        "wall": elapsed,
        "peak": max(job.most, known.get("peak", 0)),
        "peak_before": known.get("peak_before"),
        "note": "; ".join(filter(None, (known.get("note"), end.note))),
    }


def _end(known: dict[str, Any], exitcode: int | None) -> End:
    """Return how a cell has ended, from what its process told and how that ended."""
    end = End(known["status"], known.get("error", "")) if "status" in known else _died(exitcode)
    has_labels = known.get("ari") is not None
    if end.status in ("time", "memory") and has_labels:
        return End("capped", end.note)
    if end.status == "ok" and not known.get("converged", True):
        return End("not converged", end.note)
    if end.status == "ok" and not has_labels:
        return End("failed", "" if known.get("note") else "there was no attempt with labels")
    return end


def _died(exitcode: int | None) -> End:
    """Say why a process has ended that told no reason."""
    if exitcode is None or exitcode >= 0:
        return End("failed", f"its process ended with status {exitcode}")
    if -exitcode == getattr(signal, "SIGKILL", None):
        return End("memory", "its process was killed from outside, as systems do when memory runs out")
    return End("failed", f"its process ended by {signal.Signals(-exitcode).name}")


def _check(solve: Solve, jobs: int) -> None:
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs={jobs!r} is not allowed: jobs must be an integer >= 1")
    try:
        pickle.dumps(solve)
    except Exception as error:
        raise ValueError(
            f"solve={solve!r} is not allowed: solve must be a function of a module, so that other processes find it"
        ) from error
