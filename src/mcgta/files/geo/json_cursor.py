"""Going through a JSON text member by member, so that places in it are known and it is never held as a whole in objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcgta.files.problems import FileProblem
from mcgta.files.sources import BLOCK_BYTES, Source
from mcgta.runtime.memory import budget
from mcgta.runtime.sizes import say_size

MARK = "\ufeff"
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class Cursor:
    """A place in a JSON text.

    Attributes
    ----------
    text : all of it
    at : where the cursor is, as a number of characters; never before space
    end : where the value ends that was read last
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.end = 0
        self._move(1 if text.startswith(MARK) else 0)

    def members(self) -> Iterator[str]:
        """Go through the names of an object's members; the caller moves the cursor over the value after each."""
        self._take("{", "an object")
        while not self._is_closed("}"):
            if self.text[self.at : self.at + 1] != '"':
                self._fail("expected a name in quotes")
            name = self.value()
            self._take(":", "a colon")
            yield name
            self._separate("}")

    def elements(self) -> Iterator[int]:
        """Go through the numbers of an array's elements; the caller moves the cursor over the value after each."""
        self._take("[", "an array")
        count = 0
        while not self._is_closed("]"):
            yield count
            count += 1
            self._separate("]")

    def value(self) -> Any:
        """Return the value at the cursor, and move behind it."""
        value, self.end = _DECODER.raw_decode(self.text, self.at)
        self._move(self.end)
        return value

    def finish(self) -> None:
        """Refuse text behind the value that has been read."""
        if self.at < len(self.text):
            self._fail("expected the end of the file")

    def _move(self, at: int) -> None:
        match = _SPACE.match(self.text, at)
        assert match is not None
        self.at = match.end()

    def _take(self, sign: str, said: str) -> None:
        if self.text[self.at : self.at + 1] != sign:
            self._fail(f"expected {said}")
        self._move(self.at + 1)

    def _is_closed(self, sign: str) -> bool:
        """Whether the object or array ends here, behind which the cursor is moved then."""
        if self.text[self.at : self.at + 1] != sign:
            return False
        self._move(self.at + 1)
        return True

    def _separate(self, sign: str) -> None:
        """Move over a comma, which stands unless the object or array ends."""
        if self.text[self.at : self.at + 1] == sign:
            return
        self._take(",", "a comma")
        if self.text[self.at : self.at + 1] == sign:
            self._fail("expected a value behind the comma")

    def _fail(self, said: str) -> None:
        raise json.JSONDecodeError(said, self.text, self.at)


@contextmanager
def explaining_json(name: str, cursor: Cursor) -> Iterator[None]:
    """Turn the errors of a damaged text into a :class:`FileProblem` that names the line."""
    try:
        yield
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, character {error.colno}"
        raise FileProblem(f"{name}: {place}: damaged, or not GeoJSON ({error.msg})") from error
    except RecursionError as error:
        raise FileProblem(f"{name}: {_line(cursor)}: objects are nested too deeply") from error
    except FileProblem:
        raise
    except ValueError as error:
        raise FileProblem(f"{name}: {_line(cursor)}: a number of too many digits") from error


def _line(cursor: Cursor) -> str:
    return f"line {1 + cursor.text.count(chr(10), 0, cursor.at)}"


def read_text(source: Source) -> str:
    """Return the text of a file, which must fit into memory."""
    room = budget()
    blocks = []
    size = 0
    with source.opened() as file:
        while block := file.read(BLOCK_BYTES):
            size += len(block)
            if room is not None and 2 * size > room:
                raise FileProblem(
                    f"{source.name}: its text takes more than half of the {say_size(room)} that may be used"
                )
            blocks.append(block)
    data = b"".join(blocks)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise FileProblem(f"{source.name}: line {line}: byte {error.start} is not UTF-8, which GeoJSON is") from error
