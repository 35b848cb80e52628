"""Pictures of few colours as PNG, written with the standard library."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from mcgta.runtime.types import Array, Index

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PALETTE_COLORS = 3
_RED_GREEN_BLUE_ALPHA = 6
_BITS = 8


def indexed_png(pixels: Index, colors: Sequence[str]) -> str:
    """Return a picture (H, W) of indices into colours "#rrggbb" as a data URL; -1 is transparent."""
    height, width = pixels.shape
    entries = b"\0\0\0" + b"".join(bytes.fromhex(color[1:]) for color in colors)
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with its filter, none
    rows[:, 1:] = pixels + 1
    chunks = [
        _header(width, height, _PALETTE_COLORS),
        _chunk(b"PLTE", entries),
        _chunk(b"tRNS", b"\0"),
        _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
    ]
    return _data_url(chunks)


def shaded_png(pixels: Index, opacity: Array, colors: Sequence[str]) -> str:
    """Return the same with an opacity from 0 to 1 for each pixel."""
    height, width = pixels.shape
    entries = np.array([list(bytes.fromhex(color[1:])) for color in [*colors, "#000000"]], dtype=np.uint8)
    alpha = np.where(pixels < 0, 0, np.rint(255 * opacity)).astype(np.uint8)
    rows = np.zeros((height, 4 * width + 1), dtype=np.uint8)
    rows[:, 1:] = np.concatenate([entries[pixels], alpha[:, :, None]], axis=2).reshape(height, -1)
    chunks = [_header(width, height, _RED_GREEN_BLUE_ALPHA), _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))]
    return _data_url(chunks)


def _header(width: int, height: int, kind: int) -> bytes:
    return _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, _BITS, kind, 0, 0, 0))


def _data_url(chunks: Sequence[bytes]) -> str:
    content = b"".join([_SIGNATURE, *chunks, _chunk(b"IEND", b"")])
    return "data:image/png;base64," + base64.b64encode(content).decode()


def _chunk(name: bytes, content: bytes) -> bytes:
    """Return a chunk with its length and its checksum."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
