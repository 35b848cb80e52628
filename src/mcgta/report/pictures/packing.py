"""Packing: numbers as bytes that compress well, and all of them as one text that the page unpacks.

The text is base64 of gzip. What it holds begins with the length of a JSON text, in four bytes, and that text, in which arrays
are named by ``{"array": [type, offset, count, summed]}``; then come the arrays. Each is stored as planes, first the lowest
byte of every number and then the next, since high bytes repeat. Of ascending numbers the differences are stored.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEVEL = 9
_TYPES = {1: "u1", 2: "u2", 4: "u4"}
"""Names of the types of numbers, by their bytes."""


class Pack:
    """Arrays that are put one behind another."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: NDArray[Any], *, summed: bool = False) -> dict[str, Any]:
        """Store unsigned integers of 1, 2 or 4 bytes; return what stands for them in JSON.

        ``summed`` stores the differences from each to the next, which the page adds up.
        """
        if values.dtype.kind != "u" or values.dtype.itemsize not in _TYPES:
            raise TypeError(
                f"cannot pack {values.dtype}, only unsigned integers of {', '.join(map(str, _TYPES))} bytes"
            )
        stored = np.diff(values, prepend=values.dtype.type(0)) if summed else values
        size = stored.dtype.itemsize
        planes = np.ascontiguousarray(stored, dtype=stored.dtype.newbyteorder("<")).view(np.uint8).reshape(-1, size).T
        content = planes.tobytes()
        reference = {"array": [_TYPES[size], self._size, int(stored.size), summed]}
        self._parts.append(content)
        self._size += len(content)
        return reference

    def to_text(self, values: dict[str, Any]) -> str:
        """Return the values and all arrays as base64 of gzip; equal ones give equal texts."""
        head = json.dumps(values, ensure_ascii=True, separators=(",", ":"), sort_keys=True, allow_nan=False).encode()
        content = b"".join([len(head).to_bytes(4, "little"), head, *self._parts])
        return base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode()
