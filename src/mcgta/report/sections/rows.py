"""The tables at the end: all clusters in figures, and the first rows with their clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.report.markup.html import Markup, Row, element, named, table
from mcgta.report.sections.where import position_cells, position_heads
from mcgta.report.subject import Subject, badge
from mcgta.runtime.wording import say_number, say_share

MOST_ROWS = 200
MOST_FEATURES = 12
MOST_CLUSTERS = 500


def write_tables(subject: Subject) -> Markup:
    """Return the section."""
    return element(
        "section",
        element("h2", "Tables", id="tables"),
        _write_clusters(subject),
        _write_rows(subject),
        aria_labelledby="tables",
    )


def _write_clusters(subject: Subject) -> Markup | None:
    if subject.n_clusters == 0:
        return None
    rows = []
    for each in subject.description.clusters[:MOST_CLUSTERS]:
        where = "; ".join(str(part) for part in (each.spells, each.places) if part is not None)
        rows.append(
            Row(each.cluster, (badge(each.cluster), f"{each.size:,}", say_share(each.share), where, each.words))
        )
    cut = f" (the first {MOST_CLUSTERS} of {subject.n_clusters})" if subject.n_clusters > MOST_CLUSTERS else ""
    head = ("cluster", "rows", "share", "when or where", "what sets it apart")
    return table(head, rows, caption=f"Clusters{cut}", numbers=(1, 2), wide=(3, 4))


def _write_rows(subject: Subject) -> Markup:
    """Return the first rows of the input that were clustered, with their clusters."""
    fit = subject.fit
    count = min(MOST_ROWS, len(fit.data.positions))
    features = list(range(min(len(subject.names), MOST_FEATURES)))
    strengths = fit.derived.strengths
    rows = []
    for place in range(count):
        row = int(fit.data.back[place])
        number = place if fit.data.rows is None else int(fit.data.rows[place])
        cluster = int(fit.labelling.labels[row])
        cells: list[Any] = [f"{number:,}", badge(cluster), f"{strengths[row]:.2f}", *position_cells(subject, row)]
        rows.append(Row(cluster, (*cells, *(say_number(float(fit.data.raw[place, k])) for k in features))))
    head = ["row", "cluster", "probability", *position_heads(subject), *(named(subject.names[k]) for k in features)]
    said = [f"The first {count:,} of {fit.n_rows:,} rows"] if count < fit.n_rows else ["All rows"]
    if len(features) < len(subject.names):
        said.append(f"the first {len(features)} of {len(subject.names)} features")
    rest = "; all rows are in the table that the command writes, or in labels_" if count < fit.n_rows else ""
    numbers = np.setdiff1d(np.arange(len(head)), [1]).tolist()
    inner = table(head, rows, caption=", ".join(said) + rest, numbers=numbers)
    return element("details", element("summary", "Rows"), inner)
