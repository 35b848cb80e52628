"""Clusterings of a neighbour search, in one call."""

from __future__ import annotations

from typing import Any

from mcgta.clustering.clusterer import ClusterOptions
from mcgta.clustering.clustering import Clustering
from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.clustering.registry import get_clusterer


def cluster(search: NeighborSearch, clusterer: str = "dbscan", **options: Any) -> Clustering:
    """Cluster by name."""
    return get_clusterer(clusterer).cluster(search, ClusterOptions(**options))
