"""New observations, read against a fit and joined to those of its observations that they have to do with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mcgta.observations.observations import Observations
from mcgta.positions.distances import read_distances
from mcgta.positions.positions import Positions
from mcgta.positions.reading import is_row_order, read_positions
from mcgta.runtime.types import Array, Index, Mask
from mcgta.stages.lags import stack_lags

_KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "S": "bytes", "M": "dates"}


class Context(Protocol):
    """Observations of a fit, to be looked up by position."""

    def around(self, new: Positions, groups: Index) -> Index:
        """Return the rows, ascending, that new observations have to do with; ``groups`` are codes of the fit, -1 unknown."""


@dataclass(frozen=True, eq=False)
class New:
    """Checked observations that are to be placed in the clusters of a fit.

    Attributes
    ----------
    X : (M, d) features
    positions : where they are, with groups of their own
    groups : (M,) those by the codes of the fit, -1 for one that it has not seen
    apart : whether they are a set of their own, whatever their groups are called
    cross : (M, N) distances to the observations of the fit, in the user's order; for ``precomputed`` ones only
    """

    X: Array
    positions: Positions
    groups: Index
    apart: bool
    cross: Array | None


@dataclass(frozen=True, eq=False)
class Joined:
    """Observations of a fit, in canonical order, followed by the new ones among those given later.

    Attributes
    ----------
    X : (R + F, d) features
    positions : of both
    known : (M,) for each row given, the row of the fit that it repeats, -1 for a new one
    fresh : (F,) the rows given that are new, in the order in which they stand here
    around : (R,) which observations of the fit these are, in canonical order
    """

    X: Array
    positions: Positions
    known: Index
    fresh: Index
    around: Index

    def stacked(self, data: Observations, lags: int) -> Array:
        """Return the features in the units of the fit, with lags; its observations know nothing of new ones before them."""
        X = stack_lags(data.scaled(self.X), self.positions, lags)
        X[: self.around.size] = data.X[self.around]
        return X


def read_new(places: Positions, X_new: Array, positions: Any, groups: Any) -> New:
    """Check new observations against the positions of a fit; see :meth:`mcgta.MCGTA.predict` for the rules."""
    count = X_new.shape[0]
    cross = None
    need_groups(places, groups)
    if not places.metric.has_coordinates:
        if positions is None:
            raise ValueError("positions is needed: the distances of the new observations to those of the fit")
        cross = read_distances(positions, (count, len(places)))
        unknown = np.where(np.eye(count, dtype=bool), 0.0, np.inf)
        new = read_positions(unknown, count, groups=groups, like=places)
    else:
        need_positions(places, positions)
        new = read_positions(positions, count, groups=groups, like=places)
    check_group_names(places, new)
    apart = is_row_order(positions)
    seen = np.searchsorted(places.group_names, new.group_names).clip(max=places.group_names.size - 1)
    codes = np.where(apart | (places.group_names[seen] != new.group_names), -1, seen)
    return New(X_new, new, codes[new.groups], apart, cross)


def join_new(data: Observations, new: New, surroundings: Context | None = None) -> Joined:
    """Join new observations to those of a fit, or to those of them that stand around the new ones."""
    known = _repeated(data, new)
    fresh = np.flatnonzero(known < 0)
    fresh = fresh[new.positions.take(fresh).order(new.X[fresh])]
    places = new.positions.take(fresh)
    if surroundings is None:
        around = np.arange(data.order.size)
        fitted = data.positions
    else:
        around = surroundings.around(places, new.groups[fresh])
        fitted = data.positions.take(around)
    rows = data.order[around]
    cross = None if new.cross is None else new.cross[np.ix_(fresh, rows)]
    joined = fitted.join(places, apart=new.apart, cross=cross)
    return Joined(np.concatenate([data.raw[rows], new.X[fresh]]), joined, known, fresh, around)


def need_positions(places: Positions, positions: Any) -> None:
    """Refuse new observations without positions where the fit had some."""
    if positions is None and places.unit != "step":
        raise ValueError("positions is needed: the fit had positions")


def go_on(ended: Positions, new: Positions) -> Positions:
    """Let steps of new rows continue where each group of those before has ended."""
    ends = np.full(len(ended.group_names), -1.0)
    np.maximum.at(ends, ended.groups, np.floor(ended.coordinates[:, 0]))
    after = dict(zip(ended.group_names.tolist(), (ends + 1).tolist(), strict=True))
    first = np.array([after.get(name, 0.0) for name in new.group_names.tolist()])
    return replace(new, coordinates=new.coordinates + first[new.groups, None])


def need_groups(places: Positions, groups: Any) -> None:
    """Refuse new observations without groups where the fit had several."""
    if groups is None and len(places.group_names) > 1:
        raise ValueError(
            f"groups is needed: the fit had {len(places.group_names)} groups, such as {places.group_names[0]!r}"
        )


def check_group_names(places: Positions, new: Positions) -> None:
    """Refuse names of another kind than those of the fit."""
    kinds = [_KINDS.get(names.dtype.kind) for names in (places.group_names, new.group_names)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"groups holds {kinds[1]}, such as {new.group_names[0]!r}, but those of the fit were {kinds[0]}"
        )


def _repeated(data: Observations, new: New) -> Index:
    """For each new row, the first row of the fit with the same features, position and group; -1 for none."""
    known = np.full(new.X.shape[0], -1, dtype=np.intp)
    if new.apart:
        return known
    if new.cross is not None:
        k, row = np.nonzero(new.cross == 0)
        groups = data.positions.groups[data.back[row]]
        same = (groups == new.groups[k]) & np.all(data.raw[row] == new.X[k], axis=1)
        k, first = np.unique(k[same], return_index=True)
        known[k] = row[same][first]
        return known
    # By halves: rows are in order of group, position and features.
    wanted = (new.groups[:, None], new.positions.coordinates, new.X)
    low = np.zeros(known.size, dtype=np.intp)
    high = np.full(known.size, data.order.size)
    while (low < high).any():
        middle = (low + high) // 2
        before, _ = _compare(data, np.minimum(middle, data.order.size - 1), wanted)
        before &= low < high
        low = np.where(before, middle + 1, low)
        high = np.where(before, high, np.minimum(middle, high))
    row = np.minimum(low, data.order.size - 1)
    _, same = _compare(data, row, wanted)
    known[same] = data.order[row[same]]
    return known


def _compare(data: Observations, rows: Index, wanted: tuple[Array | Index, ...]) -> tuple[Mask, Mask]:
    """Tell of some rows of a fit whether they come before what is wanted, and whether they are the same."""
    places = data.positions
    before = np.zeros(rows.size, dtype=bool)
    same = np.ones(rows.size, dtype=bool)
    parts = (places.groups[rows, None], places.coordinates[rows], data.raw[data.order[rows]])
    for part, other in zip(parts, wanted, strict=True):
        for column, aim in zip(part.T, other.T, strict=True):
            before |= same & (column < aim)
            same &= column == aim
    return before, same
