"""Pages that show screens: each is what its command prints now, and the page of the command line has every command and flag."""

from __future__ import annotations

import re
import sys
from importlib import util
from pathlib import Path

import pytest

from mcgta.cli.commands.registry import COMMANDS
from mcgta.cli.failures import EXIT_CODES
from mcgta.cli.parser import make_parser

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "command_line.md").read_text(encoding="utf-8")


def load_screens():
    """Return docs/screens.py as a module."""
    spec = util.spec_from_file_location("screens", DOCS / "screens.py")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


screens = load_screens()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the shell is that of POSIX")
@pytest.mark.parametrize("page", screens.pages_with_screens(), ids=lambda page: page.stem)
def test_screens_of_a_page_are_what_its_commands_print_now(page):
    text = page.read_text(encoding="utf-8")
    assert screens.with_fresh_screens(text) == text, "make screens writes them anew"


def test_a_screen_that_is_out_of_date_is_written_anew():
    page = "words\n\n```console\n$ echo one; echo two >&2\nthree\n$ seq 5\n1\n...\n5\n```\nmore\n"
    fresh = page.replace("three\n", "one\ntwo\n")
    assert screens.with_fresh_screens(page) == fresh
    assert screens.with_fresh_screens(fresh) == fresh


def test_a_block_without_a_prompt_is_refused():
    with pytest.raises(ValueError, match="begins with 'mcgta look'"):
        screens.with_fresh_screens("```console\nmcgta look\n```\n")


def test_commands_of_a_page_share_a_folder_that_pages_do_not():
    page = "```console\n$ echo a > a.txt\n```\n\n```console\n$ ls\na.txt\n```\n"
    assert screens.with_fresh_screens(page) == page
    assert screens.with_fresh_screens("```console\n$ ls\na.txt\n```\n") == "```console\n$ ls\n```\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_section_and_all_its_flags_are_named(name):
    assert f"\n## {name}\n" in PAGE
    flags = {flag for flag in make_parser()[1][name].flags if flag.startswith("--")} - {"--help"}
    assert {flag for flag in flags if not re.search(rf"{flag}\b", PAGE)} == set()


def test_exit_codes_are_those_of_the_program():
    table = dict(re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, flags=re.MULTILINE))
    assert {int(code): words.partition("; ")[0] for code, words in table.items()} == EXIT_CODES
