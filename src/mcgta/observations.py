"""Checked observations in canonical order, and new ones joined to those of a fit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.position_input import read_positions
from mcgta.positions import Positions
from mcgta.stages.dissimilarity import FEATURE_BASED, NEEDS_DEFINITE
from mcgta.stages.lags import stack_lags
from mcgta.types import Array, Index

DEFAULT_NEIGHBORS = 30


@dataclass(frozen=True, eq=False)
class Observations:
    """N observations, sorted by group, position and features.

    Attributes
    ----------
    X : (N, d (lags + 1)) features, lags stacked
    positions : where they are
    order : (N,) the user's row of each
    n_neighbors : size of the neighbourhoods
    """

    X: Array
    positions: Positions
    order: Index
    n_neighbors: int

    @property
    def back(self) -> Index:
        """(N,) where each of the user's rows is in the sorted order."""
        return np.argsort(self.order)


def sort_observations(X: Array, positions: Positions, *, n_neighbors: int | str, lags: int) -> Observations:
    """Bring the rows into canonical order and settle the number of neighbours."""
    order = positions.order(X)
    places = positions.take(order)
    return Observations(stack_lags(X[order], places, lags), places, order, _choose_neighbors(n_neighbors, places))


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


def check_columns(X: Array, names: Any, dissimilarity: str) -> None:
    """Refuse or report columns that are constant over all observations."""
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if constant.size == 0:
        return
    said = ", ".join(str(k) if names is None else repr(names[k]) for k in constant[:5])
    said += f" and {constant.size - 5} more" if constant.size > 5 else ""
    if dissimilarity in NEEDS_DEFINITE:
        raise ValueError(
            f"X: column {said} is constant, and dissimilarity={dissimilarity!r} needs covariances of full rank; drop it, or "
            "use dissimilarity='wasserstein2'"
        )
    warnings.warn(f"X: column {said} is constant: it has no effect on the clusters", UserWarning, stacklevel=3)


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
class Joined:
    """Observations of a fit, in canonical order, followed by the new ones among those given later.

    Attributes
    ----------
    X : (N + F, d) features
    positions : of both
    known : (M,) for each row given, the row of the fit that it repeats, -1 for a new one
    fresh : (F,) the rows given that are new, in the order in which they stand here
    """

    X: Array
    positions: Positions
    known: Index
    fresh: Index


def join_new(X: Array, places: Positions, X_new: Array, positions: Any, groups: Any) -> Joined:
    """Join new observations to those of a fit; see :meth:`mcgta.MCGTA.predict` for the rules."""
    count, cross = X_new.shape[0], None
    if groups is None and len(places.group_names) > 1:
        raise ValueError(
            f"groups is needed: the fit had {len(places.group_names)} groups, such as {places.group_names[0]!r}"
        )
    if places.metric == "precomputed":
        cross = _read_cross(positions, count, len(places))
        unknown = np.where(np.eye(count, dtype=bool), 0.0, np.inf)
        new = read_positions(unknown, count, groups=groups, metric="precomputed")
    else:
        if positions is None and places.unit != "step":
            raise ValueError("positions is needed: the fit had positions")
        new = read_positions(positions, count, groups=groups, like=places)
    apart = positions is None
    known = np.full(count, -1, dtype=np.intp) if apart else _repeated(X, places, X_new, new, cross)
    order = places.order(X)
    fresh = np.flatnonzero(known < 0)
    fresh = fresh[new.take(fresh).order(X_new[fresh])]
    joined = places.take(order).join(
        new.take(fresh), apart=apart, cross=None if cross is None else cross[np.ix_(fresh, order)]
    )
    return Joined(np.concatenate([X[order], X_new[fresh]]), joined, known, fresh)


def _repeated(X: Array, places: Positions, X_new: Array, new: Positions, cross: Array | None) -> Index:
    """For each new row, the first row of the fit with the same features, position and group; -1 for none."""
    names, seen = places.group_names.tolist(), new.group_names.tolist()
    rows: dict[Any, list[int]] = {}
    for k in range(len(places)):
        rows.setdefault((X[k].tobytes(), places.coordinates[k].tobytes(), names[places.groups[k]]), []).append(k)
    known = np.full(X_new.shape[0], -1, dtype=np.intp)
    for k in range(X_new.shape[0]):
        same = rows.get((X_new[k].tobytes(), new.coordinates[k].tobytes(), seen[new.groups[k]]), [])
        if cross is not None:
            same = [row for row in same if cross[k, row] == 0]
        known[k] = same[0] if same else -1
    return known


def _read_cross(positions: Any, count: int, fitted: int) -> Array:
    if positions is None:
        raise ValueError("positions is needed: the distances of the new observations to those of the fit")
    cross = np.array(positions, dtype=np.float64)
    if cross.shape != (count, fitted):
        raise ValueError(
            f"positions must hold the distances to the observations of the fit, shape ({count}, {fitted}), got {cross.shape}"
        )
    if not (cross >= 0).all():
        raise ValueError("positions: the table of distances holds NaN or negative values")
    return cross
