"""Shrinkage estimators of covariance for many neighbourhoods at once.

Contract
--------
``covs``  (B, d, d)  symmetric, positive semi-definite, maximum-likelihood; as :mod:`mcgta.kernels.gaussians.moments` makes them

A column of zero variance (constant within its window) is left out: it stays at zero variance and covariance, so that the local
model is a degenerate Gaussian, which W2 compares without trouble.
"""

from __future__ import annotations

import numpy as np

from mcgta.runtime.types import Array


def shrunk(covs: Array, shrinkage: Array | float) -> Array:
    """(1 - s) Sigma + s tr(Sigma)/d I, over the columns that vary."""
    varies = np.diagonal(covs, axis1=1, axis2=2) > 0
    d = np.maximum(varies.sum(axis=1), 1)
    scale = np.trace(covs, axis1=1, axis2=2) / d
    s = np.broadcast_to(np.asarray(shrinkage, dtype=float), scale.shape)
    target = (s * scale)[:, None] * varies
    out = (1 - s)[:, None, None] * covs
    index = np.arange(covs.shape[1])
    out[:, index, index] += target
    return out


def ledoit_wolf_shrinkage(covs: Array, noise: Array) -> Array:
    """Return the shrinkage of Ledoit and Wolf (2004), one value for each window.

    s = min(b2, d2)/d2 with d2 = |Sigma - m I|^2 and b2 = sum_k w_k^2 |x_k x_k^T - Sigma|^2, which ``noise`` (B,) holds
    (:func:`mcgta.kernels.gaussians.moments.quartic_sums`). With uniform weights 1/n this is the published estimator (a
    mean over n of a mean over n).
    """
    varies = np.diagonal(covs, axis1=1, axis2=2) > 0
    d = np.maximum(varies.sum(axis=1), 1)
    target = np.trace(covs, axis1=1, axis2=2) / d
    squared = (covs**2).sum(axis=(1, 2))
    distance = squared - d * target**2
    positive = distance > 1e-12 * np.maximum(squared, np.finfo(float).tiny)
    ratio = np.divide(noise, distance, out=np.ones_like(noise), where=positive)
    return np.clip(ratio, 0.0, 1.0)


def oas_shrinkage(covs: Array, sample_size: Array) -> Array:
    """Return the oracle-approximating shrinkage of Chen et al. (2010) in scikit-learn's form, one value for each window.

    scikit-learn leaves out the article's terms in 2/d, and so do we:
    s = min(1, (|S|^2/d^2 + m^2) / ((n + 1)(|S|^2/d^2 - m^2/d))) with m = tr(S)/d.
    """
    varies = np.diagonal(covs, axis1=1, axis2=2) > 0
    d = np.maximum(varies.sum(axis=1), 1)
    m2 = (np.trace(covs, axis1=1, axis2=2) / d) ** 2
    alpha = (covs**2).sum(axis=(1, 2)) / d**2
    numerator = alpha + m2
    denominator = (sample_size + 1) * (alpha - m2 / d)
    ratio = np.divide(numerator, denominator, out=np.ones_like(numerator), where=denominator > 1e-14 * numerator)
    return np.clip(ratio, 0.0, 1.0)
