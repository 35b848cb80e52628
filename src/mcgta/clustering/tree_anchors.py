"""Placing new observations through the tree of a fit: the anchor of a cluster that each reaches first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.clustering.model_tree import RELATIVE_ROUNDING, Models, describe_loss, workspace
from mcgta.clustering.tree_search import TreeSearch
from mcgta.kernels.simd.compiled import native
from mcgta.kernels.tree.build import bound_boxes
from mcgta.kernels.tree.place import NO_ROW, first_reached
from mcgta.positions.positions import Positions
from mcgta.runtime.parallel import run, tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index

_NEW_OF_A_TASK = 64  # few, since new observations may ask for the core distances of many points


@dataclass(frozen=True, eq=False)
class TreeAnchors:
    """The observations that hold the clusters of a fit together, in its tree.

    Attributes
    ----------
    search : the tree of the fit
    rows : (A,) the anchors' rows in the loss of the tree, ascending
    core_distances : (N,) of the anchors, in the order of the tree; infinite for others, NaN until it is found
    least_core_distances, first_rows : (V,) of each node the least core distance and the first row of an anchor
    min_samples : observations that make a place dense, for core distances that are still to be found
    largest_radius : of a cluster, beyond which nothing is placed
    rounding : the size of rounding errors in a distance of the anchors' positions
    """

    search: TreeSearch
    rows: Index
    core_distances: Array
    least_core_distances: Array
    first_rows: Index
    min_samples: int
    largest_radius: float
    rounding: float

    @classmethod
    def of(
        cls, search: TreeSearch, rows: Index, core_distances: Array, *, largest_radius: float, min_samples: int = 1
    ) -> TreeAnchors:
        """Mark anchors in a tree.

        Where the core distance of an anchor is NaN it is found when a new observation comes near: the loss to the
        ``min_samples``-th nearest, itself included.
        """
        held = np.full(len(search), np.inf)
        held[rows] = core_distances
        ranks = np.full(len(search), float(NO_ROW))
        ranks[rows] = rows
        held = held[search.models.rows]
        known = np.where(np.isnan(held), 0.0, held)
        least = bound_boxes(np.column_stack([known, ranks[search.models.rows]]), search.models.tree[1])
        positions = search.loss.positions
        measured = positions.kind is not None  # else there is no penalty, so rounding does not matter
        return cls(
            search,
            rows,
            held,
            least[:, 0].copy(),
            least[:, 1].astype(np.int64),
            min(min_samples, len(search)),
            largest_radius,
            positions.take(rows).rounding if measured else 0.0,
        )

    def place(self, parts: tuple[Array, ...], places: Positions, groups: Index) -> tuple[Array, Index]:
        """Find the anchor that each of M new observations reaches first; see :mod:`mcgta.clustering.membership`.

        Parameters
        ----------
        parts : what the dissimilarity compares the M new observations by
        places : where they are
        groups : (M,) their groups by the codes of the fit, -1 for one that it has not seen

        Returns
        -------
        reach : (M,) the least reach; infinite beyond the largest radius
        rows : (M,) the first row that is reached so; -1 beyond the largest radius
        """
        loss = self.search.loss
        trace = self.search.models.largest_trace
        models = Models.of(parts)
        count = models.packed.shape[0]
        points = places.points
        rounding = self.rounding if points is None else max(self.rounding, places.rounding)
        terms = describe_loss(loss, trace, self.largest_radius, rounding)
        terms_of_fit = describe_loss(loss, trace, 0.0)
        new = (
            native(models.points()),
            native(models.packed).reshape(-1),
            native(np.zeros((count, 1)) if points is None else points),
            native(groups, np.int64),
            RELATIVE_ROUNDING * (np.maximum(models.traces(), trace) + self.largest_radius),
            native(models.half_chance),
        )
        anchors = (self.core_distances, self.least_core_distances, self.first_rows)
        reach = np.empty(count)
        rows = np.empty(count, dtype=np.int64)

        def place_part(part: slice) -> int:
            return first_reached(
                self.search.models.tree,
                self.search.models.data,
                *terms,
                workspace(loss),
                part.start,
                part.stop,
                new,
                anchors,
                (terms_of_fit.numbers, np.empty(self.min_samples)),
                reach,
                rows,
            )

        tasks = tiles(count, _NEW_OF_A_TASK)
        with stage("placing", len(tasks)) as advance:
            for _ in run(place_part, tasks):
                advance(1)
        return reach, rows
