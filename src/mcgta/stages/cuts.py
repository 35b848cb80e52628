"""DBSCAN at every radius: one spanning tree of mutual reachability, cut where the radius says.

Two cores hang together at eps where the tree joins them by edges up to eps (single linkage of mutual reachability), and a
row is a core where its own core distance is at most eps. What is left is the border: rows within eps of a core.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcgta.kernels.hierarchy import labels_at, single_linkage
from mcgta.progress import Progress
from mcgta.stages.clustering import Near
from mcgta.stages.labelling import drop_small, number
from mcgta.types import Array, Labels


@dataclass(frozen=True, eq=False)
class Cuts:
    """A hierarchy of N observations.

    Attributes
    ----------
    core : (N,) loss of each one's ``min_samples``-th nearest, itself included
    linkage : (N - 1, 4) merges, as SciPy writes them
    near : who knows who is within a radius of whom
    """

    core: Array
    linkage: Array
    near: Near

    @classmethod
    def of(cls, near: Near, min_samples: int, *, n_jobs: int | None = None, progress: Progress | None = None) -> Cuts:
        """Make it for those that stand in a dense place with ``min_samples`` observations."""
        i, j, weights, core, _ = near.span(min_samples, n_jobs=n_jobs, progress=progress)
        return cls(core, single_linkage(i, j, weights), near)

    def labels_at(
        self, eps: float, *, min_cluster_size: int = 1, n_jobs: int | None = None, progress: Progress | None = None
    ) -> Labels:
        """Return DBSCAN's labels for a radius."""
        cores = labels_at(self.linkage, self.core, eps)
        labels, _ = self.near.border(eps, cores, n_jobs=n_jobs, progress=progress)
        return number(drop_small(labels, min_cluster_size))
