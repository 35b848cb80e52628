"""Networks: partial correlations of features within each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mcgta.description.moments import Moments
from mcgta.description.summary import feature_names
from mcgta.fit import Fit
from mcgta.palette import cluster_color
from mcgta.plot.canvas import (
    LEGEND_LINE_INCHES,
    SMALL_TEXT,
    bare,
    ink,
    name_length,
    new_axes,
    remark,
    settle_layout,
    shorten,
    size_in_inches,
    write,
)
from mcgta.plot.reading import cluster_counts, fit_of, largest_clusters, read_features, refuse_no_clusters
from mcgta.runtime.rules import Rule, check_value
from mcgta.runtime.types import Array
from mcgta.runtime.wording import say_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CLUSTERS = 12
DEFAULT_FEATURES = 12
WEAKEST_DRAWN = 0.1
"""Absolute partial correlation below which no line is drawn, unless told otherwise."""

_PANEL_INCHES = 2.3
_LEAST_PANEL_INCHES = 0.85
_KEY_INCHES = 1.5
_NAME_CHARACTERS = 10
_CIRCLE_RADIUS = 0.28  # of a panel's side
_POINTS_PER_CORRELATION = 6.0  # width of a line
_CHARACTER_INCHES = 0.056


class _Panel(NamedTuple):
    """Where the network of a cluster stands: the middle of its circle."""

    cluster: int
    x: float
    y: float


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
    axes = None if ax is None else new_axes(ax)
    clusters = largest_clusters(fit, MOST_CLUSTERS if axes is None else _most_panels(axes))
    moments = Moments.of(fit.data.raw, fit.labels, fit.labelling.n_clusters)
    tables = np.array([moments.partial_correlations(k) for k in clusters])
    columns = _choose_features(fit, features, tables, DEFAULT_FEATURES if axes is None else _most_key_lines(axes))
    across = _panels_across(len(clusters), 1.6 if axes is None else np.divide(*size_in_inches(axes)))
    rows = -(-len(clusters) // across)
    axes = axes or new_axes(None, (_PANEL_INCHES * across + _KEY_INCHES, _PANEL_INCHES * rows + 0.1))
    bare(axes)
    axes.set(xlim=(-0.5, across - 0.5), ylim=(0.5 - rows, 0.5), aspect="equal")
    names = [feature_names(fit)[column] for column in columns]
    side = (
        _PANEL_INCHES if ax is None else min((size_in_inches(axes)[0] - 0.8) / across, size_in_inches(axes)[1] / rows)
    )
    marks = _marks(names, side)
    for place, table in enumerate(tables):
        panel = _Panel(clusters[place], place % across, -(place // across))
        _draw_network(axes, panel, table[np.ix_(columns, columns)], marks, least)
        share = say_share(cluster_counts(fit)[panel.cluster] / fit.labels.size)
        axes.text(panel.x, panel.y + 0.47, f"{panel.cluster}   {share}", ha="center", va="top", fontsize=SMALL_TEXT)
    _add_key(axes, names, marks, least)
    remarks = [f"{len(columns)} of {len(feature_names(fit))} features"] if len(columns) < tables.shape[1] else []
    if len(clusters) < fit.labelling.n_clusters:
        remarks.append(f"the {len(clusters)} largest of {fit.labelling.n_clusters} clusters")
    if remarks:
        remark(axes, ", ".join(remarks))
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
    room = max(int((width - 0.5) / _LEAST_PANEL_INCHES), 1) * max(int(height / _LEAST_PANEL_INCHES), 1)
    return min(room, MOST_CLUSTERS)


def _most_key_lines(axes: Axes) -> int:
    """Return how many features a key beside the axes has room for."""
    return int(np.clip(size_in_inches(axes)[1] / LEGEND_LINE_INCHES - 5, 3, DEFAULT_FEATURES))


def _panels_across(count: int, proportion: float) -> int:
    """Return how many of so many panels stand side by side on a page of width over height, so that rows are even."""
    rows = -(-count // min(int(np.ceil(np.sqrt(count * proportion) + 0.3)), count))
    return -(-count // rows)


def _marks(names: list[str], side: float) -> list[str]:
    """Return what is written beside nodes: names where they fit into a panel of that many inches, else letters or numbers."""
    short = [shorten(name, _NAME_CHARACTERS) for name in names]
    room = side * (0.5 - _CIRCLE_RADIUS)
    if max(map(len, short)) * _CHARACTER_INCHES <= room:
        return short
    return [chr(ord("a") + k) if len(names) <= 26 else str(k) for k in range(len(names))]


def _draw_network(axes: Axes, panel: _Panel, table: Array, marks: list[str], least: float) -> None:
    """Draw the lines, the nodes and their marks."""
    from matplotlib.collections import LineCollection

    angles = np.pi / 2 - 2 * np.pi * (np.arange(len(marks)) + 0.5) / len(marks)  # none at the top, where the title is
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    nodes = _CIRCLE_RADIUS * directions + [panel.x, panel.y - 0.03]
    i, j = np.nonzero(np.triu(np.abs(table) >= max(least, np.finfo(float).tiny), 1))
    values = table[i, j]
    for positive in (True, False):
        chosen = (values > 0) == positive
        lines = LineCollection(
            list(np.stack([nodes[i[chosen]], nodes[j[chosen]]], axis=1)),
            linewidths=0.4 + _POINTS_PER_CORRELATION * np.abs(values[chosen]),
            colors=[ink()],
            alpha=0.6,
            linestyles="solid" if positive else (0, (1.2, 0.8)),
            zorder=1,
        )
        axes.add_collection(lines, autolim=False)
    size = 55 if size_in_inches(axes)[0] > 4 else 25
    axes.scatter(nodes[:, 0], nodes[:, 1], s=size, color=cluster_color(panel.cluster), zorder=2)
    for mark, node, direction in zip(marks, nodes, directions, strict=True):
        side = "center" if abs(direction[0]) < 0.3 else "left" if direction[0] > 0 else "right"
        level = "center" if abs(direction[1]) < 0.9 else "bottom" if direction[1] > 0 else "top"
        offset = (6 * direction[0], 6 * direction[1])
        write(axes, mark, (node[0], node[1]), offset, ha=side, va=level, fontsize="x-small")


def _add_key(axes: Axes, names: list[str], marks: list[str], least: float) -> None:
    """Put a key beside the axes: what lines mean, and the features where they have letters."""
    from matplotlib.lines import Line2D

    width = 0.4 + _POINTS_PER_CORRELATION * 0.5
    entries = [
        Line2D([], [], color=ink(), alpha=0.6, lw=width, label="+0.5"),
        Line2D([], [], color=ink(), alpha=0.6, lw=width, ls=(0, (1.2, 0.8)), label="-0.5"),
        Line2D([], [], color=ink(), alpha=0.6, lw=0.4 + _POINTS_PER_CORRELATION * least, label=f"{least:g} (least)"),
    ]
    if marks != [shorten(name, _NAME_CHARACTERS) for name in names]:
        entries += [
            Line2D([], [], ls="none", label=f"{mark}  {shorten(name, name_length(axes))}")
            for mark, name in zip(marks, names, strict=True)
        ]
    axes.legend(
        handles=entries,
        title="partial correlation",
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        fontsize=SMALL_TEXT,
        title_fontsize=SMALL_TEXT,
    )
