"""Draws the overview of docs/how_it_works.md: six steps from readings to clusters, computed on one made series.

``python docs/pictures.py`` calls it. The paper's figure has the same steps; this drawing and its data are our own.
"""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch, Ellipse, Rectangle

from mcgta import MCGTA
from mcgta.datasets import Sample
from mcgta.drawing.palette import cluster_color
from mcgta.runtime.types import Array

INK = "#222222"
QUIET = "#888888"
PENALTY_COLOUR = "#ddcc77"
LAG_SHOWN = 20  # steps apart, for the pair whose loss is drawn
BETA_DRAWN = 2.0
BEHIND_WORDS = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}


def draw_overview(data: Sample, model: MCGTA, dissimilarity: Array, shown: tuple[int, ...]) -> Figure:
    """Draw the six steps; ``shown`` are the rows whose neighbourhoods and local models are drawn."""
    figure, grid = plt.subplots(2, 3, figsize=(10.5, 6.6))
    figure.subplots_adjust(left=0.045, right=0.985, top=0.93, bottom=0.075, wspace=0.24, hspace=0.42)
    axes: list[Axes] = list(grid.ravel())
    draw_readings(axes[0], data, model, shown)
    draw_local_models(axes[1], model, shown)
    draw_comparison(axes[2], model, shown[:2])
    draw_expectation(axes[3], model, dissimilarity)
    draw_loss(axes[4], model)
    draw_dense_parts(axes[5], model, dissimilarity)
    for left, right in ((0, 1), (1, 2), (3, 4), (4, 5)):
        add_arrow(figure, axes[left], axes[right])
    return figure


def add_arrow(figure: Figure, left: Axes, right: Axes) -> None:
    """Draw an arrow from a step to the next."""
    arrow = ConnectionPatch(
        (1.03, 0.5), (-0.03, 0.5), "axes fraction", "axes fraction", axesA=left, axesB=right, arrowstyle="-|>"
    )
    arrow.set(color=INK, mutation_scale=16, linewidth=1.6)
    figure.add_artist(arrow)


def add_ellipse(ax: Axes, mean: Array, covariance: Array, colour: str) -> None:
    """Draw the ellipse that holds about 86 % of a Gaussian: two standard deviations along each axis."""
    values, directions = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))
    width, height = 4 * np.sqrt(values[::-1])
    ax.add_patch(Ellipse(tuple(mean), width, height, angle=angle, fill=True, lw=1.8, ec=colour, fc=colour + "33"))


def draw_readings(ax: Axes, data: Sample, model: MCGTA, shown: tuple[int, ...]) -> None:
    """Draw features along position, and three neighbourhoods."""
    for place, column in enumerate(data.X.T):
        ax.plot(column - 9 * place, lw=0.5, color="#555555")
    for row in shown:
        begin = row - model.n_neighbors_ // 2
        ax.axvspan(begin, begin + model.n_neighbors_, color=cluster_color(model.labels_[row]), alpha=0.4, lw=0)
    ax.set(xlim=(0, len(data.X)), xticks=[], yticks=[], xlabel="position (time or place)")
    ax.set_title("1  features and position")


def draw_local_models(ax: Axes, model: MCGTA, shown: tuple[int, ...]) -> None:
    """Draw the local models of three observations."""
    models = model.local_models_
    for row in shown:
        add_ellipse(ax, models.means[row], models.covariances[row], cluster_color(model.labels_[row]))
    ax.set(xlim=(-4.4, 4.4), ylim=(-4.6, 4.6), xticks=[], yticks=[], xlabel="feature 1; feature 2 goes up")
    ax.set_title("2  a local model around each")


def draw_comparison(ax: Axes, model: MCGTA, pair: tuple[int, ...]) -> None:
    """Draw two local models, and that one is pushed into the other."""
    models = model.local_models_
    offsets = np.array([[-2.6, 0.9], [2.3, 0.9]])
    for row, offset in zip(pair, offsets, strict=True):
        centred = models.means[row] * 0.3 + offset
        add_ellipse(ax, centred, models.covariances[row] * 0.4, cluster_color(model.labels_[row]))
    ax.annotate("", (0.45, 0.9), (-1.45, 0.9), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.6})
    ax.text(0, -2.5, "W = work to push one\ninto the other", ha="center", va="center", color=INK)
    ax.set(xlim=(-4.6, 4.6), ylim=(-3.6, 3.6), xticks=[], yticks=[])
    ax.set_title("3  how much do two differ?")


def draw_expectation(ax: Axes, model: MCGTA, dissimilarity: Array) -> None:
    """Draw pairs by distance and difference, with what the semivariogram expects."""
    curve = model.semivariogram_
    left, right = np.triu_indices(len(dissimilarity), 1)
    drawn = np.sort(np.random.default_rng(0).choice(left.size, 2500, replace=False))
    pairs = dissimilarity[left[drawn], right[drawn]]
    reach = 2 * curve.range_
    distances = np.linspace(0, reach, 200)
    expected = 2 * curve(distances)
    top = float(np.quantile(pairs, 0.97))
    inside = distances <= curve.range_
    ax.scatter(right[drawn] - left[drawn], pairs, s=2.5, color=QUIET, lw=0)
    ax.fill_between(distances[inside], expected[inside], top, color=PENALTY_COLOUR, alpha=0.45, lw=0)
    ax.plot(distances, expected, color=INK, lw=2)
    ax.axvline(curve.range_, color=INK, lw=1, ls=":")
    ax.text(curve.range_ * 0.06, top * 0.95, "too different\nfor so near", va="top", color=INK)
    ax.text(curve.range_ * 1.04, top * 0.95, "range", va="top", color=INK, bbox=BEHIND_WORDS)
    ax.text(reach * 0.98, expected[-1] * 1.04, "expected", ha="right", va="bottom", color=INK, bbox=BEHIND_WORDS)
    ax.set(xlim=(0, reach), ylim=(0, top), xticks=[], yticks=[], xlabel="distance in position", ylabel="W")
    ax.set_title("4  how much should they?")


def draw_loss(ax: Axes, model: MCGTA) -> None:
    """Draw the loss of a pair over its difference: a hinge at what is expected."""
    expected = 2 * float(model.semivariogram_(np.array([float(LAG_SHOWN)]))[0])
    differences = np.linspace(0, 2 * expected, 200)
    loss = differences + BETA_DRAWN * np.maximum(0, differences - expected)
    ax.plot(differences, differences, color=QUIET, lw=1.2, ls="--")
    ax.fill_between(differences, differences, loss, color=PENALTY_COLOUR, alpha=0.45, lw=0)
    ax.plot(differences, loss, color=INK, lw=2)
    ax.axvline(expected, color=INK, lw=1, ls=":")
    ax.text(expected * 0.95, loss[-1] * 0.95, "expected at\nthis distance", ha="right", va="top", color=INK)
    ax.text(expected * 1.68, expected * 2.25, "penalty", ha="center", va="center", color=INK)
    ax.set(xlim=(0, 2 * expected), ylim=(0, loss[-1]), xticks=[], yticks=[], xlabel="W; the loss of the pair goes up")
    ax.set_title("5  a pair above that pays more")


def draw_dense_parts(ax: Axes, model: MCGTA, dissimilarity: Array) -> None:
    """Draw observations so that a small loss is near, coloured by cluster, and the clusters along position."""
    lags = np.abs(np.subtract.outer(np.arange(len(dissimilarity)), np.arange(len(dissimilarity)))).astype(float)
    curve = model.semivariogram_
    excess = np.maximum(0, dissimilarity - 2 * curve(lags.ravel()).reshape(lags.shape))
    loss = dissimilarity + BETA_DRAWN * np.where(lags <= curve.range_, excess, 0)
    places = scaled(loss)
    for row, place in enumerate(places):
        ax.plot(*place, "o", ms=3, mew=0, color=cluster_color(model.labels_[row]), alpha=0.7)
    low = places.min(axis=0)
    high = places.max(axis=0)
    span = high - low
    width = 1.1 * span[0] / len(places)
    for row, label in enumerate(model.labels_.tolist()):
        corner = (low[0] - 0.05 * span[0] + row * width, low[1] - 0.3 * span[1])
        ax.add_patch(Rectangle(corner, width, 0.12 * span[1], color=cluster_color(label), lw=0))
    ax.set(xlim=(low[0] - 0.05 * span[0], high[0] + 0.05 * span[0]), xticks=[], yticks=[])
    ax.set(ylim=(low[1] - 0.3 * span[1], high[1] + 0.08 * span[1]), xlabel="the clusters along position")
    ax.set_title("6  dense parts are clusters")


def scaled(loss: Array) -> Array:
    """Return places in a plane whose squared distances are near the losses: classical scaling."""
    centring = np.eye(len(loss)) - 1 / len(loss)
    values, vectors = np.linalg.eigh(-0.5 * centring @ loss @ centring)
    return vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])
