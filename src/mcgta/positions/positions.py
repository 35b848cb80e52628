"""Where observations are, and how far apart.

A :class:`Positions` holds the coordinates of N observations together with the metric that measures between them, so
that every later stage asks one object for distances and never looks at coordinates itself. Observations of different
groups (series, slides, machines) are infinitely far apart: they share clusters but neither neighbourhoods nor bins of
the semivariogram.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.kernels.positions import metrics as kernels
from mcgta.positions.metrics import Metric
from mcgta.runtime.archive import Archived
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Mask


@dataclass(frozen=True, eq=False, repr=False)
class Positions(Archived):
    """Positions of N observations in a metric space.

    Attributes
    ----------
    metric : how far apart two of them are, with nothing left open
    coordinates : (N, p) in the unit of the input; seconds after ``origin`` for datetimes; (longitude, latitude) in
        degrees for ``haversine``; time is the last column for ``spacetime``; (N, 0) for ``precomputed``
    groups : (N,) code of each observation's group, an index into ``group_names``
    group_names : (G,) the groups' labels as the user wrote them, sorted
    unit : the unit of distances: "step", "s", "m", that of a projection, or "" where the unit of the input is not known
    dated : whether the input held datetimes or timedeltas, which are kept in seconds
    origin : nanoseconds since 1970 of time zero, where the input was datetimes
    matrix : (N, N) distances, for metrics that have no kernels; else None
    crs : name of the coordinate reference system of points, such as "ETRS89 / UTM zone 32N"; "" where it is not known
    times : kind of the input's times, a constant of :mod:`mcgta.positions.tables`; "" where there are none or it is not known
    """

    metric: Metric
    coordinates: Array
    groups: Index
    group_names: NDArray[Any]
    unit: str = ""
    dated: bool = False
    origin: int | None = None
    matrix: Array | None = None
    crs: str = ""
    times: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.metric, Metric) or not self.metric.is_complete:
            raise ValueError(f"metric={self.metric!r} is not a Metric that can measure")
        if self.coordinates.ndim != 2 or self.coordinates.dtype != np.float64:
            raise ValueError(f"coordinates must be a float table of two axes, got shape {self.coordinates.shape}")
        if self.groups.shape != (len(self),):
            raise ValueError(f"groups has shape {self.groups.shape}, expected ({len(self)},)")
        if len(self) and not 0 <= self.groups.min() <= self.groups.max() < len(self.group_names):
            raise ValueError("groups holds a code outside group_names")
        if self.matrix is not None and self.matrix.shape != (len(self), len(self)):
            raise ValueError(f"matrix has shape {self.matrix.shape}, expected ({len(self)}, {len(self)})")
        if (self.matrix is not None) != self.metric.has_matrix:
            given = "none" if self.matrix is None else "given"
            raise ValueError(f"metric={self.metric.name!r} does not go with matrix={given}")

    def __repr__(self) -> str:
        groups = f", {len(self.group_names)} groups" if len(self.group_names) > 1 else ""
        return f"Positions({len(self)} observations, metric {self.metric.name!r}{groups})"

    def __len__(self) -> int:
        return int(self.coordinates.shape[0])

    @property
    def is_chain(self) -> bool:
        """Whether positions are moments along time, so that neighbours are windows of rows in canonical order."""
        return self.metric.is_chain

    @cached_property
    def group_starts(self) -> Mask:
        """(N,) whether a row is of another group than the one before it; of rows in canonical order, the first of its group."""
        return np.r_[True, self.groups[1:] != self.groups[:-1]]

    @property
    def on_sphere(self) -> bool:
        """Whether places are longitudes and latitudes, in degrees."""
        return self.kind in (kernels.SPHERE, kernels.SPHERE_TIME)

    @cached_property
    def points(self) -> Array | None:
        """Points (N, q) as kernels take them, which measure between them by ``kind``; None where a matrix holds the distances.

        Their Euclidean distance never exceeds the metric's, so search trees can be built of them.
        """
        return self.metric.points(self.coordinates)

    @property
    def kind(self) -> int | None:
        """How kernels measure between ``points``: a kind of :mod:`mcgta.kernels.positions.metrics`."""
        return self.metric.kind

    @cached_property
    def rounding(self) -> float:
        """The size of rounding errors in a distance: two distances closer than this are tied."""
        points = self.points
        if points is None:
            table = np.zeros((1, 1)) if self.matrix is None else self.matrix
            largest = max((float(row.max(where=np.isfinite(row), initial=0.0)) for row in table), default=0.0)
            return float(4 * np.finfo(float).eps * largest)
        return float(16 * np.finfo(float).eps * np.abs(points).max(initial=0.0))

    def between(self, rows: Index | slice, cols: Index | slice) -> Array:
        """Return the distances from each of ``rows`` to each of ``cols``, as a table; inf between groups."""
        if self.matrix is not None:
            table = self.matrix[rows][:, cols].copy()
        else:
            points, kind = self._measured
            table = kernels.distance_table(points[rows], points[cols], kind)
        if self.group_names.size > 1:
            table[self.groups[rows][:, None] != self.groups[cols][None, :]] = np.inf
        return table

    def of_pairs(self, i: Index, j: Index) -> Array:
        """Return the distance of each pair (i[k], j[k]); ``i`` and ``j`` broadcast; inf between groups."""
        if self.matrix is not None:
            distance = self.matrix[i, j]
        else:
            points, kind = self._measured
            distance = kernels.pair_distances(points, np.asarray(i), np.asarray(j), kind)
        return np.where(self.groups[i] == self.groups[j], distance, np.inf)

    @property
    def _measured(self) -> tuple[Array, int]:
        """Points and how to measure between them."""
        points = self.points
        kind = self.kind
        if points is None or kind is None:  # pragma: no cover - __post_init__ rules it out
            raise ValueError("these positions have neither coordinates nor a matrix")
        return points, kind

    def take(self, index: Index) -> Positions:
        """Return the positions of some observations, in the order of ``index``."""
        matrix = None if self.matrix is None else self.matrix[np.ix_(index, index)]
        return replace(self, coordinates=self.coordinates[index], groups=self.groups[index], matrix=matrix)

    def order(self, X: Array) -> Index:
        """Return the canonical order of the rows: by group, then position, then features.

        Every stage runs in this order, which makes the result independent of the order in which rows were given.
        Rows that agree in all of these are interchangeable. Of precomputed distances, which have no coordinates, rows alike
        in features are told apart by their distances to others, as far as that goes.
        """
        keys = [*X.T[::-1], *self.coordinates.T[::-1], self.groups]
        if self.metric.has_coordinates or self.matrix is None:
            return np.lexsort(keys)
        rank = _ranks(keys)
        classes = 0
        weights = np.sqrt(np.arange(2.0, len(self) + 2))
        # Rows alike so far are told apart by how far they are from which others.
        while classes < rank.max(initial=-1) + 1 < len(self):
            classes = int(rank.max()) + 1
            finite = np.where(np.isfinite(self.matrix), self.matrix, -1.0)
            seen = np.lexsort((finite, np.broadcast_to(rank, finite.shape)), axis=1)
            finite = np.take_along_axis(finite, seen, axis=1)
            rank = _ranks([(finite * weights).sum(axis=1), (finite**2).sum(axis=1), rank])
        return np.argsort(rank, kind="stable")

    def join(self, other: Positions, *, apart: bool = False, cross: Array | None = None) -> Positions:
        """Put the observations of ``other`` after these; groups of one name are one group.

        ``apart`` keeps the two sets in different groups whatever their names. With ``precomputed`` distances
        ``cross`` (len(other), len(self)) holds those between the sets, and ``other``'s own are unknown (infinite).
        """
        if apart:
            names = np.concatenate([self.group_names.astype(str), other.group_names.astype(str)])
            groups = np.concatenate([self.groups, other.groups + len(self.group_names)])
        else:
            labels = np.concatenate([self.group_names[self.groups], other.group_names[other.groups]])
            names, groups = np.unique(labels, return_inverse=True)
        coordinates = np.concatenate([self.coordinates, other.coordinates])
        matrix = None
        if self.matrix is not None and other.matrix is not None:
            if self.metric.has_coordinates:
                cross = self.metric.distances(other.coordinates, self.coordinates)
            if cross is None or cross.shape != (len(other), len(self)):
                raise ValueError(f"cross must hold the distances between the sets, shape ({len(other)}, {len(self)})")
            matrix = np.block([[self.matrix, cross.T], [cross, other.matrix]])
        return replace(self, coordinates=coordinates, groups=groups.astype(np.int64), group_names=names, matrix=matrix)


def _ranks(keys: list[Any]) -> Index:
    """Return dense ranks 0, 1, ... of rows by keys, the last key first; equal rows share a rank."""
    order = np.lexsort(keys)
    differ = np.zeros(order.size, dtype=bool)
    for key in keys:
        differ[1:] |= key[order][1:] != key[order][:-1]
    rank = np.empty(order.size, dtype=np.intp)
    rank[order] = differ.cumsum()
    return rank
