"""Columns and input: what each column was used as, what was ignored, and what was missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mcgta.observations.provenance import Provenance
from mcgta.report.markup.html import Markup, element, named, table
from mcgta.report.subject import Subject
from mcgta.runtime.wording import say_number

MOST_COLUMNS = 100
"""Columns that are listed, the first ones."""

_RULES = {
    "error": "missing values are refused",
    "drop": "rows with missing values are left out, and keep their place as noise",
    "impute": "missing features are filled in; rows without a position are left out",
}


def write_input(subject: Subject) -> Markup:
    """Return the section."""
    provenance = subject.fit.provenance
    summary = _say_array(subject) if provenance is None else _say_file(subject, provenance)
    rows = list(_feature_rows(subject) if provenance is None else _column_rows(subject, provenance))
    cut = f" (the first {MOST_COLUMNS} of {len(rows)})" if len(rows) > MOST_COLUMNS else ""
    head = ("column", "used as", "missing", "least", "mean", "largest")
    missing = subject.fit.missing
    return element(
        "section",
        element("h2", "The input", id="input"),
        element("p", *summary),
        None if missing is None or not str(missing) else element("p", f"{missing}."),
        table(head, rows[:MOST_COLUMNS], caption=f"Columns{cut}", numbers=range(2, 6)),
        aria_labelledby="input",
    )


def _say_file(subject: Subject, provenance: Provenance) -> list[Any]:
    name = "standard input" if provenance.name == "-" else provenance.name
    return [
        named(name),
        f": {provenance.n_rows:,} rows, {len(provenance.columns):,} columns; {_RULES[provenance.missing_rule]}. "
        f"{_say_positions(subject)} What the columns are was said by flags, or guessed where there is one way to; the "
        "command below says all of it.",
    ]


def _say_array(subject: Subject) -> list[Any]:
    size = f"{subject.fit.n_rows:,} rows of {len(subject.names):,} features"
    return [f"{size}, passed in Python; {_RULES[subject.fit.asked.missing]}. {_say_positions(subject)}"]


def _say_positions(subject: Subject) -> str:
    """Say what positions are and how far apart they are measured."""
    positions = subject.fit.data.positions
    groups = f", in {len(positions.group_names):,} groups" if len(positions.group_names) > 1 else ""
    if positions.unit == "step":
        return f"The order of the rows is the time{groups}."
    kinds = {"time": "times", "space": "places", "spacetime": "places and times", "other": "known by their distances"}
    unit = f", in {positions.unit}" if positions.unit else ""
    return f"Positions are {kinds[subject.domain]}{groups}, measured by the metric {positions.metric.name}{unit}."


def _column_rows(subject: Subject, provenance: Provenance) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each column of the file."""
    roles = {column: flag for flag, columns in provenance.roles.items() if flag != "crs" for column in columns}
    for name in provenance.columns:
        missing = provenance.missing.get(name, 0)
        figures = ["", "", ""]
        if name in provenance.features:
            role = "feature"
            figures = _figures(subject, name)
        elif name in roles:
            role = f"position (--{roles[name]})"
        elif name in provenance.positions:
            role = "position"
        elif name == provenance.group:
            role = "group"
        else:
            reason = provenance.ignored.get(name, "")
            role = f"ignored: {reason}" if reason else "ignored"
        yield named(name), role, f"{missing:,}" if missing else "0", *figures


def _feature_rows(subject: Subject) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each feature."""
    missing = subject.fit.missing
    imputed = np.zeros(len(subject.names), dtype=int)
    if missing is not None and missing.cells.size:
        imputed = np.bincount(missing.cells[:, 1], minlength=imputed.size)
    for k, name in enumerate(subject.names):
        yield named(name), "feature", f"{imputed[k]:,}", *_figures(subject, name)


def _figures(subject: Subject, name: str) -> list[str]:
    """Return the least, mean and largest value of a feature; blanks where the fit does not know it by that name."""
    if name not in subject.names:
        return ["", "", ""]
    values = subject.fit.data.raw[:, subject.names.index(name)]
    return [say_number(float(part)) for part in (values.min(), values.mean(), values.max())]
