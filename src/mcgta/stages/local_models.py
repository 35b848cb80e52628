"""Stage 2: a Gaussian model for each observation, fitted on its neighbours (lines 2-3 of Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mcgta.kernels.gaussians import moments
from mcgta.kernels.gaussians.calibration import chance
from mcgta.kernels.gaussians.factors import psd_roots
from mcgta.runtime.archive import Archived
from mcgta.runtime.cached import cached_property
from mcgta.runtime.parallel import run, short_tile, tapered, tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Mask
from mcgta.stages.covariance import DEFAULT_ALPHA, CovarianceEstimator, Moments, WindowFits, get_covariance
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows
from mcgta.stages.prior import MixturePrior, update

_MOST_ROWS = 8192  # of a tile
_LEAST_ROWS = 512
_ROWS_IN_PROCESSES = 64
_SINGULAR = 1e-12  # smallest over largest eigenvalue
_SHARES_ROUNDING = 1e-6  # of their sum
# Larger ones could not be squared when models are compared. Features are far smaller (observations/observations.py).
_MAX_MEAN = 1e60
_MAX_COVARIANCE = _MAX_MEAN**2


@dataclass(frozen=True, eq=False, repr=False)
class LocalModels(Archived):
    """The Gaussian models of N observations, or the moments of mixtures where these are their models.

    Attributes
    ----------
    means : (N, d) in the features' units; NaN where the model could not be fitted
    covariances : (N, d, d) symmetric, positive semi-definite; NaN where the model could not be fitted
    failures : row -> reason, for those
    prior : the global mixture they were updated from, or whose components local mixtures share; None without
    sizes : (N,) observations that each was fitted on, 1 / sum of w^2 where they have weights w; None where that is not known
    shares : (N, K) of the prior's components in each local mixture, summing to one; NaN where it could not be fitted. None
        where models are single Gaussians
    """

    means: Array
    covariances: Array
    failures: dict[int, str] = field(default_factory=dict)
    prior: MixturePrior | None = None
    sizes: Array | None = None
    shares: Array | None = None

    def __post_init__(self) -> None:
        if self.means.ndim != 2 or self.covariances.shape != (*self.means.shape, self.means.shape[1]):
            raise ValueError(f"means {self.means.shape} and covariances {self.covariances.shape} do not fit together")
        if not all(isinstance(row, int) and 0 <= row < len(self) for row in self.failures):
            raise ValueError("failures names a row that does not exist")
        if self.sizes is not None and (self.sizes.shape != (len(self),) or not (self.sizes > 0).all()):
            raise ValueError(f"sizes must be {len(self)} numbers above zero")
        self._check_shares()
        self._check_magnitude("means", _MAX_MEAN)
        self._check_magnitude("covariances", _MAX_COVARIANCE)

    def _check_shares(self) -> None:
        if self.shares is None:
            return
        if self.prior is None or self.shares.shape != (len(self), self.prior.shares.size):
            raise ValueError("shares must be a number for each observation and component of the prior")
        fitted = self.shares[self.fitted]
        if not ((fitted >= 0).all() and np.allclose(fitted.sum(axis=1), 1.0, rtol=0, atol=_SHARES_ROUNDING)):
            raise ValueError("shares of fitted models must be numbers >= 0 that sum to one")

    def _check_magnitude(self, name: str, limit: float) -> None:
        """Refuse numbers of fitted models that are not finite or too large to square; no copy of them is made."""
        values = getattr(self, name)
        if self.failures:
            fitted = self.fitted
            within = tuple(range(1, values.ndim))
            least = values.min(axis=within, initial=0.0)[fitted].min(initial=0.0)
            most = values.max(axis=within, initial=0.0)[fitted].max(initial=0.0)
        else:
            least = values.min(initial=0.0)
            most = values.max(initial=0.0)
        if not -limit <= least <= most <= limit:
            raise ValueError(f"{name} of fitted models must be finite and at most {limit:g} in size")

    def __repr__(self) -> str:
        bad = f", {len(self.failures)} failed" if self.failures else ""
        return f"LocalModels({len(self)} observations, {self.means.shape[1]} features{bad})"

    def __len__(self) -> int:
        return int(self.means.shape[0])

    @property
    def fitted(self) -> Mask:
        """(N,) whether the observation has a model."""
        out = np.ones(len(self), dtype=bool)
        out[list(self.failures)] = False
        return out

    @cached_property
    def roots(self) -> Array:
        """(N, d, d) symmetric square roots of the covariances."""
        return psd_roots(self.covariances)

    @cached_property
    def chance(self) -> Array:
        """(N,) W2 squared to be expected of two samples, as large as each model's, of that model."""
        if self.sizes is None:
            raise ValueError("these local models do not tell their sizes, the observations that each was fitted on")
        return chance(self.means, self.covariances, self.sizes)

    def take(self, index: Index) -> LocalModels:
        """Return the models of some observations, in the order of ``index``."""
        rows = index.tolist() if self.failures else []
        failures = {new: self.failures[old] for new, old in enumerate(rows) if old in self.failures}
        sizes = None if self.sizes is None else self.sizes[index]
        shares = None if self.shares is None else self.shares[index]
        return LocalModels(self.means[index], self.covariances[index], failures, self.prior, sizes, shares)

    def scaled(self, factors: Array) -> LocalModels:
        """Return the models of features that are multiplied by some factors; of lags, too, which repeat them."""
        repeated = np.tile(factors, self.means.shape[1] // factors.size)
        return replace(
            self,
            means=self.means * repeated,
            covariances=self.covariances * repeated[:, None] * repeated[None, :],
            prior=None if self.prior is None else self.prior.scaled(factors),
        )

    def append(self, other: LocalModels) -> LocalModels:
        """Return these models followed by those of ``other``."""
        failures = {**self.failures, **{len(self) + row: reason for row, reason in other.failures.items()}}
        means = np.concatenate([self.means, other.means])
        covariances = np.concatenate([self.covariances, other.covariances])
        sizes = _joined(self.sizes, other.sizes)
        shares = _joined(self.shares, other.shares)
        return LocalModels(means, covariances, failures, self.prior, sizes, shares)

    def require_definite(self, needed_by: str) -> LocalModels:
        """Return the models with those of singular covariance marked as failed, for comparisons that invert them."""
        failures = dict(self.failures)
        rows = np.flatnonzero(self.fitted)
        spectrum = np.linalg.eigvalsh(self.covariances[rows])
        singular = rows[spectrum[:, 0] <= _SINGULAR * np.maximum(spectrum[:, -1], np.finfo(float).tiny)]
        for row in singular.tolist():
            failures[row] = f"its local covariance is singular, which dissimilarity={needed_by!r} cannot compare"
        return replace(self, failures=failures)


def _joined(one: Array | None, two: Array | None) -> Array | None:
    return None if one is None or two is None else np.concatenate([one, two])


def fit_local_models(
    X: Array,
    neighborhoods: Neighborhoods | TimeWindows,
    *,
    covariance: Any = "graphical_lasso",
    alpha: float = DEFAULT_ALPHA,
    prior: MixturePrior | None = None,
    random_state: int = 0,
) -> LocalModels:
    """Fit a Gaussian on each neighbourhood.

    Parameters
    ----------
    X : (N, d) features
    neighborhoods : whose members' features are the sample of each model
    covariance : the estimator: a name of :data:`mcgta.stages.covariance.COVARIANCES`, a covariance estimator of
        scikit-learn, or any object with ``fit`` that has ``location_`` and ``covariance_`` afterwards. Objects that the
        registry does not compute itself are fitted on each neighbourhood, which is slow
    alpha : penalty of ``"graphical_lasso"``, in the squared unit of the features
    prior : a global mixture that each model starts from
    random_state : seed of estimators that draw, the same for each neighbourhood, so that rows do not depend on each other

    Returns
    -------
    LocalModels
        one for each neighbourhood; a model that cannot be fitted is NaN and its reason recorded
    """
    if not alpha >= 0:
        raise ValueError(f"alpha={alpha} must be >= 0")
    estimator = get_covariance(covariance, alpha)
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError(f"X must be a table of finite numbers, got shape {X.shape}")
    check_members(neighborhoods, X.shape[0])
    if not estimator.takes_weights and not neighborhoods.uniform:
        raise ValueError(f"weights: covariance={estimator.name!r} knows uniform weights only")
    features = np.ascontiguousarray(X, dtype=np.float64)
    fitting = _Fitting(features, neighborhoods, estimator, prior, random_state)
    failures = fitting.run()
    failures.update(find_lonely(neighborhoods))
    rows = list(failures)
    fitting.means[rows] = np.nan
    fitting.covariances[rows] = np.nan
    return LocalModels(fitting.means, fitting.covariances, dict(sorted(failures.items())), prior, fitting.sizes)


def find_lonely(neighborhoods: Neighborhoods | TimeWindows) -> dict[int, str]:
    """Return the rows that have too few neighbours for a model, with the reason."""
    few = f"fewer than n_neighbors={neighborhoods.n_neighbors} observations in its group or within reach"
    return dict.fromkeys(np.flatnonzero(~neighborhoods.complete).tolist(), few)


def check_members(neighborhoods: Neighborhoods | TimeWindows, rows: int) -> None:
    """Refuse neighbourhoods that name rows beyond the features."""
    windows = _windows_of(neighborhoods, rows)
    # The last of each, since they ascend.
    named = neighborhoods.indices[:, -1] if windows is None else windows[0] + neighborhoods.n_neighbors - 1
    last = max(named.max(initial=-1), neighborhoods.centers.max(initial=-1))
    if last >= rows:
        raise ValueError(f"neighborhoods names row {last}, but X has {rows} rows")


def _windows_of(neighborhoods: Neighborhoods | TimeWindows, rows: int) -> tuple[Index, Index] | None:
    return neighborhoods.windows if rows >= neighborhoods.n_neighbors else None


class _Fitting:
    """The fit of all neighbourhoods, tile by tile.

    Threads write their tiles into the arrays of the result, and sliding moments are computed there, so that no copy is made;
    processes cannot, and send what they have fitted.

    Attributes
    ----------
    means, covariances : (N, d) and (N, d, d), filled by :meth:`run`
    sizes : (N,) observations that each model is fitted on
    """

    def __init__(
        self,
        X: Array,
        neighborhoods: Neighborhoods | TimeWindows,
        estimator: CovarianceEstimator,
        prior: MixturePrior | None,
        seed: int,
    ) -> None:
        count = len(neighborhoods)
        d = X.shape[1]
        self._X = X
        self._neighborhoods = neighborhoods
        self._estimator = estimator
        self._seed = seed
        self._windows = _windows_of(neighborhoods, X.shape[0])
        self._prior_moments = None if prior is None else prior.at(X[neighborhoods.centers])
        own_strength = None if prior is None else prior.strength
        self._prior_strength = float(neighborhoods.n_neighbors) if own_strength is None else own_strength
        self.means = np.empty((count, d))
        self.covariances = np.empty((count, d, d))
        self.sizes = neighborhoods.sizes

    def run(self) -> dict[int, str]:
        """Fit all of them; return the rows that failed, with the reason."""
        count, d = self.means.shape
        failures: dict[int, str] = {}
        processes = self._estimator.in_processes
        most = short_tile(d, _MOST_ROWS)
        parts = tiles(count, _ROWS_IN_PROCESSES) if processes else tapered(count, most, min(most, _LEAST_ROWS))
        fit: Callable[[slice], WindowFits] = self._fit_tile if processes else self._fill_tile
        with stage("local models", count) as advance:
            # No name for what run returns: were this loop left by an error, a kept traceback would keep it running.
            for part, fitted in zip(parts, run(fit, parts, processes=processes), strict=True):
                if processes:
                    self._store(part, fitted)
                failures.update({part.start + k: reason for k, reason in fitted.failures.items()})
                advance(part.stop - part.start)
        return failures

    def _fill_tile(self, part: slice) -> WindowFits:
        """Fit some neighbourhoods and write the result where it belongs; on threads."""
        fitted = self._fit_tile(part)
        self._store(part, fitted)
        return fitted

    def _store(self, part: slice, fitted: WindowFits) -> None:
        """Copy what is not in the arrays of the result already."""
        if not np.may_share_memory(fitted.means, self.means):
            self.means[part] = fitted.means
        if not np.may_share_memory(fitted.covariances, self.covariances):
            self.covariances[part] = fitted.covariances

    def _fit_tile(self, part: slice) -> WindowFits:
        """Fit some neighbourhoods: moments, or what the estimator makes of windows; the prior; then regularisation."""
        estimator = self._estimator
        size = self.sizes[part]
        members, weights = self._gather(part)
        failures: dict[int, str] = {}
        if estimator.fit_windows is not None:
            mean, cov, failures = estimator.fit_windows(self._X[members], self._seed)
        elif self._windows is not None:
            own = (self.means[part], self.covariances[part])
            starts, origins = self._windows
            n = self._neighborhoods.n_neighbors
            mean, cov = moments.sliding_moments(self._X, starts[part], origins[part], n, out=own)
        else:
            mean, cov = moments.window_moments(self._X, members, weights)
        center = mean
        if self._prior_moments is not None:
            prior_mean, prior_cov = self._prior_moments
            mean, cov = update(mean, cov, prior_mean[part], prior_cov[part], size, self._prior_strength)
        if estimator.regularize is None:
            return WindowFits(mean, cov, failures)
        quartic_sums = None
        if estimator.needs_quartic_sums:
            quartic_sums = moments.quartic_sums(self._X, members, weights, center, np.ascontiguousarray(cov))
        regularized = estimator.regularize(Moments(cov, size, quartic_sums), estimator.parameter)
        return WindowFits(mean, regularized.covariances, {**failures, **regularized.failures})

    def _gather(self, part: slice) -> tuple[Index, Array]:
        """Return members and weights of some neighbourhoods; nothing where sums over blocks of rows do without."""
        if self._windows is not None and not self._estimator.needs_members:
            return np.empty((0, 0), dtype=np.intp), np.empty((0, 0))
        indices, weights = self._neighborhoods.part(part)
        return np.maximum(indices, 0), weights
