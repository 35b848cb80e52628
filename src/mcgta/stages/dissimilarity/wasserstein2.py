"""The squared Wasserstein-2 distance of models, in the squared unit of the features."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

import numpy as np

from mcgta.kernels.gaussians import wasserstein
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity, Packed
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.model_parts import by_parts
from mcgta.stages.local_models import LocalModels

EPS_IN_CHANCE = 0.4
"""The radius of DBSCAN, in expected differences of two samples of one model."""


def _build(models: LocalModels, seed: int) -> Dissimilarity:
    packed = by_parts(wasserstein.pack, models.means, models.covariances)
    work = models.means.shape[1] ** 3 + 10
    comparison = Packed(wasserstein.wasserstein2_tile, wasserstein.wasserstein2_pairs, work)
    points = partial(by_parts, wasserstein.embed, packed)
    return Dissimilarity(WASSERSTEIN2.name, (packed,), comparison, points)


def _suggested_eps(models: LocalModels, n_neighbors: int) -> float:
    expected = wasserstein.null_expectation(models.covariances[models.fitted], n_neighbors)
    return float(EPS_IN_CHANCE * np.median(expected))


WASSERSTEIN2 = Kind(
    "wasserstein2",
    "models",
    _build,
    has_bounds=True,
    suggested_eps=_suggested_eps,
    chance_scale=attrgetter("chance"),
)
