"""Metrics: how the user's positions are read and how far apart they are.

One object a metric, one row of ``METRICS`` each. A new metric is a class with a ``name`` and ``distances``:

    class Manhattan(Metric):
        name = "manhattan"

        def distances(self, a, b):
            return np.abs(a[:, None] - b).sum(axis=2)

    METRICS[Manhattan.name] = Manhattan()

It is then known by its name everywhere. Its distances are held in a matrix (N, N). A metric whose distances compiled kernels
can measure says so by its ``kind`` and needs no matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from mcgta.kernels.positions import metrics as kernels
from mcgta.kernels.simd.compiled import native
from mcgta.positions.degrees import degree_columns, read_degrees, warn_of_planar_degrees
from mcgta.positions.distances import DistanceFunction, call_for_matrix, call_for_table, read_distance_matrix
from mcgta.positions.tables import TIME_NAMES, Table
from mcgta.runtime.archive import Archived
from mcgta.runtime.rules import INF, Rule, check_value, suggest
from mcgta.runtime.types import Array, Index
from mcgta.runtime.warnings import warn


@dataclass(frozen=True)
class Coordinates:
    """Positions as a metric has read them.

    Attributes
    ----------
    values : (N, p) in the unit of the input, degrees, or seconds
    unit : the unit of distances: "s", "m", that of a projection, or "" where the unit of the input is not known
    """

    values: Array
    unit: str = ""


@dataclass(frozen=True)
class Metric(Archived):
    """How far apart two positions are; the defaults are those of a metric whose distances are held in a matrix.

    Class attributes
    ----------------
    name : what users call it
    domain : what positions are: "time", "space", "spacetime" or "other"
    is_chain : whether positions are moments along a line, so that the nearest are neighbours in order
    has_matrix : whether distances are held in a matrix (N, N), as opposed to being measured by kernels
    has_coordinates : whether there are coordinates, as opposed to given distances only
    takes_row_order : whether the order of the rows will do where there are no positions
    takes_time_column : whether the datetime column beside geometries is read too
    """

    name: ClassVar[str] = ""
    domain: ClassVar[str] = "other"
    is_chain: ClassVar[bool] = False
    has_matrix: ClassVar[bool] = True
    has_coordinates: ClassVar[bool] = True
    takes_row_order: ClassVar[bool] = False
    takes_time_column: ClassVar[bool] = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left open, so that distances can be measured."""
        return True

    @property
    def kind(self) -> int | None:
        """How kernels measure between points: a kind of :mod:`mcgta.kernels.positions.metrics`; None for a matrix."""
        return None

    def choose(self, table: Table) -> Metric:
        """Return the metric that positions are to be measured by, everything chosen that was left open."""
        return self

    def read(self, table: Table, groups: Index) -> Coordinates:
        """Check the columns of a table and return them as coordinates; ``groups`` (N,) are codes."""
        _refuse_dates(table)
        return Coordinates(table.values)

    def points(self, coordinates: Array) -> Array | None:
        """Return points (N, q) as kernels take them, or None where a matrix holds the distances.

        Their Euclidean distance never exceeds the metric's, so search trees can be built of them.
        """
        return None

    def straight_reach(self, straight: Array) -> Array:
        """Return how far apart, in a straight line, points can be that are no farther than two so far apart.

        It is the same where straight and measured distances are in the same order.
        """
        return straight

    def distances(self, a: Array, b: Array) -> Array:
        """Return the distance from each row of ``a`` (R, p) to each of ``b`` (C, p), as (R, C); for a matrix only."""
        raise ValueError(f"metric={self.name!r} does not measure distances of coordinates")

    def matrix(self, coordinates: Array) -> Array:
        """Return the distances (N, N) of all pairs, checked."""
        return read_distance_matrix(self.distances(coordinates, coordinates), len(coordinates))

    def may_be_chain(self, positions: Any) -> bool:
        """Whether positions that have not been read will be a chain."""
        return self.is_chain


class Time(Metric):
    """The difference of two moments; without positions a row is a step."""

    name = "time"
    domain = "time"
    is_chain = True
    has_matrix = False
    takes_row_order = True

    @property
    def kind(self) -> int | None:
        """Flat."""
        return kernels.FLAT

    def read(self, table: Table, groups: Index) -> Coordinates:
        """Take one column, and warn of repeated times, as of several series in one."""
        if table.values.shape[1] != 1:
            raise ValueError(f"metric='time' takes one column of positions, got {table.values.shape[1]}")
        values = table.values[:, 0]
        repeated = values.size - np.unique(np.column_stack([groups, values]), axis=0).shape[0]
        if repeated:
            warn(
                f"positions: {repeated} of {values.size} times are repeated within their group; if the rows are several "
                "series, pass groups=. Ties between equal times are broken by the features"
            )
        return Coordinates(values[:, None], unit="s" if table.dated[0] else table.unit)

    def points(self, coordinates: Array) -> Array | None:
        """Return the times."""
        return native(coordinates)


class Euclidean(Metric):
    """The straight line between two places, in the unit of the input."""

    name = "euclidean"
    domain = "space"
    has_matrix = False

    @property
    def kind(self) -> int | None:
        """Flat."""
        return kernels.FLAT

    def choose(self, table: Table) -> Metric:
        """Warn of points that should not be measured on a plane."""
        warn_of_planar_degrees(table, chosen=False)
        return self

    def read(self, table: Table, groups: Index) -> Coordinates:
        """Take any columns of numbers, in the unit of their CRS where that is known."""
        _refuse_dates(table)
        return Coordinates(table.values, table.unit)

    def points(self, coordinates: Array) -> Array | None:
        """Return the coordinates."""
        return native(coordinates)


class Haversine(Metric):
    """Metres along the great circle between two places on earth."""

    name = "haversine"
    domain = "space"
    has_matrix = False

    @property
    def kind(self) -> int | None:
        """The sphere."""
        return kernels.SPHERE

    def read(self, table: Table, groups: Index) -> Coordinates:
        """Take longitude and latitude in degrees, by their names or in this order."""
        _refuse_dates(table)
        return Coordinates(read_degrees(table), unit="m")

    def points(self, coordinates: Array) -> Array | None:
        """Return places in three dimensions, in metres from the centre of the earth."""
        return native(kernels.EARTH_RADIUS * kernels.unit_vectors(coordinates))


@dataclass(frozen=True)
class SpaceTime(Metric):
    """The root of the sum of squares of the distance in space and the difference in time.

    Time is the datetime column, the one named so, or the last one.

    Parameters
    ----------
    time_scale : units of distance that one unit of time is worth; a second, where time is given as datetimes
    space : {"auto", "euclidean", "haversine"}; "auto" is haversine where columns are named longitude and latitude, or points
        are in degrees, else euclidean

    Examples
    --------
    A second is worth a metre and a half, about the speed of a pedestrian:

    >>> from mcgta import SpaceTime
    >>> SpaceTime(time_scale=1.5, space="haversine")
    SpaceTime(time_scale=1.5, space='haversine')
    """

    name: ClassVar[str] = "spacetime"
    domain: ClassVar[str] = "spacetime"
    has_matrix: ClassVar[bool] = False
    takes_time_column: ClassVar[bool] = True

    time_scale: float | None = None
    space: str = "auto"

    def __post_init__(self) -> None:
        check_value("time_scale", self.time_scale, Rule(real=(0, INF), above=True, none=True))
        check_value("space", self.space, Rule(words=("auto", *SPACES)))
        if self.time_scale is not None:
            object.__setattr__(self, "time_scale", float(self.time_scale))

    @property
    def is_complete(self) -> bool:
        """Whether both the scale and the kind of space are known."""
        return self.time_scale is not None and self.space in SPACES

    @property
    def spatial(self) -> Metric:
        """The metric of the places alone."""
        return SPACES[self.space]

    @property
    def kind(self) -> int | None:
        """Flat, or the sphere with time."""
        return kernels.SPHERE_TIME if self.spatial.kind == kernels.SPHERE else kernels.FLAT

    def choose(self, table: Table) -> Metric:
        """Choose the kind of space, and refuse to measure without a scale."""
        if self.time_scale is None:
            raise ValueError(
                "metric='spacetime' needs a time_scale: the units of distance that one unit of time is worth (a second, where "
                "time is given as datetimes); pass metric=SpaceTime(time_scale=...)"
            )
        if self.space != "auto":
            return self
        if degree_columns(table) is not None:
            return replace(self, space="haversine")
        if table.values.shape[1] > 1:
            warn_of_planar_degrees(table.take(_split_time(table)[0]), chosen=True)
        return replace(self, space="euclidean")

    def read(self, table: Table, groups: Index) -> Coordinates:
        """Take the places and put the time last."""
        if table.values.shape[1] < 2:
            raise ValueError("metric='spacetime' takes coordinates and a time, got one column of positions")
        place, time = _split_time(table)
        spatial = self.spatial.read(table.take(place), groups)
        return Coordinates(np.column_stack([spatial.values, table.values[:, time]]), spatial.unit)

    def points(self, coordinates: Array) -> Array | None:
        """Return the points of the places, and time in units of distance as the last column."""
        place = self.spatial.points(coordinates[:, :-1])
        scale = np.nan if self.time_scale is None else self.time_scale
        return None if place is None else native(np.column_stack([place, scale * coordinates[:, -1]]))

    def straight_reach(self, straight: Array) -> Array:
        """Return a longer line on the globe, where an arc may exceed its chord by up to the half of pi."""
        if self.kind != kernels.SPHERE_TIME:
            return straight
        share = np.clip(straight / (2 * kernels.EARTH_RADIUS), 1e-8, 1.0)
        return np.asarray(straight * (np.arcsin(share) / share))


class Precomputed(Metric):
    """Distances as the user gives them, inf for observations that are never neighbours."""

    name = "precomputed"
    has_coordinates = False


@dataclass(frozen=True)
class FunctionMetric(Metric):
    """A function of two positions, which the user passes as the metric."""

    name: ClassVar[str] = "callable"

    function: DistanceFunction | None = field(default=None, metadata={"archive": False})

    def read(self, table: Table, groups: Index) -> Coordinates:
        """Take any columns."""
        return Coordinates(table.values)

    def distances(self, a: Array, b: Array) -> Array:
        """Call the function for every pair."""
        return call_for_table(self._callable(), a, b)

    def matrix(self, coordinates: Array) -> Array:
        """Call the function once for every pair."""
        return call_for_matrix(self._callable(), coordinates)

    def _callable(self) -> DistanceFunction:
        if self.function is None:
            raise ValueError("metric: the function is not known any more, since functions are not kept in files")
        return self.function


class Auto(Metric):
    """Time for one column, haversine for columns or points in degrees, else euclidean."""

    name = "auto"
    has_matrix = False
    takes_row_order = True

    @property
    def is_complete(self) -> bool:
        """Never."""
        return False

    def choose(self, table: Table) -> Metric:
        """Choose by the number of columns, their names, and the CRS of points."""
        if table.crs is not None:
            return METRICS["haversine" if table.crs.is_geographic else "euclidean"].choose(table)
        width = table.values.shape[1]
        if width == 1:
            return METRICS["time"]
        if degree_columns(table) is None:
            warn_of_planar_degrees(table, chosen=True)
            return METRICS["euclidean"]
        if width > 2:
            raise ValueError(
                f"positions has columns {list(table.names)}, degrees and others; pass longitude and latitude alone, or say "
                "which metric= is meant"
            )
        return METRICS["haversine"]

    def may_be_chain(self, positions: Any) -> bool:
        """Whether there is one column, and no geometry."""
        shape: tuple[int, ...] = () if positions is None else np.shape(positions)
        return (len(shape) < 2 or shape[1] == 1) and not hasattr(positions, "geom_type")


SPACES: dict[str, Metric] = {metric.name: metric for metric in (Euclidean(), Haversine())}
"""Metrics that can be combined with time."""

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (Auto(), Time(), *SPACES.values(), SpaceTime(), Precomputed())
}
"""All metrics by their name."""


def get_metric(metric: str | Metric | Callable[..., Any]) -> Metric:
    """Return the metric of a name, of a function of two positions, or as it is given.

    Raises
    ------
    ValueError
        for an unknown name, with the nearest known one
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str) and metric in METRICS:
        return METRICS[metric]
    if callable(metric) and not isinstance(metric, type):
        return FunctionMetric(metric)
    raise ValueError(
        f"metric={metric!r} is not allowed: metric must be one of {', '.join(map(repr, METRICS))}, a Metric such as "
        f"SpaceTime(time_scale=...), or a function of two positions{suggest(metric, tuple(METRICS))}"
    )


def _refuse_dates(table: Table) -> None:
    if any(table.dated):
        raise ValueError(
            "positions has a datetime column beside coordinates; use metric=SpaceTime(time_scale=...), for distances in space "
            "and time"
        )


def _split_time(table: Table) -> tuple[list[int], int]:
    """Return the columns of the places, and that of the time."""
    dated = [k for k, is_dated in enumerate(table.dated) if is_dated]
    if len(dated) > 1:
        raise ValueError(f"metric='spacetime' takes one time column, got {[table.names[k] for k in dated]}")
    when = dated or [k for k, name in enumerate(table.names) if name.strip().lower() in TIME_NAMES]
    time = when[0] if len(when) == 1 else table.values.shape[1] - 1
    return [k for k in range(table.values.shape[1]) if k != time], time
