"""Trajectory models: clusters of records as curves, by which new rows are placed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.kernels.evidence.whitening import NEAR
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.family import FamilyModels
from mcgta.selection.families.trajectory.curve_clusters import best_curves, estimate_overdispersion
from mcgta.selection.families.trajectory.curve_data import CurveData
from mcgta.selection.families.trajectory.records import RecordRule, Records
from mcgta.selection.sampling import LABELLED_AT_A_TIME_ROWS
from mcgta.selection.scoring.correlation_grid import CorrelationGrid
from mcgta.selection.scoring.feature_scale import Scale
from mcgta.selection.scoring.scored_labelling import change_cost

_ROUNDS = 2  # of choosing correlations, each by what the curves of the one before leave
_MAX_RUNS = 2000  # of labels, up to which they tell of overdispersion


@dataclass(frozen=True, eq=False)
class TrajectoryModels(FamilyModels):
    """K clusters of records, each a curve over the time since a record began.

    Attributes
    ----------
    record_length, lasting, relative, group_names, origins : the rule by which rows are of records; see :class:`RecordRule`
    columns, centers, spreads : (d,) the features that are used, and what is subtracted from and what divides them
    correlation_families, lengths, nuggets : (T,) correlations that rows of a record may have; lengths in the unit of position
    correlations : (d,) which of these each feature has
    coefficients : (K, d, q) of the curves of scaled features, on cosines of the phase
    inverse_factors : (K, d, d) inverse Cholesky factors of the covariances about the curves
    log_roots : (K,) half the log determinants of the covariances
    overdispersion : how many rows count as one
    constant : whether all rows of a record have one label
    log_shares : (K,) logs of the clusters' shares of all records; of rows where labels switch within records
    change_cost : nats of a change of label along time
    agreement : 0, since position is time
    reach : rows of a series before and after a row that its density depends on
    n_features : of the observations
    """

    record_length: float
    lasting: float
    relative: bool
    group_names: NDArray[Any]
    origins: Array
    columns: Index
    centers: Array
    spreads: Array
    correlation_families: Index
    lengths: Array
    nuggets: Array
    correlations: Index
    coefficients: Array
    inverse_factors: Array
    log_roots: Array
    overdispersion: float
    constant: bool
    log_shares: Array
    change_cost: float
    agreement: float
    reach: int
    n_features: int

    def __post_init__(self) -> None:
        size, d, _ = self.coefficients.shape
        if self.inverse_factors.shape != (size, d, d) or not self.log_roots.shape == self.log_shares.shape == (size,):
            raise ValueError(
                "coefficients, inverse_factors, log_roots and log_shares disagree on the number of clusters"
            )
        if not self.columns.shape == self.centers.shape == self.spreads.shape == self.correlations.shape == (d,):
            raise ValueError(
                "columns, centers, spreads and correlations must have an entry for each feature that is used"
            )
        if not self.correlation_families.shape == self.lengths.shape == self.nuggets.shape:
            raise ValueError("correlation_families, lengths and nuggets must have an entry for each correlation")
        if d and not 0 <= self.correlations.min() <= self.correlations.max() < self.lengths.size:
            raise ValueError("correlations names a correlation that is not there")
        if not self.record_length >= 0 or not self.lasting > 0:
            raise ValueError(
                f"record_length={self.record_length} must be 0 or more, lasting={self.lasting} more than 0"
            )
        if self.group_names.shape != self.origins.shape or self.origins.ndim != 1:
            raise ValueError("group_names and origins must have an entry for each group")
        if not self.overdispersion >= 1:
            raise ValueError(f"overdispersion={self.overdispersion} must be 1 or more")
        for name in ("coefficients", "inverse_factors", "log_roots", "log_shares", "spreads", "centers"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} must be finite")

    def __len__(self) -> int:
        return int(self.coefficients.shape[0])

    @cached_property
    def rule(self) -> RecordRule:
        """The rule by which rows are of records."""
        return RecordRule(self.record_length, self.lasting, self.relative, self.group_names, self.origins)

    @cached_property
    def _scale(self) -> Scale:
        return Scale(self.columns, self.centers, self.spreads)

    @cached_property
    def _correlation_grid(self) -> CorrelationGrid:
        families = native(self.correlation_families, np.int64)
        return CorrelationGrid(families, native(self.lengths), native(self.nuggets))

    def renumbered(self, rank: Index) -> TrajectoryModels:
        """Return the same with other numbers for the clusters: ``rank`` (K,) is the new one of each."""
        order = np.argsort(rank)
        return replace(
            self,
            coefficients=self.coefficients[order],
            inverse_factors=self.inverse_factors[order],
            log_roots=self.log_roots[order],
            log_shares=self.log_shares[order],
        )

    def row_log_densities(self, features: Array, places: Positions) -> Array:
        """Return the (N, K) log densities of rows (N, d), in canonical order, in each cluster, over the overdispersion.

        A row is predicted from those before it in its record. The record of a row, and the time since it began, follow from
        ``places`` by ``rule``: groups of the fit go on where they were, and other groups begin with their first row.

        Where labels are constant within records, half of a record's sum is at its first row, half at its last, and none in
        between. A path with the least cost of changes then keeps to one cluster within a record, since both halves agree on
        it, and probabilities of its rows are those of the record, each row of it counted once.
        """
        records = self.rule.apply(places)
        densities = np.empty((len(features), len(self)))
        ends = np.append(records.first_rows[1:], len(features))
        start = 0
        while start < len(features):
            fitting = ends[(ends > start) & (ends <= start + LABELLED_AT_A_TIME_ROWS)]
            end = int(fitting[-1]) if fitting.size else int(ends[ends > start][0])
            rows = np.arange(start, end)
            part = Records(records.of[rows] - records.of[start], records.phases[rows])
            densities[rows] = self._densities_of(features[rows], places.take(rows), part)
            start = end
        return densities

    def _densities_of(self, features: Array, places: Positions, records: Records) -> Array:
        """Return the log densities of rows of whole records."""
        d, q = self.coefficients.shape[1:]
        data = CurveData.like(features, places, records, self._scale, self._correlation_grid, q)
        used, ways = np.unique(self.correlations, return_inverse=True)
        every = np.arange(len(features))
        whitened, log_scales = data.whiten(np.concatenate([data.basis, data.scoring_data.X]), used, every)
        rows = whitened[ways, q + np.arange(d)]
        densities = np.empty((len(features), len(self)))
        for k in range(len(self)):
            curve = np.stack([self.coefficients[k, f] @ whitened[ways[f], :q] for f in range(d)])
            off = self.inverse_factors[k] @ (rows - curve)
            densities[:, k] = -0.5 * (off**2).sum(axis=0) - self.log_roots[k]
        densities -= (log_scales[ways].sum(axis=0) + 0.5 * d * np.log(2 * np.pi))[:, None]
        densities /= self.overdispersion
        if self.constant:
            sums = np.add.reduceat(densities, records.first_rows)
            densities[:] = 0.0
            densities[records.first_rows] += 0.5 * sums
            densities[np.append(records.first_rows[1:], len(features)) - 1] += 0.5 * sums
        return densities


def estimate_trajectory_models(
    data: CurveData, rule: RecordRule, labels: Labels, *, n_features: int
) -> TrajectoryModels:
    """Estimate the clusters 0 ... K - 1 of rows of records; noise, -1, has no part in them."""
    size = int(labels.max()) + 1
    grid = data.scoring_data.correlation_grid
    scale = data.scoring_data.scale
    kept = np.where(labels >= 0, labels, size)  # noise is one more cluster, which is left out in the end
    runs = _runs(data.records, kept)
    run_labels = kept[np.unique(runs, return_index=True)[1]]
    correlations = np.zeros(data.d, dtype=np.int64)
    for _ in range(_ROUNDS):
        clusters = data.sums_of(correlations, kept, kept).take(np.arange(size))
        coefficients = best_curves(clusters).coefficients
        if (labels < 0).any():
            coefficients = np.concatenate([coefficients, coefficients.mean(axis=0, keepdims=True)])
        correlations = data.choose_correlations(kept, coefficients)
    overdispersion = 1.0
    curves = best_curves(data.sums_of(correlations, kept, kept).take(np.arange(size)))
    if runs[-1] < _MAX_RUNS:
        known = np.flatnonzero(run_labels < size)
        sums = data.sums_of(correlations, runs, kept).take(known)
        overdispersion = estimate_overdispersion(sums, run_labels[known], curves)
        curves = best_curves(sums.added(run_labels[known]), overdispersion)
    constant = int(np.unique(runs[labels >= 0]).size) == int(np.unique(data.records.of[labels >= 0]).size)
    covariances = curves.covariances
    if constant:  # rows of a record deviate together: covariances of their own would count that for each row
        covariances = np.tile(covariances.mean(axis=0), (size, 1, 1))
    factors = np.linalg.cholesky(covariances)
    counts = np.bincount((run_labels if constant else kept), minlength=size)[:size]
    edges = labels.size - len(data.records)
    return TrajectoryModels(
        record_length=rule.length,
        lasting=rule.lasting,
        relative=rule.relative,
        group_names=rule.group_names,
        origins=rule.origins,
        columns=np.asarray(scale.columns, dtype=np.int64),
        centers=scale.middle,
        spreads=scale.spread,
        correlation_families=grid.families,
        lengths=grid.lengths,
        nuggets=grid.nuggets,
        correlations=np.asarray(correlations, dtype=np.int64),
        coefficients=curves.coefficients,
        inverse_factors=np.linalg.inv(factors),
        log_roots=np.log(np.einsum("kff->kf", factors)).sum(axis=1),
        overdispersion=overdispersion,
        constant=constant,
        log_shares=np.log((counts + 0.5) / (counts.sum() + 0.5 * size)),
        change_cost=change_cost(edges, size),
        agreement=0.0,
        reach=int(data.records.n_rows.max()) if constant else NEAR,
        n_features=n_features,
    )


def _runs(records: Records, labels: Labels) -> Index:
    """Return the run of each row, 0, 1, ...: rows that follow each other in a record and have one label."""
    return np.cumsum(np.r_[True, (records.of[1:] != records.of[:-1]) | (labels[1:] != labels[:-1])]) - 1
