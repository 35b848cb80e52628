"""DBSCAN with a radius in features and radii in space and time (ST-DBSCAN and MDST-DBSCAN)."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mcgta.baselines.base import Baseline, Task
from mcgta.baselines.density import Neighbors, RadiusSearch, dbscan, near_features, near_positions
from mcgta.kernels.positions.metrics import FLAT, pair_distances
from mcgta.positions.metrics import SpaceTime, Time
from mcgta.positions.positions import Positions
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Labels

_RADIUS = Rule(real=(0, INF))
_SIZE = Rule(integer=(1, INF))


class STDBSCAN(Baseline):
    """ST-DBSCAN of Birant and Kut (2007): DBSCAN whose neighbours are near in features and near in position.

    It optimises nothing: clusters are the connected parts of the rows that have at least ``min_samples`` neighbours. Prefer
    it where clusters are dense in both, their number is unknown and outliers are to be left out. A constraint in position is
    a hard rule here: rows of one state that are far apart share a cluster only if others lead from one to the other.

    Parameters
    ----------
    eps : neighbours' features are at most this far apart, in Euclidean distance
    eps_position : neighbours are at most this far apart in position, in its unit (steps of time, seconds, metres on the sphere)
    min_samples : a row with this many neighbours, itself included, is a core row
    delta : None, or the largest distance of a row's features from the mean of the cluster that it joins. Then clusters
        grow one by one, in the order of position, and the order matters: the first core row that has no cluster begins one with
        all its free neighbours; free neighbours of a core row in it join if they are within ``delta`` of its mean at
        that time. It keeps chains of small steps from leading to another value
    metric : of the positions, as in :class:`mcgta.MCGTA`
    random_state : takes no part, since there is no chance; every baseline has it

    Notes
    -----
    Rows of different groups are never neighbours, so each cluster lies in one group.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "eps": _RADIUS,
        "eps_position": _RADIUS,
        "min_samples": _SIZE,
        "delta": Rule(real=(0, INF), none=True),
    }

    def __init__(
        self,
        eps: float = 0.5,
        eps_position: float = 10.0,
        min_samples: int = 5,
        *,
        delta: float | None = None,
        metric: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.eps = eps
        self.eps_position = eps_position
        self.min_samples = min_samples
        self.delta = delta
        self.metric = metric
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        senses = [near_positions(task.positions, self.eps_position), near_features(task.X, self.eps)]
        neighbors = Neighbors(senses, len(task.X))
        if self.delta is None:
            return dbscan(neighbors, self.min_samples)
        return grow(neighbors, self.min_samples, task.X, self.delta)


class MDSTDBSCAN(Baseline):
    """MDST-DBSCAN of Choi and Hong (2021): DBSCAN with radii of its own for space, for time and for the attributes.

    It optimises nothing: clusters are the connected parts of the rows that have at least ``min_samples`` neighbours.
    Neighbours are near in space and near in time and alike in their attributes: all three must hold. Prefer it to
    :class:`STDBSCAN` for positions in space and time, which have no common unit, and for attributes in different units.

    Parameters
    ----------
    eps : how far apart the attributes (features) of neighbours may be: a number for the Euclidean distance over all of them, or
        a sequence with a number for each, all of which must hold
    eps_space : how far apart neighbours may be in space; None where positions are times
    eps_time : how far apart neighbours may be in time; None where positions have no time
    min_samples : a row with this many neighbours, itself included, is a core row
    metric : of the positions, as in :class:`mcgta.MCGTA`. A ``time_scale`` is not needed and has no effect, as
        space and time are measured apart
    random_state : takes no part, since there is no chance; every baseline has it

    Notes
    -----
    Rows of different groups are never neighbours, so each cluster lies in one group.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "eps": Rule(real=(0, INF), kinds=(list, tuple, np.ndarray)),
        "eps_space": Rule(real=(0, INF), none=True),
        "eps_time": Rule(real=(0, INF), none=True),
        "min_samples": _SIZE,
    }

    def __init__(
        self,
        eps: Any = 0.5,
        eps_space: float | None = None,
        eps_time: float | None = None,
        min_samples: int = 5,
        *,
        metric: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.eps = eps
        self.eps_space = eps_space
        self.eps_time = eps_time
        self.min_samples = min_samples
        self.metric = metric
        self.random_state = random_state

    def _metric_of_positions(self) -> Any:
        """Add a scale: positions in space and time cannot be read without one, and any will do."""
        return SpaceTime(time_scale=1.0) if self.metric == "spacetime" else self.metric

    def _label(self, task: Task) -> Labels:
        senses = [*self._places(task.positions), *self._attributes(task.X)]
        return dbscan(Neighbors(senses, len(task.X)), self.min_samples)

    def _places(self, positions: Positions) -> list[RadiusSearch]:
        parts = split(positions)
        radii = {"space": self.eps_space, "time": self.eps_time}
        for name, radius in radii.items():
            if (radius is None) == (name in parts):
                asked = "must be given" if name in parts else "has no effect"
                raise ValueError(
                    f"eps_{name}={radius!r} {asked}: positions of metric {positions.metric.name!r} are in "
                    f"{' and '.join(parts)}"
                )
        return [near_positions(places, float(radii[name] or 0.0)) for name, places in parts.items()]

    def _attributes(self, X: Array) -> list[RadiusSearch]:
        if isinstance(self.eps, numbers.Real):
            return [near_features(X, float(self.eps))]
        radii = np.asarray(self.eps, dtype=object)
        if radii.shape != (X.shape[1],):
            raise ValueError(
                f"eps has shape {radii.shape}, but there are {X.shape[1]} features; eps must be a number or hold one for each"
            )
        for radius in radii:
            if not _RADIUS.accepts(radius):
                raise ValueError(f"eps holds {radius!r}; each must be {_RADIUS.describe()}")
        return [near_features(X[:, k : k + 1], float(radius)) for k, radius in enumerate(radii)]


def split(positions: Positions) -> dict[str, Positions]:
    """Return the positions in space and in time, as far as there are such."""
    if positions.is_chain:
        return {"time": positions}
    if not isinstance(positions.metric, SpaceTime):
        return {"space": positions}
    place = positions.coordinates[:, :-1]
    time = positions.coordinates[:, -1:]
    return {
        "space": replace(positions, metric=positions.metric.spatial, coordinates=place),
        "time": replace(positions, metric=Time(), coordinates=time),
    }


def grow(neighbors: Neighbors, min_samples: int, X: Array, delta: float) -> Labels:
    """Grow clusters one by one, each row within ``delta`` of the mean of the cluster that it joins.

    Rows that are equal in every sense join together, but each of them looks around in its turn, as the mean may have moved.
    """
    labels = np.full(neighbors.count, -1, dtype=np.int64)  # of distinct rows
    looked = np.zeros_like(labels)  # how large the cluster was when one of these equal rows last looked around
    points = np.ascontiguousarray(X)
    clusters = 0
    for start in range(neighbors.count):
        if labels[start] >= 0:
            continue
        around = neighbors.of(start)
        if neighbors.weights[around].sum() < min_samples:
            continue
        joining = around[labels[around] < 0]
        labels[joining] = clusters
        stack = neighbors.members(joining).tolist()
        total = points[stack].sum(axis=0)
        size = len(stack)
        while stack:
            row = neighbors.codes[stack.pop()]
            if looked[row] == size:  # no row has joined since, so the mean is the same
                continue
            looked[row] = size
            around = neighbors.of(row)
            if neighbors.weights[around].sum() < min_samples:
                continue
            free = around[labels[around] < 0]
            # The mean is the last point of a table of the free rows, to measure as neighbours are measured.
            table = np.vstack([points[neighbors.rows[free]], total / size])
            joining = free[pair_distances(table, np.arange(free.size), np.array(free.size), FLAT) <= delta]
            labels[joining] = clusters
            members = neighbors.members(joining)
            total = total + points[members].sum(axis=0)
            size = size + members.size
            stack.extend(members.tolist())
        clusters += 1
    return labels[neighbors.codes]
