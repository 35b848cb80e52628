"""Every page of the gallery runs, and what it tells is so: each script ends with assertions on its claims."""

from __future__ import annotations

import ast
import runpy
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

from mcgta import ChoiceWarning

FOLDER = Path(__file__).parents[1] / "examples"
PAGES = sorted(FOLDER.glob("plot_*.py"))


def imported(page: Path) -> set[str]:
    """Return the packages that a page imports."""
    packages: set[str] = set()
    for node in ast.walk(ast.parse(page.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            packages.add(node.module.split(".")[0])
    return packages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_of_the_gallery_tells_is_so(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = sorted(package for package in imported(page) if find_spec(package) is None)
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install 'mcgta[docs]'")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other packages, which sphinx-gallery shows on no page either
        warnings.simplefilter("ignore", ChoiceWarning)
        runpy.run_path(str(page))
    from matplotlib import pyplot as plt

    assert plt.get_fignums(), "a page has a picture"
    plt.close("all")


def test_the_gallery_has_at_least_eight_pages() -> None:
    assert len(PAGES) >= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_the_source_of_its_data_and_asserts_its_claims(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    head = ast.get_docstring(ast.parse(text)) or ""
    source = head.partition("*Data*: ")[2].lower()
    assert " package" in source
    assert any(word in source for word in ("public domain", "cc0", "copyright", "licence", "us government"))
    assert "\nassert " in text
