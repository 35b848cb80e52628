"""Draws the pictures of the documents from data that the package makes: ``python docs/pictures.py`` writes docs/images."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np

from mcgta import MCGTA
from mcgta.datasets import make_regions, make_series
from mcgta.drawing.palette import cluster_colors

mpl.use("Agg")

from how_pictures import draw_how_it_works
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

IMAGES = Path(__file__).parent / "images"
COLOURS = cluster_colors(6)
FITTED = 900
ROWS = 1200


def draw_states(axes: tuple[Axes, Axes]) -> None:
    """Draw readings along time, the states found in them, and those predicted for the next ones."""
    data = make_series(ROWS, n_clusters=4, segment_lengths=(8, 24), random_state=2)
    model = MCGTA(progress=False).fit(data.X[:FITTED], positions=data.positions[:FITTED])
    states = np.r_[model.labels_, model.predict(data.X[FITTED:], positions=data.positions[FITTED:])]
    lines, strip = axes
    for k in range(3):
        lines.plot(data.positions, data.X[:, k] - 9 * k, lw=0.5, color="#555555")
    lines.set(xlim=(0, ROWS), yticks=[], title=f"readings of sensors, and the {model.n_clusters_} states found in them")
    begins = np.flatnonzero(np.r_[True, states[1:] != states[:-1]]).tolist()
    for begin, end in zip(begins, [*begins[1:], ROWS], strict=True):
        strip.add_patch(Rectangle((begin, 0), end - begin, 1, color=COLOURS[states[begin]], lw=0))
    for ax in axes:
        ax.axvline(FITTED, color="black", lw=1.2, ls="--")
    strip.text(FITTED + 8, 1.12, "predicted", fontsize=9)
    strip.set(xlim=(0, ROWS), ylim=(0, 1), yticks=[], xlabel="time")


def draw_regions(ax: Axes) -> None:
    """Draw places on a map and the regions found in them."""
    data = make_regions(1500, n_clusters=5, random_state=3)
    model = MCGTA(progress=False).fit(data.X, positions=data.positions)
    colours = np.array(COLOURS)[model.labels_]
    ax.scatter(data.positions[:, 0], data.positions[:, 1], s=6, c=colours, lw=0)
    ax.set(xticks=[], yticks=[], aspect="equal", title=f"places on a map: {model.n_clusters_} regions")


def draw_start() -> None:
    """Draw what ``model.plot()`` shows of the series of docs/start.md."""
    data = make_series(1500, n_clusters=3, separation=1.5, segment_lengths=(20, 60), random_state=1)
    MCGTA(progress=False).fit(data.X).plot()
    plt.gcf().savefig(IMAGES / "start.png", dpi=90, pil_kwargs={"optimize": True})


def main() -> None:
    """Draw all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = plt.figure(figsize=(11, 3.6), layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(2.2, 1), height_ratios=(5, 1))
        draw_states((figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])))
        draw_regions(figure.add_subplot(grid[:, 1]))
        figure.savefig(IMAGES / "states.png", dpi=110)
        draw_start()
        draw_how_it_works(IMAGES)


if __name__ == "__main__":
    main()
