"""Stage 1: the n nearest observations in position.

Rules
-----
* An observation belongs to its own neighbourhood, before any other.
* Distances that agree within rounding (one part in 10^9 of the n-th distance) are tied. Among tied observations those
  earlier in the lexicographic order of the coordinates come first, then those earlier in the table; the estimator sorts
  its rows by group, position and features before this stage, so row order cannot change a neighbourhood.
* Observations of other groups are never neighbours. A group with fewer than n observations has no neighbourhoods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from mcgta.kernels.positions.metrics import TIE
from mcgta.kernels.positions.time_windows import time_windows
from mcgta.positions.positions import Positions
from mcgta.runtime.archive import Archived
from mcgta.runtime.cached import cached_property
from mcgta.runtime.parallel import tiles
from mcgta.runtime.types import Array, Index, Mask

_TILE_ROWS = 8192
_TILE_ENTRIES = 2**20  # distances that are looked at at a time


def _epanechnikov(u: Array) -> Array:
    return 1 - u**2


def _triangular(u: Array) -> Array:
    return 1 - u


def _gaussian(u: Array) -> Array:
    return np.exp(-0.5 * (2 * u) ** 2)


KERNELS: dict[str, Callable[[Array], Array]] = {
    "epanechnikov": _epanechnikov,
    "triangular": _triangular,
    "gaussian": _gaussian,
}


@dataclass(frozen=True, eq=False, repr=False)
class Neighborhoods(Archived):
    """The neighbours of N observations.

    Attributes
    ----------
    centers : (N,) row of the observation whose neighbourhood this is
    indices : (N, n) rows of the neighbours, ascending, the observation itself among them; -1 throughout for an
        observation whose group is too small
    distances : (N, n) distance to each, in the unit of the positions
    weights : (N, n) weight of each, summing to one
    """

    centers: Index
    indices: Index
    distances: Array
    weights: Array

    def __post_init__(self) -> None:
        if self.centers.shape != (len(self),):
            raise ValueError(f"centers has shape {self.centers.shape}, expected ({len(self)},)")
        if self.indices.ndim != 2 or not self.indices.shape == self.distances.shape == self.weights.shape:
            raise ValueError("indices, distances and weights must be tables of one shape")
        if self.indices.size and self.indices.min() < -1:
            raise ValueError(f"indices holds {self.indices.min()}, which is no row")

    def __repr__(self) -> str:
        return f"Neighborhoods({len(self)} observations, n_neighbors={self.n_neighbors})"

    def __len__(self) -> int:
        return int(self.indices.shape[0])

    @property
    def n_neighbors(self) -> int:
        """The size n of each neighbourhood."""
        return int(self.indices.shape[1])

    @property
    def complete(self) -> Mask:
        """(N,) whether the observation has a neighbourhood."""
        return np.asarray(self.indices[:, 0] >= 0)

    @property
    def sizes(self) -> Array:
        """(N,) how many neighbours of equal weight each neighbourhood is worth, 1 / sum of w^2."""
        return _effective(self)

    @property
    def uniform(self) -> bool:
        """Whether all neighbours count alike."""
        return bool(np.ptp(self.weights) == 0) if self.weights.size else True

    @property
    def windows(self) -> tuple[Index, Index] | None:
        """None: these are not known to be windows."""
        return None

    def members(self, rows: Index | slice) -> Index:
        """Indices of some neighbourhoods."""
        return self.indices[rows]

    def part(self, rows: Index | slice) -> tuple[Index, Array]:
        """Indices and weights of some neighbourhoods."""
        return self.indices[rows], self.weights[rows]

    def take(self, rows: Index) -> Neighborhoods:
        """Return some of the neighbourhoods, in the order of ``rows``."""
        return Neighborhoods(self.centers[rows], self.indices[rows], self.distances[rows], self.weights[rows])


@dataclass(frozen=True, eq=False, repr=False)
class TimeWindows(Archived):
    """The neighbours of N observations along time where they are n rows in a row; tables are made when asked for.

    Attributes
    ----------
    times : (N,) of the observations, in groups of ascending time
    starts : (N,) first row of each neighbourhood; -1 for an observation whose group is too small
    n_neighbors : the size n of each
    kind : of the weights, as in :func:`find_neighborhoods`
    rows : the observations whose neighbourhoods these are; None for all
    """

    times: Array
    starts: Index
    n_neighbors: int
    kind: str = "uniform"
    rows: Index | None = None

    def __post_init__(self) -> None:
        if self.starts.shape != self.times.shape or self.times.ndim != 1:
            raise ValueError(f"starts {self.starts.shape} and times {self.times.shape} do not fit together")
        count = self.starts.size
        last = self.starts.max(initial=-1) + self.n_neighbors * bool(count)
        if self.n_neighbors < 1 or self.starts.min(initial=0) < -1 or last > max(count, self.n_neighbors - 1):
            raise ValueError(f"starts name rows up to {last - 1}, of {count}")
        if self.rows is not None and (
            self.rows.ndim != 1 or (self.rows.size and not 0 <= self.rows.min() <= self.rows.max() < count)
        ):
            raise ValueError(f"rows must be a list of rows from 0 to {count - 1}")
        _known(self.kind)

    def __repr__(self) -> str:
        return f"TimeWindows({len(self)} observations, n_neighbors={self.n_neighbors})"

    def __len__(self) -> int:
        return int(self.starts.size if self.rows is None else self.rows.size)

    @property
    def centers(self) -> Index:
        """(N,) row of the observation whose neighbourhood this is."""
        return np.arange(self.starts.size) if self.rows is None else self.rows

    @property
    def complete(self) -> Mask:
        """(N,) whether the observation has a neighbourhood."""
        return np.asarray(self.starts[self._observations(slice(None))] >= 0)

    @property
    def sizes(self) -> Array:
        """(N,) how many neighbours of equal weight each neighbourhood is worth, 1 / sum of w^2."""
        return np.full(len(self), float(self.n_neighbors)) if self.uniform else _effective(self)

    @property
    def uniform(self) -> bool:
        """Whether all neighbours count alike."""
        return self.kind == "uniform"

    @cached_property
    def windows(self) -> tuple[Index, Index] | None:
        """First row of each neighbourhood, and of the first one in its run; None unless all neighbours count alike.

        Within a run neighbourhoods begin a row apart at most. Where there is none, the first row is 0.
        """
        if not self.uniform:
            return None
        starts = np.maximum(self.starts, 0)
        step = np.diff(starts, prepend=starts[:1] - 2)
        runs = np.flatnonzero((step != 0) & (step != 1))
        origins = np.repeat(starts[runs], np.diff(runs, append=starts.size))
        wanted = self._observations(slice(None))
        return starts[wanted], origins[wanted]

    @property
    def indices(self) -> Index:
        """(N, n) rows of the neighbours, ascending; -1 throughout where there are none."""
        return self.members(slice(None))

    @property
    def distances(self) -> Array:
        """(N, n) distance to each, in the unit of time."""
        return self._distances(slice(None))

    @property
    def weights(self) -> Array:
        """(N, n) weight of each, summing to one."""
        return _weigh(self.distances, self.kind)

    def members(self, rows: Index | slice) -> Index:
        """Indices of some neighbourhoods."""
        starts = self.starts[self._observations(rows), None]
        return np.where(starts < 0, -1, starts + np.arange(self.n_neighbors))

    def part(self, rows: Index | slice) -> tuple[Index, Array]:
        """Indices and weights of some neighbourhoods."""
        return self.members(rows), _weigh(self._distances(rows), self.kind)

    def take(self, rows: Index) -> TimeWindows:
        """Return some of the neighbourhoods, in the order of ``rows``."""
        return replace(self, rows=self.centers[rows])

    def _observations(self, rows: Index | slice) -> Index | slice:
        return rows if self.rows is None else self.rows[rows]

    def _distances(self, rows: Index | slice) -> Array:
        indices = self.members(rows)
        return np.where(indices < 0, np.nan, np.abs(self.times[indices] - self.times[self._observations(rows), None]))


def find_neighborhoods(
    positions: Positions,
    n_neighbors: int,
    *,
    weights: str = "uniform",
    of: Index | None = None,
    among: Mask | None = None,
) -> Neighborhoods | TimeWindows:
    """Find the n nearest observations of each observation, itself included.

    Parameters
    ----------
    positions : where the observations are
    n_neighbors : n, at least 1
    weights : "uniform", or a kernel of the distance over the bandwidth (n + 1)/n times the distance to the farthest
        neighbour: "epanechnikov", "triangular" or "gaussian" (standard deviation half the bandwidth)
    of : rows whose neighbourhoods are wanted; all of them by default
    among : (N,) which rows may be neighbours of others; all of them by default
    """
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors} must be at least 1")
    _known(weights)
    if of is None and among is None and positions.is_chain:
        windows = _windows(positions, n_neighbors, weights)
        if windows is not None:
            return windows
    open_ = np.ones(len(positions), dtype=bool) if among is None else among
    centers = np.arange(len(positions)) if of is None else np.asarray(of, dtype=np.intp)
    indices = np.full((centers.size, n_neighbors), -1, dtype=np.intp)
    search = _from_matrix if positions.points is None else _from_tree
    for code in np.unique(positions.groups[centers]):
        members = np.flatnonzero((positions.groups == code) & open_)
        wanted = np.flatnonzero(positions.groups[centers] == code)
        if members.size < n_neighbors:  # an observation that is not a member of its own brings itself along
            wanted = wanted[~open_[centers[wanted]]] if members.size == n_neighbors - 1 else wanted[:0]
        if wanted.size == 0:
            continue
        ordered = members[np.lexsort([*positions.coordinates[members].T[::-1], np.zeros(members.size)])]
        indices[wanted] = np.sort(search(positions, centers[wanted], ordered, n_neighbors), axis=1)
    distances = np.empty(indices.shape)
    for part in tiles(centers.size, _TILE_ROWS):
        complete = indices[part, :1] >= 0
        measured = positions.of_pairs(centers[part, None], np.where(complete, indices[part], 0))
        distances[part] = np.where(complete, measured, np.nan)
    return Neighborhoods(centers, indices, distances, _weigh(distances, weights))


def _windows(positions: Positions, n: int, weights: str) -> TimeWindows | None:
    """Find the neighbourhoods as windows, where rows are in order of group and time and all neighbourhoods are some."""
    times = positions.coordinates[:, 0]
    groups = positions.groups
    changes = groups[1:] != groups[:-1]
    if not ((groups[1:] >= groups[:-1]) & (changes | (times[1:] >= times[:-1]))).all():
        return None
    ends = np.append(np.flatnonzero(changes) + 1, times.size)
    starts, broken = time_windows(times, ends, n, tie=TIE, rounding=positions.rounding)
    return None if broken else TimeWindows(times, starts, n, weights)


def _known(weights: str) -> None:
    if weights != "uniform" and weights not in KERNELS:
        raise ValueError(f"weights={weights!r} is not one of uniform, {', '.join(KERNELS)}")


def _weigh(distances: Array, weights: str) -> Array:
    n = distances.shape[1]
    if weights == "uniform":
        return np.broadcast_to(1.0 / n, distances.shape)  # one number, not a table of it
    width = np.nanmax(np.nan_to_num(distances), axis=1, keepdims=True) * (n + 1) / n
    scaled = np.divide(distances, width, out=np.zeros_like(distances), where=width > 0)
    values = KERNELS[weights](np.nan_to_num(scaled))
    return np.asarray(values / values.sum(axis=1, keepdims=True), dtype=np.float64)


def _effective(neighborhoods: Neighborhoods | TimeWindows) -> Array:
    out = np.empty(len(neighborhoods))
    for part in tiles(out.size, _TILE_ROWS):
        out[part] = 1.0 / (neighborhoods.part(part)[1] ** 2).sum(axis=1)
    return out


def _from_matrix(positions: Positions, rows: Index, ordered: Index, n: int) -> Index:
    """Search the table of distances, row by row."""
    out = np.full((rows.size, n), -1, dtype=np.intp)
    for few in tiles(rows.size, max(1, _TILE_ENTRIES // ordered.size)):
        part = rows[few]
        start = few.start
        table = positions.between(part, ordered)
        others = np.isfinite(table) & (part[:, None] != ordered[None, :])
        enough = np.flatnonzero(others.sum(axis=1) >= n - 1)
        near = np.broadcast_to(ordered, (enough.size, ordered.size))
        out[start + enough] = _pick(part[enough], near, table[enough], n, positions.rounding)[0]
    return out


def _from_tree(positions: Positions, rows: Index, ordered: Index, n: int) -> Index:
    """Search a tree over points that never overstate a distance, widening until no outsider can be closer or tied."""
    points = positions.points
    assert points is not None
    # Of many observations at one place only the first n can be neighbours of others, so a heap of equal positions
    # (a thousand photos with one geotag) costs no more than a place with n of them.
    place = np.r_[True, np.any(points[ordered[1:]] != points[ordered[:-1]], axis=1)]
    first = np.maximum.accumulate(np.where(place, np.arange(ordered.size), 0))
    candidates = ordered[np.arange(ordered.size) - first < n]
    tree = KDTree(points[candidates])
    out = np.empty((rows.size, n), dtype=np.intp)
    pending = np.arange(rows.size)
    width = min(candidates.size, n + 8)
    while pending.size:
        unsettled = []
        for start in range(0, pending.size, _TILE_ROWS):
            part = pending[start : start + _TILE_ROWS]
            reach, near = tree.query(points[rows[part]], k=width)
            reach = reach.reshape(part.size, width)
            near = near.reshape(part.size, width)
            near = candidates[near]
            exact = positions.of_pairs(rows[part][:, None], near)
            chosen, limit = _pick(rows[part], near, exact, n, positions.rounding, rank=ordered)
            settled = (reach[:, -1] * (1 - 1e-12) > limit) | (width == candidates.size)
            out[part[settled]] = chosen[settled]
            unsettled.append(part[~settled])
        pending = np.concatenate(unsettled)
        width = min(candidates.size, 2 * width)
    return out


def _pick(
    rows: Index, near: Index, distances: Array, n: int, rounding: float, *, rank: Index | None = None
) -> tuple[Index, Array]:
    """Choose n of the candidates for each row: itself, then the closer ones, then the tied ones in canonical order.

    ``near`` (B, k) are candidates at ``distances`` (B, k); without ``rank`` they stand in canonical order already.
    Returns the choice (B, n) and the distance (B,) beyond which no candidate is even tied.
    """
    if rank is None:
        order = np.broadcast_to(np.arange(near.shape[1]), near.shape)
    else:
        standing = np.empty(rank.max() + 1, dtype=np.intp)
        standing[rank] = np.arange(rank.size)
        order = standing[near]
    near = np.column_stack([rows, near])
    order = np.column_stack([np.full(rows.size, -1), order])
    own = near[:, 1:] == rows[:, None]
    distances = np.column_stack([np.zeros(rows.size), np.where(own, np.inf, distances)])
    last = np.partition(distances, n - 1, axis=1)[:, n - 1]
    slack = TIE * last + rounding
    tier = np.where(distances < (last - slack)[:, None], 1, np.where(distances <= (last + slack)[:, None], 2, 3))
    tier[:, 0] = 0
    best = np.lexsort((order, tier), axis=-1)[:, :n]
    return np.take_along_axis(near, best, axis=1), last + slack
