"""The squared Euclidean distance of features.

With it the generalised semivariogram is the classic one, summed over features. It is W2 squared of models without spread.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from mcgta.runtime.types import Array
from mcgta.stages.dissimilarity.dissimilarity import Broadcast, Dissimilarity
from mcgta.stages.dissimilarity.kind import Kind


def _build(X: Array, seed: int) -> Dissimilarity:
    comparison = Broadcast(_squared_distance, X.shape[1])
    return Dissimilarity(EUCLIDEAN.name, (X,), comparison, partial(np.asarray, X), 1.0, exact_embedding=True)


def _squared_distance(a: Array, b: Array) -> Array:
    return np.asarray(((a - b) ** 2).sum(axis=-1), dtype=np.float64)


EUCLIDEAN = Kind("euclidean", "features", _build)
