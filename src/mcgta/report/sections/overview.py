"""When and where: the one big picture, as a timeline, a map, or both, which follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcgta.plot.canvas import shorten
from mcgta.report.markup.html import Markup, element, scrolling
from mcgta.report.pictures.alternatives import Shown
from mcgta.report.pictures.map_still import draw_map
from mcgta.report.pictures.packing import Pack
from mcgta.report.pictures.places import PlaceMap, can_be_mapped, make_map
from mcgta.report.pictures.profiles_still import draw_profiles
from mcgta.report.pictures.timeline import Timeline, make_timeline
from mcgta.report.pictures.timeline_still import draw_timeline
from mcgta.report.sections.transitions import list_spells
from mcgta.report.subject import Subject

_TITLES = {"time": "When", "space": "Where", "spacetime": "When and where", "other": "Profiles"}
_GROUP_CHARACTERS = 40


@dataclass(frozen=True, eq=False)
class Overview:
    """The section, and what its pictures need; None for a picture that there is not."""

    section: Markup
    timeline: dict[str, Any] | None
    map: dict[str, Any] | None


def write_overview(subject: Subject, shown: list[Shown], pack: Pack) -> Overview:
    """Return the big picture: still, and what brings it to life."""
    timeline = make_timeline(subject, shown, pack) if subject.domain in ("time", "spacetime") else None
    axis = None if timeline is None else timeline.axis
    placed = make_map(subject, shown, axis, pack) if can_be_mapped(subject) else None
    parts = [
        element("h2", _TITLES[subject.domain], id="overview"),
        element(
            "p",
            "This browser cannot unpack the data of the page, so its pictures stand still.",
            id="downgrade",
            class_="note",
            hidden=True,
        ),
        element(
            "noscript", element("p", "Scripts are off: pictures stand still, and all figures are there.", class_="note")
        ),
        None if placed is None else _write_map(subject, placed),
        None if timeline is None else _write_timeline(subject, timeline),
    ]
    if timeline is None and placed is None:
        known = "have one coordinate" if subject.domain == "space" else "are known by their distances only"
        parts += [
            element(
                "p",
                f"Positions {known}, so there is no map; these are the profiles of the clusters.",
                class_="quiet",
            ),
            draw_profiles(subject),
        ]
    section = element("section", *parts, class_="big", aria_labelledby="overview")
    return Overview(section, None if timeline is None else timeline.values, None if placed is None else placed.values)


def _write_timeline(subject: Subject, timeline: Timeline) -> Markup:
    remarks = [element("p", " ".join(timeline.remarks), class_="note")] if timeline.remarks else []
    return element(
        "div",
        element("div", scrolling(draw_timeline(subject, timeline), "Timeline"), class_="still"),
        element(
            "div",
            element("div", *_tools(timeline), class_="row", role="group", aria_label="Part of the time that is shown"),
            element(
                "canvas",
                id="time-overview",
                tabindex="0",
                role="slider",
                aria_label="Part of the time that is shown: arrow keys move and zoom, Escape shows all",
                aria_valuemin="0",
                aria_valuemax="100",
                aria_valuenow="50",
            ),
            element(
                "canvas",
                id="time-strips",
                role="img",
                aria_label="Strip: which cluster holds when; the spells are in the table below",
            ),
            element("canvas", id="time-courses", role="img", aria_label="Courses of the most distinguishing features"),
            element("p", "", id="time-cursor", class_="note cursor-words"),
            element("p", "", id="time-words", class_="note", role="status"),
            element(
                "p", "Drag to look closer; on the upper bar, drag the window, or use the arrow keys.", class_="note"
            ),
            id="timeline",
            class_="live",
            hidden=True,
        ),
        *remarks,
        list_spells(subject, timeline.axis),
    )


def _tools(timeline: Timeline) -> list[Markup]:
    """Return the buttons of the timeline, a choice of the group, and one of more features."""
    buttons = {
        "time-earlier": "Earlier",
        "time-later": "Later",
        "time-in": "Closer",
        "time-out": "Wider",
        "time-whole": "All of the time",
    }
    tools = [element("button", words, type="button", id=name) for name, words in buttons.items()]
    if len(timeline.series) > 1:
        options = [
            element("option", shorten(each.name, _GROUP_CHARACTERS), value=str(k))
            for k, each in enumerate(timeline.series)
        ]
        tools.append(element("label", "Features of ", element("select", *options, id="time-group")))
    if len(timeline.features) > timeline.values["shown"]:
        tools.append(element("button", "More features", type="button", id="time-more"))
    return tools


def _write_map(subject: Subject, placed: PlaceMap) -> Markup:
    buttons = {"map-in": "Closer", "map-out": "Wider", "map-whole": "Whole map"}
    remarks = [element("p", " ".join(placed.remarks), class_="note")] if placed.remarks else []
    return element(
        "div",
        element("div", scrolling(draw_map(subject, placed), "Map"), class_="still"),
        element(
            "div",
            element(
                "div",
                *(element("button", words, type="button", id=name) for name, words in buttons.items()),
                class_="row",
                role="group",
                aria_label="Part of the map that is shown",
            ),
            element(
                "div",
                element(
                    "canvas",
                    id="map-canvas",
                    role="img",
                    aria_label="Map: which cluster is where; clusters and their places are in the table at the end",
                ),
                id="map-frame",
                tabindex="0",
                role="group",
                aria_label="Map: arrow keys move, plus and minus zoom, Escape shows all",
            ),
            element("p", "", id="map-cursor", class_="note cursor-words"),
            element("p", "The whole map.", id="map-words", class_="note", role="status"),
            id="map",
            class_="live",
            hidden=True,
        ),
        *remarks,
    )
