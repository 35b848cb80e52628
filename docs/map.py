"""Writes the map of the package into docs/architecture.md, from the layers that tests/test_imports.py enforces.

``python docs/map.py`` writes it; with ``--check`` it only tells whether the page is up to date.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent / "src" / "mcgta"
PAGE = DOCS / "architecture.md"
BEGIN = "<!-- the map is written by docs/map.py -->"
END = "<!-- end of the map -->"

sys.path.insert(0, str(DOCS.parent / "tests"))

from layers import LAYERS  # type: ignore[import-not-found]  # noqa: E402


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return text.split("\n")[0].rstrip(".")


def file_of(name: str) -> Path | None:
    """Return the file of a module or package; None for a name that is none."""
    path = ROOT.joinpath(*name.split("."))
    if path.is_dir():
        return path / "__init__.py"
    path = path.with_suffix(".py")
    return path if path.exists() else None


def make_map() -> str:
    """Return the table of layers, the highest first."""
    rows = ["| layer | module | what it is |", "| --- | --- | --- |"]
    for rank, layer in reversed(list(enumerate(LAYERS))):
        for name in layer:
            path = file_of(name)
            if path is not None:
                rows.append(f"| {rank} | `{name}` | {first_line(path)} |")
    return "\n".join(rows)


def page_with_map(page: str) -> str:
    """Return the page with the map in its place."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{make_map()}\n\n{END}{after}"


def main() -> int:
    """Write or check the page."""
    page = PAGE.read_text()
    new = page_with_map(page)
    if "--check" in sys.argv:
        return int(new != page)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
