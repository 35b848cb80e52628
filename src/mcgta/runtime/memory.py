"""How much memory there is, asked before it is needed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# Tables of all pairs held at the same time, as measured: dissimilarities, losses, and what the algorithm makes of them.
_TABLES, _TABLES_OF_OBJECTS = 3, 6
_DISTANCE_TABLES = 4
# Without tables, as measured: covariances, factors, roots and what is made of them; positions, labels and the like.
# Where neighbourhoods are lists, not windows: rows, distances, weights, and what finding them takes.
_MATRICES, _NUMBERS, _LISTS = 7, 40, 5
_SHARE = 0.75  # of what is available, where the user does not say
_UNITS = {"": 1, "b": 1} | {
    f"{prefix}{kind}": base ** (k + 1) for kind, base in (("b", 1000), ("ib", 1024)) for k, prefix in enumerate("kmgt")
}
_ROOT = Path("/")
# For each version of control groups: where they are, the files of the limit and of what is used, and the entry of
# memory.stat that can be had back (files read and not needed any more count as used).
_CGROUPS = (
    ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def budget(max_memory: Any = None) -> int | None:
    """Return the bytes that may be used: what ``max_memory`` says, or three quarters of what is available now.

    Parameters
    ----------
    max_memory : number of bytes, text such as "1.5GB" (10^9) or "800MiB" (2^20), or None or "auto" for three quarters of
        :func:`available_bytes`

    Returns
    -------
    int or None
        None where the system does not say what is available
    """
    if max_memory is None or max_memory == "auto":
        free = available_bytes()
        return None if free is None else int(_SHARE * free)
    size = read_size(max_memory) if isinstance(max_memory, str) else float(max_memory)
    if size is None or not 0 < size < float("inf"):
        raise ValueError(
            f"max_memory={max_memory!r} must be a number of bytes > 0, text such as '1.5GB' or '800MiB', or 'auto'"
        )
    return int(size)


def read_size(text: str) -> float | None:
    """Return the bytes that a text such as "1.5GB" stands for; None where it stands for none.

    kB, MB, GB and TB are powers of 1000, KiB, MiB, GiB and TiB of 1024; upper and lower case are alike.
    """
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text.lower(), re.ASCII)
    if found is None or found[2] not in _UNITS:
        return None
    return float(found[1]) * _UNITS[found[2]] or None


def available_bytes(root: Path = _ROOT) -> int | None:
    """Return the memory that can be had without swapping; None where the system does not say.

    On Linux what the kernel says, or less where a control group (a container, a batch job) allows less; elsewhere what is free,
    or if only that is known what is installed. ``root`` is where the system's files are.
    """
    known = [*_of_kernel(root), *_of_control_groups(root)] or [*_of_pages()]
    return max(min(known), 0) if known else None


def _of_kernel(root: Path) -> Iterator[int]:
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])


def _of_control_groups(root: Path) -> Iterator[int]:
    """What is left in the groups of this process and those around them."""
    named = [line.split(":", 2) for line in _read(root / "proc/self/cgroup").splitlines() if line.count(":") >= 2]
    for (place, limit, used, spare), version in zip(_CGROUPS, ("", "memory"), strict=True):
        own = [path.strip("/") for _, kinds, path in named if version in kinds.split(",")]
        # A container may see its group's name but has it mounted at the top, hence the top in any case.
        inside = Path(own[0]) if own else Path()
        for group in dict.fromkeys((inside, *inside.parents, Path())):
            folder = root / place / group
            most, now = _number(_read(folder / limit)), _number(_read(folder / used))
            if most is not None and now is not None:
                entries = dict(
                    line.split(maxsplit=1) for line in _read(folder / "memory.stat").splitlines() if " " in line
                )
                yield most - max(now - (_number(entries.get(spare, "")) or 0), 0)


def _of_pages() -> Iterator[int]:
    for name in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            pages, size = os.sysconf(name), os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            continue
        if pages > 0 and size > 0:
            yield pages * size
            return


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _number(text: str) -> int | None:
    """An integer; None for "max", which is no limit, and for what is not there."""
    return int(text) if text.strip().isdecimal() else None


def needed_bytes(count: int, features: int, *, tables: int, neighbors: int = 0) -> int:
    """Return what a fit takes: tables of all pairs, and numbers for each observation; ``neighbors`` are listed of each."""
    return 8 * count * (tables * count + _numbers(features, neighbors))


def count_tables(clusterer: Any, *, dense: bool, distances: bool) -> int:
    """Return the tables of all pairs that are held at the same time.

    ``dense`` says whether losses are held for all pairs, ``distances`` whether those of positions are a table as well.
    """
    losses = _TABLES if isinstance(clusterer, str) else _TABLES_OF_OBJECTS
    return losses * dense + _DISTANCE_TABLES * distances


def check_memory(count: int, features: int, *, tables: int, neighbors: int = 0, budget: int | None) -> None:
    """Refuse to start on more observations than ``budget`` bytes, if known, leave room for."""
    needed = needed_bytes(count, features, tables=tables, neighbors=neighbors)
    numbers = _numbers(features, neighbors)
    if budget is None or needed <= budget:
        return
    each = f"8 x {numbers} bytes for each"
    said = f"up to {tables} tables of all pairs, {tables} x 8 x {count}^2 bytes, and {each}" if tables else each
    most = budget // (8 * numbers)
    if tables:
        most = int((np.sqrt(numbers**2 + tables * budget / 2) - numbers) / (2 * tables))
    raise MemoryError(
        f"{count} observations of {features} features need {said}: {say_size(needed)}, but max_memory allows "
        f"{say_size(budget)} (three quarters of what is free, unless it is set); at most {most} observations fit"
    )


def say_size(size: int) -> str:
    """Return the number of bytes as a text with a unit, three digits."""
    for unit in ("TB", "GB", "MB", "kB"):
        if size >= _UNITS[unit.lower()]:
            return f"{size / _UNITS[unit.lower()]:.3g} {unit}"
    return f"{size} B"


def _numbers(features: int, neighbors: int) -> int:
    return _MATRICES * (features**2 + features) + _LISTS * neighbors + _NUMBERS
