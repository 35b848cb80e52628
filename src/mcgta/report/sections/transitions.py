"""Transitions: which cluster follows which along time, and the spells that a timeline shows, as tables."""

from __future__ import annotations

import numpy as np

from mcgta.description.spells import find_runs
from mcgta.plot.succession import change_shares
from mcgta.report.markup.html import DASH, Markup, Row, element, named, table
from mcgta.report.pictures.time_axis import TimeAxis
from mcgta.report.subject import Subject, badge
from mcgta.runtime.wording import say_distance, say_share

MOST_CLUSTERS = 24
MOST_SPELLS = 200
"""Spells that are listed, the first ones."""

_SHADES = 9


def write_transitions(subject: Subject) -> Markup | None:
    """Return which cluster follows which; None unless positions are times and there are two clusters or more."""
    counts = subject.description.transitions
    if counts is None or subject.n_clusters < 2:
        return None
    clusters = [k for k in subject.shown_clusters if k in np.argsort(-subject.sizes, kind="stable")[:MOST_CLUSTERS]]
    shares = change_shares(counts)
    rows = []
    for one in clusters:
        spells = subject.description.clusters[one].spells
        cells = [_cell(float(shares[one, other]), same=one == other) for other in clusters]
        rows.append(Row(one, (badge(one), *cells, str(spells))))
    cut = f" The {len(clusters)} largest of {subject.n_clusters}." if len(clusters) < subject.n_clusters else ""
    return element(
        "section",
        element("h2", "What follows what", id="transitions"),
        element(
            "p",
            f"Shares of the changes from the {subject.clusters_are(1)} of a row to that of a column; changes to and from "
            f"noise are not counted.{cut}",
            class_="quiet",
        ),
        table(
            ("from", *(badge(k) for k in clusters), "lasts"),
            rows,
            caption="Transitions",
            numbers=range(1, len(clusters) + 1),
        ),
        aria_labelledby="transitions",
    )


def _cell(share: float, *, same: bool) -> Markup:
    if same:
        return element("span", "·", aria_label="itself", role="img")
    return element("span", say_share(share) if share else DASH, class_=f"heat h{round(_SHADES * share)}")


def list_spells(subject: Subject, axis: TimeAxis) -> Markup | None:
    """Return the first spells of a series as a table, beside the timeline; None unless positions are times."""
    positions = subject.fit.data.positions
    if not positions.is_chain:
        return None
    runs = find_runs(subject.fit.labelling.labels, positions)
    several = len(positions.group_names) > 1
    times = positions.coordinates[:, 0]
    rows = []
    for k in range(min(MOST_SPELLS, runs.labels.size)):
        group = [named(positions.group_names[positions.groups[runs.starts[k]]])] if several else []
        begin = axis.say(float(times[runs.starts[k]]))
        length = say_distance(float(runs.lengths[k]), positions.unit)
        rows.append(Row(int(runs.labels[k]), (badge(int(runs.labels[k])), *group, begin, length)))
    cut = f"The first {MOST_SPELLS} of {runs.labels.size:,} spells" if runs.labels.size > MOST_SPELLS else "All spells"
    head = ("cluster", *(["group"] if several else []), "begins", "lasts")
    inner = table(head, rows, caption=cut, numbers=(len(head) - 1,))
    return element("details", element("summary", "The same as a table"), inner)
