"""Cluster cards: what sets each apart in words, its profile, when or where it is, and three typical rows."""

from __future__ import annotations

import math

import numpy as np

from mcgta.description import ClusterDescription
from mcgta.report.markup.charts import digits, rule, svg
from mcgta.report.markup.html import DASH, Markup, element, named, table
from mcgta.report.sections.where import position_cells, position_heads
from mcgta.report.subject import Subject, badge, color_class
from mcgta.runtime.wording import say_number, say_share

PROFILE_FEATURES = 6
"""Features of a cluster's profile, the most distinguishing ones first."""

ROW_FEATURES = 4
"""Features of the typical rows, the first of those."""

_BAR_WIDTH = 120.0
_BAR_HEIGHT = 14.0
_SHOWN_DEVIATIONS = 3.0


def write_cards(subject: Subject) -> Markup | None:
    """Return the cards of the clusters; None without any."""
    if subject.n_clusters == 0:
        return None
    clusters = subject.shown_clusters
    cut = None
    if len(clusters) < subject.n_clusters:
        cut = element("p", f"The {len(clusters)} largest of {subject.n_clusters} clusters have a card.", class_="note")
    cards = [_write_card(subject, subject.description.clusters[k]) for k in clusters]
    return element(
        "section",
        element("h2", f"What sets each {subject.clusters_are(1)} apart", id="cards"),
        element(
            "p",
            "A bar is the mean of the cluster ± its standard deviation; the tick in the middle is the mean of all rows, "
            "and the shaded band their standard deviation.",
            class_="quiet",
        ),
        cut,
        element("div", *cards, class_="cards"),
        aria_labelledby="cards",
    )


def _write_card(subject: Subject, cluster: ClusterDescription) -> Markup:
    rows = f"{cluster.size:,} {'row' if cluster.size == 1 else 'rows'}"
    where = [_sentence(str(part)) for part in (cluster.spells, cluster.places) if part is not None]
    title = f"card-{cluster.cluster}"
    return element(
        "article",
        element(
            "h3",
            badge(cluster.cluster),
            f" {subject.clusters_are(1).capitalize()} {cluster.cluster} ",
            element("small", f"{say_share(cluster.share)}, {rows}"),
            id=title,
        ),
        element("p", _sentence(cluster.words), class_="words"),
        *(element("p", words, class_="quiet") for words in where),
        _write_profile(subject, cluster),
        _write_typical_rows(subject, cluster),
        class_="card",
        data_cluster=cluster.cluster,
        aria_labelledby=title,
    )


def _sentence(words: str) -> str:
    """Return words as a sentence, whose first letter may be that of a column and stays as it is."""
    return f"{words}."


def _write_profile(subject: Subject, cluster: ClusterDescription) -> Markup:
    """Return the level and the spread of the features that set a cluster apart, with bars."""
    contrasts = cluster.contrasts[:PROFILE_FEATURES]
    center, scale = subject.overall
    rows = []
    for each in contrasts:
        column = subject.names.index(each.feature)
        middle = (each.mean - center[column]) / scale[column]
        spread = 0.0 if math.isnan(each.deviation) else each.deviation / scale[column]
        level = (
            f"{say_number(each.mean)} ± {say_number(each.deviation)}"
            if not math.isnan(each.deviation)
            else say_number(each.mean)
        )
        rest = DASH if math.isnan(each.rest_mean) else say_number(each.rest_mean)
        rows.append((named(each.feature), _draw_bar(cluster.cluster, float(middle), float(spread)), level, rest))
    left_out = len(cluster.contrasts) - len(contrasts)
    said = f" ({len(contrasts)} of {len(cluster.contrasts)} features)" if left_out else ""
    return table(("feature", "profile", "mean ± sd", "rest"), rows, caption=f"Profile{said}", numbers=(2, 3))


def _draw_bar(cluster: int, middle: float, spread: float) -> Markup:
    """Return a bar in standard deviations of all rows; what is beyond three of them is cut off."""

    def place(value: float) -> float:
        return _BAR_WIDTH * (0.5 + 0.5 * float(np.clip(value / _SHOWN_DEVIATIONS, -1, 1)))

    left = place(middle - spread)
    right = max(place(middle + spread), left + 1.5)
    parts = [
        element(
            "rect",
            x=digits(place(-1)),
            y="0",
            width=digits(place(1) - place(-1)),
            height=digits(_BAR_HEIGHT),
            class_="norm",
        ),
        rule(place(0), 0, place(0), _BAR_HEIGHT, "grid"),
        element("rect", x=digits(left), y="3.5", width=digits(right - left), height="7", class_=color_class(cluster)),
        element("circle", cx=digits(place(middle)), cy="7", r="2.6", class_="mark"),
    ]
    words = f"{middle:+.1f} ± {spread:.1f} standard deviations of all rows"
    return svg(_BAR_WIDTH, _BAR_HEIGHT, parts, words, kind="bar")


def _write_typical_rows(subject: Subject, cluster: ClusterDescription) -> Markup:
    """Return the numbers of the rows nearest to the centre, those of the features in the profile."""
    features = [each.feature for each in cluster.contrasts[:ROW_FEATURES]]
    columns = [subject.names.index(name) for name in features]
    data = subject.fit.data
    places = _unsorted(subject, cluster.typical_rows)
    head = ["row", *position_heads(subject), *(named(name) for name in features)]
    rows = [
        (
            f"{row:,}",
            *position_cells(subject, int(data.back[place])),
            *(say_number(data.raw[place, k]) for k in columns),
        )
        for row, place in zip(cluster.typical_rows, places, strict=True)
    ]
    return table(head, rows, caption="Typical rows", numbers=range(len(head)))


def _unsorted(subject: Subject, rows: tuple[int, ...]) -> list[int]:
    """Return the places of the user's rows among the unsorted observations."""
    numbers = subject.fit.data.rows
    return list(rows) if numbers is None else np.searchsorted(numbers, rows).tolist()
