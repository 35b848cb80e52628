"""Stage 2: a Gaussian model for each observation, fitted on its neighbours (lines 2-3 of Algorithm 1)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.covariance import MinCovDet

from mcgta.kernels.gaussians import covariance as estimators
from mcgta.kernels.gaussians import moments
from mcgta.kernels.gaussians.calibration import chance
from mcgta.kernels.gaussians.careful_lasso import GAP
from mcgta.kernels.gaussians.factors import psd_roots
from mcgta.kernels.gaussians.graphical_lasso import graphical_lasso
from mcgta.runtime.archive import Archived
from mcgta.runtime.parallel import run, short_tile, tapered, tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Mask
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows
from mcgta.stages.prior import MixturePrior, update

COVARIANCES = ("graphical_lasso", "min_cov_det", "shrunk", "empirical", "ledoit_wolf", "oas")

_TILE, _LEAST_TILE, _SLOW_TILE = 8192, 512, 64
# A graphical lasso has failed above this duality gap, unless alpha is so small against the variances that every point of
# the dual's box is within this error of the solution, on the scale of correlations.
_ACCEPTED_GAP = 1e-6
_ACCEPTED_ERROR = 1e-4
# Larger ones could not be squared when models are compared. Features are far smaller (observations.py).
_MAX_MEAN = 1e60
_MAX_COVARIANCE = _MAX_MEAN**2


@dataclass(frozen=True, eq=False, repr=False)
class LocalModels(Archived):
    """The Gaussian models of N observations.

    Attributes
    ----------
    means : (N, d) in the features' units; NaN where the model could not be fitted
    covariances : (N, d, d) symmetric, positive semi-definite; NaN where the model could not be fitted
    failures : row -> reason, for those
    prior : the global mixture they were updated from, if any
    sizes : (N,) observations that each was fitted on, 1 / sum of w^2 where they have weights w; None where that is not known
    """

    means: Array
    covariances: Array
    failures: dict[int, str] = field(default_factory=dict)
    prior: MixturePrior | None = None
    sizes: Array | None = None

    def __post_init__(self) -> None:
        if self.means.ndim != 2 or self.covariances.shape != (*self.means.shape, self.means.shape[1]):
            raise ValueError(f"means {self.means.shape} and covariances {self.covariances.shape} do not fit together")
        if not all(isinstance(row, int) and 0 <= row < len(self) for row in self.failures):
            raise ValueError("failures names a row that does not exist")
        if self.sizes is not None and (self.sizes.shape != (len(self),) or not (self.sizes > 0).all()):
            raise ValueError(f"sizes must be {len(self)} numbers above zero")
        self._check_sizes_of("means", _MAX_MEAN)
        self._check_sizes_of("covariances", _MAX_COVARIANCE)

    def _check_sizes_of(self, name: str, limit: float) -> None:
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
        return LocalModels(self.means[index], self.covariances[index], failures, self.prior, sizes)

    def append(self, other: LocalModels) -> LocalModels:
        """Return these models followed by those of ``other``."""
        failures = {**self.failures, **{len(self) + row: reason for row, reason in other.failures.items()}}
        means = np.concatenate([self.means, other.means])
        sizes = None
        if self.sizes is not None and other.sizes is not None:
            sizes = np.concatenate([self.sizes, other.sizes])
        return LocalModels(means, np.concatenate([self.covariances, other.covariances]), failures, self.prior, sizes)

    def require_definite(self, needed_by: str) -> LocalModels:
        """Return the models with those of singular covariance marked as failed, for comparisons that invert them."""
        failures = dict(self.failures)
        rows = np.flatnonzero(self.fitted)
        spectrum = np.linalg.eigvalsh(self.covariances[rows])
        singular = rows[spectrum[:, 0] <= 1e-12 * np.maximum(spectrum[:, -1], np.finfo(float).tiny)]
        for row in singular.tolist():
            failures[row] = f"its local covariance is singular, which dissimilarity={needed_by!r} cannot compare"
        return replace(self, failures=failures)


def fit_local_models(
    X: Array,
    neighborhoods: Neighborhoods | TimeWindows,
    *,
    covariance: str = "graphical_lasso",
    alpha: float = 0.01,
    shrinkage: float = 0.1,
    prior: MixturePrior | None = None,
    prior_strength: float | None = None,
    random_state: int = 0,
) -> LocalModels:
    """Fit a Gaussian on each neighbourhood.

    Parameters
    ----------
    X : (N, d) features
    neighborhoods : whose members' features are the sample of each model
    covariance : the estimator, one of ``COVARIANCES``. ``empirical`` divides by n, as in scikit-learn
    alpha : penalty of the graphical lasso, in the squared unit of the features
    shrinkage : of ``shrunk``, between 0 and 1
    prior : a global mixture that each model starts from
    prior_strength : the prior's weight in observations; that of the neighbourhood (n) by default
    random_state : seed of ``min_cov_det``, the same for each neighbourhood, so that rows do not depend on each other

    Returns
    -------
    LocalModels
        one for each neighbourhood; a model that cannot be fitted is NaN and its reason recorded
    """
    if covariance not in COVARIANCES:
        raise ValueError(f"covariance={covariance!r} is not one of {', '.join(COVARIANCES)}")
    if not alpha >= 0 or not 0 <= shrinkage <= 1:
        raise ValueError(f"alpha={alpha} must be >= 0, and shrinkage={shrinkage} between 0 and 1")
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError(f"X must be a table of finite numbers, got shape {X.shape}")
    X = np.ascontiguousarray(X, dtype=np.float64)
    count, d = len(neighborhoods), X.shape[1]
    windows = neighborhoods.windows if X.shape[0] >= neighborhoods.n_neighbors else None
    gathered = windows is None or covariance in ("min_cov_det", "ledoit_wolf")
    # The last of each, since they ascend.
    named = neighborhoods.indices[:, -1] if windows is None else windows[0] + neighborhoods.n_neighbors - 1
    last = max(named.max(initial=-1), neighborhoods.centers.max(initial=-1))
    if last >= X.shape[0]:
        raise ValueError(f"neighborhoods names row {last}, but X has {X.shape[0]} rows")
    means, covs = np.empty((count, d)), np.empty((count, d, d))
    failures: dict[int, str] = {}
    prior_moments = None if prior is None else prior.at(X[neighborhoods.centers])
    strength = float(neighborhoods.n_neighbors) if prior_strength is None else prior_strength
    sizes = neighborhoods.sizes

    def fit_tile(part: slice) -> tuple[Array, Array, dict[int, str]]:
        trouble: dict[int, str] = {}
        size = sizes[part]
        if gathered:
            indices, weights = neighborhoods.part(part)
            members = np.maximum(indices, 0)
        if covariance == "min_cov_det":
            mean, cov, trouble = _min_cov_det(X[members], random_state)
        elif windows is not None:
            own = (means[part], covs[part])  # slices of the result, written where they belong
            starts, origins = windows
            mean, cov = moments.sliding_moments(X, starts[part], origins[part], neighborhoods.n_neighbors, out=own)
        else:
            mean, cov = moments.window_moments(X, members, weights)
        center = mean
        if prior_moments is not None:
            mean, cov = update(mean, cov, prior_moments[0][part], prior_moments[1][part], size, strength)
        noise = None
        if covariance == "ledoit_wolf":
            noise = moments.quartic_sums(X, members, weights, center, np.ascontiguousarray(cov))
        cov, failed = _regularise(covariance, cov, noise, size, alpha, shrinkage)
        return mean, cov, {**trouble, **failed}

    # scikit-learn's robust estimator is slow, and it warns: warning filters are not safe among threads.
    processes = covariance == "min_cov_det"
    most = short_tile(d, _TILE)
    parts = tiles(count, _SLOW_TILE) if processes else tapered(count, most, min(most, _LEAST_TILE))

    def fill_tile(part: slice) -> tuple[Array, Array, dict[int, str]]:
        mean, cov, trouble = fit_tile(part)
        if not np.may_share_memory(mean, means):
            means[part] = mean
        if not np.may_share_memory(cov, covs):
            covs[part] = cov
        return mean, cov, trouble

    with stage("local models", count) as advance:
        fit = fit_tile if processes else fill_tile
        # No name for what run returns: were this loop left by an error, whoever kept the traceback would keep it running.
        for part, (mean, cov, trouble) in zip(parts, run(fit, parts, processes=processes), strict=True):
            if processes:
                means[part], covs[part] = mean, cov
            failures.update({part.start + k: reason for k, reason in trouble.items()})
            advance(part.stop - part.start)
    few = f"fewer than n_neighbors={neighborhoods.n_neighbors} observations in its group or within reach"
    failures.update(dict.fromkeys(np.flatnonzero(~neighborhoods.complete).tolist(), few))
    rows = list(failures)
    means[rows] = np.nan
    covs[rows] = np.nan
    return LocalModels(means, covs, dict(sorted(failures.items())), prior, sizes)


def _regularise(
    kind: str, cov: Array, noise: Array | None, size: Array, alpha: float, shrinkage: float
) -> tuple[Array, dict[int, str]]:
    """Apply the chosen estimator to a stack of moments; return the covariances and the rows that failed."""
    match kind:
        case "graphical_lasso":
            fitted, gaps = graphical_lasso(cov, alpha, in_place=True)
            if np.abs(gaps).max(initial=0.0) <= _ACCEPTED_GAP:
                return fitted, {}
            unsure = np.flatnonzero(~(np.abs(gaps) <= _ACCEPTED_GAP))
            variance = np.diagonal(cov[unsure], axis1=1, axis2=2)
            narrow = 2 * alpha <= _ACCEPTED_ERROR * np.where(variance > 0, variance, np.inf).min(axis=1, initial=np.inf)
            bad = unsure[~narrow].tolist()
            said = f"the graphical lasso stopped at a duality gap of {{:.1e}}, not {GAP:.0e}; scale the features alike"
            return fitted, {k: said.format(gaps[k]) for k in bad}
        case "shrunk":
            return estimators.shrunk(cov, shrinkage), {}
        case "ledoit_wolf":
            assert noise is not None
            return estimators.shrunk(cov, estimators.ledoit_wolf_shrinkage(cov, noise)), {}
        case "oas":
            return estimators.shrunk(cov, estimators.oas_shrinkage(cov, size)), {}
        case "empirical" | "min_cov_det":
            return cov, {}
    raise ValueError(f"covariance={kind!r} is not one of {', '.join(COVARIANCES)}")


def _min_cov_det(windows: Array, random_state: int) -> tuple[Array, Array, dict[int, str]]:
    """Robust location and covariance of each window; columns that are constant in it stay at zero variance."""
    count, _, d = windows.shape
    means, covs = windows[:, 0, :].copy(), np.zeros((count, d, d))
    failed: dict[int, str] = {}
    for k, window in enumerate(windows):
        varies = np.flatnonzero(np.ptp(window, axis=0) > 0)
        if varies.size == 0:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                robust = MinCovDet(random_state=random_state).fit(window[:, varies])
        except ValueError as error:
            failed[k] = f"the minimum covariance determinant failed ({error})"
            continue
        means[k, varies] = robust.location_
        covs[k][np.ix_(varies, varies)] = robust.covariance_
        if not np.isfinite(robust.covariance_).all():
            failed[k] = "the minimum covariance determinant gave no finite covariance"
    return means, covs, failed
