"""DBSCAN at every radius: one spanning tree of mutual reachability, cut where the radius says.

Two cores hang together at eps where the tree joins them by edges up to eps (single linkage of mutual reachability), and a
row is a core where its own core distance is at most eps. What is left is the border: rows within eps of a core.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcgta.clustering.clustering import NeighborSearch
from mcgta.clustering.labels import drop_small, number
from mcgta.kernels.tree.hierarchy import labels_at, single_linkage
from mcgta.runtime.types import Array, Labels


@dataclass(frozen=True, eq=False)
class SingleLinkage:
    """A hierarchy of N observations.

    Attributes
    ----------
    core : (N,) loss of each one's ``min_samples``-th nearest, itself included
    linkage : (N - 1, 4) merges, as SciPy writes them
    near : who knows who is within a radius of whom
    """

    core: Array
    linkage: Array
    near: NeighborSearch

    @classmethod
    def of(cls, near: NeighborSearch, min_samples: int) -> SingleLinkage:
        """Make it for those that stand in a dense place with ``min_samples`` observations."""
        i, j, weights, core, _ = near.span(min_samples)
        return cls(core, single_linkage(i, j, weights), near)

    def labels_at(self, eps: float, *, min_cluster_size: int = 1) -> Labels:
        """Return DBSCAN's labels for a radius."""
        cores = labels_at(self.linkage, self.core, eps)
        labels, _ = self.near.border(eps, cores)
        return number(drop_small(labels, min_cluster_size))
