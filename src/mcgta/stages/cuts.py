"""DBSCAN at every radius: one spanning tree of mutual reachability, cut where the radius says.

Two cores hang together at eps where the tree joins them by edges up to eps (single linkage of mutual reachability), and a
row is a core where its own core distance is at most eps. What is left is the border: rows within eps of a core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.hierarchy import labels_at, single_linkage, spanning_tree
from mcgta.parallel import tiles
from mcgta.progress import Progress
from mcgta.stages.clustering import drop_small, number, to_nearest
from mcgta.stages.loss_tree import LossTree
from mcgta.types import Array, Labels

_TILE = 512


@dataclass(frozen=True, eq=False)
class Cuts:
    """A hierarchy of N observations.

    Attributes
    ----------
    core : (N,) loss of each one's ``min_samples``-th nearest, itself included
    linkage : (N - 1, 4) merges, as SciPy writes them
    near : the tree or the table (N, N) that knows who is within a radius of whom
    """

    core: Array
    linkage: Array
    near: LossTree | Array

    @classmethod
    def by_tree(
        cls, tree: LossTree, min_samples: int, *, n_jobs: int | None = None, progress: Progress | None = None
    ) -> Cuts:
        """Make it by the tree over the models."""
        i, j, weights, core, _ = tree.span(min_samples, n_jobs=n_jobs, progress=progress)
        return cls(core, single_linkage(i, j, weights), tree)

    @classmethod
    def of_table(cls, matrix: Array, min_samples: int) -> Cuts:
        """Make it of the losses of all pairs."""
        return cls(to_nearest(matrix, min_samples), single_linkage(*spanning_tree(matrix, min_samples)), matrix)

    def labels_at(
        self, eps: float, *, min_cluster_size: int = 1, n_jobs: int | None = None, progress: Progress | None = None
    ) -> Labels:
        """Return DBSCAN's labels for a radius."""
        cores = labels_at(self.linkage, self.core, eps)
        if isinstance(self.near, LossTree):
            labels, _ = self.near.border(eps, cores, n_jobs=n_jobs, progress=progress)
        else:
            labels = cores.copy()
            held = np.flatnonzero(cores >= 0)
            loose = np.flatnonzero(cores < 0)
            for part in tiles(loose.size, _TILE):
                rows = loose[part]
                ranks = np.where(self.near[np.ix_(rows, held)] <= eps, cores[held], held.size)
                best = ranks.min(axis=1, initial=held.size)
                labels[rows] = np.where(best < held.size, best, -1)
        return number(drop_small(labels, min_cluster_size))
