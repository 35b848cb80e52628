"""Clustering by an object of the user, with ``fit_predict`` on the table of all losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS

from mcgta.clustering.clusterer import Clusterer, ClusterOptions
from mcgta.clustering.clustering import Clustering
from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.runtime.types import Labels


class ObjectClusterer(Clusterer):
    """An object with ``fit_predict`` that takes a precomputed matrix; the object itself is never changed."""

    needs_table = True
    takes_options = False
    tunes_eps = False

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.name = type(estimator).__name__
        self.needs_nonnegative = isinstance(estimator, (DBSCAN, HDBSCAN, OPTICS))

    def cluster(self, search: NeighborSearch, options: ClusterOptions) -> Clustering:
        """Cluster by a copy of the object; options have no effect."""
        del options
        return self._cluster_by(clone(self.estimator, safe=False), search)

    def at_radii(self, search: NeighborSearch, options: ClusterOptions, radii: Iterable[float]) -> Iterator[Labels]:
        """Refuse radii, which the object would not know of."""
        raise ValueError(f"clusterer={self.estimator!r} takes no radius from here; set it on the object itself")

    def cut(self, search: NeighborSearch, options: ClusterOptions, n_clusters: int) -> Clustering:
        """Cluster by a copy of the object whose parameter ``n_clusters`` is set."""
        del options
        copy = clone(self.estimator, safe=False)
        if not hasattr(copy, "n_clusters"):
            raise ValueError(f"n_clusters={n_clusters}: clusterer={self.estimator!r} has no parameter n_clusters")
        copy.n_clusters = n_clusters
        clustering = self._cluster_by(copy, search)
        if clustering.radii.size != n_clusters:
            raise ValueError(
                f"n_clusters={n_clusters}: clusterer={copy!r} returned {clustering.radii.size} clusters all the same"
            )
        return clustering

    def _cluster_by(self, estimator: Any, search: NeighborSearch) -> Clustering:
        if search.table is None:
            raise ValueError(
                f"clusterer={self.estimator!r} needs the table of all losses, which this search does not hold"
            )
        # A copy, since some algorithms write into what they are given.
        labels = np.asarray(estimator.fit_predict(search.table.copy()))
        if labels.shape != (len(search),) or labels.dtype.kind not in "iu":
            raise ValueError(
                f"clusterer={self.estimator!r}: fit_predict returned {labels.dtype} of shape {labels.shape}, not "
                f"{len(search)} integers"
            )
        return Clustering.of_members(labels)


def check_takes_distances(clusterer: Any) -> None:
    """Refuse clusterer objects that would read the table of losses as something else."""
    if getattr(clusterer, "affinity", None) is not None:
        raise ValueError(
            f"clusterer={clusterer!r} takes affinities, which are large for similar pairs; the loss is small for them"
        )
    silent = object() if type(clusterer).__module__.startswith("sklearn.") else "precomputed"
    if getattr(clusterer, "metric", silent) != "precomputed":
        raise ValueError(
            f"clusterer={clusterer!r} must be made with metric='precomputed': it is given the loss of every pair"
        )
