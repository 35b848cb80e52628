"""Pairs of observations with their distance, dissimilarity and whether they belong together, for the figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.experiments.problems import Problem
from mcgta.observations import sort_observations
from mcgta.position_input import read_positions
from mcgta.stages.dissimilarity import compare_features, compare_models
from mcgta.stages.empirical import empirical_semivariogram
from mcgta.stages.local_models import fit_local_models
from mcgta.stages.neighborhoods import find_neighborhoods
from mcgta.stages.semivariogram import Semivariogram, fit_semivariogram
from mcgta.types import Array, Mask

_PAIRS = 400_000
_ALPHA = 0.01


@dataclass(frozen=True, eq=False)
class Pairs:
    """A sample of pairs.

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

    Half of the pairs are of places near each other, of which there would be few, unless all are to have ``even`` chances.
    """
    places = read_positions(problem.positions, len(problem.X), groups=problem.groups, metric=problem.metric)
    data = sort_observations(problem.X, places, n_neighbors=n_neighbors, lags=0, seed=seed)
    models = fit_local_models(data.X, find_neighborhoods(data.positions, n_neighbors), alpha=_ALPHA)
    dissimilarity = compare_models(models)
    semivariogram = fit_semivariogram(empirical_semivariogram(dissimilarity, data.positions), adapt=True)
    rng, count = np.random.default_rng(seed), len(data.X)
    i, j = rng.integers(count, size=(2, 4 * _PAIRS))
    distance = data.positions.of_pairs(i, j)
    kept = np.flatnonzero(np.isfinite(distance) & (i != j))[: _PAIRS // 2]
    if not even:
        kept = np.union1d(kept, np.flatnonzero((distance <= 1.5 * semivariogram.range_) & (i != j))[: _PAIRS // 2])
    truth = problem.truth[data.order]
    i, j = i[kept], j[kept]
    return Pairs(distance[kept], dissimilarity.of_pairs(i, j), truth[i] == truth[j]), semivariogram


def pairs_of_features(problem: Problem, kind: str, seed: int = 0) -> Pairs:
    """Return pairs by their features: "euclidean" (squared) or "cosine"."""
    places = read_positions(problem.positions, len(problem.X), groups=problem.groups, metric=problem.metric)
    i, j = np.random.default_rng(seed).integers(len(problem.X), size=(2, _PAIRS))
    i, j = i[i != j], j[i != j]
    return Pairs(
        places.of_pairs(i, j), compare_features(problem.X, kind).of_pairs(i, j), problem.truth[i] == problem.truth[j]
    )
