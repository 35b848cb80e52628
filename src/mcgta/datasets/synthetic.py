"""The paper's two synthetic data sets (appendix, "Synthetic Dataset").

Clusters have mean zero and differ in covariance only, by more than 1 in Wasserstein-2 distance. Around each
cluster's covariance the observations' own covariances are perturbed by Gaussian noise that grows with the distance from
the start of a segment (1-D) or the centre of a region (2-D), up to a tenth of the largest entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from mcgta.kernels.wasserstein import pack, wasserstein2_tile
from mcgta.types import Array, Index

_TRIES = 200
_RESTARTS = 20
_PERSISTENCE = 0.97  # of the logarithm of the volatility


@dataclass(frozen=True, eq=False)
class Sample:
    """Observations with known clusters.

    Attributes
    ----------
    X : (N, d) features
    positions : (N,) time steps from 1, or (N, 2) coordinates
    labels : (N,) true cluster
    covariances : (K, d, d) of the clusters
    """

    X: Array
    positions: Array
    labels: Index
    covariances: Array


def make_series(
    n_samples: int = 1000,
    *,
    n_clusters: int = 5,
    n_features: int = 5,
    segment_lengths: tuple[int, int] = (6, 30),
    batch: int = 5,
    noise: float = 0.005,
    separation: float = 1.0,
    correlation: float = 0.0,
    tails: float | None = None,
    volatility: float = 0.0,
    random_state: int = 0,
) -> Sample:
    """Make a series whose state changes from segment to segment.

    Parameters
    ----------
    n_samples : length; the last segment is cut to it
    n_clusters : K states; neighbouring segments differ in state, and with one state there is one segment without end
    segment_lengths : least and greatest number of steps L of a segment, each step giving ``batch`` observations
    batch : k, observations drawn from each perturbed covariance
    noise : alpha; the j-th step of a segment is perturbed by noise of scale j * alpha
    separation : least Wasserstein-2 distance between clusters
    correlation : phi of x_t = phi x_(t-1) + sqrt(1 - phi^2) e_t within a segment, e_t the draws; the first is e_t itself
    tails : degrees of freedom, more than 2, of the multivariate t distribution of the draws, which keep their covariance; None
        is the Gaussian
    volatility : standard deviation of the steps of h_t = 0.97 h_(t-1) + step, from h_0 = 0 through the whole series; the draws
        are multiplied by exp(h_t), so that only directions and ratios of their covariances stay those of the clusters
    """
    _check_dependence(correlation, tails, volatility)
    rng = np.random.default_rng(random_state)
    (scale_rng,) = rng.spawn(
        1
    )  # scales have numbers of their own: the Gaussian draws are the same with and without them
    covariances = make_covariances(n_clusters, n_features, separation=separation, rng=rng)
    scales = _draw_scales(n_samples, tails, volatility, scale_rng)
    X, labels = np.empty((n_samples, n_features)), np.empty(n_samples, dtype=np.int64)
    done, state = 0, -1
    while done < n_samples:
        if n_clusters == 1:
            state, length = 0, -(-n_samples // batch)
        else:
            state = int(rng.choice([k for k in range(n_clusters) if k != state]))
            length = int(rng.integers(segment_lengths[0], segment_lengths[1] + 1))
        perturbed = perturb(covariances[state], noise * np.arange(1, length + 1), rng)
        drawn = _draw(np.repeat(perturbed, batch, axis=0), rng)[: n_samples - done]
        X[done : done + len(drawn)] = _correlate(drawn * scales[done : done + len(drawn), None], correlation)
        labels[done : done + len(drawn)] = state
        done += len(drawn)
    return Sample(X, np.arange(1.0, n_samples + 1), labels, covariances)


def make_regions(
    n_samples: int = 1200,
    *,
    n_clusters: int = 5,
    n_features: int = 5,
    noise: float = 0.02,
    extent: float = 10.0,
    spacing: float = 2.5,
    spread: tuple[float, float] = (0.3, 1.5),
    concentration: float = 5.0,
    separation: float = 1.0,
    random_state: int = 0,
) -> Sample:
    """Make a map of overlapping regions, each a cloud of places around a centre.

    Parameters
    ----------
    n_samples : number of places; the regions' sizes are Dirichlet(``concentration``)
    noise : alpha; a place at distance d from its centre is perturbed by noise of scale d * alpha
    extent : centres are uniform in a square of this side
    spacing : least distance between centres
    spread : range of the eigenvalues of the regions' shapes
    separation : least Wasserstein-2 distance between clusters
    """
    rng = np.random.default_rng(random_state)
    covariances = make_covariances(n_clusters, n_features, separation=separation, rng=rng)
    centres = space_centres(n_clusters, extent, spacing, rng)
    shares = rng.dirichlet(np.full(n_clusters, concentration))
    labels = np.sort(rng.choice(n_clusters, n_samples, p=shares)).astype(np.int64)
    shapes = np.array([_rotate(rng.uniform(*spread, 2), rng) for _ in range(n_clusters)])
    offsets = _draw(shapes[labels], rng)
    scale = noise * np.linalg.norm(offsets, axis=1)
    X = np.empty((n_samples, n_features))
    for k in range(n_clusters):
        rows = labels == k
        X[rows] = _draw(perturb(covariances[k], scale[rows], rng), rng)
    return Sample(X, centres[labels] + offsets, labels, covariances)


def make_covariances(n_clusters: int, n_features: int, *, separation: float, rng: np.random.Generator) -> Array:
    """Random covariances Q diag(exp U(-1.2, 1.2)) Q^T whose pairwise Wasserstein-2 distances exceed ``separation``."""
    for _ in range(_RESTARTS):
        drawn = np.array([_rotate(np.exp(rng.uniform(-1.2, 1.2, n_features)), rng) for _ in range(_TRIES)])
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


def perturb(covariance: Array, scales: Array, rng: np.random.Generator) -> Array:
    """Add symmetric Gaussian noise of the given scales, at most a tenth of the largest entry, and keep them positive definite.

    Returns (len(scales), d, d). Eigenvalues below a hundredth of the least one of ``covariance`` are raised to it.
    """
    d = covariance.shape[0]
    scales = np.minimum(scales, 0.1 * np.abs(covariance).max())
    raw = rng.normal(size=(scales.size, d, d))
    symmetric = np.triu(raw) + np.swapaxes(np.triu(raw, 1), 1, 2)
    values, vectors = np.linalg.eigh(covariance + scales[:, None, None] * symmetric)
    floor = 0.01 * np.linalg.eigvalsh(covariance)[0]
    return (vectors * np.maximum(values, floor)[:, None, :]) @ np.swapaxes(vectors, 1, 2)


def _draw(covariances: Array, rng: np.random.Generator) -> Array:
    """One Gaussian vector of mean zero from each covariance."""
    z = rng.normal(size=covariances.shape[:2])
    return np.asarray((np.linalg.cholesky(covariances) @ z[:, :, None])[:, :, 0])


def _check_dependence(correlation: float, tails: float | None, volatility: float) -> None:
    if not -1 < correlation < 1:
        raise ValueError(f"correlation={correlation} must be a number between -1 and 1")
    if tails is not None and not 2 < tails < np.inf:
        raise ValueError(
            f"tails={tails} must be a number > 2, or None; with fewer degrees of freedom there is no variance"
        )
    if not 0 <= volatility < np.inf:
        raise ValueError(f"volatility={volatility} must be a number >= 0")


def _draw_scales(count: int, tails: float | None, volatility: float, rng: np.random.Generator) -> Array:
    """Factors (count,) that give Gaussian draws the tails of a t distribution and a volatility that comes and goes."""
    scales = np.ones(count)
    if tails is not None:
        scales *= np.sqrt((tails - 2) / rng.chisquare(tails, count))
    if volatility:
        scales *= np.exp(lfilter([1.0], [1.0, -_PERSISTENCE], rng.normal(scale=volatility, size=count)))
    return scales


def _correlate(draws: Array, correlation: float) -> Array:
    """Make independent draws (length, d) a stationary autoregressive series that begins with the first of them."""
    fresh = np.sqrt(1 - correlation**2)
    return np.asarray(lfilter([fresh], [1.0, -correlation], draws, axis=0, zi=(1 - fresh) * draws[:1])[0])


def _rotate(values: Array, rng: np.random.Generator) -> Array:
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
