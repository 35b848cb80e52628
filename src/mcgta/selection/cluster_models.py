"""Cluster models: the rule behind labels that are chosen by evidence.

Each cluster is a Gaussian, or a Student's t, over scaled features; rows of a cluster may depend on their neighbours in
position; labels change from neighbour to neighbour at a cost. Given these models a labelling can be extended to new
observations, and each observation has probabilities of the clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.field import Dependence, Field, Frame, Scale
from mcgta.selection.relabelling import Relabelling, log_densities, weigh_agreement
from mcgta.selection.scoring import Gaussians, distances_of, score, switch_cost
from mcgta.selection.search import MOST_SCORED, PART, WHOLE, sample
from mcgta.selection.tails import Tails

TYPICAL_QUANTILE = 0.99
"""Share of a cluster's observations that are as near to its centre as ``typical_distances`` says, or nearer."""

_MIN_ROWS = 50  # observations of a cluster that it is estimated from, if it has as many
_NEIGHBORS_THAT_COUNT = 8


@dataclass(frozen=True, eq=False)
class Background:
    """What a labelling knows beside its labels.

    Attributes
    ----------
    overdispersion : how many observations count as one
    mixed : whether labels have little to do with position
    overlap : neighbours by which overlaps of regions were resolved; 0 where they were not
    """

    overdispersion: float = 1.0
    mixed: bool = False
    overlap: int = 0


@dataclass(frozen=True, eq=False)
class ClusterModels(Archived):
    """K clusters, estimated from labelled observations.

    Attributes
    ----------
    columns, centers, spreads : (d,) the features that are used, and what is subtracted from and what divides them
    correlation_kinds, lengths, nuggets : (T,) kinds of dependence between neighbours; lengths in the unit of position
    kinds : (d,) which of these each feature has
    means : (K, d) of scaled features
    inverse_factors : (K, d, d) inverse Cholesky factors of the covariances
    log_roots : (K,) half the log determinants of the covariances
    degrees_of_freedom, outlier_share, outlier_spread : of the tails; see :class:`mcgta.selection.tails.Tails`
    log_shares : (K,) logs of the clusters' shares of all labelled observations
    typical_distances : (K,) squared Mahalanobis distance from a cluster's centre that 99 % of its observations do not exceed
    change_cost : nats of a change of label along time
    agreement : weight of the share of neighbours with the same label, elsewhere
    overdispersion, mixed, overlap : see :class:`Background`
    """

    columns: Index
    centers: Array
    spreads: Array
    correlation_kinds: Index
    lengths: Array
    nuggets: Array
    kinds: Index
    means: Array
    inverse_factors: Array
    log_roots: Array
    degrees_of_freedom: float
    outlier_share: float
    outlier_spread: float
    log_shares: Array
    typical_distances: Array
    change_cost: float
    agreement: float
    overdispersion: float
    mixed: bool
    overlap: int

    def __post_init__(self) -> None:
        size, d = self.means.shape
        if self.inverse_factors.shape != (size, d, d) or self.log_roots.shape != (size,):
            raise ValueError("means, inverse_factors and log_roots disagree on the number of clusters or features")
        if not self.log_shares.shape == self.typical_distances.shape == (size,):
            raise ValueError("log_shares and typical_distances must have an entry for each cluster")
        if not self.columns.shape == self.centers.shape == self.spreads.shape == self.kinds.shape == (d,):
            raise ValueError("columns, centers, spreads and kinds must have an entry for each feature that is used")
        if not self.correlation_kinds.shape == self.lengths.shape == self.nuggets.shape:
            raise ValueError("correlation_kinds, lengths and nuggets must have an entry for each kind of dependence")
        if d and not 0 <= self.kinds.min() <= self.kinds.max() < self.lengths.size:
            raise ValueError("kinds names a kind of dependence that is not there")
        if not self.overdispersion >= 1:
            raise ValueError(f"overdispersion={self.overdispersion} must be 1 or more")
        for name in ("means", "inverse_factors", "log_roots", "log_shares", "spreads", "centers"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} must be finite")

    def __len__(self) -> int:
        return int(self.means.shape[0])

    @cached_property
    def frame(self) -> Frame:
        """Scale of features and kinds of dependence, by which other observations are prepared alike."""
        scale = Scale(self.columns, self.centers, self.spreads)
        kinds = native(self.correlation_kinds, np.int64)
        return Frame(scale, Dependence(kinds, native(self.lengths), native(self.nuggets)))

    @cached_property
    def gaussians(self) -> Gaussians:
        """Centres and covariances; arrays that came out of a file or another process may be read-only, which kernels refuse."""
        return Gaussians(native(self.means), native(self.inverse_factors), native(self.log_roots))

    @cached_property
    def tails(self) -> Tails:
        """How far off observations may be."""
        return Tails(self.degrees_of_freedom, self.outlier_share, self.outlier_spread)

    @property
    def independent(self) -> bool:
        """Whether observations are independent of their neighbours, but for the label."""
        return bool((self.kinds == 0).all())

    def renumbered(self, rank: Index) -> ClusterModels:
        """Return the same with other numbers for the clusters: ``rank`` (K,) is the new one of each."""
        order = np.argsort(rank)
        return replace(
            self,
            means=self.means[order],
            inverse_factors=self.inverse_factors[order],
            log_roots=self.log_roots[order],
            log_shares=self.log_shares[order],
            typical_distances=self.typical_distances[order],
        )

    def relabelling(self, features: Array, places: Positions) -> Relabelling:
        """Prepare observations for densities under the clusters."""
        field = Field.of(features, places, like=self.frame)
        return Relabelling(field, native(self.kinds, np.int64), self.tails, temper=1.0 / self.overdispersion)

    def log_densities(self, features: Array) -> Array:
        """Return (N, K) log densities of observations by themselves."""
        densities = np.empty((len(features), len(self)))
        for start in range(0, len(features), PART):
            X = self.frame.scale.apply(features[start : start + PART])
            densities[start : start + PART] = log_densities(X, np.ones_like(X), self.gaussians, self.tails)
        return densities

    def distances(self, features: Array, labels: Labels) -> Array:
        """Return (N,) squared Mahalanobis distances of observations from the centres of their clusters."""
        X = self.frame.scale.apply(features)
        return distances_of(X, np.ones_like(X), labels, self.gaussians)


def estimate_cluster_models(
    features: Array, places: Positions, labels: Labels, *, seed: int, background: Background
) -> ClusterModels | None:
    """Estimate the clusters 0 ... K - 1 of labelled observations in canonical order; noise, -1, has no part in them.

    Clusters of more than ``MOST_SCORED`` observations are estimated from a sample. None where no feature varies in it.
    """
    rows = choose_rows(places, labels, seed)
    field = Field.of(features[rows], places.take(rows), seed=seed)
    if field.d == 0:
        return None
    independent = np.zeros(field.d, dtype=np.int64)
    scored = score(field, labels[rows], kinds=independent if background.mixed else None)
    gaussians = Relabelling(field, scored.kinds, scored.tails).estimate(scored.labels)[0]
    return ClusterModels(
        columns=field.scale.columns,
        centers=field.scale.middle,
        spreads=field.scale.spread,
        correlation_kinds=field.dependence.kinds,
        lengths=field.dependence.lengths,
        nuggets=field.dependence.nuggets,
        kinds=scored.kinds,
        means=gaussians.means,
        inverse_factors=gaussians.inverse,
        log_roots=gaussians.log_root,
        degrees_of_freedom=scored.tails.degrees_of_freedom,
        outlier_share=scored.tails.share,
        outlier_spread=scored.tails.spread,
        log_shares=np.log(shares_of(labels)),
        typical_distances=_typical_distances(field, scored.labels, gaussians),
        change_cost=_change_cost(places, gaussians.log_root.size),
        agreement=_agreement(field, scored.labels),
        overdispersion=background.overdispersion,
        mixed=background.mixed,
        overlap=background.overlap,
    )


def choose_rows(places: Positions, labels: Labels, seed: int) -> Index:
    """Return the rows that clusters are estimated from: all with a label, or a sample, with some of every cluster."""
    known = np.flatnonzero(labels >= 0)
    if known.size <= MOST_SCORED:
        return known
    rows = known[sample(places if known.size == labels.size else places.take(known), seed)[0]]
    held = np.bincount(labels[rows], minlength=int(labels.max()) + 1)
    members = known[np.argsort(labels[known], kind="stable")]
    ends = np.cumsum(np.bincount(labels[known], minlength=held.size))
    more = [rows]
    for k in np.flatnonzero(held < _MIN_ROWS):
        own = members[ends[k - 1] if k else 0 : ends[k]]
        more.append(own[np.unique(np.linspace(0, own.size - 1, min(_MIN_ROWS, own.size)).round().astype(int))])
    return np.unique(np.concatenate(more))


def shares_of(labels: Labels) -> Array:
    """Return the (K,) shares of clusters, of observations that are in one; half an observation more for each."""
    counts = np.bincount(labels[labels >= 0])
    return (counts + 0.5) / (counts.sum() + 0.5 * counts.size)


def _typical_distances(field: Field, labels: Labels, gaussians: Gaussians) -> Array:
    distances = distances_of(field.X, np.ones_like(field.X), labels, gaussians)
    size = gaussians.log_root.size
    return np.array([np.quantile(distances[labels == k], TYPICAL_QUANTILE) for k in range(size)])


def _change_cost(places: Positions, size: int) -> float:
    """Nats of a change of label along time; beyond ``WHOLE`` the search labels parts, and it is one of a part's places."""
    series = int(np.unique(places.groups).size)
    return switch_cost(len(places) - series if len(places) <= WHOLE else PART, size)


def _agreement(field: Field, labels: Labels) -> float:
    if field.chain or np.ptp(labels) == 0:
        return 0.0
    return weigh_agreement(field.near[:, :_NEIGHBORS_THAT_COUNT], labels, labels)
