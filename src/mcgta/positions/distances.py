"""Distances that come as numbers: tables of them, and functions of two positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mcgta.runtime.parallel import triangle
from mcgta.runtime.types import Array

DistanceFunction = Callable[[Array, Array], float]

_TILE = 1024
_SYMMETRY_CHECKS = 20
_SYMMETRY_TOLERANCE = 1e-8  # relative


def read_distances(positions: Any, shape: tuple[int, int]) -> Array:
    """Check a table of distances: its shape, and that it holds numbers >= 0 or inf."""
    table = np.asarray(positions)
    if table.dtype.kind not in "biuf":
        raise ValueError(f"positions: the table of distances holds {table.dtype}, it must hold real numbers")
    if table.shape != shape:
        raise ValueError(f"positions must be a table of distances of shape {shape}, got {table.shape}")
    missing = "masked cells" if np.ma.is_masked(positions) else "NaN" if np.isnan(table).any() else ""
    if missing:
        raise ValueError(
            f"positions: the table of distances holds {missing}; use inf for observations that are never neighbours"
        )
    if (table < 0).any():
        raise ValueError(f"positions: the table of distances holds negative values, such as {table.min():g}")
    return table.astype(np.float64)


def read_distance_matrix(positions: Any, n_rows: int) -> Array:
    """Check the distances of all observations, and make them symmetric to the last bit."""
    if positions is None:
        raise ValueError("metric='precomputed' needs positions=, the table of distances, got None")
    matrix = read_distances(positions, (n_rows, n_rows))
    if np.any(np.diagonal(matrix) != 0):
        row = int(np.flatnonzero(np.diagonal(matrix))[0])
        raise ValueError(f"positions: the distance of row {row} from itself is {matrix[row, row]:g}, it must be 0")
    for rows, cols in triangle(n_rows, _TILE):
        one = matrix[rows, cols]
        other = matrix[cols, rows].T
        with np.errstate(invalid="ignore"):
            differ = ~np.isclose(one, other, rtol=_SYMMETRY_TOLERANCE, atol=0)
        if differ.any():
            i, j = np.argwhere(differ)[0]
            raise ValueError(
                f"positions: the table of distances must be symmetric, but rows {rows.start + i} and {cols.start + j} are "
                f"{one[i, j]:g} apart one way and {other[i, j]:g} the other"
            )
        least = np.minimum(one, other)
        matrix[rows, cols] = least
        matrix[cols, rows] = least.T
    return matrix


def call_for_table(function: DistanceFunction, a: Array, b: Array) -> Array:
    """Return the user's distance from each of ``a`` to each of ``b``, checked."""
    table = np.empty((a.shape[0], b.shape[0]))
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            table[i, j] = checked_distance(function, a[i], b[j])
    return table


def call_for_matrix(function: DistanceFunction, values: Array) -> Array:
    """Measure every pair once with the user's function, and the first few both ways."""
    count = values.shape[0]
    matrix = np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = checked_distance(function, values[i], values[j])
    for i in range(1, min(count, _SYMMETRY_CHECKS)):
        back = checked_distance(function, values[0], values[i])
        if not np.isclose(back, matrix[i, 0], rtol=_SYMMETRY_TOLERANCE, atol=0):
            raise ValueError(
                f"metric: rows 0 and {i} are {back:g} apart one way and {matrix[i, 0]:g} the other; it must be symmetric"
            )
    return matrix


def checked_distance(function: DistanceFunction, a: Array, b: Array) -> float:
    """Return the user's distance of one pair; raise a ValueError unless it is a number >= 0."""
    returned = function(a, b)
    try:
        distance = float(returned)
    except (TypeError, ValueError):
        raise ValueError(
            f"metric: the function returned {returned!r} for {a} and {b}; distances must be numbers"
        ) from None
    if not distance >= 0:
        raise ValueError(f"metric: the function returned {distance} for {a} and {b}; distances must be >= 0")
    return distance
