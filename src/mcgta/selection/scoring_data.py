"""Observations prepared for being scored under many labellings: scaled features, neighbours, and a grid of correlations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from scipy.spatial import KDTree

from mcgta.kernels.evidence.subtrees import cut_subtrees
from mcgta.kernels.evidence.whitening import EXPONENTIAL, INDEPENDENT, MATERN, NEAR, choose_own, whiten
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels, Mask

LISTED_NEIGHBORS = 16
"""Neighbours, and predecessors, that are listed for each row."""

_LENGTHS_IN_NEAREST_DISTANCES = (1.5, 5.0, 15.0, 50.0, 150.0)
_NUGGETS = (0.01, 0.15, 0.4, 0.7)  # shares of the variance
_TIE = 1e-12  # of the largest distance, added so that an edge of length zero is an edge
_MAX_DISTINCT_SHARE = 0.5  # of the rows, distinct values up to which a feature repeats itself
_BLUR_IN_DEVIATIONS = 1e-4  # of a feature's standard deviation
_MIN_UNEXPLAINED_SHARE = 1e-8  # of a feature's variance, what others have to leave unexplained


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


@dataclass(frozen=True, eq=False)
class NeighborLists:
    """For each of N rows up to P others, nearest first, and their distances.

    Attributes
    ----------
    rows : (N, P) the others; -1 where there are no more
    distances : (N, P) from the row
    pair_distances : (N, P (P - 1) / 2) between the others, in the order of :mod:`mcgta.kernels.evidence.whitening`
    """

    rows: Index
    distances: Array
    pair_distances: Array

    @classmethod
    def of(cls, places: Positions, rows: Index) -> NeighborLists:
        """Measure the distances within lists ``rows`` (N, P)."""
        count, size = rows.shape
        own = np.arange(count)[:, None]
        filled = np.where(rows >= 0, rows, own)
        distances = places.of_pairs(np.broadcast_to(own, filled.shape), filled)
        between = np.zeros((count, size * (size - 1) // 2))
        for q in range(1, size):
            pairs = places.of_pairs(filled[:, :q], np.broadcast_to(filled[:, q, None], (count, q)))
            between[:, q * (q - 1) // 2 : q * (q + 1) // 2] = pairs
        return cls(native(rows, np.int64), native(distances), native(between))


@dataclass(frozen=True, eq=False)
class CorrelationGrid:
    """T correlations that rows of one cluster may have, the first of which is none.

    Attributes
    ----------
    families : (T,) codes of the functions: independent, exponential, Matérn
    lengths : (T,) in the unit of position
    nuggets : (T,) shares of the variance that neighbours do not have in common
    """

    families: Index
    lengths: Array
    nuggets: Array

    @classmethod
    def of(cls, nearest: Array, count: int, *, chain: bool) -> CorrelationGrid:
        """Make a grid for ``count`` rows with these distances to the nearest, in time (``chain``) or in space."""
        nearest = nearest[np.isfinite(nearest) & (nearest > 0)]
        unit = float(np.median(nearest)) if nearest.size else 1.0
        longest = unit * (count / 3 if chain else np.sqrt(count))
        families = (EXPONENTIAL,) if chain else (EXPONENTIAL, MATERN)
        lengths = [unit * length for length in _LENGTHS_IN_NEAREST_DISTANCES if unit * length <= longest]
        rows = [(INDEPENDENT, 1.0, 1.0)]
        rows += [(family, length, nugget) for family in families for length in lengths for nugget in _NUGGETS]
        family, length, nugget = zip(*rows, strict=True)
        return cls(np.array(family, dtype=np.int64), np.array(length), np.array(nugget))

    def __len__(self) -> int:
        return int(self.families.size)

    def take(self, rows: Index) -> CorrelationGrid:
        """Return some of the correlations."""
        return CorrelationGrid(self.families[rows], self.lengths[rows], self.nuggets[rows])


@dataclass(frozen=True, eq=False)
class Scale:
    """The features that are used, and what divides them; left out are constant ones and sums of multiples of others.

    Attributes
    ----------
    columns : (d,) those used
    middle, spread : (d,) their means and standard deviations
    """

    columns: Index
    middle: Array
    spread: Array

    @classmethod
    def of(cls, features: Array) -> Scale:
        """Find the scale of features (N, D)."""
        spread = features.std(axis=0)
        columns = np.flatnonzero(spread > 1e-12 * np.maximum(np.abs(features).max(axis=0), 1e-300))
        middle = features[:, columns].mean(axis=0)
        spread = spread[columns]
        X = (features[:, columns] - middle) / spread
        rest = X.T @ X / len(X)
        kept = []
        for _ in range(columns.size):
            best = int(np.argmax(np.diagonal(rest)))
            if rest[best, best] < _MIN_UNEXPLAINED_SHARE:
                break
            kept.append(best)
            rest = rest - np.outer(rest[:, best], rest[best]) / rest[best, best]
            rest[best] = rest[:, best] = 0.0
        kept.sort()
        return cls(columns[kept], middle[kept], spread[kept])

    def apply(self, features: Array) -> Array:
        """Return (d, N) scaled features."""
        return native(((features[:, self.columns] - self.middle) / self.spread).T)


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
        X = _blur(scale.apply(features), seed)
        starts = np.r_[True, places.groups[1:] != places.groups[:-1]]
        graph = _series_graph(starts, places) if places.is_chain else _spatial_graph(places, seed)
        if correlation_grid is None:
            correlation_grid = CorrelationGrid.of(graph.nearest, len(places), chain=places.is_chain)
        return cls(
            X=X,
            chain=places.is_chain,
            series_starts=starts,
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
            begins = np.maximum.accumulate(np.where(self.series_starts, np.arange(len(self)), 0))
            cut = (np.arange(len(self)) - begins) % size == 0
            return np.cumsum(cut | self.series_starts) - 1
        count = len(self)
        graph = _make_graph(np.ones(len(self.edges)), self.edges[:, 0], self.edges[:, 1], count)
        part = connected_components(graph, directed=False)[1]
        order = []
        parent = np.full(count, -1, dtype=np.int64)
        for root in np.unique(part, return_index=True)[1]:
            visited, before = breadth_first_order(graph, root, directed=False)
            order.append(visited)
            parent[visited[1:]] = before[visited[1:]]
        block = np.empty(count, dtype=np.int64)
        cut_subtrees(native(np.concatenate(order), np.int64), parent, size, block)
        return np.unique(block, return_inverse=True)[1]

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


def _blur(X: Array, seed: int) -> Array:
    """Add a trace of noise to features (d, N) that repeat their values: a cluster of equal rows would have all the evidence."""
    rng = np.random.default_rng(seed)
    for feature in X:
        if np.unique(feature).size <= _MAX_DISTINCT_SHARE * feature.size:
            feature += _BLUR_IN_DEVIATIONS * rng.normal(size=feature.size)
    return X


class _Graph(NamedTuple):
    """Edges (E, 2), neighbours and predecessors (N, ``LISTED_NEIGHBORS``), and some distances to the nearest."""

    edges: Index
    neighbors: Index
    predecessors: Index
    nearest: Array


def _series_graph(starts: Mask, places: Positions) -> _Graph:
    """Join each row of a series to those before and after it, by turns."""
    row = np.arange(starts.size)
    begin = np.maximum.accumulate(np.where(starts, row, 0))[:, None]
    end = np.append(np.flatnonzero(starts)[1:], starts.size)[np.cumsum(starts) - 1][:, None]
    before = row[:, None] - np.arange(1, LISTED_NEIGHBORS + 1)
    half = LISTED_NEIGHBORS // 2
    beside = row[:, None] + np.repeat(np.arange(1, half + 1), 2) * np.tile([-1, 1], half)
    later = np.flatnonzero(~starts)
    return _Graph(
        edges=np.column_stack([later - 1, later]),
        neighbors=np.where((beside >= begin) & (beside < end), beside, -1),
        predecessors=np.where(before >= begin, before, -1),
        nearest=places.of_pairs(later - 1, later),
    )


def _spatial_graph(places: Positions, seed: int) -> _Graph:
    """Join each row to its nearest; predecessors are those of them that come earlier in a random order."""
    near, distances = nearest_neighbors(places, 2 * LISTED_NEIGHBORS + 1)
    rank = np.random.default_rng(seed).permutation(len(places))
    early = (near >= 0) & (rank[near] < rank[:, None])
    order = np.argsort(~early, axis=1, kind="stable")[:, :LISTED_NEIGHBORS]
    return _Graph(
        edges=_spanning_forest(near, distances, places),
        neighbors=near[:, :LISTED_NEIGHBORS],
        predecessors=np.where(np.take_along_axis(early, order, 1), np.take_along_axis(near, order, 1), -1),
        nearest=distances[:, 0],
    )


def _spanning_forest(near: Index, far: Array, places: Positions) -> Index:
    """Return the edges of a minimum spanning forest of the graph of neighbours, parts of one group joined in order."""
    size = len(places)
    i, p = np.nonzero(near >= 0)
    weights = far[i, p] + max(_TIE, _TIE * float(far[i, p].max(initial=0.0)))
    tree = minimum_spanning_tree(_make_graph(weights, i, near[i, p], size)).tocoo()
    edges = np.column_stack([tree.row, tree.col]).astype(np.int64)
    part = connected_components(_make_graph(np.ones(len(edges)), edges[:, 0], edges[:, 1], size), directed=False)[1]
    heads = np.unique(part, return_index=True)[1]
    heads = heads[np.argsort(heads)]
    same = places.groups[heads[1:]] == places.groups[heads[:-1]]
    return np.concatenate([edges, np.column_stack([heads[:-1], heads[1:]])[same]])


def _make_graph(weights: Array, i: Index, j: Index, size: int) -> csr_array:
    """Return edges from rows i to rows j as a sparse table; the graph functions of SciPy 1.15 take indices of 32 bits only."""
    return csr_array((weights, (i.astype(np.int32), j.astype(np.int32))), shape=(size, size))


def nearest_neighbors(places: Positions, count: int) -> tuple[Index, Array]:
    """Return up to ``count - 1`` nearest of each row, itself left out, nearest first, and how far; -1 and inf beyond."""
    size = len(places)
    near = np.full((size, count - 1), -1, dtype=np.int64)
    far = np.full((size, count - 1), np.inf)
    for code in np.unique(places.groups):
        rows = np.flatnonzero(places.groups == code)
        wanted = min(count, rows.size)
        if wanted < 2:
            continue
        if places.points is None:
            table = places.between(rows, rows)
            table[np.arange(rows.size), np.arange(rows.size)] = -1.0
            listed = np.argsort(table, axis=1, kind="stable")[:, :wanted]
        else:
            listed = KDTree(places.points[rows]).query(places.points[rows], k=wanted)[1]
        listed = rows[listed]
        reach = np.where(listed == rows[:, None], -1.0, places.of_pairs(rows[:, None], listed))
        # A row may not be among its own nearest where many are at one place; then the farthest is left out.
        order = np.lexsort((listed, reach), axis=-1)
        listed = np.take_along_axis(listed, order, 1)
        reach = np.take_along_axis(reach, order, 1)
        own = reach[:, 0] < 0
        near[rows, : wanted - 1] = np.where(own[:, None], listed[:, 1:], listed[:, :-1])
        far[rows, : wanted - 1] = np.where(own[:, None], reach[:, 1:], reach[:, :-1])
    unknown = ~np.isfinite(far)
    near[unknown] = -1
    return near, far
