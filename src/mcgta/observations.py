"""Checked observations in canonical order, and new ones joined to those of a fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mcgta.features import (
    MAX_NAMED,
    column_names,
    explain_failure,
    name_column,
    refuse_missing_features,
    refuse_unreadable,
    warn_of_identifiers,
)
from mcgta.positions.distances import read_distances
from mcgta.positions.metrics import Metric, get_metric
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.types import Array, Index, Mask
from mcgta.runtime.warnings import warn
from mcgta.stages.dissimilarity.dissimilarity import FEATURE_BASED, NEEDS_DEFINITE
from mcgta.stages.lags import stack_lags
from mcgta.updating.surroundings import Surroundings

DEFAULT_NEIGHBORS = 30
MAX_FEATURE = 1e30
MIN_FEATURE_SPREAD = 1e-30
_TIME_INDEXES = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "period")
"""Kinds of a pandas index that are times."""
_KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "S": "bytes", "M": "dates"}


@dataclass(frozen=True, eq=False)
class Observations:
    """N observations, sorted by group, position and features.

    Attributes
    ----------
    X : (N, d (lags + 1)) features, lags stacked
    positions : where they are
    order : (N,) the user's row of each
    n_neighbors : size of the neighbourhoods
    raw : (N, d) features as the user gave them, unsorted, without lags
    seed : of everything that is random
    """

    X: Array
    positions: Positions
    order: Index
    n_neighbors: int
    raw: Array
    seed: int

    @property
    def back(self) -> Index:
        """(N,) where each of the user's rows is in the sorted order."""
        return np.argsort(self.order)

    def with_neighbors(self, n_neighbors: int) -> Observations:
        """Return the same with neighbourhoods of another size."""
        return replace(self, n_neighbors=n_neighbors)


def read_features(reader: BaseEstimator | str, X: Any, **options: Any) -> Array:
    """Check features as scikit-learn does, and name the columns of X that are at fault.

    They are read by an estimator, which takes note of the columns, or by a function of this name.
    """
    refuse_unreadable(X)
    options = {"dtype": np.float64, "ensure_all_finite": False, **options}
    try:
        if isinstance(reader, str):
            features = np.asarray(check_array(X, estimator=reader, input_name="X", **options))
        else:
            features = validate_data(reader, X, **options)
    except (ValueError, TypeError) as error:
        explain_failure(X)
        if isinstance(error, TypeError) or "X" in str(error).replace(":", " ").split():
            raise
        raise ValueError(f"X: {error}") from error
    refuse_missing_features(features, column_names(X))
    return features


def align_positions(
    X: Any, positions: Any, groups: Any = None, *, metric: str | Metric | Callable[..., Any] = "auto"
) -> Any:
    """Return the positions to read: those given, or the times that are the index of a pandas frame of features.

    The rows of X, positions and groups belong together in the order in which they stand. So pandas objects with the same
    labels in another order are refused, as are those with different labels, unless one of them has the default index.
    """
    index = _index_of(X)
    if index is None:
        return positions
    for name, other in (("positions", positions), ("groups", groups)):
        _refuse_other_index(index, name, other)
    if positions is not None or not get_metric(metric).takes_row_order:
        return positions
    if index.nlevels > 1:
        times = [k for k in range(index.nlevels) if index.get_level_values(k).inferred_type in _TIME_INDEXES]
        if times:
            raise ValueError(
                f"X has an index of {index.nlevels} levels, of which level {times[0]} holds times; pass "
                f"positions=X.index.get_level_values({times[0]}), and groups= where the other levels are series"
            )
    if index.inferred_type not in _TIME_INDEXES:
        return None
    return index.to_timestamp() if index.inferred_type == "period" else index


def _index_of(table: Any) -> Any:
    """Return the index of a pandas or GeoPandas object; None for anything else."""
    return table.index if hasattr(table, "iloc") and hasattr(table, "index") else None


def _refuse_other_index(index: Any, name: str, other: Any) -> None:
    """Refuse positions or groups whose labels are not those of X."""
    labels = _index_of(other)
    if labels is None or len(labels) != len(index) or index.equals(labels):
        return
    order = f"{name}.loc[X.index]; where the rows do belong together as they stand, pass {name}.to_numpy()"
    ours = index.tolist()
    theirs = labels.tolist()
    if Counter(ours) == Counter(theirs):
        raise ValueError(f"{name} has the index labels of X in another order; reindex it by {order}")
    if _is_default(index) or _is_default(labels):
        return
    row = next(row for row in range(len(ours)) if ours[row] != theirs[row])
    raise ValueError(
        f"{name} has other index labels than X, such as {theirs[row]!r} for {ours[row]!r} in row {row}; select the same rows "
        f"of both, by {order}"
    )


def _is_default(index: Any) -> bool:
    """Whether these are the numbers that pandas gives to rows without labels."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def sort_observations(X: Array, positions: Positions, *, n_neighbors: int | str, lags: int, seed: int) -> Observations:
    """Bring the rows into canonical order and settle the number of neighbours."""
    order = positions.order(X)
    places = positions.take(order)
    n_neighbors = _choose_neighbors(n_neighbors, places)
    return Observations(stack_lags(X[order], places, lags), places, order, n_neighbors, X, seed)


def _choose_neighbors(n_neighbors: int | str, places: Positions) -> int:
    sizes = np.bincount(places.groups)
    sizes = sizes[sizes > 0]
    if n_neighbors == "auto":
        # The size of the group of the median observation, so that a few tiny groups do not decide for all.
        typical = int(np.median(np.repeat(sizes, sizes)))
        return max(2, min(DEFAULT_NEIGHBORS, typical // 3))
    if int(n_neighbors) > sizes.max():
        inside = f" in the largest of {sizes.size} groups" if sizes.size > 1 else ""
        raise ValueError(
            f"n_neighbors={n_neighbors} but there are only {sizes.max()} observations{inside} (n_samples = {len(places)}); "
            "n_neighbors must not be larger"
        )
    return int(n_neighbors)


def check_squares(X: Array, names: Sequence[Any] | None = None) -> None:
    """Refuse numbers that are too large to square, and columns that vary too little to square their differences."""
    largest = np.abs(X).max(axis=0)
    huge = int(largest.argmax())
    if largest[huge] > MAX_FEATURE:
        raise ValueError(
            f"X holds {largest[huge]:g}, which is too large to square, in {name_column(huge, names)}; rescale the features to "
            f"at most {MAX_FEATURE:g}"
        )
    spread = np.ptp(X, axis=0)
    tiny = np.flatnonzero((spread > 0) & (spread < MIN_FEATURE_SPREAD))
    if tiny.size:
        raise ValueError(
            f"X varies by only {spread[tiny[0]]:g} in {name_column(int(tiny[0]), names)}, too little to square; rescale the "
            f"features to vary by at least {MIN_FEATURE_SPREAD:g}"
        )


def check_columns(X: Array, names: Sequence[Any] | None, dissimilarity: str) -> None:
    """Check the columns of features, in the user's order of rows.

    Numbers that cannot be squared are refused. Columns that are constant over all observations are refused or reported, and
    those that look like identifiers or clocks are reported.
    """
    check_squares(X, names)
    warn_of_identifiers(X, names)
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if constant.size == 0:
        return
    said = ", ".join(str(k) if names is None else repr(names[k]) for k in constant[:MAX_NAMED])
    said += f" and {constant.size - MAX_NAMED} more" if constant.size > MAX_NAMED else ""
    if dissimilarity in NEEDS_DEFINITE:
        raise ValueError(
            f"X: column {said} is constant, and dissimilarity={dissimilarity!r} needs covariances of full rank; drop it, or "
            "use dissimilarity='wasserstein2'"
        )
    if dissimilarity != "cosine":
        warn(f"X: column {said} is constant: it has no effect on the clusters", UserWarning)


def check_neighbors(
    n_neighbors: int, d: int, *, covariance: str, alpha: float, prior: str | None, dissimilarity: str
) -> None:
    """Refuse neighbourhoods that are too small for the estimator of their covariance."""
    if dissimilarity in FEATURE_BASED:
        return
    if covariance == "min_cov_det" and n_neighbors <= d + 1:
        raise ValueError(
            f"n_neighbors={n_neighbors} with {d} features: covariance='min_cov_det' needs n_neighbors > {d + 1}; use more "
            "neighbours, or covariance='graphical_lasso'"
        )
    singular = covariance == "empirical" or (covariance == "graphical_lasso" and alpha == 0)
    if singular and prior is None and dissimilarity in NEEDS_DEFINITE and n_neighbors <= d:
        raise ValueError(
            f"n_neighbors={n_neighbors} with {d} features gives singular covariances, which dissimilarity={dissimilarity!r} "
            f"cannot compare; use n_neighbors > {d}, a regularised covariance, or dissimilarity='wasserstein2'"
        )


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


def read_new(places: Positions, X_new: Array, positions: Any, groups: Any) -> New:
    """Check new observations against the positions of a fit; see :meth:`mcgta.MCGTA.predict` for the rules."""
    count, cross = X_new.shape[0], None
    need_groups(places, groups)
    if not places.metric.has_coordinates:
        if positions is None:
            raise ValueError("positions is needed: the distances of the new observations to those of the fit")
        cross = read_distances(positions, (count, len(places)))
        unknown = np.where(np.eye(count, dtype=bool), 0.0, np.inf)
        new = read_positions(unknown, count, groups=groups, like=places)
    else:
        if positions is None and places.unit != "step":
            raise ValueError("positions is needed: the fit had positions")
        new = read_positions(positions, count, groups=groups, like=places)
    check_group_names(places, new)
    apart = positions is None
    seen = np.searchsorted(places.group_names, new.group_names).clip(max=places.group_names.size - 1)
    codes = np.where(apart | (places.group_names[seen] != new.group_names), -1, seen)
    return New(X_new, new, codes[new.groups], apart, cross)


def join_new(data: Observations, new: New, surroundings: Surroundings | None = None) -> Joined:
    """Join new observations to those of a fit, or to those of them that stand around the new ones."""
    known = _repeated(data, new)
    fresh = np.flatnonzero(known < 0)
    fresh = fresh[new.positions.take(fresh).order(new.X[fresh])]
    places = new.positions.take(fresh)
    if surroundings is None:
        around, fitted = np.arange(data.order.size), data.positions
    else:
        around = surroundings.around(places, new.groups[fresh])
        fitted = data.positions.take(around)
    rows = data.order[around]
    cross = None if new.cross is None else new.cross[np.ix_(fresh, rows)]
    joined = fitted.join(places, apart=new.apart, cross=cross)
    return Joined(np.concatenate([data.raw[rows], new.X[fresh]]), joined, known, fresh, around)


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
    low, high = np.zeros(known.size, dtype=np.intp), np.full(known.size, data.order.size)
    while (low < high).any():
        middle = (low + high) // 2
        before, _ = _compare(data, np.minimum(middle, data.order.size - 1), wanted)
        before &= low < high
        low, high = np.where(before, middle + 1, low), np.where(before, high, np.minimum(middle, high))
    row = np.minimum(low, data.order.size - 1)
    _, same = _compare(data, row, wanted)
    known[same] = data.order[row[same]]
    return known


def _compare(data: Observations, rows: Index, wanted: tuple[Array | Index, ...]) -> tuple[Mask, Mask]:
    """Tell of some rows of a fit whether they come before what is wanted, and whether they are the same."""
    places = data.positions
    before, same = np.zeros(rows.size, dtype=bool), np.ones(rows.size, dtype=bool)
    parts = (places.groups[rows, None], places.coordinates[rows], data.raw[data.order[rows]])
    for part, other in zip(parts, wanted, strict=True):
        for column, aim in zip(part.T, other.T, strict=True):
            before |= same & (column < aim)
            same &= column == aim
    return before, same
