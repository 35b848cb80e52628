"""New rows with missing values: left out, or completed from the observations of a fit and from each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mcgta.fit import Fit
from mcgta.observations.imputation import Imputed, impute
from mcgta.observations.missing import CompleteRows, complete, quiet_positions, read_given
from mcgta.positions.distances import read_distances
from mcgta.positions.positions import Positions
from mcgta.positions.reading import is_row_order
from mcgta.runtime.types import Array, Index, Mask
from mcgta.updating.joining import go_on, need_groups, need_positions


def complete_new(fit: Fit, X: Array, positions: Any, groups: Any, *, append: bool = False) -> CompleteRows:
    """Return the new rows that can be placed, or with ``append`` be added, by the rule of the fit for missing values.

    Of precomputed distances, ``positions`` has those to every row that the user gave to the fit; those to rows that were left
    out there are dropped.
    """
    if fit.asked.missing == "error":
        return CompleteRows(X, positions, groups)
    places = fit.data.positions
    need_groups(places, groups)
    given = read_given(X, fit.names, positions, groups, places.metric, like=places)
    reasons = given.incomplete(fit.asked.missing)
    rows = np.setdiff1d(np.arange(len(X)), list(reasons))
    distances = None
    if not places.metric.has_coordinates and positions is not None:
        distances = _known_distances(fit, positions, len(X), rows, append=append)
    if not reasons and not np.isnan(X).any():
        return CompleteRows(X, given.places if distances is None else distances, groups)

    def fill(features: Array) -> Imputed:
        need_positions(places, given.places if distances is None else distances)
        if distances is None:
            new = quiet_positions(given.positions_of(rows), rows.size, given.groups_of(rows), places)
            apart = is_row_order(given.places) and not append
            new = go_on(fit.user_positions, new) if is_row_order(given.places) and append else new
            return _fill(fit, features, new, apart=apart)
        own = distances[:, len(places) :] if append else np.where(np.eye(rows.size, dtype=bool), 0.0, np.inf)
        new = quiet_positions(own, rows.size, given.groups_of(rows), places)
        return _fill(fit, features, new, cross=distances[:, fit.data.order])

    done = complete(given, rows, reasons, fill, "new ")
    return done if distances is None else replace(done, positions=distances)


def _fill(fit: Fit, X: Array, new: Positions, *, apart: bool = False, cross: Array | None = None) -> Imputed:
    """Impute missing features of new observations from those of the fit and from each other, the fit's going first."""
    known = fit.observed
    joined = fit.data.positions.join(new, apart=apart, cross=cross)
    every = np.concatenate([known, X])
    added = np.arange(len(every)) >= len(known)
    among = ~added | ~_at_known_places(joined, len(known), cross)
    imputed = impute(every, joined, np.nanmedian(known, axis=0), of=added, among=among)
    return imputed._replace(X=imputed.X[len(known) :])


def _at_known_places(joined: Positions, count: int, cross: Array | None) -> Mask:
    """(N + M,) whether each observation is at the place of one of the first ``count``, which are those of the fit."""
    if cross is not None:
        same = joined.groups[count:, None] == joined.groups[None, :count]
        return np.r_[np.ones(count, dtype=bool), ((cross == 0) & same).any(axis=1)]
    places = np.column_stack([joined.groups, joined.coordinates])
    _, first, place = np.unique(places, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[place.ravel()] < count)


def _known_distances(fit: Fit, positions: Any, count: int, rows: Index, *, append: bool) -> Array:
    """Return the distances of some of ``count`` new rows to the observations of the fit, and with ``append`` to each other."""
    table = read_distances(positions, (count, fit.n_rows + count * append))
    before = np.arange(fit.n_rows) if fit.missing is None else fit.missing.kept
    columns = np.concatenate([before, fit.n_rows + rows]) if append else before
    return table[np.ix_(rows, columns)]
