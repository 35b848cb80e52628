"""Checked observations in canonical order, and new ones joined to those of a fit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.position_input import read_distances, read_positions
from mcgta.positions import Positions
from mcgta.stages.dissimilarity import FEATURE_BASED, NEEDS_DEFINITE
from mcgta.stages.lags import stack_lags
from mcgta.types import Array, Index

DEFAULT_NEIGHBORS = 30
_LARGEST = 1e30
_SMALLEST = 1e-30
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


def check_columns(X: Array, names: Any, dissimilarity: str) -> None:
    """Refuse numbers too large to square, and refuse or report columns that are constant over all observations."""
    largest = np.abs(X).max()
    if largest > _LARGEST:
        raise ValueError(
            f"X holds {largest:g}, which is too large to square; rescale the features to at most {_LARGEST:g}"
        )
    spread = np.ptp(X, axis=0)
    tiny = np.flatnonzero((spread > 0) & (spread < _SMALLEST))
    if tiny.size:
        raise ValueError(
            f"X varies by only {spread[tiny[0]]:g} in column {tiny[0]}, too little to square; rescale the features to vary by "
            f"at least {_SMALLEST:g}"
        )
    constant = np.flatnonzero(spread == 0)
    if constant.size == 0:
        return
    said = ", ".join(str(k) if names is None else repr(names[k]) for k in constant[:5])
    said += f" and {constant.size - 5} more" if constant.size > 5 else ""
    if dissimilarity in NEEDS_DEFINITE:
        raise ValueError(
            f"X: column {said} is constant, and dissimilarity={dissimilarity!r} needs covariances of full rank; drop it, or "
            "use dissimilarity='wasserstein2'"
        )
    if dissimilarity != "cosine":
        warnings.warn(f"X: column {said} is constant: it has no effect on the clusters", UserWarning, stacklevel=4)


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
    need_groups(places, groups)
    if places.metric == "precomputed":
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
    known = np.full(count, -1, dtype=np.intp) if apart else _repeated(X, places, X_new, new, cross)
    order = places.order(X)
    fresh = np.flatnonzero(known < 0)
    fresh = fresh[new.take(fresh).order(X_new[fresh])]
    joined = places.take(order).join(
        new.take(fresh), apart=apart, cross=None if cross is None else cross[np.ix_(fresh, order)]
    )
    return Joined(np.concatenate([X[order], X_new[fresh]]), joined, known, fresh)


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


def _repeated(X: Array, places: Positions, X_new: Array, new: Positions, cross: Array | None) -> Index:
    """For each new row, the first row of the fit with the same features, position and group; -1 for none."""
    names, seen = places.group_names.tolist(), new.group_names.tolist()
    rows: dict[Any, list[int]] = {}
    for k in range(len(places)):
        rows.setdefault((_bytes(X[k]), _bytes(places.coordinates[k]), names[places.groups[k]]), []).append(k)
    known = np.full(X_new.shape[0], -1, dtype=np.intp)
    for k in range(X_new.shape[0]):
        same = rows.get((_bytes(X_new[k]), _bytes(new.coordinates[k]), seen[new.groups[k]]), [])
        if cross is not None:
            same = [row for row in same if cross[k, row] == 0]
        known[k] = same[0] if same else -1
    return known


def _bytes(values: Array) -> bytes:
    return (values + 0.0).tobytes()  # minus zero is zero
