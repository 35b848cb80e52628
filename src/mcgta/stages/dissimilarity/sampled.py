"""Divergences of models without a closed form, by quasi-Monte-Carlo: Jensen-Shannon and total variation.

Each is a mean over 512 scrambled Sobol points from either side. ``js`` is in nats, at most log 2; ``tv`` is at most 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mcgta.kernels.gaussians import divergences
from mcgta.runtime.types import Array
from mcgta.stages.dissimilarity.dissimilarity import Broadcast, Dissimilarity
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.model_parts import by_parts, definite_covariances, embedding_of
from mcgta.stages.local_models import LocalModels

_SOBOL_POINTS = 512

Combine = Callable[[Array, Array], Array]
"""What makes a divergence of the log ratios of densities at the points of either side."""


def _build(name: str, combine: Combine, models: LocalModels, seed: int) -> Dissimilarity:
    d = models.means.shape[1]
    factors = by_parts(np.linalg.cholesky, definite_covariances(models, name))
    inverses = by_parts(np.linalg.inv, factors)
    points = divergences.normal_points(_SOBOL_POINTS, d, seed)
    comparison = Broadcast(_at_points(combine, points), 4 * d * _SOBOL_POINTS)
    return Dissimilarity(name, (models.means, factors, inverses), comparison, embedding_of(models))


def _at_points(combine: Combine, points: Array) -> Callable[..., Array]:
    def compare(
        mean_a: Array, factor_a: Array, inverse_a: Array, mean_b: Array, factor_b: Array, inverse_b: Array
    ) -> Array:
        return combine(
            divergences.log_ratio(mean_a, factor_a, mean_b, inverse_b, points),
            divergences.log_ratio(mean_b, factor_b, mean_a, inverse_a, points),
        )

    return compare


def _kind(name: str, combine: Combine) -> Kind:
    return Kind(name, "models", partial(_build, name, combine), needs_definite=True, sampled=True)


JS = _kind("js", divergences.jensen_shannon)
TV = _kind("tv", divergences.total_variation)
