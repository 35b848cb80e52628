"""From what users have (numbers, datetimes, frames, geometries, distance tables) to :class:`Positions`.

Everything that can be wrong with a position is found here, before any work is done.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.positions.distances import read_distance_matrix
from mcgta.positions.metrics import METRICS, Metric, get_metric
from mcgta.positions.positions import Positions
from mcgta.positions.tables import Table, is_missing, read_table, refuse_missing
from mcgta.runtime.types import Array, Index

MAX_COORDINATE = 1e150
"""Differences of larger coordinates cannot be squared."""


def read_positions(
    positions: Any,
    n_rows: int,
    *,
    groups: Any = None,
    metric: str | Metric | Callable[..., Any] = "auto",
    like: Positions | None = None,
) -> Positions:
    """Check the user's positions and groups and make a :class:`Positions` of them.

    Parameters
    ----------
    positions : array-like, frame, geometry column or None
        None means that the order of the rows is time, one step a row. One column of numbers, datetimes or timedeltas
        is time. Several columns are coordinates. For ``haversine`` the columns are (longitude, latitude) in degrees,
        in this order unless they are named; GeoPandas points know their own order and metric. For ``spacetime`` time is
        the datetime column, the one named so, or the last one. For ``precomputed`` it is the table of distances, inf for never.
    n_rows : number of observations
    groups : labels of the series, slides or machines that observations belong to; None for a single group
    metric : a name of :data:`mcgta.positions.metrics.METRICS`, a metric such as ``SpaceTime(time_scale=...)``, or a function
        of two positions
    like : positions seen in a fit, whose metric, unit and time origin are to be used again

    Warns
    -----
    UserWarning
        where places on a plane look like degrees. Plain columns are looked at where ``metric="auto"`` has chosen the plane:
        two columns of broken numbers in the range of degrees, for a region away from (0, 0) or for the whole world. Points
        without a CRS are looked at under ``metric="euclidean"``, too. Points in EPSG:3857 must span few degrees of latitude.
    """
    wanted = get_metric(metric) if like is None else like.metric
    codes, names = read_groups(groups, n_rows)
    if groups is None and like is not None and len(like.group_names) == 1:
        names = like.group_names
    if not wanted.has_coordinates:
        return Positions(wanted, np.zeros((n_rows, 0)), codes, names, matrix=read_distance_matrix(positions, n_rows))
    if positions is None:
        if not wanted.takes_row_order:
            raise ValueError(
                f"metric={wanted.name!r} needs positions=, got None; without positions the order of the rows is time "
                "(metric='time')"
            )
        return Positions(METRICS["time"], _steps(codes)[:, None], codes, names, unit="step")
    table = read_table(positions, n_rows, like.origin if like is not None else None, timed=wanted.takes_time_column)
    refuse_missing(table)
    if like is not None:
        _check_alike(table, like)
    settled = wanted.settle(table) if like is None else wanted
    coordinates = settled.read(table, codes)
    read = Positions(
        settled,
        coordinates.values,
        codes,
        names,
        unit=coordinates.unit,
        dated=any(table.dated),
        origin=table.origin,
        matrix=settled.matrix(coordinates.values) if settled.has_matrix else None,
    )
    _check_squares(read)
    return read


def _check_alike(table: Table, like: Positions) -> None:
    """Refuse positions of another kind or width than those of a fit."""
    kinds = ("datetimes or timedeltas", "numbers")
    dated = any(table.dated)
    if dated != like.dated:
        raise ValueError(f"positions holds {kinds[not dated]}, but those of the fit were {kinds[dated]}")
    if table.values.shape[1] != like.coordinates.shape[1]:
        raise ValueError(
            f"positions has {table.values.shape[1]} columns, but those of the fit had {like.coordinates.shape[1]}"
        )


def _check_squares(positions: Positions) -> None:
    """Refuse points so far out that their differences cannot be squared."""
    points = positions.points
    if points is None or points.shape[1] < 2 or points.size == 0:
        return
    largest = float(np.abs(points).max())
    if largest > MAX_COORDINATE:
        scaled = "" if positions.unit == "" else " (as a distance)"
        raise ValueError(
            f"positions holds {largest:g}{scaled}, which is too large to square; use a larger unit, so that coordinates are at "
            f"most {MAX_COORDINATE:g}"
        )


def read_groups(groups: Any, n_rows: int, name: str = "groups") -> tuple[Index, NDArray[Any]]:
    """Turn group labels into codes 0, 1, ... of the sorted labels; errors call them by ``name``."""
    if groups is None:
        return np.zeros(n_rows, dtype=np.int64), np.zeros(1, dtype=np.int64)
    if np.ndim(groups) != 1 or len(groups) != n_rows:
        raise ValueError(f"{name} must hold one label for each of the {n_rows} rows of X, got shape {np.shape(groups)}")
    items = list(groups)
    missing = [k for k, label in enumerate(items) if is_missing(label)]
    if missing:
        raise ValueError(
            f"{name} has {len(missing)} missing labels, the first in row {missing[0]}; every row needs one"
        )
    kinds = sorted({type(label).__name__ for label in items})
    if len(kinds) > 1:
        raise ValueError(f"{name} mixes labels of types {', '.join(kinds)}; use one type, such as text")
    labels = np.asarray(items, dtype="datetime64[ns]" if isinstance(items[0], datetime.date) else None)
    if labels.dtype.kind not in "biuUSfM":
        raise ValueError(f"{name} must hold numbers, text or dates, got labels of type {labels.dtype}")
    names, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int64), names


def _steps(codes: Index) -> Array:
    """Return 0, 1, 2, ... within each group, in the order of the rows."""
    steps = np.empty(codes.size)
    for code in np.unique(codes):
        rows = codes == code
        steps[rows] = np.arange(rows.sum())
    return steps
