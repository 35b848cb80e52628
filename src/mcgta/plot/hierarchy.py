"""Hierarchies: the reachability plot of OPTICS, and the condensed tree of HDBSCAN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.drawing.palette import NOISE_COLOR, cluster_color, cluster_colors
from mcgta.plot.branches import Branch, grow_branches
from mcgta.plot.canvas import (
    add_cluster_legend,
    faint,
    halo,
    ink,
    new_axes,
    remark,
    settle_layout,
    size_in_pixels,
    wrap,
    write,
)
from mcgta.plot.reading import cluster_shares, fit_of
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.wording import say_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 2000
MOST_BRANCHES = 200
_WIDE_RATIO = 30.0  # of losses, from which on their scale is logarithmic
_ALIKE_JACCARD = 0.5  # beyond which a branch has the number of a cluster; no two clusters can be so like one branch


def reachability(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the reachability of observations in the order in which OPTICS visits them; clusters are its valleys.

    Where pixels have several observations, columns are solid up to the mean reachability and faint up to the largest, in the
    colour of the cluster that most of them have. Columns that begin anew, out of reach of those before, touch the top. A dashed
    line is at the radius of the cut, where there is one.

    Parameters
    ----------
    model : MCGTA that was fitted with clusterer="optics" and has the labels of that
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    fit = fit_of(model)
    labelling = fit.labelling
    if labelling.ordering is None or labelling.reachability is None:
        raise ValueError(
            "reachability shows the order of OPTICS, which this fit has not; fit with clusterer='optics' and refine='none', "
            "or call model.refit(clusterer='optics', refine='none')"
        )
    axes = new_axes(ax)
    heights = labelling.reachability[labelling.ordering]
    labels = labelling.labels[fit.comparable][labelling.ordering]
    bottom, top = _loss_limits(heights)
    if bottom > 0:
        axes.set_yscale("log")
    count = min(int(size_in_pixels(axes)[0]), MOST_COLUMNS, heights.size)
    edges = np.linspace(0, heights.size, count + 1).astype(np.int64)
    axes.set_ylim(bottom, top)
    _draw_columns(axes, np.clip(heights, bottom, top), labels, edges)
    if np.isfinite(labelling.eps):
        axes.axhline(labelling.eps, color=ink(), lw=1, ls="--")
        coords = ("axes fraction", "data")
        write(axes, f"eps {say_number(labelling.eps)}", (1, labelling.eps), (-3, 3), ha="right", xycoords=coords)
    axes.set(
        xlim=(0, heights.size),
        xlabel=wrap(axes, "observations, as OPTICS visits them"),
        ylabel="reachability [loss]",
    )
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    add_cluster_legend(axes, *cluster_shares(fit))
    settle_layout(axes)
    return axes


def condensed_tree(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how observations part into clusters as the loss shrinks, whatever the clusterer was.

    A branch is as wide as it has observations, and gets narrower where observations fall out; it ends where it parts into
    branches of ``min_cluster_size`` observations or more. Colours are the labels of the fit, so that a labelling by HDBSCAN
    shows which branches were selected, and one by evidence how it goes together with the loss. A branch that has most of its
    observations in common with a cluster has its number.

    Parameters
    ----------
    model : fitted MCGTA
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    fit = fit_of(model)
    tree = fit.derived.condensed_tree
    if tree is None:
        raise ValueError(
            f"condensed_tree needs min_samples={fit.min_samples} observations that can be compared, and this fit has "
            f"{fit.comparable.size}; fit with a smaller min_samples"
        )
    labels = fit.labelling.labels[fit.comparable]
    grown = grow_branches(tree, labels, fit.labelling.n_clusters, MOST_BRANCHES)
    axes = new_axes(ax)
    _draw_branches(axes, grown.branches)
    _number_branches(axes, grown.branches, fit.labelling.n_clusters)
    axes.set_xlim(-0.02 * labels.size, 1.02 * labels.size)
    if grown.highest > _WIDE_RATIO * grown.lowest:
        axes.set_yscale("log")
        axes.set_ylim(grown.lowest / 1.25, grown.highest * 1.1)
    else:
        span = grown.highest - grown.lowest
        axes.set_ylim(grown.lowest - 0.08 * span, grown.highest + 0.03 * span)
    width = wrap(axes, f"width: number of observations, {labels.size:,} at the top")
    axes.set(xticks=[], xlabel=width, ylabel="loss")
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    add_cluster_legend(axes, *cluster_shares(fit))
    if grown.left_out:
        remark(axes, f"the {len(grown.branches)} largest of {len(grown.branches) + grown.left_out:,} branches")
    settle_layout(axes)
    return axes


def column_heights(heights: Array, labels: Labels, edges: Index) -> tuple[Array, Array, Labels]:
    """Return the mean and the largest height of each column, and the label that most of it has; of tied ones the least."""
    counts = np.diff(edges)
    mean = np.add.reduceat(heights, edges[:-1]) / counts
    largest = np.maximum.reduceat(heights, edges[:-1])
    width = int(labels.max(initial=-1)) + 2
    column = np.repeat(np.arange(counts.size), counts)
    held = np.bincount(column * width + labels + 1, minlength=counts.size * width).reshape(-1, width)
    return mean, largest, held.argmax(axis=1) - 1


def _loss_limits(heights: Array) -> tuple[float, float]:
    """Return the lower and the upper end of the axis of reachabilities; the lower one is positive for a logarithmic scale."""
    positive = heights[np.isfinite(heights) & (heights > 0)]
    if positive.size == 0:
        return 0.0, 1.0
    highest = float(positive.max())
    if highest <= _WIDE_RATIO * float(np.median(positive)):
        return 0.0, 1.08 * highest
    return float(positive.min()) / 1.25, 1.3 * highest


def _draw_columns(axes: Axes, heights: Array, labels: Labels, edges: Index) -> None:
    """Draw columns as two collections: up to the largest height, and up to the mean."""
    from matplotlib.collections import PolyCollection

    mean, largest, common = column_heights(heights, labels, edges)
    palette = [*cluster_colors(int(labels.max(initial=-1)) + 1), NOISE_COLOR]
    colors = [palette[label] for label in common]
    left = edges[:-1].astype(float)
    right = edges[1:].astype(float)
    for tops, alpha in ((largest, 0.4), (mean, 1.0)):
        base = np.full_like(tops, axes.get_ylim()[0])
        corners: Any = np.stack([np.stack([left, left, right, right], 1), np.stack([base, tops, tops, base], 1)], 2)
        axes.add_collection(
            PolyCollection(corners, facecolors=colors, edgecolors="none", alpha=alpha, antialiased=False)
        )


def _draw_branches(axes: Axes, branches: list[Branch]) -> None:
    """Draw each branch as stacked shares of labels, and lines to the branches that it parts into."""
    from matplotlib.collections import LineCollection, PolyCollection

    shapes = []
    colors = []
    lines = []
    for branch in branches:
        edges = branch.middle + np.cumsum(np.c_[np.zeros(branch.losses.size), branch.counts], axis=1)
        edges -= 0.5 * branch.counts.sum(axis=1, keepdims=True)
        for part in np.flatnonzero(branch.counts.any(axis=0)).tolist():
            x = np.r_[edges[:, part], edges[::-1, part + 1]]
            shapes.append(np.column_stack([x, np.r_[branch.losses, branch.losses[::-1]]]))
            colors.append(NOISE_COLOR if part == branch.counts.shape[1] - 1 else cluster_color(part))
        if branch.children:
            ends = [branch.middle, *branch.children]
            lines.append([(min(ends), branch.losses[-1]), (max(ends), branch.losses[-1])])
    axes.add_collection(LineCollection(lines, colors=[faint()], linewidths=0.8, zorder=1))
    axes.add_collection(PolyCollection(shapes, facecolors=colors, edgecolors="none", zorder=2))


def _number_branches(axes: Axes, branches: list[Branch], n_clusters: int) -> None:
    """Write the number of each cluster below the branch that it is alike, by their Jaccard similarity."""
    held = np.array([branch.counts[0] for branch in branches])
    sizes = held[0]  # the root has all
    for cluster in range(n_clusters):
        jaccard = held[:, cluster] / np.maximum(held.sum(axis=1) + sizes[cluster] - held[:, cluster], 1)
        most = int(np.argmax(jaccard))
        if jaccard[most] <= _ALIKE_JACCARD:
            continue
        branch = branches[most]
        at = (branch.middle, float(branch.losses[-1]))
        write(axes, str(cluster), at, (0, -3), ha="center", va="top", path_effects=halo())
