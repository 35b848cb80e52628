"""A page runs its own script and nothing else, and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources

import pytest

ASSETS = sorted(
    (path for path in resources.files("mcgta.report").joinpath("assets").iterdir()), key=lambda path: path.name
)


def blocks(text, tag):
    return re.findall(rf"<{tag}([^>]*)>(.*?)</{tag}>", text, flags=re.DOTALL)


def test_the_policy_allows_the_script_and_the_style_of_the_page_by_their_hashes_only(series, written):
    text = written(series, "series").text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1).replace("&#x27;", "'")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for kind in ("script", "style"):
        run = [content for attributes, content in blocks(text, kind) if "text/plain" not in attributes]
        assert len(run) == 1
        digest = base64.b64encode(hashlib.sha256(run[0].encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert rules["base-uri"] == rules["form-action"] == "'none'"


def test_the_policy_stands_before_everything_that_it_rules(series, written):
    text = written(series, "series").text
    assert text.index("Content-Security-Policy") < min(
        text.index("<style"), text.index("<script"), text.index("<title")
    )


def test_no_element_has_a_style_or_a_handler_of_its_own(series, spacetime, hostile, written):
    for name, model in (("series", series), ("spacetime", spacetime), ("hostile", hostile)):
        body = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", written(model, name).text, flags=re.DOTALL)
        for tag in re.findall(r"<[a-zA-Z][^>]*>", body):
            assert not re.search(r"\s(style|on\w+)\s*=", re.sub(r'"[^"]*"', '""', tag)), tag


def test_pages_name_no_address(series, spacetime, written):
    for name, model in (("series", series), ("spacetime", spacetime)):
        assert not re.search(r"(https?:)?//[a-z]", re.sub(r"<script.*?</script>", "", written(model, name).text))


@pytest.mark.parametrize("path", ASSETS, ids=lambda path: path.name)
def test_scripts_neither_evaluate_nor_insert_texts_as_markup_nor_load(path):
    content = path.read_text(encoding="utf-8")
    for word in (
        "eval(",
        "Function(",
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "fetch(",
        "import(",
        "http",
    ):
        assert word not in content, word


def test_names_that_would_do_harm_are_texts(hostile, written):
    text = written(hostile, "hostile").text
    assert "<img src=x" not in text
    assert "<svg onload" not in text
    assert "alert(4)</script>" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert "\x00" not in text


def test_assets_are_part_of_the_package():
    assert {path.name for path in ASSETS} >= {
        "page.css",
        "unpack.js",
        "timeline.js",
        "places.js",
        "legend.js",
        "start.js",
    }
