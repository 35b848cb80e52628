"""OPTICS (Ankerst et al. 1999) on the loss; it visits, and rounds, as scikit-learn's does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.cluster import cluster_optics_dbscan, cluster_optics_xi

from mcgta.clustering.clusterer import Clusterer, ClusterOptions
from mcgta.clustering.clustering import Clustering
from mcgta.clustering.labels import small_to_noise
from mcgta.clustering.neighbor_search import CachedSearch, NeighborSearch, Ordering
from mcgta.runtime.types import Labels

HEIGHT_QUANTILES = (0.5, 0.7, 0.85, 0.95)
"""The heights at which to try a cut, as quantiles of the reachabilities, beside the xi method."""

_RELATIVE_STEP = 0.05  # of reachability, xi, that ends a cluster; scikit-learn's default


class Optics(Clusterer):
    """Clusters are the valleys of the reachability plot."""

    name = "optics"
    least_min_samples = 2

    def cluster(self, search: NeighborSearch, options: ClusterOptions) -> Clustering:
        """Cut the ordering at a reachability, or by the xi method."""
        size = self.smallest_cluster(options)
        if max(options.min_samples, size) > len(search):  # no place is dense enough, or no cluster large enough
            return Clustering.of_members(np.full(len(search), -1), options.eps)
        ordering = search.ordering(options.min_samples)
        eps = options.eps
        labels = _cut_by_xi(ordering, options.min_samples, size) if eps is None else _cut_at(ordering, eps)
        clustering = Clustering.of_members(small_to_noise(labels, size), options.eps, comparisons=ordering.comparisons)
        return replace(clustering, ordering=ordering.order, reachability=ordering.reachability)

    def proposals(self, search: NeighborSearch, options: ClusterOptions) -> Iterator[tuple[dict[str, Any], Labels]]:
        """Yield the xi method and several reachabilities to cut at, and the labels of each."""
        cached = CachedSearch(search)
        reachability = cached.ordering(options.min_samples).reachability
        heights = np.unique(np.quantile(reachability[np.isfinite(reachability)], HEIGHT_QUANTILES)).tolist()
        yield {"eps": "auto"}, self.cluster(cached, replace(options, eps=None)).labels
        for eps in heights:
            yield {"eps": eps}, self.cluster(cached, replace(options, eps=eps)).labels

    def cut(self, search: NeighborSearch, options: ClusterOptions, n_clusters: int) -> Clustering:
        """Return exactly so many clusters, those of the best radius of DBSCAN, and the ordering."""
        clustering = super().cut(search, options, n_clusters)
        ordering = search.ordering(options.min_samples)
        return replace(
            clustering,
            ordering=ordering.order,
            reachability=ordering.reachability,
            comparisons=clustering.comparisons + ordering.comparisons,
        )


def _cut_by_xi(ordering: Ordering, min_samples: int, min_cluster_size: int) -> Labels:
    with warnings.catch_warnings():
        # Reachability ratios of identical observations are 0/0; scikit-learn handles and still reports them.
        warnings.simplefilter("ignore", RuntimeWarning)
        labels, _ = cluster_optics_xi(
            reachability=ordering.reachability,
            predecessor=ordering.predecessor,
            ordering=ordering.order,
            min_samples=min_samples,
            min_cluster_size=min_cluster_size,
            xi=_RELATIVE_STEP,
        )
    return np.asarray(labels)


def _cut_at(ordering: Ordering, eps: float) -> Labels:
    labels = cluster_optics_dbscan(
        reachability=ordering.reachability,
        core_distances=ordering.core_distances,
        ordering=ordering.order,
        eps=eps,
    )
    return np.asarray(labels)
