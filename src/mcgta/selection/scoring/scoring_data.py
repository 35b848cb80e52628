"""Observations prepared for being scored under many labellings: scaled features, neighbours, and a grid of correlations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.kernels.evidence.whitening import NEAR, choose_own, whiten
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.selection.scoring.correlation_grid import CorrelationGrid
from mcgta.selection.scoring.feature_scale import Scale, blur_repeated
from mcgta.selection.scoring.neighbor_graph import NeighborLists, connect_rows, cut_forest, cut_series


class Whitened(NamedTuple):
    """Rows with the dependence on their predecessors taken out, in units of the standard deviation that is left.

    By every correlation of a grid the shapes are (T, d, N), (T, N), (T, N); by one for each feature (d, N), (d, N), (N,).

    Attributes
    ----------
    rows : what is left of the features
    weights : how often the mean of a row's cluster counts in it
    log_scales : logs of the standard deviations that are left, summed over features in the second form
    """

    rows: Array
    weights: Array
    log_scales: Array

    @classmethod
    def of_independent(cls, X: Array) -> Whitened:
        """Return features (d, N) of rows that do not depend on each other, as they are."""
        return cls(X, np.ones_like(X), np.zeros(X.shape[1]))

    def take(self, correlations: Index) -> Whitened:
        """Return the second form of the first: each feature as whitened by one correlation of the grid."""
        features = np.arange(correlations.size)
        log_scales = self.log_scales[correlations].sum(axis=0)
        return Whitened(self.rows[correlations, features], self.weights[correlations], log_scales)

    def divided_by(self, log_scales: Array | None) -> Whitened:
        """Return the second form with rows divided by scales of their own, of which (N,) logs of squares are given, if any."""
        if log_scales is None:
            return self
        over = np.exp(-0.5 * log_scales)
        added = 0.5 * len(self.rows) * log_scales
        return Whitened(self.rows * over, self.weights * over, self.log_scales + added)


@dataclass(frozen=True, eq=False)
class ScoringData:
    """N observations prepared for being scored.

    Attributes
    ----------
    X : (d, N) scaled features
    chain : whether position is time, so that rows are series
    series_starts : (N,) whether a row is the first of its series; of its group, elsewhere
    edges : (E, 2) rows next to each other: along series, or of a minimum spanning tree of the positions
    neighbors : (N, ``LISTED_NEIGHBORS``) the nearest of each row, along series those before and after it; -1 beyond the last
    places : positions of the rows
    predecessors : the nearest of each row among those before it, in time or, elsewhere, in a random order
    correlation_grid : correlations that rows of one cluster may have
    scale : of the features
    from_sample : whether scale and correlations are those of other observations, of which these are more
    """

    X: Array
    chain: bool
    series_starts: Mask
    edges: Index
    neighbors: Index
    places: Positions
    predecessors: NeighborLists
    correlation_grid: CorrelationGrid
    scale: Scale
    from_sample: bool = False

    @classmethod
    def of(
        cls,
        features: Array,
        places: Positions,
        *,
        seed: int = 0,
        scale: Scale | None = None,
        correlation_grid: CorrelationGrid | None = None,
    ) -> ScoringData:
        """Prepare features (N, d) at positions, both in canonical order; scale and correlations may be those of a sample."""
        from_sample = scale is not None
        scale = scale or Scale.of(features)
        X = blur_repeated(scale.apply(features), seed)
        graph = connect_rows(places, seed)
        if correlation_grid is None:
            correlation_grid = CorrelationGrid.of(graph.nearest, len(places), chain=places.is_chain)
        return cls(
            X=X,
            chain=places.is_chain,
            series_starts=places.group_starts,
            edges=graph.edges,
            neighbors=native(graph.neighbors, np.int64),
            places=places,
            predecessors=NeighborLists.of(places, graph.predecessors),
            correlation_grid=correlation_grid,
            scale=scale,
            from_sample=from_sample,
        )

    def __len__(self) -> int:
        return int(self.X.shape[1])

    @property
    def d(self) -> int:
        """Number of features that are used."""
        return int(self.X.shape[0])

    @property
    def min_cluster_rows(self) -> int:
        """Rows of a cluster below which it has no covariance."""
        return self.d + 2

    @cached_property
    def one_cluster_predictors(self) -> Index:
        """(N, NEAR) places in the list of predecessors that each row is predicted from where all are of one cluster."""
        return self.predictors(np.zeros(len(self), dtype=np.int64))

    @cached_property
    def whitened(self) -> Whitened:
        """All rows whitened by every correlation, as if they were of one cluster."""
        return self._whiten(np.arange(len(self)), self.one_cluster_predictors, self.correlation_grid, self.predecessors)

    @cached_property
    def unwhitened(self) -> Whitened:
        """All rows as they are."""
        return Whitened.of_independent(self.X)

    @cached_property
    def neighbor_lists(self) -> NeighborLists:
        """The neighbours of each row, with distances."""
        return NeighborLists.of(self.places, self.neighbors)

    @cached_property
    def _whitened_as_one(self) -> dict[bytes, Whitened]:
        return {}

    def blocks(self, size: int) -> Index:
        """Return the block of each row: series, or the spanning tree, are cut into blocks of about ``size`` rows."""
        if self.chain:
            return cut_series(self.series_starts, size)
        return cut_forest(self.edges, len(self), size)

    def predictors(self, labels: Labels) -> Index:
        """Return the (N, NEAR) places in the list of predecessors that each row is predicted from under a labelling."""
        chosen = np.empty((len(self), NEAR), dtype=np.int64)
        choose_own(self.predecessors.rows, labels, chosen)
        return chosen

    def whiten(self, labels: Labels) -> Whitened:
        """Whiten all rows by every correlation under a labelling."""
        chosen = self.predictors(labels)
        rows = np.flatnonzero((chosen != self.one_cluster_predictors).any(axis=1))
        if rows.size == 0:
            return self.whitened
        whitened = Whitened(*(part.copy() for part in self.whitened))
        return self._whiten(rows, chosen, self.correlation_grid, self.predecessors, whitened)

    def whiten_by(self, labels: Labels, correlations: Index) -> Whitened:
        """Whiten each feature by one correlation under a labelling; ``correlations`` (d,) are rows of the grid."""
        chosen = self.predictors(labels)
        rows = np.flatnonzero((chosen != self.one_cluster_predictors).any(axis=1))
        whitened = self.whiten_as_one(correlations)
        if rows.size == 0:
            return whitened
        whitened = Whitened(*(part.copy() for part in whitened))
        used, which = np.unique(correlations, return_inverse=True)
        part = self._whiten(rows, chosen, self.correlation_grid.take(used), self.predecessors)
        whitened.rows[:, rows] = part.rows[which, np.arange(self.d)][:, rows]
        whitened.weights[:, rows] = part.weights[which][:, rows]
        whitened.log_scales[rows] = part.log_scales[which][:, rows].sum(axis=0)
        return whitened

    def whiten_as_one(self, correlations: Index) -> Whitened:
        """Whiten each feature by one correlation, as if all rows were of one cluster."""
        key = correlations.tobytes()
        if key not in self._whitened_as_one:
            if "whitened" in self.__dict__:
                whitened = self.whitened.take(correlations)
            else:
                used, which = np.unique(correlations, return_inverse=True)
                grid = self.correlation_grid.take(used)
                every = np.arange(len(self))
                whitened = self._whiten(every, self.one_cluster_predictors, grid, self.predecessors).take(which)
            self._whitened_as_one.clear()  # the last is asked for again and again
            self._whitened_as_one[key] = whitened
        return self._whitened_as_one[key]

    def whiten_from_neighbors(self, chosen: Index, correlations: Index) -> Whitened:
        """Whiten each feature by one correlation, rows predicted from those ``chosen`` (N, NEAR) of their neighbours."""
        used, which = np.unique(correlations, return_inverse=True)
        grid = self.correlation_grid.take(used)
        return self._whiten(np.arange(len(self)), native(chosen, np.int64), grid, self.neighbor_lists).take(which)

    def _whiten(
        self, rows: Index, chosen: Index, grid: CorrelationGrid, lists: NeighborLists, out: Whitened | None = None
    ) -> Whitened:
        """Whiten some rows by every correlation of a grid; what ``out`` has of the other rows stays."""
        if out is None:
            shape = (len(grid), len(self))
            out = Whitened(np.empty((len(grid), self.d, len(self))), np.empty(shape), np.empty(shape))
        listed = (lists.rows, lists.distances, lists.pair_distances)
        whiten(self.X, rows, *listed, chosen, grid.families, grid.lengths, grid.nuggets, *out)
        return out
