"""Pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def join(*parts: str) -> str:
    """Return the parts that are not empty as paragraphs."""
    return "\n\n".join(filter(None, parts))


def number(value: float | None, form: str) -> str:
    """Return a number in this form, "" for None."""
    return "" if value is None else f"{value:{form}}"


def bold(text: str, when: bool = True) -> str:
    """Return the text in bold, or as it is."""
    return f"**{text}**" if when else text


def escape(text: str) -> str:
    """Return a text that can stand in a cell of a table, or in a line of a list."""
    return " ".join(text.replace("|", "\\|").split())


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    lines = [[*map(escape, line)] for line in (head, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
