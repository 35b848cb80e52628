"""Random covariances that lie apart, noise on them that keeps them positive definite, and draws from them."""

from __future__ import annotations

import numpy as np

from mcgta.kernels.wasserstein import pack, wasserstein2_tile
from mcgta.types import Array

_TRIES = 200
_RESTARTS = 20
_FLOOR = 0.01  # share of the least eigenvalue that noise must leave
LOG_SCALE = 1.2
LIMIT = 0.1


def make_covariances(
    n_clusters: int, n_features: int, *, separation: float, rng: np.random.Generator, log_scale: float = LOG_SCALE
) -> Array:
    """Random covariances whose pairwise Wasserstein-2 distances exceed ``separation``.

    They are Q diag(exp u) Q^T, with Q uniform among rotations and u uniform from -``log_scale`` to ``log_scale``. A ValueError
    says so where no such set is found among 20 times 200 of them.
    """
    for _ in range(_RESTARTS):
        drawn = np.array([rotate(np.exp(rng.uniform(-log_scale, log_scale, n_features)), rng) for _ in range(_TRIES)])
        packed = pack(np.zeros(drawn.shape[:2]), drawn)
        far = wasserstein2_tile(packed, packed) > separation**2
        for first in range(_TRIES):  # start from each, take the first that is far from all taken, and so on
            found, apart = [first], far[first].copy()
            while len(found) < n_clusters and apart.any():
                found.append(int(apart.argmax()))
                apart &= far[found[-1]]
            if len(found) == n_clusters:
                return drawn[found]
    raise ValueError(
        f"separation={separation} is too large for n_clusters={n_clusters} with n_features={n_features}: found no covariances"
    )


def perturb(covariance: Array, scales: Array, rng: np.random.Generator, *, limit: float | None = LIMIT) -> Array:
    """Add symmetric Gaussian noise of the given scales and keep the results positive definite.

    Returns (len(scales), d, d). Scales are at most ``limit`` of the largest entry. Eigenvalues below a hundredth of the
    least one of ``covariance`` are raised to it.
    """
    d = covariance.shape[0]
    if limit is not None:
        scales = np.minimum(scales, limit * np.abs(covariance).max())
    raw = rng.normal(size=(scales.size, d, d))
    symmetric = np.triu(raw) + np.swapaxes(np.triu(raw, 1), 1, 2)
    values, vectors = np.linalg.eigh(covariance + scales[:, None, None] * symmetric)
    floor = _FLOOR * np.linalg.eigvalsh(covariance)[0]
    return (vectors * np.maximum(values, floor)[:, None, :]) @ np.swapaxes(vectors, 1, 2)


def draw(covariances: Array, rng: np.random.Generator) -> Array:
    """One Gaussian vector of mean zero from each covariance."""
    z = rng.normal(size=covariances.shape[:2])
    return np.asarray((np.linalg.cholesky(covariances) @ z[:, :, None])[:, :, 0])


def rotate(values: Array, rng: np.random.Generator) -> Array:
    """Return a covariance with these eigenvalues and random axes."""
    q, r = np.linalg.qr(rng.normal(size=(values.size, values.size)))
    q = q * np.sign(np.diagonal(r))
    return np.asarray((q * values) @ q.T)


def space_centres(count: int, extent: float, spacing: float, rng: np.random.Generator, *, margin: float = 0.0) -> Array:
    """Places (count, 2) uniform in a square of side ``extent``, ``margin`` from its edge and ``spacing`` from each other."""
    for _ in range(_RESTARTS):  # the first few may leave no room for the others
        found: list[Array] = []
        for _ in range(1000 * count):
            new = rng.uniform(margin, extent - margin, 2)
            if all(np.linalg.norm(new - old) >= spacing for old in found):
                found.append(new)
            if len(found) == count:
                return np.array(found)
    raise ValueError(f"spacing={spacing} leaves no room for n_clusters={count} centres in a square of side {extent}")
