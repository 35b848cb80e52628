"""Draws the pictures of docs/plots.md from data that the package makes: ``python docs/plot_pictures.py`` writes docs/images."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from mcgta import MCGTA, plot, stability
from mcgta.datasets import make_regions, make_series

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

IMAGES = Path(__file__).parent / "images"
DOTS_PER_INCH = 80
MOST_BYTES = 600_000
"""Of all pictures together."""

SENSORS = ["speed", "heat", "pressure", "flow", "shake"]
WEST_SOUTH = np.array([-9.0, 37.0])
EAST_NORTH = np.array([22.0, 56.0])


def fit_machine() -> MCGTA:
    """Cluster ten days of a machine with four states, of which two are warmer, read every ten minutes."""
    data = make_series(1500, n_clusters=4, segment_lengths=(8, 24), random_state=2)
    readings = pd.DataFrame(data.X, columns=SENSORS)
    readings["heat"] += 40 + 1.5 * np.isin(data.labels, [1, 2])
    times = pd.date_range("2024-03-01", periods=len(readings), freq="10min")
    return MCGTA(progress=False).fit(readings.set_index(times))


def fit_fleet() -> MCGTA:
    """Cluster four machines at once; they share states, but no neighbourhoods."""
    data = make_series(1600, n_clusters=3, segment_lengths=(8, 24), random_state=4)
    machines = np.repeat(["pump 1", "pump 2", "pump 3", "spare"], 400)
    times = np.tile(pd.date_range("2024-03-01", periods=400, freq="h").to_numpy(), 4)
    return MCGTA(progress=False).fit(data.X, positions=times, groups=machines)


def fit_regions() -> MCGTA:
    """Cluster places in Europe, by longitude and latitude."""
    data = make_regions(1500, n_clusters=4, random_state=3)
    corner = data.positions.min(axis=0)
    share = (data.positions - corner) / (data.positions.max(axis=0) - corner)
    return MCGTA(metric="haversine", progress=False).fit(
        data.X, positions=WEST_SOUTH + share * (EAST_NORTH - WEST_SOUTH)
    )


def fit_patches(clusterer: str) -> MCGTA:
    """Cluster three patches of a plane by their density alone."""
    rng = np.random.default_rng(7)
    patch = np.repeat([0, 1, 2], 200)
    X = rng.normal(size=(600, 2)) + np.array([[0, 0], [2.5, 0], [0, 2.5]])[patch]
    places = rng.uniform(size=(600, 2)) + 1.2 * np.column_stack([patch, np.zeros(600)])
    return MCGTA(n_neighbors=15, clusterer=clusterer, min_samples=15, refine="none", progress=False).fit(
        X, positions=places
    )


def pictures() -> dict[str, Callable[[], Axes]]:
    """Return what draws each picture, by its name."""
    machine = fit_machine()
    regions = fit_regions()
    three = machine.labels_for(3)
    return {
        "timeline": lambda: plot.timeline(machine),
        "timeline_groups": lambda: plot.timeline(fit_fleet()),
        "map": lambda: plot.map(regions),
        "profiles": lambda: plot.profiles(machine),
        "networks": lambda: plot.networks(machine),
        "transitions": lambda: plot.transitions(machine),
        "semivariogram": lambda: plot.semivariogram(machine),
        "evidence": lambda: plot.evidence(regions),
        "membership": lambda: plot.membership(regions),
        "stability": lambda: plot.stability(stability(machine, n_resamples=10, progress=False)),
        "reachability": lambda: plot.reachability(fit_patches("optics")),
        "condensed_tree": lambda: plot.condensed_tree(fit_patches("hdbscan")),
        "compare": lambda: plot.compare(machine, three, names=("4 clusters", "3 clusters")),
    }


def main() -> None:
    """Draw all pictures."""
    total = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, draw in pictures().items():
            path = IMAGES / f"plot_{name}.png"
            draw()
            plt.gcf().savefig(path, dpi=DOTS_PER_INCH, pil_kwargs={"optimize": True})
            plt.close("all")
            total += path.stat().st_size
    if total > MOST_BYTES:
        raise SystemExit(f"the pictures have {total:,} bytes together, and may have {MOST_BYTES:,}")


if __name__ == "__main__":
    main()
