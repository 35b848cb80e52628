"""Pairs of observations with their distance, dissimilarity and whether they belong together, for the figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.observations.observations import sort_observations
from mcgta.positions.reading import read_positions
from mcgta.runtime.types import Array, Mask
from mcgta.stages.dissimilarity.compare import compare_features, compare_models
from mcgta.stages.local_models import fit_local_models
from mcgta.stages.neighborhoods import find_neighborhoods
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.empirical import empirical_semivariogram
from mcgta.stages.semivariogram.fitting import fit_semivariogram
from problems.problem import Problem

_PAIRS = 400_000
_ALPHA = 0.01  # penalty of the graphical lasso
_NEAR = 1.5  # ranges of the semivariogram within which places are near each other


@dataclass(frozen=True, eq=False)
class Pairs:
    """A sample of pairs, each of one group.

    Attributes
    ----------
    distance : (P,) in position
    dissimilarity : (P,) W2 squared of the local models, or of features
    together : (P,) whether both are of one true cluster
    """

    distance: Array
    dissimilarity: Array
    together: Mask


def pairs_of_models(
    problem: Problem, n_neighbors: int, *, even: bool = False, seed: int = 0
) -> tuple[Pairs, Semivariogram]:
    """Return pairs by their local models, and the semivariogram.

    Half of the pairs are of places near each other, of which there would be few, unless all are to have ``even`` chances. At
    any one distance within that reach chances are even in either case. Pairs of which one has no model are left out.
    """
    places = read_positions(problem.positions, len(problem.X), groups=problem.groups, metric=problem.metric)
    data = sort_observations(problem.X, places, n_neighbors=n_neighbors, lags=0, seed=seed)
    models = fit_local_models(data.X, find_neighborhoods(data.positions, n_neighbors), alpha=_ALPHA)
    dissimilarity = compare_models(models)
    semivariogram = fit_semivariogram(empirical_semivariogram(dissimilarity, data.positions), adapt=True)
    i, j = np.random.default_rng(seed).integers(len(data.X), size=(2, 4 * _PAIRS))
    distance = data.positions.of_pairs(i, j)
    kept = np.flatnonzero(np.isfinite(distance) & (i != j))[: _PAIRS // 2]
    if not even:
        kept = np.union1d(kept, np.flatnonzero((distance <= _NEAR * semivariogram.range_) & (i != j))[: _PAIRS // 2])
    values = dissimilarity.of_pairs(i[kept], j[kept])
    has_models = np.isfinite(values)
    kept = kept[has_models]
    truth = problem.truth[data.order]
    return Pairs(distance[kept], values[has_models], truth[i[kept]] == truth[j[kept]]), semivariogram


def pairs_of_features(problem: Problem, kind: str, seed: int = 0) -> Pairs:
    """Return pairs by their features: "euclidean" (squared) or "cosine"."""
    places = read_positions(problem.positions, len(problem.X), groups=problem.groups, metric=problem.metric)
    i, j = np.random.default_rng(seed).integers(len(problem.X), size=(2, _PAIRS))
    distance = places.of_pairs(i, j)
    kept = np.isfinite(distance) & (i != j)
    values = compare_features(problem.X, kind).of_pairs(i[kept], j[kept])
    return Pairs(distance[kept], values, problem.truth[i[kept]] == problem.truth[j[kept]])


def shares_together(pairs: Pairs, distances: Array, dissimilarities: Array, least: int) -> Array:
    """Return per cent of pairs of one true cluster, in bins of distance (rows) and dissimilarity (columns) between edges.

    Bins of fewer than ``least`` pairs are nan.
    """
    edges = [distances, dissimilarities]
    counts = np.histogram2d(pairs.distance, pairs.dissimilarity, edges)[0]
    together = np.histogram2d(pairs.distance[pairs.together], pairs.dissimilarity[pairs.together], edges)[0]
    return np.where(counts >= least, 100 * together / np.maximum(counts, 1), np.nan)


def means_by_distance(distance: Array, values: Array, edges: Array) -> Array:
    """Return the mean of the values in each bin of distance, its lower edge included; nan where a bin is empty."""
    inside = (distance >= edges[0]) & (distance < edges[-1])
    at = np.searchsorted(edges, distance[inside], side="right") - 1
    counts = np.bincount(at, minlength=edges.size - 1)
    sums = np.bincount(at, values[inside], minlength=edges.size - 1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
