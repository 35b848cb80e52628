"""Linear diffusion: features are averaged over the nearest in position, some times over, and then clustered by a mixture."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from mcgta.runtime.types import Array, Index, Labels
from problems.problem import Problem

NEIGHBORS = 15  # that are averaged, the observation itself included
STEPS = 3  # of diffusion
STARTS = 3  # of the mixture


def diffusion_mixture(problem: Problem, n_clusters: int) -> Labels:
    """Return the labels of a Gaussian mixture of the diffused features."""
    X = StandardScaler().fit_transform(problem.X)
    for rows in _by_group(problem):
        average = _averaging(_places(problem)[rows])
        for _ in range(STEPS):
            X[rows] = average @ X[rows]
    mixture = GaussianMixture(n_clusters, reg_covar=1e-4, n_init=STARTS, random_state=0)
    return np.asarray(mixture.fit_predict(StandardScaler().fit_transform(X)), dtype=np.int64)


def _averaging(places: Array) -> csr_array:
    """Return the (N, N) matrix that averages over the nearest of each."""
    count = min(NEIGHBORS, len(places))
    search = NearestNeighbors(n_neighbors=count).fit(places)
    return csr_array(search.kneighbors_graph(places)) / count


def _places(problem: Problem) -> Array:
    """Return positions with one row each; places on a globe become points on a sphere, so that the nearest are near."""
    if problem.positions is None:
        return np.arange(len(problem.X), dtype=np.float64)[:, None]
    places = np.asarray(problem.positions, dtype=np.float64).reshape(len(problem.X), -1)
    if problem.metric != "haversine":
        return places
    longitude, latitude = np.radians(places).T
    ring = np.cos(latitude)
    return np.column_stack([ring * np.cos(longitude), ring * np.sin(longitude), np.sin(latitude)])


def _by_group(problem: Problem) -> list[Index]:
    groups = np.zeros(len(problem.X)) if problem.groups is None else problem.groups
    return [np.flatnonzero(groups == group) for group in np.unique(groups)]
