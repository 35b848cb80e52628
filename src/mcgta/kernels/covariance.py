"""Moments and covariance estimators for many neighbourhoods at once.

Contract
--------
``windows``  (B, n, d)  the features of the n neighbours of B observations
``weights``  (B, n)     the weight of each neighbour, summing to one
``means``    (B, d)
``covs``     (B, d, d)  symmetric, positive semi-definite, maximum-likelihood (divided by the weights' sum)

A column that is constant within a window has variance exactly 0. Every estimator leaves such a column at zero
variance and covariance, so that the local model is a degenerate Gaussian, which W2 compares without trouble.
"""

from __future__ import annotations

import numpy as np

from mcgta.types import Array

# A window column whose spread is below this many units in the last place of its largest value is rounding, not signal.
_ROUNDING = 16 * np.finfo(np.float64).eps


def moments(windows: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Return weighted means, weighted covariances and the centred windows.

    mu = sum_k w_k x_k and Sigma = sum_k w_k (x_k - mu)(x_k - mu)^T. The mean is taken about the window's first row
    and corrected once, so that an offset of 1e6 costs no digits.
    """
    anchor = windows[:, :1, :]
    centred = windows - anchor
    shift = np.einsum("bn,bnd->bd", weights, centred)
    centred = centred - shift[:, None, :]
    rest = np.einsum("bn,bnd->bd", weights, centred)
    centred = centred - rest[:, None, :]
    means = anchor[:, 0, :] + shift + rest

    size = np.abs(windows).max(axis=1)
    constant = np.abs(centred).max(axis=1) <= _ROUNDING * size
    centred = np.where(constant[:, None, :], 0.0, centred)
    scaled = np.sqrt(weights)[:, :, None] * centred
    covs = np.swapaxes(scaled, 1, 2) @ scaled
    return means, covs, centred


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


def ledoit_wolf_shrinkage(centred: Array, weights: Array, covs: Array) -> Array:
    """Return the shrinkage of Ledoit and Wolf (2004), one value for each window.

    s = min(b2, d2)/d2 with d2 = |Sigma - m I|^2, b2 = sum_k w_k^2 |x_k x_k^T - Sigma|^2. With uniform weights
    1/n this is the published estimator (a mean over n of a mean over n).
    """
    varies = np.diagonal(covs, axis1=1, axis2=2) > 0
    d = np.maximum(varies.sum(axis=1), 1)
    target = np.trace(covs, axis1=1, axis2=2) / d
    distance = (covs**2).sum(axis=(1, 2)) - d * target**2
    norm2 = (centred**2).sum(axis=2)
    # |x x^T - S|^2 = |x|^4 - 2 x^T S x + |S|^2
    quadratic = np.einsum("bnd,bde,bne->bn", centred, covs, centred)
    spread = norm2**2 - 2 * quadratic + (covs**2).sum(axis=(1, 2))[:, None]
    noise = (weights**2 * spread).sum(axis=1)
    positive = distance > 1e-12 * np.maximum((covs**2).sum(axis=(1, 2)), np.finfo(float).tiny)
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


def psd_roots(covs: Array) -> Array:
    """Return the symmetric square roots of positive semi-definite matrices."""
    values, vectors = np.linalg.eigh(covs)
    roots = np.sqrt(np.maximum(values, 0.0))
    return (vectors * roots[:, None, :]) @ np.swapaxes(vectors, 1, 2)
