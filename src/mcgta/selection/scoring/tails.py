"""Tails of a cluster's distribution: Gaussian, those of Student's t, or Gaussian with a share of outliers."""

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
    outlier_share : share of the rows that have ``outlier_spread`` times the covariance; only of a Gaussian
    outlier_spread : that number of times
    """

    degrees_of_freedom: float = np.inf
    outlier_share: float = 0.0
    outlier_spread: float = 1.0

    def log_density(self, distances: Array, d: int) -> Array:
        """Log density at squared Mahalanobis distances, but for the covariance's determinant."""
        if not np.isinf(self.degrees_of_freedom):
            nu = self.degrees_of_freedom
            level = gammaln(0.5 * (nu + d)) - gammaln(0.5 * nu) - 0.5 * d * np.log(np.pi * nu)
            return np.asarray(level - 0.5 * (nu + d) * np.log1p(distances / nu))
        near = -0.5 * distances
        if self.outlier_share > 0:
            odds = np.log(self.outlier_share / (1.0 - self.outlier_share))
            far = odds - 0.5 * distances / self.outlier_spread - 0.5 * d * np.log(self.outlier_spread)
            near = np.log1p(-self.outlier_share) + np.logaddexp(near, far)
        return near - 0.5 * d * np.log(2 * np.pi)

    def weights(self, distances: Array, d: int) -> Array:
        """Weights of rows in the estimates of means and covariances."""
        if not np.isinf(self.degrees_of_freedom):
            return (self.degrees_of_freedom + d) / (self.degrees_of_freedom + distances)
        if self.outlier_share == 0:
            return np.ones_like(distances)
        odds = np.log(self.outlier_share / (1.0 - self.outlier_share)) - 0.5 * d * np.log(self.outlier_spread)
        chance = 1.0 / (1.0 + np.exp(np.clip(odds + 0.5 * distances * (1.0 - 1.0 / self.outlier_spread), -700, 700)))
        return np.asarray(chance + (1.0 - chance) / self.outlier_spread)


GAUSSIAN = Tails()

STUDENT_T = tuple(Tails(degrees_of_freedom) for degrees_of_freedom in (30.0, 12.0, 6.0, 4.0, 3.0))
"""Student's t with the degrees of freedom that are tried, until one explains no more than the one before."""

WITH_OUTLIERS = tuple(
    Tails(outlier_share=share, outlier_spread=spread) for spread in (25.0, 400.0) for share in (0.02, 0.1)
)
"""Gaussians with a share of outliers that are tried."""
