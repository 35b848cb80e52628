"""The cells of a raster as rows: features, positions and groups of those that hold a value."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.containers.raster_axes import Axes
from mcgta.positions.tables import Crs, NamedColumns
from mcgta.runtime.memory import budget
from mcgta.runtime.sizes import say_size
from mcgta.runtime.types import Array, Mask
from mcgta.runtime.warnings import warn

BYTES_PER_NUMBER = 8
COPIES = 2
"""Tables of all values that are held at the same time: as read, and those of the cells that are taken."""
_FILL_ATTRIBUTES = ("_FillValue", "missing_value", "nodata")
"""Attributes that name the number of cells without a value, where it has not been replaced by NaN."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The N cells of a raster, M of which hold a value and have a place.

    Attributes
    ----------
    X : (M, d) features, NaN where some of a cell are missing
    names : (d,) of the features
    positions : of the M cells
    groups : (M,) labels, or None
    taken : (N,) which cells these are
    dims : of the raster, in the order of the cells
    shape : length of each of them
    """

    X: Array
    names: list[str]
    positions: NamedColumns
    groups: NDArray[Any] | None
    taken: Mask
    dims: tuple[Hashable, ...]
    shape: tuple[int, ...]

    def spread_out(self, values: NDArray[Any]) -> Array:
        """Return values of the M cells in their places in the raster, NaN elsewhere."""
        out = np.full(self.taken.size, np.nan)
        out[self.taken] = values
        return out.reshape(self.shape)


def read_cells(data: Any, axes: Axes, crs: Crs | None) -> Cells:
    """Return the cells of a Dataset by its axes."""
    dims = tuple(dict.fromkeys(dim for name in axes.of_rows for dim in data[name].dims))
    shape = tuple(int(data.sizes[dim]) for dim in dims)
    variables = _feature_variables(data, axes, dims)
    names = [name for variable in variables for name in _names(variable, dims, alone=len(variables) == 1)]
    _check_memory(shape, len(names))
    values = np.concatenate([_table(variable, dims, shape) for variable in variables], axis=1)
    columns = {role: _position(data, name, dims, shape) for role, name in _positions(axes, crs).items()}
    placed = np.all([~_is_missing(column) for column in columns.values()], axis=0)
    taken = np.asarray(placed & ~np.isnan(values).all(axis=1))
    if taken.sum() < 2:
        raise ValueError(
            f"data has {taken.sum()} cells with a value and a place, of {taken.size}; 2 or more are needed"
        )
    groups = None if axes.groups is None else _along(data, axes.groups, dims, shape)[taken]
    positions = NamedColumns({role: column[taken] for role, column in columns.items()}, crs)
    return Cells(values[taken], names, positions, groups, taken, dims, shape)


def _positions(axes: Axes, crs: Crs | None) -> dict[str, str]:
    """Return the coordinate of each column of positions."""
    found: dict[str, str] = {}
    if axes.x is not None and axes.y is not None:
        degrees = axes.is_degrees or (crs is not None and crs.is_geographic)
        found = dict(zip(("longitude", "latitude") if degrees else ("x", "y"), axes.place, strict=True))
    if axes.time is not None:
        found["time"] = axes.time
    return found


def _feature_variables(data: Any, axes: Axes, dims: tuple[Hashable, ...]) -> list[Any]:
    """Return the variables that are features: of numbers, with every dimension of the place, or of the time without one."""
    needed = {dim for name in (axes.place or (axes.time,)) for dim in data[name].dims}
    found = []
    left_out = []
    for name, variable in data.data_vars.items():
        if needed <= set(variable.dims) and variable.dtype.kind in "biuf":
            found.append(variable)
        elif variable.ndim:  # a single number, such as of a grid mapping, is no surprise
            left_out.append(str(name))
    if not found:
        raise ValueError(
            f"data has no variable of numbers with dimensions {', '.join(map(repr, sorted(map(str, needed))))}"
        )
    if left_out:
        said = f"{', '.join(map(repr, left_out))} {'is' if len(left_out) == 1 else 'are'}"
        warn(f"data: {said} left out; features are variables of numbers with every dimension of the place, or the time")
    for variable in found:
        _check_dims(variable, axes, dims)
    return found


def _check_dims(variable: Any, axes: Axes, dims: tuple[Hashable, ...]) -> None:
    """Refuse variables with more dimensions than those of rows and features."""
    beside = [str(dim) for dim in variable.dims if dim not in dims]
    if len(beside) < 2 and (axes.features is None or set(beside) <= {axes.features}):
        return
    other = next(dim for dim in beside if dim != axes.features)
    raise ValueError(
        f"data has dimensions {' and '.join(map(repr, beside))} beside the position, and one can hold the features; pass "
        f"groups={other!r} where its entries are maps or series of their own, or select one by data.isel({other}=0)"
    )


def _names(variable: Any, dims: tuple[Hashable, ...], *, alone: bool) -> list[str]:
    """Name the features of a variable: by its name, by the entries of its dimension, or by both."""
    own = str(variable.name)
    beside = [dim for dim in variable.dims if dim not in dims]
    if not beside:
        return [own]
    entries = _entry_names(variable, beside[0])
    return entries if alone else [f"{own} {entry}" for entry in entries]


def _entry_names(variable: Any, dim: Hashable) -> list[str]:
    said = variable.attrs.get("long_name")
    count = int(variable.sizes[dim])
    if isinstance(said, (tuple, list)) and len(said) == count:  # so rioxarray keeps the names of bands
        return [str(name) for name in said]
    labels = variable[dim].values
    if labels.dtype.kind == "M":
        return [np.datetime_as_string(label, unit="auto") for label in labels]
    return [label if isinstance(label, str) else f"{dim} {label}" for label in labels.tolist()]


def _check_memory(shape: tuple[int, ...], features: int) -> None:
    size = COPIES * BYTES_PER_NUMBER * int(np.prod(shape)) * features
    free = budget()
    if free is not None and size > free:
        raise MemoryError(
            f"data has {' x '.join(map(str, shape))} cells of {features} features, {say_size(size)} as rows, but max_memory "
            f"allows {say_size(free)}; cluster a part, or a coarser raster by data.coarsen(...).mean()"
        )


def _table(variable: Any, dims: tuple[Hashable, ...], shape: tuple[int, ...]) -> Array:
    """Return the values (N, k) of a variable, NaN where it names a number that stands for none."""
    beside = [dim for dim in variable.dims if dim not in dims]
    missing = {dim: size for dim, size in zip(dims, shape, strict=True) if dim not in variable.dims}
    full = variable.expand_dims(missing).transpose(*dims, *beside)
    values = np.array(full.values, dtype=np.float64).reshape(int(np.prod(shape)), -1)
    for key in _FILL_ATTRIBUTES:
        fill = np.asarray(variable.attrs.get(key, np.nan))
        if fill.dtype.kind in "iuf":
            values[np.isin(values, fill)] = np.nan
    return values


def _position(data: Any, name: str, dims: tuple[Hashable, ...], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a coordinate (N,) of the position, which must hold numbers or times."""
    column = _along(data, name, dims, shape)
    if column.dtype.kind in "biufMm":
        return column
    raise ValueError(
        f"data: {name!r} holds {column.dtype}, such as {column[0]!r}; positions must be numbers or times (other calendars by "
        "data.convert_calendar('standard'))"
    )


def _along(data: Any, name: str, dims: tuple[Hashable, ...], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a coordinate (N,) for every cell."""
    values = data[name]
    missing = {dim: size for dim, size in zip(dims, shape, strict=True) if dim not in values.dims}
    bare = values.reset_coords(drop=True)
    return np.asarray(bare.expand_dims(missing).transpose(*dims).values).ravel()


def _is_missing(column: NDArray[Any]) -> Mask:
    return np.asarray(np.isnat(column) if column.dtype.kind in "Mm" else np.isnan(column.astype(np.float64)))
