"""Stage 1, afterwards: how much of two neighbourhoods is the same observations.

Fitted models are close to sums over the observations of their neighbourhoods, with weights w_i and w_j. What two models of one
Gaussian differ by thus varies in proportion to sum (w_i - w_j)^2, against sum w_i^2 + sum w_j^2 for neighbourhoods that have
nothing in common. The overlap is what that falls short by,

    o = 2 sum_k w_ik w_jk / (sum_k w_ik^2 + sum_k w_jk^2),

the share of common observations where all weigh the same.
"""

from __future__ import annotations

import numpy as np

from mcgta.runtime.parallel import tiles
from mcgta.runtime.types import Array, Index
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows

_TILE_ENTRIES = 2**20  # neighbours that are looked at at a time


def overlaps(neighborhoods: Neighborhoods | TimeWindows, i: Index, j: Index) -> Array:
    """Return the overlap, in [0, 1], of the neighbourhoods i[k] and j[k], all of which there must be."""
    windows = neighborhoods.windows
    n = neighborhoods.n_neighbors
    if windows is not None:
        return np.maximum(n - np.abs(windows[0][i] - windows[0][j]), 0) / n
    out = np.empty(i.size)
    for few in tiles(i.size, max(1, _TILE_ENTRIES // (2 * n))):
        rows, of_rows = neighborhoods.part(i[few])
        cols, of_cols = neighborhoods.part(j[few])
        # Members are distinct, so those of both stand side by side once sorted.
        members = np.hstack([rows, cols])
        weights = np.hstack([of_rows, of_cols])
        order = np.argsort(members, axis=1, kind="stable")
        members = np.take_along_axis(members, order, axis=1)
        weights = np.take_along_axis(weights, order, axis=1)
        common = np.where(members[:, 1:] == members[:, :-1], weights[:, 1:] * weights[:, :-1], 0.0).sum(axis=1)
        out[few] = 2 * common / ((of_rows**2).sum(axis=1) + (of_cols**2).sum(axis=1))
    # Equal neighbourhoods overlap wholly, whatever rounding says.
    return np.where(out >= 1 - 1e-12, 1.0, out)
