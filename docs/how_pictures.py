"""Draws the pictures of docs/how_it_works.md from one made series; ``python docs/pictures.py`` calls it.

They show, on our own data, what figure 1 of the paper shows: pairs of observations, the semivariogram, and the pairs that pay.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Rectangle
from overview_picture import draw_overview

from mcgta import MCGTA
from mcgta.datasets import Sample, make_series
from mcgta.drawing.palette import cluster_colors
from mcgta.runtime.types import Array
from mcgta.stages.dissimilarity.compare import compare_models

COLOURS = cluster_colors(6)
ROWS = 400
WINDOW = 30  # observations behind a local model
SHOWN = (78, 136, 330)  # rows whose neighbourhoods are drawn
WITHIN_COLOUR = "#4477aa"
BETWEEN_COLOUR = "#ee6677"
PAIRS_DRAWN = 6000


def draw_how_it_works(images: Path) -> None:
    """Draw the overview and the four pictures that follow it."""
    data = make_series(ROWS, n_clusters=3, n_features=2, separation=1.2, segment_lengths=(9, 16), random_state=11)
    model = MCGTA(n_neighbors=WINDOW, progress=False).fit(data.X)
    dissimilarity = compare_models(model.local_models_).matrix()
    draw_overview(data, model, dissimilarity, SHOWN).savefig(images / "how_overview.png", dpi=110)
    draw_clouds(data, model).savefig(images / "how_clouds.png", dpi=110)
    draw_pairs(data, model, dissimilarity).savefig(images / "how_pairs.png", dpi=110)
    draw_clusters(data, model, dissimilarity).savefig(images / "how_clusters.png", dpi=80)
    draw_evidence(model).savefig(images / "how_evidence.png", dpi=110)


def draw_clouds(data: Sample, model: MCGTA) -> Figure:
    """Draw steps 1 and 2: readings along time, and three neighbourhoods as clouds with their local models."""
    figure = plt.figure(figsize=(10, 5.2), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=(1, 1.5))
    lines = figure.add_subplot(grid[0, :])
    for k, column in enumerate(data.X.T):
        lines.plot(column - 9 * k, lw=0.6, color="#555555")
    lines.set(xlim=(0, ROWS), yticks=[], xlabel="time", title="two features along time, and three neighbourhoods")
    reach = 1.05 * np.abs(data.X).max()
    for number, row in enumerate(SHOWN):
        begin = row - WINDOW // 2
        colour = COLOURS[model.labels_[row]]
        lines.axvspan(begin, begin + WINDOW, color=colour, alpha=0.35, lw=0)
        ax = figure.add_subplot(grid[1, number])
        cloud = data.X[begin : begin + WINDOW]
        ax.scatter(cloud[:, 0], cloud[:, 1], s=14, color=colour)
        add_ellipse(ax, model.local_models_.means[row], model.local_models_.covariances[row])
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
        ax.set_title(f"local model of reading {row}", fontsize=10)
    return figure


def add_ellipse(ax: Axes, mean: Array, covariance: Array) -> None:
    """Draw the ellipse that holds about 86 % of a Gaussian: two standard deviations along each axis."""
    values, axes = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    width, height = 4 * np.sqrt(values[::-1])
    ax.add_patch(Ellipse(tuple(mean), width, height, angle=angle, fill=False, lw=1.8, color="#222222"))


def draw_pairs(data: Sample, model: MCGTA, dissimilarity: Array) -> Figure:
    """Draw steps 3 and 4: pairs by distance and difference, the semivariogram, and the pairs that pay."""
    curve = model.semivariogram_
    left, right = np.triu_indices(ROWS, 1)
    drawn = np.sort(np.random.default_rng(0).choice(left.size, PAIRS_DRAWN, replace=False))
    left, right = left[drawn], right[drawn]
    apart = np.abs(left - right)
    half = dissimilarity[left, right] / 2
    same = data.labels[left] == data.labels[right]
    figure, ax = plt.subplots(figsize=(10, 4.6), layout="constrained")
    for members, colour, name in ((~same, BETWEEN_COLOUR, "different states"), (same, WITHIN_COLOUR, "the same state")):
        ax.scatter(apart[members], half[members], s=3, color=colour, alpha=0.5, lw=0, label=f"pairs of {name}")
    distances = np.linspace(0, curve.max_lag, 300)
    expected = curve(distances)
    top = float(np.quantile(half, 0.995))
    ax.plot(distances, expected, color="#222222", lw=2.2, label="semivariogram")
    inside = distances <= curve.range_
    ax.fill_between(distances[inside], expected[inside], top, color="#ccbb44", alpha=0.28, lw=0, label="pays a penalty")
    ax.axvline(curve.range_, color="#666666", ls=":", lw=1.5)
    ax.text(curve.range_, top * 0.97, "  range", va="top", color="#444444")
    ax.set(
        xlim=(0, curve.max_lag), ylim=(0, top), xlabel="distance in time", ylabel="half the difference of local models"
    )
    legend = ax.legend(loc="upper right", framealpha=0.95, markerscale=4)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1)
    return figure


def draw_clusters(data: Sample, model: MCGTA, dissimilarity: Array) -> Figure:
    """Draw step 5: the difference of every pair, in order of time and in order of the clusters found."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 5.2), layout="constrained")
    labels = model.labels_
    order = np.argsort(labels, kind="stable")
    top = float(np.quantile(dissimilarity, 0.97))
    titles = ("in order of time", "in order of the clusters found")
    for ax, rows, title in zip(axes, (np.arange(ROWS), order), titles, strict=True):
        ax.imshow(dissimilarity[np.ix_(rows, rows)], cmap="Greys", vmax=top, extent=(0, ROWS, ROWS, 0))
        for place, label in enumerate(labels[rows].tolist()):
            ax.add_patch(Rectangle((place, -14), 1, 11, color=COLOURS[label], lw=0, clip_on=False))
        ax.set(xticks=[], yticks=[], ylim=(ROWS, -16))
        ax.set_title(title, fontsize=11)
        ax.set_frame_on(False)
    return figure


def draw_evidence(model: MCGTA) -> Figure:
    """Draw the evidence of the best labelling of each number of clusters."""
    counts = [other.n_clusters for other in model.alternatives_]
    values = np.array([other.log_evidence for other in model.alternatives_])
    figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
    ax.plot(counts, values - values.max(), color="#888888", lw=1)
    ax.scatter(counts, values - values.max(), s=36, color="#4477aa", zorder=3)
    best = int(np.argmax(values))
    ax.scatter(counts[best], 0, s=90, color="#ee6677", zorder=4, label="taken")
    ax.set(xlabel="clusters", ylabel="nats; the best has 0", xticks=counts)
    ax.legend(frameon=False, loc="lower right")
    return figure
