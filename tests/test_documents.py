"""Documents: pages load nothing from a network, pictures and links lead to files that are there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
README = DOCS.parent / "README.md"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
MAX_README_LINES = 150
MAX_LINE_CHARACTERS = 400


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import offline

    yield offline
    sys.modules.pop("offline", None)


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://host/a.js"></script>',
        '<script src="//host/a.js"></script>',
        '<link rel="stylesheet" href="http://host/a.css">',
        '<link rel="preconnect" href="https://fonts">',
        '<img src="https://host/a.png">',
        '<img src="a.png" srcset="a.png, https://host/b.png 2x">',
        "<style>@import 'https://host/a.css';</style>",
        '<p style="background: url(https://host/a.png)">text</p>',
    ],
)
def test_a_page_that_loads_from_a_network_is_noticed(offline, html: str) -> None:
    assert len(offline.loads_of_page(html)) == 1


def test_links_that_one_clicks_and_files_beside_the_page_are_allowed(offline) -> None:
    html = (
        '<a href="https://host">text</a><script src="_static/a.js"></script><link rel="canonical" href="https://host">'
    )
    assert offline.loads_of_page(html) == []
    assert offline.loads_of_style("a { background: url(data:image/png;base64,AAAA) }") == []


def test_a_style_sheet_that_loads_a_font_is_noticed(offline, tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@font-face { src: url('https://host/font.woff2') }", encoding="utf-8")
    assert offline.loads_of_site(tmp_path) == ["a.css loads https://host/font.woff2"]


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_pictures_and_pages_that_a_page_names_exist(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    scripts = {f"gallery/{path.stem}.rst" for path in DOCS.parent.glob("examples/plot_*.py")} | {"gallery/index.rst"}
    missing = [
        target
        for target in targets
        if "://" not in target and target not in scripts and not (page.parent / target).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_picture_has_words_in_its_place(page: Path) -> None:
    words = re.findall(r"!\[([^\]]*)\]\(", page.read_text(encoding="utf-8"))
    assert all(len(each.split()) >= 3 for each in words)


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_lines_of_a_page_can_be_read_in_an_editor(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > MAX_LINE_CHARACTERS] == []


def test_the_readme_is_short_and_opens_with_a_picture() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_README_LINES
    assert text.index("![") < text.index("\n## ")


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = {name for block in re.findall(r"```{toctree}(.*?)```", INDEX, flags=re.DOTALL) for name in block.split()}
    assert {page.stem for page in PAGES} - {"index"} - listed == set()
