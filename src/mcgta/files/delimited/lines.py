"""From bytes to lines of text, with the line and the byte of what is no text."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import IO

from mcgta.files.problems import FileProblem
from mcgta.files.sources import BLOCK_BYTES

MAX_LINE_CHARACTERS = 2**25
"""A longer line is taken for a file of another kind."""
MARK = "\ufeff"

_WIDE_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def check_encoding(encoding: str) -> str:
    """Return the usual name of an encoding; refuse those in which separators are not single bytes, as in ASCII."""
    try:
        name = codecs.lookup(encoding).name
        plain = ',;\t"\n'.encode(name) == b',;\t"\n'
    except LookupError:
        plain = False
    if not plain:
        raise ValueError(
            f"encoding={encoding!r} is not allowed: it must be an encoding that extends ASCII, such as 'utf-8', 'cp1252' or "
            "'latin-1'"
        )
    return name


class Lines:
    """The lines of a text, with their line ends; iterate once.

    Attributes
    ----------
    has_mark : whether the text begins with a byte order mark, which is not part of the first line
    """

    def __init__(self, file: IO[bytes], name: str, encoding: str) -> None:
        self._name = name
        self._encoding = encoding
        self._lines = self._split(self._texts(file))
        self.has_mark = False

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def _texts(self, file: IO[bytes]) -> Iterator[str]:
        """Decode blocks of bytes."""
        decoder = codecs.getincrementaldecoder(self._encoding)("strict")
        line_ends = 0
        since_line_end = 0
        held = b""
        first = True
        while True:
            block = file.read(BLOCK_BYTES)
            if first:
                self._refuse_wide(block)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                before = error.object[: error.start]
                line = 1 + line_ends + before.count(b"\n")
                at = len(before) - before.rfind(b"\n") + (0 if b"\n" in before else since_line_end - len(held))
                self._refuse_byte(line, at, error.object[error.start])
            if first and text.startswith(MARK):
                self.has_mark = True
                text = text[1:]
            first = False
            if not block:
                break
            line_ends += block.count(b"\n")
            tail = len(block) - block.rfind(b"\n") - 1
            since_line_end = tail if b"\n" in block else since_line_end + len(block)
            held = decoder.getstate()[0]
            yield text
        if text:
            yield text

    def _refuse_wide(self, block: bytes) -> None:
        for mark, said in _WIDE_MARKS.items():
            if block.startswith(mark):
                raise FileProblem(f"{self._name}: text in {said}; save it as UTF-8")
        if block[:1] == b"\0" or block[1:2] == b"\0":  # each second byte of Latin letters
            raise FileProblem(f"{self._name}: text in UTF-16, or no text; save it as UTF-8")

    def _refuse_byte(self, line: int, at: int, byte: int) -> None:
        cure = "save the file as UTF-8" if self._encoding == "utf-8" else "pass the encoding that it is in"
        raise FileProblem(
            f"{self._name}: line {line}, byte {at} of the line: 0x{byte:02x} is no text in {self._encoding.upper()}; {cure}"
        )

    def _split(self, texts: Iterator[str]) -> Iterator[str]:
        r"""Split texts after each "\n", "\r\n" or "\r", of which the last may be the half of a line end."""
        pending = ""
        for text in texts:
            pending += text
            end = 1 + max(pending.rfind("\n"), pending.rfind("\r", 0, len(pending) - 1))
            if len(pending) - end > MAX_LINE_CHARACTERS:
                raise FileProblem(
                    f"{self._name}: a line of more than {MAX_LINE_CHARACTERS:,} characters; is this a table in plain text?"
                )
            yield from io.StringIO(pending[:end], newline="")
            pending = pending[end:]
        yield from io.StringIO(pending, newline="")
