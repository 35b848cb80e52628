"""Files that are replaced as a whole: readers see the old content or the new one, never a part."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
_PRIVATE = 0o600  # until the mode of the file that is replaced has been set


def special_kind(mode: int) -> str | None:
    """Return what a path is that is not a regular file, in words; None for a regular file."""
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "a special file")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` once the block has ended without an error.

    A symbolic link is followed. The mode and, where that is permitted, the owner of an existing file are kept. The new
    content is written beside the target under a name that ends in ``.part``. Such files are removed after an error, and
    those that killed processes of this machine left behind by the next replacement of the same target.

    Raises
    ------
    ValueError
        where ``path`` is a device, a pipe, a socket or a folder
    """
    older = _existing(path)
    target = Path(os.path.realpath(path))
    _remove_stale_parts(target)
    # Named before it is there, so that an interrupt at any time can clean up.
    part = target.with_name(f".{target.name}.{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb", opener=None if older is None else _open_private) as file:
            yield file
        if older is not None:
            _take_over(part, older)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _existing(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the state of the file that is replaced, None where there is none; refuse special files."""
    try:
        older = os.stat(path)
    except FileNotFoundError:
        return None
    kind = special_kind(older.st_mode)
    if kind is not None:
        raise ValueError(f"path={os.fspath(path)!r} is {kind}; it must be a regular file, or the name of a new one")
    return older


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, _PRIVATE)


def _take_over(part: Path, older: os.stat_result) -> None:
    """Give a new file the owner and the mode of the older one."""
    new = part.stat()
    if hasattr(os, "chown") and (new.st_uid, new.st_gid) != (older.st_uid, older.st_gid):
        with suppress(PermissionError):
            os.chown(part, older.st_uid, older.st_gid)
    os.chmod(part, stat.S_IMODE(older.st_mode))


@cache
def _machine() -> str:
    """Return a short name of the machine, or of the container, within which process numbers are unique."""
    name = platform.node()
    with suppress(OSError, AttributeError):
        name += os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def _remove_stale_parts(target: Path) -> None:
    """Remove the files that killed processes of this machine left behind for the same target."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.{_machine()}-(\d+)-[0-9a-f]{{8}}\.part")
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            match = pattern.fullmatch(entry.name)
            if match is not None and not _is_running(int(match[1])):
                with suppress(OSError):
                    os.unlink(entry.path)


def _is_running(process: int) -> bool:
    """Whether there is such a process; True where the system cannot tell without disturbing it."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # of another user, or no number of a process
        return True
    return True
