"""One column of a text as it is read, a chunk of cells after the other, until all rows have said what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mcgta.files.delimited.cells import Parser, is_missing_cell
from mcgta.files.table import BadCells, Column, Kind

MAX_BAD_CELLS_KEPT = 5
SAMPLED_CELLS = 100
"""Cells of the first chunk that choose the parser of a column."""
MAX_TEXTS_SHARED = 50_000
"""Different texts of a column that are kept once each, however many rows hold them."""

_UNREADABLE = (ValueError, OverflowError)


@dataclass
class TextCells:
    """The cells of a column of text, None where they are empty."""

    parts: list[Column] = field(default_factory=list)
    shared: dict[str, str] = field(default_factory=dict)

    def feed(self, cells: Sequence[str]) -> None:
        """Take the next cells."""
        if len(self.shared) < MAX_TEXTS_SHARED:
            cells = [self.shared.setdefault(cell, cell) for cell in cells]
        column = np.empty(len(cells), dtype=object)
        column[:] = [cell if cell.strip() else None for cell in cells]
        self.parts.append(column)

    def column(self) -> Column:
        """Return all of them."""
        return np.concatenate(self.parts) if self.parts else np.empty(0, dtype=object)


class ColumnReader:
    """Reads a column: finds out its kind, and parses it.

    The first cells choose one of the parsers. A cell that it cannot read makes the column text. As its earlier cells are not
    kept, the column then has to be read again: ``needs_text``.
    """

    def __init__(self, parsers: tuple[Parser, ...]) -> None:
        self._parsers = parsers
        self._parser: Parser | None = None
        self._parts: list[Column] = []
        self._text: TextCells | None = None
        self._n_rows = 0
        self._n_good = 0
        self._n_bad = 0
        self._bad: list[tuple[int, str]] = []
        self._gave_up = False

    @property
    def parser(self) -> Parser | None:
        """What reads the cells; None for text, and where there are none."""
        return None if self._gave_up else self._parser

    @property
    def is_text(self) -> bool:
        """Whether the column is one of text."""
        return self._gave_up or self._n_bad > 0

    @property
    def needs_text(self) -> bool:
        """Whether the column is text, and its cells have to be read again."""
        return self.is_text and self._text is None

    def feed(self, cells: Sequence[str]) -> None:
        """Take the next cells."""
        if self._gave_up:
            if self._text is not None:
                self._text.feed(cells)
        elif self._parser is None:
            self._begin(cells)
        else:
            self._go_on(cells)
        self._n_rows += len(cells)

    def _begin(self, cells: Sequence[str]) -> None:
        """Choose the parser by some of the first cells that are not missing."""
        present = [cell for cell in cells if not is_missing_cell(cell)]
        if not present:
            return
        sample = present[:: max(1, len(present) // SAMPLED_CELLS)]
        fitting = [sum(map(parser.fits, sample)) for parser in self._parsers]
        most = max(fitting)
        if 2 * most > len(sample):
            self._parser = self._parsers[fitting.index(most)]
            if self._n_rows:
                none = np.zeros(0, dtype=np.int64)
                self._parts.append(self._parser.with_missing(self._parser.parse(()), none, self._n_rows))
            self._go_on(cells)
            return
        self._give_up()
        if self._n_rows == 0:
            self._text = TextCells()
            self._text.feed(cells)

    def _go_on(self, cells: Sequence[str]) -> None:
        assert self._parser is not None
        for parser in (self._parser, *self._parser.wider()):
            if parser not in self._parsers:
                continue
            try:
                values = _parse(parser, cells)
            except _UNREADABLE:
                continue
            self._parser = parser
            self._parts.append(values)
            self._n_good += len(cells)
            return
        self._parts.append(self._parse_singly(cells))
        if self._n_bad > self._n_good:
            self._give_up()

    def _parse_singly(self, cells: Sequence[str]) -> Column:
        """Read those cells that can be read, by the parser that reads most of them, and note the others."""
        assert self._parser is not None
        parsers = [parser for parser in (self._parser, *self._parser.wider()) if parser in self._parsers]
        good = [[k for k, cell in enumerate(cells) if parser.fits(cell)] for parser in parsers]
        most = max(range(len(parsers)), key=lambda k: len(good[k]))
        self._parser = parsers[most]
        readable = set(good[most])
        bad = [k for k, cell in enumerate(cells) if k not in readable and not is_missing_cell(cell)]
        self._n_good += len(readable)
        self._n_bad += len(bad)
        room = MAX_BAD_CELLS_KEPT - len(self._bad)
        self._bad += [(self._n_rows + k, cells[k]) for k in bad[:room]]
        values = self._parser.parse([cells[k] for k in good[most]])
        return self._parser.with_missing(values, np.array(good[most], dtype=np.int64), len(cells))

    def _give_up(self) -> None:
        self._gave_up = True
        self._parts = []

    def demote(self, row: int, text: str, reason: str) -> BadCells:
        """Make a column of numbers or times one of text, since it cannot be read in a single way."""
        kind = self._kind()
        self._give_up()
        return BadCells(kind, (row,), (text,), self._n_rows, reason)

    def values(self) -> Column:
        """Return the values of a column that is not text.

        Raises
        ------
        ValueError
            where all cells together do not say what is meant, with the reason
        """
        if self._parser is None:
            return np.full(self._n_rows, np.nan)
        column = self._parser.finish(np.concatenate(self._parts))
        self._parts = []
        return column

    def text(self) -> Column | None:
        """Return the cells of a column of text, where they were kept."""
        return None if self._text is None else self._text.column()

    def bad_cells(self) -> BadCells | None:
        """Return the cells that keep the column from being one of numbers, flags or times; None for plain text."""
        if self._gave_up or self._n_bad == 0 or self._parser is None:
            return None
        rows = tuple(row for row, _ in self._bad)
        texts = tuple(text for _, text in self._bad)
        return BadCells(self._kind(), rows, texts, self._n_bad, self._parser.said)

    def kind(self) -> Kind:
        """Return what the column holds."""
        return "text" if self.is_text else self._kind()

    def _kind(self) -> Kind:
        return "number" if self._parser is None else self._parser.kind


def _parse(parser: Parser, cells: Sequence[str]) -> Column:
    """Read cells, of which some may be missing."""
    try:
        return parser.parse(cells)
    except _UNREADABLE:
        present = [k for k, cell in enumerate(cells) if not is_missing_cell(cell)]
        if len(present) == len(cells):
            raise
        values = parser.parse([cells[k] for k in present])
        return parser.with_missing(values, np.array(present, dtype=np.int64), len(cells))
