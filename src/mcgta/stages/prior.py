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


@dataclass(frozen=True, eq=False)
class MixturePrior(Archived):
    """A Gaussian mixture over features.

    Attributes
    ----------
    shares : (K,) mixing proportions
    means : (K, d)
    covariances : (K, d, d) positive definite
    strength : weight of the prior, in observations; None is that of the neighbourhood
    """

    shares: Array
    means: Array
    covariances: Array
    strength: float | None = None

    def __post_init__(self) -> None:
        k, d = self.means.shape
        if self.shares.shape != (k,) or self.covariances.shape != (k, d, d):
            raise ValueError("shares, means and covariances disagree on the number of components or features")

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
        weight = self.responsibilities(X)
        mean = weight @ self.means
        apart = self.means[None, :, :] - mean[:, None, :]
        cov = np.einsum("nk,kde->nde", weight, self.covariances) + np.einsum("nk,nkd,nke->nde", weight, apart, apart)
        return mean, cov


@dataclass(frozen=True)
class GaussianMixturePrior(Archived):
    """Options of a global Gaussian mixture as prior of the local models.

    Attributes
    ----------
    n_components : components of the mixture; None takes the number of 1 to 10 with the least BIC
    strength : weight of the prior, in observations; None is that of the neighbourhood
    """

    n_components: int | None = None
    strength: float | None = None

    def __post_init__(self) -> None:
        check_value("n_components", self.n_components, Rule(integer=(1, INF), none=True))
        check_value("strength", self.strength, Rule(real=(0, INF), above=True, none=True))

    def fit(self, X: Array, *, random_state: int = 0) -> MixturePrior:
        """Fit the mixture to features (N, d)."""
        fitted = fit_mixture_prior(X, n_components=self.n_components, random_state=random_state)
        return replace(fitted, strength=self.strength)


def fit_mixture_prior(X: Array, *, n_components: int | None = None, random_state: int | None = 0) -> MixturePrior:
    """Fit the mixture; without ``n_components`` the number of 1 to 10 with the least BIC is taken.

    The columns must vary; a ridge of 1e-6 of their variance keeps every component positive definite.
    """
    if n_components is not None and n_components > X.shape[0]:
        raise ValueError(f"prior_components={n_components} but there are only {X.shape[0]} observations")
    most = min(MAX_COMPONENTS, X.shape[0])
    wanted = [n_components] if n_components is not None else list(range(1, most + 1))
    spread = X.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    scaled = (X - X.mean(axis=0)) / scale
    best: GaussianMixture | None = None
    score = np.inf
    for k in wanted:
        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture = GaussianMixture(k, reg_covar=1e-6, n_init=3, random_state=random_state).fit(scaled)
        value = mixture.bic(scaled) if len(wanted) > 1 else 0.0
        if value < score:
            best, score = mixture, value
    if best is None:
        raise ValueError("prior='gmm': no mixture could be fitted to X")
    means = best.means_ * scale + X.mean(axis=0)
    return MixturePrior(best.weights_, means, best.covariances_ * scale[:, None] * scale[None, :])


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
