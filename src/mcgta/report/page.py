"""The page: sections, style, scripts and data in one file, under a policy that lets nothing else run or load."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

import numpy as np

from mcgta.drawing.palette import NOISE_COLOR, cluster_colors
from mcgta.report.markup.html import Markup, element, join, plain, text
from mcgta.report.pictures.alternatives import Shown, count_numbers, list_shown
from mcgta.report.pictures.packing import Pack
from mcgta.report.sections.cards import write_cards
from mcgta.report.sections.certainty import say_alternative, say_clusters, write_certainty
from mcgta.report.sections.input import write_input
from mcgta.report.sections.legend import write_legend
from mcgta.report.sections.networks import write_networks
from mcgta.report.sections.opening import write_opening
from mcgta.report.sections.overview import write_overview
from mcgta.report.sections.relatedness import write_relatedness
from mcgta.report.sections.repeating import write_repeating
from mcgta.report.sections.rows import write_tables
from mcgta.report.sections.transitions import write_transitions
from mcgta.report.subject import Subject, color_rules, ink_on

SCRIPTS = ("unpack", "scales", "surface", "strips", "courses", "timeline", "marks", "places", "legend", "start")
"""Scripts in the order in which they build on each other."""

_LINKS = {
    "overview": "Picture",
    "cards": "Clusters",
    "networks": "Networks",
    "transitions": "Transitions",
    "certainty": "How sure",
    "related": "How far related",
    "input": "Input",
    "repeat": "Repeat",
    "tables": "Tables",
}
"""Sections that the page has a link to, by their name."""


def make_page(subject: Subject) -> str:
    """Return the page of a subject; equal subjects give equal pages."""
    pack = Pack()
    shown = list_shown(subject.fit)
    numbers = count_numbers(shown)
    overview = write_overview(subject, shown, pack)
    sections = [
        write_legend(
            subject, numbers
        ),  # above the picture, and a child of the page itself, so that it can stay in view
        overview.section,
        write_cards(subject),
        write_networks(subject),
        write_transitions(subject),
        write_certainty(subject, shown),
        write_relatedness(subject),
        write_input(subject),
        write_repeating(subject),
        write_tables(subject),
    ]
    values = {
        "colors": cluster_colors(numbers),
        "inks": [ink_on(color) for color in cluster_colors(numbers)],
        "noise": NOISE_COLOR,
        "shown": [_shown_values(each, numbers, subject.fit.n_rows) for each in shown],
        "timeline": overview.timeline,
        "map": overview.map,
    }
    body = join(
        [
            element("main", write_opening(subject), _write_links(sections), *sections, id="top"),
            element("footer", "Made by mcgta; nothing on this page is loaded from a network.", class_="foot"),
        ]
    )
    return _assemble(plain(subject.title), body, pack.to_text(values), numbers)


def _shown_values(shown: Shown, numbers: int, n_rows: int) -> dict[str, object]:
    """Return what the page needs to know of a labelling: shares of all numbers, noise and rows left out last, and words."""
    sizes = np.bincount(shown.labels[shown.labels >= 0], minlength=numbers).tolist()
    return {
        "taken": shown.taken,
        "clusters": say_clusters(shown.n_clusters),
        "words": say_alternative(shown),
        "shares": [size / n_rows for size in (*sizes, n_rows - sum(sizes))],
    }


def _write_links(sections: list[Markup | None]) -> Markup:
    """Return links to the sections that there are."""
    there = join(sections)
    items = [
        element("li", element("a", words, href=f"#{name}"))
        for name, words in _LINKS.items()
        if f' id="{name}"' in there
    ]
    return element("nav", element("ul", *items), aria_label="On this page")


def _assemble(title: str, body: Markup, data: str, numbers: int) -> str:
    """Put everything together, with hashes of style and scripts in the policy."""
    style = f"{_read('page.css')}{color_rules(numbers)}\n"
    script = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = join(
        [
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="referrer", content="no-referrer"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", f"{title}: mcgta report"),
            element("style", Markup(style)),
        ]
    )
    blocks = join(
        [
            element("script", Markup(data), type="text/plain", id="data"),
            element("script", Markup(script)),
        ]
    )
    return text(
        Markup(f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}{blocks}</body>\n</html>\n')
    )


def _read(name: str) -> str:
    return resources.files("mcgta.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """Return the hash of a style or a script as the policy writes it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
