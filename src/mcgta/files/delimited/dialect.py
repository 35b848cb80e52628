"""How a delimited text is written: separator, quotes, line ends, decimal sign; found from its first lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcgta.files.delimited.cells import is_datum
from mcgta.files.problems import FileProblem

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
QUOTE = '"'
LINE_ENDS = ("\r\n", "\n", "\r")
SAMPLE_LINES = 1000
SAMPLE_CHARACTERS = 2**20
_SEPARATOR_NOTE = re.compile(r"\"?sep=.?\"?", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    r"""How a delimited text is written.

    Attributes
    ----------
    separator : of cells
    quoted : which cells stand in quotes: those that need it, all that are no numbers, or all
    line_end : "\n", "\r\n" or "\r"
    decimal : sign of numbers, "." or ","
    has_header : whether the first row names the columns
    has_mark : whether the text begins with a byte order mark
    encoding : of the text
    """

    separator: str = ","
    quoted: Literal["minimal", "text", "all"] = "minimal"
    line_end: str = "\n"
    decimal: Literal[".", ","] = "."
    has_header: bool = True
    has_mark: bool = False
    encoding: str = "utf-8"

    def reader(self, lines: Iterable[str]) -> Any:
        """Return a reader of rows, which refuses cells whose quotes are not in order."""
        return csv.reader(lines, delimiter=self.separator, quotechar=QUOTE, strict=True)


def is_blank(row: Sequence[str]) -> bool:
    """Whether a row is that of an empty line, or of one with nothing but blanks; both are skipped."""
    return not row or (len(row) == 1 and row[0].isspace())


def take_sample(lines: Iterator[str]) -> list[str]:
    """Return the first lines of a text."""
    sample = []
    characters = 0
    for line in lines:
        sample.append(line)
        characters += len(line)
        if len(sample) == SAMPLE_LINES or characters > SAMPLE_CHARACTERS:
            break
    return sample


def find_dialect(sample: Sequence[str], name: str, encoding: str, *, has_mark: bool) -> Dialect:
    """Return how a text is written, of which these are the first lines."""
    if _SEPARATOR_NOTE.fullmatch(sample[0].strip() if sample else ""):
        raise FileProblem(
            f"{name}: line 1: {sample[0].strip()!r} is a note to spreadsheets and no header; remove this line"
        )
    ends = [end for line in sample[:1] for end in LINE_ENDS if line.endswith(end)]
    separator = _find_separator(sample, name)
    rows = _sample_rows(sample, separator)
    if not rows:
        raise FileProblem(f"{name} is empty; it must be a table with a header")
    return Dialect(
        separator=separator,
        quoted=_find_quotes(sample, rows, separator),
        line_end=ends[0] if ends else "\n",
        has_header=not all(is_datum(cell, separator) for cell in rows[0]),
        has_mark=has_mark,
        encoding=encoding,
    )


def _sample_rows(sample: Sequence[str], separator: str) -> list[list[str]]:
    """Return the rows of a sample, without a last one that may be cut."""
    try:
        rows = [row for row in csv.reader(sample, delimiter=separator, quotechar=QUOTE) if not is_blank(row)]
    except csv.Error:  # a cell that is too long: reading finds its line
        return [next(csv.reader([sample[0]], delimiter=separator, quotechar=QUOTE))]
    whole = len(sample) < SAMPLE_LINES and sum(map(len, sample)) <= SAMPLE_CHARACTERS
    return rows if whole or len(rows) < 2 else rows[:-1]


def _find_separator(sample: Sequence[str], name: str) -> str:
    """Return the only separator that gives most rows as many cells as the first.

    A text of one column has none. There a comma is a decimal sign, so that the separator is a semicolon.
    """
    shares = {}
    for separator in SEPARATORS:
        widths = [len(row) for row in _sample_rows(sample, separator)]
        if widths and widths[0] > 1:
            shares[separator] = sum(width == widths[0] for width in widths) / len(widths)
    if not shares:
        _refuse_title(sample, name)
        return ";" if any("," in line for line in sample) else ","
    best = max(shares.values())
    found = [separator for separator, share in shares.items() if share == best]
    if len(found) > 1 and "\t" in found and name.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    if len(found) > 1:
        said = " or ".join(SEPARATORS[separator] for separator in found)
        raise FileProblem(
            f"{name}: cells could be separated by {said}, since each gives all rows the same number of cells; put cells that "
            "hold the other sign in quotes"
        )
    return found[0]


def _refuse_title(sample: Sequence[str], name: str) -> None:
    """Refuse a line above the header, which is one cell where all other rows are several."""
    for separator in SEPARATORS:
        rows = _sample_rows(sample, separator)[1:]
        widths = {len(row) for row in rows}
        if len(rows) > 1 and len(widths) == 1 and widths != {1} and not is_datum(separator.join(rows[0]), ";"):
            cells = f"1 cell, but rows below it have {widths.pop()}"
            raise FileProblem(f"{name}: the first line has {cells}; remove what stands above the names of columns")


def _find_quotes(
    sample: Sequence[str], rows: Sequence[Sequence[str]], separator: str
) -> Literal["minimal", "text", "all"]:
    """Return which cells stand in quotes, from the header and the first row."""
    if not all(_is_quoted(row, line, separator) for row, line in zip(rows[:1], sample, strict=False)):
        return "minimal"
    first_data = sample[1] if len(sample) > 1 else ""
    return "all" if len(rows) > 1 and _is_quoted(rows[1], first_data, separator) else "text"


def _is_quoted(row: Sequence[str], line: str, separator: str) -> bool:
    """Whether a line is what quotes around each cell of a row give; rows of several lines are looked at in part."""
    quoted = separator.join(f'"{cell.replace(QUOTE, 2 * QUOTE)}"' for cell in row)
    return quoted.startswith(line.rstrip("\r\n")) and line.startswith(QUOTE)
