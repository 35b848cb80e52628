"""How firmly observations belong to clusters, and which cluster new ones go to.

An observation *reaches* a cluster at the loss

    reach = min over the cluster's anchors c of max(M(i, c), core distance of c),

the smallest radius at which it would still be attached to an anchor that itself stands in a dense place. Anchors are
DBSCAN's core observations, or all members for other algorithms. A new observation goes to the cluster it reaches first,
if that is within the cluster's radius, else it is noise. Strength is 1 - reach/radius, and 0 for noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.clustering.clustering import Clustering
from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index, Labels


@dataclass(frozen=True, eq=False)
class Membership(Archived):
    """The part of a clustering that new observations are placed by.

    Attributes
    ----------
    anchors : (A,) rows of the observations that hold the clusters together
    labels : (A,) their clusters
    core_distances : (A,) the loss at which each stands in a dense place
    radii : (K,) the loss up to which each cluster takes in observations
    """

    anchors: Index
    labels: Labels
    core_distances: Array
    radii: Array

    def __post_init__(self) -> None:
        if not self.anchors.shape == self.labels.shape == self.core_distances.shape or self.anchors.ndim != 1:
            raise ValueError("anchors, labels and core_distances must have one entry for each anchor")
        if self.labels.size and not 0 <= self.labels.min() <= self.labels.max() < self.radii.size:
            raise ValueError("labels names a cluster without radius")

    @classmethod
    def of(cls, clustering: Clustering) -> Membership:
        """Read the anchors off a clustering."""
        anchors = np.flatnonzero(clustering.core)
        return cls(anchors, clustering.labels[anchors], clustering.core_distances[anchors], clustering.radii)

    def renumbered(self, rank: Index) -> Membership:
        """Return the same with other numbers for the clusters: ``rank`` (K,) is the new one of each."""
        radii = np.empty_like(self.radii)
        radii[rank] = self.radii
        return Membership(self.anchors, rank[self.labels], self.core_distances, radii)

    def assign(self, losses: Array) -> tuple[Labels, Array]:
        """Place new observations.

        Parameters
        ----------
        losses : (B, A) loss of each new observation with each anchor

        Returns
        -------
        labels : (B,) cluster, -1 for noise
        strengths : (B,) in [0, 1]
        """
        if self.anchors.size == 0:
            return np.full(losses.shape[0], -1, dtype=np.int64), np.zeros(losses.shape[0])
        reach = np.maximum(np.maximum(losses, 0.0), self.core_distances)
        best = reach.argmin(axis=1)
        return self.place(reach[np.arange(best.size), best], best)

    def place(self, reach: Array, first: Index) -> tuple[Labels, Array]:
        """Place new observations by the anchor (its number here) that each reaches first, and at which loss."""
        labels = self.labels[first]
        taken = reach <= self.radii[labels]
        labels = np.where(taken, labels, -1)
        return labels, self.strengths_at(reach, labels)

    def strengths_at(self, reach: Array, labels: Labels) -> Array:
        """Return the strength of observations that reach their clusters at these losses; 0 for noise."""
        radius = np.append(self.radii, 0.0)[labels]  # noise reads the last
        share = np.divide(reach, radius, out=(reach > 0).astype(float), where=radius > 0)
        return np.where(labels >= 0, np.clip(1 - share, 0.0, 1.0), 0.0)
