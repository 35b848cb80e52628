"""Checked observations in canonical order."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mcgta.observations.features import (
    ALLOW,
    IMPUTE,
    column_names,
    explain_failure,
    feature_table,
    missing_to_nan,
    name_column,
    name_columns,
    refuse_missing_features,
    refuse_unreadable,
    warn_of_identifiers,
    warn_of_other_columns,
)
from mcgta.observations.reduction import Reduction
from mcgta.positions.metrics import Metric, get_metric
from mcgta.positions.positions import Positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.containers import is_from
from mcgta.runtime.types import Array, Index
from mcgta.runtime.warnings import warn
from mcgta.stages.covariance import CovarianceEstimator
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.registry import get_dissimilarity
from mcgta.stages.lags import check_lags, stack_lags

DEFAULT_NEIGHBORS = 30
MAX_FEATURE = 1e30
MIN_FEATURE_SPREAD = 1e-30
_TIME_INDEXES = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "period")
"""Kinds of a pandas index that are times."""


@dataclass(frozen=True, eq=False)
class Observations:
    """N observations, sorted by group, position and features.

    Attributes
    ----------
    X : (N, d (lags + 1)) features, or k (lags + 1) components of them, lags stacked
    positions : where they are
    order : (N,) the unsorted row of each
    n_neighbors : size of the neighbourhoods
    raw : (N, d) features as the user gave them, unsorted, without lags
    seed : of everything that is random
    spreads : (d,) what features are divided by in X; None where they are left as they are
    reduction : the components that X holds in place of d features; None where it holds these
    rows : (N,) numbers of the unsorted rows, ascending; None for 0, 1, ..., where no row of the user was left out
    """

    X: Array
    positions: Positions
    order: Index
    n_neighbors: int
    raw: Array
    seed: int
    spreads: Array | None = None
    rows: Index | None = None
    reduction: Reduction | None = None

    @cached_property
    def back(self) -> Index:
        """(N,) where each of the unsorted rows is in the sorted order."""
        return np.argsort(self.order)

    @property
    def user_rows(self) -> Index:
        """(N,) in sorted order: the number of each in what the user gave, rows that were left out being counted."""
        return self.order if self.rows is None else self.rows[self.order]

    @property
    def model_spreads(self) -> Array | None:
        """(d,) what models of X are multiplied by for the user's units; None where they have these, or are of components."""
        return None if self.reduction is not None else self.spreads

    def scaled(self, X: Array) -> Array:
        """Return features (M, d) in the units of these observations, or their components where these were reduced."""
        return _scale(X, self.spreads, self.reduction)

    def with_neighbors(self, n_neighbors: int) -> Observations:
        """Return the same with neighbourhoods of another size."""
        return replace(self, n_neighbors=n_neighbors)

    def with_lags(self, lags: int) -> Observations:
        """Return the same with lags stacked, of which there are none yet."""
        check_lags(lags, self.positions)
        return replace(self, X=stack_lags(self.X, self.positions, lags))


def read_features(reader: BaseEstimator | str, X: Any, *, missing: str | None = None, **options: Any) -> Array:
    """Check features as scikit-learn does, and name the columns of X that are at fault.

    Parameters
    ----------
    reader : an estimator, which takes note of the columns, or the name of a function
    X : features in any container
    missing : "drop" or "impute" leave NaN in the place of missing features; "error" refuses them, as does None, which says that
        the reader has no such setting
    options : of scikit-learn's ``check_array``, or ``validate_data``
    """
    cure = IMPUTE if missing is None else ALLOW
    gaps = missing in ("drop", "impute")
    known = getattr(reader, "feature_names_in_", None) if options.get("reset") is False else None
    X = feature_table(X, known)
    names = column_names(X)
    if gaps:
        X = missing_to_nan(X)
    refuse_unreadable(X, cure)
    options = {"dtype": np.float64, "ensure_all_finite": False, **options}
    try:
        if isinstance(reader, str):
            features = np.asarray(check_array(X, estimator=reader, input_name="X", **options))
        else:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                features = validate_data(reader, X, **options)
            for said in caught:  # at the caller's line, not at scikit-learn's
                warn(str(said.message), said.category)
    except (ValueError, TypeError) as error:
        explain_failure(X, cure)
        if isinstance(error, TypeError) or "X" in str(error).replace(":", " ").split():
            raise
        raise ValueError(f"X: {error}") from error
    refuse_missing_features(features, names, cure, gaps=gaps)
    return features


def align_positions(
    X: Any, positions: Any, groups: Any = None, *, metric: str | Metric | Callable[..., Any] = "auto"
) -> Any:
    """Return the positions to read: those given, the geometry of a GeoDataFrame, or the times that are the index of a frame.

    The rows of X, positions and groups belong together in the order in which they stand. So pandas objects with the same
    labels in another order are refused, as are those with different labels, unless one of them has the default index.
    """
    positions = _geometry_of(X, metric) if positions is None else positions
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


def report_other_columns(X: Any, metric: str | Metric | Callable[..., Any]) -> None:
    """Warn of columns of X that are neither features nor positions."""
    warn_of_other_columns(X, timed=get_metric(metric).takes_time_column)


def _geometry_of(X: Any, metric: str | Metric | Callable[..., Any]) -> Any:
    """Return the geometry of a GeoDataFrame, with its column of dates where the metric takes time; None for anything else."""
    wanted = get_metric(metric)
    if not is_from(X, "geopandas", "GeoDataFrame") or not wanted.has_coordinates or wanted.is_chain:
        return None
    if X.active_geometry_name is None:
        raise ValueError(
            "X is a GeoDataFrame without a column of geometries in use; name that of the points by X.set_geometry(...), or "
            "pass positions="
        )
    kinds = sorted(set(X.geometry.geom_type.dropna()) - {"Point"})
    if kinds:
        raise ValueError(
            f"X is a GeoDataFrame with geometries of type {', '.join(kinds)}, and positions are points; take a point of each "
            "by X.set_geometry(X.representative_point())"
        )
    if X.geometry.crs is None and not wanted.is_complete:
        raise ValueError(
            "X is a GeoDataFrame without a CRS, so it is not known how far apart its points are; name it by "
            "X.set_crs(...), such as X.set_crs(4326) for degrees, or set metric='euclidean' for a plane"
        )
    return X if wanted.takes_time_column else X.geometry


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


def sort_observations(
    X: Array,
    positions: Positions,
    *,
    n_neighbors: int | str,
    lags: int,
    seed: int,
    spreads: Array | None = None,
    rows: Index | None = None,
    reduction: Reduction | None = None,
) -> Observations:
    """Bring the rows into canonical order, divide features by ``spreads``, and choose the number of neighbours.

    ``rows`` (N,) are their numbers, where some of the user's were left out. ``reduction`` has the components to take.
    """
    order = positions.order(X)
    places = positions.take(order)
    n_neighbors = _choose_neighbors(n_neighbors, places)
    check_lags(lags, places)
    stacked = stack_lags(_scale(X, spreads, reduction)[order], places, lags)
    return Observations(stacked, places, order, n_neighbors, X, seed, spreads, rows, reduction)


def _scale(X: Array, spreads: Array | None, reduction: Reduction | None) -> Array:
    """Return features (N, d) divided by their spreads, or the components of these."""
    scaled = X if spreads is None else X / spreads
    return scaled if reduction is None else reduction.apply(scaled)


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


def check_columns(X: Array, names: Sequence[Any] | None, dissimilarity: str | Kind) -> None:
    """Check the columns of features, in the user's order of rows.

    Numbers that cannot be squared are refused. Columns that are constant over all observations are refused or reported, and
    those that look like identifiers or clocks are reported.
    """
    check_squares(X, names)
    warn_of_identifiers(X, names)
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if constant.size == 0:
        return
    said = name_columns(constant.tolist(), names)
    kind = get_dissimilarity(dissimilarity)
    if kind.needs_definite:
        raise ValueError(
            f"X: {said} is constant, and dissimilarity={kind.name!r} needs covariances of full rank; drop it, or "
            "use dissimilarity='wasserstein2'"
        )
    if kind.shift_invariant:
        warn(f"X: {said} is constant: it has no effect on the clusters")


def check_neighbors(n_neighbors: int, d: int, estimator: CovarianceEstimator, prior: Any, kind: Kind) -> None:
    """Refuse neighbourhoods that are too small for the estimator of their covariance."""
    if not kind.fits_models or kind.mixes:
        return
    least = estimator.least_neighbors + (d if estimator.plus_features else 0)
    if n_neighbors < least:
        raise ValueError(
            f"n_neighbors={n_neighbors} with {d} features: covariance={estimator.name!r} needs n_neighbors >= {least}; use "
            "more neighbours, or covariance='graphical_lasso'"
        )
    if estimator.singular and prior is None and kind.needs_definite and n_neighbors <= d:
        raise ValueError(
            f"n_neighbors={n_neighbors} with {d} features gives singular covariances, which dissimilarity={kind.name!r} "
            f"cannot compare; use n_neighbors > {d}, a regularised covariance, or dissimilarity='wasserstein2'"
        )
