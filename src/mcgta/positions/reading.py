"""From what users have (numbers, datetimes, frames, geometries, distance tables) to :class:`Positions`.

Everything that can be wrong with a position is found here, before any work is done.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from mcgta.positions.degrees import degree_columns
from mcgta.positions.distances import read_distance_matrix
from mcgta.positions.metrics import METRICS, Metric, get_metric
from mcgta.positions.positions import Positions
from mcgta.positions.tables import Table, is_missing, read_table, refuse_rows
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
    positions : array-like, frame, geometry column, Positions or None
        None means that the order of the rows is time, one step a row. One column of numbers, datetimes or timedeltas
        is time. Several columns are coordinates. For ``haversine`` the columns are (longitude, latitude) in degrees,
        in this order unless they are named; GeoPandas points know their own order and metric. For ``spacetime`` time is
        the datetime column, the one named so, or the last one. For ``precomputed`` it is the table of distances, inf for never.
        A :class:`Positions`, which knows its groups, is returned as it is; ``metric`` must be its own.
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
    if isinstance(positions, Positions) and like is None:
        _check_read(positions, n_rows, groups, wanted)
        return positions
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
    if like is not None:
        _check_alike(table, like)
    chosen = wanted.choose(table) if like is None else wanted
    coordinates = chosen.read(table, codes)
    read = Positions(
        chosen,
        coordinates.values,
        codes,
        names,
        unit=coordinates.unit,
        dated=any(table.dated),
        origin=table.origin,
        matrix=chosen.matrix(coordinates.values) if chosen.has_matrix else None,
        crs="" if table.crs is None else table.crs.name,
        times=table.times,
    )
    _check_squares(read)
    return read


def _check_read(positions: Positions, n_rows: int, groups: Any, wanted: Metric) -> None:
    """Refuse positions that were read for other rows, with other groups or by another metric."""
    if len(positions) != n_rows:
        raise ValueError(f"positions has {len(positions)} rows, but X has {n_rows}")
    if groups is not None:
        raise ValueError("groups has no effect on positions that are read already, which know their groups")
    refuse_rows(np.asarray(~np.isfinite(positions.coordinates).all(axis=1)), "read already")
    if wanted != positions.metric:
        raise ValueError(
            f"metric={wanted.name!r}, but positions are read already, for metric={positions.metric!r}; pass that metric, too"
        )


def _check_alike(table: Table, like: Positions) -> None:
    """Refuse positions of another kind, width or unit than those of a fit."""
    kinds = ("datetimes or timedeltas", "numbers")
    dated = any(table.dated)
    if dated != like.dated:
        raise ValueError(f"positions holds {kinds[not dated]}, but those of the fit were {kinds[dated]}")
    if table.times != like.times and "" not in (table.times, like.times):
        raise ValueError(f"positions holds {table.times}, but those of the fit were {like.times}; convert them")
    if table.values.shape[1] != like.coordinates.shape[1]:
        raise ValueError(
            f"positions has {table.values.shape[1]} columns, but those of the fit had {like.coordinates.shape[1]}"
        )
    if table.crs is None:
        if not like.on_sphere and like.crs and degree_columns(table) is not None:
            raise ValueError(
                f"positions are longitude and latitude, but those of the fit were in {like.crs}; convert them"
            )
        return
    if not table.crs.is_known and like.crs:
        raise ValueError(
            f"positions are points without a CRS, but those of the fit were in {like.crs}; name it by set_crs"
        )
    if table.crs.is_known:
        units = ["degrees" if table.crs.is_geographic else table.unit, "degrees" if like.on_sphere else like.unit]
        if units[0] != units[1] and "" not in units:
            raise ValueError(f"positions are in {units[0]}, but those of the fit were in {units[1]}; use to_crs")
        if not like.on_sphere and "" not in (table.crs.name, like.crs) and table.crs.name != like.crs:
            raise ValueError(f"positions are in {table.crs.name}, but those of the fit were in {like.crs}; use to_crs")


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
    items = _list_labels(groups)
    if items is None or len(items) != n_rows:
        hint = f"; pass the labels themselves, such as frame[{groups!r}]" if isinstance(groups, str) else ""
        raise ValueError(
            f"{name} must hold one label for each of the {n_rows} rows of X, got shape {np.shape(groups)}{hint}"
        )
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


def _list_labels(groups: Any) -> list[Any] | None:
    """Return labels of any container of one axis, or of a frame of one column, as a list; None for others."""
    read = nw.from_native(groups, pass_through=True, allow_series=True)
    if isinstance(read, nw.DataFrame):
        read = next(read.iter_columns()) if len(read.columns) == 1 else None
        groups = None if read is None else read.to_native()
    if isinstance(read, nw.Series):
        return list(groups) if hasattr(groups, "iloc") else read.to_list()  # pandas' own know of dates and categories
    if hasattr(read, "to_pylist"):  # an array of pyarrow
        read = read.to_pylist()
    return None if read is None or np.ndim(read) != 1 else list(read)


def count_rows(codes: Index) -> Table:
    """Return the order of the rows as a table of positions: 0, 1, 2, ... within each group."""
    return Table(_steps(codes)[:, None], ("row",), (False,), unit="step")


def is_row_order(positions: Any) -> bool:
    """Whether the order of the rows is time: nothing is given, or what :func:`count_rows` has counted."""
    return positions is None or (isinstance(positions, Table) and positions.unit == "step")


def _steps(codes: Index) -> Array:
    """Return 0, 1, 2, ... within each group, in the order of the rows."""
    steps = np.empty(codes.size)
    for code in np.unique(codes):
        rows = codes == code
        steps[rows] = np.arange(rows.sum())
    return steps
