"""Missing features, imputed from observations nearby.

Along time a cell is interpolated between the observations before and after it, in its group; elsewhere it is the mean of the
nearest observations of its group that have the value. Where a group has no value at all it is the feature's median.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Mask
from mcgta.stages.neighborhoods import find_neighborhoods

NEAREST_OBSERVATIONS = 8
"""Observations that a mean is taken of, where there are as many; those around a cell of a regular grid."""


class Imputed(NamedTuple):
    """Features (N, d) without missing ones, and in words how those were imputed."""

    X: Array
    how: str


def impute(
    X: Array, positions: Positions, medians: Array, *, of: Mask | None = None, among: Mask | None = None
) -> Imputed:
    """Return features without missing ones; the result does not depend on the order of the rows.

    Parameters
    ----------
    X : (N, d) features, NaN where they are missing
    positions : where the observations are
    medians : (d,) of the features, for groups without any value
    of : (N,) rows whose missing features are imputed; all by default
    among : (N,) rows whose features others are imputed from; all by default
    """
    order = positions.order(X)
    places = positions.take(order)
    features = X[order]
    gaps = np.isnan(features)
    wanted = gaps if of is None else gaps & of[order, None]
    known = ~gaps if among is None else ~gaps & among[order, None]
    for k in np.flatnonzero(wanted.any(axis=0)).tolist():
        rows = np.flatnonzero(wanted[:, k])
        find = _interpolate if positions.is_chain else _average
        found = find(features[:, k], places, rows, known[:, k])
        features[rows, k] = np.where(np.isnan(found), medians[k], found)
    out = np.empty_like(features)
    out[order] = features
    nearest = f"by the mean of the {NEAREST_OBSERVATIONS} nearest observations that have them"
    return Imputed(out, "by interpolation along time" if positions.is_chain else nearest)


def _interpolate(values: Array, places: Positions, rows: Index, known: Mask) -> Array:
    """Interpolate along time between known values of the group; before the first and after the last, those stay."""
    times = places.coordinates[:, 0]
    found = np.full(rows.size, np.nan)
    ends = np.searchsorted(places.groups, np.arange(places.group_names.size + 1))
    for code in np.unique(places.groups[rows]).tolist():
        sources = ends[code] + np.flatnonzero(known[ends[code] : ends[code + 1]])
        if sources.size == 0:
            continue
        here = slice(*np.searchsorted(rows, ends[code : code + 2]))
        when, first, counts = np.unique(times[sources], return_index=True, return_counts=True)
        level = np.add.reduceat(values[sources], first) / counts  # of equal times the mean
        found[here] = np.interp(times[rows[here]], when, level)
    return found


def _average(values: Array, places: Positions, rows: Index, known: Mask) -> Array:
    """Take the mean of the nearest known values of the group, of fewer where there are not so many."""
    found = np.full(rows.size, np.nan)
    for count in range(NEAREST_OBSERVATIONS, 0, -1):
        open_ = np.flatnonzero(np.isnan(found))
        if open_.size == 0:
            break
        near = find_neighborhoods(places, count + 1, of=rows[open_], among=known)  # each brings itself along
        enough = np.flatnonzero(near.complete)
        members = near.members(enough)
        others = members[members != rows[open_[enough], None]].reshape(enough.size, count)
        found[open_[enough]] = values[others].mean(axis=1)
    return found
