"""k-means with pairwise constraints (PCKMeans), which are drawn from distances in position unless they are given."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial import KDTree
from sklearn.exceptions import ConvergenceWarning

from mcgta.baselines.base import K_RULE, Baseline, Task, connect
from mcgta.positions.positions import Positions
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.runtime.warnings import warn
from mcgta.stages.neighborhoods import find_neighborhoods

_NEAREST = 10  # must-links are drawn among as many neighbours, if no distance is given
_FARTHEST = 10  # of as many pairs the farthest becomes a cannot-link, if no distance is given
_TRIES = 100  # pairs drawn for each cannot-link beyond a given distance
_LINKS = Rule(kinds=(list, tuple, np.ndarray), none=True)


class PCKMeans(Baseline):
    """PCKMeans of Basu, Banerjee and Mooney (2004): k-means that pays for each link it breaks.

    It minimises the sum of squared distances to the clusters' means, plus a weight for each must-link between two clusters
    and each cannot-link inside one. Prefer it to k-means where some pairs are known to belong together or apart. Links that
    are drawn from positions say that near rows are of one cluster and far rows are not, which is false where states recur.

    Parameters
    ----------
    n_clusters : K
    n_links : how many must-links and how many cannot-links are drawn, but for repeated ones; None for one of each for ten
        rows. Links of a kind that is given are not drawn
    near : must-links are drawn among pairs at most this far apart in position; None for one of the 10 nearest rows of a row
    far : cannot-links are drawn among pairs at least this far apart; None for the farthest of each 10 pairs. Rows at one place
        get none, nor do pairs at most ``near`` apart or, if neither distance is given, rows of which one is among the 10
        nearest of the other; then groups of at most 11 rows have none
    weight : what a broken link costs, as a multiple of the mean squared distance of rows from the mean of all
    must_link, cannot_link : (L, 2) pairs of rows of X, or None to draw them
    n_init : starts, of which the one of least objective is kept
    max_iter : sweeps over all rows
    metric : of the positions, as in :class:`mcgta.MCGTA`
    random_state : seed of the links, of the sweeps' order, and of centres for which there are no links

    Notes
    -----
    Drawn links lie within groups. Cannot-links that contradict the must-links are not drawn, and refused if they are given.
    Clusters begin as the largest sets of rows that must-links connect; further starts draw such sets, single rows among them,
    as k-means++ draws rows, by size times squared distance from those before. After ``fit`` there are ``objective_`` and, after
    each of ``n_iter_`` sweeps, ``objectives_``, which never increase; and ``must_link_`` and ``cannot_link_``, the links as
    pairs of rows of X.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": K_RULE,
        "n_links": Rule(integer=(0, INF), none=True),
        "near": Rule(real=(0, INF), above=True, none=True),
        "far": Rule(real=(0, INF), none=True),
        "weight": Rule(real=(0, INF)),
        "must_link": _LINKS,
        "cannot_link": _LINKS,
        "n_init": Rule(integer=(1, INF)),
        "max_iter": Rule(integer=(1, INF)),
    }

    objective_: float
    objectives_: Array
    n_iter_: int
    must_link_: Index
    cannot_link_: Index

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_links: int | None = None,
        near: float | None = None,
        far: float | None = None,
        weight: float = 1.0,
        must_link: Any = None,
        cannot_link: Any = None,
        n_init: int = 3,
        max_iter: int = 100,
        metric: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_links = n_links
        self.near = near
        self.far = far
        self.weight = weight
        self.must_link = must_link
        self.cannot_link = cannot_link
        self.n_init = n_init
        self.max_iter = max_iter
        self.metric = metric
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        rng = np.random.default_rng(task.seed)
        must, cannot = self._links(task, rng)
        self.must_link_ = task.rows[must]
        self.cannot_link_ = task.rows[cannot]
        X = task.X - np.median(task.X, axis=0)  # a constant feature is exactly 0, as is the mean of such
        spread = float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
        links = Links(len(X), must, cannot, self.weight * spread)
        runs = []
        for run in range(self.n_init):
            centres = first_centres(X, links, self.n_clusters, rng, largest=run == 0)
            runs.append(sweep(X, centres, links, self.max_iter, rng))
        labels, objectives, settled = min(runs, key=lambda run: run[1][-1])
        self.objectives_ = np.array(objectives)
        self.objective_ = objectives[-1]
        self.n_iter_ = len(objectives)
        if not settled:
            warn(f"PCKMeans did not settle in max_iter={self.max_iter} sweeps; raise it", ConvergenceWarning)
        return labels

    def _links(self, task: Task, rng: np.random.Generator) -> tuple[Index, Index]:
        """Return must-links and cannot-links in the rows of the task, as given or drawn."""
        count = len(task.X)
        given = {"must_link": self.must_link, "cannot_link": self.cannot_link}
        for name, kind in (("near", "must_link"), ("far", "cannot_link")):
            if getattr(self, name) is not None and given[kind] is not None:
                raise ValueError(f"{name}={getattr(self, name)!r} has no effect where {kind} is given")
        if self.n_links is not None and self.must_link is not None and self.cannot_link is not None:
            raise ValueError(f"n_links={self.n_links!r} has no effect where must_link and cannot_link are given")
        wanted = max(1, count // 10) if self.n_links is None else self.n_links
        rank = np.empty(count, dtype=np.int64)
        rank[task.rows] = np.arange(count)
        read = {name: None if value is None else read_links(name, value, count) for name, value in given.items()}
        must = (
            draw_near(task.positions, wanted, self.near, rng) if read["must_link"] is None else rank[read["must_link"]]
        )
        parts = connect(count, must)
        if read["cannot_link"] is None:
            cannot = draw_far(task.positions, wanted, self.far, self.near, rng)
            return must, cannot[parts[cannot[:, 0]] != parts[cannot[:, 1]]]
        cannot = rank[read["cannot_link"]]
        wrong = np.flatnonzero(parts[cannot[:, 0]] == parts[cannot[:, 1]])
        if wrong.size:
            a, b = read["cannot_link"][wrong[0]]
            raise ValueError(
                f"cannot_link holds ({a}, {b}), but must-links connect these rows; cannot_link must not contradict must_link"
            )
        return must, cannot


class Links:
    """Links of N rows, by row.

    Attributes
    ----------
    must, cannot : (L, 2) pairs of rows
    cost : what a broken link costs, in the squared unit of the features
    linked : (N,) whether a row has any
    """

    def __init__(self, count: int, must: Index, cannot: Index, cost: float) -> None:
        self.must = must
        self.cannot = cannot
        self.cost = cost
        pairs = np.concatenate([must, must[:, ::-1], cannot, cannot[:, ::-1]])
        signs = np.repeat([-1.0, 1.0], [2 * len(must), 2 * len(cannot)])
        order = np.argsort(pairs[:, 0], kind="stable")
        self._others = pairs[order, 1]
        self._signs = signs[order]
        self._starts = np.searchsorted(pairs[order, 0], np.arange(count + 1))
        self.linked: Mask = np.diff(self._starts) > 0

    def fees(self, row: int, labels: Labels, n_clusters: int) -> Array:
        """What it costs to put a row into each cluster, but for a constant; others keep their labels."""
        part = slice(self._starts[row], self._starts[row + 1])
        return self.cost * np.bincount(labels[self._others[part]], weights=self._signs[part], minlength=n_clusters)

    def broken(self, labels: Labels) -> int:
        """Number of links that these labels break."""
        return int(
            (labels[self.must[:, 0]] != labels[self.must[:, 1]]).sum()
            + (labels[self.cannot[:, 0]] == labels[self.cannot[:, 1]]).sum()
        )


def read_links(name: str, pairs: Any, count: int) -> Index:
    """Check pairs of rows that the user gave."""
    try:
        links = np.asarray(pairs)
    except ValueError:
        raise ValueError(f"{name} holds pairs of different lengths; it must hold pairs of row numbers") from None
    if links.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if links.ndim != 2 or links.shape[1] != 2 or links.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has shape {links.shape} and type {links.dtype}; it must hold pairs of row numbers, shape (L, 2)"
        )
    if not 0 <= links.min() <= links.max() < count:
        raise ValueError(f"{name} names rows {links.min()} to {links.max()}; it must name rows 0 to {count - 1}")
    alone = links[:, 0] == links[:, 1]
    if alone.any():
        raise ValueError(f"{name} links row {links[alone][0, 0]} with itself; it must hold pairs of different rows")
    return links.astype(np.int64)


def draw_near(positions: Positions, count: int, near: float | None, rng: np.random.Generator) -> Index:
    """Draw pairs of one group that are near in position; fewer than ``count`` where rows have none near."""
    seeds = rng.integers(len(positions), size=count)
    shares = rng.random(count)
    if near is None:
        return _among_nearest(positions, seeds, shares)
    drawn = []
    tree = None if positions.points is None else KDTree(positions.points)
    for row, share in zip(seeds.tolist(), shares.tolist(), strict=True):
        if tree is None or positions.points is None:
            others = np.arange(len(positions))
        else:
            others = np.sort(np.array(tree.query_ball_point(positions.points[row], near * (1 + 1e-9)), dtype=np.int64))
        others = others[(positions.of_pairs(np.array(row), others) <= near) & (others != row)]
        if others.size:
            drawn.append((row, int(others[int(share * others.size)])))
    return _distinct(np.array(drawn, dtype=np.int64).reshape(-1, 2))


def _among_nearest(positions: Positions, seeds: Index, shares: Array) -> Index:
    """Link each seed with one of its nearest rows."""
    drawn = [np.empty((0, 2), dtype=np.int64)]
    for code in np.unique(positions.groups[seeds]):
        members = np.flatnonzero(positions.groups == code)
        mine = np.flatnonzero(positions.groups[seeds] == code)
        width = min(_NEAREST, members.size - 1)
        if width < 1:
            continue
        near = find_neighborhoods(positions, width + 1, of=seeds[mine])
        whole = mine[near.complete]
        rows = seeds[whole]
        others = near.indices[near.complete]
        others = others[others != rows[:, None]].reshape(rows.size, width)
        drawn.append(np.column_stack([rows, others[np.arange(rows.size), (shares[whole] * width).astype(np.int64)]]))
        # Where fewer are at a finite distance, all of these are the nearest.
        for k in mine[~near.complete].tolist():
            row = int(seeds[k])
            few = members[np.isfinite(positions.of_pairs(np.array(row), members)) & (members != row)]
            if few.size:
                drawn.append(np.array([[row, few[int(shares[k] * few.size)]]]))
    return _distinct(np.concatenate(drawn))


def draw_far(
    positions: Positions, count: int, far: float | None, near: float | None, rng: np.random.Generator
) -> Index:
    """Draw pairs of one group that are far apart, and beyond ``near``; fewer than ``count`` where there are hardly any."""
    tries = _FARTHEST if far is None else _TRIES
    first = rng.integers(len(positions), size=count)
    shares = rng.random((count, tries))
    starts = np.searchsorted(positions.groups, positions.groups[first], side="left")  # rows are sorted by group
    stops = np.searchsorted(positions.groups, positions.groups[first], side="right")
    second = starts[:, None] + (shares * (stops - starts)[:, None]).astype(np.int64)
    apart = positions.of_pairs(np.broadcast_to(first[:, None], second.shape), second)
    apart = np.where(second == first[:, None], -1.0, apart)
    beyond = (apart > (near or 0.0)) & (apart >= (far or 0.0))
    best = apart.argmax(axis=1) if far is None else beyond.argmax(axis=1)
    rows = np.flatnonzero(beyond[np.arange(count), best])
    pairs = np.column_stack([first, second[np.arange(count), best]])[rows]
    apart = apart[rows, best[rows]]
    if far is None and near is None:
        pairs = pairs[(apart > _reach(positions, pairs[:, 0])) & (apart > _reach(positions, pairs[:, 1]))]
    return _distinct(pairs)


def _reach(positions: Positions, rows: Index) -> Array:
    """Return how far away the rows are, at most, with which :func:`_among_nearest` links each."""
    out = np.zeros(rows.size)
    for code in np.unique(positions.groups[rows]):
        mine = np.flatnonzero(positions.groups[rows] == code)
        width = min(_NEAREST, int((positions.groups == code).sum()) - 1)
        near = find_neighborhoods(positions, width + 1, of=rows[mine])
        # Where fewer are at a finite distance, only what is infinitely far is beyond them.
        out[mine] = np.where(near.complete, near.distances.max(axis=1), np.finfo(float).max)
    return out


def _distinct(pairs: Index) -> Index:
    return np.unique(np.sort(pairs, axis=1), axis=0)


def first_centres(X: Array, links: Links, n_clusters: int, rng: np.random.Generator, *, largest: bool = True) -> Array:
    """Means of sets of rows that must-links connect: the ``largest``, or sets drawn; and single rows, drawn, for the rest."""
    parts = connect(len(X), links.must)
    sizes = np.bincount(parts).astype(float)
    means: Array = np.column_stack([np.bincount(parts, weights=column) for column in X.T]) / sizes[:, None]
    centres: list[Array] = []
    if largest:
        sets = np.argsort(-sizes, kind="stable")[:n_clusters]
        centres = [means[k] for k in sets if sizes[k] > 1]
        means = X
        sizes = np.ones(len(X))
    if not centres:
        centres.append(means[int(rng.integers(len(means)))])
    while len(centres) < n_clusters:
        nearest = sizes * np.min([((means - centre) ** 2).sum(axis=1) for centre in centres], axis=0)
        total = float(nearest.sum())
        chosen = int(np.searchsorted(np.cumsum(nearest), rng.random() * total)) if total > 0 else len(centres) - 1
        centres.append(means[min(chosen, len(means) - 1)])
    return np.array(centres)


def sweep(
    X: Array, centres: Array, links: Links, max_iter: int, rng: np.random.Generator
) -> tuple[Labels, list[float], bool]:
    """Assign rows one after the other and move the centres, until no label changes.

    Returns the labels, the objective after each sweep, and whether they have settled. Each step takes the best label while
    the others are kept (iterated conditional modes), and then the best centres, so the objective never increases.
    """
    n_clusters = len(centres)
    squares = _squares(X, centres)
    labels = squares.argmin(axis=1)
    linked = np.flatnonzero(links.linked)
    objectives: list[float] = []
    for _ in range(max_iter):
        before = labels.copy()
        labels = np.where(links.linked, labels, squares.argmin(axis=1))
        for row in rng.permutation(linked).tolist():
            cost = squares[row] + links.fees(row, labels, n_clusters)
            best = int(cost.argmin())
            if cost[best] < cost[labels[row]]:
                labels[row] = best
        for k in range(n_clusters):
            members = X[labels == k]
            if len(members):  # an empty cluster keeps its centre
                centres[k] = members.mean(axis=0)
        squares = _squares(X, centres)
        objectives.append(float(squares[np.arange(len(X)), labels].sum()) + links.cost * links.broken(labels))
        if len(objectives) > 1 and (labels == before).all():
            return labels, objectives, True
    return labels, objectives, False


def _squares(X: Array, centres: Array) -> Array:
    return np.column_stack([((X - centre) ** 2).sum(axis=1) for centre in centres])
