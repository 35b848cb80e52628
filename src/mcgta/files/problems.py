"""What can be wrong with a file, said with the line and the column."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

MAX_SHOWN_CHARACTERS = 40
"""Characters of a cell that a message shows."""


class FileProblem(ValueError):  # noqa: N818  # the file is at fault, which is said in words
    """A file cannot be used as it is; the message says where in it, and what would be right."""


class UnknownFormat(FileProblem):
    """The suffix of a path stands for no format, or for one that cannot be read or written."""


class AmbiguousRoles(FileProblem):
    """More than one column could have a role, so that the user has to say which.

    Attributes
    ----------
    role : "time", "position", "lon", "lat", "x", "y" or "z"
    candidates : the columns that could have it
    flags : for each candidate the flags of the command line that decide for it
    """

    def __init__(self, role: str, candidates: tuple[str, ...], flags: tuple[str, ...], said: str = "") -> None:
        self.role = role
        self.candidates = candidates
        self.flags = flags
        counted = {2: "two", 3: "three"}.get(len(candidates), str(len(candidates)))
        super().__init__(said or f"{counted} columns could be the {role}: {', '.join(candidates)}")


def show(text: str) -> str:
    """Return a cell as a message shows it: quoted, and cut where it is long."""
    return repr(text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}...")


def say_flag(flag: str, *columns: str) -> str:
    """Return a flag with the names of columns, as typed in a shell."""
    value = shlex.quote(",".join(columns))
    return f"--{flag}={value}" if value.startswith("-") else f"--{flag} {value}"


def need(package: str, user: str, extra: str) -> Any:
    """Return an optional package.

    Raises
    ------
    ImportError
        where it is not installed, with the way to install it
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"{user} needs {package.split('.')[0]}: pip install 'mcgta[{extra}]'") from error


@contextmanager
def explaining(name: str, kind: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Turn the errors of a library that reads a damaged file into a :class:`FileProblem` that names the file."""
    try:
        yield
    except (FileProblem, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except errors as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileProblem(f"{name}: damaged, or not {kind} ({reason})") from error
