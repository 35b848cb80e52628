"""Divergences of Gaussians without a closed form: Jensen-Shannon and total variation, by quasi-Monte-Carlo.

All functions broadcast over the leading axes, so one function serves pairs, one against many, and tiles.

Contract
--------
``mean``       (..., d)
``factor``     (..., d, d) lower Cholesky factor of the covariance
``inverse``    (..., d, d) inverse of that factor
``points``     (m, d) standard normal points
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, qmc

from mcgta.runtime.types import Array


def normal_points(count: int, d: int, seed: int) -> Array:
    """Return a scrambled Sobol sequence mapped to the standard normal; ``count`` is a power of two."""
    uniform = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(seed)).random(count)
    return np.asarray(norm.ppf(np.clip(uniform, 1e-12, 1 - 1e-12)), dtype=np.float64)


def log_ratio(mean_a: Array, factor_a: Array, mean_b: Array, inverse_b: Array, points: Array) -> Array:
    """Log b(x) - log a(x) at the points x = mean_a + factor_a z drawn from a.

    Returns (..., m). With y = L_b^-1 (x - mean_b): log b/a = (|z|^2 - |y|^2)/2 + log det L_a - log det L_b.
    """
    mix = inverse_b @ factor_a
    offset = (inverse_b @ (mean_a - mean_b)[..., None])[..., 0]
    y = mix @ points.T + offset[..., None]
    diagonal = np.diagonal(mix, axis1=-2, axis2=-1)
    return 0.5 * ((points**2).sum(axis=1) - (y**2).sum(axis=-2)) + np.log(diagonal).sum(axis=-1)[..., None]


def jensen_shannon(log_ba: Array, log_ab: Array) -> Array:
    """Jensen-Shannon divergence in nats, within [0, log 2], from the log ratios at each side's own points.

    JS = 1/2 E_a[log 2 - log(1 + b/a)] + 1/2 E_b[log 2 - log(1 + a/b)]
    """
    value = np.log(2.0) - 0.5 * (np.logaddexp(0.0, log_ba).mean(axis=-1) + np.logaddexp(0.0, log_ab).mean(axis=-1))
    return np.clip(value, 0.0, np.log(2.0))


def total_variation(log_ba: Array, log_ab: Array) -> Array:
    """Total variation distance, within [0, 1]: the mean of E_a[(1 - b/a)_+] and E_b[(1 - a/b)_+]."""
    side_a = -np.expm1(np.minimum(log_ba, 0.0))
    side_b = -np.expm1(np.minimum(log_ab, 0.0))
    return np.asarray(0.5 * (side_a.mean(axis=-1) + side_b.mean(axis=-1)), dtype=np.float64)
