"""Lag stacking: the Toeplitz remark of the paper's appendix.

Beside its own features an observation carries those of its predecessors in time, or of its nearest neighbours in
space, so that the local covariance also holds the dependence between successive observations, as in TICC and STICC.
"""

from __future__ import annotations

import numpy as np

from mcgta.kernels.positions.metrics import TIE
from mcgta.positions.positions import Positions
from mcgta.runtime.memory import budget
from mcgta.runtime.sizes import say_size
from mcgta.runtime.types import Array, Index
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods


def check_lags(lags: int, positions: Positions) -> None:
    """Refuse more lags than an observation of the largest group has others."""
    largest = int(np.bincount(positions.groups).max())
    check_lags_of(lags, largest, "in the largest group" if largest < len(positions) else "")


def check_lags_of(lags: int, count: int, where: str = "") -> None:
    """Refuse more lags than one of ``count`` observations has others."""
    if lags >= count:
        raise ValueError(
            f"lags={lags} is not allowed: there are only {count} observations {where}".rstrip()
            + f", so lags must be at most {count - 1}"
        )


def stack_lags(X: Array, positions: Positions, lags: int) -> Array:
    """Append ``lags`` further observations to each one's features.

    In time, lag k is the k-th observation before this one in the same group; at the start of a series the earliest
    observation stands in for those that are not there. In other metrics, lag k is the k-th nearest neighbour; in a group
    with fewer than k others the observation itself stands in.

    Returns
    -------
    (N, d * (lags + 1)) the features, then those of lag 1, lag 2, ...
    """
    if lags == 0:
        return X
    _check_room(X, lags)
    source = np.empty((X.shape[0], lags + 1), dtype=np.intp)
    if positions.is_chain:
        order = np.lexsort([positions.coordinates[:, 0], positions.groups])
        groups = positions.groups[order]
        first = np.maximum.accumulate(np.where(np.r_[True, groups[1:] != groups[:-1]], np.arange(order.size), 0))
        for lag in range(lags + 1):
            source[order, lag] = order[np.maximum(np.arange(order.size) - lag, first)]
    else:
        near = find_neighborhoods(positions, lags + 1)
        source = np.where(near.complete[:, None], _by_distance(near, positions), near.centers[:, None])
    return X[source].reshape(X.shape[0], -1)


def _check_room(X: Array, lags: int) -> None:
    """Refuse more lags than there is memory for the stacked features and their rows."""
    room = budget()
    each = 8 * X.shape[0] * (X.shape[1] + 1)
    if room is not None and each * (lags + 1) > room:
        raise MemoryError(
            f"lags={lags} of {X.shape[0]} observations with {X.shape[1]} features need {say_size(each * (lags + 1))}, but "
            f"{say_size(room)} can be had; lags must be at most {max(room // each - 1, 0)}"
        )


def _by_distance(near: Neighborhoods | TimeWindows, positions: Positions) -> Index:
    """Return each row's neighbours from near to far, tied ones in canonical order, the observation itself first."""
    canonical = np.empty(len(positions), dtype=np.intp)
    canonical[np.lexsort([*positions.coordinates.T[::-1], positions.groups])] = np.arange(len(positions))
    apart = np.where(near.indices == near.centers[:, None], -np.inf, near.distances)
    sorting = np.argsort(apart, axis=1, kind="stable")
    indices = np.take_along_axis(near.indices, sorting, axis=1)
    apart = np.take_along_axis(apart, sorting, axis=1)
    farther = np.ones(apart.shape, dtype=bool)
    farther[:, 1:] = apart[:, 1:] - apart[:, :-1] > TIE * apart[:, 1:] + positions.rounding
    order = np.lexsort((canonical[indices], farther.cumsum(axis=1)), axis=-1)
    return np.take_along_axis(indices, order, axis=1)
