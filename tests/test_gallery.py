"""The gallery: pages have sources, pictures and assertions. ``make docs`` runs them, and fails where an assertion does.

Scripts are not run here, since ``make test`` builds the documents as well and each script would run twice.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "examples").glob("plot_*.py"))
LEAST_PAGES = 8

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def assertions(page: Path) -> list[ast.Assert]:
    """Return what a page asserts when it runs, outside of functions."""
    return [node for node in ast.parse(page.read_text(encoding="utf-8")).body if isinstance(node, ast.Assert)]


def test_the_gallery_has_at_least_eight_pages() -> None:
    assert len(PAGES) >= LEAST_PAGES


def test_documents_are_built_by_the_tests_and_an_assertion_that_fails_ends_the_build() -> None:
    prerequisites = next(line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("test:"))
    assert "docs" in prerequisites.partition("##")[0].split()
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert '"abort_on_example_error": True' in conf
    assert '"run_stale_examples": True' in conf


@each_page
def test_a_page_names_the_source_of_its_data_and_their_terms(page: Path) -> None:
    head = ast.get_docstring(ast.parse(page.read_text(encoding="utf-8"))) or ""
    source = head.partition("*Data*: ")[2].lower()
    assert " package" in source
    assert any(word in source for word in ("public domain", "cc0", "copyright", "licence", "us government"))


@each_page
def test_a_page_asserts_its_claims_where_readers_do_not_see_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    hidden = text.partition("# sphinx_gallery_start_ignore\n")[2].partition("# sphinx_gallery_end_ignore")[0]
    assert len(assertions(page)) >= 2
    assert hidden.count("\nassert ") + hidden.startswith("assert ") == len(assertions(page))


@each_page
def test_a_page_draws_a_picture_and_has_short_lines(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "plt.subplots(" in text or ".plot(" in text
    assert max(len(line) for line in text.splitlines()) <= 128
