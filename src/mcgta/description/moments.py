"""Means, scatter and typical rows of clusters, in the units of the user's features.

Rows are gone through some at a time, cluster by cluster, so that memory stays small beside the features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.gaussians.covariance import oas_shrinkage, shrunk
from mcgta.runtime.parallel import run, tiles
from mcgta.runtime.types import Array, Index, Labels

TYPICAL_ROWS = 3
"""Rows that stand for a cluster."""

_ROWS_AT_A_TIME = 65_536
_TIE = 1e-9
"""Mahalanobis distances that differ by less than this share are tied."""


@dataclass(frozen=True, eq=False)
class Moments:
    """First and second moments of K clusters and, as the last of K + 1 parts, of noise.

    Attributes
    ----------
    members : rows of each part, ascending
    counts : (K + 1,) how many
    means : (K + 1, d); 0 for a part without rows
    scatters : (K + 1, d, d) sums of products of what rows differ from the mean of their part by
    """

    members: tuple[Index, ...]
    counts: Index
    means: Array
    scatters: Array

    @classmethod
    def of(cls, X: Array, labels: Labels, n_clusters: int) -> Moments:
        """Compute them of features (N, d) and labels (N,)."""
        part = np.where(labels < 0, n_clusters, labels)
        counts = np.bincount(part, minlength=n_clusters + 1)
        members = np.split(np.argsort(part, kind="stable"), np.cumsum(counts)[:-1])
        found = [_mean_and_scatter(X, rows) for rows in members]
        means = np.array([mean for mean, _ in found])
        return cls(tuple(members), counts, means, np.array([scatter for _, scatter in found]))

    @property
    def n_clusters(self) -> int:
        """K."""
        return int(self.counts.size) - 1

    def deviations(self, cluster: int) -> Array:
        """Return the (d,) standard deviations of a cluster; NaN for a single row."""
        return deviations(self.scatters[cluster], int(self.counts[cluster]))

    def rest(self, cluster: int) -> Rest:
        """Return the moments of all rows outside of a cluster, noise among them."""
        others = np.flatnonzero((np.arange(self.counts.size) != cluster) & (self.counts > 0))
        counts = self.counts[others]
        count = int(counts.sum())
        if count == 0:
            missing = np.full(self.means.shape[1], np.nan)
            return Rest(0, missing, np.full(self.scatters.shape[1:], np.nan), np.full(self.scatters.shape[1:], np.nan))
        # Relative to the cluster's own mean, so that a feature without differences has none here.
        mean = self.means[cluster] + counts @ (self.means[others] - self.means[cluster]) / count
        apart = self.means[others] - mean
        within = self.scatters[others].sum(axis=0)
        return Rest(count, mean, within + (counts[:, None] * apart).T @ apart, within)

    def shrunk_correlations(self, cluster: int) -> Array:
        """Return the (d, d) correlations within a cluster, shrunk towards none; features that do not vary have none."""
        table = correlations(self.scatters[cluster])[None]
        found = shrunk(table, oas_shrinkage(table, self.counts[cluster : cluster + 1].astype(float)))[0]
        np.fill_diagonal(found, 1.0)
        return found

    def partial_correlations(self, cluster: int) -> Array:
        """Return the (d, d) correlations of features within a cluster given all others; 1 on the diagonal."""
        inverse = np.linalg.inv(self.shrunk_correlations(cluster))
        scale = np.sqrt(np.diagonal(inverse))
        partial = -inverse / np.outer(scale, scale)
        partial = 0.5 * (partial + partial.T) + 0.0  # + 0.0: no negative zeros
        np.fill_diagonal(partial, 1.0)
        return np.clip(partial, -1.0, 1.0)

    def typical_rows(self, cluster: int, X: Array) -> tuple[int, ...]:
        """Return the rows nearest to a cluster's centre in Mahalanobis distance; of tied ones the first."""
        rows = self.members[cluster]
        scale = np.sqrt(np.diagonal(self.scatters[cluster]) / max(rows.size - 1, 1))
        weights = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        inverse = np.linalg.inv(self.shrunk_correlations(cluster))

        def measure(part: slice) -> Array:
            scaled = (X[rows[part]] - self.means[cluster]) * weights
            return np.einsum("ij,ij->i", scaled @ inverse, scaled)

        squares = np.concatenate(list(run(measure, tiles(rows.size, _ROWS_AT_A_TIME))))
        wanted = min(TYPICAL_ROWS, rows.size)
        limit = float(np.partition(squares, wanted - 1)[wanted - 1])
        near = np.flatnonzero(squares <= limit * (1 + _TIE))
        level = np.round(squares[near] / (limit * _TIE)) if limit > 0 else np.zeros(near.size)
        return tuple(rows[near[np.lexsort((rows[near], level))[:wanted]]].tolist())


@dataclass(frozen=True, eq=False)
class Rest:
    """Moments of all rows outside of a cluster.

    Attributes
    ----------
    count : how many rows
    mean : (d,)
    scatter : (d, d) about that mean
    within : (d, d) about the means of the clusters, and of noise, that the rows are in
    """

    count: int
    mean: Array
    scatter: Array
    within: Array


def deviations(scatter: Array, count: int) -> Array:
    """Return the (d,) standard deviations of a scatter of some rows; NaN for fewer than two."""
    if count < 2:
        return np.full(len(scatter), np.nan)
    return np.sqrt(np.diagonal(scatter) / (count - 1))


def correlations(scatter: Array) -> Array:
    """Return the (d, d) correlations of a scatter; 0 for features that do not vary, also on the diagonal."""
    scale = np.sqrt(np.diagonal(scatter))
    products = np.outer(scale, scale)
    return np.clip(np.divide(scatter, products, out=np.zeros_like(scatter), where=products > 0), -1.0, 1.0)


def _mean_and_scatter(X: Array, rows: Index) -> tuple[Array, Array]:
    """Return the mean and the scatter of some rows, exact for features that do not vary."""
    d = X.shape[1]
    if rows.size == 0:
        return np.zeros(d), np.zeros((d, d))
    first = X[rows[0]]
    parts = tiles(rows.size, _ROWS_AT_A_TIME)
    mean = first + sum(run(lambda part: (X[rows[part]] - first).sum(axis=0), parts)) / rows.size

    def scatter(part: slice) -> Array:
        apart = X[rows[part]] - mean
        return np.asarray(apart.T @ apart)

    return mean, np.asarray(sum(run(scatter, parts)))
