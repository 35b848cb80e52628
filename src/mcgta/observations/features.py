"""The user's features: which columns they are, and what can be wrong with them, said with the column, the rows and the cure."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from mcgta.positions.degrees import LATITUDE_NAMES, LONGITUDE_NAMES
from mcgta.positions.tables import is_missing
from mcgta.runtime import containers
from mcgta.runtime.containers import is_from, refuse_containers
from mcgta.runtime.types import Array
from mcgta.runtime.warnings import warn

MAX_NAMED = 5
"""Columns and rows that a message names before it only counts them."""

MIN_CLOCK_ROWS = 50
"""Columns of fewer rows are not taken for clocks or identifiers."""
CLOCK_STEP_TOLERANCE = 1e-6
"""Steps of a clock are equal up to this share of them."""
MIN_COUNTER_SHARE = 0.98
"""Share of equal steps of a counter, which may begin again with each series."""
MIN_IDENTIFIER_ROWS = 20
"""Rows in a row of one identifier, in the mean."""
MIN_IDENTIFIERS = 6

_DROP = "drop those rows from X and positions alike"
IMPUTE = "or impute them first, for example with sklearn.impute.SimpleImputer"
"""What to do about missing features beside dropping rows, where they are refused whatever the settings are."""
ALLOW = "or set missing='drop', which labels those rows -1, or missing='impute'"
"""The same where a setting allows them."""

_CONTAINERS = {
    ("anndata", "AnnData"): "an AnnData; use mcgta.cluster_anndata(adata)",
    ("geopandas", "GeoSeries"): "a GeoSeries; geometries are positions: pass X=, the features, and positions=geoseries",
    ("xarray", "DataArray"): "a DataArray; use mcgta.cluster_xarray(data)",
    ("xarray", "Dataset"): "a Dataset; use mcgta.cluster_xarray(data)",
}
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def feature_table(X: Any, known: Sequence[str] | None = None) -> Any:
    """Return the features among the columns of X: all, but of a GeoDataFrame the ``known`` ones, or those of numbers.

    Columns of a GeoDataFrame that repeat its positions are left out.
    """
    if not is_from(X, "geopandas", "GeoDataFrame"):
        return X
    if known is not None and all(name in X.columns for name in known):
        return _plain(X[list(known)])
    repeated = _position_columns(X)
    names = [name for name in X.columns if _holds_numbers(X[name].dtype) and name not in repeated]
    if not names:
        raise ValueError(
            f"X is a GeoDataFrame without a column of numbers, which features are; it has {list(X.columns)}"
        )
    return _plain(X[names])


def warn_of_other_columns(X: Any, *, timed: bool) -> None:
    """Warn of columns of a GeoDataFrame that are neither features nor positions; a column of dates is, where ``timed``."""
    if not is_from(X, "geopandas", "GeoDataFrame"):
        return
    repeated = _position_columns(X)
    used = {*(column_names(X) or ()), X.active_geometry_name, *repeated}
    if timed:
        used |= {name for name in X.columns if getattr(X[name].dtype, "kind", "") == "M"}
    other = [k for k, name in enumerate(X.columns) if name not in used]
    if other:
        said = name_columns(other, list(X.columns))
        warn(
            f"X: {said} holds no numbers and is left out; columns of numbers are the features, the geometry is the position"
        )
    if repeated:
        said = name_columns(range(len(repeated)), repeated)
        warn(f"X: {said} says again where the points are and is left out; rename it where it is a feature")


def _position_columns(X: Any) -> list[Any]:
    """Return the columns of a GeoDataFrame that repeat its geometry: called longitude or latitude, or equal to x or y."""
    numbers = [name for name in X.columns if _holds_numbers(X[name].dtype)]
    found = [name for name in numbers if str(name).strip().lower() in (*LONGITUDE_NAMES, *LATITUDE_NAMES)]
    if X.active_geometry_name is None or not bool((X.geometry.geom_type.dropna() == "Point").all()):
        return found
    places = [np.asarray(X.geometry.x, dtype=float), np.asarray(X.geometry.y, dtype=float)]
    for name in numbers:
        values = X[name].to_numpy(dtype=float, na_value=np.nan)
        if name not in found and any(np.array_equal(values, place, equal_nan=True) for place in places):
            found.append(name)
    return found


def _plain(frame: Any) -> Any:
    """Return a frame of pandas in the place of one of GeoPandas, which may be what selecting columns gives."""
    import pandas

    return pandas.DataFrame(frame)


def _holds_numbers(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf"


def refuse_unreadable(X: Any, cure: str = IMPUTE) -> None:
    """Refuse containers that are no table of numbers, masked cells, and columns of dates, before anything is read."""
    for (package, kind), said in _CONTAINERS.items():
        if is_from(X, package, kind):
            raise ValueError(f"X is {said}")
    refuse_containers("X", X, f"{_DROP}, {cure}")
    _refuse_categories(X)
    dated = _dated_columns(X)
    if dated:
        _refuse_dates(dated)


def missing_to_nan(X: Any) -> Any:
    """Return features with NaN in the place of masked cells and of missing objects, such as None."""
    X = containers.unmasked(X)
    if hasattr(X, "iloc"):
        return X.where(X.notna(), np.nan) if any(dtype.kind == "O" for dtype in X.dtypes) else X
    if isinstance(X, (list, tuple)) or getattr(getattr(X, "dtype", None), "kind", "") == "O":
        columns = _object_columns(X)
        if columns:
            return np.array([[np.nan if is_missing(item) else item for item in column] for column in columns], object).T
    return X


def explain_failure(X: Any, cure: str = IMPUTE) -> None:
    """Raise an error that names the column, where features could not be read because of text, dates or missing objects."""
    names = column_names(X)
    for k, column in enumerate(_object_columns(X)):
        said = name_column(k, names)
        dates = [row for row, item in enumerate(column) if isinstance(item, _DATES) or hasattr(item, "to_timestamp")]
        if dates:
            _refuse_dates([said])
        missing = [row for row, item in enumerate(column) if is_missing(item)]
        text = [row for row, item in enumerate(column) if isinstance(item, (str, bytes)) and not _is_number(item)]
        if text:
            raise ValueError(
                f"X: {said} holds text, such as {column[text[0]]!r}, in {_rows(text)}; encode it as numbers, for example with "
                "sklearn.preprocessing.OneHotEncoder, or leave it out"
            )
        if missing:
            raise ValueError(f"X: {said} has missing values (NaN) in {_rows(missing)}; {_DROP}, {cure}")


def refuse_missing_features(X: Array, names: Sequence[Any] | None, cure: str = IMPUTE, *, gaps: bool = False) -> None:
    """Refuse infinite features, and NaN unless there may be ``gaps``: name the columns, how many rows, and the first."""
    bad = np.flatnonzero((np.isinf(X) if gaps else ~np.isfinite(X)).any(axis=0))
    if bad.size == 0:
        return
    said = []
    for k in bad[:MAX_NAMED].tolist():
        for what, rows in (("NaN", np.isnan(X[:, k]) & (not gaps)), ("infinity", np.isinf(X[:, k]))):
            if rows.any():
                said.append(f"{name_column(k, names)} holds {what} in {_rows(np.flatnonzero(rows).tolist())}")
    more = f", and so do {bad.size - MAX_NAMED} more columns" if bad.size > MAX_NAMED else ""
    cure = "or replace infinite values by finite ones" if np.isinf(X).any() else cure
    raise ValueError(f"X: {', '.join(said)}{more}; {_DROP}, {cure}")


def warn_of_identifiers(X: Array, names: Sequence[Any] | None) -> None:
    """Warn of columns that look like row numbers, clocks or identifiers, which say nothing of the state of things.

    ``X`` (N, d) is in the user's order; see :func:`looks_like_identifier`.
    """
    suspects = [k for k in range(X.shape[1]) if looks_like_identifier(X[:, k])]
    if suspects:
        warn(
            f"X: {name_columns(suspects, names)} looks like an identifier or a clock (row numbers, times, numbers of series), "
            "which would be clustered as a feature; leave it out, and pass times as positions= and series as groups="
        )


def looks_like_identifier(column: Array) -> bool:
    """Whether a column (N,) of numbers looks like row numbers, times or identifiers.

    Clocks are columns of equal steps, or integers that only rise or only fall; so are counters that begin again with each
    series. Identifiers are integers that stay for many rows and never come back.
    """
    return _is_clock(column) or _is_identifier(column)


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the features of a frame; None for a container without names."""
    return containers.column_names(feature_table(X))


def text_column_names(X: Any) -> Any:
    """Return an array of what the columns of a frame are called, where that is text for all; None where it is for none."""
    names = column_names(X)
    if names is None or not any(isinstance(name, str) for name in names):
        return None
    other = [name for name in names if not isinstance(name, str)]
    if other:
        raise TypeError(
            f"X: columns must have names that are text, all or none, but {other[0]!r} is not; use X.columns = "
            "X.columns.astype(str)"
        )
    return np.array(names, dtype=object)


def name_column(k: int, names: Sequence[Any] | None) -> str:
    """Return how a message calls a column: by its name, or by its number."""
    return f"column {k if names is None else str(names[k])!r}"


def name_columns(columns: Sequence[int], names: Sequence[Any] | None) -> str:
    """Return how a message calls several columns: the first few, and how many more there are."""
    said = ", ".join(name_column(k, names) for k in columns[:MAX_NAMED])
    return said + (f" and {len(columns) - MAX_NAMED} more" if len(columns) > MAX_NAMED else "")


def _rows(rows: Sequence[int]) -> str:
    """Say how many rows, and which come first."""
    first = ", ".join(str(row) for row in rows[:MAX_NAMED])
    more = ", ..." if len(rows) > MAX_NAMED else ""
    return f"{len(rows)} row{'' if len(rows) == 1 else 's'} ({first}{more})"


def _dated_columns(X: Any) -> list[str]:
    """Return how columns of dates are called, as far as types say it."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "Mm" and X.ndim == 2:
        return [name_column(k, None) for k in range(X.shape[1])]
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return []
    return [f"column {str(name)!r}" for name, dtype in frame.schema.items() if dtype.is_temporal()]


def _refuse_categories(X: Any) -> None:
    """Refuse columns of categories, also of categories that are called by numbers."""
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    for column in frame.iter_columns():
        if isinstance(column.dtype, (nw.Categorical, nw.Enum)) and len(frame):
            raise ValueError(
                f"X: column {str(column.name)!r} holds categories, such as {column.to_list()[0]!r}; encode them as numbers, "
                "for example with sklearn.preprocessing.OneHotEncoder, or leave it out"
            )


def _refuse_dates(columns: Sequence[str]) -> None:
    raise ValueError(
        f"X: {', '.join(columns[:MAX_NAMED])} holds dates or durations, which are no features; pass times as positions=, and "
        "durations as numbers in a unit, such as seconds"
    )


def _object_columns(X: Any) -> list[Any]:
    """Return the columns of a table as lists of Python objects; none where it is no table."""
    try:
        table = np.asarray(X, dtype=object)
    except ValueError:
        return []
    return table.T.tolist() if table.ndim == 2 else []


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_clock(column: Array) -> bool:
    """Whether a column goes on by equal steps, or only rises or only falls in whole numbers."""
    if column.size < MIN_CLOCK_ROWS:
        return False
    steps = np.diff(column)
    typical = float(np.median(steps))
    if typical == 0:
        return False
    if np.abs(steps - typical).max() <= CLOCK_STEP_TOLERANCE * abs(typical):
        return True
    if not _is_whole(column):
        return False
    return bool((np.sign(steps) == np.sign(typical)).all() or np.mean(steps == typical) >= MIN_COUNTER_SHARE)


def _is_identifier(column: Array) -> bool:
    """Whether a column holds whole numbers, each in one long run of rows."""
    runs = 1 + np.count_nonzero(np.diff(column))
    if runs < MIN_IDENTIFIERS or column.size < MIN_IDENTIFIER_ROWS * runs or not _is_whole(column):
        return False
    return bool(np.unique(column).size == runs)


def _is_whole(column: Array) -> bool:
    return bool((column == np.round(column)).all())
