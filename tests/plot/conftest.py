"""Plots are drawn without a screen, and closed after each test; fits that several tests draw."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

from builders.descriptions import labelled
from mcgta import MCGTA
from mcgta.datasets import make_series


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def searched():
    """A series of two states, whose settings were searched for."""
    data = make_series(400, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
    return MCGTA(progress=False).fit(data.X)


def three_patches():
    """Return features (180, 2) of three patches of a plane, and their places."""
    rng = np.random.default_rng(7)
    patch = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 2)) + np.array([[0, 0], [8, 0], [0, 8]])[patch]
    return X, rng.uniform(size=(180, 2)) + 3 * np.column_stack([patch, np.zeros(180)])


@pytest.fixture(scope="session")
def plain():
    """Three patches of a plane, clustered by HDBSCAN without a search for labels."""
    X, places = three_patches()
    return MCGTA(n_neighbors=10, clusterer="hdbscan", eps=0.0, min_samples=10, progress=False).fit(X, positions=places)


@pytest.fixture(scope="session")
def visited():
    """The same, clustered by OPTICS."""
    X, places = three_patches()
    model = MCGTA(n_neighbors=10, clusterer="optics", eps=1.0, min_samples=10, refine="none", progress=False)
    return model.fit(X, positions=places)


@pytest.fixture(scope="session")
def machine():
    """Four hundred minutes of three states and some noise, with a gap in the middle."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 0, 2, -1, 1, 2, 0], 50)
    levels = np.where(labels < 0, 0, labels)[:, None] * [3.0, 0.0, -1.0]
    X = rng.normal(size=(400, 3)) + levels
    times = np.arange(400) * np.timedelta64(60, "s") + np.datetime64("2024-03-01T00:00")
    times[200:] += np.timedelta64(6, "h")
    return labelled(X, labels, positions=times, names=np.array(["temp", "load", "rpm"]))


@pytest.fixture(scope="session")
def europe():
    """Six hundred places on earth in two clusters, east and west of 5 degrees."""
    rng = np.random.default_rng(4)
    places = np.column_stack([rng.uniform(-9, 20, 600), rng.uniform(38, 58, 600)])
    return labelled(rng.normal(size=(600, 2)), (places[:, 0] > 5).astype(int), positions=places, metric="haversine")
