"""The comparison of two labellings, as a flow of rows from the clusters of one to those of the other."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mcgta.drawing.palette import NOISE_COLOR, cluster_color
from mcgta.plot.canvas import SMALL_TEXT, bare, new_axes, settle_layout, shorten, size_in_inches, size_in_pixels, write
from mcgta.plot.reading import labels_of
from mcgta.runtime.types import Array, Index
from mcgta.runtime.wording import say_share
from mcgta.validation.agreement import adjusted_rand

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_FLOWS = 600
FIGURE_INCHES = (6.0, 4.6)
_BAR_WIDTH = 0.05
_GAPS_SHARE = 0.18  # of the height that gaps between bars take together, at most
_WIDEST_GAP = 0.025
_RIBBON_POINTS = 24
_LEAST_LABEL_PIXELS_AT_100_DPI = 8.0
_TITLE_CHARACTERS_PER_INCH = 4.0  # of half the width
_CHARACTERS_PER_INCH = 12.0


class _Side(NamedTuple):
    """The bars of a labelling: clusters from above, upper ends and heights, and how many rows they have."""

    order: list[int]
    tops: Array
    counts: Index


def compare(model: Any, other: Any, *, names: tuple[str, str] = ("first", "second"), ax: Axes | None = None) -> Axes:
    """Draw how the clusters of one labelling are made up of those of another.

    Bars at the left are the clusters of the first labelling, those at the right the clusters of the second, each as high as
    its share of rows. A ribbon holds the rows that two clusters have in common, in the colour of the first. Bars at the right
    are ordered so that ribbons cross little. The adjusted Rand index of the two stands above; noise is a class in it.

    Parameters
    ----------
    model, other : fitted MCGTA, or labels (N,) of the same rows, -1 for noise; texts serve as names of clusters
    names : of the two labellings
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    one = labels_of("model", model)
    two = labels_of("other", other)
    if one.labels.size != two.labels.size:
        raise ValueError(
            f"other has {two.labels.size} rows and model has {one.labels.size}; compare labels of the same rows"
        )
    if len(names) != 2:
        raise ValueError(f"names={names!r} must be two names")
    table = count_flows(one.labels, two.labels, (len(one.names), len(two.names)))
    axes = new_axes(ax, FIGURE_INCHES)
    left = _stack(table.sum(axis=1), list(range(table.shape[0])))
    right = _stack(table.sum(axis=0), _uncrossed(table, left))
    left_out = _draw_flows(axes, table, left, right)
    least = _LEAST_LABEL_PIXELS_AT_100_DPI * float(axes.figure.dpi) / 100 / size_in_pixels(axes)[1]
    _draw_bars(axes, left, (*one.names, "noise"), -_BAR_WIDTH, least)
    _draw_bars(axes, right, (*two.names, "noise"), 1.0, least)
    bare(axes)
    axes.set(xlim=(-0.3, 1.3), ylim=(-0.01, 1.01))
    width = size_in_inches(axes)[0]
    for x, side, name in ((-_BAR_WIDTH, "left", names[0]), (1 + _BAR_WIDTH, "right", names[1])):
        title = shorten(str(name), max(int(_TITLE_CHARACTERS_PER_INCH * width), 4))
        write(axes, title, (x, 1.01), (0, 4), ha=side, va="bottom", weight="bold", fontsize="medium")
    dropped = f"; the {MOST_FLOWS} widest ribbons, {say_share(left_out)} of rows left out" if left_out > 0 else ""
    said = textwrap.fill(
        f"adjusted Rand index {adjusted_rand(table):.2f}{dropped}", max(int(_CHARACTERS_PER_INCH * width), 12)
    )
    write(axes, said, (0.5, -0.01), (0, -4), ha="center", va="top")
    settle_layout(axes)
    return axes


def count_flows(one: Index, two: Index, sizes: tuple[int, int]) -> Index:
    """Return (K + 1, L + 1) how many rows are in each pair of clusters, noise last."""
    width = sizes[1] + 1
    first = np.where(one < 0, sizes[0], one)
    second = np.where(two < 0, sizes[1], two)
    return np.bincount(first * width + second, minlength=(sizes[0] + 1) * width).reshape(-1, width)


def _stack(counts: Index, order: list[int]) -> _Side:
    """Return bars one below another with gaps, from 1 down to 0; clusters without rows have none."""
    order = [k for k in order if counts[k] > 0]
    gap = min(_WIDEST_GAP, _GAPS_SHARE / max(len(order) - 1, 1))
    heights = counts[order] / counts.sum() * (1 - gap * (len(order) - 1))
    tops = np.zeros(counts.size)
    tops[order] = 1 - np.r_[0.0, np.cumsum(heights + gap)[:-1]]
    return _Side(order, tops, counts)


def _height(side: _Side, rows: Any) -> Any:
    """Return how high so many rows are drawn."""
    gap = min(_WIDEST_GAP, _GAPS_SHARE / max(len(side.order) - 1, 1))
    return rows / side.counts.sum() * (1 - gap * (len(side.order) - 1))


def _uncrossed(table: Index, left: _Side) -> list[int]:
    """Return the clusters of the second labelling by the mean height of what flows into them, noise last."""
    total = np.maximum(table.sum(axis=0), 1)
    level = (table * left.tops[:, None]).sum(axis=0) / total
    return [*np.argsort(-level[:-1], kind="stable").tolist(), table.shape[1] - 1]


def _draw_flows(axes: Axes, table: Index, left: _Side, right: _Side) -> float:
    """Draw the ribbons, the widest last; return the share of rows in those left out."""
    from matplotlib.collections import PolyCollection

    outgoing = left.tops.copy()
    incoming = right.tops.copy()
    bend = np.linspace(0, 1, _RIBBON_POINTS)
    rise = bend**2 * (3 - 2 * bend)
    ribbons = []
    for i in left.order:
        for j in right.order:
            rows = int(table[i, j])
            if rows == 0:
                continue
            start = outgoing[i]
            end = incoming[j]
            outgoing[i] -= _height(left, rows)
            incoming[j] -= _height(right, rows)
            upper = start + (end - start) * rise
            lower = outgoing[i] + (incoming[j] - outgoing[i]) * rise
            shape = np.column_stack([np.r_[bend, bend[::-1]], np.r_[upper, lower[::-1]]])
            ribbons.append((rows, shape, _color(i, table.shape[0] - 1)))
    ribbons.sort(key=lambda ribbon: ribbon[0])
    drawn = ribbons[-MOST_FLOWS:]
    colors = [color for _, _, color in drawn]
    axes.add_collection(PolyCollection([shape for _, shape, _ in drawn], facecolors=colors, alpha=0.45, lw=0))
    return sum(rows for rows, _, _ in ribbons[:-MOST_FLOWS]) / int(table.sum())


def _draw_bars(axes: Axes, side: _Side, names: tuple[str, ...], x: float, least: float) -> None:
    """Draw the bars of a labelling and write beside those that are high enough."""
    from matplotlib.collections import PolyCollection

    longest = int(np.clip(2.5 * size_in_inches(axes)[0], 6, 14))
    shapes = []
    for k in side.order:
        top = side.tops[k]
        bottom = top - _height(side, side.counts[k])
        shapes.append([(x, top), (x + _BAR_WIDTH, top), (x + _BAR_WIDTH, bottom), (x, bottom)])
        if top - bottom < least:
            continue
        at_left = x < 0
        text = f"{shorten(names[k], longest)}   {say_share(side.counts[k] / side.counts.sum())}"
        axes.text(
            x - 0.02 if at_left else x + _BAR_WIDTH + 0.02,
            0.5 * (top + bottom),
            text,
            ha="right" if at_left else "left",
            va="center",
            fontsize=SMALL_TEXT,
        )
    colors = [_color(k, len(side.counts) - 1) for k in side.order]
    axes.add_collection(PolyCollection(shapes, facecolors=colors, lw=0))


def _color(cluster: int, n_clusters: int) -> str:
    return NOISE_COLOR if cluster == n_clusters else cluster_color(cluster)
