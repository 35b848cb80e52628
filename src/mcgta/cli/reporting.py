"""The report that a command writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcgta.estimator import MCGTA


def write_report(model: MCGTA, path: str, *, force: bool, title: str | None = None) -> None:
    """Write the report of a model as HTML, and its values as JSON beside it."""
    model.report(path, force=force, title=title)
