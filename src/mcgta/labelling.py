"""The one labelling of a fit: labels, where they come from, and the rule that made them and places new observations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcgta.clustering.membership import Membership
from mcgta.observations.observations import Observations
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.choice import Choice
from mcgta.selection.cluster_models import ClusterModels, estimate_cluster_models
from mcgta.selection.families.family import FamilyModels


@dataclass(frozen=True, eq=False)
class Labelling:
    """Labels, and the rule that made them.

    Attributes
    ----------
    labels : (N,) clusters in canonical order, -1 for noise
    source : "clusterer", or "evidence" where they are those of cluster models
    rule : by which new observations are placed: densities, or models of Gaussian clusters or of those of another family; None
        where no feature varies
    eps : the radius of the clusterer, NaN where it has none
    ordering, reachability : (R,) of OPTICS, over the rows that can be compared; None for others
    """

    labels: Labels
    source: str
    rule: Membership | ClusterModels | FamilyModels | None
    eps: float = np.nan
    ordering: Index | None = None
    reachability: Array | None = None

    @property
    def n_clusters(self) -> int:
        """K."""
        return int(self.labels.max(initial=-1)) + 1

    def renumbered(self, rank: Index) -> Labelling:
        """Return the same with other numbers for the clusters: ``rank`` (K,) is the new one of each."""
        labels = np.where(self.labels < 0, -1, rank[self.labels])
        return replace(self, labels=labels, rule=None if self.rule is None else self.rule.renumbered(rank))


def describe_clusters(
    data: Observations, labels: Labels, choice: Choice | None, overlap: int = 0
) -> ClusterModels | None:
    """Estimate models of the clusters of labelled observations, given what a choice knows beside the labels."""
    overdispersion = 1.0 if choice is None else choice.overdispersion
    mixed = choice is not None and choice.mixed
    return estimate_cluster_models(
        data.X, data.positions, labels, seed=data.seed, overdispersion=overdispersion, mixed=mixed, overlap=overlap
    )
