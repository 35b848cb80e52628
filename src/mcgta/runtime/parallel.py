"""Running independent pieces of work on threads, in a fixed order, without fighting BLAS for the cores."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import count
from queue import Empty, SimpleQueue
from threading import RLock, Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

from mcgta.runtime.config import config_context, get_config
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array

_MIN_DIAGONAL_TILE_ROWS = 32
_INTERRUPT_SECONDS = 0.5  # that an interrupt waits for threads to finish their tasks

Task = TypeVar("Task")
Result = TypeVar("Result")


class _Blas:
    """Keeps BLAS to one thread while any thread of this package is at work, and then gives it back.

    A fork waits until the limits are settled, and the child, in which no thread is at work, begins with BLAS given back.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._users = 0
        self._process = os.getpid()
        self._controller: ThreadpoolController | None = None
        self._limit: Any = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._begin_in_child,
            )

    def _begin_in_child(self) -> None:
        try:
            if self._users:
                self._limit.restore_original_limits()
        finally:
            self._users = 0
            self._process = os.getpid()
            self._lock.release()

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                # Looking for the libraries takes milliseconds, so it is done once.
                self._controller = self._controller or ThreadpoolController()
                self._limit = self._controller.limit(limits=1)
            self._users += 1
            process = self._process
        try:
            yield
        finally:
            with self._lock:
                if process == self._process:  # else a fork within has ended it in the child
                    self._users -= 1
                    if self._users == 0:
                        self._limit.restore_original_limits()


_blas = _Blas()
_threads: ContextVar[int | None] = ContextVar("threads to work on", default=None)


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Let the code within work on this many threads, as scikit-learn counts them; by default it is one."""
    token = _threads.set(n_jobs)
    try:
        yield
    finally:
        _threads.reset(token)


def thread_count() -> int:
    """Return how many threads to work on."""
    return int(effective_n_jobs(_threads.get()))


def run(function: Callable[[Task], Result], tasks: Sequence[Task], *, processes: bool = False) -> Iterator[Result]:
    """Yield ``function(task)`` for each task, in the order of the tasks.

    The pieces, and so every bit of the result, are the same whatever the number of :func:`threads`.
    """
    workers = min(thread_count(), max(len(tasks), 1))
    if workers == 1:
        with _blas.one_thread():
            results: Iterable[Any] = map(function, tasks)
            yield from results
        return
    with _blas.one_thread():
        if processes:
            yield from Parallel(n_jobs=workers, return_as="generator")(delayed(function)(task) for task in tasks)
            return
        yield from _share_out(function, tasks, workers)


class _Crew:
    """Threads that wait for work, started when first needed and kept: starting one takes as long as small work."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None]]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._idle.clear)  # threads do not survive a fork

    def ask(self, work: Callable[[], None]) -> None:
        """Let one of them do this work, which must not raise."""
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = SimpleQueue()
            Thread(target=self._serve, args=(inbox,), name="mcgta", daemon=True).start()
        inbox.put(work)

    def _serve(self, inbox: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            inbox.get()()
            self._idle.append(inbox)


_crew = _Crew()


class _Finished(NamedTuple):
    """A task that is done: its number, and its result or its error."""

    task: int
    result: Any
    error: BaseException | None


def _share_out(function: Callable[[Task], Result], tasks: Sequence[Task], workers: int) -> Iterator[Result]:
    """Work on the tasks together with ``workers - 1`` other threads; each that is free takes the next.

    An interrupt (Ctrl-C) reaches this thread only, once the task it works on is done, so tasks should be short. The others are
    then given a moment to finish theirs; one that takes longer ends in the background, in arrays that are not used any more.
    The options of :func:`mcgta.runtime.config.get_config` are the same on all of them.
    """
    turn = count()
    finished: SimpleQueue[_Finished] = SimpleQueue()
    left: SimpleQueue[None] = SimpleQueue()
    options = vars(get_config())
    stopped = False

    def work_on_next() -> bool:
        task = next(turn)
        if stopped or task >= len(tasks):
            return False
        try:
            finished.put(_Finished(task, function(tasks[task]), None))
        except Exception as error:
            finished.put(_Finished(task, None, error))
            return False
        return True

    def work() -> None:
        try:
            with config_context(**options):
                while work_on_next():
                    pass
        except BaseException as error:  # such as SystemExit, which is for the caller to deal with
            finished.put(_Finished(-1, None, error))
        left.put(None)

    early: dict[int, Any] = {}
    asked = 0
    patience: float | None = None
    try:
        for _ in range(workers - 1):
            _crew.ask(work)
            asked += 1
        for wanted in range(len(tasks)):
            while wanted not in early:
                if finished.empty():
                    work_on_next()
                done = finished.get()
                if done.error is not None:
                    raise done.error
                early[done.task] = done.result
            yield early.pop(wanted)
    except BaseException as error:
        patience = None if isinstance(error, Exception) else _INTERRUPT_SECONDS
        raise
    finally:  # after an error, or where no more results are wanted, nothing more is begun
        stopped = True
        until = time.monotonic() + (patience or 0.0)
        with suppress(Empty):
            for _ in range(asked):
                left.get(timeout=None if patience is None else max(until - time.monotonic(), 0.0))


def tiles(count: int, size: int) -> list[slice]:
    """Cut ``range(count)`` into slices of at most ``size``."""
    return [slice(start, min(count, start + size)) for start in range(0, count, size)]


def short_tile(d: int, most: int = 8192) -> int:
    """Return the rows of d x d matrices to work on at a time, few enough that Ctrl-C is noticed within a second."""
    return min(most, max(64, 10**8 // d**4 // 64 * 64))


def tapered(count: int, size: int, least: int) -> list[slice]:
    """Cut ``range(count)`` into slices that shrink, within limits, so that threads have few of them and finish together.

    Only for work that comes out the same however it is cut.
    """
    share = 2 * thread_count()
    parts = []
    start = 0
    while start < count:
        stop = min(count, start + min(size, max(least, (count - start) // share)))
        parts.append(slice(start, stop))
        start = stop
    return parts


def triangle(count: int, size: int) -> list[tuple[slice, slice]]:
    """Return the tiles (rows, columns) of a square table that lie on or above its diagonal."""
    parts = tiles(count, size)
    return [(rows, cols) for k, rows in enumerate(parts) for cols in parts[k:]]


def symmetric_table(
    between: Callable[[slice, slice], Array],
    count: int,
    tile: int,
    *,
    name: str,
) -> Array:
    """Fill a symmetric table with zero diagonal from a function of its tiles, computing each pair once."""
    table = np.empty((count, count))
    pieces = triangle(count, tile)

    def fill(piece: tuple[slice, slice]) -> None:
        rows, cols = piece
        size = rows.stop - rows.start
        if rows == cols and size > _MIN_DIAGONAL_TILE_ROWS:  # halves, so that little below the diagonal is computed
            middle = rows.start + size // 2
            before = slice(rows.start, middle)
            behind = slice(middle, rows.stop)
            for quarter in ((before, before), (before, behind), (behind, behind)):
                fill(quarter)
            return
        values = between(rows, cols)
        if rows == cols:
            above = np.triu(values, 1)
            values = above + above.T
        table[rows, cols] = values
        table[cols, rows] = values.T

    with stage(name, len(pieces)) as advance:
        for _ in run(fill, pieces):
            advance(1)
    return table
