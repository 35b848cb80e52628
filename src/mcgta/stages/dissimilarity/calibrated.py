"""W2 squared over the mean of what two samples of either model would show, without a unit."""

from __future__ import annotations

from functools import partial

import numpy as np

from mcgta.kernels.gaussians import calibration, wasserstein
from mcgta.runtime.types import Array
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity, Packed
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.model_parts import by_parts
from mcgta.stages.dissimilarity.wasserstein2 import EPS_IN_CHANCE
from mcgta.stages.local_models import LocalModels


def _build(models: LocalModels, seed: int) -> Dissimilarity:
    packed = by_parts(wasserstein.pack, models.means, models.covariances)
    work = models.means.shape[1] ** 3 + 10
    comparison = Packed(calibration.calibrated_tile, calibration.calibrated_pairs, work)
    points = partial(by_parts, wasserstein.embed, packed)
    unit = float(np.median(models.chance))
    # The points of W go with T less closely, as far as models differ in scale; larger samples make up for that.
    scale = 1 / unit if unit > 0 else 1.0
    return Dissimilarity(CALIBRATED.name, (packed, models.chance / 2), comparison, points, scale)


def _suggested_eps(models: LocalModels, n_neighbors: int) -> float:
    return EPS_IN_CHANCE


def _chance_scale(models: LocalModels) -> Array:
    return np.ones(len(models))


CALIBRATED = Kind(
    "calibrated",
    "models",
    _build,
    has_bounds=True,
    suggested_eps=_suggested_eps,
    chance_scale=_chance_scale,
)
