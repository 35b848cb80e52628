"""Figures from records."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def draw(folder: Path, records: list[dict[str, Any]]) -> list[Path]:
    """Draw what the records hold into the folder, and return the files."""
    raise NotImplementedError
