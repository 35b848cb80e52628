"""The standard streams and what is written to them or to files: closed streams and full disks are told in words."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mcgta.cli.failures import refused, unusable

STANDARD = "-"
"""The name of standard input and output."""

_LAST_STANDARD_STREAM = 2


def prepare_streams() -> None:
    """Make the standard streams safe to use: closed ones take no numbers of files, and what has no code is written out."""
    with suppress(OSError):
        number = os.open(os.devnull, os.O_RDWR)
        while number <= _LAST_STANDARD_STREAM:
            number = os.open(os.devnull, os.O_RDWR)
        os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the program
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def check_standard_input() -> None:
    """Refuse to read a standard input that is closed."""
    if sys.stdin is None:
        raise unusable("standard input is closed")


def check_standard_output() -> None:
    """Refuse to write to a standard output that is closed."""
    if sys.stdout is None:
        raise refused("standard output is closed")


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Name the file, or standard output, where writing to it fails; a reader that has seen enough is left to the program."""
    if path == STANDARD:
        check_standard_output()
    try:
        yield
    except (BrokenPipeError, FileExistsError):
        raise
    except OSError as error:
        said = "standard output" if path == STANDARD else path
        raise refused(f"{said} cannot be written: {error.strerror or error}") from error


def flush_standard_output() -> None:
    """Write what is left for standard output."""
    if sys.stdout is not None:
        with writing(STANDARD):
            sys.stdout.flush()


def forget_standard_output() -> None:
    """Let nothing be written to standard output any more, so that Python does not fail on what is left at its end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
