"""Writes the screens in the documents anew: what the commands in their console blocks print now. ``make screens`` calls it.

The blocks of a page run in order in one empty folder. A line ``$ command`` begins a screen; what follows is what it prints, on
standard output and standard error, as a terminal of 100 columns shows them. ``...`` stands for lines that are left out.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = "..."
COLUMNS = 100
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ "
_NOTICE = "mcgta: compiling numerical kernels"  # which the first fit on a machine prints


def pages_with_screens() -> list[Path]:
    """Return the pages that have console blocks."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in pages if _BLOCK.search(page.read_text(encoding="utf-8"))]


def with_fresh_screens(text: str) -> str:
    """Return a page with what its commands print now."""
    with tempfile.TemporaryDirectory() as folder:
        return _BLOCK.sub(lambda block: f"```console\n{_fresh(block[1], Path(folder))}```", text)


def _fresh(block: str, folder: Path) -> str:
    """Return a block with what its commands print now."""
    before, *screens = re.split(rf"^(?={re.escape(_PROMPT)})", block, flags=re.MULTILINE)
    if before:
        raise ValueError(
            f"a console block begins with {before.splitlines()[0]!r}; it must begin with '{_PROMPT}', or be sh"
        )
    lines: list[str] = []
    for screen in screens:
        first, *written = screen.splitlines()
        lines += [first, *shortened(printed(first.removeprefix(_PROMPT), folder), written)]
    return "".join(f"{line}\n" for line in lines)


def shortened(lines: list[str], written: list[str]) -> list[str]:
    """Leave out as many lines as the page does: all but as many as stand before and behind its ``...``."""
    if LEFT_OUT not in written:
        return lines
    before = written.index(LEFT_OUT)
    behind = len(written) - before - 1
    return [*lines[:before], LEFT_OUT, *lines[len(lines) - behind :]]


def printed(command: str, folder: Path) -> list[str]:
    """Return the lines that a command of the shell leaves on a terminal without colours."""
    python = shlex.quote(sys.executable)
    program = f'python() {{ {python} "$@"; }}\nmcgta() {{ python -m mcgta "$@"; }}\n'
    shell = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": str(COLUMNS)}
    shell.pop("FORCE_COLOR", None)
    ours, theirs = os.openpty()
    with open(ours, "rb", closefd=True) as terminal:
        process = subprocess.Popen(
            ["bash", "-c", program + command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=shell,
        )
        os.close(theirs)
        shown = _read_all(terminal.fileno())
        process.wait()
    left = [line.rpartition("\r")[2].rstrip() for line in shown.removesuffix("\n").split("\n")] if shown else []
    return [line for line in left if not line.startswith(_NOTICE)]


def _read_all(terminal: int) -> str:
    """Return what is written to a terminal until its last writer is gone."""
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # so Linux says that there is no writer any more
            part = b""
        if not part:
            return b"".join(parts).decode().replace("\r\n", "\n")
        parts.append(part)


def main() -> None:
    """Write the screens of every page anew."""
    for page in pages_with_screens():
        page.write_text(with_fresh_screens(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
