"""How much memory there is, asked before it is needed."""

from __future__ import annotations

from pathlib import Path

_TABLES = 3  # dissimilarities, losses, and what the clusterer makes of them


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


def check_tables(count: int) -> None:
    """Refuse to start on more observations than the tables of all pairs leave room for."""
    needed, free = _TABLES * 8 * count**2, available_bytes()
    if free is not None and needed > free:
        most = int((free / (8 * _TABLES)) ** 0.5)
        raise MemoryError(
            f"{count} observations need {_TABLES} tables of all pairs, {_TABLES} x 8 x {count}^2 bytes = {needed / 2**30:.1f} "
            f"GiB, but {free / 2**30:.1f} GiB are free; at most {most} observations fit"
        )
