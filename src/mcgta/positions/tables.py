"""From frames, arrays, geometries and objects to columns of numbers: the first step of reading positions."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from mcgta.runtime.containers import refuse_containers, unmasked
from mcgta.runtime.types import Array, Index, Mask

WEB_MERCATOR_EPSG = 3857
TIME_NAMES = ("t", "time", "timestamp", "date", "datetime", "when")
"""What columns of times are called."""

UNITS = {"metre": "m", "meter": "m", "kilometre": "km", "foot": "ft", "US survey foot": "ft"}
"""How units of length that have a usual sign are written; others are called as the CRS calls them."""
_UNNAMED_CRS = "unknown"
"""What pyproj calls a CRS without a name."""

SPANS = "timedeltas"
LOCAL_DATES = "datetimes without a time zone"
ZONED_DATES = "datetimes with a time zone"
"""Kinds of times, which are measured from different points: zero, midnight of a place, and midnight of UTC."""


@dataclass(frozen=True)
class Crs:
    """What is known of the coordinate reference system of points.

    Attributes
    ----------
    is_known : whether points have one
    is_geographic : whether coordinates are degrees
    is_web_mercator : whether it is EPSG:3857
    unit : of coordinates on a plane, such as "m" or "US survey foot"; "" where it is not known
    name : such as "ETRS89 / UTM zone 32N"; "" where it has none
    """

    is_known: bool = False
    is_geographic: bool = False
    is_web_mercator: bool = False
    unit: str = ""
    name: str = ""


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """Positions as columns (N,) with names, for which no frame is needed.

    Attributes
    ----------
    columns : (N,) numbers or times by name; "longitude" and "latitude" are degrees
    crs : of the coordinates; None where nothing is known
    """

    columns: dict[str, NDArray[Any]]
    crs: Crs | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return len(self), len(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def take(self, rows: Any) -> NamedColumns:
        """Return some of the rows."""
        return replace(self, columns={name: column[rows] for name, column in self.columns.items()})


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
    unit : of plain numbers, where it is known, such as "m"; "step" where they count the rows of each group
    times : the kind of its times, such as ``ZONED_DATES``; "" where there are none, or several, or that is not known
    rows : (N,) the user's row of each; None where these are all
    """

    values: Array
    names: tuple[str, ...] = ()
    dated: tuple[bool, ...] = ()
    origin: int | None = None
    crs: Crs | None = None
    unit: str = ""
    times: str = ""
    rows: Index | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """(N, p)."""
        return self.values.shape

    @property
    def missing(self) -> Mask:
        """(N,) whether a number of the row is missing."""
        return np.asarray(np.isnan(self.values).any(axis=1))

    def row(self, k: int) -> int:
        """Return the number by which the user knows the k-th row."""
        return int(k if self.rows is None else self.rows[k])

    def take_rows(self, rows: Index) -> Table:
        """Return some of the rows, which keep their numbers."""
        return replace(self, values=self.values[rows], rows=rows if self.rows is None else self.rows[rows])

    def take(self, columns: list[int]) -> Table:
        """Return some of the columns."""
        return replace(
            self,
            values=self.values[:, columns],
            names=tuple(self.names[k] for k in columns),
            dated=tuple(self.dated[k] for k in columns),
        )


def read_table(positions: Any, n_rows: int, origin: int | None, *, timed: bool, gaps: bool = False) -> Table:
    """Read the user's positions, or return them as they are where that is done.

    Parameters
    ----------
    positions : array-like, frame, geometry column or Table
    n_rows : of X
    origin : nanoseconds since 1970 of time zero; None takes the first date
    timed : whether a time is wanted beside geometries
    gaps : whether numbers may be missing, which are NaN then; infinite ones are refused in any case
    """
    if isinstance(positions, Table):
        table = positions
    elif has_geometry(positions):
        table = _read_geometry(positions, origin, timed=timed)
    else:
        columns, names = _columns(unmasked(positions) if gaps else positions)
        read = [_read_column(column, name) for column, name in zip(columns, names, strict=True)]
        table = _measure_time(read, names, origin)
        if isinstance(positions, NamedColumns):
            table = replace(table, times="")  # columns of files are in UTC where the file has time zones
            if positions.crs is not None:
                table = replace(table, crs=positions.crs, unit=positions.crs.unit)
    if table.values.shape[0] != n_rows:
        raise ValueError(f"positions has {table.values.shape[0]} rows but X has {n_rows}; they must be the same")
    for name, values in zip(table.names, table.values.T, strict=True):
        refuse_rows(np.isinf(values) if gaps else ~np.isfinite(values), name, gaps=gaps)
    return table


def has_geometry(value: Any) -> bool:
    """Whether a value is a GeoPandas frame or column with geometries."""
    geometry = getattr(value, "geometry", None)
    return geometry is not None and hasattr(geometry, "geom_type") and hasattr(geometry, "crs")


def _read_geometry(positions: Any, origin: int | None, *, timed: bool) -> Table:
    """Read GeoPandas points, and the datetime column beside them where time is wanted; NaN where there is none."""
    geometry = positions.geometry
    kinds = sorted(set(geometry.geom_type.dropna()) - {"Point"})
    if kinds:
        raise ValueError(
            f"positions holds geometries of type {', '.join(kinds)}; pass a point of each, by positions.representative_point()"
        )
    crs = read_crs(geometry.crs)
    values = [np.asarray(geometry.x, dtype=float), np.asarray(geometry.y, dtype=float)]
    names = ["longitude", "latitude"] if crs.is_geographic else ["x", "y"]
    known = np.asarray(~(geometry.isna() | geometry.is_empty))
    if not crs.is_geographic and bool(geometry.has_z[known].all()) and known.any():
        values.append(np.asarray(geometry.z, dtype=float))
        names.append("z")
    if not timed:
        return Table(np.column_stack(values), tuple(names), (False,) * len(names), None, crs, crs.unit)
    columns = [name for name in getattr(positions, "columns", ()) if getattr(positions[name].dtype, "kind", "") in "Mm"]
    if len(columns) != 1:
        raise ValueError(f"metric='spacetime' needs one datetime column beside the geometry, got {columns or 'none'}")
    table = nw.from_native(positions[columns], eager_only=True)
    time = _measure_time([_read_column(table[columns[0]], str(columns[0]))], (str(columns[0]),), origin)
    return replace(
        time,
        values=np.column_stack([*values, time.values]),
        names=(*names, *time.names),
        dated=(False,) * len(names) + time.dated,
        crs=crs,
        unit=crs.unit,
    )


def read_crs(crs: Any) -> Crs:
    """Read the CRS of GeoPandas, which is None or an object of pyproj."""
    if crs is None:
        return Crs()
    unit = str(crs.axis_info[0].unit_name) if crs.axis_info else ""
    return Crs(
        is_known=True,
        is_geographic=bool(crs.is_geographic),
        is_web_mercator=crs.to_epsg() == WEB_MERCATOR_EPSG,
        unit="" if crs.is_geographic else UNITS.get(unit, unit),
        name="" if crs.name == _UNNAMED_CRS else str(crs.name),
    )


def _columns(positions: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Split positions into columns, with names where they have them."""
    if isinstance(positions, NamedColumns):
        return list(positions.columns.values()), tuple(positions.columns)
    cure = "every observation needs a position: drop those rows from X and positions alike, or set missing='drop'"
    refuse_containers("positions", positions, cure)
    native = nw.from_native(positions, pass_through=True, allow_series=True)
    if isinstance(native, nw.DataFrame):
        return list(native.iter_columns()), tuple(str(name) for name in native.columns)
    if isinstance(native, nw.Series):
        return [native], (str(native.name or "position"),)
    if hasattr(positions, "tz_convert") and positions.tz is not None:  # a time-zone aware index
        return [nw.from_native(positions.to_series(), series_only=True)], ("position",)
    array = np.asarray(positions)
    if array.ndim == 1:
        return [array], ("position",)
    if array.ndim != 2:
        raise ValueError(f"positions must have one or two axes, got {array.ndim} (shape {array.shape})")
    if array.shape[1] == 0:
        raise ValueError(f"positions has no column (shape {array.shape})")
    return list(array.T), tuple(f"column {k}" for k in range(array.shape[1]))


class _Column(NamedTuple):
    """A column of numbers: floats (times ""), or integer nanoseconds of a kind of times; which of those are missing."""

    values: NDArray[Any]
    times: str
    missing: Mask


def _read_column(column: Any, name: str) -> _Column:
    """Read one column."""
    zoned = (
        isinstance(column, nw.Series) and isinstance(column.dtype, nw.Datetime) and column.dtype.time_zone is not None
    )
    if isinstance(column, nw.Series):
        if zoned:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        column = column.to_numpy()
    values = np.asarray(column)
    if values.dtype == object:
        zoned = any(getattr(item, "tzinfo", None) is not None for item in values.tolist())
        values = _from_objects(values, name)
    if values.dtype.kind == "M":
        stamps = values.astype("datetime64[ns]")
        missing = np.isnat(values)
        wrapped = np.flatnonzero((stamps.astype(values.dtype) != values) & ~missing)
        if wrapped.size:
            raise ValueError(
                f"positions ({name}) holds {values[wrapped[0]]} in row {wrapped[0]}, outside the years 1678 to 2261 that "
                "nanoseconds reach; use numbers, such as years"
            )
        return _Column(stamps.astype(np.int64), ZONED_DATES if zoned else LOCAL_DATES, missing)
    if values.dtype.kind == "m":
        spans = values.astype("timedelta64[ns]")
        return _Column(spans.astype(np.int64), SPANS, np.isnat(spans))
    if values.dtype.kind == "c":
        raise ValueError(f"positions ({name}) holds complex numbers; positions must be real")
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"positions ({name}) holds {values.dtype}, such as {values.flat[0]!r}; positions must be numbers, datetimes or "
            "timedeltas (convert text first, for example with pandas.to_datetime)"
        )
    numbers = values.astype(np.float64)
    return _Column(numbers, "", np.isnan(numbers))


def _from_objects(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Read a column of Python objects: numbers, dates or datetimes, with or without time zone; NaN or NaT are missing."""
    items = [None if is_missing(item) else item for item in values.tolist()]
    known = [item for item in items if item is not None]
    if known and all(isinstance(item, datetime.date) for item in known):
        if len({getattr(item, "tzinfo", None) is None for item in known}) > 1:
            raise ValueError(f"positions ({name}) mixes {LOCAL_DATES} and with one; convert them")
        plain = [
            item.astimezone(datetime.UTC).replace(tzinfo=None)
            if isinstance(item, datetime.datetime) and item.tzinfo is not None
            else item
            for item in items
        ]
        return np.array(plain, dtype="datetime64[ns]")
    if known and all(isinstance(item, datetime.timedelta) for item in known):
        return np.array(items, dtype="timedelta64[ns]")
    try:
        return np.asarray([np.nan if item is None else float(item) for item in items])
    except (TypeError, ValueError):
        bad = next(k for k, item in enumerate(items) if not isinstance(item, (int, float)) and item is not None)
        raise ValueError(
            f"positions ({name}) holds {items[bad]!r} in row {bad}; positions must be numbers, datetimes or timedeltas"
        ) from None


def _measure_time(read: list[_Column], names: tuple[str, ...], origin: int | None) -> Table:
    """Turn dates into seconds after the origin: the first date of a fit, kept for later data."""
    out = []
    for values, times, missing in read:
        if times == SPANS:
            values = np.where(missing, np.nan, values / 1e9)
        elif times:
            if origin is None:
                known = values[~missing]
                origin = int(known.min()) if known.size else 0
            values = np.where(missing, np.nan, (np.where(missing, origin, values) - origin) / 1e9)
        out.append(values)
    dated = tuple(bool(column.times) for column in read)
    kinds = {column.times for column in read if column.times}
    values = np.column_stack(out) if out else np.zeros((0, 0))
    return Table(values, names, dated, origin, times=kinds.pop() if len(kinds) == 1 else "")


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or pandas' NA, none of which equals itself."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def refuse_rows(bad: Mask, name: str, *, gaps: bool = False) -> None:
    """Raise a ValueError that names the first of the bad rows of a column, which are infinite where there may be gaps."""
    rows = np.flatnonzero(bad)
    if rows.size:
        what = "infinite" if gaps else "missing or infinite"
        more = "" if gaps else ", or set missing='drop' where they are missing"
        raise ValueError(
            f"positions ({name}) is {what} in {rows.size} rows, the first is row {rows[0]}; every observation needs a "
            f"position: drop those rows from X and positions alike{more}"
        )
