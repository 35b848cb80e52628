"""Held-out blocks: stretches of time, compact pieces of space, or whole groups, instead of random rows.

Neighbours share most of their local models, so a row held out alone is not held out at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.model_selection import BaseCrossValidator

from mcgta.observations.observations import align_positions
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.parallel import tiles
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array, Index, Mask

BLOCKS_PER_FOLD = 4
_TILE = 1024

Fold = tuple[Index, Index]
"""Rows to train on, and rows held out."""


class BlockSplit(BaseCrossValidator):
    """A scikit-learn splitter that holds out blocks.

    Blocks are cut by halves across the widest direction of the positions, and hold about as many rows each: stretches of time,
    boxes of a plane, pieces of a sphere. Rows at one place stay together. The k-th block goes to fold k modulo ``n_splits``.
    With several groups, whole groups are held out, assigned so that folds are about equally large. Nothing is random.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    n_blocks : int or None
        Blocks that the positions are cut into, at least ``n_splits``; None is four per fold. With ``n_blocks=n_splits`` each
        fold is one block, which along time may hold a single state.
    gap : float, default=0.0
        Rows this near to a held-out one, or nearer, are left out of training. In the unit of the positions: steps without
        positions, seconds for datetimes, metres on the globe. With 0, none are.
    whole_groups : bool, default=True
        Hold out whole groups where there are several. False cuts each group into ``n_blocks`` blocks.
    metric : as in :class:`mcgta.MCGTA`

    Examples
    --------
    >>> import numpy as np
    >>> from mcgta import BlockSplit
    >>> for train, test in BlockSplit(2, n_blocks=4, gap=1).split(np.zeros((12, 1))):
    ...     print(train, test)
    [ 4 10 11] [0 1 2 6 7 8]
    [0 1 7] [ 3  4  5  9 10 11]
    """

    # What scikit-learn routes to a splitter, where its metadata routing is enabled.
    __metadata_request__split = {"groups": True, "positions": True}  # noqa: RUF012 - scikit-learn reads it so

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_blocks: int | None = None,
        gap: float = 0.0,
        whole_groups: bool = True,
        metric: Any = "auto",
    ) -> None:
        check_value("n_splits", n_splits, Rule(integer=(2, INF)))
        check_value("n_blocks", n_blocks, Rule(integer=(n_splits, INF), none=True))
        check_value("gap", gap, Rule(real=(0, INF)))
        check_value("whole_groups", whole_groups, Rule(flag=True))
        self.n_splits = n_splits
        self.n_blocks = n_blocks
        self.gap = gap
        self.whole_groups = whole_groups
        self.metric = metric

    def split(self, X: Any, y: Any = None, groups: Any = None, *, positions: Any = None) -> Iterator[Fold]:
        """Yield the rows to train on and those held out, for each fold; both ascending.

        ``positions`` and ``groups`` are as in :meth:`mcgta.MCGTA.fit`; without positions the order of the rows is time.
        ``y`` is ignored.
        """
        positions = align_positions(X, positions, groups, metric=self.metric)
        places = read_positions(positions, len(X), groups=groups, metric=self.metric)
        yield from self.split_positions(places)

    def split_positions(self, places: Positions) -> list[Fold]:
        """Return the same for positions that have been read."""
        folds = self._deal(places)
        rows = np.arange(len(places))
        out = []
        for k in range(self.n_splits):
            held = folds == k
            train = rows[~held]
            if self.gap:
                train = train[~_within(places, train, rows[held], float(self.gap))]
            if train.size == 0:
                raise ValueError(
                    f"gap={self.gap:g} leaves no rows to train on in fold {k}; use a smaller gap or fewer blocks"
                )
            out.append((train, rows[held]))
        return out

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, *, positions: Any = None) -> int:
        """Return the number of folds."""
        return int(self.n_splits)

    def _deal(self, places: Positions) -> Index:
        """(N,) the fold that each row is held out in."""
        sizes = np.bincount(places.groups)
        present = np.flatnonzero(sizes)
        if present.size > 1 and self.whole_groups:
            return self._deal_groups(places.groups, sizes, present)
        blocks = self.n_blocks or BLOCKS_PER_FOLD * self.n_splits
        out = np.empty(len(places), dtype=np.intp)
        for group in present:
            rows = np.flatnonzero(places.groups == group)
            for k, block in enumerate(_cut(places, rows, blocks)):
                out[block] = k % self.n_splits
        return out

    def _deal_groups(self, groups: Index, sizes: Index, present: Index) -> Index:
        if self.n_blocks is not None:
            raise ValueError(
                f"n_blocks={self.n_blocks} has no effect where whole groups are held out; use n_blocks=None, or "
                "whole_groups=False"
            )
        if present.size < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} with {present.size} groups: there must be as many groups as folds; use fewer folds, "
                "or whole_groups=False to cut blocks within groups"
            )
        load = np.zeros(self.n_splits, dtype=np.int64)
        fold = np.zeros(sizes.size, dtype=np.intp)
        for group in present[np.argsort(-sizes[present], kind="stable")]:  # the largest first, to the lightest fold
            fold[group] = np.argmin(load)
            load[fold[group]] += sizes[group]
        return fold[groups]


def cut_blocks(places: Positions, size: int) -> Index:
    """(N,) the block of each row, 0, 1, ...: groups are cut into as many blocks as have about ``size`` rows, or more.

    Smaller groups are one block each, and so are rows at one place.
    """
    blocks = np.empty(len(places), dtype=np.int64)
    count = 0
    by_group = np.argsort(places.groups, kind="stable")
    for rows in np.split(by_group, np.cumsum(np.bincount(places.groups))[:-1]):
        if rows.size == 0:
            continue
        wanted = rows.size // size
        if wanted > 1:
            wanted = min(wanted, _along(places, rows)[1].size + 1)
        for block in _cut(places, rows, max(1, wanted)):
            blocks[block] = count
            count += 1
    return blocks


def _cut(places: Positions, rows: Index, count: int) -> list[Index]:
    """Cut rows of one group into blocks, in an order that goes along the positions."""
    if count == 1:
        return [rows]
    order, ends = _along(places, rows)
    if ends.size + 1 < count:
        raise ValueError(
            f"{count} blocks cannot be cut from {ends.size + 1} distinct positions; use fewer folds or n_blocks"
        )
    first = count // 2
    allowed = ends[first - 1 : ends.size - (count - first) + 1]  # leaves enough places on either side
    cut = allowed[np.argmin(np.abs(allowed - rows.size * first / count))]
    return _cut(places, rows[order[:cut]], first) + _cut(places, rows[order[cut:]], count - first)


def _along(places: Positions, rows: Index) -> tuple[Index, Index]:
    """Order rows across the widest direction; return the order, and before which of its entries one may cut."""
    points = places.coordinates[rows] if places.points is None else places.points[rows]
    if points.shape[1] == 0:
        # Only distances are known: from one end to the other, an end being as far as can be from somewhere.
        far = [_distances(places, rows, rows[:1])]
        for _ in range(2):
            far.append(_distances(places, rows, rows[[np.argmax(far[-1])]]))
        order = np.argsort(far[1] - far[2], kind="stable")
        return order, np.arange(1, rows.size)
    widest = np.argsort(-np.ptp(points, axis=0), kind="stable")
    order = np.lexsort(points.T[widest[::-1]])
    sorted_points = points[order]
    return order, 1 + np.flatnonzero((sorted_points[1:] != sorted_points[:-1]).any(axis=1))


def _distances(places: Positions, rows: Index, end: Index) -> Array:
    """Distances to one row; what is never a neighbour is farther than all others."""
    distances = places.between(rows, end)[:, 0]
    known = np.isfinite(distances)
    return np.where(known, distances, 2 * distances.max(where=known, initial=1.0))


def _within(places: Positions, rows: Index, held: Index, gap: float) -> Mask:
    """Whether each of some rows is within ``gap`` of a held-out one of its group."""
    close = np.zeros(rows.size, dtype=bool)
    for group in np.unique(places.groups[held]):
        inside = np.flatnonzero(places.groups[rows] == group)
        others = held[places.groups[held] == group]
        if places.points is not None and inside.size:
            # The tree's distances never exceed the metric's: what is farther by the tree is farther.
            near, nearest = cKDTree(places.points[others]).query(places.points[rows[inside]])
            close[inside] = places.of_pairs(rows[inside], others[nearest]) <= gap
            inside = inside[~close[inside] & (near <= gap + places.rounding)]
        for tile in tiles(inside.size, _TILE):
            close[inside[tile]] = places.between(rows[inside[tile]], others).min(axis=1) <= gap
    return close
