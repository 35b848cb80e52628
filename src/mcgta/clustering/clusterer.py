"""What every clusterer can do, and the options of one clustering.

A new clusterer is a subclass of :class:`Clusterer` in a file of its own, and a row of
:data:`mcgta.clustering.registry.CLUSTERERS`. It has to say its name and to :meth:`~Clusterer.cluster`; the other members have
defaults, and the capabilities are read by the estimator instead of the name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mcgta.clustering.clustering import Clustering
from mcgta.clustering.linkage import SingleLinkage
from mcgta.clustering.neighbor_search import CachedSearch, NeighborSearch
from mcgta.runtime.types import Labels


@dataclass(frozen=True, eq=False)
class ClusterOptions:
    """The options of one clustering.

    Attributes
    ----------
    eps : the radius; None leaves it to the clusterer (the knee for DBSCAN, the xi method for OPTICS, 0 for HDBSCAN)
    min_samples : observations within a radius, itself included, that make an observation core
    min_cluster_size : smaller clusters are noise; None is the clusterer's default, see :meth:`Clusterer.smallest_cluster`
    known_core : (N,) whether rows are known to be core (1) or not (0), or have to be counted (-1)
    """

    eps: float | None = None
    min_samples: int = 5
    min_cluster_size: int | None = None
    known_core: Labels | None = None


class Clusterer(ABC):
    """A way to make clusters of losses.

    Attributes
    ----------
    name : what the user calls it
    needs_eps : whether the estimator finds a radius where the user gives none
    needs_table : whether it takes the losses of all pairs as a table
    needs_nonnegative : whether it takes losses for distances, which are not negative
    takes_options : whether ``ClusterOptions`` have an effect
    takes_known_core : whether it makes use of ``ClusterOptions.known_core``
    tunes_eps : whether several radii are worth trying
    least_min_samples : the least ``min_samples`` that it takes
    """

    name: str
    needs_eps: bool = False
    needs_table: bool = False
    needs_nonnegative: bool = True
    takes_options: bool = True
    takes_known_core: bool = False
    tunes_eps: bool = True
    least_min_samples: int = 1

    @abstractmethod
    def cluster(self, search: NeighborSearch, options: ClusterOptions) -> Clustering:
        """Cluster the observations of a neighbour search; densities may be left open (NaN)."""

    def proposals(self, search: NeighborSearch, options: ClusterOptions) -> Iterator[tuple[dict[str, Any], Labels]]:
        """Yield settings to try, as parameters of the estimator, and the labels of each."""
        yield {}, self.cluster(search, options).labels

    def at_radii(self, search: NeighborSearch, options: ClusterOptions, radii: Iterable[float]) -> Iterator[Labels]:
        """Yield the labels for each of several radii."""
        cached = CachedSearch(search)
        for eps in radii:
            yield self.cluster(cached, replace(options, eps=eps)).labels

    def cut(self, search: NeighborSearch, options: ClusterOptions, n_clusters: int) -> Clustering:
        """Return exactly so many clusters: those of the best radius of DBSCAN, see :meth:`SingleLinkage.cut`."""
        linkage = SingleLinkage.of(search, options.min_samples)
        chosen = linkage.cut(n_clusters, min_cluster_size=self.smallest_cluster(options))
        return Clustering.of_members(chosen.labels, chosen.eps, comparisons=linkage.comparisons)

    def smallest_cluster(self, options: ClusterOptions) -> int:
        """Return the size below which a cluster is noise; at least two observations."""
        return max(2, options.min_cluster_size or options.min_samples)
