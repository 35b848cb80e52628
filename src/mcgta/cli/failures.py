"""What can go wrong in a command: exit codes, and errors in words that a person can act on."""

from __future__ import annotations

import errno
import traceback
from typing import NamedTuple

OK = 0
BUG = 1
USAGE = 2
UNUSABLE = 3
REFUSED = 4
INTERRUPTED = 130

EXIT_CODES = {
    OK: "done",
    BUG: "a bug in mcgta",
    USAGE: "the command cannot be meant so, or more than one meaning is possible",
    UNUSABLE: "the data cannot be read or clustered",
    REFUSED: "refused: a file exists, cannot be written, or memory would not suffice",
    INTERRUPTED: "interrupted by Ctrl-C",
}
"""What each exit code means."""

_TEACHING_MODULES = ("mcgta", "sklearn.utils.validation")
"""Modules whose ValueErrors are about what the user gave; one from elsewhere is a bug."""


class Failure(NamedTuple):
    """How a command ends that could not be done.

    Attributes
    ----------
    code : exit code
    message : what was wrong
    hint : what to do about it, a line; "" without
    """

    code: int
    message: str
    hint: str = ""


class CommandError(Exception):
    """A command that cannot be done, for a reason that is known."""

    def __init__(self, code: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.failure = Failure(code, message, hint)


def usage_error(message: str, hint: str = "") -> CommandError:
    """Return the error of a command that cannot be meant so."""
    return CommandError(USAGE, message, hint)


def unusable(message: str, hint: str = "") -> CommandError:
    """Return the error of data that cannot be used."""
    return CommandError(UNUSABLE, message, hint)


def refused(message: str, hint: str = "") -> CommandError:
    """Return the error of something that would do harm."""
    return CommandError(REFUSED, message, hint)


def explain(error: BaseException) -> Failure:
    """Return how a command ends by an error."""
    if isinstance(error, CommandError):
        return error.failure
    if isinstance(error, KeyboardInterrupt):
        return Failure(INTERRUPTED, "interrupted")
    if isinstance(error, MemoryError):
        return Failure(REFUSED, str(error) or "memory does not suffice", "--max-memory sets how much may be used")
    if isinstance(error, ImportError) and "pip install" in str(error):
        return Failure(UNUSABLE, str(error))
    if isinstance(error, OSError) and error.errno is not None:
        return _explain_system(error)
    if isinstance(error, ValueError) and _teaches(error):
        return Failure(UNUSABLE, "\n  ".join([str(error), *getattr(error, "__notes__", ())]))
    return Failure(
        BUG,
        f"a bug in mcgta: {type(error).__name__}: {error}",
        "please report it where you have mcgta from, with the command and what it prints with --debug",
    )


def _explain_system(error: OSError) -> Failure:
    """Say what the operating system has refused."""
    where = f"{error.filename}: " if error.filename is not None else ""
    reason = error.strerror or type(error).__name__
    if error.errno in (errno.ENOENT, errno.EISDIR, errno.ENOTDIR):
        return Failure(UNUSABLE, f"{where}{reason}")
    return Failure(REFUSED, f"{where}{reason}")


def _teaches(error: ValueError) -> bool:
    """Whether an error was raised by a check of what the user gave, as opposed to deep in the numerics."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    module = frames[-1].f_globals.get("__name__", "") if frames else ""
    return any(module == name or module.startswith(f"{name}.") for name in _TEACHING_MODULES)
