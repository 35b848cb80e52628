"""How much memory there is, asked before it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Tables of all pairs held at the same time, as measured: dissimilarities, losses, and what the algorithm makes of them.
_TABLES = {"dbscan": 6, "hdbscan": 5, "optics": 4}
_OTHER_TABLES = 4
_DISTANCE_TABLES = 4


def available_bytes() -> int | None:
    """Return the memory that can be had without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    return None


def check_tables(count: int, clusterer: Any, *, distances: bool) -> None:
    """Refuse to start on more observations than the tables of all pairs leave room for.

    ``distances`` says whether the distances of positions are a table as well.
    """
    tables = _TABLES.get(clusterer, _OTHER_TABLES) if isinstance(clusterer, str) else _OTHER_TABLES
    tables += _DISTANCE_TABLES * distances
    needed, free = tables * 8 * count**2, available_bytes()
    if free is not None and needed > free:
        most = int((free / (8 * tables)) ** 0.5)
        raise MemoryError(
            f"{count} observations need up to {tables} tables of all pairs, {tables} x 8 x {count}^2 bytes = "
            f"{needed / 2**30:.1f} GiB, but {free / 2**30:.1f} GiB are free; at most {most} observations fit"
        )
