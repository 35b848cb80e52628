"""Squared Wasserstein-2 distance of Gaussians (the paper's equation 5).

    W = |mu_i - mu_j|^2 + tr Sigma_i + tr Sigma_j - 2 |R_i R_j|_*     (nuclear norm; R the symmetric roots)

tr (Sigma_i^1/2 Sigma_j Sigma_i^1/2)^1/2 is the sum of the singular values of R_i R_j. Taking singular values instead
of roots of eigenvalues keeps sixteen digits of the trace where covariances are singular; the eigenvalue form keeps
eight.

Bounds that hold for every pair, with H^2 = |R_i - R_j|_F^2:   |dmu|^2 + H^2/2 <= W <= |dmu|^2 + H^2.
"""

from __future__ import annotations

import numpy as np

from mcgta.types import Array


def wasserstein2(mean_a: Array, root_a: Array, mean_b: Array, root_b: Array) -> Array:
    """W2 squared, broadcast over the leading axes: pairs, one against many, or a tile.

    Parameters
    ----------
    mean_a, mean_b : (..., d)
    root_a, root_b : (..., d, d) symmetric square roots of the covariances

    Returns
    -------
    (...) non-negative; absolute error about 1e-15 of the sum of the traces
    """
    shift = ((mean_a - mean_b) ** 2).sum(axis=-1)
    traces = (root_a**2).sum(axis=(-2, -1)) + (root_b**2).sum(axis=(-2, -1))
    if root_a.shape[-1] == 1:
        nuclear = (root_a * root_b)[..., 0, 0]
    elif root_a.shape[-1] == 2:  # (s1 + s2)^2 = |P|_F^2 + 2 |det P|
        product = root_a @ root_b
        determinant = product[..., 0, 0] * product[..., 1, 1] - product[..., 0, 1] * product[..., 1, 0]
        nuclear = np.sqrt((product**2).sum(axis=(-2, -1)) + 2 * np.abs(determinant))
    else:
        nuclear = np.linalg.svd(root_a @ root_b, compute_uv=False).sum(axis=-1)
    return shift + np.maximum(traces - 2 * nuclear, 0.0)


def null_expectation(covs: Array, sample_size: int) -> Array:
    """Expected W2 squared between two independent samples of one Gaussian, to first order in 1/n.

    c = [ 2 tr Sigma + sum_kl l_k l_l (1 + [k = l]) / (l_k + l_l) ] / n with the eigenvalues l of Sigma: the first term
    comes from the means, the second from the covariances.

    Parameters
    ----------
    covs : (N, d, d)
    sample_size : n, observations in each sample

    Returns
    -------
    (N,)
    """
    values = np.maximum(np.linalg.eigvalsh(covs), 0.0)
    product, total = values[:, :, None] * values[:, None, :], values[:, :, None] + values[:, None, :]
    terms = np.divide(product, total, out=np.zeros_like(product), where=total > 0)
    shape = terms.sum(axis=(1, 2)) + np.trace(terms, axis1=1, axis2=2)
    return (2 * values.sum(axis=1) + shape) / sample_size
