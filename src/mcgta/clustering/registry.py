"""The clusterers by name, and clustering from a table of losses."""

from __future__ import annotations

from typing import Any

from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.by_object import ObjectClusterer, check_takes_distances
from mcgta.clustering.clusterer import Clusterer, ClusterOptions
from mcgta.clustering.clustering import Clustering, densities
from mcgta.clustering.dbscan import Dbscan
from mcgta.clustering.hdbscan import Hdbscan
from mcgta.clustering.optics import Optics
from mcgta.runtime.rules import suggest
from mcgta.runtime.types import Array

CLUSTERERS: dict[str, Clusterer] = {clusterer.name: clusterer for clusterer in (Dbscan(), Hdbscan(), Optics())}
"""Every clusterer that has a name."""


def get_clusterer(clusterer: Any) -> Clusterer:
    """Return the clusterer of a name, or of an object with ``fit_predict`` that takes a precomputed matrix."""
    if isinstance(clusterer, Clusterer):
        return clusterer
    if isinstance(clusterer, str) and clusterer in CLUSTERERS:
        return CLUSTERERS[clusterer]
    is_object = not isinstance(clusterer, (str, type)) and callable(getattr(clusterer, "fit_predict", None))
    if not is_object:
        raise ValueError(
            f"clusterer={clusterer!r} is not allowed: clusterer must be one of {', '.join(map(repr, CLUSTERERS))}, or an "
            f"object with fit_predict that takes a precomputed matrix{suggest(clusterer, tuple(CLUSTERERS))}"
        )
    check_takes_distances(clusterer)
    return ObjectClusterer(clusterer)


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
        clusters are not split further. "auto" is :func:`mcgta.clustering.dbscan.knee` for DBSCAN, the xi method for OPTICS,
        0 for HDBSCAN
    min_samples : observations within eps, itself included, that make an observation core
    min_cluster_size : smaller clusters are noise; ``min_samples`` by default for HDBSCAN and OPTICS, 1 for DBSCAN
    """
    search = BruteForceSearch.of_table(matrix)
    options = ClusterOptions(None if eps == "auto" else float(eps), min_samples, min_cluster_size)
    return densities(search, get_clusterer(clusterer).cluster(search, options), min_samples)
