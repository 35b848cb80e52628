"""The memory that is available, looked up before it is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mcgta.runtime.config import get_config
from mcgta.runtime.sizes import read_size, say_size

try:
    import resource
except ImportError:  # pragma: no cover - Windows has no such limits
    resource = None  # type: ignore[assignment]

# Tables of all pairs held at the same time, as measured: dissimilarities, losses, and those that the algorithm makes of them.
_TABLES = 3
_TABLES_OF_OBJECTS = 6
_DISTANCE_TABLES = 4
# Numbers held without tables, as measured. Of each observation's d x d matrices: covariances, factors, roots and others.
_MATRICES_PER_ROW = 7
# Positions, labels and the like.
_NUMBERS_PER_ROW = 40
# Where neighbourhoods are lists, not windows: rows, distances, weights, and the search for them.
_LISTS_PER_ROW = 5
_SHARE = 0.75  # of the available memory, where the user sets no limit
_ROOT = Path("/")


class _CgroupFiles(NamedTuple):
    """The files of one version of control groups.

    Attributes
    ----------
    version : the name of the memory controller in /proc/self/cgroup
    folder : where groups are mounted
    limit, used : files of the limit and of the memory in use
    spare : the entry of memory.stat that can be had back: files that were read and are not needed any more count as used
    """

    version: str
    folder: str
    limit: str
    used: str
    spare: str


_CGROUPS = (
    _CgroupFiles("", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    _CgroupFiles(
        "memory",
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def budget(max_memory: Any = None) -> int | None:
    """Return the bytes that may be used: those of ``max_memory``, or three quarters of those available now.

    Parameters
    ----------
    max_memory : number of bytes, text such as "1.5GB" (10^9) or "800MiB" (2^20), "auto" for three quarters of
        :func:`available_bytes`, or None for the ``max_memory`` of :func:`mcgta.runtime.config.get_config`

    Returns
    -------
    int or None
        None where the system does not say what is available
    """
    if max_memory is None:
        max_memory = get_config().max_memory
    if max_memory is None or max_memory == "auto":
        free = available_bytes()
        return None if free is None else int(_SHARE * free)
    size = read_size(max_memory) if isinstance(max_memory, str) else float(max_memory)
    if size is None or not 0 < size < float("inf"):
        raise ValueError(
            f"max_memory={max_memory!r} must be a number of bytes > 0, text such as '1.5GB' or '800MiB', or 'auto'"
        )
    return int(size)


def available_bytes(root: Path = _ROOT) -> int | None:
    """Return the memory that can be had without swapping; None where the system does not say.

    On Linux that is what the kernel says, or less where a control group (a container, a batch job) or the limit of the
    process's address space (``ulimit -v``) allows less. Elsewhere it is what is free, or if only that is known what is
    installed. ``root`` is where the system's files are.
    """
    known = [*_of_kernel(root), *_of_control_groups(root)] or [*_of_pages()]
    known += _of_address_space(root)
    return max(min(known), 0) if known else None


def _of_kernel(root: Path) -> Iterator[int]:
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])


def _of_address_space(root: Path) -> Iterator[int]:
    """The soft limit of this process's address space, less the part that is in use."""
    if resource is None or not hasattr(resource, "RLIMIT_AS"):
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    pages = _number(_read(root / "proc/self/statm").partition(" ")[0])
    yield limit - (pages or 0) * resource.getpagesize()


def _of_control_groups(root: Path) -> Iterator[int]:
    """The memory left in the groups of this process and those around them."""
    named = [line.split(":", 2) for line in _read(root / "proc/self/cgroup").splitlines() if line.count(":") >= 2]
    for files in _CGROUPS:
        own = [path.strip("/") for _, kinds, path in named if files.version in kinds.split(",")]
        # A container may see its group's name but has it mounted at the top, hence the top in any case.
        inside = Path(own[0]) if own else Path()
        for group in dict.fromkeys((inside, *inside.parents, Path())):
            folder = root / files.folder / group
            limit = _number(_read(folder / files.limit))
            used = _number(_read(folder / files.used))
            if limit is not None and used is not None:
                lines = _read(folder / "memory.stat").splitlines()
                entries = dict(line.split(maxsplit=1) for line in lines if " " in line)
                spare = _number(entries.get(files.spare, "")) or 0
                yield limit - max(used - spare, 0)


def _of_pages() -> Iterator[int]:
    for name in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            pages = os.sysconf(name)
            page_bytes = os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            continue
        if pages > 0 and page_bytes > 0:
            yield pages * page_bytes
            return


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _number(text: str) -> int | None:
    """An integer; None for "max", which is no limit, and for a missing file."""
    return int(text) if text.strip().isdecimal() else None


@dataclass(frozen=True)
class MemoryNeed:
    """The memory of a fit: tables of all pairs, and numbers for each observation.

    Attributes
    ----------
    count, features : of the observations
    dense : whether losses are held for all pairs
    distances : whether those of positions are a table as well
    by_object : whether an object of the user's is given a copy of the table
    neighbors : listed of each observation
    """

    count: int
    features: int
    dense: bool = False
    distances: bool = False
    by_object: bool = False
    neighbors: int = 0

    @property
    def tables(self) -> int:
        """Tables of all pairs that are held at the same time."""
        losses = _TABLES_OF_OBJECTS if self.by_object else _TABLES
        return losses * self.dense + _DISTANCE_TABLES * self.distances

    @property
    def numbers(self) -> int:
        """Numbers for each observation."""
        matrices = _MATRICES_PER_ROW * (self.features**2 + self.features)
        return matrices + _LISTS_PER_ROW * self.neighbors + _NUMBERS_PER_ROW

    @property
    def bytes(self) -> int:
        """All of it."""
        return 8 * self.count * (self.tables * self.count + self.numbers)

    def check(self, budget: int | None) -> None:
        """Refuse to start on more observations than ``budget`` bytes, if known, leave room for."""
        if budget is None or self.bytes <= budget:
            return
        numbers = self.numbers
        tables = self.tables
        each = f"8 x {numbers} bytes for each"
        said = (
            f"up to {tables} tables of all pairs, {tables} x 8 x {self.count}^2 bytes, and {each}" if tables else each
        )
        most = budget // (8 * numbers)
        if tables:
            most = int((np.sqrt(numbers**2 + tables * budget / 2) - numbers) / (2 * tables))
        raise MemoryError(
            f"{self.count} observations of {self.features} features need {said}: {say_size(self.bytes)}, but max_memory allows "
            f"{say_size(budget)} (three quarters of what is free, unless it is set); at most {most} observations fit"
        )
