"""Which observations of a fit can have to do with the models of new ones: those around them.

Neighbourhoods are found among these few by the rules of :mod:`mcgta.stages.neighborhoods`, with the result of a search among
all. Search trees over the positions are built when first needed, one for each group, and kept.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
from scipy.spatial import KDTree

from mcgta.kernels.positions.metrics import TIE
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index


class Surroundings:
    """The observations of a fit, in canonical order, to be looked up by position.

    ``count`` is the largest neighbourhood that is asked for, and ``before`` the predecessors in time.
    """

    def __init__(self, positions: Positions, count: int, before: int) -> None:
        if positions.points is None:
            raise ValueError("surroundings need positions with coordinates")
        self._positions = positions
        self._points = positions.points
        self._count = count
        self._before = before
        self._trees: dict[int, tuple[Index, KDTree]] = {}
        # It sets how large rounding errors are, so it is always among the surroundings.
        self._outermost = int(np.abs(self._points).max(axis=1).argmax())

    def around(self, new: Positions, groups: Index) -> Index:
        """Return the rows, ascending, that new observations may have as neighbours, and the neighbours of their nearest.

        ``groups`` (M,) holds codes of the fit, -1 for a group that it has not seen.
        """
        points = new.points
        assert points is not None
        near = [np.array([self._outermost])]
        for code in np.unique(groups[groups >= 0]).tolist():
            rows = np.flatnonzero(groups == code)
            near.append(self._near(code, points[rows], new.rounding))
            if self._before and self._positions.is_chain:
                near.append(self._earlier(code, points[rows, 0]))
        return np.unique(np.concatenate(near))

    def _near(self, code: int, points: Array, rounding: float) -> Index:
        """Rows of a group that are neighbours of these points, or tied with such, and those of the nearest ones."""
        members, tree = self._tree(code)
        if members.size <= self._count:
            return members
        slack = 4 * max(rounding, self._positions.rounding)
        closest, farthest = np.asarray(tree.query(points, k=[1, self._count])[0]).T
        inside = _flat(tree.query_ball_point(points, self._beyond(farthest, slack)))
        centers = tree.data[np.unique(_flat(tree.query_ball_point(points, self._beyond(closest, slack))))]
        farthest = np.asarray(tree.query(centers, k=[self._count])[0])[:, 0]
        others = _flat(tree.query_ball_point(centers, self._beyond(farthest, slack)))
        return members[np.concatenate([inside, others])]

    def _beyond(self, straight: Array, slack: float) -> Array:
        """Return the straight distance within which all are that are no farther than, or tied with, one so far away."""
        return self._positions.metric.straight_reach(straight) * (1 + 4 * TIE) + slack

    def _tree(self, code: int) -> tuple[Index, KDTree]:
        """Rows of a group, and the tree of their points; of many at one place only the first can be neighbours."""
        if code not in self._trees:
            first, last = np.searchsorted(self._positions.groups, [code, code + 1])
            points = self._points[first:last]
            place = np.r_[True, np.any(points[1:] != points[:-1], axis=1)][: points.shape[0]]
            standing = np.arange(points.shape[0])
            members = standing[standing - np.maximum.accumulate(np.where(place, standing, 0)) < self._count]
            self._trees[code] = (first + members, KDTree(points[members]))
        return self._trees[code]

    def _earlier(self, code: int, times: Array) -> Index:
        """Rows of the observations last before, or at, these times."""
        first, last = np.searchsorted(self._positions.groups, [code, code + 1])
        after = first + np.searchsorted(self._points[first:last, 0], times, side="right")
        rows = after[:, None] - 1 - np.arange(self._before)
        return rows[rows >= first]


def _flat(lists: Array) -> Index:
    """Join lists of rows."""
    return np.fromiter(chain.from_iterable(lists), dtype=np.int64)
