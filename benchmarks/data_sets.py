"""The benchmark data sets, read from a folder, with windows and models as the benchmarks use them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mcgta import find_neighborhoods, fit_local_models, read_positions
from mcgta.observations import Observations, sort_observations
from mcgta.runtime.parallel import threads
from mcgta.runtime.types import Array, Index
from mcgta.stages.local_models import LocalModels
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows

TITLES = {"vehicle": "Vehicle", "pavement": "Pavement", "inat_subset": "iNat subset"}
NEIGHBORS, ALPHA = 30, 0.01


@dataclass(frozen=True)
class Dataset:
    """A data set in canonical order."""

    data: Observations

    @cached_property
    def neighborhoods(self) -> Neighborhoods | TimeWindows:
        """The windows."""
        return find_neighborhoods(self.data.positions, NEIGHBORS)

    def models(self, *, n_jobs: int = 1, **options: Any) -> LocalModels:
        """Fit the local models."""
        with threads(n_jobs):
            return fit_local_models(self.data.X, self.neighborhoods, alpha=ALPHA, **options)


def read_data(folder: Path, name: str, *, columns: int | None = None, rows: int | None = None) -> Dataset | None:
    """Read a data set, or the first columns and rows of it; None where its file is missing."""
    file = folder / f"{name}.npz"
    if not file.exists():
        return None
    with np.load(file) as arrays:
        X = arrays["X"][:rows, :columns].astype(float)
        coords = arrays["coords"][:rows] if "coords" in arrays else None
    places = read_positions(coords, len(X), metric="auto" if coords is None else "haversine")
    return Dataset(sort_observations(X, places, n_neighbors=NEIGHBORS, lags=0, seed=0))


@dataclass(frozen=True, eq=False)
class Labelled:
    """Observations with a true labelling, as a user would hand them over.

    Attributes
    ----------
    X : (N, d) features
    positions : (N,) or (N, p), or None where the order of the rows is time
    labels : (N,) true clusters; for scoring only
    groups : (N,) or None
    metric : of the positions
    name, seed : what it is called, and the seed that it was made with; None for data read from a file
    """

    X: Array
    positions: Array | None
    labels: Index
    groups: Index | None = None
    metric: str = "auto"
    name: str = ""
    seed: int | None = None


def read_labelled(folder: Path, name: str) -> Labelled | None:
    """Read a data set with its labels; None where its file is missing."""
    file = folder / f"{name}.npz"
    if not file.exists():
        return None
    with np.load(file) as arrays:
        X, labels = arrays["X"].astype(float), arrays["y"]
        coords = arrays.get("coords")
    return Labelled(X, coords, labels, metric="auto" if coords is None else "haversine", name=name)


def missing(name: str) -> str:
    """Say that a file is not there."""
    return f"{name}.npz is not in the data folder"
