"""Networks: partial correlations of features within each cluster, as pictures and as a table."""

from __future__ import annotations

import math

import numpy as np

from mcgta.plot.canvas import shorten
from mcgta.report.markup.charts import digits, label, svg
from mcgta.report.markup.html import Markup, Row, element, named, table
from mcgta.report.subject import Subject, badge, color_class
from mcgta.runtime.types import Array

MOST_NETWORKS = 24
MOST_FEATURES = 12
WEAKEST_DRAWN = 0.1
"""Absolute partial correlation from which on a line is drawn."""

MOST_LISTED = 5
"""Pairs of a cluster in the table, the strongest ones."""

_WIDTH = 220.0
_HEIGHT = 190.0
_RADIUS = 58.0
_PIXELS_PER_CORRELATION = 8.0
_NAME_CHARACTERS = 9


def write_networks(subject: Subject) -> Markup | None:
    """Return the networks; None where there are no clusters, or no pairs of features."""
    clusters = [k for k in subject.shown_clusters if k in _largest(subject)]
    if not clusters or len(subject.names) < 2:
        return None
    tables = np.array([subject.description.clusters[k].partial_correlations for k in clusters])
    columns = _choose_features(tables)
    drawn = [
        _draw_network(k, tables[place][np.ix_(columns, columns)], [subject.names[c] for c in columns])
        for place, k in enumerate(clusters)
    ]
    remarks = []
    if len(columns) < len(subject.names):
        remarks.append(f"{len(columns)} of {len(subject.names)} features, the most correlated ones.")
    if len(clusters) < subject.n_clusters:
        remarks.append(f"The {len(clusters)} largest of {subject.n_clusters} clusters.")
    if not (np.abs(tables - np.eye(tables.shape[1])) >= WEAKEST_DRAWN).any():
        remarks.append("No two features are so correlated within a cluster.")
    return element(
        "section",
        element("h2", "How features go together", id="networks"),
        element(
            "p",
            "A line joins two features that are correlated within the cluster given all others (partial correlation): "
            "solid where they rise together, dashed where one falls as the other rises, thicker where stronger; from "
            f"{WEAKEST_DRAWN:g} on.",
            class_="quiet",
        ),
        element("div", *drawn, class_="networks"),
        *(element("p", remark, class_="note") for remark in remarks),
        _write_table(subject, clusters),
        aria_labelledby="networks",
    )


def _largest(subject: Subject) -> list[int]:
    return np.argsort(-subject.sizes, kind="stable")[:MOST_NETWORKS].tolist()


def _choose_features(tables: Array) -> list[int]:
    """Return the most correlated features of any cluster, in their order."""
    strength = (np.abs(tables) - np.eye(tables.shape[1])).max(axis=0).sum(axis=0)
    return sorted(np.argsort(-strength, kind="stable")[:MOST_FEATURES].tolist())


def _draw_network(cluster: int, correlations: Array, names: list[str]) -> Markup:
    """Return the network of a cluster."""
    count = len(names)
    angles = np.pi / 2 - 2 * np.pi * (np.arange(count) + 0.5) / count
    x = _WIDTH / 2 + _RADIUS * np.cos(angles)
    y = _HEIGHT / 2 - _RADIUS * np.sin(angles)
    parts = []
    i, j = np.nonzero(np.triu(np.abs(correlations) >= WEAKEST_DRAWN, 1))
    for a, b in zip(i.tolist(), j.tolist(), strict=True):
        value = float(correlations[a, b])
        path = f"M{digits(x[a])} {digits(y[a])}L{digits(x[b])} {digits(y[b])}"
        kind = "tie" if value > 0 else "tie against"
        width = digits(0.5 + _PIXELS_PER_CORRELATION * abs(value))
        parts.append(
            element(
                "path",
                element("title", f"{names[a]} and {names[b]}: {value:+.2f}"),
                d=path,
                class_=kind,
                stroke_width=width,
            )
        )
    for k in range(count):
        parts.append(element("circle", cx=digits(x[k]), cy=digits(y[k]), r="5", class_=color_class(cluster)))
        across = math.cos(angles[k])
        anchor = "middle" if abs(across) < 0.3 else "start" if across > 0 else "end"
        level = y[k] + 4 - 11 * math.sin(angles[k])
        parts.append(label(shorten(names[k], _NAME_CHARACTERS), x[k] + 10 * across, level, anchor=anchor))
    words = f"Network of cluster {cluster}: {i.size} of {count * (count - 1) // 2} pairs of features are joined"
    return element(
        "figure",
        svg(_WIDTH, _HEIGHT, parts, words, kind="network"),
        element("figcaption", badge(cluster)),
        data_cluster=cluster,
    )


def _write_table(subject: Subject, clusters: list[int]) -> Markup:
    """Return the strongest pairs of each cluster."""
    rows = []
    i, j = np.triu_indices(len(subject.names), 1)
    for cluster in clusters:
        values = subject.description.clusters[cluster].partial_correlations[i, j]
        for pair in np.argsort(-np.abs(values), kind="stable")[:MOST_LISTED].tolist():
            if abs(values[pair]) >= WEAKEST_DRAWN:
                names = (named(subject.names[i[pair]]), named(subject.names[j[pair]]))
                rows.append(Row(cluster, (badge(cluster), *names, f"{values[pair]:+.2f}")))
    caption = f"The strongest partial correlations, up to {MOST_LISTED} of each cluster"
    inner = table(("cluster", "feature", "and", "partial correlation"), rows, caption=caption, numbers=(3,))
    return element("details", element("summary", "The same as a table"), inner)
