"""One minus the cosine of the angle between features."""

from __future__ import annotations

from functools import partial

import numpy as np

from mcgta.runtime.types import Array
from mcgta.stages.dissimilarity.dissimilarity import Broadcast, Dissimilarity
from mcgta.stages.dissimilarity.kind import Kind


def _build(X: Array, seed: int) -> Dissimilarity:
    if _without_angle(X):
        raise ValueError("X has rows of zeros, which have no angle to others; leave them out")
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    comparison = Broadcast(_one_minus_cosine, X.shape[1])
    return Dissimilarity(COSINE.name, (unit,), comparison, partial(np.asarray, unit), 0.5, exact_embedding=True)


def _without_angle(X: Array) -> dict[int, str]:
    zero = np.flatnonzero(~np.any(X, axis=1)).tolist()
    return dict.fromkeys(zero, "its features are all zero, so it has no angle to others")


def _one_minus_cosine(a: Array, b: Array) -> Array:
    return np.clip(1 - (a * b).sum(axis=-1), 0.0, 2.0)


COSINE = Kind("cosine", "features", _build, shift_invariant=False, incomparable=_without_angle)
