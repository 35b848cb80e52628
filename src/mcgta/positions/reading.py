"""From what users have (numbers, datetimes, frames, geometries, distance tables) to :class:`Positions`.

Everything that can be wrong with a position is found here, before any work is done.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.positions.positions import METRICS, Metric, Positions, checked_distance
from mcgta.positions.tables import Table, is_missing, read_table, refuse_missing
from mcgta.runtime.parallel import triangle
from mcgta.runtime.types import Array, Index
from mcgta.runtime.warnings import warn

_TILE = 1024
LONGITUDE_NAMES = ("lon", "lng", "long", "longitude", "decimallongitude")
TIME_NAMES = ("t", "time", "timestamp", "date", "datetime", "when")
_SYMMETRY_CHECKS = 20
LATITUDE_NAMES = ("lat", "latitude", "decimallatitude")


def read_positions(
    positions: Any,
    n_rows: int,
    *,
    groups: Any = None,
    metric: str | Metric = "auto",
    metric_params: Mapping[str, Any] | None = None,
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
    metric : one of ``auto, time, euclidean, haversine, spacetime, precomputed``, or a function of two positions
    metric_params : for ``spacetime``: ``time_scale`` (units of distance that one unit of time is worth; time is in
        seconds where it was given as datetimes) and ``space`` ("euclidean" or "haversine")
    like : positions seen in a fit, whose metric, unit and time origin are to be used again
    """
    if like is not None:
        metric = like.function if like.metric == "callable" and like.function is not None else like.metric
        metric_params = {"time_scale": like.time_scale, "space": like.space} if metric == "spacetime" else None
    codes, names = read_groups(groups, n_rows)
    if groups is None and like is not None and len(like.group_names) == 1:
        names = like.group_names
    if metric == "precomputed":
        return Positions("precomputed", np.zeros((n_rows, 0)), codes, names, matrix=_read_matrix(positions, n_rows))
    if positions is None:
        if metric not in ("auto", "time"):
            raise ValueError(
                f"metric={metric!r} needs positions=, got None; without positions the order of the rows is time "
                "(metric='time')"
            )
        return Positions("time", _steps(codes)[:, None], codes, names, unit="step")

    table = read_table(positions, n_rows, like.origin if like is not None else None, timed=metric == "spacetime")
    refuse_missing(table)
    if like is not None and any(table.dated) != like.dated:
        kinds = ("datetimes or timedeltas", "numbers")
        raise ValueError(
            f"positions holds {kinds[not any(table.dated)]}, but those of the fit were {kinds[any(table.dated)]}"
        )
    if like is not None and table.values.shape[1] != like.coordinates.shape[1]:
        raise ValueError(
            f"positions has {table.values.shape[1]} columns, but those of the fit had {like.coordinates.shape[1]}"
        )
    if callable(metric):
        matrix = _call_metric(metric, table.values)
        return Positions(
            "callable",
            table.values,
            codes,
            names,
            dated=any(table.dated),
            origin=table.origin,
            matrix=matrix,
            function=metric,
        )
    chosen = _choose_metric(metric, table)
    if chosen == "time":
        return _as_time(table, codes, names)
    if chosen == "haversine":
        return Positions("haversine", _as_degrees(table, 2), codes, names, unit="m")
    if chosen == "spacetime":
        return _as_spacetime(table, codes, names, dict(metric_params or {}))
    if any(table.dated):
        raise ValueError(
            "positions has a datetime column beside coordinates; use metric='spacetime' with "
            "metric_params={'time_scale': ...}"
        )
    return Positions("euclidean", table.values, codes, names)


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
    """0, 1, 2, ... within each group, in the order of the rows."""
    steps = np.empty(codes.size)
    for code in np.unique(codes):
        rows = codes == code
        steps[rows] = np.arange(rows.sum())
    return steps


def _choose_metric(metric: str | Metric, table: Table) -> str:
    if metric != "auto":
        if metric not in METRICS:
            raise ValueError(f"metric={metric!r} is not one of {', '.join(METRICS)}, nor a function")
        return str(metric)
    if table.geographic is not None:
        return "haversine" if table.geographic else "euclidean"
    if table.values.shape[1] == 1:
        return "time"
    if _degrees_order(table) is None:
        return "euclidean"
    if table.values.shape[1] > 2:
        raise ValueError(
            f"positions has columns {list(table.names)}, degrees and others; pass longitude and latitude alone, or say which "
            "metric= is meant"
        )
    return "haversine"


def _as_time(table: Table, codes: Index, names: NDArray[Any]) -> Positions:
    if table.values.shape[1] != 1:
        raise ValueError(f"metric='time' takes one column of positions, got {table.values.shape[1]}")
    values = table.values[:, 0]
    repeated = values.size - np.unique(np.column_stack([codes, values]), axis=0).shape[0]
    if repeated:
        warn(
            f"positions: {repeated} of {values.size} times are repeated within their group; if the rows are several series, "
            "pass groups=. Ties between equal times are broken by the features",
            UserWarning,
        )
    return Positions(
        "time",
        values[:, None],
        codes,
        names,
        unit="s" if table.dated[0] else "",
        dated=table.dated[0],
        origin=table.origin,
    )


def _as_spacetime(table: Table, codes: Index, names: NDArray[Any], params: dict[str, Any]) -> Positions:
    unknown = sorted(set(params) - {"time_scale", "space"})
    if unknown:
        raise ValueError(f"metric_params has unknown keys {unknown}; metric='spacetime' knows 'time_scale' and 'space'")
    if "time_scale" not in params:
        raise ValueError(
            "metric='spacetime' needs metric_params={'time_scale': ...}: the units of distance that one unit of time is "
            "worth (a second, where time is given as datetimes)"
        )
    time_scale = params["time_scale"]
    if (
        isinstance(time_scale, bool)
        or not isinstance(time_scale, (int, float, np.number))
        or not 0 < time_scale < np.inf
    ):
        raise ValueError(f"metric_params['time_scale']={time_scale!r} must be a positive number")
    space = params.get("space", "euclidean" if _degrees_order(table) is None else "haversine")
    if space not in ("euclidean", "haversine"):
        raise ValueError(f"metric_params['space']={space!r} is not one of euclidean, haversine")
    if table.values.shape[1] < 2:
        raise ValueError("metric='spacetime' takes coordinates and a time, got one column of positions")
    when = [k for k, dated in enumerate(table.dated) if dated]
    if len(when) > 1:
        raise ValueError(f"metric='spacetime' takes one time column, got {[table.names[k] for k in when]}")
    when = when or [k for k, name in enumerate(table.names) if name.strip().lower() in TIME_NAMES]
    time = when[0] if len(when) == 1 else table.values.shape[1] - 1
    place = [k for k in range(table.values.shape[1]) if k != time]
    spatial = Table(table.values[:, place], tuple(table.names[k] for k in place))
    values = _as_degrees(spatial, 2) if space == "haversine" else spatial.values
    unit = "m" if space == "haversine" else ""
    return Positions(
        "spacetime",
        np.column_stack([values, table.values[:, time]]),
        codes,
        names,
        unit=unit,
        time_scale=float(time_scale),
        space=space,
        dated=any(table.dated),
        origin=table.origin,
    )


def _degrees_order(table: Table) -> list[int] | None:
    """Columns of (longitude, latitude), by their names; None where the names do not say."""
    lowered = [name.strip().lower() for name in table.names]
    lon = [k for k, name in enumerate(lowered) if name in LONGITUDE_NAMES]
    lat = [k for k, name in enumerate(lowered) if name in LATITUDE_NAMES]
    return [lon[0], lat[0]] if len(lon) == 1 and len(lat) == 1 else None


def _as_degrees(table: Table, width: int) -> Array:
    """Return (longitude in [-180, 180), latitude), one way of writing for each place on earth."""
    if table.values.shape[1] != width:
        raise ValueError(
            f"metric='haversine' takes two columns, longitude and latitude in degrees, got {table.values.shape[1]}"
        )
    order = _degrees_order(table) or [0, 1]
    lon, lat = table.values[:, order[0]], table.values[:, order[1]]
    outside = np.flatnonzero(np.abs(lat) > 90)
    if outside.size:
        hint = ""
        if np.all(np.abs(lon) <= 90) and not table.geographic:
            hint = "; are the columns swapped? mcgta expects longitude first"
        raise ValueError(
            f"positions: latitude {lat[outside[0]]:g} in row {outside[0]} is outside [-90, 90] degrees "
            f"({outside.size} such rows){hint}"
        )
    outside = np.flatnonzero((lon < -180) | (lon > 360))
    if outside.size:
        raise ValueError(
            f"positions: longitude {lon[outside[0]]:g} in row {outside[0]} is outside [-180, 360] degrees "
            f"({outside.size} such rows)"
        )
    lon = np.where(lon >= 180, lon - 360, lon)
    return np.column_stack([np.where(np.abs(lat) == 90, 0.0, lon), lat])


def _read_matrix(positions: Any, n_rows: int) -> Array:
    if positions is None:
        raise ValueError("metric='precomputed' needs positions=, the table of distances, got None")
    matrix = read_distances(positions, (n_rows, n_rows))
    if np.any(np.diagonal(matrix) != 0):
        row = int(np.flatnonzero(np.diagonal(matrix))[0])
        raise ValueError(f"positions: the distance of row {row} from itself is {matrix[row, row]:g}, it must be 0")
    for rows, cols in triangle(n_rows, _TILE):
        one, other = matrix[rows, cols], matrix[cols, rows].T
        with np.errstate(invalid="ignore"):
            differ = ~np.isclose(one, other, rtol=1e-8, atol=0)
        if differ.any():
            i, j = np.argwhere(differ)[0]
            raise ValueError(
                f"positions: the table of distances must be symmetric, but rows {rows.start + i} and {cols.start + j} are "
                f"{one[i, j]:g} apart one way and {other[i, j]:g} the other"
            )
        least = np.minimum(one, other)
        matrix[rows, cols], matrix[cols, rows] = least, least.T
    return matrix


def read_distances(positions: Any, shape: tuple[int, int]) -> Array:
    """Check a table of distances: its shape, and that it holds numbers >= 0 or inf."""
    table = np.asarray(positions)
    if table.dtype.kind not in "biuf":
        raise ValueError(f"positions: the table of distances holds {table.dtype}, it must hold real numbers")
    if table.shape != shape:
        raise ValueError(f"positions must be a table of distances of shape {shape}, got {table.shape}")
    if np.isnan(table).any():
        raise ValueError(
            "positions: the table of distances holds NaN; use inf for observations that are never neighbours"
        )
    if (table < 0).any():
        raise ValueError(f"positions: the table of distances holds negative values, such as {table.min():g}")
    return table.astype(np.float64)


def _call_metric(function: Metric, values: Array) -> Array:
    """Measure every pair once with the user's function, and the first few both ways."""
    count = values.shape[0]
    matrix = np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = checked_distance(function, values[i], values[j])
    for i in range(1, min(count, _SYMMETRY_CHECKS)):
        back = checked_distance(function, values[0], values[i])
        if not np.isclose(back, matrix[i, 0], rtol=1e-8, atol=0):
            raise ValueError(
                f"metric: rows 0 and {i} are {back:g} apart one way and {matrix[i, 0]:g} the other; it must be symmetric"
            )
    return matrix
