"""What methods, variants and data sets are called in documents, and what the names of the command line stand for."""

from __future__ import annotations

from collections.abc import Iterable

from paper.ablations import ABLATIONS
from paper.catalogue import METHODS
from paper.sources import SOURCES


def method_title(name: str, table: str = "baselines") -> str:
    """Return what a method, or a variant of an ablation, is called; its name where it has no title."""
    known = METHODS if table in ("baselines", "runtime") else ABLATIONS.get(table, {})
    return known[name].title if name in known else name


def data_title(name: str) -> str:
    """Return the name of a data set, with its title where that says more."""
    title = SOURCES[name].title if name in SOURCES else name
    return name if title.lower() == name else f"{name}: {title}"


def legend_rows(names: Iterable[str]) -> list[list[str]]:
    """Return for each method that is known its title, its name, and how it is set without labels."""
    known = [(name, METHODS[name]) for name in names if name in METHODS]
    return [[method.title, f"`{name}`", method.rule or "none"] for name, method in known]
