"""Checked observations in canonical order, and new ones joined to those of a fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index
from mcgta.runtime.warnings import warn
from mcgta.stages.covariance import get_covariance
from mcgta.stages.dissimilarity.registry import get_dissimilarity
from mcgta.stages.lags import check_lags, stack_lags

DEFAULT_NEIGHBORS = 30
_LARGEST = 1e30
_SMALLEST = 1e-30


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
    """Check features as scikit-learn does, and name X in what it says.

    They are read by an estimator, which takes note of the columns, or by a function of this name.
    """
    try:
        if isinstance(reader, str):
            return np.asarray(check_array(X, dtype=np.float64, estimator=reader, input_name="X", **options))
        return validate_data(reader, X, dtype=np.float64, **options)
    except ValueError as error:
        if "X" in str(error).replace(":", " ").split():
            raise
        raise ValueError(f"X: {error}") from error


def sort_observations(X: Array, positions: Positions, *, n_neighbors: int | str, lags: int, seed: int) -> Observations:
    """Bring the rows into canonical order and settle the number of neighbours."""
    order = positions.order(X)
    places = positions.take(order)
    n_neighbors = _choose_neighbors(n_neighbors, places)
    check_lags(lags, places)
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


def check_squares(X: Array) -> None:
    """Refuse numbers that are too large to square, and columns that vary too little to square their differences."""
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


def check_columns(X: Array, names: Any, dissimilarity: str) -> None:
    """Refuse numbers that cannot be squared, and refuse or report columns that are constant over all observations."""
    check_squares(X)
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if constant.size == 0:
        return
    said = ", ".join(str(k) if names is None else repr(names[k]) for k in constant[:5])
    said += f" and {constant.size - 5} more" if constant.size > 5 else ""
    kind = get_dissimilarity(dissimilarity)
    if kind.needs_definite:
        raise ValueError(
            f"X: column {said} is constant, and dissimilarity={dissimilarity!r} needs covariances of full rank; drop it, or "
            "use dissimilarity='wasserstein2'"
        )
    if kind.shift_invariant:
        warn(f"X: column {said} is constant: it has no effect on the clusters", UserWarning)


def check_neighbors(
    n_neighbors: int, d: int, *, covariance: str, alpha: float, prior: str | None, dissimilarity: str
) -> None:
    """Refuse neighbourhoods that are too small for the estimator of their covariance."""
    kind = get_dissimilarity(dissimilarity)
    if not kind.fits_models:
        return
    estimator = get_covariance(covariance, alpha)
    least = estimator.least_neighbors(d)
    if n_neighbors < least:
        raise ValueError(
            f"n_neighbors={n_neighbors} with {d} features: covariance={covariance!r} needs n_neighbors > {least - 1}; use more "
            "neighbours, or covariance='graphical_lasso'"
        )
    if estimator.singular and prior is None and kind.needs_definite and n_neighbors <= d:
        raise ValueError(
            f"n_neighbors={n_neighbors} with {d} features gives singular covariances, which dissimilarity={dissimilarity!r} "
            f"cannot compare; use n_neighbors > {d}, a regularised covariance, or dissimilarity='wasserstein2'"
        )
