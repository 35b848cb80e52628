"""What a command shows: words on standard error, results on standard output, with colours on a terminal only.

Words are lines of a label and a text. On a terminal they go through Rich, which folds them under their text; elsewhere each is
one line of plain text, without escape sequences. ``NO_COLOR`` (no-color.org) takes all styles away.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from mcgta.cli.streams import STANDARD, writing

if TYPE_CHECKING:
    from rich.console import Console

LABEL_WIDTH = 9
"""Characters of a label, the space behind it included."""

_LABEL_STYLE = "bold cyan"
_NOTE_STYLE = "bold yellow"
_ERROR_STYLE = "bold red"


class Styled(NamedTuple):
    """A piece of text with the style that Rich gives it."""

    text: str
    style: str


Text = str | Sequence[str | Styled]
"""A text, or its pieces."""


@dataclass
class Screen:
    """Where a command shows what it does and what it has found.

    Attributes
    ----------
    quiet : whether words are left out; errors are not
    json : whether the result is JSON on standard output
    notes : remarks so far, each once
    """

    quiet: bool = False
    json: bool = False
    notes: list[str] = field(default_factory=list)
    _unsaid: list[str] = field(default_factory=list)

    def say(self, label: str, text: Text) -> None:
        """Show a line of words on standard error, after the notes that are due."""
        self.say_notes()
        if not self.quiet:
            with suppress(OSError):  # a command does not fail because its words are not read
                _write_line(sys.stderr, label, text, _LABEL_STYLE)

    def say_command(self, label: str, command: str) -> None:
        """Show a command, or flags of one, on standard error; it is not folded, so that it can be copied."""
        self.say_notes()
        if not self.quiet:
            with suppress(OSError):
                _write_line(sys.stderr, label, command, _LABEL_STYLE, fold=False)

    def say_written(self, written: str, next_command: str = "") -> None:
        """Show what was written, and what to do next: behind it where the line has room for both, else below."""
        line = f"{written}      next: {next_command}" if next_command else written
        if not next_command or LABEL_WIDTH + len(line) <= _columns(sys.stderr):
            self.say("wrote", line)
            return
        self.say("wrote", written)
        self.say_command("next", next_command)

    def note(self, text: str) -> None:
        """Keep a remark for the next line of words; one that has been made already is left out."""
        if text not in self.notes:
            self.notes.append(text)
            self._unsaid.append(text)

    def say_notes(self) -> None:
        """Show the remarks that are due."""
        due = self._unsaid
        self._unsaid = []
        if not self.quiet:
            with suppress(OSError):
                for text in due:
                    _write_line(sys.stderr, "note", text, _NOTE_STYLE)

    def complain(self, message: str, hint: str = "") -> None:
        """Show why a command could not be done, after the notes that are due."""
        self.say_notes()
        with suppress(OSError):
            _write_complaint(sys.stderr, message, hint)

    def show(self, label: str, text: Text, *, width: int = LABEL_WIDTH) -> None:
        """Show a line of the result on standard output, unless that is for JSON."""
        if not self.json:
            with writing(STANDARD):
                _write_line(sys.stdout, label, text, _LABEL_STYLE, width=width)

    def show_command(self, label: str, command: str, *, width: int = LABEL_WIDTH) -> None:
        """Show a command on standard output, unless that is for JSON; it is not folded, so that it can be copied."""
        if not self.json:
            with writing(STANDARD):
                _write_line(sys.stdout, label, command, _LABEL_STYLE, width=width, fold=False)

    def show_table(self, header: Sequence[str], rows: Iterable[Sequence[Text]], *, left: Sequence[int] = (0,)) -> None:
        """Show a table of the result on standard output, unless that is for JSON; columns of ``left`` are aligned left."""
        if not self.json:
            with writing(STANDARD):
                _write_table(sys.stdout, header, [list(row) for row in rows], left)

    def show_text(self, text: str) -> None:
        """Show a paragraph of the result on standard output, unless that is for JSON; it is folded on a terminal."""
        if not self.json:
            with writing(STANDARD):
                _write_line(sys.stdout, "", text, "", width=0)

    def show_lines(self, text: str) -> None:
        """Show a text of several lines on standard output as it is, unless that is for JSON."""
        if not self.json:
            with writing(STANDARD):
                sys.stdout.writelines(f"{printable(line)}\n" for line in text.split("\n"))

    def give(self, result: Mapping[str, Any]) -> None:
        """Write the result as JSON on standard output, where that was asked for."""
        if self.json:
            with writing(STANDARD):
                sys.stdout.write(f"{to_json(result)}\n")


def printable(text: str) -> str:
    """Return a text with control characters written out, so that names in a file cannot steer a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def to_json(value: Any) -> str:
    """Return a value as JSON in ASCII; numbers that are not finite become null."""
    return json.dumps(_plain(value), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a value in types that JSON knows; arrays become lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _pieces(text: Text) -> list[Styled]:
    parts = [text] if isinstance(text, str) else text
    styled = [part if isinstance(part, Styled) else Styled(part, "") for part in parts]
    return [Styled(printable(part.text), part.style) for part in styled]


def _joined(text: Text) -> str:
    return "".join(part.text for part in _pieces(text))


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that understands escape sequences."""
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # closed
        return False


def _console(stream: TextIO) -> Console | None:
    """Return Rich's console of a terminal; None for other streams."""
    if not is_terminal(stream):
        return None
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False, no_color=_is_colorless() or None)


def _is_colorless() -> bool:
    return bool(os.environ.get("NO_COLOR"))


def _style(style: str) -> str:
    return "" if _is_colorless() else style


def _columns(stream: TextIO) -> float:
    """Return how many characters a line has room for: on what is no terminal, any number."""
    console = _console(stream)
    return math.inf if console is None else console.width


def _write_line(
    stream: TextIO, label: str, text: Text, label_style: str, *, width: int = LABEL_WIDTH, fold: bool = True
) -> None:
    """Write a label and a text; on a terminal the text is folded under itself, or left to the terminal to wrap."""
    console = _console(stream)
    if console is None:
        stream.write(f"{label:<{width}}{_joined(text)}".rstrip() + "\n")
        return
    from rich.table import Table
    from rich.text import Text as RichText

    body = RichText.assemble(*((part.text, _style(part.style)) for part in _pieces(text)))
    if width == 0:
        console.print(body)
        return
    if not fold:
        console.print(RichText(f"{label:<{width}}", _style(label_style)) + body, soft_wrap=True)
        return
    grid = Table.grid(padding=0)
    grid.add_column(width=width, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(RichText(label, _style(label_style)), body)
    console.print(grid)


def _write_complaint(stream: TextIO, message: str, hint: str) -> None:
    """Write an error: the name of the program, what is wrong, and below it what to do."""
    lines = [printable(line) for line in f"mcgta: {message}".split("\n")]
    hints = [f"  {printable(line)}" for line in hint.split("\n")] if hint else []
    console = _console(stream)
    if console is None:
        stream.write("\n".join([*lines, *hints]) + "\n")
        return
    from rich.text import Text as RichText

    text = RichText("\n".join([*lines, *hints]))
    text.stylize(_style(_ERROR_STYLE), 0, len("mcgta:"))
    console.print(text, soft_wrap=True)  # commands in it can be copied


def _write_table(stream: TextIO, header: Sequence[str], rows: list[list[Text]], left: Sequence[int]) -> None:
    """Write columns under their names; on a terminal long cells of the last column are folded."""
    console = _console(stream)
    if console is None:
        cells = [list(header), *([_joined(cell) for cell in row] for row in rows)]
        widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
        for line in cells:
            padded = [f"{cell:<{widths[k]}}" if k in left else f"{cell:>{widths[k]}}" for k, cell in enumerate(line)]
            stream.write("  ".join(padded).rstrip() + "\n")
        return
    from rich.table import Table
    from rich.text import Text as RichText

    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_style("bold"), pad_edge=False)
    last = len(header) - 1
    for k, name in enumerate(header):
        justify = "left" if k in left else "right"
        table.add_column(RichText(name), justify=justify, no_wrap=k != last, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(
            *(RichText.assemble(*((part.text, _style(part.style)) for part in _pieces(cell))) for cell in row)
        )
    console.print(table)
