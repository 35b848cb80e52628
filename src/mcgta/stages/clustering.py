"""Stage 6: density-based clustering on the loss (line 10 of Algorithm 1).

Labels are numbered by the first member of each cluster in the order of the rows, which the estimator has sorted by
group, position and features; noise is -1. A border observation of DBSCAN within reach of several clusters goes to the
one whose first core observation comes first in that order, as in scikit-learn.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS

from mcgta.kernels.hierarchy import hierarchy_labels, spanning_tree
from mcgta.parallel import tiles
from mcgta.types import Array, Labels, Mask

_TILE = 512
CLUSTERERS = ("dbscan", "hdbscan", "optics")


@dataclass(frozen=True, eq=False)
class Clustering:
    """A clustering of N observations.

    Attributes
    ----------
    labels : (N,) cluster of each observation, -1 for noise
    core : (N,) whether the observation is a core one (DBSCAN), or clustered at all (other algorithms)
    own : (N,) the loss a core observation needs to stand in a dense place: that to the ``min_samples``-th nearest, itself
        included (DBSCAN), or to the nearest other member of its cluster (other algorithms); inf for the rest
    radii : (K,) for each cluster the loss up to which it takes in new observations: eps (DBSCAN), or the largest
        ``own`` of its members
    eps : the radius used, NaN where there is none
    """

    labels: Labels
    core: Mask
    own: Array
    radii: Array
    eps: float = np.nan


def find_clusters(
    matrix: Array,
    clusterer: Any = "dbscan",
    *,
    eps: float | str = "auto",
    min_samples: int = 5,
    min_cluster_size: int | None = None,
    n_jobs: int | None = None,
) -> Clustering:
    """Cluster observations given the loss of every pair.

    Parameters
    ----------
    matrix : (N, N) symmetric, zero on the diagonal
    clusterer : "dbscan", "hdbscan", "optics", or an object with ``fit_predict`` that takes a precomputed matrix
    eps : radius of DBSCAN; with OPTICS the reachability at which clusters are cut, with HDBSCAN the loss below which
        clusters are not split further. "auto" is :func:`knee` for DBSCAN, the xi method for OPTICS, 0 for HDBSCAN
    min_samples : observations within eps, itself included, that make an observation core
    min_cluster_size : smaller clusters are noise; ``min_samples`` by default for HDBSCAN and OPTICS, 1 for DBSCAN
    """
    count = matrix.shape[0]
    if clusterer == "dbscan":
        own = to_nearest(matrix, min(min_samples, count))
        radius = knee(own) if eps == "auto" else float(eps)
        # A radius of zero still joins observations at loss zero; scikit-learn wants it positive.
        found = DBSCAN(
            eps=max(radius, np.finfo(float).tiny), min_samples=min_samples, metric="precomputed", n_jobs=n_jobs
        ).fit(matrix)
        core = np.zeros(count, dtype=bool)
        core[found.core_sample_indices_] = True
        labels = number(drop_small(found.labels_, min_cluster_size or 1))
        radii = np.full(labels.max(initial=-1) + 1, radius)
        return Clustering(labels, core & (labels >= 0), np.where(core & (labels >= 0), own, np.inf), radii, radius)
    if isinstance(clusterer, str) and clusterer not in CLUSTERERS:
        raise ValueError(
            f"clusterer={clusterer!r} is not one of {', '.join(CLUSTERERS)}, nor an object with fit_predict"
        )
    size = max(2, min_cluster_size or min_samples)
    if isinstance(clusterer, str) and max(min_samples, size) > count:
        labels = np.full(count, -1)  # no place is dense enough, no cluster large enough
    elif clusterer == "hdbscan" and eps != "auto":
        # scikit-learn 1.9 fails on this with NumPy 2.4 (its issue 33219).
        tree = spanning_tree(matrix, min_samples)
        labels = hierarchy_labels(*tree, min_cluster_size=size, epsilon=float(eps))
    elif clusterer == "hdbscan":
        algorithm = HDBSCAN(
            min_cluster_size=size,
            min_samples=min_samples,
            metric="precomputed",
            copy=True,
            n_jobs=n_jobs,
        )
        labels = algorithm.fit_predict(matrix)
    elif clusterer == "optics":
        cut = {"cluster_method": "xi"} if eps == "auto" else {"cluster_method": "dbscan", "eps": float(eps)}
        algorithm = OPTICS(
            min_samples=min_samples,
            min_cluster_size=size,
            metric="precomputed",
            n_jobs=n_jobs,
            **cut,
        )
        with warnings.catch_warnings():
            # Reachability ratios of identical observations are 0/0; scikit-learn handles and still reports them.
            warnings.simplefilter("ignore", RuntimeWarning)
            labels = drop_small(algorithm.fit(matrix).labels_, size)
    else:
        # A copy, since some algorithms write into what they are given.
        labels = np.asarray(clone(clusterer, safe=False).fit_predict(matrix.copy()))
        if labels.shape != (count,) or labels.dtype.kind not in "iu":
            raise ValueError(
                f"clusterer={clusterer!r}: fit_predict returned {labels.dtype} of shape {labels.shape}, not {count} integers"
            )
    labels = number(labels)
    own, radii = _nearest_members(matrix, labels)
    return Clustering(labels, labels >= 0, own, radii, np.nan if eps == "auto" else float(eps))


def to_nearest(matrix: Array, k: int) -> Array:
    """Return each row's k-th smallest entry, a tile of rows at a time."""
    parts = tiles(matrix.shape[0], _TILE)
    return np.concatenate([np.partition(matrix[part], k - 1, axis=1)[:, k - 1] for part in parts])


def knee(heights: Array) -> float:
    """Return the height at the knee of the sorted curve: where it is farthest below the chord between its ends.

    With the distance of every observation to its ``min_samples``-th nearest this is the usual reading of the
    k-distance plot of DBSCAN (Ester et al. 1996).
    """
    curve = np.sort(heights)
    low, high = curve[0], curve[-1]
    if high <= low:
        return float(high)
    below = np.linspace(0, 1, curve.size) - (curve - low) / (high - low)
    return float(curve[np.argmax(below)])


def number(labels: Labels) -> Labels:
    """Renumber clusters 0, 1, ... by their first member; negative labels become -1."""
    out = np.full(labels.shape, -1, dtype=np.int64)
    clustered = labels >= 0
    names, first, code = np.unique(labels[clustered], return_index=True, return_inverse=True)
    rank = np.empty(names.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(names.size)
    out[clustered] = rank[code]
    return out


def drop_small(labels: Labels, size: int) -> Labels:
    """Make clusters of fewer than ``size`` observations noise."""
    names, counts = np.unique(labels[labels >= 0], return_counts=True)
    return np.where(np.isin(labels, names[counts >= size]), labels, -1)


def _nearest_members(matrix: Array, labels: Labels) -> tuple[Array, Array]:
    own = np.full(labels.shape, np.inf)
    radii = np.zeros(labels.max(initial=-1) + 1)
    for label in range(radii.size):
        members = np.flatnonzero(labels == label)
        if members.size == 1:
            own[members] = 0.0
            continue
        inside = matrix[np.ix_(members, members)]
        np.fill_diagonal(inside, np.inf)
        own[members] = np.maximum(inside.min(axis=1), 0.0)
        radii[label] = own[members].max()
    return own, radii
