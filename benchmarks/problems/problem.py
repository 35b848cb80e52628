"""Observations with their true clusters, as a method is given them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcgta import datasets
from mcgta.datasets.cache import Folder
from mcgta.runtime.types import Array, Index, Labels

TIME = "time"
SPACE = "space"

LONG_SEGMENTS = (20, 49)
"""Lengths of the long segments of a made series, in steps of 5 observations."""

LOADERS: dict[str, Callable[..., datasets.DataSet]] = {
    "climate": datasets.load_climate,
    "gesture": datasets.load_gesture,
    "inat2018": datasets.load_inat2018,
    "inat_subset": datasets.load_inat_subset,
    "nyc_landuse": datasets.load_nyc_landuse,
    "nyc_poi": datasets.load_nyc_poi,
    "pavement": datasets.load_pavement,
    "vehicle": datasets.load_vehicle,
}
"""Data sets that are read from files."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Observations and their true clusters.

    Attributes
    ----------
    X : (N, d) features
    positions : (N,) times, (N, p) places, or None where the order of the rows is time
    truth : (N,) true clusters, for tuning and scoring only
    groups : (N,) or None
    metric : of the positions
    name : of the data set
    seed : that the data were made with; None for data read from a file
    """

    X: Array
    positions: Array | None
    truth: Labels
    groups: Index | None = None
    metric: str = "auto"
    name: str = ""
    seed: int | None = None

    @property
    def kind(self) -> str:
        """The kind of the positions: "time" or "space"."""
        return TIME if self.positions is None or np.ndim(self.positions) == 1 else SPACE

    @property
    def clusters(self) -> int:
        """The number of true clusters."""
        return len(np.unique(self.truth))

    def take(self, rows: Index | slice) -> Problem:
        """Return the problem of these rows."""
        return replace(
            self,
            X=self.X[rows],
            positions=None if self.positions is None else self.positions[rows],
            truth=self.truth[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def fit(self, estimator: Any) -> Labels:
        """Fit an estimator in the shape of :class:`mcgta.MCGTA`, and return its labels."""
        if self.metric != "auto" and "metric" in estimator.get_params():
            estimator.set_params(metric=self.metric)
        return np.asarray(estimator.fit(self.X, positions=self.positions, groups=self.groups).labels_)


def problem_of(sample: datasets.Sample) -> Problem:
    """Return a made sample as a problem."""
    return Problem(sample.X, sample.positions, sample.labels)


def load_problem(name: str, folder: Folder = None) -> Problem:
    """Read a data set from its files, without a download.

    Parameters
    ----------
    name : one of LOADERS
    folder : of the files; None for the folders that the loaders look through

    Raises
    ------
    MissingDataError
        It says which files are missing.
    """
    data = LOADERS[name](data_home=folder, download=False)
    return Problem(data.X, data.positions, data.labels, data.groups, data.metric, name)


def find_problem(name: str, folder: Folder = None) -> Problem | None:
    """Read a data set as :func:`load_problem` does; None where its files are missing."""
    try:
        return load_problem(name, folder)
    except datasets.MissingDataError:
        return None


def missing(name: str) -> str:
    """Say that the files of a data set are missing."""
    return f"{name}.npz is not in the data folder"
