"""How far off the rows of a cluster may be: Gaussian, with heavy tails, or some of them anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from mcgta.runtime.types import Array


@dataclass(frozen=True)
class Tails:
    """A distribution around a cluster's centre.

    Attributes
    ----------
    degrees_of_freedom : degrees of freedom of Student's t; infinitely many for a Gaussian
    share : of the rows that have ``spread`` times the covariance; only of a Gaussian
    spread : how many times
    """

    degrees_of_freedom: float = np.inf
    share: float = 0.0
    spread: float = 1.0

    def log_density(self, distances: Array, d: int) -> Array:
        """Log density at squared Mahalanobis distances, but for the covariance's determinant."""
        if not np.isinf(self.degrees_of_freedom):
            nu = self.degrees_of_freedom
            level = gammaln(0.5 * (nu + d)) - gammaln(0.5 * nu) - 0.5 * d * np.log(np.pi * nu)
            return np.asarray(level - 0.5 * (nu + d) * np.log1p(distances / nu))
        near = -0.5 * distances
        if self.share > 0:
            near = np.log1p(-self.share) + np.logaddexp(near, self._far(distances, d))
        return near - 0.5 * d * np.log(2 * np.pi)

    def weights(self, distances: Array, d: int) -> Array:
        """Weights of rows in the estimates of means and covariances."""
        if not np.isinf(self.degrees_of_freedom):
            return (self.degrees_of_freedom + d) / (self.degrees_of_freedom + distances)
        if self.share == 0:
            return np.ones_like(distances)
        odds = np.log(self.share / (1.0 - self.share)) - 0.5 * d * np.log(self.spread)
        chance = 1.0 / (1.0 + np.exp(np.clip(odds + 0.5 * distances * (1.0 - 1.0 / self.spread), -700, 700)))
        return np.asarray(chance + (1.0 - chance) / self.spread)

    def _far(self, distances: Array, d: int) -> Array:
        """Log odds of a row being one of those farther off, plus the log density of one that is not."""
        return np.asarray(
            np.log(self.share / (1.0 - self.share)) - 0.5 * distances / self.spread - 0.5 * d * np.log(self.spread)
        )


GAUSSIAN = Tails()

HEAVY = tuple(Tails(degrees_of_freedom) for degrees_of_freedom in (30.0, 12.0, 6.0, 4.0, 3.0))
"""Students that are tried, until one is no better than the one before."""

STRAY = tuple(Tails(share=share, spread=spread) for spread in (25.0, 400.0) for share in (0.02, 0.1))
"""Gaussians with rows far off that are tried."""
