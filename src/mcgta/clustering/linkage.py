"""DBSCAN at every radius: one spanning tree of mutual reachability, cut where the radius says.

Two core rows hang together at eps where the tree joins them by edges up to eps (single linkage of mutual reachability), and
a row is core where its core distance is at most eps. What is left is the border: rows within eps of a core row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.clustering.labels import number_by_first_member, small_to_noise
from mcgta.clustering.neighbor_search import CloserPairs, NeighborSearch
from mcgta.kernels.tree.hierarchy import labels_at, single_linkage
from mcgta.runtime.types import Array, Index, Labels


class ImpossibleCutError(ValueError):
    """No radius gives the clusters that are asked for."""


class RadiusCut(NamedTuple):
    """The labels (N,) of DBSCAN at a radius."""

    labels: Labels
    eps: float


@dataclass(frozen=True, eq=False)
class SingleLinkage:
    """A hierarchy of N observations.

    Attributes
    ----------
    core_distances : (N,) loss of each one's ``min_samples``-th nearest, itself included
    linkage : (N - 1, 4) merges, as SciPy writes them
    search : which knows what is within a radius
    min_samples : observations that make a place dense
    comparisons : pairs compared to find the hierarchy
    """

    core_distances: Array
    linkage: Array
    search: NeighborSearch
    min_samples: int
    comparisons: int = 0

    @classmethod
    def of(cls, search: NeighborSearch, min_samples: int) -> SingleLinkage:
        """Make it for places that are dense with ``min_samples`` observations."""
        if not 1 <= min_samples <= len(search):
            raise ImpossibleCutError(
                f"min_samples={min_samples} must be from 1 to the number of observations, {len(search)}: else no place is dense"
            )
        tree = search.spanning_tree(min_samples)
        linkage = single_linkage(tree.i, tree.j, tree.weight)
        return cls(tree.core_distances, linkage, search, min_samples, tree.comparisons)

    @property
    def heights(self) -> Array:
        """The (N - 1,) radii at which places hang together, ascending."""
        return self.linkage[:, 2]

    def labels_at(self, eps: float, *, min_cluster_size: int = 1) -> Labels:
        """Return DBSCAN's labels for a radius."""
        cores = labels_at(self.linkage, self.core_distances, eps)
        labels, _ = self.search.border(eps, cores)
        return number_by_first_member(small_to_noise(labels, min_cluster_size))

    def cut(self, n_clusters: int, *, min_cluster_size: int = 1) -> RadiusCut:
        """Return DBSCAN's labels at the merge height with exactly ``n_clusters`` clusters and the least noise.

        Of heights with equally much noise the one that stands for the largest interval of radii is taken, up to the next
        height; then the lowest.

        Clusters are counted along the merges, all heights at once. Only where ``min_cluster_size`` matters, and border rows
        decide, are heights looked at one by one, those with the least noise that is possible first. Their border rows are
        read off a list of close pairs that serves every height.
        """
        heights = np.unique(self.heights[np.isfinite(self.heights)])
        sure = self._count_components(heights, min_cluster_size)  # by core rows alone
        most = self._count_components(heights, 1)
        pairs = self.search.closer_pairs(self.core_distances, self.min_samples)
        noise = self._count_unreached(heights, pairs)
        interval = np.diff(heights, append=np.inf)
        possible = np.flatnonzero((sure <= n_clusters) & (n_clusters <= most))
        best: tuple[tuple[float, ...], RadiusCut] | None = None
        for k in possible[np.lexsort((-interval[possible], noise[possible]))].tolist():
            if best is not None and (noise[k], -interval[k], heights[k]) > best[0]:
                break
            eps = float(heights[k])
            labels = self._attach_by(pairs, eps, min_cluster_size)
            key = (float(np.count_nonzero(labels < 0)), -float(interval[k]), eps)
            if labels.max(initial=-1) + 1 == n_clusters and (best is None or key < best[0]):
                best = key, RadiusCut(labels, eps)
        if best is None:
            raise ImpossibleCutError(
                f"{self._why_not(n_clusters, min_cluster_size, most)}; use another n_clusters or min_samples, or refine='all'"
            )
        return best[1]

    def _attach_by(self, pairs: CloserPairs, eps: float, min_cluster_size: int) -> Labels:
        """Return what :meth:`labels_at` returns: a border row is closer to some core row than its own core distance."""
        labels = labels_at(self.linkage, self.core_distances, eps)
        near = (pairs.losses <= eps) & (labels[pairs.rows] < 0) & (labels[pairs.others] >= 0)
        lowest = np.full(labels.size, labels.size)
        np.minimum.at(lowest, pairs.rows[near], labels[pairs.others[near]])
        attached = np.where(lowest < labels.size, lowest, labels)
        return number_by_first_member(small_to_noise(attached, min_cluster_size))

    def _count_components(self, heights: Array, size: int) -> Index:
        """Return how many components of at least ``size`` core rows there are at each height."""
        count = self.core_distances.size
        sizes = np.concatenate([np.ones(count), self.linkage[:, 3]])
        birth = np.concatenate([self.core_distances, self.heights])
        death = np.full(birth.size, np.inf)
        for side in range(2):
            death[self.linkage[:, side].astype(np.int64)] = self.heights
        large = sizes >= size
        born = np.searchsorted(np.sort(birth[large]), heights, side="right")
        gone = np.searchsorted(np.sort(death[large]), heights, side="right")
        return np.asarray(born - gone)

    def _count_unreached(self, heights: Array, pairs: CloserPairs) -> Index:
        """Return how many rows are neither core nor within reach of a core row at each height."""
        entry = self.core_distances.copy()
        np.minimum.at(entry, pairs.rows, np.maximum(pairs.losses, self.core_distances[pairs.others]))
        return np.asarray(entry.size - np.searchsorted(np.sort(entry), heights, side="right"))

    def _why_not(self, n_clusters: int, min_cluster_size: int, counts: Index) -> str:
        """Say how many clusters there are at some radius."""
        asked = f"n_clusters={n_clusters} is not possible with min_samples={self.min_samples}"
        if min_cluster_size > 1:
            asked += f" and min_cluster_size={min_cluster_size}"
        most = int(counts.max(initial=0))
        if most == 0 or n_clusters > most:
            return f"{asked}: there are at most {most} clusters at any merge height"
        if min_cluster_size > 1:
            return f"{asked}: no merge height has exactly so many clusters of that size, and none more than {most} of any size"
        return f"{asked}: there are {_listed(np.unique(counts))} clusters, depending on the merge height"


def _listed(counts: Index) -> str:
    """Say ascending numbers, runs of them by their ends."""
    runs = np.split(counts, np.flatnonzero(np.diff(counts) > 1) + 1)
    return " or ".join(f"{part[0]}" if part.size == 1 else f"{part[0]} to {part[-1]}" for part in runs)
