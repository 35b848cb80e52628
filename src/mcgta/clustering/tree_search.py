"""Neighbour search through a tree over the models, exact and without the table of losses.

DBSCAN needs to know which observations have ``min_samples`` others within eps, which of those hang together, and which of the
rest are within eps of one; never how far two observations are apart. Bounds answer nearly all of it
(:mod:`mcgta.kernels.tree.search`), and the rest is compared as the table would, so labels are those of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.model_tree import ModelTree, describe_loss, grow_tree, penalty_reach, workspace
from mcgta.clustering.neighbor_search import CloserPairs, Ordering, SpanningTree, find_roots, round_as_optics
from mcgta.kernels.tree.build import bound_boxes
from mcgta.kernels.tree.connect import begin, connect
from mcgta.kernels.tree.nearest import nearest_losses, reach_anchors
from mcgta.kernels.tree.neighbor_lists import list_nearer
from mcgta.kernels.tree.order import begin_walk, walk_on
from mcgta.kernels.tree.search import count_near, first_near
from mcgta.kernels.tree.span import begin_round, begin_span, end_round, look_around
from mcgta.runtime.parallel import run, tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Labels, Mask
from mcgta.stages.loss import Loss

_POINTS_OF_A_TASK = 256
_STEPS_OF_A_CALL = 20_000  # nodes, or pairs of nodes, that are looked at before Ctrl-C is noticed
_MOST_PROBED = 128  # observations that tell how well bounds do
_NO_LABEL = 2.0**62

Values = TypeVar("Values", bound=np.ndarray[Any, Any])


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """A neighbour search through a tree.

    Attributes
    ----------
    loss : the loss of every pair, which it gives the same answers as
    models : the tree over the models of the loss; losses that differ in their penalty may share it
    """

    loss: Loss
    models: ModelTree

    @classmethod
    def of(cls, loss: Loss) -> TreeSearch:
        """Build it, for W2 squared (or calibrated) and positions that kernels can measure between, or no penalty."""
        return cls(loss, grow_tree(loss))

    def __len__(self) -> int:
        return len(self.loss)

    @property
    def table(self) -> None:
        """There is no table of losses."""
        return None

    def core_rows(self, eps: float, min_samples: int, *, known: Labels | None = None) -> tuple[Mask, int]:
        """Tell which rows have ``min_samples`` rows within eps, themselves included; and the pairs compared."""
        told = np.full(len(self), -1) if known is None else known[self.models.rows]
        core = told > 0
        terms = describe_loss(self.loss, self.models.largest_trace, eps)

        def mark_core(part: slice) -> int:
            room = workspace(self.loss)
            return count_near(*self._trees, *terms, room, part.start, part.stop, min_samples, core)

        comparisons = self._sweep("core rows", mark_core, _consecutive_parts(told < 0))
        return self._by_row(core), comparisons

    def open_share(self, min_samples: int, *, eps: float | None) -> float:
        """Return the share of the pairs of some observations that bounds leave open.

        They are asked for ``min_samples`` neighbours within eps, or for the nearest so many without one.
        """
        count = len(self)
        asked = np.unique(np.linspace(0, count - 1, min(_MOST_PROBED, max(16, count // 200))).astype(np.int64))
        terms = describe_loss(self.loss, self.models.largest_trace, eps or 0.0)
        room = workspace(self.loss)
        every = np.ones(count, dtype=bool)
        core = np.zeros(count, dtype=bool)
        distances = np.zeros(count)
        k = min(min_samples, count)
        comparisons = 0
        for a in asked.tolist():
            if eps is None:
                comparisons += nearest_losses(*self._trees, *terms, room, a, a + 1, k, every, distances)
            else:
                comparisons += count_near(*self._trees, *terms, room, a, a + 1, min_samples, core)
        return comparisons / max(asked.size * (count - 1), 1)

    def components(self, eps: float, core: Mask) -> tuple[Labels, int]:
        """Number the components of the core rows by their first members, -1 for other rows; and the pairs compared."""
        terms = describe_loss(self.loss, self.models.largest_trace, eps)
        nodes = self.models.tree[1].shape[0]
        inside = core[self.models.rows]
        state = begin(len(self), nodes)
        parent = state[0]
        place = state[-1]
        room = workspace(self.loss)
        comparisons = 0
        with stage("components", nodes) as advance:
            while place[0] >= 0:
                before = int(place[0])
                comparisons += connect(*self._trees, *terms, room, inside, state, _STEPS_OF_A_CALL)
                advance(before - int(place[0]))
        return number_by_first_member(self._by_row(np.where(inside, find_roots(parent), -1))), comparisons

    def border(self, eps: float, labels: Labels) -> tuple[Labels, int]:
        """Give rows without a cluster (-1) the lowest label of a clustered row within eps; and the pairs compared."""
        return self._attach(eps, labels, "border")

    def near(self, eps: float, marked: Mask) -> Mask:
        """Tell which rows are marked or have a marked one within eps."""
        return self._attach(eps, np.where(marked, 0, -1), "vicinity")[0] >= 0

    def _attach(self, eps: float, labels: Labels, name: str) -> tuple[Labels, int]:
        if labels.max(initial=-1) < 0:
            return labels.copy(), 0
        terms = describe_loss(self.loss, self.models.largest_trace, eps)
        given = labels[self.models.rows]
        lowest = given.copy()
        of_nodes = self._least_of_nodes(np.where(given < 0, _NO_LABEL, given)).astype(np.int64)

        def find_lowest(part: slice) -> int:
            room = workspace(self.loss)
            return first_near(*self._trees, *terms, room, part.start, part.stop, (given, of_nodes), lowest)

        comparisons = self._sweep(name, find_lowest)
        return self._by_row(lowest), comparisons

    def core_distances(self, wanted: Mask, k: int) -> tuple[Array, int]:
        """Return the loss of the k-th nearest, itself included, of the wanted rows; and the pairs compared."""
        distances = np.full(len(self), np.inf)
        terms = describe_loss(self.loss, self.models.largest_trace, 0.0)
        mask = wanted[self.models.rows]

        def find_kth(part: slice) -> int:
            room = workspace(self.loss)
            return nearest_losses(*self._trees, *terms, room, part.start, part.stop, k, mask, distances)

        comparisons = self._sweep("core distances", find_kth)
        return self._by_row(distances), comparisons

    def cluster_reachability(self, labels: Labels, core: Mask, core_distances: Array, *, others: bool = False) -> Array:
        """Return the loss at which each row reaches its cluster, infinite for noise."""
        terms = describe_loss(self.loss, self.models.largest_trace, 0.0)
        reachability = np.full(len(self), np.inf)
        places = labels[self.models.rows]
        anchored = core[self.models.rows]
        held = np.where(anchored, core_distances[self.models.rows], np.inf)
        clusters = (places, np.where(anchored, places, -1), held, self._least_of_nodes(held))

        def find_reach(part: slice) -> int:
            room = workspace(self.loss)
            return reach_anchors(*self._trees, *terms, room, part.start, part.stop, clusters, others, reachability)

        self._sweep("reachability", find_reach)
        return self._by_row(reachability)

    def closer_pairs(self, core_distances: Array, min_samples: int) -> CloserPairs:
        """Return the pairs that are closer than the core distance of their first row, fewer than ``min_samples`` a row."""
        terms = describe_loss(self.loss, self.models.largest_trace, 0.0)
        bars = core_distances[self.models.rows]
        points = np.full((len(self), min_samples), -1)
        losses = np.empty((len(self), min_samples))

        def list_nearest(part: slice) -> int:
            room = workspace(self.loss)
            return list_nearer(*self._trees, *terms, room, part.start, part.stop, bars, (points, losses))

        self._sweep("closer pairs", list_nearest)
        a, place = np.nonzero(points >= 0)
        rows = self.models.rows[a]
        order = np.argsort(rows, kind="stable")
        others = self.models.rows[points[a, place]]
        return CloserPairs(rows[order], others[order], losses[a, place][order])

    def spanning_tree(self, min_samples: int) -> SpanningTree:
        """Return a minimum spanning tree of mutual reachability, by the rounds of Boruvka (1926)."""
        count = len(self)
        core_distances, comparisons = self.core_distances(np.ones(count, dtype=bool), min_samples)
        held = core_distances[self.models.rows]
        terms = describe_loss(self.loss, self.models.largest_trace, 0.0)
        state = begin_span(held, self._least_of_nodes(held))
        parent = np.arange(count)
        room = workspace(self.loss)
        i = np.empty(count - 1, np.int64)
        j = np.empty(count - 1, np.int64)
        weight = np.empty(count - 1)
        edges = 0
        with stage("spanning tree", count - 1) as advance:
            while begin_round(self.models.tree, parent, state) > 1:
                for part in tiles(count, _POINTS_OF_A_TASK):
                    comparisons += look_around(*self._trees, *terms, room, state, part.start, part.stop)
                before = edges
                edges = end_round(parent, state, i, j, weight, edges)
                advance(edges - before)
        rows = self.models.rows
        return SpanningTree(rows[i], rows[j], weight, core_distances, comparisons)

    def ordering(self, min_samples: int) -> Ordering:
        """Return the ordering of OPTICS, without a largest radius."""
        count = len(self)
        rows = self.models.rows
        if not 1 <= min_samples <= count:
            raise ValueError(f"min_samples={min_samples} must be from 1 to the number of observations, {count}")
        exact, comparisons = self.core_distances(np.ones(count, dtype=bool), min_samples)
        core_distances = round_as_optics(exact)
        terms = describe_loss(self.loss, self.models.largest_trace, 0.0)
        points, nodes, boxes, places, turned, fans, spokes, wide = self.models.tree
        left = (points, nodes, boxes.copy(), places, turned, fans, spokes, wide.copy())
        walk = begin_walk(core_distances[rows], rows, nodes, spokes)
        _, _, reached, before, _, visited, *_, done = walk
        room = workspace(self.loss)
        with stage("ordering", count) as advance:
            while (first := int(done[0])) < count:
                comparisons += walk_on(left, self.models.data, *terms, room, walk, _STEPS_OF_A_CALL)
                advance(int(done[0]) - first)
        predecessor = np.where(before < 0, -1, rows[before])
        return Ordering(rows[visited], self._by_row(reached), core_distances, self._by_row(predecessor), comparisons)

    def penalty_reach(self) -> float:
        """Return the distance beyond which pairs are not penalised."""
        return penalty_reach(self.loss, self.loss.positions.rounding)

    @property
    def _trees(self) -> tuple[Any, Any]:
        """The first two arguments of kernels."""
        return self.models.tree, self.models.data

    def _by_row(self, values: Values) -> Values:
        """Return what belongs to the points of the tree in the order of the rows."""
        ordered = np.empty_like(values)
        ordered[self.models.rows] = values
        return cast(Values, ordered)

    def _least_of_nodes(self, values: Array) -> Array:
        """Return the least of the values of each node's points."""
        return bound_boxes(values[:, None], self.models.tree[1])[:, 0].copy()

    def _sweep(self, name: str, work: Callable[[slice], int], parts: list[slice] | None = None) -> int:
        """Let threads work on all points, or those of some parts; return the pairs compared."""
        parts = tiles(len(self), _POINTS_OF_A_TASK) if parts is None else parts
        comparisons = 0
        with stage(name, len(parts)) as advance:
            for compared in run(work, parts):
                comparisons += compared
                advance(1)
        return comparisons


def _consecutive_parts(wanted: Mask) -> list[slice]:
    """Cut the wanted points into parts of consecutive ones."""
    ends = np.flatnonzero(np.diff(np.r_[False, wanted, False]))
    runs = zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True)
    size = _POINTS_OF_A_TASK
    return [slice(at, min(at + size, stop)) for start, stop in runs for at in range(start, stop, size)]
