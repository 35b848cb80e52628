"""Random covariances that lie apart, noise on them that keeps them positive definite, and draws from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mcgta.kernels.gaussians.wasserstein import pack, wasserstein2_tile
from mcgta.runtime.types import Array, Mask

_TRIES = 200
_RESTARTS = 20
_FLOOR = 0.01  # share of the least eigenvalue that noise must leave
LOG_SCALE = 1.2
LIMIT = 0.1


def make_covariances(
    n_clusters: int, n_features: int, *, separation: float, rng: np.random.Generator, log_scale: float = LOG_SCALE
) -> Array:
    """Random covariances whose pairwise Wasserstein-2 distances are ``separation`` or more.

    They are Q diag(exp u) Q^T, with Q uniform among rotations and u uniform from -``log_scale`` to ``log_scale``. A ValueError
    says so where no such set is found among 20 times 200 of them; of more than 200 clusters, where 20
    times there is none among 200 that is far from those before.
    """
    search = _choose if n_clusters <= _TRIES else _gather
    covariances = search(n_clusters, separation, lambda: _draw_candidates(n_features, log_scale, rng))
    if covariances is None:
        raise ValueError(
            f"separation={separation} is too large for n_clusters={n_clusters} with n_features={n_features}: "
            "found no covariances"
        )
    return covariances


def _draw_candidates(n_features: int, log_scale: float, rng: np.random.Generator) -> Array:
    return np.array([rotate(np.exp(rng.uniform(-log_scale, log_scale, n_features)), rng) for _ in range(_TRIES)])


def _choose(count: int, separation: float, draw_more: Callable[[], Array]) -> Array | None:
    """Choose all from the candidates of one draw, or else of the next."""
    for _ in range(_RESTARTS):
        drawn = draw_more()
        far = _lie_apart(drawn, drawn, separation)
        for first in range(_TRIES):
            chosen = [first, *_take(far, far[first], count - 1)]
            if len(chosen) == count:
                return drawn[chosen]
    return None


def _gather(count: int, separation: float, draw_more: Callable[[], Array]) -> Array | None:
    """Add those of each draw that are far from all before them, until there are enough or too many draws add none."""
    gathered = draw_more()[:1]
    idle = 0
    while len(gathered) < count and idle < _RESTARTS:
        drawn = draw_more()
        apart = np.asarray(_lie_apart(drawn, gathered, separation).all(axis=1))
        taken = _take(_lie_apart(drawn, drawn, separation), apart, count - len(gathered))
        gathered = np.concatenate([gathered, drawn[taken]])
        idle = idle + (not taken)
    return gathered if len(gathered) == count else None


def _lie_apart(left: Array, right: Array, separation: float) -> Mask:
    """Whether each covariance of ``left`` is far from each of ``right``; if these are the same, none is far from itself."""
    a, b = (pack(np.zeros(covariances.shape[:2]), covariances) for covariances in (left, right))
    far = wasserstein2_tile(a, b) >= separation**2
    if left is right:
        np.fill_diagonal(far, False)  # where rounding leaves more than a small separation
    return far


def _take(far: Mask, apart: Mask, count: int) -> list[int]:
    """Take the first of those that are ``apart``, the next of them that is far from it, too, and so on, up to ``count``."""
    taken: list[int] = []
    while len(taken) < count and apart.any():
        taken.append(int(apart.argmax()))
        apart = apart & far[taken[-1]]
    return taken


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
        centres: list[Array] = []
        for _ in range(1000 * count):
            new = rng.uniform(margin, extent - margin, 2)
            if all(np.linalg.norm(new - old) >= spacing for old in centres):
                centres.append(new)
            if len(centres) == count:
                return np.array(centres)
    raise ValueError(f"spacing={spacing} leaves no room for n_clusters={count} centres in a square of side {extent}")
