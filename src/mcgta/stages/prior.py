"""A global Gaussian mixture as prior of the local models (the paper's appendix on sparse data).

Where neighbours are few or far, a local estimate is noisy. A mixture fitted on the features of all observations says
what clusters look like over all, and each local model becomes its maximum-a-posteriori update by the neighbours.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from mcgta.runtime.archive import Archived
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array

MAX_COMPONENTS = 10

MAX_SHARED_COMPONENTS = 12
"""Components that local mixtures share, where their number is left to BIC."""

SHARED_COMPONENTS_SHAPES = ("full", "tied", "diag")

SHARED_COMPONENTS_ROWS = 10_000
"""Observations that shared components are fitted on; of more, a sample is drawn."""

_RULES = {
    "n_components": Rule(integer=(1, INF), none=True),
    "strength": Rule(real=(0, INF), above=True, none=True),
}


@dataclass(frozen=True, eq=False)
class MixturePrior(Archived):
    """A Gaussian mixture over features.

    Attributes
    ----------
    shares : (K,) mixing proportions
    means : (K, d)
    covariances : (K, d, d) positive definite
    strength : weight of the prior in observations; None for that of the neighbourhood, n
    """

    shares: Array
    means: Array
    covariances: Array
    strength: float | None = None

    def __post_init__(self) -> None:
        k, d = self.means.shape
        if self.shares.shape != (k,) or self.covariances.shape != (k, d, d):
            raise ValueError("shares, means and covariances disagree on the number of components or features")
        check_value("strength", self.strength, _RULES["strength"])

    def scaled(self, factors: Array) -> MixturePrior:
        """Return the mixture of features that are multiplied by some factors (d,); of lags, too, which repeat them."""
        repeated = np.tile(factors, self.means.shape[1] // factors.size)
        return replace(
            self, means=self.means * repeated, covariances=self.covariances * repeated[:, None] * repeated[None, :]
        )

    def responsibilities(self, X: Array) -> Array:
        """Return (N, K) posterior probabilities of the components given each observation's features."""
        logs = np.empty((X.shape[0], self.shares.size))
        for k, (share, mean, cov) in enumerate(zip(self.shares, self.means, self.covariances, strict=True)):
            factor = np.linalg.cholesky(cov)
            y = solve_triangular(factor, (X - mean).T, lower=True)
            logs[:, k] = np.log(share) - np.log(np.diagonal(factor)).sum() - 0.5 * (y**2).sum(axis=0)
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

    def at(self, X: Array) -> tuple[Array, Array]:
        """Return the prior mean (N, d) and covariance (N, d, d) of each observation's local model.

        The mixture's components, averaged with the observation's responsibilities; the spread between their means
        is part of the covariance.
        """
        return self.moments(self.responsibilities(X))

    def moments(self, weights: Array) -> tuple[Array, Array]:
        """Return mean (N, d) and covariance (N, d, d) of mixtures of the components with weights (N, K)."""
        mean = weights @ self.means
        apart = self.means[None, :, :] - mean[:, None, :]
        cov = np.einsum("nk,kde->nde", weights, self.covariances) + np.einsum("nk,nkd,nke->nde", weights, apart, apart)
        return mean, cov


@dataclass(frozen=True)
class GaussianMixturePrior(Archived):
    """Options of a prior that is a Gaussian mixture, fitted on the features of all observations.

    Attributes
    ----------
    n_components : components of the mixture; by default the number of 1 to 10 with the least BIC
    strength : weight of the prior in observations; by default that of the neighbourhood, n
    """

    n_components: int | None = None
    strength: float | None = None

    def __post_init__(self) -> None:
        for name, rule in _RULES.items():
            check_value(name, getattr(self, name), rule)

    def fit(
        self,
        X: Array,
        random_state: int | None = 0,
        *,
        most: int = MAX_COMPONENTS,
        shapes: tuple[str, ...] = ("full",),
    ) -> MixturePrior:
        """Fit the mixture on features (N, d), with at most ``most`` components where their number is open.

        The columns must vary; a ridge of 1e-6 of their variance keeps every component positive definite. Of several ``shapes``
        of covariances, which are scikit-learn's covariance types, the one with the least BIC is taken.
        """
        count = X.shape[0]
        if self.n_components is not None and self.n_components > count:
            raise ValueError(
                f"prior: n_components={self.n_components} but there are only {count} observations; it must not be larger"
            )
        spread = X.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        scaled = (X - X.mean(axis=0)) / scale
        best = _fit_mixture(scaled, self._numbers(min(most, count)), shapes, random_state)
        means = best.means_ * scale + X.mean(axis=0)
        covariances = _full_covariances(best) * scale[:, None] * scale[None, :]
        return MixturePrior(best.weights_, means, covariances, self.strength)

    def _numbers(self, most: int) -> list[int]:
        """Return the numbers of components to try."""
        if self.n_components is not None:
            return [self.n_components]
        return list(range(1, most + 1))


def fit_shared_components(X: Array, options: GaussianMixturePrior, random_state: int) -> MixturePrior:
    """Fit the components that local mixtures share, on features (N, d) without their positions.

    BIC chooses between free, common and diagonal covariances, too: free ones of many features cost so many parameters that
    kinds of observations would be merged.
    """
    rows = np.arange(X.shape[0])
    if rows.size > SHARED_COMPONENTS_ROWS:
        rows = np.sort(np.random.default_rng(random_state).choice(rows, SHARED_COMPONENTS_ROWS, replace=False))
    return options.fit(X[rows], random_state, most=MAX_SHARED_COMPONENTS, shapes=SHARED_COMPONENTS_SHAPES)


def _fit_mixture(
    scaled: Array, numbers: list[int], shapes: tuple[str, ...], random_state: int | None
) -> GaussianMixture:
    """Return the mixture with the least BIC, of these numbers of components and shapes of covariances."""
    best: GaussianMixture | None = None
    least_bic = np.inf
    tried = [(k, shape) for shape in shapes for k in numbers]
    for k, shape in tried:
        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture = GaussianMixture(k, covariance_type=shape, reg_covar=1e-6, n_init=3, random_state=random_state)
            mixture.fit(scaled)
        bic = mixture.bic(scaled) if len(tried) > 1 else 0.0
        if bic < least_bic:
            best = mixture
            least_bic = bic
    if best is None:
        raise ValueError("prior: no mixture could be fitted to X")
    return best


def _full_covariances(mixture: GaussianMixture) -> Array:
    """Return the covariances (K, d, d) of a mixture, whatever their shape."""
    held = mixture.covariances_
    if mixture.covariance_type == "tied":
        return np.tile(held, (mixture.n_components, 1, 1))
    return held[:, :, None] * np.eye(held.shape[1]) if mixture.covariance_type == "diag" else held


def update(
    mean: Array, cov: Array, prior_mean: Array, prior_cov: Array, sample_size: Array, strength: float
) -> tuple[Array, Array]:
    """Maximum-a-posteriori update of a Gaussian by a neighbourhood's moments (normal-inverse-Wishart).

    With m pseudo-observations of the prior and n of the neighbourhood:
    mu = (m mu_0 + n mu_1)/(m + n),
    Sigma = (m Sigma_0 + n Sigma_1 + m n/(m + n) (mu_1 - mu_0)(mu_1 - mu_0)^T)/(m + n).
    """
    share = (sample_size / (sample_size + strength))[:, None]
    shift = mean - prior_mean
    out_mean = prior_mean + share * shift
    w = share[:, :, None]
    out_cov = (1 - w) * prior_cov + w * cov + w * (1 - w) * shift[:, :, None] * shift[:, None, :]
    return out_mean, out_cov
