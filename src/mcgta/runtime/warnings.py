"""Warnings at the line that called this package, however deep in it the cause is."""

from __future__ import annotations

import sys
import warnings

PACKAGE = __name__.split(".")[0]


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line that is not of this package."""
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == PACKAGE:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
