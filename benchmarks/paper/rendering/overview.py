"""ARI of all methods on all data sets, tuned and free side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from paper.rendering.layout import CONVENTION, WORDS_EXPLAINED, families, left_out, shown_data
from paper.rendering.legend import method_title
from paper.rendering.markdown import bold, join, number, table
from paper.rendering.summary import WORDS, Board, best
from paper.running.cells import Cell
from paper.running.records import Record

NO_SETTING = "none"
_SETTINGS = ("tuned", "free")

Mark = Callable[[str], str]


class _Overview(NamedTuple):
    """A head, and a row for each method."""

    head: list[str]
    rows: list[list[str]]


def render_overview(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return ARI of all methods on all data as Markdown, tuned and free side by side."""
    board = Board("baselines", records, cells)
    if not board:
        return ""
    caption = f"ARI, tuned / free, means over seeds; the best of each in bold. {CONVENTION}{WORDS_EXPLAINED}"
    shown = _overview(board, bold, method_title)
    return join("## ARI of all methods", caption, table(*shown) if shown.rows else "", *left_out(board))


def overview_text(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return ARI of all methods on all data as lines of aligned columns, the best with a star; "" where nothing is known."""
    board = Board("baselines", records, cells)
    if not board:
        return ""
    shown = _overview(board, lambda text: f"*{text}", str)
    lines = [shown.head, *shown.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]
    title = "ARI in per cent, tuned / free; * the best; noise counts as one class"
    return "\n".join([*([title, *aligned] if shown.rows else []), *left_out(board)])


def _overview(board: Board, mark: Mark, call: Mark) -> _Overview:
    """Return the overview; ``mark`` marks the best of each column, ``call`` gives a method its name."""
    columns = shown_data(board)
    tops = {(data, setting): _top(board, data, setting) for data in columns for setting in _SETTINGS}

    def entry(data: str, name: str) -> str:
        summaries = {setting: board.at(data, name, setting) for setting in _SETTINGS}
        words = {summary.word for summary in summaries.values() if summary.mean("ari") is None}
        if len(words) == 1 and all(summary.mean("ari") is None for summary in summaries.values()):
            return words.pop()
        suits = any(summary.results for summary in summaries.values())
        texts = []
        for setting, summary in summaries.items():
            text = summary.show("ari", "z.1f", spread=False)
            if text == WORDS["unsuitable"] and suits:
                text = NO_SETTING
            best_one = summary.whole and text == tops[data, setting]
            texts.append((mark(text) if best_one else text) + (summary.mark if summary.results else ""))
        return " / ".join(texts)

    names = [name for _, family in families(board) for name in family if columns and board.was_run(method=name)]
    rows = [[call(name), *(entry(data, name) for data in columns)] for name in names]
    return _Overview(["method", *columns], rows)


def _top(board: Board, data: str, setting: str) -> str:
    """Return the best mean ARI of all methods that have a result for every seed, as it is shown."""
    summaries = [board.at(data, name, setting) for name in board.methods]
    return number(best(summary.mean("ari") for summary in summaries if summary.whole), "z.1f")
