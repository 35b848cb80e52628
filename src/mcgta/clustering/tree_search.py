"""Stage 6 without the table: density-based clustering through a tree over the models, exact.

DBSCAN needs to know who has ``min_samples`` observations within eps, which of those hang together, and which of the others
are within eps of one; never how far two observations are apart. Bounds answer nearly all of it
(:mod:`mcgta.kernels.tree.search`), and the rest is compared as the dense table would, so labels are those of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mcgta.clustering.brute_force import find_roots, rounded
from mcgta.clustering.labels import number
from mcgta.kernels.gaussians.wasserstein import embed, features_of, pair_functions, pair_workspace
from mcgta.kernels.positions.metrics import FLAT, TIE
from mcgta.kernels.simd.compiled import native
from mcgta.kernels.tree import build as trees
from mcgta.kernels.tree.connect import begin, connect
from mcgta.kernels.tree.nearest import nearest_losses, reach_anchors
from mcgta.kernels.tree.order import begin_walk, walk_on
from mcgta.kernels.tree.place import NOBODY, first_reached
from mcgta.kernels.tree.search import count_near, first_near
from mcgta.kernels.tree.span import begin_round, begin_span, end_round, look_around
from mcgta.positions.positions import Positions
from mcgta.runtime.parallel import run, tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.stages.dissimilarity.registry import names_where
from mcgta.stages.loss import Loss

_TILE = 256  # points that one task looks at
_STEPS = 20_000  # nodes, or pairs of nodes, that are looked at before somebody may interrupt
_ASKED = 128  # observations that tell how well bounds do
_FEW = 64  # new observations, which may ask for the densities of many points
_ROUNDING = 1e-12  # of the largest trace and eps: what bounds and exact values may be off


@dataclass(frozen=True, eq=False)
class Anchors:
    """What holds the clusters of a tree together, as searches take it.

    Attributes
    ----------
    own, least_own, first_row : see :mod:`mcgta.kernels.tree.place`
    samples : observations that make a place dense, for own where it is not known yet
    cap : the largest radius of a cluster
    rounding : the size of rounding errors in a distance of their positions
    """

    own: Array
    least_own: Array
    first_row: Index
    samples: int
    cap: float
    rounding: float


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """A tree over the models of a loss.

    Attributes
    ----------
    loss : the loss of every pair, which it gives the same answers as
    rows : (N,) row of each point of the tree
    tree, data : what kernels take; see :mod:`mcgta.kernels.tree.search`
    largest : the largest trace of a covariance, in the unit of the dissimilarity
    """

    loss: Loss
    rows: Index
    tree: tuple[Array, Index, Array, Array, Array, Index, Index, Array]
    data: tuple[Array, Index, Array, Index, Array]
    largest: float

    @classmethod
    def of(cls, loss: Loss) -> TreeSearch:
        """Build it, for W2 squared (or calibrated) and positions that kernels can measure between, or no penalty at all."""
        if not serves(loss):
            bounded = " or ".join(map(repr, names_where(has_bounds=True)))
            raise ValueError(
                f"a tree needs dissimilarity={bounded}, a hinge, and positions with coordinates (or beta=0)"
            )
        packed, half = _models(loss.dissimilarity.parts)
        d, count = features_of(packed), len(loss)
        z = _points(packed, half)
        positions = loss.positions.points
        places = np.zeros((count, 1)) if positions is None else positions
        groups = loss.positions.groups.astype(np.int64)
        # Models at one place are divided by position, which keeps piles of equal ones small.
        side = np.ptp(places, axis=0)
        weights = np.zeros(z.shape[1])  # of c none, which follows from the others
        weights[:d], weights[d : 2 * d + d * (d + 1) // 2] = 1.0, np.sqrt(0.5)
        tiny = np.finfo(float).tiny
        order, nodes = trees.build_tree(
            np.hstack([z, places]), np.r_[weights, 1e-200 / np.maximum(side, tiny)], full=True
        )
        z, places, groups = z[order], np.ascontiguousarray(places[order]), groups[order]
        boxes = trees.bound_boxes(z, nodes)
        where = trees.bound_boxes(np.column_stack([places, groups]), nodes)
        data = (np.ascontiguousarray(packed).reshape(-1), order, places, groups, native(half))
        tree = (z, nodes, boxes, where, trees.turn_points(z), *trees.spread_fans(nodes, boxes))
        return cls(loss, order, tree, data, float(_traces(packed, half).max(initial=0.0)))

    def __len__(self) -> int:
        return len(self.loss)

    def dense(self, eps: float, wanted: int, *, known: Labels | None = None) -> tuple[Mask, int]:
        """Tell which rows have ``wanted`` within eps, themselves included; and the pairs compared.

        ``known`` (N,) tells of rows whether they have, 1, or not, 0; for those at -1 it is found out.
        """
        known = np.full(len(self), -1) if known is None else known[self.rows]
        core = known > 0
        law, calls = self._law(eps)

        def look(part: slice) -> int:
            return count_near(self.tree, self.data, law, calls, self._room(), part.start, part.stop, wanted, core)

        exact = self._sweep("dense places", look, _runs(known < 0))
        back = np.empty(len(self), dtype=bool)
        back[self.rows] = core
        return back, exact

    def open_share(self, samples: int, *, eps: float | None) -> float:
        """Return the share of the pairs of some observations that bounds leave open.

        They are asked for ``samples`` neighbours within eps, or for the nearest so many without one.
        """
        count = len(self)
        asked = np.unique(np.linspace(0, count - 1, min(_ASKED, max(16, count // 200))).astype(np.int64))
        law, calls = self._law(eps or 0.0)
        exact, room = 0, self._room()
        everybody, dense, own = np.ones(count, dtype=bool), np.zeros(count, dtype=bool), np.zeros(count)
        for a in asked.tolist():
            if eps is None:
                exact += nearest_losses(
                    self.tree, self.data, law, calls, room, a, a + 1, min(samples, count), everybody, own
                )
            else:
                exact += count_near(self.tree, self.data, law, calls, room, a, a + 1, samples, dense)
        return exact / max(asked.size * (count - 1), 1)

    def components(self, eps: float, core: Mask) -> tuple[Labels, int]:
        """Rank the components of the core rows by their first members, -1 for other rows; and the pairs compared."""
        law, calls = self._law(eps)
        count = self.tree[1].shape[0]
        state, room, inside = begin(len(self), count), self._room(), core[self.rows]
        parent, place = state[0], state[-1]
        exact = 0
        with stage("components", count) as advance:
            while place[0] >= 0:
                before = int(place[0])
                exact += connect(self.tree, self.data, law, calls, room, inside, state, _STEPS)
                advance(before - int(place[0]))
        found = np.empty(len(self), dtype=np.int64)
        found[self.rows] = np.where(inside, find_roots(parent), -1)
        return number(found), exact

    def border(self, eps: float, ranks: Labels) -> tuple[Labels, int]:
        """Give rows without a cluster (-1) the lowest number of a clustered one within eps; and the pairs compared."""
        return self._border(eps, ranks, "border")

    def near(self, eps: float, marked: Mask) -> Mask:
        """Tell which rows are marked or have a marked one within eps."""
        return self._border(eps, np.where(marked, 0, -1), "vicinity")[0] >= 0

    def _border(self, eps: float, ranks: Labels, name: str) -> tuple[Labels, int]:
        law, calls = self._law(eps)
        if ranks.max(initial=-1) < 0:
            return ranks.copy(), 0
        held = ranks[self.rows]
        best = held.copy()
        nobody = np.where(held < 0, 2.0**62, held)[:, None]
        known = (held, trees.bound_boxes(nobody, self.tree[1])[:, 0].astype(np.int64))

        def look(part: slice) -> int:
            return first_near(self.tree, self.data, law, calls, self._room(), part.start, part.stop, known, best)

        exact = self._sweep(name, look)
        labels = np.empty(len(self), dtype=np.int64)
        labels[self.rows] = best
        return labels, exact

    def own(self, wanted: Mask, k: int) -> tuple[Array, int]:
        """Loss of the k-th nearest, itself included, of the wanted rows, infinite for others; and the pairs compared."""
        out = np.full(len(self), np.inf)
        law, calls = self._law(0.0)
        mask = wanted[self.rows]

        def look(part: slice) -> int:
            return nearest_losses(self.tree, self.data, law, calls, self._room(), part.start, part.stop, k, mask, out)

        exact = self._sweep("nearest", look)
        back = np.empty(len(self))
        back[self.rows] = out
        return back, exact

    def reach(self, labels: Labels, core: Mask, own: Array, *, others: bool = False) -> Array:
        """Return the loss at which each row reaches its cluster; see :mod:`mcgta.clustering.membership`. Infinite for noise.

        ``others`` leaves the row itself out of its cluster.
        """
        out = np.full(len(self), np.inf)
        law, calls = self._law(0.0)
        place = labels[self.rows]
        held = np.where(core[self.rows], own[self.rows], np.inf)
        nodes = self.tree[1]
        clusters = (
            place,
            np.where(core[self.rows], place, -1),
            held,
            trees.bound_boxes(held[:, None], nodes)[:, 0].copy(),
        )

        def look(part: slice) -> int:
            return reach_anchors(
                self.tree, self.data, law, calls, self._room(), part.start, part.stop, clusters, others, out
            )

        self._sweep("strengths", look)
        back = np.empty(len(self))
        back[self.rows] = out
        return back

    def anchors(self, rows: Index, own: Array, cap: float, samples: int = 1) -> Anchors:
        """Make ready for :meth:`place` the rows that hold clusters together, given their own and the largest radius.

        Where own is NaN it is found when somebody comes near: the loss to the nearest ``samples``-th, itself included.
        """
        held, ranks = np.full(len(self), np.inf), np.full(len(self), float(NOBODY))
        held[rows], ranks[rows] = own, rows
        held, ranks = held[self.rows], ranks[self.rows]
        least = trees.bound_boxes(np.column_stack([np.where(np.isnan(held), 0.0, held), ranks]), self.tree[1])
        measured = self.loss.positions.kind is not None  # else there is no penalty, so it does not matter
        rounding = self.loss.positions.take(rows).rounding if measured else 0.0
        return Anchors(held, least[:, 0].copy(), least[:, 1].astype(np.int64), min(samples, len(self)), cap, rounding)

    def place(
        self, anchors: Anchors, parts: tuple[Array, ...], places: Positions, groups: Index
    ) -> tuple[Array, Index]:
        """Find the anchor that each of M new observations reaches first; see :mod:`mcgta.clustering.membership`.

        Parameters
        ----------
        anchors : of the clusters
        parts : what the dissimilarity compares the M new observations by
        places : where they are
        groups : (M,) their groups by the codes of the fit, -1 for one that it has not seen

        Returns
        -------
        reach : (M,) the least reach; infinite beyond the largest radius
        rows : (M,) the first row that is reached so; -1 beyond the largest radius
        """
        packed, half = _models(parts)
        count, points = packed.shape[0], places.points
        law, calls = self._law(
            anchors.cap, anchors.rounding if points is None else max(anchors.rounding, places.rounding)
        )
        where = np.zeros((count, 1)) if points is None else points
        slack = _ROUNDING * (np.maximum(_traces(packed, half), self.largest) + anchors.cap)
        models = (native(_points(packed, half)), native(packed).reshape(-1))
        fresh = (*models, native(where), native(groups, np.int64), slack, native(half))
        known = (anchors.own, anchors.least_own, anchors.first_row)
        reach, rows = np.empty(count), np.empty(count, dtype=np.int64)

        fit_law, _ = self._law(0.0)

        def look(part: slice) -> int:
            span, nearby = (part.start, part.stop), (fit_law, np.empty(anchors.samples))
            return first_reached(
                self.tree, self.data, law, calls, self._room(), *span, fresh, known, nearby, reach, rows
            )

        self._sweep("placing", look, tiles(count, _FEW))
        return reach, rows

    def span(self, min_samples: int) -> tuple[Index, Index, Array, Array, int]:
        """Return the edges (i, j, weight) of a minimum spanning tree of mutual reachability, core distances, pairs compared."""
        count = len(self)
        own, exact = self.own(np.ones(count, dtype=bool), min_samples)
        core = own[self.rows]
        law, calls = self._law(0.0)
        state = begin_span(core, trees.bound_boxes(core[:, None], self.tree[1])[:, 0].copy())
        parent, room = np.arange(count), self._room()
        i, j, weights = np.empty(count - 1, np.int64), np.empty(count - 1, np.int64), np.empty(count - 1)
        edges = 0
        with stage("spanning tree", count - 1) as advance:
            while begin_round(self.tree, parent, state) > 1:
                for part in tiles(count, _TILE):
                    exact += look_around(self.tree, self.data, law, calls, room, state, part.start, part.stop)
                before, edges = edges, end_round(parent, state, i, j, weights, edges)
                advance(edges - before)
        return self.rows[i], self.rows[j], weights, own, exact

    def order(self, min_samples: int) -> tuple[Index, Array, Array, Index, int]:
        """Order the rows as scikit-learn's OPTICS does on the table, without a largest radius.

        Returns its ordering, reachabilities, core distances and predecessors (-1 for the first), and the pairs compared.
        """
        count = len(self)
        if not 1 <= min_samples <= count:
            raise ValueError(f"min_samples={min_samples} must be from 1 to the number of observations, {count}")
        own, exact = self.own(np.ones(count, dtype=bool), min_samples)
        core = rounded(own)
        points, nodes, boxes, places, turned, fans, spokes, wide = self.tree
        left = (points, nodes, boxes.copy(), places, turned, fans, spokes, wide.copy())
        walk, (law, calls), room = begin_walk(core[self.rows], self.rows, nodes, spokes), self._law(0.0), self._room()
        _, _, reached, before, _, ordering, *_, done = walk
        with stage("ordering", count) as advance:
            while (first := int(done[0])) < count:
                exact += walk_on(left, self.data, law, calls, room, walk, _STEPS)
                advance(int(done[0]) - first)
        reachability, predecessor = np.empty(count), np.empty(count, dtype=np.int64)
        reachability[self.rows] = reached
        predecessor[self.rows] = np.where(before < 0, -1, self.rows[before])
        return self.rows[ordering], reachability, core, predecessor, exact

    def _sweep(self, name: str, look: Callable[[slice], int], parts: list[slice] | None = None) -> int:
        """Let threads look at all points, or those of some parts; return the pairs compared."""
        parts = tiles(len(self), _TILE) if parts is None else parts
        exact = 0
        with stage(name, len(parts)) as advance:
            for compared in run(look, parts):
                exact += compared
                advance(1)
        return exact

    def _room(self) -> Array:
        return pair_workspace(self._features)

    @property
    def _features(self) -> int:
        return features_of(self.loss.dissimilarity.parts[0])

    def reach_of_penalty(self, rounding: float | None = None) -> float:
        """Return the distance beyond which pairs are not penalised; ``rounding`` is that of its positions by default."""
        loss = self.loss
        rounding = loss.positions.rounding if rounding is None else rounding
        return loss.semivariogram.range_ * (1 + TIE) + rounding if loss.penalty_kind != "unconditional" else np.inf

    def _law(self, eps: float, rounding: float | None = None) -> tuple[tuple[Array, Array, Array, Array], Index]:
        """What kernels need to know of the loss, with a radius."""
        loss, reach = self.loss, self.reach_of_penalty(rounding)
        slack = _ROUNDING * (self.largest + abs(eps))
        code, *arrays = loss.semivariogram.form
        parameters, x, y = map(native, arrays)
        numbers = np.array([eps, loss.beta, loss.margin, reach, slack])
        kind = FLAT if loss.positions.kind is None else loss.positions.kind
        calls = np.array([self._features, kind, code, *pair_functions(self._features)], dtype=np.int64)
        return (numbers, parameters, x, y), calls


def _runs(wanted: Mask) -> list[slice]:
    """Cut the wanted points into parts of consecutive ones."""
    ends = np.flatnonzero(np.diff(np.r_[False, wanted, False]))
    runs = zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True)
    return [slice(at, min(at + _TILE, stop)) for start, stop in runs for at in range(start, stop, _TILE)]


def _models(parts: tuple[Array, ...]) -> tuple[Array, Array]:
    """Return packed models and, for what is in units of chance, c/2 of each; nothing for W2 squared itself."""
    return (parts[0], parts[1]) if len(parts) > 1 else (parts[0], np.empty(0))


def _points(packed: Array, half: Array) -> Array:
    """Return the points that the tree is over."""
    z = embed(packed, spectra=True)
    return np.column_stack([z, half]) if half.size else z


def _traces(packed: Array, half: Array) -> Array:
    """Return the traces of covariances, in units of c where the dissimilarity is."""
    traces = packed[:, features_of(packed)]
    return np.divide(traces, 2 * half, out=np.zeros_like(traces), where=half > 0) if half.size else traces


def serves(loss: Loss) -> bool:
    """Tell whether a tree can be built for this loss."""
    measured = loss.positions.kind is not None or loss.beta == 0
    return loss.dissimilarity.bounded and loss.penalty_kind != "no_hinge" and measured
