"""How sure: evidence over the number of clusters with a slider through the alternatives, and strengths of membership."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from mcgta.report.markup.charts import Chart, digits, svg
from mcgta.report.markup.html import Markup, Row, element, table
from mcgta.report.markup.ticks import Tick, log_ticks, number_ticks
from mcgta.report.pictures.alternatives import Shown
from mcgta.report.subject import Subject, badge, color_class
from mcgta.runtime.types import Array
from mcgta.runtime.wording import say_number, say_share
from mcgta.selection.choice import CLOSE_NATS, CLUSTERER, Choice

MEMBERSHIP_BINS = 40
MOST_HISTOGRAMS = 24
_SAMPLED = "Other numbers were looked at on a sample of the rows only, so there are no labels of them to show."
_HALF = 0.5
_HISTOGRAM_WIDTH = 240.0
_HISTOGRAM_HEIGHT = 40.0


def write_certainty(subject: Subject, shown: list[Shown]) -> Markup:
    """Return the section."""
    return element(
        "section",
        element("h2", "How sure is that?", id="certainty"),
        _write_evidence(subject, shown),
        _write_membership(subject),
        _write_stability(subject),
        aria_labelledby="certainty",
    )


def _write_evidence(subject: Subject, shown: list[Shown]) -> Markup:
    choice = subject.fit.choice
    if choice is None:
        words = (
            "This fit has made no search, so there is no evidence of other numbers of clusters to show. With eps='auto' and "
            "the default dissimilarity, clusterer and prior there is one."
        )
        return element("p", words)
    return element(
        "div",
        element(
            "p",
            "Each number of clusters has a best labelling. Its log evidence, in nats, says how well it explains the rows, "
            f"complexity being paid for; within {CLOSE_NATS:g} nats of the best, answers are about as good.",
        ),
        element("div", _draw_evidence(choice), _write_slider(subject, shown), class_="beside"),
        _list_alternatives(subject, choice),
    )


def _draw_evidence(choice: Choice) -> Markup:
    """Return how far each number of clusters is behind the best one, the best at the top."""
    best = max(float(choice.log_evidences.max()), choice.log_evidence)
    behind = best - choice.log_evidences
    most = float(max(behind.max(), best - choice.log_evidence, CLOSE_NATS))
    chart = Chart(460, 300, left=58, top=22)
    counts = choice.cluster_counts
    chart.set_x(float(counts.min()) - 0.5, float(counts.max()) + 0.5)
    if most > 4 * CLOSE_NATS:
        chart.set_y(2 * most, -1.0, _symmetric_log)
        y_ticks = log_ticks(2 * most, CLOSE_NATS)
    else:
        chart.set_y(1.15 * most, -0.5)
        y_ticks = number_ticks(0, 1.15 * most, 5)
    chart.box(counts.min() - 0.5, 0, counts.max() + 0.5, CLOSE_NATS, "norm")
    x_ticks = [
        Tick(tick.at, tick.label)
        for tick in number_ticks(float(counts.min()), float(counts.max()), 10)
        if tick.at == round(tick.at)
    ]
    chart.axes(x_ticks, y_ticks, "number of clusters", "behind the best [nats]")
    chart.line(counts, behind, "line")
    chart.dots(counts, behind, 4.0, "open")
    if choice.source == CLUSTERER:
        chart.line([counts.min() - 0.5, counts.max() + 0.5], [best - choice.log_evidence] * 2, "line strong")
    else:
        taken = int(np.argmin(np.abs(choice.log_evidences - choice.log_evidence)))
        chart.dots(counts[taken : taken + 1], behind[taken : taken + 1], 6.0, "mark")
    said = (
        "The filled mark is what was taken"
        if choice.source != CLUSTERER
        else "The thick line is what was taken, the labels of the clusterer"
    )
    picture = chart.picture(f"Evidence of {counts.size} numbers of clusters, in nats behind the best")
    return element("figure", picture, element("figcaption", f"{said}; the band is about as good as the best."))


def _symmetric_log(value: Any) -> Any:
    """Return nats on a scale that is linear up to what is about as good, and logarithmic beyond."""
    nats = np.asarray(value, dtype=float)
    return np.where(
        nats <= CLOSE_NATS, 0.5 * nats / CLOSE_NATS, 0.5 + np.log10(np.maximum(nats, CLOSE_NATS) / CLOSE_NATS)
    )


def _write_slider(subject: Subject, shown: list[Shown]) -> Markup:
    """Return the slider through the labellings that can be shown; without scripts, and with one only, a sentence."""
    sampled = any(each.labels is None for each in subject.fit.alternatives)
    cut = element("p", _SAMPLED, class_="note") if sampled else None
    if len(shown) < 2:
        return element("div", cut)
    taken = next(place for place, each in enumerate(shown) if each.taken)
    where = "pictures" if subject.domain != "other" else "legend"
    return element(
        "div",
        element(
            "div",
            element("label", "Show another number of clusters", for_="alternative"),
            element(
                "input",
                type="range",
                id="alternative",
                min="0",
                max=str(len(shown) - 1),
                step="1",
                value=str(taken),
                aria_valuetext=say_clusters(shown[taken].n_clusters),
            ),
            element("output", say_alternative(shown[taken]), id="alternative-words", for_="alternative"),
            element("button", "Back to what was taken", type="button", id="alternative-back", disabled=True),
            element(
                "p",
                f"The slider relabels the {where} and the legend above. Cards, networks and tables describe what was taken.",
                class_="note",
            ),
            class_="live slider",
            hidden=True,
        ),
        element("p", "With scripts, a slider shows other numbers of clusters in the pictures.", class_="still note"),
        cut,
    )


def say_clusters(number: int) -> str:
    """Return a number of clusters in words."""
    return "1 cluster" if number == 1 else f"{number} clusters"


def say_alternative(shown: Shown) -> str:
    """Say what an alternative is, for the slider."""
    behind = (
        ""
        if np.isnan(shown.behind)
        else ", the best"
        if shown.behind < 0.5
        else f", {say_number(shown.behind)} nats behind the best"
    )
    taken = ", taken" if shown.taken else ""
    return f"{say_clusters(shown.n_clusters)}{behind}{taken}: {shown.words}."


def _list_alternatives(subject: Subject, choice: Choice) -> Markup:
    best = max(float(choice.log_evidences.max()), choice.log_evidence)
    rows = [
        (each.n_clusters, say_number(best - each.log_evidence), each.difference) for each in subject.fit.alternatives
    ]
    inner = table(
        ("clusters", "nats behind", "what distinguishes it"), rows, caption="Alternatives", numbers=(0, 1), wide=(2,)
    )
    return element("details", element("summary", "The same as a table"), inner)


def _write_membership(subject: Subject) -> Markup | None:
    """Return histograms of the strengths of membership."""
    if subject.n_clusters == 0:
        return None
    by_density = subject.fit.labelling.source == CLUSTERER
    what = "the strength of their membership, by density" if by_density else "the probability of their own cluster"
    labels = subject.fit.labelling.labels
    strengths = subject.fit.derived.strengths
    clusters = [k for k in subject.shown_clusters if k in np.argsort(-subject.sizes, kind="stable")[:MOST_HISTOGRAMS]]
    edges = np.linspace(0, 1, MEMBERSHIP_BINS + 1)
    rows = []
    for cluster in clusters:
        own = strengths[labels == cluster]
        weak = float(np.mean(own < _HALF))
        picture = _draw_histogram(cluster, np.histogram(own, edges)[0].astype(float))
        rows.append(Row(cluster, (badge(cluster), picture, say_number(float(np.median(own))), say_share(weak))))
    cut = (
        f" The {len(clusters)} largest of {subject.n_clusters} clusters." if len(clusters) < subject.n_clusters else ""
    )
    return element(
        "div",
        element("h3", "How firmly rows belong to their clusters"),
        element("p", f"Histograms from 0 to 1 of {what}.{cut}", class_="quiet"),
        table(("cluster", "from 0 to 1", "median", "below ½"), rows, caption="Membership", numbers=(2, 3)),
    )


def _draw_histogram(cluster: int, counts: Array) -> Markup:
    """Return a histogram as high as its largest bin."""
    width = _HISTOGRAM_WIDTH / counts.size
    heights = counts / counts.max() * (_HISTOGRAM_HEIGHT - 2)
    floor = digits(_HISTOGRAM_HEIGHT)
    bars = "".join(
        f"M{digits(k * width)} {floor}v-{digits(max(height, 0.8))}h{digits(width - 0.6)}V{floor}z"
        for k, height in enumerate(heights.tolist())
        if height > 0
    )
    base = f"M0 {floor}H{digits(_HISTOGRAM_WIDTH)}"
    parts = [element("path", d=base, class_="axis"), element("path", d=bars, class_=f"flat {color_class(cluster)}")]
    return svg(_HISTOGRAM_WIDTH, _HISTOGRAM_HEIGHT, parts, f"Histogram of cluster {cluster}", kind="histogram")


def _write_stability(subject: Subject) -> Markup:
    """Return how to find out which clusters are found again without parts of the rows."""
    provenance = subject.fit.provenance
    lines = "from mcgta import stability\n\nprint(stability(model))"
    if provenance is not None:
        stem = "MODEL" if provenance.name == "-" else provenance.name.split(".")[0]
        lines = shlex.join(["mcgta", "stability", f"{stem}.mcgta"])
    return element(
        "div",
        element("h3", "Would they be found again?"),
        element(
            "p",
            "Stability clusters parts of the rows anew, in blocks of time or space, and compares. That takes about twenty "
            "times as long as the fit, so it is not done here:",
        ),
        element("pre", element("code", lines)),
    )
