"""HDBSCAN (Campello, Moulavi and Sander 2013) on the loss; ties are treated in :mod:`mcgta.kernels.tree.hierarchy`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mcgta.clustering.clusterer import Clusterer, ClusterOptions
from mcgta.clustering.clustering import Clustering
from mcgta.clustering.condensed_tree import select_clusters
from mcgta.clustering.linkage import SingleLinkage
from mcgta.clustering.neighbor_search import CachedSearch, NeighborSearch
from mcgta.kernels.tree.hierarchy import condense, hierarchy_labels
from mcgta.runtime.types import Labels

SIZES_IN_MIN_SAMPLES = (1, 2, 4)
"""The smallest clusters to try, in observations that make a place dense."""


class Hdbscan(Clusterer):
    """Clusters are the most stable ones over all radii."""

    name = "hdbscan"
    tunes_eps = False

    def cluster(self, search: NeighborSearch, options: ClusterOptions) -> Clustering:
        """Select clusters by excess of mass; those that part below eps are not split."""
        size = self.smallest_cluster(options)
        if max(options.min_samples, size) > len(search):  # no place is dense enough, or no cluster large enough
            return Clustering.of_members(np.full(len(search), -1), options.eps)
        tree = search.spanning_tree(options.min_samples)
        labels = hierarchy_labels(tree.i, tree.j, tree.weight, min_cluster_size=size, epsilon=options.eps or 0.0)
        return Clustering.of_members(labels, options.eps, comparisons=tree.comparisons)

    def proposals(self, search: NeighborSearch, options: ClusterOptions) -> Iterator[tuple[dict[str, Any], Labels]]:
        """Yield several sizes of the smallest cluster, where that is left open, and the labels of each."""
        cached = CachedSearch(search)
        given = options.min_cluster_size
        sizes = _sizes_to_try(options.min_samples, len(search)) if given is None else [given]
        for size in sizes:
            yield {"min_cluster_size": size}, self.cluster(cached, replace(options, min_cluster_size=size)).labels

    def cut(self, search: NeighborSearch, options: ClusterOptions, n_clusters: int) -> Clustering:
        """Return exactly so many clusters: the most stable ones of the condensed tree, of which none is within another.

        Where the condensed tree has fewer, they are those of the best radius of DBSCAN.
        """
        cached = CachedSearch(search)
        linkage = SingleLinkage.of(cached, options.min_samples)
        condensed = condense(linkage.linkage, self.smallest_cluster(options))
        labels = select_clusters(condensed, n_clusters, epsilon=options.eps or 0.0)
        if labels is None:
            return super().cut(cached, options, n_clusters)
        return Clustering.of_members(labels, options.eps, comparisons=linkage.comparisons)


def _sizes_to_try(min_samples: int, count: int) -> list[int]:
    """Return sizes of the smallest cluster to try: no more than half of the observations."""
    sizes = [share * min_samples for share in SIZES_IN_MIN_SAMPLES]
    return [size for size in sizes if 2 * size <= count] or [min_samples]
