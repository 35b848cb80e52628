"""Dissimilarities that the user has computed, as a table of all pairs in the user's order of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mcgta.runtime.parallel import triangle
from mcgta.runtime.types import Array, Index
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity, Parts
from mcgta.stages.dissimilarity.kind import Kind

NAME = "precomputed"

_TILE_ROWS = 1024
_SYMMETRY_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class LookedUp:
    """A comparison by a table (N, N); the only part is the row of each observation in it."""

    values: Array
    size: int = 1

    def table(self, left: Parts, right: Parts) -> Array:
        """Compare each row of ``left`` with each of ``right``."""
        return self.values[np.ix_(left[0], right[0])]

    def pairs(self, parts: Parts, i: Index, j: Index) -> Array:
        """Compare the rows i[k] and j[k]."""
        return self.values[parts[0][i], parts[0][j]]


def precomputed_kind(table: Any) -> Kind:
    """Return the kind of dissimilarity that looks pairs up in a table; it is checked now."""
    values = read_table(table)
    return Kind(NAME, "rows", partial(_look_up, values), table=values)


def read_table(table: Any) -> Array:
    """Check a table of dissimilarities; return a symmetric copy."""
    given = np.asarray(table)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"dissimilarity: the table holds {given.dtype}, it must hold real numbers")
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"dissimilarity: the table of all pairs must be square, got shape {given.shape}")
    values = given.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("dissimilarity: the table holds NaN or infinity; it must hold a number for every pair")
    if (values < 0).any():
        raise ValueError(f"dissimilarity: the table holds negative values, such as {values.min():g}")
    own = np.flatnonzero(np.diagonal(values))
    if own.size:
        raise ValueError(
            f"dissimilarity: the table says that row {own[0]} differs from itself by {values[own[0], own[0]]:g}, not 0"
        )
    for rows, cols in triangle(values.shape[0], _TILE_ROWS):
        _make_symmetric(values, rows, cols)
    return values


def _make_symmetric(values: Array, rows: slice, cols: slice) -> None:
    one = values[rows, cols]
    other = values[cols, rows].T
    differ = ~np.isclose(one, other, rtol=_SYMMETRY_TOLERANCE, atol=0)
    if differ.any():
        i, j = np.argwhere(differ)[0]
        raise ValueError(
            f"dissimilarity: the table must be symmetric, but rows {rows.start + i} and {cols.start + j} differ by "
            f"{one[i, j]:g} one way and {other[i, j]:g} the other"
        )
    least = np.minimum(one, other)
    values[rows, cols] = least
    values[cols, rows] = least.T


def _look_up(values: Array, order: Index, seed: int) -> Dissimilarity:
    rows = np.asarray(order)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows.size and not 0 <= rows.min() <= rows.max() < len(values)):
        raise ValueError(f"dissimilarity: the table has {len(values)} rows, and order must list some of them")
    return Dissimilarity(NAME, (rows,), LookedUp(values), partial(np.zeros, (rows.size, 1)))
