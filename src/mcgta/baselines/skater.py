"""Regions of a map by cutting a spanning tree (SKATER)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, depth_first_order, minimum_spanning_tree
from scipy.spatial import KDTree

from mcgta.baselines.base import K_RULE, Baseline, Task, connect
from mcgta.positions.positions import Positions
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.stages.neighborhoods import find_neighborhoods


class SKATER(Baseline):
    """SKATER of Assuncao and others (2006): a map cut into contiguous regions.

    Neighbours in position make a graph. Its spanning tree of least differences in features is cut where the sum of
    squared distances to the regions' means falls the most, one edge at a time, until there are K regions. Prefer it where
    clusters are contiguous regions with clear borders, each at one place; a state that recurs elsewhere is another region.

    The results are those of spopt's ``Skater`` with squared Euclidean distances. Cuts are compared by sums over subtrees, in
    linear time for each region; spopt goes through all rows for each edge and holds the distances of all pairs.

    Parameters
    ----------
    n_clusters : K regions, over all groups
    n_neighbors : each row is linked with its nearest in position, this many
    floor : least rows of a region. Fewer than K regions are found, with a warning, where no cut leaves that many
    metric : of the positions, as in :class:`mcgta.MCGTA`
    random_state : takes no part, since there is no chance; every baseline has it

    Notes
    -----
    Parts of the graph that are not connected are joined by their nearest pairs. Groups are never joined, nor are rows between
    which no finite distances lead: each such set is at least one region, so that K must not be smaller than their number.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": K_RULE,
        "n_neighbors": Rule(integer=(1, INF)),
        "floor": Rule(integer=(1, INF)),
    }

    def __init__(
        self,
        n_clusters: int = 5,
        n_neighbors: int = 8,
        *,
        floor: int = 1,
        metric: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.floor = floor
        self.metric = metric
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        groups = len(task.series)
        sets = len(reachable(task.positions))
        count = len(task.X)
        if self.n_clusters < sets:
            said = "groups" if sets == groups else "sets of rows that are infinitely far from each other"
            raise ValueError(
                f"n_clusters={self.n_clusters} but there are {sets} {said}, and no region reaches over two; n_clusters must "
                "not be smaller"
            )
        if self.n_clusters * self.floor > count:
            raise ValueError(
                f"floor={self.floor} but {count} rows cannot be {self.n_clusters} regions of that many; floor must be at most "
                f"{count // self.n_clusters}"
            )
        i, j = contiguity(task.positions, self.n_neighbors)
        labels, regions = cut_tree(task.X, spanning_tree(task.X, i, j), self.n_clusters, self.floor)
        if regions < self.n_clusters:
            warn(
                f"SKATER found {regions} regions, not n_clusters={self.n_clusters}: no other cut leaves floor={self.floor} "
                "rows on both sides",
                UserWarning,
            )
        return labels


def reachable(positions: Positions) -> list[Index]:
    """Rows of each group, or of each part of it where some distances are infinite and no finite ones lead out of the part."""
    out: list[Index] = []
    for code in np.unique(positions.groups):
        rows = np.flatnonzero(positions.groups == code)
        if positions.matrix is None:
            out.append(rows)
            continue
        count, part = connected_components(np.isfinite(positions.between(rows, rows)), directed=False)
        out += [rows[part == k] for k in range(count)]
    return out


def contiguity(positions: Positions, n_neighbors: int) -> tuple[Index, Index]:
    """Return the edges i < j of the graph of nearest neighbours, connected within each set of rows that can be."""
    edges: list[Index] = []
    for rows in reachable(positions):
        if rows.size < 2:
            continue
        places = positions.take(rows)
        near = find_neighborhoods(places, min(n_neighbors + 1, rows.size))
        few = np.flatnonzero(~near.complete)  # too many of the others are infinitely far: all the rest are neighbours
        i, j = np.nonzero(np.isfinite(places.between(few, slice(None))))
        many = np.flatnonzero(near.complete)
        linked = np.column_stack([np.repeat(many, near.n_neighbors), near.indices[many].ravel()])
        linked = np.concatenate([linked, np.column_stack([few[i], j])])
        edges.append(rows[_bridge(places, linked[linked[:, 0] != linked[:, 1]])])
    pairs = np.sort(np.concatenate([np.empty((0, 2), dtype=np.int64), *edges]), axis=1)
    pairs = np.unique(pairs, axis=0)
    return pairs[:, 0], pairs[:, 1]


def _bridge(places: Positions, pairs: Index) -> Index:
    """Add the nearest pair between a part of the graph and the others until there is one part; the smallest part goes first."""
    count = len(places)
    parts = connect(count, pairs)
    while (sizes := np.bincount(parts)).size > 1:
        inside = np.flatnonzero(parts == int(sizes.argmin()))
        outside = np.flatnonzero(parts != int(sizes.argmin()))
        joined = np.array([nearest_pair(places, inside, outside)])
        pairs = np.concatenate([pairs, joined])
        parts = connect(count, np.column_stack([parts[joined[:, 0]], parts[joined[:, 1]]]))[parts]
        parts = np.unique(parts, return_inverse=True)[1]
    return pairs


def nearest_pair(places: Positions, inside: Index, outside: Index) -> tuple[int, int]:
    """Return the nearest two rows of two sets; the first in order among equals."""
    if places.points is None:
        a, b = divmod(int(places.between(inside, outside).argmin()), outside.size)
        return int(inside[a]), int(outside[b])
    # Points never overstate a distance, so the nearest pair is among those no farther than the best that a tree finds.
    tree = KDTree(places.points[outside])
    least, nearest = tree.query(places.points[inside])
    reach = float(places.of_pairs(inside, outside[nearest]).min()) * (1 + 1e-9) + places.rounding
    rows = inside[least <= reach]
    near = tree.query_ball_point(places.points[rows], reach, return_sorted=True)
    i = np.repeat(rows, [len(rows_near) for rows_near in near])
    j = outside[np.concatenate(near).astype(np.int64)]
    best = int(places.of_pairs(i, j).argmin())
    return int(i[best]), int(j[best])


def spanning_tree(X: Array, i: Index, j: Index) -> csr_array:
    """Return the symmetric graph of the edges that span each part with the least differences in features."""
    differences = ((X[i] - X[j]) ** 2).sum(axis=1)
    # A tree depends on the order of its edges only; ranks order ties, too, and none is zero, which would be no edge.
    rank = np.empty(i.size)
    rank[np.lexsort((j, i, differences))] = np.arange(1, i.size + 1)
    tree = minimum_spanning_tree(
        coo_array((rank, (i.astype(np.int32), j.astype(np.int32))), shape=(len(X), len(X))).tocsr()
    )
    return csr_array(tree + tree.T)


def cut_tree(X: Array, tree: csr_array, n_regions: int, floor: int) -> tuple[Labels, int]:
    """Cut the edges of greatest gain until there are ``n_regions``; return the labels and the number of regions."""
    X = X - X.mean(axis=0)
    count, labels = connected_components(tree, directed=False)
    labels = np.asarray(labels, dtype=np.int64)
    cuts = [_best_cut(X, tree, np.flatnonzero(labels == k), floor) for k in range(count)]
    while count < n_regions:
        k = int(np.argmax([gain for gain, _ in cuts]))
        if cuts[k][0] == -np.inf:
            break
        labels[cuts[k][1]] = count
        cuts[k] = _best_cut(X, tree, np.flatnonzero(labels == k), floor)
        cuts.append(_best_cut(X, tree, np.flatnonzero(labels == count), floor))
        count += 1
    return labels, count


def _best_cut(X: Array, tree: csr_array, rows: Index, floor: int) -> tuple[float, Index]:
    """Return by how much the best cut of a region lowers the sum of squares, -inf if none is allowed, and the rows cut off."""
    size = rows.size
    if size < 2 * floor or size < 2:
        return -np.inf, rows[:0]
    part = tree[rows][:, rows]
    order, parents = depth_first_order(part, 0, directed=False)
    below = np.ones(size, dtype=np.int64)
    for row in order[:0:-1].tolist():
        below[parents[row]] += below[row]
    # In depth-first order the rows below an edge follow one another.
    sums = np.concatenate([np.zeros((1, X.shape[1])), np.cumsum(X[rows[order]], axis=0)])
    starts = np.arange(1, size)
    sizes = below[order[1:]]
    inner = sums[starts + sizes] - sums[starts]
    outer = sums[-1] - inner
    gains = (inner**2).sum(axis=1) / sizes + (outer**2).sum(axis=1) / (size - sizes) - (sums[-1] ** 2).sum() / size
    gains[(sizes < floor) | (size - sizes < floor)] = -np.inf
    best = int(gains.argmax())
    return float(gains[best]), rows[order[starts[best] : starts[best] + sizes[best]]]
