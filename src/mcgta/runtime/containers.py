"""Containers of the user: names of columns, masked cells, and those that are no table of columns, refused with a cure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def column_names(table: Any) -> list[Any] | None:
    """Return the names of the columns of a frame; None for a container without names, or without values as yet."""
    if is_from(table, "polars", "LazyFrame"):
        return None
    for attribute in ("column_names", "columns"):  # pyarrow has its columns themselves under the second one
        names = getattr(table, attribute, None)
        if names is not None and not callable(names):
            return list(names)
    return None


def is_from(value: Any, package: str, kind: str) -> bool:
    """Whether a value is of a class of some package, or of one derived from it; the package need not be imported."""
    return any(base.__name__ == kind and base.__module__.split(".")[0] == package for base in type(value).__mro__)


def unmasked(value: Any) -> Any:
    """Return a masked array with NaN, or NaT, in the place of masked cells; anything else as it is."""
    if not np.ma.is_masked(value) or getattr(value.dtype, "names", None):
        return value
    if value.dtype.kind in "biu":
        value = value.astype(np.float64)
    return value.filled(np.array("NaT", dtype=value.dtype) if value.dtype.kind in "Mm" else np.nan)


def refuse_containers(name: str, value: Any, cure: str) -> None:
    """Refuse what is no table of columns, columns of the same name, and masked cells, for which ``cure`` says what to do."""
    if isinstance(value, (str, bytes)):
        raise ValueError(f"{name}={value!r} is a text; pass the values, such as frame[{value!r}]")
    if is_from(value, "polars", "LazyFrame"):
        raise ValueError(f"{name} is a LazyFrame, which holds no values yet; pass {name}.collect()")
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        raise ValueError(
            f"{name} is a list of {type(value[0]).__name__}s; pass a table, such as pandas.DataFrame({name})"
        )
    if hasattr(value, "iloc") and value.ndim == 2 and any(is_from(k, "pandas", "SparseDtype") for k in value.dtypes):
        raise ValueError(f"{name} has sparse columns; pass {name}.sparse.to_dense()")
    if isinstance(value, Mapping) and not hasattr(value, "shape"):  # sparse matrices may be dicts
        raise ValueError(f"{name} is a {type(value).__name__}; pass a table, such as pandas.DataFrame({name})")
    if getattr(getattr(value, "dtype", None), "names", None):
        raise ValueError(
            f"{name} is a structured array with fields {value.dtype.names}; pass a table, such as pandas.DataFrame({name}) or "
            f"numpy.lib.recfunctions.structured_to_unstructured({name})"
        )
    columns = [str(column) for column in column_names(value) or ()]
    repeated = sorted({column for column in columns if columns.count(column) > 1})
    if repeated:
        raise ValueError(
            f"{name} has several columns called {', '.join(map(repr, repeated))}; pass each column once, under a name of its "
            "own"
        )
    if np.ma.is_masked(value):
        mask = np.ma.getmaskarray(value)
        row, *column = np.argwhere(mask)[0].tolist()
        where = f"row {row}" + (f", column {column[0]}" if column else "")
        raise ValueError(f"{name} has {np.count_nonzero(mask)} masked cells, the first in {where}; {cure}")
