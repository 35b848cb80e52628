"""From a minimum spanning tree to clusters: the hierarchy of HDBSCAN (Campello, Moulavi and Sander 2013) and its cuts.

The tree is that of the mutual reachability, the largest of two observations' core distances and what is between them. Its
edges from the shortest to the longest are the merges of single linkage. Condensed, a cluster lives from the merge at which
it parts from others, two or more of at least ``min_cluster_size``, down to the merge at which it falls apart in turn; what
is smaller falls out of it on the way. Density is one over the weight, infinite at weight zero. Of all clusters those are
selected whose excess of mass (``stability``) is not less than that of the clusters within them, never the root.

Merges at one weight that hang together are one merge of several parts. So clusters depend on the weights alone, not on which
of several minimum spanning trees was found nor in which order equal edges are taken. Where weights differ, labels are those of
scikit-learn's ``HDBSCAN(allow_single_cluster=False)``. Where they are tied, scikit-learn merges two at a time in the order of
its sort, and an observation that only joins two clusters, which belongs to neither as long as they are apart, goes to one of
them; here it is noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import kernel, native, native_rows
from mcgta.kernels.tree.connect import find
from mcgta.runtime.types import Array, Index, Labels


@dataclass(frozen=True, eq=False)
class Condensed:
    """The K clusters of a hierarchy of N observations, the root first, others by birth and first member.

    Attributes
    ----------
    home : (N,) the smallest cluster that holds the observation
    parent : (K,) the cluster that it is part of, which comes before it; -1 for the root
    birth : (K,) the density at which it parts from others, 0 for the root
    size : (K,) observations in it
    stability : (K,) excess of mass: the density at which each observation leaves it less that at its birth, summed
    """

    home: Index
    parent: Index
    birth: Array
    size: Index
    stability: Array


def hierarchy_labels(i: Index, j: Index, weight: Array, *, min_cluster_size: int, epsilon: float = 0.0) -> Labels:
    """Return the (N,) labels of HDBSCAN, -1 for noise, from the N - 1 edges of a minimum spanning tree.

    Parameters
    ----------
    i, j : (N - 1,) rows that an edge joins
    weight : (N - 1,) mutual reachability of the two, not negative
    min_cluster_size : smaller clusters are noise; 2 or more
    epsilon : clusters that part below this weight are not split
    """
    return linkage_labels(single_linkage(i, j, weight), min_cluster_size=min_cluster_size, epsilon=epsilon)


def linkage_labels(linkage: Array, *, min_cluster_size: int, epsilon: float = 0.0) -> Labels:
    """Return the same from the (N - 1, 4) merges that :func:`single_linkage` makes of the edges."""
    if not epsilon >= 0:
        raise ValueError(f"epsilon={epsilon!r} is not a weight, which is 0 or more")
    found = condense(linkage, min_cluster_size)
    labels = np.empty(found.parent.size, np.int64)
    _select(found.parent, found.birth, found.stability, float(epsilon), labels)
    return labels[found.home]


def single_linkage(i: Index, j: Index, weight: Array) -> Array:
    """Return the merges of single linkage from the N - 1 edges of a spanning tree, in SciPy's format: (N - 1, 4).

    Merge k makes node N + k of the nodes in columns 0 and 1, the lower number first, at the weight in column 2, with as many
    observations as column 3 says. Shorter edges are merged first; of equal ones that with the smaller of its two rows lower,
    then that with the larger of its two rows lower.
    """
    edges = len(weight)
    weights = native(weight)
    if not (weights >= 0).all():
        raise ValueError(f"weight has {np.count_nonzero(~(weights >= 0))} entries that are negative or NaN")
    low = native_rows(np.minimum(i, j), edges + 1)
    high = native_rows(np.maximum(i, j), edges + 1)
    if not low.shape == high.shape == weights.shape == (edges,):
        raise ValueError(
            f"i, j and weight are of shape {np.shape(i)}, {np.shape(j)} and {weights.shape}, not one each an edge"
        )
    linkage = np.empty((edges, 4))
    joined = _merge(low, high, weights, np.lexsort((high, low, weights)), linkage)
    if joined < edges:
        raise ValueError(f"the {edges} edges are no spanning tree: only {joined} of them join what was apart")
    return linkage


def condense(linkage: Array, min_cluster_size: int) -> Condensed:
    """Return the clusters of at least ``min_cluster_size`` among the (N - 1, 4) merges."""
    if min_cluster_size < 2:
        raise ValueError(f"min_cluster_size={min_cluster_size!r} is less than 2")
    merges = _checked(linkage)
    count = merges.shape[0] + 1
    most = max(1, 2 * (count // min_cluster_size) - 1)  # at most so many clusters have nothing in common
    cluster = np.zeros(2 * count - 1, np.int64)
    parent = np.full(most, -1)
    size = np.full(most, count)
    first = np.zeros(most, np.int64)
    birth = np.zeros(most)
    stability = np.zeros(most)
    found = _condense(merges, int(min_cluster_size), cluster, parent, birth, size, stability, first)
    order = np.lexsort((first[:found], birth[:found]))  # found in an order that ties have a say in
    rank = np.empty(found + 1, np.int64)
    rank[order] = np.arange(found)
    rank[-1] = -1
    return Condensed(rank[cluster[:count]], rank[parent[order]], birth[order], size[order], stability[order])


def labels_at(linkage: Array, core: Array, eps: float) -> Labels:
    """Return the (N,) components that merges at weights up to eps make, numbered by their first member.

    Observations whose own core distance (N,) is above eps are -1. So these are the core observations of DBSCAN, with the same
    eps and the ``min_samples`` of the core distances; border ones are left to the caller.
    """
    merges = _checked(linkage)
    count = merges.shape[0] + 1
    if np.shape(core) != (count,):
        raise ValueError(f"core is of shape {np.shape(core)}, not ({count},) as the merges are")
    labels = np.empty(count, np.int64)
    _cut(merges, int(np.searchsorted(merges[:, 2], eps, side="right")), native(core), float(eps), labels)
    return labels


def _checked(linkage: Array) -> Array:
    """Return merges as kernels take them, which do not look whether there are such nodes."""
    merges = native(linkage)
    if merges.ndim != 2 or merges.shape[1] != 4:
        raise ValueError(f"linkage is of shape {merges.shape}, not (N - 1, 4)")
    count = merges.shape[0] + 1
    nodes = merges[:, :2]
    sizes = merges[:, 3]
    made = np.arange(count, 2 * count - 1)[:, None]
    if not ((nodes >= 0) & (nodes < made)).all() or not ((sizes >= 2) & (sizes <= count)).all():
        raise ValueError("linkage merges nodes that are not made before, or has sizes that are not 2 to N")
    return merges


@kernel("int64(int64[::1], int64[::1], float64[::1], int64[::1], float64[:, ::1])")
def _merge(low: Any, high: Any, weight: Any, order: Any, linkage: Any) -> int:
    """Merge along the edges in order; return how many do, which is fewer than all if there is a cycle."""
    count = order.size + 1
    parent = np.arange(count)
    size = np.ones(count, np.int64)
    node = np.arange(count)  # that a root stands for
    for k in range(order.size):
        edge = order[k]
        one = find(parent, low[edge])
        two = find(parent, high[edge])
        if one == two:
            return k
        if size[one] < size[two]:
            one, two = two, one
        linkage[k, 0] = min(node[one], node[two])
        linkage[k, 1] = max(node[one], node[two])
        linkage[k, 2] = weight[edge]
        size[one] += size[two]
        linkage[k, 3] = size[one]
        parent[two] = one
        node[one] = count + k
    return order.size


@kernel(
    "int64(float64[:, ::1], int64, int64[::1], int64[::1], float64[::1], int64[::1], float64[::1], int64[::1])",
    literal=True,
)
def _condense(
    linkage: Any, least: int, cluster: Any, parent: Any, birth: Any, size: Any, stability: Any, first: Any
) -> int:
    """Go down from the last merge, which is cluster 0; note the cluster of every node and return how many there are."""
    count = linkage.shape[0] + 1
    lowest = np.arange(2 * count - 1)  # row of a node
    for k in range(count - 1):
        lowest[count + k] = min(lowest[int(linkage[k, 0])], lowest[int(linkage[k, 1])])
    seen = np.zeros(count - 1, np.bool_)
    parts = np.empty(count, np.int64)
    waiting = np.empty(count, np.int64)
    found = 1
    for k in range(count - 2, -1, -1):
        if seen[k]:
            continue
        here = cluster[count + k]
        if linkage[k, 3] < least and k < count - 2:  # has fallen out before
            cluster[int(linkage[k, 0])] = cluster[int(linkage[k, 1])] = here
            continue
        # What parts here: the nodes below that were made at a lower weight.
        used = leaving = staying = 0
        waiting[0] = count + k
        top = 1
        while top > 0:
            top -= 1
            node = waiting[top]
            if node >= count and linkage[node - count, 2] == linkage[k, 2]:
                seen[node - count] = True
                waiting[top] = int(linkage[node - count, 0])
                waiting[top + 1] = int(linkage[node - count, 1])
                top += 2
                continue
            cluster[node] = here
            members = int(linkage[node - count, 3]) if node >= count else 1
            if members >= least:
                parts[used] = node
                used += 1
                staying += members
            else:
                leaving += members
        density = 1.0 / linkage[k, 2] if linkage[k, 2] > 0.0 else np.inf
        if used > 1:
            leaving += staying
            for part in range(used):
                node = parts[part]
                cluster[node] = found
                size[found] = int(linkage[node - count, 3]) if node >= count else 1
                parent[found] = here
                birth[found] = density
                first[found] = lowest[node]
                found += 1
        if leaving > 0:
            stability[here] += (density - birth[here]) * leaving
    return found


@kernel("void(int64[::1], float64[::1], float64[::1], float64, int64[::1])", literal=True)
def _select(parent: Any, birth: Any, stability: Any, epsilon: float, labels: Any) -> None:
    """Label every cluster by the selected one that it is or is part of, -1 where there is none."""
    count = parent.size
    chosen = np.zeros(count, np.bool_)
    within = np.zeros(count)  # the best that the clusters within come to
    for c in range(count - 1, 0, -1):
        chosen[c] = not within[c] > stability[c]
        within[parent[c]] += stability[c] if chosen[c] else within[c]
    covered = np.zeros(count, np.bool_)
    for c in range(1, count):
        covered[c] = covered[parent[c]] or chosen[parent[c]]
    for c in range(1, count):
        chosen[c] = chosen[c] and not covered[c]
    if epsilon > 0.0:
        # A cluster born below epsilon gives way to the first one around it that was born above, or is next to the root.
        wider = np.arange(count)
        kept = np.zeros(count, np.bool_)
        for c in range(1, count):
            around = parent[c]
            if around > 0:
                wider[c] = around if 1.0 / birth[around] > epsilon else wider[around]
            if chosen[c]:
                kept[wider[c] if 1.0 / birth[c] < epsilon else c] = True
        chosen = kept
    labels[0] = -1
    given = 0
    for c in range(1, count):
        labels[c] = labels[parent[c]]
        if chosen[c]:
            labels[c] = given
            given += 1


@kernel("void(float64[:, ::1], int64, float64[::1], float64, int64[::1])")
def _cut(linkage: Any, merges: int, core: Any, eps: float, labels: Any) -> None:
    """Label the observations by the components of the first so many merges."""
    count = labels.size
    top = np.arange(count + merges)  # the last merge that a node is part of
    for k in range(merges - 1, -1, -1):
        top[int(linkage[k, 0])] = top[int(linkage[k, 1])] = top[count + k]
    number = np.full(count + merges, -1)
    given = 0
    for a in range(count):
        labels[a] = -1
        if core[a] <= eps:
            if number[top[a]] < 0:
                number[top[a]] = given
                given += 1
            labels[a] = number[top[a]]
