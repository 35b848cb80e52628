"""The benchmark data in canonical order, with windows and models as the kernels take them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mcgta import read_positions
from mcgta.observations.observations import Observations, sort_observations
from mcgta.runtime.parallel import threads
from mcgta.stages import find_neighborhoods, fit_local_models
from mcgta.stages.local_models import LocalModels
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows
from problems.problem import find_problem

TITLES = {"vehicle": "Vehicle", "pavement": "Pavement", "inat_subset": "iNat subset"}
NEIGHBORS = 30
ALPHA = 0.01  # penalty of the graphical lasso


@dataclass(frozen=True)
class WindowedData:
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


def read_windowed(
    folder: Path, name: str, *, columns: int | None = None, rows: int | None = None
) -> WindowedData | None:
    """Read a data set, or the first columns and rows of it; None where its file is missing."""
    whole = find_problem(name, folder)
    if whole is None:
        return None
    part = whole.take(slice(rows))
    X = part.X[:, :columns]
    places = read_positions(part.positions, len(X), metric=part.metric)
    return WindowedData(sort_observations(X, places, n_neighbors=NEIGHBORS, lags=0, seed=0))
