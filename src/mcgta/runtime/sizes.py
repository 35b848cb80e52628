"""Numbers of bytes as texts such as "1.5GB", read and written."""

from __future__ import annotations

import math
import re

_UNITS = {"": 1, "b": 1} | {
    f"{prefix}{kind}": base ** (k + 1) for kind, base in (("b", 1000), ("ib", 1024)) for k, prefix in enumerate("kmgt")
}


def read_size(text: str) -> float | None:
    """Return the bytes that a text such as "1.5GB" stands for; None where it stands for none.

    kB, MB, GB and TB are powers of 1000, KiB, MiB, GiB and TiB of 1024; upper and lower case are alike.
    """
    parts = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text.lower(), re.ASCII)
    if parts is None or parts[2] not in _UNITS:
        return None
    size = float(parts[1]) * _UNITS[parts[2]]
    return size if 0 < size < math.inf else None


def say_size(size: int) -> str:
    """Return the number of bytes as a text with a unit, three digits."""
    for unit in ("TB", "GB", "MB", "kB"):
        if size >= _UNITS[unit.lower()]:
            return f"{size / _UNITS[unit.lower()]:.3g} {unit}"
    return f"{size} B"
