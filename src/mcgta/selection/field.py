"""Observations, prepared for being scored under many labellings: scaled features, neighbours, what dependence may be like."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from scipy.spatial import KDTree

from mcgta.kernels.evidence.subtrees import cut_subtrees
from mcgta.kernels.evidence.whitening import EXPONENTIAL, INDEPENDENT, MATERN, NEAR, choose_own, whiten
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels, Mask

LISTED = 16
"""Neighbours that a row has a list of, and predecessors."""

BLOCK = 40
"""Observations of a block, within which what the model does not know of is summed up."""

_LENGTHS = (1.5, 5.0, 15.0, 50.0, 150.0)  # in distances to the nearest
_NUGGETS = (0.01, 0.15, 0.4, 0.7)
_TIE = 1e-12
_REPEATED = 0.5  # of the rows, values up to which a feature repeats itself
_TRACE = 1e-4  # of a feature's standard deviation
_REDUNDANT = 1e-8  # of a feature's variance, what is left when others are known


@dataclass(frozen=True, eq=False)
class Lists:
    """For each of N rows up to P others, nearest first; see :mod:`mcgta.kernels.evidence.whitening`."""

    listed: Index
    gaps: Array
    between: Array


@dataclass(frozen=True, eq=False)
class Dependence:
    """T kinds of dependence, the first of which is none; lengths are in the unit of position."""

    kinds: Index
    lengths: Array
    nuggets: Array

    def __len__(self) -> int:
        return int(self.kinds.size)

    def take(self, rows: Index) -> Dependence:
        """Return some of them."""
        return Dependence(self.kinds[rows], self.lengths[rows], self.nuggets[rows])


@dataclass(frozen=True, eq=False)
class Scale:
    """What features are divided by, and which of them are used: not constant, nor sums of multiples of others.

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
            if rest[best, best] < _REDUNDANT:
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
class Frame:
    """What observations have to share for one cluster model to serve them: scale of features, kinds of dependence."""

    scale: Scale
    dependence: Dependence


@dataclass(frozen=True, eq=False)
class Field:
    """N observations to be scored.

    Attributes
    ----------
    X : (d, N) scaled features
    chain : whether position is time, so that rows are series
    first : (N,) whether a row is the first of its series; of a group, elsewhere
    edges : (E, 2) rows next to each other: along series, or of a minimum spanning tree of the positions
    near : (N, ``LISTED``) the nearest of each row, along series those before and after it; -1 where there are no more
    places : where the rows are
    previous : the nearest of each row among those that come before it: in time, or in an order without order
    dependence : what may be between rows of one cluster
    scale : of the features
    borrowed : whether scale and dependence are those of a sample
    """

    X: Array
    chain: bool
    first: Mask
    edges: Index
    near: Index
    places: Positions
    previous: Lists
    dependence: Dependence
    scale: Scale
    borrowed: bool = False

    @classmethod
    def of(cls, features: Array, places: Positions, *, seed: int = 0, like: Field | Frame | None = None) -> Field:
        """Prepare features (N, d) at positions, both in canonical order; with scale and dependence of another, if given."""
        scale = like.scale if like is not None else Scale.of(features)
        X = _blur(scale.apply(features), seed)
        chain = places.is_chain
        starts = np.r_[True, places.groups[1:] != places.groups[:-1]]
        if chain:
            edges = _chain(starts)
            before = _before(starts)
            near = _beside(starts)
            far = places.of_pairs(edges[:, 0], edges[:, 1])
        else:
            near, reaches = neighbours(places, 2 * LISTED + 1)
            edges = _spanning(near, reaches, places)
            far = reaches[:, 0]
            before = _earlier(near, np.random.default_rng(seed).permutation(len(places)))
        if like is not None:
            dependence = like.dependence
        else:
            nearest = far[np.isfinite(far) & (far > 0)]
            unit = float(np.median(nearest)) if nearest.size else 1.0
            reach = unit * (len(places) / 3 if chain else np.sqrt(len(places)))
            dependence = _grid(unit, reach, smooth=not chain)
        nearby = native(near[:, :LISTED], np.int64)
        lists = _list(places, before)
        return cls(X, chain, starts, edges, nearby, places, lists, dependence, scale, like is not None)

    def __len__(self) -> int:
        return int(self.X.shape[1])

    @property
    def d(self) -> int:
        """Features that are used."""
        return int(self.X.shape[0])

    @cached_property
    def together(self) -> Index:
        """(N, NEAR) what each row is predicted from where all are of one cluster."""
        return self.own(np.zeros(len(self), dtype=np.int64))

    @cached_property
    def whitened(self) -> tuple[Array, Array, Array]:
        """All rows whitened by every kind of dependence, as if they were of one cluster."""
        found = self._empty(len(self.dependence))
        self._whiten(np.arange(len(self)), self.together, self.dependence, found)
        return found

    @cached_property
    def around(self) -> Lists:
        """The nearest of each row, with distances."""
        return _list(self.places, self.near)

    @cached_property
    def _apart(self) -> dict[bytes, tuple[Array, Array, Array]]:
        return {}

    def apart(self, kinds: Index) -> tuple[Array, Array, Array]:
        """Whiten each feature by one kind of dependence, as if all rows were of one cluster; see :meth:`whiten_by`."""
        name = kinds.tobytes()
        if name not in self._apart:
            if "whitened" in self.__dict__:
                found = gather(self.whitened, kinds)
            else:
                used, which = np.unique(kinds, return_inverse=True)
                part = self._empty(used.size)
                self._whiten(np.arange(len(self)), self.together, self.dependence.take(used), part)
                found = gather(part, which)
            self._apart.clear()  # the last is asked for again and again
            self._apart[name] = found
        return self._apart[name]

    @cached_property
    def blocks(self) -> Index:
        """(N,) the block of each row: rows next to each other, ``BLOCK`` or a few more of them."""
        return self.pieces(BLOCK)

    def pieces(self, size: int) -> Index:
        """Return the piece of each row, where series, or the spanning tree, are cut into pieces of about ``size`` rows."""
        if self.chain:
            begins = np.maximum.accumulate(np.where(self.first, np.arange(len(self)), 0))
            cut = (np.arange(len(self)) - begins) % size == 0
            return np.cumsum(cut | self.first) - 1
        count = len(self)
        graph = csr_array((np.ones(len(self.edges)), (self.edges[:, 0], self.edges[:, 1])), shape=(count, count))
        part = connected_components(graph, directed=False)[1]
        order = []
        parent = np.full(count, -1, dtype=np.int64)
        for root in np.unique(part, return_index=True)[1]:
            visited, before = breadth_first_order(graph, root, directed=False)
            order.append(visited)
            parent[visited[1:]] = before[visited[1:]]
        piece = np.empty(count, dtype=np.int64)
        cut_subtrees(native(np.concatenate(order), np.int64), parent, size, piece)
        return np.unique(piece, return_inverse=True)[1]

    def own(self, labels: Labels) -> Index:
        """(N, NEAR) what each row is predicted from under a labelling."""
        chosen = np.empty((len(self), NEAR), dtype=np.int64)
        choose_own(self.previous.listed, labels, chosen)
        return chosen

    def whiten(self, labels: Labels) -> tuple[Array, Array, Array]:
        """Whiten all rows by every kind of dependence under a labelling: y (T, d, N), w (T, N), log s (T, N)."""
        chosen = self.own(labels)
        rows = np.flatnonzero((chosen != self.together).any(axis=1))
        if rows.size == 0:
            return self.whitened
        y, w, log_s = (part.copy() for part in self.whitened)
        self._whiten(rows, chosen, self.dependence, (y, w, log_s))
        return y, w, log_s

    def whiten_by(self, labels: Labels, kinds: Index) -> tuple[Array, Array, Array]:
        """Whiten each feature by one kind of dependence: y (d, N), w (d, N), and log s (N,), summed over features."""
        chosen = self.own(labels)
        rows = np.flatnonzero((chosen != self.together).any(axis=1))
        y, w, log_s = self.apart(kinds)
        if rows.size:
            y = y.copy()
            w = w.copy()
            log_s = log_s.copy()
            used, which = np.unique(kinds, return_inverse=True)
            part = self._empty(used.size)
            self._whiten(rows, chosen, self.dependence.take(used), part)
            y[:, rows] = part[0][which, np.arange(self.d)][:, rows]
            w[:, rows] = part[1][which][:, rows]
            log_s[rows] = part[2][which][:, rows].sum(axis=0)
        return y, w, log_s

    def whiten_around(self, chosen: Index, kinds: Index) -> tuple[Array, Array, Array]:
        """Whiten each feature by one kind of dependence, rows predicted from those ``chosen`` (N, NEAR) of lists ``around``."""
        used, which = np.unique(kinds, return_inverse=True)
        part = self._empty(used.size)
        chosen = native(chosen, np.int64)
        self._whiten(np.arange(len(self)), chosen, self.dependence.take(used), part, self.around)
        return gather(part, which)

    def _empty(self, kinds: int) -> tuple[Array, Array, Array]:
        count = len(self)
        return np.empty((kinds, self.d, count)), np.empty((kinds, count)), np.empty((kinds, count))

    def _whiten(
        self, rows: Index, chosen: Index, by: Dependence, out: tuple[Array, Array, Array], lists: Lists | None = None
    ) -> None:
        lists = lists or self.previous
        whiten(self.X, rows, lists.listed, lists.gaps, lists.between, chosen, by.kinds, by.lengths, by.nuggets, *out)


def gather(whitened: tuple[Array, Array, Array], kinds: Index) -> tuple[Array, Array, Array]:
    """Take each feature as whitened by one kind of dependence: y (d, N), w (d, N), log s (N,), summed over features."""
    y, w, log_s = whitened
    return y[kinds, np.arange(kinds.size)], w[kinds], log_s[kinds].sum(axis=0)


def _blur(X: Array, seed: int) -> Array:
    """Add a trace of noise to features (d, N) that repeat their values: a cluster of equal rows would have all the evidence."""
    rng = np.random.default_rng(seed)
    for feature in X:
        if np.unique(feature).size <= _REPEATED * feature.size:
            feature += _TRACE * rng.normal(size=feature.size)
    return X


def neighbours(places: Positions, count: int) -> tuple[Index, Array]:
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
            found = np.argsort(table, axis=1, kind="stable")[:, :wanted]
        else:
            found = KDTree(places.points[rows]).query(places.points[rows], k=wanted)[1]
        found = rows[found]
        reach = np.where(found == rows[:, None], -1.0, places.of_pairs(rows[:, None], found))
        # A row may not be among its own nearest where many are at one place; then the farthest is left out.
        order = np.lexsort((found, reach), axis=-1)
        found = np.take_along_axis(found, order, 1)
        reach = np.take_along_axis(reach, order, 1)
        own = reach[:, 0] < 0
        near[rows, : wanted - 1] = np.where(own[:, None], found[:, 1:], found[:, :-1])
        far[rows, : wanted - 1] = np.where(own[:, None], reach[:, 1:], reach[:, :-1])
    unknown = ~np.isfinite(far)
    near[unknown] = -1
    return near, far


def _chain(starts: Mask) -> Index:
    later = np.flatnonzero(~starts)
    return np.column_stack([later - 1, later])


def _spanning(near: Index, far: Array, places: Positions) -> Index:
    """Return the edges of a minimum spanning forest of the graph of neighbours, parts of one group joined in order."""
    size = len(places)
    i, p = np.nonzero(near >= 0)
    weights = far[i, p] + max(_TIE, _TIE * float(far[i, p].max(initial=0.0)))
    tree = minimum_spanning_tree(csr_array((weights, (i, near[i, p])), shape=(size, size))).tocoo()
    edges = np.column_stack([tree.row, tree.col]).astype(np.int64)
    part = connected_components(csr_array((np.ones(len(edges)), edges.T), shape=(size, size)), directed=False)[1]
    heads = np.unique(part, return_index=True)[1]
    heads = heads[np.argsort(heads)]
    same = places.groups[heads[1:]] == places.groups[heads[:-1]]
    return np.concatenate([edges, np.column_stack([heads[:-1], heads[1:]])[same]])


def _before(starts: Mask) -> Index:
    """Return the rows before each row of its series, the latest first."""
    row = np.arange(starts.size)
    begin = np.maximum.accumulate(np.where(starts, row, 0))
    before = row[:, None] - np.arange(1, LISTED + 1)
    return np.where(before >= begin[:, None], before, -1)


def _beside(starts: Mask) -> Index:
    """Return the rows before and after each row of its series, by turns."""
    row = np.arange(starts.size)
    begin = np.maximum.accumulate(np.where(starts, row, 0))
    ends = np.append(np.flatnonzero(starts)[1:], starts.size)
    end = ends[np.cumsum(starts) - 1]
    step = np.repeat(np.arange(1, LISTED // 2 + 1), 2) * np.tile([-1, 1], LISTED // 2)
    beside = row[:, None] + step
    return np.where((beside >= begin[:, None]) & (beside < end[:, None]), beside, -1)


def _earlier(near: Index, rank: Index) -> Index:
    """Return those of the neighbours that come earlier in some order, nearest first."""
    early = (near >= 0) & (rank[near] < rank[:, None])
    order = np.argsort(~early, axis=1, kind="stable")[:, :LISTED]
    return np.where(np.take_along_axis(early, order, 1), np.take_along_axis(near, order, 1), -1)


def _list(places: Positions, listed: Index) -> Lists:
    count, size = listed.shape
    row = np.arange(count)[:, None]
    known = listed >= 0
    filled = np.where(known, listed, row)
    gaps = places.of_pairs(np.broadcast_to(row, filled.shape), filled)
    between = np.zeros((count, size * (size - 1) // 2))
    for q in range(1, size):
        pairs = places.of_pairs(filled[:, :q], np.broadcast_to(filled[:, q, None], (count, q)))
        between[:, q * (q - 1) // 2 : q * (q + 1) // 2] = pairs
    return Lists(native(listed, np.int64), native(gaps), native(between))


def _grid(unit: float, reach: float, *, smooth: bool) -> Dependence:
    kinds = (EXPONENTIAL, MATERN) if smooth else (EXPONENTIAL,)
    lengths = [unit * share for share in _LENGTHS if unit * share <= reach]
    rows = [(INDEPENDENT, 1.0, 1.0)]
    rows += [(kind, length, nugget) for kind in kinds for length in lengths for nugget in _NUGGETS]
    kind, length, nugget = zip(*rows, strict=True)
    return Dependence(np.array(kind, dtype=np.int64), np.array(length), np.array(nugget))
