"""How far things are related: the semivariogram as a picture, in a sentence and as a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.description.pair_shares import PairShares, count_pairs_within
from mcgta.description.verdict import thing
from mcgta.report.markup.charts import Chart, digits, label, rule
from mcgta.report.markup.html import DASH, Markup, element, table
from mcgta.report.markup.ticks import number_ticks
from mcgta.report.subject import Subject
from mcgta.runtime.wording import readable_distance_unit, say_distance, say_number, say_share
from mcgta.stages.semivariogram.curve import Semivariogram

_CURVE_POINTS = 160
_DOT_RADII = (1.6, 4.0)


def write_relatedness(subject: Subject) -> Markup:
    """Return the section."""
    pairs = count_pairs_within(subject.fit)
    curve = subject.fit.semivariogram
    sampled = (
        f" Shares are of the pairs of a sample of {pairs.rows:,} of {pairs.n_rows:,} rows." if pairs.sampled else ""
    )
    return element(
        "section",
        element("h2", "How far things are related", id="related"),
        element("p", say_relatedness(subject), class_="words"),
        element(
            "figure",
            _draw(curve, subject.fit.margin, pairs),
            element(
                "figcaption",
                "Dots: half the mean dissimilarity of the pairs at each distance, larger for more pairs. Line: the "
                f"{curve.model} curve. Dashed: the threshold of the loss. Steps, on the right: the share of pairs within one "
                f"cluster.{sampled}",
            ),
        ),
        _write_table(curve, pairs),
        aria_labelledby="related",
    )


def say_relatedness(subject: Subject) -> str:
    """Say in a sentence what the semivariogram shows, in the unit of the data."""
    curve = subject.fit.semivariogram
    things = thing(subject.domain, 2).capitalize()
    far = say_distance(curve.range_, curve.unit)
    if not np.isfinite(curve.range_):
        return f"{things} are related at every distance that was looked at."
    nugget = 0.0 if not curve.sill_ > 0 else curve.nugget_ / curve.sill_
    provenance = subject.fit.provenance
    columns = "" if provenance is None else f" in {', '.join(provenance.positions)}"
    unit = "" if curve.unit else columns or " (in the unit of the positions)"
    near = (
        ""
        if not nugget > 0.01
        else f" Of what they differ by beyond, {say_share(float(min(nugget, 1.0)))} is there between the nearest already."
    )
    reached = (
        ""
        if curve.range_ <= curve.max_lag
        else f" That is more than the {say_distance(curve.max_lag, curve.unit)} that were looked at."
    )
    return f"{things} that are less than {far} apart{unit} are more alike than those further apart.{near}{reached}"


def relatedness_values(subject: Subject) -> dict[str, Any]:
    """Return the semivariogram as values for JSON."""
    curve = subject.fit.semivariogram
    return {
        "words": say_relatedness(subject),
        "model": curve.model,
        "range": curve.range_,
        "sill": curve.sill_,
        "nugget": curve.nugget_,
        "unit": curve.unit,
        "margin": subject.fit.margin,
        "edges": curve.edges,
        "lags": curve.lags,
        "values": curve.values,
        "counts": curve.counts,
    }


def _draw(curve: Semivariogram, margin: float, pairs: PairShares) -> Markup:
    """Return the picture."""
    unit, size = readable_distance_unit(curve.max_lag / 3, curve.unit)
    distances = np.linspace(0, curve.max_lag, _CURVE_POINTS)
    heights = curve(distances)
    highest = max(float(np.nanmax(curve.values, initial=0.0)), curve.sill_)
    highest = highest if highest > 0 else 1.0
    lowest = min(0.0, float(heights[0]) - margin / 2)
    chart = Chart(640, 330, left=62, right=52, top=24, bottom=42)
    chart.set_x(0.0, curve.max_lag / size)
    chart.set_y(lowest, highest * 1.12)
    unit = "steps" if unit == "step" else unit
    name = f"distance [{unit}]" if unit else "distance"
    chart.axes(number_ticks(0, curve.max_lag / size, 7), number_ticks(lowest, highest * 1.12, 5), name, "semivariance")
    _draw_shares(chart, pairs, size)
    if curve.range_ <= curve.max_lag:
        place = float(chart.x(curve.range_ / size))
        chart.add(rule(place, chart.top, place, chart.bottom, "dotted"))
        side = "end" if place > 0.7 * chart.width else "start"
        chart.add(
            label(
                f"range {say_distance(curve.range_, curve.unit)}",
                place + (-5 if side == "end" else 5),
                chart.top + 10,
                anchor=side,
            )
        )
    for level, words in ((curve.sill_, "sill"), (curve.nugget_, "nugget")):
        chart.line([0, curve.max_lag / size], [level, level], "dotted")
        chart.add(
            label(
                f"{words} {say_number(level)}",
                chart.right - 4,
                float(chart.y(level)) - 4,
                anchor="end",
                kind="faint edged",
            )
        )
    if margin:
        chart.line(distances / size, heights - margin / 2, "line dashed")
    chart.line(distances / size, heights, "line strong")
    seen = curve.counts > 0
    radius = _DOT_RADII[0] + (_DOT_RADII[1] - _DOT_RADII[0]) * np.sqrt(
        curve.counts[seen] / max(int(curve.counts.max()), 1)
    )
    chart.dots(curve.lags[seen] / size, curve.values[seen], radius, "dot")
    far = say_distance(curve.range_, curve.unit)
    return chart.picture(
        f"Semivariogram: range {far}, sill {say_number(curve.sill_)}, nugget {say_number(curve.nugget_)}"
    )


def _draw_shares(chart: Chart, pairs: PairShares, size: float) -> None:
    """Draw the shares of pairs within one cluster as steps from 0, at the bottom, to all, at the top."""

    def level(share: float) -> float:
        return chart.bottom - share * (chart.bottom - chart.top)

    steps = []
    for k, share in enumerate(pairs.shares.tolist()):
        if share == share:
            left, right = chart.x(pairs.edges[k : k + 2] / size).tolist()
            steps.append(
                f"M{digits(left)} {digits(chart.bottom)}V{digits(level(share))}H{digits(right)}V{digits(chart.bottom)}z"
            )
    chart.add(element("path", d="".join(steps), class_="norm"))
    for share in (0.0, 0.5, 1.0):
        chart.add(label(f"{100 * share:.0f} %", chart.right + 5, level(share) + 4, kind="faint"))


def _write_table(curve: Semivariogram, pairs: PairShares) -> Markup:
    """Return the bins as a table."""
    rows = []
    for k in np.flatnonzero(curve.counts > 0).tolist():
        share = float(pairs.shares[k])
        within = say_share(share) if share == share else DASH
        rows.append(
            (
                say_distance(float(curve.lags[k]), curve.unit),
                f"{int(curve.counts[k]):,}",
                say_number(float(curve.values[k])),
                within,
            )
        )
    head = ("distance", "pairs", "semivariance", "within one cluster")
    inner = table(head, rows, caption="The semivariogram", numbers=range(4))
    return element("details", element("summary", "The same as a table"), inner)
