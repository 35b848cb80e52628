"""Columns that are features, and the reasons why others are not."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from mcgta.files.problems import FileProblem, say_flag, show
from mcgta.files.role_guesses import could_be_group, head, head_numbers, is_numeric, words_of
from mcgta.files.table import FileTable
from mcgta.observations.features import looks_like_identifier

OWN_COLUMNS = ("cluster", "probability", "is_noise")
"""Columns that mcgta adds to a table."""

_DRESSED_NUMBER = re.compile(
    r"[+-]?(?:\d+(?:[.,]\d+)?|(?P<grouped>\d{1,3}(?:(?P<sign>[ ,.'\u00a0\u202f])\d{3})(?:(?P=sign)\d{3})*(?:[.,]\d+)?))"
    r"\s?(?P<unit>[^\W\d_]{0,4}[%\u00b0\u2103/]?[^\W\d_]{0,4}[\u00b2\u00b3]?)"
)
"""A number with a unit behind it, or with signs between its thousands."""


def choose_features(table: FileTable, free: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the columns among the free ones that are features, and for the others why they are not.

    Raises
    ------
    FileProblem
        where a column is numbers but for some cells, or for a unit behind each, since it may be meant as a feature
    """
    ignored: dict[str, str] = {}
    for name in free:
        reason = why_no_feature(table, name)
        if reason is not None:
            ignored[name] = reason
    return tuple(name for name in free if name not in ignored), ignored


def why_no_feature(table: FileTable, name: str) -> str | None:
    """Return why a column is not taken for a feature; None where it is one."""
    if name in OWN_COLUMNS and all(own in table.columns for own in OWN_COLUMNS):
        return "written by mcgta"
    if table.kinds[name] == "time":
        return f"a time; {say_flag('time', name)} takes it for the position"
    if table.kinds[name] == "flag":
        return "true or false; --features takes it, if named"
    if table.kinds[name] == "text":
        return _why_text(table, name)
    return _why_numbers(table, name)


def _why_text(table: FileTable, name: str) -> str:
    bad = table.bad_cells.get(name)
    if bad is not None and bad.kind in ("integer", "number"):
        raise FileProblem(
            f"{table.say_bad_cells(name)}; correct it, or leave the column out by {say_flag('ignore', name)}"
        )
    if bad is not None:
        return f"text: {table.say_bad_cells(name)}"
    if could_be_group(table, name):
        return f"text; {say_flag('group', name)}?"
    texts = [text for text in head(table, name).tolist() if text is not None]
    if not texts:
        return "no value in any row"
    _refuse_dressed_numbers(table, name)
    return "unique text" if len(texts) > 1 and len({*texts}) == len(texts) else "text"


def _refuse_dressed_numbers(table: FileTable, name: str) -> None:
    """Refuse to leave out a column whose cells are all numbers with the same unit, or with signs between thousands."""
    rows = [(row, text.strip()) for row, text in enumerate(head(table, name).tolist()) if text is not None]
    units = set()
    first = None
    for row, text in rows:
        match = _DRESSED_NUMBER.fullmatch(text)
        if match is None:
            return
        units.add(match["unit"])
        if first is None and (match["unit"] or match["grouped"]):
            first = (row, text, "the unit" if match["unit"] else "the signs between thousands")
    if first is None or len(units) > 1 or len({text for _, text in rows}) < 2:
        return
    row, text, dress = first
    raise FileProblem(
        f"{table.where(row, name)}: {show(text)} is not a number, nor are others of this column; leave out {dress}, or "
        f"the column by {say_flag('ignore', name)}"
    )


def _why_numbers(table: FileTable, name: str) -> str | None:
    column = table.columns[name]
    n_missing = table.missing[name].size if name in table.missing else 0
    if n_missing == table.n_rows:
        return "no value in any row"
    if np.nanmin(column) == np.nanmax(column):
        return "constant"
    if looks_like_identifier(head_numbers(table, name)):
        return "an identifier or a clock"
    if could_be_group(table, name):
        return f"an identifier; {say_flag('group', name)}?"
    return "an identifier" if _is_unique_identifier(table, name) else None


def _is_unique_identifier(table: FileTable, name: str) -> bool:
    """Whether a column is called an id and holds whole numbers, no two alike."""
    if table.kinds[name] != "integer" or "id" not in words_of(name) or not is_numeric(table, name):
        return False
    numbers = head_numbers(table, name)
    return np.unique(numbers).size == numbers.size
