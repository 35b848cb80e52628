"""What can be wrong with the user's features, said with the column, the rows and the cure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from mcgta.positions.tables import is_missing
from mcgta.runtime.types import Array, Mask
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

_DROP = (
    "drop those rows from X and positions alike, or impute them first, for example with sklearn.impute.SimpleImputer"
)
_CONTAINERS = {
    "AnnData": 'X is an AnnData; pass X=adata.obsm["X_pca"] and positions=adata.obsm["spatial"]',
    "GeoDataFrame": "X is a GeoDataFrame; pass X=gdf[columns], the features, and positions=gdf.geometry",
    "GeoSeries": "X is a GeoSeries; geometries are positions: pass X=, the features, and positions=geoseries",
}
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def refuse_unreadable(X: Any) -> None:
    """Refuse containers that are no table of numbers, masked cells, and columns of dates, before anything is read."""
    for kind in type(X).__mro__:
        if kind.__name__ in _CONTAINERS and kind.__module__.split(".")[0] in ("anndata", "geopandas"):
            raise ValueError(_CONTAINERS[kind.__name__])
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # sparse matrices may be dicts
        raise ValueError(f"X is a {type(X).__name__}; pass a table, such as pandas.DataFrame(X)")
    if getattr(getattr(X, "dtype", None), "names", None):
        raise ValueError(
            f"X is a structured array with fields {X.dtype.names}; pass a table, such as pandas.DataFrame(X) or "
            "numpy.lib.recfunctions.structured_to_unstructured(X)"
        )
    _refuse_masked(X)
    _refuse_repeated_names(X)
    dated = _dated_columns(X)
    if dated:
        _refuse_dates(dated)


def explain_failure(X: Any) -> None:
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
            raise ValueError(f"X: {said} has missing values (NaN) in {_rows(missing)}; {_DROP}")


def refuse_missing_features(X: Array, names: Sequence[Any] | None) -> None:
    """Refuse NaN and infinite features: name the columns, how many rows, and the first of them."""
    bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
    if bad.size == 0:
        return
    said = []
    for k in bad[:MAX_NAMED].tolist():
        for what, rows in (("NaN", np.isnan(X[:, k])), ("infinity", np.isinf(X[:, k]))):
            if rows.any():
                said.append(f"{name_column(k, names)} holds {what} in {_rows(np.flatnonzero(rows).tolist())}")
    more = f", and so do {bad.size - MAX_NAMED} more columns" if bad.size > MAX_NAMED else ""
    raise ValueError(f"X: {', '.join(said)}{more}; {_DROP}")


def warn_of_identifiers(X: Array, names: Sequence[Any] | None) -> None:
    """Warn of columns that look like row numbers, clocks or identifiers, which say nothing of the state of things.

    ``X`` (N, d) is in the user's order. Clocks are columns of equal steps, or integers that only rise or only fall; so are
    counters that begin again with each series. Identifiers are integers that stay for many rows and never come back.
    """
    suspects = [k for k in range(X.shape[1]) if _is_clock(X[:, k]) or _is_identifier(X[:, k])]
    if suspects:
        said = ", ".join(name_column(k, names) for k in suspects[:MAX_NAMED])
        said += f" and {len(suspects) - MAX_NAMED} more" if len(suspects) > MAX_NAMED else ""
        warn(
            f"X: {said} looks like an identifier or a clock (row numbers, times, numbers of series), which would be clustered "
            "as a feature; leave it out, and pass times as positions= and series as groups="
        )


def column_names(X: Any) -> Sequence[Any] | None:
    """Return what the columns of a frame are called; None for what has no names."""
    columns = getattr(X, "columns", None)
    return None if columns is None else list(columns)


def name_column(k: int, names: Sequence[Any] | None) -> str:
    """Return how a message calls a column: by its name, or by its number."""
    return f"column {k if names is None else str(names[k])!r}"


def _rows(rows: Sequence[int]) -> str:
    """Say how many rows, and which come first."""
    first = ", ".join(str(row) for row in rows[:MAX_NAMED])
    more = ", ..." if len(rows) > MAX_NAMED else ""
    return f"{len(rows)} row{'' if len(rows) == 1 else 's'} ({first}{more})"


def _refuse_masked(X: Any) -> None:
    if not np.ma.is_masked(X):
        return
    mask: Mask = np.ma.getmaskarray(X)
    row, *column = np.argwhere(mask)[0].tolist()
    where = f"row {row}" + (f", column {column[0]}" if column else "")
    raise ValueError(f"X has {np.count_nonzero(mask)} masked cells (NaN), the first in {where}; {_DROP}")


def _refuse_repeated_names(X: Any) -> None:
    names = [str(name) for name in column_names(X) or ()]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"X has several columns called {', '.join(map(repr, repeated))}; pass each column once, under a name of its own"
        )


def _dated_columns(X: Any) -> list[str]:
    """Return how columns of dates are called, as far as types say it."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "Mm" and X.ndim == 2:
        return [name_column(k, None) for k in range(X.shape[1])]
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return []
    return [f"column {str(name)!r}" for name, dtype in frame.schema.items() if dtype.is_temporal()]


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
