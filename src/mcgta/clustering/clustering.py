"""Stage 6: density-based clustering on the loss (line 10 of Algorithm 1).

The algorithms ask for little, and a neighbour search (:class:`NeighborSearch`) need not hold the losses of all pairs. A border
observation of DBSCAN within reach of several clusters goes to the one whose first core observation comes first, as in
scikit-learn. Ties
of HDBSCAN are treated in :mod:`mcgta.kernels.tree.hierarchy`. OPTICS visits, and rounds, as scikit-learn's does.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.cluster import cluster_optics_dbscan, cluster_optics_xi

from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.labels import drop_small, number
from mcgta.kernels.tree.hierarchy import hierarchy_labels
from mcgta.runtime.types import Array, Index, Labels, Mask

CLUSTERERS = ("dbscan", "hdbscan", "optics")
_XI = 0.05  # scikit-learn's default: the relative step of reachability that ends a cluster


class NeighborSearch(Protocol):
    """Who is near whom among N observations; each answer comes with the number of pairs that had to be compared."""

    def __len__(self) -> int: ...

    def dense(self, eps: float, wanted: int, *, known: Labels | None = None) -> tuple[Mask, int]:
        """Tell which rows have ``wanted`` within eps, themselves included; ``known`` says it (1, 0) of all but those at -1."""

    def components(self, eps: float, core: Mask) -> tuple[Labels, int]:
        """Rank the components of the core rows by their first members, -1 for other rows."""

    def border(self, eps: float, ranks: Labels) -> tuple[Labels, int]:
        """Give rows without a cluster (-1) the lowest number of a clustered one within eps."""

    def own(self, wanted: Mask, k: int) -> tuple[Array, int]:
        """Loss of the k-th nearest, itself included, of the wanted rows; infinite for others."""

    def reach(self, labels: Labels, core: Mask, own: Array, *, others: bool = False) -> Array:
        """Loss at which each row reaches its cluster, infinite for noise; ``others`` leaves the row itself out."""

    def span(self, min_samples: int) -> tuple[Index, Index, Array, Array, int]:
        """Edges (i, j, weight) of a minimum spanning tree of mutual reachability, and core distances."""

    def order(self, min_samples: int) -> tuple[Index, Array, Array, Index, int]:
        """Rows in the order of OPTICS; reachability, core distance and predecessor of each row."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """A clustering of N observations.

    Attributes
    ----------
    labels : (N,) cluster of each observation, -1 for noise
    core : (N,) whether the observation is a core one (DBSCAN), or clustered at all (other algorithms)
    own : (N,) the loss a core observation needs to stand in a dense place: that to the ``min_samples``-th nearest, itself
        included (DBSCAN), or to the nearest other member of its cluster (other algorithms); inf for the rest. NaN until
        :func:`densities` has found it
    radii : (K,) for each cluster the loss up to which it takes in new observations: eps (DBSCAN), or the largest
        ``own`` of its members
    eps : the radius used, NaN where there is none
    ordering, reachability : (N,) rows in the order of OPTICS, and how near each row was when it was visited; None for others
    """

    labels: Labels
    core: Mask
    own: Array
    radii: Array
    eps: float = np.nan
    ordering: Index | None = None
    reachability: Array | None = None


def find_clusters(
    matrix: Array,
    clusterer: Any = "dbscan",
    *,
    eps: float | str = "auto",
    min_samples: int = 5,
    min_cluster_size: int | None = None,
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
    near = BruteForceSearch.of_table(matrix)
    if isinstance(clusterer, str):
        options: dict[str, Any] = {"eps": eps, "min_samples": min_samples, "min_cluster_size": min_cluster_size}
        found, _ = cluster(near, clusterer, **options)
    else:
        found = cluster_by_object(matrix, clusterer)
    return densities(near, found, min_samples)


def cluster(
    near: NeighborSearch,
    clusterer: str = "dbscan",
    *,
    eps: float | str = "auto",
    min_samples: int = 5,
    min_cluster_size: int | None = None,
    known: Labels | None = None,
) -> tuple[Clustering, int]:
    """Cluster without the table of losses, with the parameters of :func:`find_clusters`; return the pairs compared, too.

    DBSCAN may be told which rows are known to be core (1) or not (0), and which not known (-1).
    ``own`` of the clustering, and ``radii`` but for DBSCAN, are left open (NaN).
    """
    count = len(near)
    if clusterer == "dbscan":
        return _dbscan(near, eps, min_samples, min_cluster_size or 1, known)
    if clusterer not in CLUSTERERS:
        raise ValueError(
            f"clusterer={clusterer!r} is not one of {', '.join(CLUSTERERS)}, nor an object with fit_predict"
        )
    size = max(2, min_cluster_size or min_samples)
    radius = np.nan if eps == "auto" else float(eps)
    if max(min_samples, size) > count:  # no place is dense enough, no cluster large enough
        return of_members(np.full(count, -1), radius), 0
    if clusterer == "hdbscan":
        i, j, weight, _, exact = near.span(min_samples)
        least = 0.0 if eps == "auto" else float(eps)
        return of_members(hierarchy_labels(i, j, weight, min_cluster_size=size, epsilon=least), radius), exact
    ordering, reachability, core, predecessor, exact = near.order(min_samples)
    if eps == "auto":
        with warnings.catch_warnings():
            # Reachability ratios of identical observations are 0/0; scikit-learn handles and still reports them.
            warnings.simplefilter("ignore", RuntimeWarning)
            labels, _ = cluster_optics_xi(
                reachability=reachability,
                predecessor=predecessor,
                ordering=ordering,
                min_samples=min_samples,
                min_cluster_size=size,
                xi=_XI,
            )
    else:
        labels = cluster_optics_dbscan(
            reachability=reachability, core_distances=core, ordering=ordering, eps=float(eps)
        )
    found = of_members(drop_small(labels, size), radius)
    return replace(found, ordering=ordering, reachability=reachability), exact


def cluster_by_object(matrix: Array, clusterer: Any) -> Clustering:
    """Cluster by an object with ``fit_predict`` that takes a precomputed matrix; ``own`` and ``radii`` are left open."""
    # A copy, since some algorithms write into what they are given.
    labels = np.asarray(clone(clusterer, safe=False).fit_predict(matrix.copy()))
    if labels.shape != (len(matrix),) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"clusterer={clusterer!r}: fit_predict returned {labels.dtype} of shape {labels.shape}, not {len(matrix)} integers"
        )
    return of_members(labels, np.nan)


def densities(near: NeighborSearch, clustering: Clustering, min_samples: int) -> Clustering:
    """Find what a clustering leaves open: ``own`` and ``radii``."""
    labels, core, radii = clustering.labels, clustering.core, clustering.radii
    if not np.isnan(radii).any():
        return replace(clustering, own=near.own(core, min(min_samples, len(near)))[0])
    # Not DBSCAN: members hold a cluster together, as near as the nearest other one.
    own = near.reach(labels, core, np.where(core, 0.0, np.inf), others=True)
    own[core & np.isinf(own)] = 0.0  # alone
    radii = np.zeros(radii.size)
    np.maximum.at(radii, labels[core], own[core])
    return replace(clustering, own=own, radii=radii)


def settle(near: NeighborSearch, clustering: Clustering, min_samples: int) -> tuple[Clustering, Array]:
    """Find what a clustering leaves open, and the loss at which each row reaches its cluster."""
    found = densities(near, clustering, min_samples)
    return found, near.reach(found.labels, found.core, found.own)


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


def _dbscan(
    near: NeighborSearch, eps: float | str, min_samples: int, size: int, known: Labels | None
) -> tuple[Clustering, int]:
    if eps == "auto":
        own, exact = near.own(np.ones(len(near), dtype=bool), min(min_samples, len(near)))
        radius = knee(own)
        core = own <= radius if min_samples <= len(near) else np.zeros(len(near), dtype=bool)
    else:
        radius = float(eps)
        core, exact = near.dense(radius, min_samples, known=known)
    ranks, connecting = near.components(radius, core)
    labels, attaching = near.border(radius, ranks)
    labels = number(drop_small(labels, size))
    core = core & (labels >= 0)
    radii = np.full(labels.max(initial=-1) + 1, radius)
    return Clustering(labels, core, np.where(core, np.nan, np.inf), radii, radius), exact + connecting + attaching


def of_members(labels: Labels, eps: float) -> Clustering:
    """Return a clustering whose members hold its clusters together."""
    labels = number(labels)
    inside = labels >= 0
    radii = np.full(labels.max(initial=-1) + 1, np.nan)
    return Clustering(labels, inside, np.where(inside, np.nan, np.inf), radii, eps)
