"""Initial labellings of the search, with more clusters than there are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from mcgta.kernels.evidence.grow import grow
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Labels
from mcgta.selection.scoring.scored_labelling import close_gaps
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.stages.local_models import fit_local_models
from mcgta.stages.neighborhoods import find_neighborhoods

START_CLUSTERS = 20
"""Clusters of an initial labelling."""

START_NEIGHBORS = (20, 30, 45)
"""Neighbours of the local models whose embedding is cut."""

LOW_LIKELIHOOD_WEIGHT = 0.25
"""Factor of log densities on paths on which it takes more observations to change a label."""

_WINSORIZED_DEVIATIONS = 5.0  # robust standard deviations
_GROWN_TO_NEIGHBORS = 8  # of a row, which its region grows to


@dataclass(frozen=True, eq=False)
class Start:
    """An initial labelling, and the likelihood weights of the merge paths that begin there along series."""

    labels: Labels
    likelihood_weights: tuple[float, ...] = (1.0,)


def winsorize(scoring_data: ScoringData) -> Array:
    """Return the features (N, d), drawn in to within ``_WINSORIZED_DEVIATIONS`` of the median."""
    middle = np.median(scoring_data.X, axis=1, keepdims=True)
    spread = 1.4826 * np.median(np.abs(scoring_data.X - middle), axis=1, keepdims=True)
    reach = np.where(spread > 0, _WINSORIZED_DEVIATIONS * spread, np.inf)
    return native(np.clip(scoring_data.X, middle - reach, middle + reach).T)


def embed_models(X: Array, places: Positions, n_neighbors: int) -> Array:
    """Return (N, q) points whose distances are about those of the local models of X (N, d): means, and roots of covariances."""
    models = fit_local_models(X, find_neighborhoods(places, n_neighbors), covariance="empirical")
    fitted = np.flatnonzero(models.fitted)
    if fitted.size == 0:
        return X
    upper = np.triu_indices(X.shape[1])
    twice = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
    some = models.take(fitted)
    known = np.column_stack([some.means, some.roots[:, upper[0], upper[1]] * twice])
    points = np.tile(known.mean(axis=0), (len(X), 1))  # those without a model are in the middle
    points[fitted] = known
    return points


def kmeans_labels(points: Array, number: int, seed: int) -> Labels:
    """Cut points into clusters by k-means."""
    distinct = np.unique(points, axis=0).shape[0] if len(points) < 10 * number else number
    # Sums by several threads would not always be the same; and that equal points leave clusters empty is no news.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(
            KMeans(min(number, distinct), n_init=1, random_state=seed).fit_predict(points), dtype=np.int64
        )


def grow_regions(scoring_data: ScoringData, points: Array, number: int) -> Labels:
    """Grow regions of neighbours that are alike, until so many are left."""
    listed = scoring_data.neighbors[:, :_GROWN_TO_NEIGHBORS]
    row, place = np.nonzero(listed >= 0)
    labels = np.empty(len(scoring_data), dtype=np.int64)
    grow(native(points), native(row, np.int64), native(listed[row, place], np.int64), number, labels)
    return close_gaps(labels)


def initial_labellings(scoring_data: ScoringData, seed: int, *, number: int = START_CLUSTERS) -> Iterator[Start]:
    """Yield labellings to begin with, of about ``number`` clusters: by position, by regions, and by local models."""
    X = winsorize(scoring_data)
    places = scoring_data.places
    sizes = np.bincount(places.groups)
    block = scoring_data.blocks(max(1, len(scoring_data) // number))
    yield Start(close_gaps(block * number // max(number, int(block.max()) + 1)))
    if sizes.size <= START_CLUSTERS:  # regions keep to their group
        yield Start(grow_regions(scoring_data, X, 2 * number))
    largest = int(np.median(np.repeat(sizes, sizes)))
    by_models = ((1.0,), (1.0, LOW_LIKELIHOOD_WEIGHT), (LOW_LIKELIHOOD_WEIGHT,))
    for n_neighbors, weights in zip(START_NEIGHBORS, by_models, strict=True):
        points = embed_models(X, places, max(2, min(n_neighbors, largest // 3)))
        yield Start(kmeans_labels(points, number, seed), weights)
        if n_neighbors == START_NEIGHBORS[0] and sizes.size <= START_CLUSTERS:
            yield Start(grow_regions(scoring_data, points, number), (LOW_LIKELIHOOD_WEIGHT,))
