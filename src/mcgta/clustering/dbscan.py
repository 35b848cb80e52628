"""DBSCAN (Ester et al. 1996) on the loss.

A border observation within reach of several clusters goes to the one whose first core observation comes first, as in
scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mcgta.clustering.clusterer import Clusterer, ClusterOptions
from mcgta.clustering.clustering import Clustering
from mcgta.clustering.labels import small_to_noise
from mcgta.clustering.linkage import SingleLinkage
from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.runtime.types import Array, Labels

RADIUS_QUANTILES = np.linspace(0.2, 0.98, 12)
"""The radii to try, as quantiles of the heights at which places hang together."""


class Dbscan(Clusterer):
    """Clusters are core observations joined by steps of at most eps, with the others within eps of them."""

    name = "dbscan"
    needs_eps = True
    takes_known_core = True

    def cluster(self, search: NeighborSearch, options: ClusterOptions) -> Clustering:
        """Cluster at a radius, or at the knee of the core distances."""
        samples = options.min_samples
        if options.eps is None:
            every = np.ones(len(search), dtype=bool)
            distances, comparisons = search.core_distances(every, min(samples, len(search)))
            eps = knee(distances)
            core = (distances <= eps) & (samples <= len(search))
        else:
            eps = options.eps
            core, comparisons = search.core_rows(eps, samples, known=options.known_core)
        components, connecting = search.components(eps, core)
        labels, attaching = search.border(eps, components)
        labels = small_to_noise(labels, self.smallest_cluster(options))
        return Clustering.of_cores(labels, core, eps, comparisons=comparisons + connecting + attaching)

    def proposals(self, search: NeighborSearch, options: ClusterOptions) -> Iterator[tuple[dict[str, Any], Labels]]:
        """Yield several radii, and the labels of each."""
        linkage = SingleLinkage.of(search, options.min_samples)
        radii = np.unique(np.quantile(linkage.heights, RADIUS_QUANTILES)).tolist()
        for eps in radii:
            yield {"eps": eps}, linkage.labels_at(eps, min_cluster_size=self.smallest_cluster(options))

    def at_radii(self, search: NeighborSearch, options: ClusterOptions, radii: Iterable[float]) -> Iterator[Labels]:
        """Yield the labels for each of several radii, read off one spanning tree."""
        if options.min_samples > len(search):  # there are no core rows at any radius
            yield from (np.full(len(search), -1) for _ in radii)
            return
        linkage = SingleLinkage.of(search, options.min_samples)
        for eps in radii:
            yield linkage.labels_at(eps, min_cluster_size=self.smallest_cluster(options))

    def cut(self, search: NeighborSearch, options: ClusterOptions, n_clusters: int) -> Clustering:
        """Return exactly so many clusters, at the radius with the least noise; see :meth:`SingleLinkage.cut`."""
        linkage = SingleLinkage.of(search, options.min_samples)
        chosen = linkage.cut(n_clusters, min_cluster_size=self.smallest_cluster(options))
        core = linkage.core_distances <= chosen.eps
        return Clustering.of_cores(chosen.labels, core, chosen.eps, comparisons=linkage.comparisons)

    def smallest_cluster(self, options: ClusterOptions) -> int:
        """Return the size below which a cluster is noise; none is too small by default."""
        return options.min_cluster_size or 1


def knee(heights: Array) -> float:
    """Return the height at the knee of the sorted curve: where it is farthest below the chord between its ends.

    With the distance of every observation to its ``min_samples``-th nearest this is the usual reading of the
    k-distance plot of DBSCAN (Ester et al. 1996).
    """
    curve = np.sort(heights)
    low = curve[0]
    high = curve[-1]
    if high <= low:
        return float(high)
    below = np.linspace(0, 1, curve.size) - (curve - low) / (high - low)
    return float(curve[np.argmax(below)])
