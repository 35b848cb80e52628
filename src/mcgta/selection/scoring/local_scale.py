"""Scales that come and go: rows of series that are far from their clusters for a while, and near for another.

A volatility that changes without end is no set of states. So rows may have a scale of their own, which those before foretell,
and clusters have to explain what is left.
"""

from __future__ import annotations

import numpy as np

from mcgta.kernels.evidence.local_scale import follow_scales
from mcgta.runtime.types import Array, Mask

PERSISTENCES = (0.9, 0.97, 0.995)
"""Shares of the log of a scale that are left one row later."""

GAINS = (0.03, 0.1, 0.25, 0.5)
"""Parts of what a row says of its scale that the next one takes over."""

FREEDOM = 8.0
"""Degrees of freedom of Student's t that rows are judged by, so that heavy tails are not taken for a change of scale."""

_COMMON_SCALE_STEPS = 10
_LEAST_SCALE = 1e-12

SCALE_COST = 4.0
"""Nats that scales which come and go cost, over the log of the number of rows.

Two parameters cost one by Schwarz's criterion. The others are for clusters of several scales: their labels are written down to
the row, scales need no such thing, and where there is little in it clusters are what is asked for.
"""


def find_log_scales(distances: Array, d: int, starts: Mask) -> Array | None:
    """Return the (N,) logs of squared scales that explain most; None where scales that stay explain as much.

    ``distances`` (N,) are squared Mahalanobis distances of rows with ``d`` features, and ``starts`` (N,) tells where a series
    begins. Scales are relative to that of all rows, which the clusters' covariances have.
    """
    distances = distances / _common_scale(distances, d)
    found = np.empty(distances.size)
    level = follow_scales(distances, d, starts, 0.0, 0.0, FREEDOM, found)
    level += SCALE_COST * np.log(max(distances.size, 1))
    best: Array | None = None
    for persistence in PERSISTENCES:
        for gain in GAINS:
            explained = follow_scales(distances, d, starts, persistence, gain, FREEDOM, found)
            if explained > level:
                level = explained
                best = found.copy()
    return best


def _common_scale(distances: Array, d: int) -> float:
    """Return the squared scale that explains squared distances best if it stays, by Student's t."""
    scale = 1.0
    for _ in range(_COMMON_SCALE_STEPS):
        weights = (FREEDOM + d) / (FREEDOM + distances / scale)
        scale = max(float((weights * distances).mean()) / d, _LEAST_SCALE)
    return scale
