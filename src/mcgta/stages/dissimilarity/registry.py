"""The kinds of dissimilarity by name. A new one is a file beside this one and a row here."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.runtime.rules import suggest
from mcgta.stages.dissimilarity.calibrated import CALIBRATED
from mcgta.stages.dissimilarity.cosine import COSINE
from mcgta.stages.dissimilarity.euclidean import EUCLIDEAN
from mcgta.stages.dissimilarity.function import function_kind
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.kl import KL
from mcgta.stages.dissimilarity.mixture import MIXTURE
from mcgta.stages.dissimilarity.precomputed import precomputed_kind
from mcgta.stages.dissimilarity.sampled import JS, TV
from mcgta.stages.dissimilarity.wasserstein2 import WASSERSTEIN2

DISSIMILARITIES: dict[str, Kind] = {
    kind.name: kind for kind in (WASSERSTEIN2, CALIBRATED, MIXTURE, EUCLIDEAN, COSINE, KL, JS, TV)
}


def get_dissimilarity(value: Any) -> Kind:
    """Return the kind of dissimilarity that a user's value stands for.

    It is a name of ``DISSIMILARITIES``, a :class:`Kind`, a function ``f(a, b)`` of two Gaussians that have a ``mean`` and a
    ``covariance``, or a table (N, N) of all pairs in the user's order of rows.
    """
    if isinstance(value, Kind):
        return value
    if isinstance(value, str) and value in DISSIMILARITIES:
        return DISSIMILARITIES[value]
    if callable(value) and not isinstance(value, type):
        return function_kind(value)
    if isinstance(value, (np.ndarray, list, tuple)) or hasattr(value, "__array__"):
        return precomputed_kind(value)
    raise ValueError(
        f"dissimilarity={value!r} is not one of {', '.join(DISSIMILARITIES)}, a function of two Gaussians, or a table of all "
        f"pairs{suggest(value, tuple(DISSIMILARITIES))}"
    )


def names_where(**capabilities: bool | str) -> tuple[str, ...]:
    """Return the names of the kinds with these capabilities, such as ``has_bounds=True``."""
    return tuple(
        name
        for name, kind in DISSIMILARITIES.items()
        if all(getattr(kind, capability) == wanted for capability, wanted in capabilities.items())
    )
