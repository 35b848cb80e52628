"""Cluster models: the rule behind labels that are chosen by evidence.

Each cluster is a Gaussian, or a Student's t, over scaled features; rows of a cluster may depend on their neighbours in
position; labels change from neighbour to neighbour at a cost. Given these models a labelling can be extended to new
observations, and each observation has probabilities of the clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.archive import Archived
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.relabelling import (
    POTTS_NEIGHBORS,
    RELABEL_STEPS,
    Relabeller,
    cluster_log_densities,
    potts_weight,
)
from mcgta.selection.sampling import (
    LABELLED_AT_A_TIME_ROWS,
    MAX_CHOSEN_ON_ALL_ROWS,
    MAX_SEARCHED_ROWS,
    sample_rows,
)
from mcgta.selection.scoring.correlation_grid import CorrelationGrid
from mcgta.selection.scoring.feature_scale import Scale
from mcgta.selection.scoring.scored_labelling import Gaussians, change_cost, fit_clusters, own_squared_distances, score
from mcgta.selection.scoring.scoring_data import ScoringData, Whitened
from mcgta.selection.scoring.tails import Tails

TYPICAL_QUANTILE = 0.99
"""Share of a cluster's observations that are as near to its centre as ``typical_distances`` says, or nearer."""

_MIN_CLUSTER_ROWS = 50  # observations of a cluster that it is estimated from, if it has as many


@dataclass(frozen=True, eq=False)
class ClusterModels(Archived):
    """K clusters, estimated from labelled observations.

    Attributes
    ----------
    columns, centers, spreads : (d,) the features that are used, and what is subtracted from and what divides them
    correlation_families, lengths, nuggets : (T,) correlations that neighbours may have; lengths in the unit of position
    correlations : (d,) which of these each feature has
    means : (K, d) of scaled features
    inverse_factors : (K, d, d) inverse Cholesky factors of the covariances
    log_roots : (K,) half the log determinants of the covariances
    degrees_of_freedom, outlier_share, outlier_spread : of the tails; see :class:`mcgta.selection.scoring.tails.Tails`
    log_shares : (K,) logs of the clusters' shares of all labelled observations
    typical_distances : (K,) squared Mahalanobis distance from a cluster's centre that 99 % of its observations do not exceed
    change_cost : nats of a change of label along time
    agreement : weight of the share of neighbours with the same label, elsewhere
    overdispersion : how many observations count as one
    mixed : whether labels have little to do with position
    overlap : neighbours by which overlaps of regions were resolved; 0 where they were not
    """

    columns: Index
    centers: Array
    spreads: Array
    correlation_families: Index
    lengths: Array
    nuggets: Array
    correlations: Index
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
        if not self.columns.shape == self.centers.shape == self.spreads.shape == self.correlations.shape == (d,):
            raise ValueError(
                "columns, centers, spreads and correlations must have an entry for each feature that is used"
            )
        if not self.correlation_families.shape == self.lengths.shape == self.nuggets.shape:
            raise ValueError("correlation_families, lengths and nuggets must have an entry for each correlation")
        if d and not 0 <= self.correlations.min() <= self.correlations.max() < self.lengths.size:
            raise ValueError("correlations names a correlation that is not there")
        if not self.overdispersion >= 1:
            raise ValueError(f"overdispersion={self.overdispersion} must be 1 or more")
        for name in ("means", "inverse_factors", "log_roots", "log_shares", "spreads", "centers"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} must be finite")

    def __len__(self) -> int:
        return int(self.means.shape[0])

    @cached_property
    def scale(self) -> Scale:
        """Scale of features, by which other observations are prepared alike."""
        return Scale(self.columns, self.centers, self.spreads)

    @cached_property
    def correlation_grid(self) -> CorrelationGrid:
        """Correlations, by which other observations are prepared alike."""
        families = native(self.correlation_families, np.int64)
        return CorrelationGrid(families, native(self.lengths), native(self.nuggets))

    @cached_property
    def gaussians(self) -> Gaussians:
        """Centres and covariances; arrays that came out of a file or another process may be read-only, which kernels refuse."""
        return Gaussians(native(self.means), native(self.inverse_factors), native(self.log_roots))

    @cached_property
    def tails(self) -> Tails:
        """Tails of the clusters' distributions."""
        return Tails(self.degrees_of_freedom, self.outlier_share, self.outlier_spread)

    @property
    def independent(self) -> bool:
        """Whether observations are independent of their neighbours, but for the label."""
        return bool((self.correlations == 0).all())

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

    def relabeller(self, features: Array, places: Positions) -> Relabeller:
        """Prepare observations for densities under the clusters."""
        grid = self.correlation_grid
        scoring_data = ScoringData.of(features, places, scale=self.scale, correlation_grid=grid)
        correlations = native(self.correlations, np.int64)
        return Relabeller(scoring_data, correlations, self.tails, 1.0 / self.overdispersion)

    def log_densities(self, features: Array) -> Array:
        """Return (N, K) log densities of observations by themselves."""
        densities = np.empty((len(features), len(self)))
        for start in range(0, len(features), LABELLED_AT_A_TIME_ROWS):
            part = slice(start, start + LABELLED_AT_A_TIME_ROWS)
            alone = Whitened.of_independent(self.scale.apply(features[part]))
            densities[part] = cluster_log_densities(alone, self.gaussians, self.tails)
        return densities

    def distances(self, features: Array, labels: Labels) -> Array:
        """Return (N,) squared Mahalanobis distances of observations from the centres of their clusters."""
        alone = Whitened.of_independent(self.scale.apply(features))
        return own_squared_distances(alone, labels, self.gaussians)


def estimate_cluster_models(
    features: Array,
    places: Positions,
    labels: Labels,
    *,
    seed: int,
    overdispersion: float = 1.0,
    mixed: bool = False,
    overlap: int = 0,
) -> ClusterModels | None:
    """Estimate the clusters 0 ... K - 1 of labelled observations in canonical order; noise, -1, has no part in them.

    ``overdispersion``, ``mixed`` and ``overlap`` are those of :class:`ClusterModels`. Clusters of more than
    ``MAX_SEARCHED_ROWS`` observations are estimated from a sample. None where no feature varies in it.
    """
    rows = choose_rows(places, labels, seed)
    scoring_data = ScoringData.of(features[rows], places.take(rows), seed=seed)
    if scoring_data.d == 0:
        return None
    independent = np.zeros(scoring_data.d, dtype=np.int64)
    # Rows are placed at the scale that their cluster has throughout, so none that comes and goes is looked for.
    scored = score(scoring_data, labels[rows], correlations=independent if mixed else None, quick=True)
    whitened = scoring_data.whiten_by(scored.labels, scored.correlations)
    clusters = fit_clusters(whitened, scored.labels, scored.tails, steps=RELABEL_STEPS).gaussians
    distances = own_squared_distances(scoring_data.unwhitened, scored.labels, clusters)
    typical = [np.quantile(distances[scored.labels == k], TYPICAL_QUANTILE) for k in range(scored.n_clusters)]
    # Of very many observations the search labels parts, and a change is one of a part's places.
    edges = len(places) - int(np.unique(places.groups).size)
    places_of_change = edges if len(places) <= MAX_CHOSEN_ON_ALL_ROWS else LABELLED_AT_A_TIME_ROWS
    agreement = 0.0
    if not scoring_data.chain and scored.n_clusters > 1:
        agreement = potts_weight(scoring_data.neighbors[:, :POTTS_NEIGHBORS], scored.labels, scored.labels)
    return ClusterModels(
        columns=scoring_data.scale.columns,
        centers=scoring_data.scale.middle,
        spreads=scoring_data.scale.spread,
        correlation_families=scoring_data.correlation_grid.families,
        lengths=scoring_data.correlation_grid.lengths,
        nuggets=scoring_data.correlation_grid.nuggets,
        correlations=scored.correlations,
        means=clusters.means,
        inverse_factors=clusters.inverse,
        log_roots=clusters.log_root,
        degrees_of_freedom=scored.tails.degrees_of_freedom,
        outlier_share=scored.tails.outlier_share,
        outlier_spread=scored.tails.outlier_spread,
        log_shares=np.log(cluster_shares(labels)),
        typical_distances=np.array(typical),
        change_cost=change_cost(places_of_change, scored.n_clusters),
        agreement=agreement,
        overdispersion=overdispersion,
        mixed=mixed,
        overlap=overlap,
    )


def choose_rows(places: Positions, labels: Labels, seed: int) -> Index:
    """Return the rows that clusters are estimated from: all with a label, or a sample, with some of every cluster."""
    known = np.flatnonzero(labels >= 0)
    if known.size <= MAX_SEARCHED_ROWS:
        return known
    rows = known[sample_rows(places if known.size == labels.size else places.take(known), seed)[0]]
    held = np.bincount(labels[rows], minlength=int(labels.max()) + 1)
    members = known[np.argsort(labels[known], kind="stable")]
    ends = np.cumsum(np.bincount(labels[known], minlength=held.size))
    more = [rows]
    for k in np.flatnonzero(held < _MIN_CLUSTER_ROWS):
        own = members[ends[k - 1] if k else 0 : ends[k]]
        more.append(own[np.unique(np.linspace(0, own.size - 1, min(_MIN_CLUSTER_ROWS, own.size)).round().astype(int))])
    return np.unique(np.concatenate(more))


def cluster_shares(labels: Labels) -> Array:
    """Return the (K,) shares of clusters, of observations that are in one; half an observation more for each."""
    counts = np.bincount(labels[labels >= 0])
    return (counts + 0.5) / (counts.sum() + 0.5 * counts.size)
