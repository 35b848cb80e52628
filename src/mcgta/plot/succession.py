"""Transitions: which cluster follows which along time, and how long each lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.description.description import Spells
from mcgta.description.spells import count_transitions, describe_spells, find_runs
from mcgta.drawing.palette import cluster_color
from mcgta.plot.canvas import SMALL_TEXT, faint, new_axes, remark, settle_layout, size_in_inches, text_on, tint
from mcgta.plot.reading import cluster_counts, fit_of, largest_clusters, refuse_kind, refuse_no_clusters
from mcgta.runtime.types import Array, Index
from mcgta.runtime.wording import say_number, say_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CLUSTERS = 24
_CELL_INCHES = 0.95
_LEAST_TICK_INCHES = 0.2
_LEAST_CELL_INCHES = 0.33
"""Side of cells that are written in."""

_LONG_TEXT_INCHES = 0.85
"""Side of cells that have room for the number of spells beside their length."""


def transitions(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw which cluster follows which along time.

    A row of the table is a cluster that ends, a column the one that follows. A cell holds the share of the changes from that
    cluster, and is the darker the larger it is. The diagonal holds how many spells a cluster has and their median length.
    Changes to and from noise are not counted.

    Parameters
    ----------
    model : fitted MCGTA along time, with clusters
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    fit = fit_of(model)
    refuse_kind(fit, "transitions", ("time",), "mcgta.plot.map for places")
    refuse_no_clusters(fit, "transitions")
    n_clusters = fit.labelling.n_clusters
    positions = fit.data.positions
    clusters = largest_clusters(fit, MOST_CLUSTERS)
    counts = count_transitions(fit.labelling.labels, n_clusters, positions)
    shares = change_shares(counts)
    spells = describe_spells(find_runs(fit.labelling.labels, positions), n_clusters, positions)
    side = float(np.clip(_CELL_INCHES * len(clusters), 2.4, 10.0))
    axes = new_axes(ax, (side + 0.9, side + 0.9))
    _draw_cells(axes, shares, spells, clusters)
    each = int(np.ceil(_LEAST_TICK_INCHES * len(clusters) / min(size_in_inches(axes))))
    ticks = range(0, len(clusters), each)
    names = [str(clusters[place]) for place in ticks]
    axes.set_xticks(ticks, names)
    axes.set_yticks(ticks, names)
    axes.tick_params(length=0)
    axes.set(xlabel="cluster that follows", ylabel="cluster that ends")
    axes.spines[:].set_visible(False)
    if len(clusters) < cluster_counts(fit).size:
        remark(axes, f"the {len(clusters)} largest of {n_clusters} clusters")
    settle_layout(axes)
    return axes


def change_shares(counts: Index) -> Array:
    """Return the (K, K) shares of changes from a cluster (first axis) to another; 0 on the diagonal and without changes."""
    changes = counts.astype(float)
    np.fill_diagonal(changes, 0)
    total = changes.sum(axis=1, keepdims=True)
    return np.divide(changes, total, out=np.zeros_like(changes), where=total > 0)


def _draw_cells(axes: Axes, shares: Array, spells: tuple[Spells, ...], clusters: list[int]) -> None:
    """Draw the table as one picture, and write into its cells."""
    size = len(clusters)
    picture = np.empty((size, size, 3))
    for i, one in enumerate(clusters):
        for j, other in enumerate(clusters):
            share = 1.0 if i == j else 0.75 * shares[one, other]
            picture[i, j] = tint(cluster_color(other), share)
    axes.imshow(picture, aspect="equal", interpolation="nearest")
    axes.set_xticks(np.arange(size - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(size - 1) + 0.5, minor=True)
    axes.grid(which="minor", color=tint(faint(), 0.5), lw=0.8)
    axes.tick_params(which="minor", length=0)
    room = min(size_in_inches(axes)) / size
    if room < _LEAST_CELL_INCHES:
        return
    for i, one in enumerate(clusters):
        for j, other in enumerate(clusters):
            text = (
                _say_spells(spells[one], room)
                if i == j
                else say_share(shares[one, other])
                if shares[one, other]
                else ""
            )
            color = text_on(picture[i, j])
            axes.text(j, i, text, ha="center", va="center", fontsize=SMALL_TEXT if i != j else "x-small", color=color)


def _say_spells(spells: Spells, room: float) -> str:
    """Say how long spells last, and how many there are where there is room for that."""
    length = f"{say_number(spells.median_length)} {spells.unit}".rstrip()
    if room < _LONG_TEXT_INCHES:
        return length.replace(" ", "\n")
    return f"1 spell of\n{length}" if spells.count == 1 else f"{spells.count:,} spells,\nmedian\n{length}"
