"""Networks: partial correlations of features within each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mcgta.description.summary import feature_names
from mcgta.drawing.palette import cluster_color
from mcgta.fit import Fit
from mcgta.plot.canvas import (
    LEGEND_LINE_INCHES,
    LONGEST_NAME,
    SMALL_TEXT,
    bare,
    ink,
    name_length,
    new_axes,
    remark,
    settle_layout,
    shorten,
    size_in_inches,
    tint,
    write,
)
from mcgta.plot.reading import (
    cluster_moments,
    cluster_shares,
    fit_of,
    largest_clusters,
    read_features,
    refuse_no_clusters,
)
from mcgta.runtime.rules import Rule, check_value
from mcgta.runtime.types import Array
from mcgta.runtime.wording import say_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CLUSTERS = 12
DEFAULT_FEATURES = 12
WEAKEST_DRAWN = 0.1
"""Absolute partial correlation below which no line is drawn, unless told otherwise."""

_PANEL_INCHES = 2.4
_NEW_PITCH = 0.8  # from row to row of panels in a new figure, in sides of a panel
_LEAST_PANEL_INCHES = 1.0
_TITLE_INCHES = 0.2  # at the top of a panel
_MARK_INCHES = 0.2  # around the circle, for letters
_CHARACTER_INCHES = 0.06
_KEY_CHARACTER_INCHES = 0.078
_KEY_INCHES = (0.9, 1.6)  # of the width of axes, for a key: where a layout engine widens them, and where not
_KEY_LINE_INCHES = 0.6  # the sample beside a line of the key
_RADIUS_SHARE = 0.22  # of a panel's side, at most
_POINTS_PER_CORRELATION = 6.0  # width of a line
_DASHES = (0, (1.2, 0.8))
_KEY_TITLE = "partial correlation"
_KEY_SAMPLES = 3  # lines of the key that show widths
_MARK_POINTS = 7.0  # from the middle of a node to its mark


class _Panel(NamedTuple):
    """Where the network of a cluster stands: the middle of its panel, and the inches of its side, which is one on the axes."""

    cluster: int
    x: float
    y: float
    inches: float

    @property
    def radius(self) -> float:
        return _circle_inches(self.inches) / self.inches

    @property
    def middle(self) -> tuple[float, float]:
        return self.x, self.y - 0.5 * _TITLE_INCHES / self.inches


def _circle_inches(side: float) -> float:
    """Return the radius of the circle in a panel of so many inches."""
    return max(min(_RADIUS_SHARE * side, 0.5 * (side - _TITLE_INCHES) - _MARK_INCHES), 0.1 * side)


def networks(
    model: Any,
    *,
    least: float = WEAKEST_DRAWN,
    features: int | Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the partial correlations of features within each cluster, one network beside another.

    A line joins two features that are correlated within the cluster given all other features: solid where they rise together,
    dashed where one falls as the other rises, the thicker the stronger. Features have the same place in each network.
    Names that are too long for that stand in the key, by letters.

    Parameters
    ----------
    model : fitted MCGTA with clusters and at least two features
    least : absolute partial correlation from which on a line is drawn
    features : names of features to draw, or how many of the most correlated; None is 12, or as many as a key beside ``ax`` has
        room for
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    fit = fit_of(model)
    refuse_no_clusters(fit, "networks")
    check_value("least", least, Rule(real=(0, 1)))
    if fit.data.raw.shape[1] < 2:
        raise ValueError("networks shows pairs of features, and this fit has one feature; use mcgta.plot.profiles")
    clusters = largest_clusters(fit, MOST_CLUSTERS if ax is None else _most_panels(ax))
    moments = cluster_moments(fit)
    tables = np.array([moments.partial_correlations(k) for k in clusters])
    columns = _choose_features(fit, features, tables, DEFAULT_FEATURES if ax is None else _most_key_lines(ax))
    names = [feature_names(fit)[column] for column in columns]
    across = _panels_across(len(clusters), 1.6 if ax is None else _proportion_beside_key(ax))
    rows = -(-len(clusters) // across)
    side = _PANEL_INCHES if ax is None else _panel_inches(ax, across, rows)
    marks = _marks(names, side)
    axes = new_axes(ax, _figure_inches(across, rows, names if marks != names else []))
    bare(axes)
    pitch = _NEW_PITCH if ax is None else 1.0
    axes.set(xlim=(-0.5, across - 0.5), ylim=((0.5 - rows) * pitch, 0.5 * pitch), aspect="equal", anchor="NW")
    shares = cluster_shares(fit).clusters
    for place, table in enumerate(tables):
        panel = _Panel(clusters[place], place % across, -(place // across) * pitch, side)
        _draw_network(axes, panel, table[np.ix_(columns, columns)], marks, least)
        title = f"{panel.cluster}   {say_share(shares[panel.cluster])}"
        axes.text(panel.x, panel.y + 0.49 * pitch, title, ha="center", va="top", fontsize=SMALL_TEXT)
    _add_key(axes, names if marks != names else [], marks, least)
    remarks = [f"{len(columns)} of {len(feature_names(fit))} features"] if len(columns) < tables.shape[1] else []
    if len(clusters) < fit.labelling.n_clusters:
        remarks.append(f"the {len(clusters)} largest of {fit.labelling.n_clusters} clusters")
    if remarks:
        remark(axes, ", ".join(remarks), beside=_key_inches(axes))
    settle_layout(axes)
    return axes


def _choose_features(fit: Fit, features: int | Sequence[str] | None, tables: Array, default: int) -> list[int]:
    """Return the columns to draw, in the order of the features: those named, or the most correlated of any cluster."""
    if isinstance(features, (str, Sequence)):
        return read_features(fit, features, default, least=2)
    wanted = default if features is None else features
    check_value("features", wanted, Rule(integer=(2, np.inf)))
    strength = (np.abs(tables) - np.eye(tables.shape[1])).max(axis=0).sum(axis=0)
    return sorted(np.argsort(-strength, kind="stable")[: int(wanted)].tolist())


def _most_panels(axes: Axes) -> int:
    """Return how many networks axes have room for."""
    width, height = size_in_inches(axes)
    room = max(int((width - _key_inches(axes)) / _LEAST_PANEL_INCHES), 1) * max(int(height / _LEAST_PANEL_INCHES), 1)
    return min(room, MOST_CLUSTERS)


def _key_inches(axes: Axes) -> float:
    """Return how much of the width of axes their key will take."""
    figure: Any = axes.figure.figure
    return _KEY_INCHES[0 if figure.get_layout_engine() is not None else 1]


def _most_key_lines(axes: Axes) -> int:
    """Return how many features a key beside the axes has room for."""
    return int(np.clip(size_in_inches(axes)[1] / LEGEND_LINE_INCHES - 5, 3, DEFAULT_FEATURES))


def _proportion_beside_key(axes: Axes) -> float:
    """Return the width over the height of what axes have left beside a key."""
    width, height = size_in_inches(axes)
    return max(width - _key_inches(axes), 0.3 * height) / height


def _panel_inches(axes: Axes, across: int, rows: int) -> float:
    """Return the side of a panel of so many, beside a key."""
    width, height = size_in_inches(axes)
    return max(min((width - _key_inches(axes)) / across, height / rows), 0.6)


def _figure_inches(across: int, rows: int, listed: list[str]) -> tuple[float, float]:
    """Return the size of a new figure with so many panels and a key that lists some names."""
    longest = max((min(len(name), LONGEST_NAME) + 3 for name in listed), default=len(_KEY_TITLE))
    key = _KEY_LINE_INCHES + _KEY_CHARACTER_INCHES * max(longest, len(_KEY_TITLE) - 4)
    lines = LEGEND_LINE_INCHES * (len(listed) + _KEY_SAMPLES + 2)
    return _PANEL_INCHES * across + key, max(_PANEL_INCHES * _NEW_PITCH * rows, lines) + 0.25


def _panels_across(count: int, proportion: float) -> int:
    """Return how many of so many panels stand side by side, so that they are largest on a page of width over height."""
    return max(range(1, count + 1), key=lambda across: min(proportion / across, 1 / -(-count // across)))


def _marks(names: list[str], side: float) -> list[str]:
    """Return what is written beside nodes: names where all fit into a panel of that many inches, else letters or numbers."""
    room = 0.5 * side - _circle_inches(side) - _MARK_POINTS / 72
    if max(map(len, names)) * _CHARACTER_INCHES <= room:
        return names
    return [chr(ord("a") + k) if len(names) <= 26 else str(k) for k in range(len(names))]


def _draw_network(axes: Axes, panel: _Panel, table: Array, marks: list[str], least: float) -> None:
    """Draw the lines, the nodes and their marks; say so where there is no line."""
    from matplotlib.collections import LineCollection

    angles = np.pi / 2 - 2 * np.pi * (np.arange(len(marks)) + 0.5) / len(marks)  # none at the top, where the title is
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    nodes = panel.radius * directions + panel.middle
    i, j = np.nonzero(np.triu(np.abs(table) >= max(least, np.finfo(float).tiny), 1))
    values = table[i, j]
    for positive in (True, False):
        chosen = (values > 0) == positive
        lines = LineCollection(
            list(np.stack([nodes[i[chosen]], nodes[j[chosen]]], axis=1)),
            linewidths=0.4 + _POINTS_PER_CORRELATION * np.abs(values[chosen]),
            colors=[ink()],
            alpha=0.6,
            linestyles="solid" if positive else _DASHES,
            zorder=1,
        )
        axes.add_collection(lines, autolim=False)
    size = 55 if panel.inches > 1.5 else 25
    axes.scatter(nodes[:, 0], nodes[:, 1], s=size, color=cluster_color(panel.cluster), zorder=2)
    if values.size == 0:
        axes.text(*panel.middle, "none", ha="center", va="center", fontsize="x-small", color=tint(ink(), 0.7))
    for mark, node, direction in zip(marks, nodes, directions, strict=True):
        side = "center" if abs(direction[0]) < 0.3 else "left" if direction[0] > 0 else "right"
        level = "center" if abs(direction[1]) < 0.9 else "bottom" if direction[1] > 0 else "top"
        offset = (_MARK_POINTS * direction[0], _MARK_POINTS * direction[1])
        write(axes, mark, (node[0], node[1]), offset, ha=side, va=level, fontsize="x-small")


def _add_key(axes: Axes, listed: list[str], marks: list[str], least: float) -> None:
    """Put a key beside the axes: what lines mean, and the features that stand for letters."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"color": ink(), "alpha": 0.6}
    width = 0.4 + _POINTS_PER_CORRELATION * 0.5
    entries = [
        Line2D([], [], lw=width, label="+0.5", **style),
        Line2D([], [], lw=width, ls=_DASHES, label="-0.5", **style),
        Line2D([], [], lw=0.4 + _POINTS_PER_CORRELATION * least, label=f"{least:g}, the least drawn", **style),
    ]
    entries += [
        Line2D([], [], ls="none", label=f"{mark}  {shorten(name, name_length(axes))}")
        for mark, name in zip(marks if listed else [], listed, strict=True)
    ]
    axes.legend(
        handles=entries,
        title=_KEY_TITLE,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        fontsize=SMALL_TEXT,
        title_fontsize=SMALL_TEXT,
    )
