"""The map as a still picture, for pages without scripts and for paper."""

from __future__ import annotations

import math

import numpy as np

from mcgta.drawing.cells import count_cells, deal_out, opacity
from mcgta.drawing.map_frame import Frame
from mcgta.drawing.palette import N_COLORS, NOISE_COLOR, cluster_colors
from mcgta.plot.canvas import shorten
from mcgta.report.markup.charts import digits, label, line_path, rule, svg
from mcgta.report.markup.html import Markup, element
from mcgta.report.markup.png import shaded_png
from mcgta.report.markup.ticks import number_ticks
from mcgta.report.pictures.places import NARROWEST_COAST_VIEW_M, PlaceMap, find_anchors, grid_edges
from mcgta.report.subject import Subject, color_class
from mcgta.runtime.types import Array, Labels
from mcgta.runtime.wording import say_distance

LONGER_SIDE = 640.0
SHORTEST_SIDE = 120.0
MOST_STILL_POINTS = 5_000
"""Points that are drawn as such; more are counted in cells."""

MOST_STILL_PIES = 800
"""Places with several rows that are drawn as such; more are counted in cells."""

MAX_STILL_BYTES = 90_000
_STILL_CELLS = 120
_LEFT = 72.0
_BOTTOM = 26.0
_COVERED_SHARE = 0.2
_RADII = (1.2, 4.0)
_SHADES = 8
_ROUND_STEPS = (1, 2, 5)


def draw_map(subject: Subject, placed: PlaceMap) -> Markup:
    """Return the map as SVG."""
    frame = placed.frame
    width, height = _size(frame)
    west, south, east, north = frame.view
    x = _LEFT + (frame.x - west) / (east - west) * width
    y = (north - frame.y) / (north - south) * height
    labels = subject.fit.labelling.labels[frame.rows]
    parts = _draw_grid(frame, width, height)
    if placed.values["stacked"] and np.unique(np.column_stack([x, y]), axis=0).shape[0] <= MOST_STILL_PIES:
        parts += _draw_pies(x, y, labels, width * height)
    elif labels.size > MOST_STILL_POINTS:
        parts.append(_draw_cells(frame, labels, subject.n_clusters, width, height))
    else:
        parts += _draw_points(x, y, labels, _radius(width * height, labels.size))
    arcs = [
        line_path((arc[:, 0] - west) / (east - west) * width, (north - arc[:, 1]) / (north - south) * height)
        for arc in placed.arcs
    ]
    coast = (element("path", d=path, class_="coast") for path in arcs)
    parts.append(element("svg", *coast, x=digits(_LEFT), y="0", width=digits(width), height=digits(height)))
    for tile in frame.tiles:
        place = _LEFT + (tile.x - west) / (east - west) * width
        level = (north - tile.y) / (north - south) * height - 3
        parts.append(label(shorten(tile.name, 18), place, level, anchor="middle"))
    for number, across, down in find_anchors(frame, subject.fit.labelling.labels):
        parts.append(label(str(number), _LEFT + across * width, down * height + 4, anchor="middle", kind="halo"))
    if frame.width_m < NARROWEST_COAST_VIEW_M:
        parts += _draw_scale_bar(frame, width, height)
    return svg(_LEFT + width + 10, height + _BOTTOM, parts, "Map: which cluster is where", kind="map")


def _size(frame: Frame) -> tuple[float, float]:
    """Return width and height of the map by the proportions of the view."""
    west, south, east, north = frame.view
    slimness = (north - south) * frame.aspect / (east - west)
    width = min(LONGER_SIDE, LONGER_SIDE / slimness)
    height = min(LONGER_SIDE, LONGER_SIDE * slimness)
    return max(width, SHORTEST_SIDE), max(height, SHORTEST_SIDE)


def _radius(area: float, count: int) -> float:
    """Return the radius of so many dots that cover a share of an area."""
    return float(np.clip(math.sqrt(_COVERED_SHARE * area / max(count, 1) / math.pi), *_RADII))


def _draw_pies(x: Array, y: Array, labels: Labels, area: float) -> list[Markup]:
    """Return each place as a disc that is divided by the shares of its clusters."""
    places, of_rows = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    radius = 1.4 * _radius(area, len(places))
    clusters = np.unique(labels)
    counts = np.zeros((len(places), clusters.size))
    np.add.at(counts, (of_rows.ravel(), np.searchsorted(clusters, labels)), 1)
    ends = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
    paths: list[list[str]] = [[] for _ in clusters]
    for (across, upward), own in zip(places.tolist(), np.c_[np.zeros(len(places)), ends].tolist(), strict=True):
        for k, path in enumerate(paths):
            if own[k + 1] > own[k]:
                path.append(_wedge(across, upward, radius, own[k], own[k + 1]))
    return [
        element("path", d="".join(path), class_=f"flat {color_class(int(cluster))}")
        for cluster, path in zip(clusters.tolist(), paths, strict=True)
    ]


def _wedge(x: float, y: float, radius: float, begin: float, end: float) -> str:
    """Return the part of a disc between two shares of a turn, from the top clockwise."""
    r = digits(radius)
    if end - begin > 0.999:
        return f"M{digits(x - radius)} {digits(y)}a{r} {r} 0 1 0 {digits(2 * radius)} 0a{r} {r} 0 1 0 {digits(-2 * radius)} 0z"
    one, two = (
        (x + radius * math.sin(2 * math.pi * at), y - radius * math.cos(2 * math.pi * at)) for at in (begin, end)
    )
    large = int(end - begin > 0.5)
    return f"M{digits(x)} {digits(y)}L{digits(one[0])} {digits(one[1])}A{r} {r} 0 {large} 1 {digits(two[0])} {digits(two[1])}z"


def _draw_points(x: Array, y: Array, labels: Labels, radius: float) -> list[Markup]:
    """Return a path of dots for each cluster, noise first."""
    parts = []
    for cluster in np.unique(labels).tolist():
        own = labels == cluster
        dots = "".join(f"M{digits(a)} {digits(b)}h0" for a, b in zip(x[own].tolist(), y[own].tolist(), strict=True))
        parts.append(element("path", d=dots, class_=f"dots {color_class(cluster)}", stroke_width=digits(2 * radius)))
    return parts


def _draw_cells(frame: Frame, labels: Labels, n_clusters: int, width: float, height: float) -> Markup:
    """Return counts in cells as a picture; coarser cells where it would be too large."""
    cells = _STILL_CELLS
    while True:
        counts = count_cells(frame.x, frame.y, labels, n_clusters, grid_edges(frame, cells))
        dealt = deal_out(counts)[::-1]
        colored = np.where(dealt == n_clusters, N_COLORS, np.where(dealt < 0, -1, dealt % N_COLORS))
        shade = np.ceil(opacity(counts)[::-1] * _SHADES) / _SHADES
        url = shaded_png(colored, shade, [*cluster_colors(N_COLORS), NOISE_COLOR])
        if len(url) <= MAX_STILL_BYTES or cells < 16:
            sizes = {"x": digits(_LEFT), "y": "0", "width": digits(width), "height": digits(height)}
            return element("image", href=url, preserveAspectRatio="none", class_="pixels", **sizes)
        cells = cells * 3 // 4


def _draw_grid(frame: Frame, width: float, height: float) -> list[Markup]:
    """Return the lines of a graticule with degrees, or of round coordinates, and the frame."""
    west, south, east, north = frame.view
    parts = []
    if not frame.tiles:
        for tick in number_ticks(west, east, 6):
            place = _LEFT + (tick.at - west) / (east - west) * width
            words = say_degrees(tick.at, "E", "W") if frame.on_earth else tick.label
            parts += [rule(place, 0, place, height, "grid"), label(words, place, height + 16, anchor="middle")]
        for tick in number_ticks(south, north, 6):
            level = (north - tick.at) / (north - south) * height
            words = say_degrees(tick.at, "N", "S") if frame.on_earth else tick.label
            parts += [
                rule(_LEFT, level, _LEFT + width, level, "grid"),
                label(words, _LEFT - 6, level + 4, anchor="end"),
            ]
    return parts


def say_degrees(degrees: float, positive: str, negative: str) -> str:
    """Return degrees east or west of the meridian, or north or south of the equator."""
    if positive == "E":
        degrees = (degrees + 180) % 360 - 180
    degrees = round(degrees, 6) + 0.0
    side = "" if degrees in (0.0, -180.0) else positive if degrees > 0 else negative
    return f"{abs(degrees):g}°{side}"


def _draw_scale_bar(frame: Frame, width: float, height: float) -> list[Markup]:
    """Return a bar of a round length, at most a quarter of the view wide."""
    longest = frame.width_m / 4
    power = 10.0 ** math.floor(math.log10(longest))
    length = max(step * power for step in _ROUND_STEPS if step * power <= longest)
    pixels = length / frame.width_m * width
    level = height - 14
    middle = _LEFT + 12 + pixels / 2
    return [
        rule(_LEFT + 12, level, _LEFT + 12 + pixels, level, "bar"),
        label(say_distance(length, "m"), middle, level - 6, anchor="middle"),
    ]
