"""The condensed tree of HDBSCAN: in the form of the hdbscan package, and cut into a given number of clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.clustering.neighbor_search import find_roots
from mcgta.kernels.tree.hierarchy import Condensed, condense
from mcgta.runtime.types import Array, Index, Labels


@dataclass(frozen=True, eq=False)
class CondensedTree:
    """The clusters of a hierarchy of N observations, and where each observation falls out.

    The rows are those of ``condensed_tree_`` of the hdbscan package: a row says that a child leaves its parent. Numbers
    below N are observations, N is the root, and larger ones are clusters. Rows are sorted by parent, then by child.

    Attributes
    ----------
    parent : (R,) the cluster that is left
    child : (R,) the observation that falls out of it, or the cluster that parts from others
    lambda_val : (R,) the density at which that happens: one over the loss, infinite at loss 0
    child_size : (R,) observations in the child
    """

    parent: Index
    child: Index
    lambda_val: Array
    child_size: Index

    def __len__(self) -> int:
        return self.parent.size

    def to_numpy(self) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        """Return the rows as one structured array, with a field for each attribute."""
        fields = [("parent", np.int64), ("child", np.int64), ("lambda_val", np.float64), ("child_size", np.int64)]
        rows = np.empty(len(self), dtype=fields)
        for name, _ in fields:
            rows[name] = getattr(self, name)
        return rows


def condensed_tree(linkage: Array, min_cluster_size: int) -> CondensedTree:
    """Return the condensed tree of (N - 1, 4) merges of single linkage, as SciPy writes them."""
    clusters = condense(linkage, min_cluster_size)
    count = clusters.home.size
    parent = np.concatenate([clusters.home, clusters.parent[1:]])
    child = np.concatenate([np.arange(count), count + np.arange(1, clusters.parent.size)])
    density = np.concatenate([_leaving_densities(linkage, min_cluster_size), clusters.birth[1:]])
    size = np.concatenate([np.ones(count, dtype=np.int64), clusters.size[1:]])
    order = np.lexsort((child, parent))
    return CondensedTree(count + parent[order], child[order], density[order], size[order])


def _leaving_densities(linkage: Array, min_cluster_size: int) -> Array:
    """Return the (N,) densities at which observations fall out of their smallest cluster.

    That is the first merge, from the observation upwards, which has as many observations as a cluster needs.
    """
    count = linkage.shape[0] + 1
    merges = np.arange(count, 2 * count - 1)
    above = np.arange(2 * count - 1)
    for side in range(2):
        above[linkage[:, side].astype(np.int64)] = merges
    large = merges[linkage[:, 3] >= min_cluster_size]
    above[large] = large  # where the way up ends
    weight = linkage[find_roots(above)[:count] - count, 2]
    return np.divide(1.0, weight, out=np.full(count, np.inf), where=weight > 0)


def select_clusters(clusters: Condensed, n_clusters: int, *, epsilon: float = 0.0) -> Labels | None:
    """Return the (N,) labels of the ``n_clusters`` clusters with the largest total stability; None where there are fewer.

    None of the clusters is within another, and none is the root. Clusters that part below ``epsilon`` are taken only next
    to the root, as there is nothing wider. Where HDBSCAN without epsilon selects so many clusters these are the same.
    """
    stability = _finite(clusters.stability)
    wide = (clusters.birth * epsilon <= 1.0) | (clusters.parent == 0)
    # Of each cluster: the largest stability of 0, 1, ... clusters in it, and how each was put together.
    best = [np.zeros(1) for _ in stability]
    plans: list[list[tuple[int, Index]]] = [[] for _ in stability]
    takes_itself = np.zeros(stability.size, dtype=bool)
    for c in range(stability.size - 1, 0, -1):
        if wide[c] and (best[c].size == 1 or best[c][1] <= stability[c]):
            takes_itself[c] = True
            best[c] = np.concatenate([[0.0, stability[c]], best[c][2:]])
        around = clusters.parent[c]
        best[around], share = _join(best[around], best[c], n_clusters)
        plans[around].append((c, share))
    if best[0].size <= n_clusters:
        return None
    labels = np.full(stability.size, -1)
    wanted = np.zeros(stability.size, dtype=np.int64)
    wanted[0] = n_clusters
    given = 0
    for c in range(stability.size):
        if c > 0:
            labels[c] = labels[clusters.parent[c]]
        if wanted[c] == 1 and takes_itself[c]:
            labels[c] = given
            given += 1
            continue
        left = int(wanted[c])
        for child, share in reversed(plans[c]):
            wanted[child] = share[left]
            left -= int(share[left])
    return labels[clusters.home]


def _finite(stability: Array) -> Array:
    """Return stabilities whose infinite ones are as much as all others together, twice and more."""
    finite = np.where(np.isfinite(stability), stability, 0.0)
    return np.where(np.isfinite(stability), stability, 1.0 + 2.0 * finite.sum())


def _join(one: Array, two: Array, most: int) -> tuple[Array, Index]:
    """Return the largest sums for 0, 1, ... clusters out of two sets, and how many of these are of the second."""
    size = min(one.size + two.size - 1, most + 1)
    sums = np.full(size, -np.inf)
    share = np.zeros(size, dtype=np.int64)
    for k, value in enumerate(two[:size]):
        reached = sums[k : k + one.size]
        with_k = one[: reached.size] + value
        better = with_k > reached
        reached[better] = with_k[better]
        share[k : k + one.size][better] = k
    return sums, share
