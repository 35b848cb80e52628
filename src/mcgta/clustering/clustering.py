"""A clustering of observations: labels, and what holds the clusters together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.runtime.types import Array, Index, Labels, Mask


@dataclass(frozen=True, eq=False)
class Clustering:
    """A clustering of N observations.

    Attributes
    ----------
    labels : (N,) cluster of each observation, -1 for noise
    core : (N,) whether the observation is a core one (DBSCAN), or clustered at all (other algorithms)
    core_distances : (N,) the loss a core observation needs to stand in a dense place: that to the ``min_samples``-th
        nearest, itself included (DBSCAN), or to the nearest other member of its cluster (other algorithms); inf for the
        rest. NaN until :func:`densities` has found it
    radii : (K,) for each cluster the loss up to which it takes in new observations: eps (DBSCAN), or the largest
        core distance of its members. NaN until :func:`densities` has found it
    eps : the radius used, NaN where there is none
    ordering, reachability : (N,) rows in the order of OPTICS, and how near each row was when it was visited; None for others
    comparisons : pairs of observations compared to find the clusters, some more than once
    """

    labels: Labels
    core: Mask
    core_distances: Array
    radii: Array
    eps: float = np.nan
    ordering: Index | None = None
    reachability: Array | None = None
    comparisons: int = 0

    @classmethod
    def of_members(cls, labels: Labels, eps: float | None = None, *, comparisons: int = 0) -> Clustering:
        """Return a clustering whose members hold its clusters together; densities are left open."""
        labels = number_by_first_member(labels)
        inside = labels >= 0
        return cls(
            labels,
            inside,
            core_distances=np.where(inside, np.nan, np.inf),
            radii=np.full(labels.max(initial=-1) + 1, np.nan),
            eps=np.nan if eps is None else eps,
            comparisons=comparisons,
        )

    @classmethod
    def of_cores(cls, labels: Labels, core: Mask, eps: float, *, comparisons: int = 0) -> Clustering:
        """Return a clustering whose core rows hold its clusters together at a radius; densities are left open."""
        labels = number_by_first_member(labels)
        core = core & (labels >= 0)
        return cls(
            labels,
            core,
            core_distances=np.where(core, np.nan, np.inf),
            radii=np.full(labels.max(initial=-1) + 1, eps),
            eps=eps,
            comparisons=comparisons,
        )


def densities(search: NeighborSearch, clustering: Clustering, min_samples: int) -> Clustering:
    """Find what a clustering leaves open: core distances and radii."""
    labels = clustering.labels
    core = clustering.core
    if not np.isnan(clustering.radii).any():
        distances, _ = search.core_distances(core, min(min_samples, len(search)))
        return replace(clustering, core_distances=distances)
    # Not DBSCAN: members hold a cluster together, as near as the nearest other one.
    distances = search.cluster_reachability(labels, core, np.where(core, 0.0, np.inf), others=True)
    distances[core & np.isinf(distances)] = 0.0  # the only member of its cluster
    radii = np.zeros(clustering.radii.size)
    np.maximum.at(radii, labels[core], distances[core])
    return replace(clustering, core_distances=distances, radii=radii)
