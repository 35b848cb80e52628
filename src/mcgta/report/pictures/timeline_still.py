"""The timeline as a still picture, for pages without scripts and for paper."""

from __future__ import annotations

import numpy as np

from mcgta.drawing.palette import N_COLORS, NOISE_COLOR, cluster_color, cluster_colors
from mcgta.drawing.series import Series
from mcgta.drawing.time_shares import envelope, shares_of_time, stack_shares
from mcgta.plot.canvas import shorten
from mcgta.report.markup.charts import digits, label, line_path, rule, svg
from mcgta.report.markup.html import Markup, element
from mcgta.report.markup.png import indexed_png
from mcgta.report.pictures.strips import NOISE, find_time_runs
from mcgta.report.pictures.time_axis import TimeAxis
from mcgta.report.pictures.timeline import SHOWN_FEATURES, Timeline
from mcgta.report.subject import Subject, ink_on
from mcgta.runtime.types import Array, Labels
from mcgta.runtime.wording import say_number

WIDTH = 960.0
COLUMNS = 480
"""Columns of time in the picture, of two pixels each."""

_NAME_WIDTH = 130.0
_STRIP_HEIGHT = 52.0
_GROUP_HEIGHT = 20.0
_BAND_HEIGHT = 62.0
_TICKS = 7
_STACK_PIXELS = 40
_NUMBERED_WIDTH = 24.0
_MOST_NUMBERS = 60


def draw_timeline(subject: Subject, timeline: Timeline) -> Markup:
    """Return the timeline as SVG: a strip for each group, and below a single one the courses of features."""
    labels = subject.fit.labelling.labels
    several = len(timeline.series) > 1
    left = _NAME_WIDTH if several else 0.0
    height = _GROUP_HEIGHT if several else _STRIP_HEIGHT
    edges = np.linspace(timeline.axis.first, timeline.axis.last, COLUMNS + 1)
    parts: list[Markup] = []
    top = 2.0
    for each in timeline.series:
        url = _strip_url(each, labels, subject.n_clusters, edges, timeline.axis)
        parts.append(_image(url, left, top, WIDTH - left, height))
        parts += _number_runs(each, labels, timeline.axis, (left, top + height / 2 + 4))
        if several:
            parts.append(label(shorten(each.name, 18), left - 8, top + 0.72 * height, anchor="end"))
        top += height + (6.0 if several else 4.0)
    for column in timeline.features[:SHOWN_FEATURES] if not several else ():
        parts += _draw_course(subject, timeline, column, top)
        top += _BAND_HEIGHT + 22.0
    parts += _draw_axis(timeline.axis, left, top)
    words = f"Timeline of {len(timeline.series)} series" if several else "Timeline"
    return svg(
        WIDTH, top + 38.0, parts, f"{words}: which cluster holds when, from {_say_ends(timeline.axis)}", kind="wide"
    )


def _say_ends(axis: TimeAxis) -> str:
    return f"{axis.say(axis.first)} to {axis.say(axis.last - axis.step)}"


def _strip_url(series: Series, labels: Labels, n_clusters: int, edges: Array, axis: TimeAxis) -> str:
    """Return the strip of a series as a picture of shares of time."""
    shares = shares_of_time(series.times, labels[series.rows], n_clusters, edges, axis.step)
    picture = stack_shares(shares, max(_STACK_PIXELS, 2 * (n_clusters + 1)))
    colored = np.where(picture == n_clusters, N_COLORS, np.where(picture < 0, -1, picture % N_COLORS))
    return indexed_png(colored, [*cluster_colors(N_COLORS), NOISE_COLOR])


def _number_runs(series: Series, labels: Labels, axis: TimeAxis, corner: tuple[float, float]) -> list[Markup]:
    """Return the numbers of clusters in stretches of theirs that are wide enough."""
    if series.tied:
        return []
    left, level = corner
    starts, codes = find_time_runs(series, labels[series.rows], axis)
    places = left + (WIDTH - left) * axis.place(starts)
    wide = np.flatnonzero((np.diff(places) >= _NUMBERED_WIDTH) & (codes[:-1] < NOISE))
    return [
        label(
            str(codes[k]),
            0.5 * float(places[k] + places[k + 1]),
            level,
            anchor="middle",
            kind=f"on-{ink_on(cluster_color(int(codes[k])))[1:]}",
        )
        for k in wide[:_MOST_NUMBERS].tolist()
    ]


def _image(url: str, x: float, y: float, width: float, height: float) -> Markup:
    sizes = {"x": digits(x), "y": digits(y), "width": digits(width), "height": digits(height)}
    return element("image", href=url, preserveAspectRatio="none", class_="pixels", **sizes)


def _draw_course(subject: Subject, timeline: Timeline, column: int, top: float) -> list[Markup]:
    """Return the course of a feature: a band from the least to the largest value of each column, and the mean."""
    series = timeline.series[0]
    values = subject.fit.data.raw[subject.fit.data.order[series.rows], column]
    low, high = timeline.values["ranges"][timeline.features.index(column)]
    edges = np.linspace(timeline.axis.first, timeline.axis.last, COLUMNS + 1)
    seen = envelope(series.times, np.clip(values, low, high), edges, timeline.axis.step)
    x = WIDTH * timeline.axis.place(seen.times)
    least, mean, largest = (
        top + 16 + _BAND_HEIGHT * (high - part) / (high - low) for part in (seen.least, seen.mean, seen.largest)
    )
    band = "".join(
        f"M{digits(a)} {digits(b)}V{digits(min(c, b - 0.6))}"
        for a, b, c in zip(x.tolist(), least.tolist(), largest.tolist(), strict=True)
        if b == b
    )
    return [
        label(shorten(subject.names[column], 40), 0, top + 11),
        label(f"{say_number(low)} to {say_number(high)}", WIDTH, top + 11, anchor="end", kind="faint"),
        rule(0, top + 16 + _BAND_HEIGHT, WIDTH, top + 16 + _BAND_HEIGHT, "grid"),
        element("path", d=band, class_="band"),
        element("path", d=line_path(x, mean), class_="course"),
    ]


def _draw_axis(axis: TimeAxis, left: float, top: float) -> list[Markup]:
    """Return the axis of time."""
    parts = [rule(left, top, WIDTH, top, "axis")]
    for tick in axis.ticks(_TICKS):
        place = left + (WIDTH - left) * float(axis.place(np.array(tick.at)))
        anchor = "start" if place < left + 24 else "end" if place > WIDTH - 24 else "middle"
        parts += [rule(place, top, place, top + 4, "axis"), label(tick.label, place, top + 17, anchor=anchor)]
    name = axis.unit or ("" if axis.origin is not None else "time")
    return [*parts, label(name, 0.5 * (left + WIDTH), top + 34, anchor="middle", kind="faint")]
