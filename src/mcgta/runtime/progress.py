"""Progress on standard error: a live bar on a terminal, lines in a log."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, RLock, Thread
from typing import ClassVar, TextIO

Listener = Callable[[str, float], None]
Advance = Callable[[int], None]

_DRAW_SECONDS = 0.2  # between two drawings of a bar, and two calls of a listener
_QUIET_SECONDS = 2.0  # a stage that is over sooner needs no bar
_LOG_SECONDS = 10.0
_NAME_WIDTH = 16
_BLOCKS = " ▏▎▍▌▋▊▉█"
_ASCII_BLOCKS = "-#"
_MAX_BAR_WIDTH = 40


class Progress:
    """Reports the stages of one fit.

    Parameters
    ----------
    show : False for silence; True for a live bar where the stream is a terminal, and otherwise a line for each finished stage
        and, for stages longer than two seconds, one every ten seconds; "auto" for silence during the first two seconds, then
        as True on a terminal and silence elsewhere; "bar" for the bar of "auto" without the lines, so that nothing is left of
        it; or a function called with the stage's name and the share done (0 at its start, 1 at its end)
    stream : where lines go; standard error by default
    """

    def __init__(self, show: bool | str | Listener = False, stream: TextIO | None = None) -> None:
        self._listener = show if callable(show) else None
        patient = show in ("auto", "bar")
        self._lines = _Lines(stream, patient, fleeting=show == "bar") if self._listener is None and show else None

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Advance]:
        """Announce a stage of ``total`` steps; the body calls the yielded function with the steps it has done.

        Without a total, or before the first step, nothing is said of the share done.
        """
        if self._listener is not None:
            yield from _listen(self._listener, name, total)
        elif self._lines is not None and self._lines.stream is not None:
            yield from self._lines.follow(_Stage(name, total))
        else:
            yield ignore

    def note(self, text: str) -> None:
        """Show a remark of one line, in order with the stages; it is dropped where no lines are shown."""
        if self._lines is not None and self._lines.stream is not None:
            self._lines.note(text)


_SILENT = Progress()
_current: ContextVar[Progress] = ContextVar("what is reported to", default=_SILENT)


@contextmanager
def reporting(show: bool | str | Listener) -> Iterator[None]:
    """Report the stages within as :class:`Progress` does; by default they are silent."""
    token = _current.set(Progress(show))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def stage(name: str, total: int | None = None) -> Iterator[Advance]:
    """Announce a stage of ``total`` steps, as :meth:`Progress.stage` does; stages within it are silent."""
    with _current.get().stage(name, total) as advance:
        token = _current.set(_SILENT)
        try:
            yield advance
        finally:
            _current.reset(token)


def note(text: str) -> None:
    """Show a remark of one line; see :meth:`Progress.note`."""
    _current.get().note(text)


def ignore(steps: int) -> None:
    """Do nothing: the steps of a silent stage."""


def _listen(listener: Listener, name: str, total: int | None) -> Iterator[Advance]:
    done = 0
    last = time.perf_counter()

    def advance(steps: int) -> None:
        nonlocal done, last
        done += steps
        now = time.perf_counter()
        if total and done < total and now - last >= _DRAW_SECONDS:
            last = now
            listener(name, done / total)

    listener(name, 0.0)
    yield advance
    listener(name, 1.0)


class _Stage:
    """A stage and how far it is."""

    def __init__(self, name: str, total: int | None) -> None:
        self.name = name
        self.total = total
        self.done = 0
        self.begun = time.perf_counter()

    def advance(self, steps: int) -> None:
        self.done += steps

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.begun

    @property
    def share(self) -> float | None:
        return min(self.done / self.total, 1.0) if self.total and self.done else None

    @property
    def times(self) -> str:
        """The time it has taken, and the time left at this pace."""
        share = self.share
        elapsed = self.elapsed
        left = f", {_clock(elapsed / share - elapsed)} left" if share else ""
        return _clock(elapsed) + left


class _Watcher:
    """A thread that looks after the stages under way, so that time goes on where a stage has no steps.

    Started when first needed and kept, asleep while there is nothing to look after: stages can be very short.
    """

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)  # threads do not survive a fork

    def _begin(self) -> None:
        self._looks: list[Callable[[], None]] = []
        self._wake = Event()
        self._thread: Thread | None = None

    def add(self, look: Callable[[], None]) -> None:
        """Call this every now and then, until it is removed."""
        self._looks.append(look)
        if self._thread is None:
            self._thread = Thread(target=self._serve, name="mcgta-progress", daemon=True)
            self._thread.start()
        self._wake.set()

    def remove(self, look: Callable[[], None]) -> None:
        if look in self._looks:
            self._looks.remove(look)

    def _serve(self) -> None:
        while self._wake.wait():
            time.sleep(_DRAW_SECONDS)
            for look in self._looks.copy():
                look()
            if not self._looks:
                self._wake.clear()
                if self._looks:  # added just now
                    self._wake.set()


_watcher = _Watcher()


class _Lines:
    """Writes lines and draws bars.

    One lock serves all of them; a child process begins with a new one, since a thread that is gone may have held it.
    """

    lock: ClassVar[RLock] = RLock()

    def __init__(self, stream: TextIO | None, patient: bool, *, fleeting: bool) -> None:
        self.stream = sys.stderr if stream is None else stream
        self._live = _is_terminal(self.stream)
        if patient and not self._live:
            self.stream = None
        self._from = time.perf_counter() + _QUIET_SECONDS if patient else -float("inf")
        self._fleeting = fleeting
        self._held: list[str] = []
        self._drawn = 0

    @classmethod
    def renew_lock(cls) -> None:
        cls.lock = RLock()

    def follow(self, stage: _Stage) -> Iterator[Advance]:
        over = False
        due = stage.begun + _QUIET_SECONDS

        def look() -> None:
            nonlocal due
            with self.lock:
                if over or not self._speaks():
                    return
                if self._live:
                    self._draw(stage)
                elif time.perf_counter() >= due:
                    due = time.perf_counter() + _LOG_SECONDS
                    share = "" if stage.share is None else f"{stage.share:.0%}, "
                    self._write(f"{stage.name:<{_NAME_WIDTH}} {share}{stage.times}")

        stopped = "stopped after "
        _watcher.add(look)
        try:
            yield stage.advance
            stopped = ""
        finally:
            _watcher.remove(look)
            with self.lock:
                over = True
                if self._speaks():
                    share = f" at {stage.share:.0%}" if stopped and stage.share else ""
                    self._write(f"{stage.name:<{_NAME_WIDTH}} {stopped}{stage.elapsed:6.1f} s{share}")

    def note(self, text: str) -> None:
        with self.lock:
            if self._fleeting:
                return
            if self._speaks():
                self._write(text)
            else:
                self._held.append(text)

    def _speaks(self) -> bool:
        return self.stream is not None and time.perf_counter() >= self._from

    def _write(self, text: str) -> None:
        """Write a line, after those held back, in place of the bar; where that is to leave nothing, only wipe it."""
        if self._fleeting:
            self._send(self._wipe())
            return
        lines = [f"mcgta: {line}\n" for line in (*self._held, text)]
        self._held.clear()
        self._send(self._wipe() + "".join(lines))

    def _draw(self, stage: _Stage) -> None:
        if self.stream is None:
            return
        if self._held:
            self._write(self._held.pop())
        line = _bar(stage, _columns(self.stream) - 1, blocks=_can_print(self.stream, _BLOCKS))
        # The cursor waits at the beginning of the line, so that whatever others print begins there.
        self._send(f"\r{line:<{self._drawn}}\r")
        self._drawn = len(line)

    def _wipe(self) -> str:
        drawn = self._drawn
        self._drawn = 0
        return f"\r{' ' * drawn}\r" if drawn else ""

    def _send(self, text: str) -> None:
        try:
            if self.stream is not None:
                self.stream.write(text)
                self.stream.flush()
        except (OSError, ValueError):  # the stream is closed: a fit does not fail for that
            self.stream = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Lines.renew_lock)


def _bar(stage: _Stage, width: int, *, blocks: bool) -> str:
    """One line, no wider than ``width``."""
    head = f"mcgta: {stage.name:<{_NAME_WIDTH}} "
    tail = stage.times
    if stage.share is not None:
        tail = f" {stage.share:4.0%}  {tail}"
        room = min(width - len(head) - len(tail), _MAX_BAR_WIDTH)
        if room > 2:
            head += (
                _filled(stage.share, room, _BLOCKS) if blocks else f"[{_filled(stage.share, room - 2, _ASCII_BLOCKS)}]"
            )
    return (head + tail)[: max(width, 0)]


def _filled(share: float, width: int, steps: str) -> str:
    """Cells from empty to full, the one on the border in between as far as ``steps`` go."""
    full, part = divmod(int(share * width * (len(steps) - 1)), len(steps) - 1)
    border = steps[part] if full < width else ""
    return steps[-1] * full + border + steps[0] * (width - full - len(border))


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # closed
        return False


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return shutil.get_terminal_size().columns


def _can_print(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
