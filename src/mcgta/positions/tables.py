"""From frames, arrays, geometries and objects to columns of numbers: the first step of reading positions."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from mcgta.runtime.types import Array, Mask

WEB_MERCATOR_EPSG = 3857


@dataclass(frozen=True)
class Crs:
    """What is known of the coordinate reference system of points."""

    is_known: bool = False
    is_geographic: bool = False
    is_web_mercator: bool = False


@dataclass(frozen=True)
class Table:
    """Columns of numbers read from the user's positions.

    Attributes
    ----------
    values : (N, p) numbers; seconds where the user had datetimes or timedeltas
    names : (p,) what the columns are called
    dated : (p,) whether a column held datetimes or timedeltas
    origin : nanoseconds since 1970 of time zero, where there are datetimes
    crs : of points; None for plain columns
    """

    values: Array
    names: tuple[str, ...] = ()
    dated: tuple[bool, ...] = ()
    origin: int | None = None
    crs: Crs | None = None

    def take(self, columns: list[int]) -> Table:
        """Return some of the columns."""
        return replace(
            self,
            values=self.values[:, columns],
            names=tuple(self.names[k] for k in columns),
            dated=tuple(self.dated[k] for k in columns),
        )


def read_table(positions: Any, n_rows: int, origin: int | None, *, timed: bool) -> Table:
    """Read the user's positions; ``timed`` says whether a time is wanted beside geometries."""
    geometry = getattr(positions, "geometry", None)
    if geometry is not None and hasattr(geometry, "geom_type") and hasattr(geometry, "crs"):
        table = _read_geometry(positions, geometry, origin, timed=timed)
    else:
        columns, names = _columns(positions)
        read = [_read_column(column, name) for column, name in zip(columns, names, strict=True)]
        dated = tuple(kind != "number" for _, kind in read)
        values, origin = _measure_time(read, origin)
        table = Table(values, names, dated, origin)
    if table.values.shape[0] != n_rows:
        raise ValueError(f"positions has {table.values.shape[0]} rows but X has {n_rows}; they must be the same")
    return table


def _read_geometry(positions: Any, geometry: Any, origin: int | None, *, timed: bool) -> Table:
    """Read GeoPandas points, and the datetime column beside them where time is wanted."""
    kinds = sorted(set(geometry.geom_type.dropna()) - {"Point"})
    if kinds:
        raise ValueError(f"positions holds geometries of type {', '.join(kinds)}; use points, such as their centroids")
    crs = _read_crs(geometry.crs)
    values = [np.asarray(geometry.x, dtype=float), np.asarray(geometry.y, dtype=float)]
    names = ["longitude", "latitude"] if crs.is_geographic else ["x", "y"]
    if not crs.is_geographic and bool(geometry.has_z.all()):
        values.append(np.asarray(geometry.z, dtype=float))
        names.append("z")
    if not timed:
        return Table(np.column_stack(values), tuple(names), (False,) * len(names), None, crs)
    columns = [name for name in getattr(positions, "columns", ()) if getattr(positions[name].dtype, "kind", "") in "Mm"]
    if len(columns) != 1:
        raise ValueError(f"metric='spacetime' needs one datetime column beside the geometry, got {columns or 'none'}")
    table = nw.from_native(positions[columns], eager_only=True)
    when, origin = _measure_time([_read_column(table[columns[0]], str(columns[0]))], origin)
    dated = (False,) * len(names) + (True,)
    return Table(np.column_stack([*values, when]), (*names, str(columns[0])), dated, origin, crs)


def _read_crs(crs: Any) -> Crs:
    """Read the CRS of GeoPandas, which is None or an object of pyproj."""
    if crs is None:
        return Crs()
    return Crs(is_known=True, is_geographic=bool(crs.is_geographic), is_web_mercator=crs.to_epsg() == WEB_MERCATOR_EPSG)


def _columns(positions: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Split positions into columns, with names where they have them."""
    _refuse_containers(positions)
    native = nw.from_native(positions, pass_through=True, allow_series=True)
    if isinstance(native, nw.DataFrame):
        return [native[name] for name in native.columns], tuple(str(name) for name in native.columns)
    if isinstance(native, nw.Series):
        return [native], (str(native.name or "position"),)
    if hasattr(positions, "tz_convert") and positions.tz is not None:  # a time-zone aware index
        positions = positions.tz_convert("UTC").tz_localize(None)
    array = np.asarray(positions)
    if array.ndim == 1:
        return [array], ("position",)
    if array.ndim != 2:
        raise ValueError(f"positions must have one or two axes, got {array.ndim} (shape {array.shape})")
    if array.shape[1] == 0:
        raise ValueError(f"positions has no column (shape {array.shape})")
    return list(array.T), tuple(f"column {k}" for k in range(array.shape[1]))


def _refuse_containers(positions: Any) -> None:
    """Refuse what has columns of a kind that cannot be read, with the way to pass them."""
    if isinstance(positions, Mapping):
        raise ValueError(
            f"positions is a {type(positions).__name__}; pass a table, such as pandas.DataFrame(positions) or "
            "numpy.column_stack(list(positions.values()))"
        )
    if getattr(getattr(positions, "dtype", None), "names", None):
        raise ValueError(
            f"positions is a structured array with fields {positions.dtype.names}; pass a table, such as "
            "pandas.DataFrame(positions) or numpy.lib.recfunctions.structured_to_unstructured(positions)"
        )
    names = [str(name) for name in getattr(positions, "columns", ())]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"positions has several columns called {', '.join(map(repr, repeated))}; pass each column once, under a name of "
            "its own"
        )
    if np.ma.is_masked(positions):
        mask = np.ma.getmaskarray(positions)
        cell = np.argwhere(mask)[0].tolist()
        where = f"row {cell[0]}" + (f", column {cell[1]}" if len(cell) > 1 else "")
        raise ValueError(
            f"positions has {np.count_nonzero(mask)} masked cells, the first in {where}; every observation needs a "
            "position: drop those rows from X and positions alike"
        )


def _read_column(column: Any, name: str) -> tuple[NDArray[Any], str]:
    """Return one column as floats ("number") or as integer nanoseconds ("date", "span")."""
    if isinstance(column, nw.Series):
        if isinstance(column.dtype, nw.Datetime) and column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        column = column.to_numpy()
    values = np.asarray(column)
    if values.dtype == object:
        values = _from_objects(values, name)
    if values.dtype.kind == "M":
        stamps = values.astype("datetime64[ns]")
        refuse_rows(np.isnat(values), name)
        wrapped = np.flatnonzero(stamps.astype(values.dtype) != values)
        if wrapped.size:
            raise ValueError(
                f"positions ({name}) holds {values[wrapped[0]]} in row {wrapped[0]}, outside the years 1678 to 2261 that "
                "nanoseconds reach; use numbers, such as years"
            )
        return stamps.astype(np.int64), "date"
    if values.dtype.kind == "m":
        spans = values.astype("timedelta64[ns]")
        refuse_rows(np.isnat(spans), name)
        return spans.astype(np.int64), "span"
    if values.dtype.kind == "c":
        raise ValueError(f"positions ({name}) holds complex numbers; positions must be real")
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"positions ({name}) holds {values.dtype}, such as {values.flat[0]!r}; positions must be numbers, datetimes or "
            "timedeltas (convert text first, for example with pandas.to_datetime)"
        )
    return values.astype(np.float64), "number"


def _from_objects(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Read a column of Python objects: numbers, dates or datetimes, with or without time zone."""
    items = values.tolist()
    refuse_rows(np.array([is_missing(item) for item in items], dtype=bool), name)
    if all(isinstance(item, datetime.date) for item in items):
        plain = [
            item.astimezone(datetime.UTC).replace(tzinfo=None)
            if isinstance(item, datetime.datetime) and item.tzinfo is not None
            else item
            for item in items
        ]
        return np.array(plain, dtype="datetime64[ns]")
    if all(isinstance(item, datetime.timedelta) for item in items):
        return np.array(items, dtype="timedelta64[ns]")
    try:
        return np.asarray([float(item) for item in items])
    except (TypeError, ValueError):
        bad = next(k for k, item in enumerate(items) if not isinstance(item, (int, float)))
        raise ValueError(
            f"positions ({name}) holds {items[bad]!r} in row {bad}; positions must be numbers, datetimes or timedeltas"
        ) from None


def _measure_time(read: list[tuple[NDArray[Any], str]], origin: int | None) -> tuple[Array, int | None]:
    """Turn dates into seconds after the origin: the first date of a fit, kept for later data."""
    out = []
    for values, kind in read:
        if kind == "date":
            if origin is None:
                origin = int(values.min()) if values.size else 0
            values = (values - origin) / 1e9
        elif kind == "span":
            values = values / 1e9
        out.append(values)
    return (np.column_stack(out) if out else np.zeros((0, 0))), origin


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or pandas' NA, none of which equals itself."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def refuse_missing(table: Table) -> None:
    """Raise a ValueError where a position is not a finite number."""
    for name, values in zip(table.names, table.values.T, strict=True):
        refuse_rows(~np.isfinite(values), name)


def refuse_rows(bad: Mask, name: str) -> None:
    """Raise a ValueError that names the first of the bad rows of a column."""
    rows = np.flatnonzero(bad)
    if rows.size:
        raise ValueError(
            f"positions ({name}) is missing or infinite in {rows.size} rows, the first is row {rows[0]}; every observation "
            "needs a position: drop those rows from X and positions alike"
        )
