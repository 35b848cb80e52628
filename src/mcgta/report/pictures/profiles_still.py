"""Profiles of clusters as a still picture, where positions cannot be drawn."""

from __future__ import annotations

import numpy as np

from mcgta.plot.canvas import shorten
from mcgta.plot.profile import standardized_profiles
from mcgta.report.markup.charts import Chart, digits, label
from mcgta.report.markup.html import Markup, element
from mcgta.report.markup.ticks import number_ticks
from mcgta.report.subject import Subject, color_class

MOST_FEATURES = 8
MOST_CLUSTERS = 24
_LANE = 11.0
_GAP = 14.0


def draw_profiles(subject: Subject) -> Markup | None:
    """Return a bar for each feature and cluster, mean ± standard deviation in those of all rows; None without clusters."""
    if subject.n_clusters == 0:
        return None
    features = subject.features[:MOST_FEATURES]
    clusters = np.sort(np.argsort(-subject.sizes, kind="stable")[:MOST_CLUSTERS]).tolist()
    means, spreads = standardized_profiles(subject.fit.data.raw, subject.moments)
    low = float((means - spreads)[np.ix_(clusters, features)].min())
    high = float((means + spreads)[np.ix_(clusters, features)].max())
    block = _LANE * len(clusters) + _GAP
    chart = Chart(720, block * len(features) + 56, left=150, top=10)
    chart.set_x(min(low, -1.5), max(high, 1.5))
    band = (float(chart.x(-1)), float(chart.x(1)))
    sizes = {
        "x": digits(band[0]),
        "width": digits(band[1] - band[0]),
        "y": digits(chart.top),
        "height": digits(chart.bottom - chart.top),
    }
    chart.add(element("rect", class_="norm", **sizes))
    chart.axes(
        number_ticks(min(low, -1.5), max(high, 1.5), 7), [], "mean ± standard deviation, in those of all rows", ""
    )
    for place, column in enumerate(features):
        top = chart.top + place * block + _GAP / 2
        chart.add(
            label(
                shorten(subject.names[column], 20), chart.left - 10, top + 0.5 * _LANE * len(clusters) + 4, anchor="end"
            )
        )
        for lane, cluster in enumerate(clusters):
            _add_bar(
                chart, cluster, (float(means[cluster, column]), float(spreads[cluster, column])), top + lane * _LANE
            )
    return chart.picture("Profiles of the clusters; their figures are in the cards below")


def _add_bar(chart: Chart, cluster: int, level: tuple[float, float], top: float) -> None:
    """Draw mean ± standard deviation, and the number of the cluster behind it."""
    mean, spread = level
    left = float(chart.x(mean - spread))
    right = max(float(chart.x(mean + spread)), left + 1.5)
    sizes = {"x": digits(left), "y": digits(top + 2), "width": digits(right - left), "height": digits(_LANE - 4)}
    mark = element(
        "g",
        element("rect", class_=f"flat {color_class(cluster)}", **sizes),
        element("circle", cx=digits(float(chart.x(mean))), cy=digits(top + _LANE / 2), r="2.6", class_="mark"),
        label(str(cluster), right + 4, top + _LANE - 1.5),
        data_cluster=cluster,
    )
    chart.add(mark)
