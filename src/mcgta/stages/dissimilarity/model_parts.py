"""Arrays that models are compared by, made of some models at a time so that Ctrl-C is soon noticed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mcgta.kernels.gaussians import wasserstein
from mcgta.runtime.parallel import short_tile, tiles
from mcgta.runtime.types import Array
from mcgta.stages.local_models import LocalModels


def by_parts(function: Callable[..., Array], *arrays: Array) -> Array:
    """Apply a function of rows to some at a time, so that none of its calls takes long."""
    count = arrays[0].shape[0]
    d = arrays[-1].shape[-1] if arrays[-1].ndim == 3 else wasserstein.features_of(arrays[-1])
    parts = tiles(count, short_tile(d))
    if len(parts) <= 1:
        return function(*arrays)
    first = function(*(array[parts[0]] for array in arrays))
    out = np.empty((count, *first.shape[1:]))
    out[parts[0]] = first
    for part in parts[1:]:
        out[part] = function(*(array[part] for array in arrays))
    return out


def embedding_of(models: LocalModels) -> Callable[[], Array]:
    """Return a function that makes the points whose squared distances are close to W2 squared."""
    return partial(by_parts, _embed, models.means, models.covariances)


def definite_covariances(models: LocalModels, kind: str) -> Array:
    """Return the covariances, all of full rank."""
    singular = len(models.require_definite(kind).failures)
    if singular:
        raise ValueError(f"{singular} of {len(models)} local covariances are singular, which {kind!r} cannot compare")
    return models.covariances


def _embed(means: Array, covs: Array) -> Array:
    return wasserstein.embed(wasserstein.pack(means, covs))
