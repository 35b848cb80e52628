"""Estimators of a neighbourhood's covariance, as rows of a registry.

Most turn the moments of a neighbourhood into a covariance, many neighbourhoods at a time. Others fit location and covariance on
the features of each neighbourhood, a *window*, by themselves. A covariance estimator of scikit-learn can be given instead of a
name: where it is one of the registry's it is computed by the row, else a clone of it is fitted on each window.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, GraphicalLasso, LedoitWolf, MinCovDet, ShrunkCovariance

from mcgta.kernels.gaussians import covariance as shrinkage
from mcgta.kernels.gaussians.block_toeplitz_lasso import block_toeplitz_lasso
from mcgta.kernels.gaussians.careful_lasso import GAP
from mcgta.kernels.gaussians.graphical_lasso import graphical_lasso
from mcgta.runtime.rules import INF, Rule, suggest
from mcgta.runtime.types import Array

DEFAULT_ALPHA = 0.01
"""Penalty of the graphical lasso, in the squared unit of the features."""

DEFAULT_SHRINKAGE = 0.1

# A graphical lasso has failed above this duality gap, unless alpha is so small against the variances that every point of
# the dual's box is within this error of the solution, on the scale of correlations.
_ACCEPTED_GAP = 1e-6
_ACCEPTED_ERROR = 1e-4
# Nats that a block-Toeplitz lasso may be from its optimum: far fewer than by which samples of one Gaussian differ.
_ACCEPTED_LAGGED_GAP = 1e-4
_MAX_STRUCTURED_FEATURES = 24  # with their lags; a window of more would take tens of milliseconds
_SYMMETRY_TOLERANCE = 1e-8  # of the largest entry of a covariance


class Moments(NamedTuple):
    """Covariances (B, d, d) and sizes (B,) of B neighbourhoods, and quartic sums (B,) where ``needs_quartic_sums``."""

    covariances: Array
    sizes: Array
    quartic_sums: Array | None = None


class Regularized(NamedTuple):
    """Covariances (B, d, d), and row -> reason for those that failed."""

    covariances: Array
    failures: dict[int, str]


class WindowFits(NamedTuple):
    """Means (B, d) and covariances (B, d, d) of windows, and row -> reason for those that failed."""

    means: Array
    covariances: Array
    failures: dict[int, str]


@dataclass(frozen=True, eq=False)
class CovarianceEstimator:
    """An estimator of covariances with its capabilities.

    Attributes
    ----------
    name : what users call it
    regularize : turns moments into covariances, given the parameter; None leaves them as they are
    regularize_lagged : does so for features stacked with lags along time, given the number of blocks, by the structure that
        they have; None where it makes no difference
    fit_windows : fits windows (B, n, d) instead of taking moments, given a seed; None for moments
    parameter : the number that ``regularize`` is given: the penalty or the shrinkage; NaN without one
    uses_alpha : whether the parameter is ``alpha`` of the local models
    needs_quartic_sums : whether ``regularize`` needs how much products of features vary, as Ledoit and Wolf do
    in_processes : whether it is slow Python code, for processes rather than threads
    takes_weights : whether neighbours may weigh differently
    singular : whether n_neighbors <= d gives singular covariances
    least_neighbors : the least n_neighbors
    plus_features : whether it needs one more for each feature
    """

    name: str
    regularize: Callable[[Moments, float], Regularized] | None = None
    regularize_lagged: Callable[[Moments, float, int], Regularized] | None = None
    fit_windows: Callable[[Array, int], WindowFits] | None = None
    parameter: float = np.nan
    uses_alpha: bool = False
    needs_quartic_sums: bool = False
    in_processes: bool = False
    takes_weights: bool = True
    singular: bool = False
    least_neighbors: int = 2
    plus_features: bool = False

    @property
    def by_moments(self) -> bool:
        """Whether it starts from moments, which along time are taken from sums over blocks of rows."""
        return self.fit_windows is None

    @property
    def needs_members(self) -> bool:
        """Whether the features of each neighbourhood have to be gathered even where sums over blocks would do."""
        return self.needs_quartic_sums or not self.by_moments

    def along_time(self, lags: int) -> CovarianceEstimator:
        """Return the estimator for features that are stacked with so many lags along time."""
        structured = self.regularize_lagged
        if lags == 0 or structured is None:
            return self
        return replace(self, regularize=lambda moments, parameter: structured(moments, parameter, lags + 1))

    def with_parameter(self, value: float) -> CovarianceEstimator:
        """Return the same with another penalty or shrinkage; without any, covariances can be singular."""
        return replace(self, parameter=value, singular=self.singular or value == 0)


def get_covariance(value: Any, alpha: float = DEFAULT_ALPHA) -> CovarianceEstimator:
    """Return the estimator that a user's value stands for.

    It is a name of ``COVARIANCES``, a covariance estimator of scikit-learn, or any object with ``fit`` that has
    ``location_`` and ``covariance_`` afterwards and can be cloned. ``alpha`` is the penalty of ``"graphical_lasso"``.
    """
    if isinstance(value, CovarianceEstimator):
        return value
    if isinstance(value, str) and value in COVARIANCES:
        row = COVARIANCES[value]
        return row.with_parameter(alpha) if row.uses_alpha else row
    if hasattr(value, "fit") and hasattr(value, "get_params") and not isinstance(value, type):
        return _row_of(value) or _fitted_on_windows(value)
    raise ValueError(
        f"covariance={value!r} is not one of {', '.join(COVARIANCES)}, or a covariance estimator of scikit-learn"
        f"{suggest(value, tuple(COVARIANCES))}"
    )


def _regularize_by_lasso(moments: Moments, alpha: float) -> Regularized:
    covs = moments.covariances
    fitted, gaps = graphical_lasso(covs, alpha, in_place=True)
    if np.abs(gaps).max(initial=0.0) <= _ACCEPTED_GAP:
        return Regularized(fitted, {})
    unsure = np.flatnonzero(~(np.abs(gaps) <= _ACCEPTED_GAP))
    variance = np.diagonal(covs[unsure], axis1=1, axis2=2)
    narrow = 2 * alpha <= _ACCEPTED_ERROR * np.where(variance > 0, variance, np.inf).min(axis=1, initial=np.inf)
    bad = unsure[~narrow].tolist()
    said = f"the graphical lasso stopped at a duality gap of {{:.1e}}, not {GAP:.0e}; scale the features alike"
    return Regularized(fitted, {k: said.format(gaps[k]) for k in bad})


def _regularize_lags_by_lasso(moments: Moments, alpha: float, blocks: int) -> Regularized:
    """Fit block-Toeplitz precisions; those that are out of reach of it are fitted without the structure.

    These are windows without any noise under a tiny penalty, and stacks of many features.
    """
    covs = moments.covariances
    if alpha == 0 or covs.shape[1] > _MAX_STRUCTURED_FEATURES:
        return _regularize_by_lasso(moments, alpha)
    fitted, gaps = block_toeplitz_lasso(covs, alpha, blocks)
    hard = np.flatnonzero(~(gaps <= _ACCEPTED_LAGGED_GAP))
    if hard.size == 0:
        return Regularized(fitted, {})
    others, failures = _regularize_by_lasso(Moments(covs[hard], moments.sizes[hard]), alpha)
    fitted[hard] = others
    return Regularized(fitted, {int(hard[k]): reason for k, reason in failures.items()})


def _shrink(moments: Moments, share: float) -> Regularized:
    return Regularized(shrinkage.shrunk(moments.covariances, share), {})


def _shrink_by_quartic_sums(moments: Moments, parameter: float) -> Regularized:
    assert moments.quartic_sums is not None
    covs = moments.covariances
    return Regularized(shrinkage.shrunk(covs, shrinkage.ledoit_wolf_shrinkage(covs, moments.quartic_sums)), {})


def _shrink_by_size(moments: Moments, parameter: float) -> Regularized:
    covs = moments.covariances
    return Regularized(shrinkage.shrunk(covs, shrinkage.oas_shrinkage(covs, moments.sizes)), {})


def _fit_robustly(windows: Array, seed: int) -> WindowFits:
    return _fit_each(windows, MinCovDet(random_state=seed), "the minimum covariance determinant")


def _fit_clones(estimator: Any, windows: Array, seed: int) -> WindowFits:
    seeded = clone(estimator)
    if seeded.get_params().get("random_state", seed) is None:
        seeded.set_params(random_state=seed)
    return _fit_each(windows, seeded, type(estimator).__name__)


def _fit_each(windows: Array, estimator: Any, name: str) -> WindowFits:
    """Fit a clone on each window; columns that are constant in it stay at zero variance."""
    count, _, d = windows.shape
    means = windows[:, 0, :].copy()
    covs = np.zeros((count, d, d))
    failures: dict[int, str] = {}
    for k, window in enumerate(windows):
        varies = np.flatnonzero(np.ptp(window, axis=0) > 0)
        if varies.size == 0:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = clone(estimator).fit(window[:, varies])
                location = np.asarray(fitted.location_, dtype=np.float64)
                covariance = np.asarray(fitted.covariance_, dtype=np.float64)
        except MemoryError:
            raise
        except Exception as error:
            failures[k] = f"{name} failed ({error})"
            continue
        trouble = _trouble_with(location, covariance, varies.size)
        if trouble:
            failures[k] = f"{name} gave {trouble}"
            continue
        means[k, varies] = location
        covs[k][np.ix_(varies, varies)] = covariance
    return WindowFits(means, covs, failures)


def _trouble_with(location: Array, covariance: Array, d: int) -> str:
    """Return what is wrong with a fitted Gaussian, nothing where it is one."""
    if location.shape != (d,) or covariance.shape != (d, d):
        return f"a location of shape {location.shape} and a covariance of shape {covariance.shape} for {d} features"
    if not np.isfinite(location).all() or not np.isfinite(covariance).all():
        return "no finite covariance"
    tolerance = _SYMMETRY_TOLERANCE * np.abs(covariance).max()
    if np.abs(covariance - covariance.T).max() > tolerance:
        return "a covariance that is not symmetric"
    if np.linalg.eigvalsh(covariance)[0] < -tolerance:
        return "a covariance that is not positive semi-definite"
    return ""


COVARIANCES: dict[str, CovarianceEstimator] = {
    row.name: row
    for row in (
        CovarianceEstimator(
            "graphical_lasso",
            _regularize_by_lasso,
            regularize_lagged=_regularize_lags_by_lasso,
            parameter=DEFAULT_ALPHA,
            uses_alpha=True,
        ),
        CovarianceEstimator(
            "min_cov_det",
            fit_windows=_fit_robustly,
            in_processes=True,  # it is slow, and it warns: warning filters are not safe among threads
            takes_weights=False,
            plus_features=True,
        ),
        CovarianceEstimator("shrunk", _shrink, parameter=DEFAULT_SHRINKAGE),
        CovarianceEstimator("empirical", singular=True),
        CovarianceEstimator("ledoit_wolf", _shrink_by_quartic_sums, needs_quartic_sums=True),
        CovarianceEstimator("oas", _shrink_by_size),
    )
}
"""The estimators by name; ``empirical`` divides by n, as in scikit-learn."""

_OF_SCIKIT_LEARN: dict[type, tuple[str, str]] = {
    GraphicalLasso: ("graphical_lasso", "alpha"),
    MinCovDet: ("min_cov_det", ""),
    ShrunkCovariance: ("shrunk", "shrinkage"),
    EmpiricalCovariance: ("empirical", ""),
    LedoitWolf: ("ledoit_wolf", ""),
    OAS: ("oas", ""),
}
"""Classes that the registry computes, with its name for them and the option that it knows."""

_WITHOUT_EFFECT = ("store_precision", "block_size", "verbose")
"""Options of these that do not change the covariance."""


def _row_of(estimator: Any) -> CovarianceEstimator | None:
    """Return the registry's row that computes what a scikit-learn estimator does; None where none does."""
    if type(estimator) not in _OF_SCIKIT_LEARN:
        return None
    name, option = _OF_SCIKIT_LEARN[type(estimator)]
    options = estimator.get_params()
    defaults = type(estimator)().get_params()
    changed = {key for key, value in options.items() if value != defaults[key]} - {option, *_WITHOUT_EFFECT}
    if changed:
        return None
    row = COVARIANCES[name]
    return row.with_parameter(_checked_parameter(estimator, option, row)) if option else row


def _checked_parameter(estimator: Any, option: str, row: CovarianceEstimator) -> float:
    value = getattr(estimator, option)
    rule = Rule(real=(0, INF if row.uses_alpha else 1))
    if not rule.accepts(value):
        raise ValueError(f"covariance={estimator!r} is not allowed: {option} must be {rule.describe()}")
    return float(value)


def _fitted_on_windows(estimator: Any) -> CovarianceEstimator:
    return CovarianceEstimator(
        type(estimator).__name__,
        fit_windows=partial(_fit_clones, estimator),
        in_processes=True,
        takes_weights=False,
    )
