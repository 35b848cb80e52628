"""Sums over all pairs of observations in a bin of distance, and the pairs of given rank in it.

Along time, with rows sorted, the partners of a row at lags between two edges are consecutive rows, so sums over them are
differences of running totals: all pairs of a bin cost as much as all rows. Elsewhere tables of distances are gone through entry
by entry.

Contract
--------
``times``   (N,)    ascending within each series
``stops``   (N,)    one past the last row of the row's series
``first``   (N,)    first later row at a lag of at least some edge, at most ``stops``
``edges``   (E,)    ascending; bin k holds distances from edges[k] up to edges[k + 1], the last bin both its edges
``rounding``        size of rounding errors in a distance

A distance that rounding may have put on either side of an edge counts as on it, so that neither the unit of the positions nor
their offset moves pairs of a regular grid from bin to bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.positions.metrics import TIE
from mcgta.kernels.simd.compiled import kernel, native, snippet
from mcgta.kernels.simd.lanes import lean
from mcgta.runtime.types import Array, Index

_CELLS = 4096
_ROWS = 8192


def first_at_lag(times: Array, stops: Index, edge: float, rounding: float, *, beyond: bool = False) -> Index:
    """Return ``first`` for an edge; with ``beyond``, the first row farther than the edge, not at it."""
    out = np.empty(times.shape[0], dtype=np.int64)
    _advance(native(times), native(stops, np.int64), float(edge), float(rounding), beyond, out)
    return out


def running_totals(z: Array) -> tuple[Array, Array]:
    """Return the totals of the rows before each row of z (N, m), as (N + 1, m), and of their squared norms (N + 1,)."""
    rows = np.zeros((z.shape[0] + 1, z.shape[1]))
    for first in range(0, z.shape[0], _ROWS):  # so that no call takes long; the sums are those of one call
        part = z[first : first + _ROWS].copy()
        part[0] += rows[first]
        np.cumsum(part, axis=0, out=rows[first + 1 : first + 1 + len(part)])
    return rows, np.concatenate([[0.0], np.cumsum(np.einsum("nm,nm->n", z, z))])


def squared_differences(z: Array, totals: tuple[Array, Array], low: Index, high: Index) -> float:
    """Sum of |z_i - z_j|^2 over rows i and low_i <= j < high_i, given the running totals of z.

    = sum_i [ (high_i - low_i)|z_i|^2 + sum_j |z_j|^2 - 2 z_i . sum_j z_j ], with the sums over j as differences of totals.
    """
    rows, squares = totals
    return float(_difference(native(z), rows, squares, low, high))


@kernel("void(float64[::1], int64[::1], float64, float64, boolean, int64[::1])")
def _advance(times: Any, stops: Any, edge: float, rounding: float, beyond: bool, out: Any) -> None:
    """Two pointers: the first partner never goes back within a series."""
    lean()
    at = 0
    for i in range(times.shape[0]):
        if at <= i:
            at = i + 1
        while at < stops[i]:
            lag = times[at] - times[i]
            slack = TIE * lag + rounding
            if lag > edge + slack if beyond else lag + slack >= edge:
                break
            at += 1
        out[i] = at if at < stops[i] else stops[i]


@kernel("float64(float64[:, ::1], float64[:, ::1], float64[::1], int64[::1], int64[::1])", reorder=True)
def _difference(z: Any, rows: Any, squares: Any, low: Any, high: Any) -> float:
    """Add up what each row and its partners contribute."""
    total = 0.0
    for i in range(z.shape[0]):
        a = low[i]
        b = high[i]
        if a < b:
            inner = 0.0
            norm = 0.0
            for k in range(z.shape[1]):
                norm += z[i, k] * z[i, k]
                inner += z[i, k] * (rows[b, k] - rows[a, k])
            total += (b - a) * norm + (squares[b] - squares[a]) - 2.0 * inner
    return total


def bin_sums(distance: Array, value: Array, edges: Array, rounding: float, *, above: bool) -> Array:
    """Number of pairs, sum of distances and sum of values in each bin, as (3, bins), of a table of pairs.

    Infinite distances belong to no bin. With ``above``, only entries above the diagonal count.
    """
    out = np.zeros((3, edges.shape[0] + 1))
    _bin_sums(native(distance), native(value), native(edges), *bin_guide(edges, rounding), float(rounding), above, out)
    return out[:, 1:-1]


def rank_state(edges: Array, ranks: Array | Index, begins: Index) -> Index:
    """Return for each bin, and those outside, the pairs seen so far, the next rank wanted (-1 for none) and its place."""
    state = np.zeros((3, edges.shape[0] + 1), dtype=np.int64)
    state[1] = -1
    state[2, 1:-1] = begins[:-1]
    wanted = np.flatnonzero(np.diff(begins))
    state[1, 1 + wanted] = ranks[begins[wanted]]
    return state


def pairs_of_rank(
    distance: Array, edges: Array, rounding: float, ranks: Array, begins: Index, *, above: bool
) -> tuple[Index, Index]:
    """Rows and columns of the pairs that are the ranks[k]-th of their bin in a table, read by rows.

    ``ranks`` holds ascending ranks, bin after bin; those of bin k are ranks[begins[k] : begins[k + 1]].
    """
    rows = np.empty(ranks.shape[0], dtype=np.int64)
    cols = np.empty(ranks.shape[0], dtype=np.int64)
    state = rank_state(edges, ranks, begins)
    guide = bin_guide(edges, rounding)
    _find(
        native(distance),
        native(edges),
        *guide,
        float(rounding),
        above,
        native(ranks, np.int64),
        begins,
        state,
        rows,
        cols,
    )
    return rows, cols


def bin_guide(edges: Array, rounding: float) -> tuple[Index, int]:
    """For each of many equal cells of distance, the number of edges surely at or before what is in it.

    Also the most edges that may have to be looked at beyond those; one, as a rule. The last cell is for all that is farther.
    """
    cells = np.linspace(0.0, edges[-1], _CELLS + 1)
    slack = 2 * TIE * edges[-1] + 2 * rounding
    lower = edges[:-1]
    sure = np.searchsorted(lower, cells - slack, side="right")
    beyond = np.searchsorted(lower, np.append(cells[1:], edges[-1]) + slack, side="right")
    return sure.astype(np.int64), int((beyond - sure).max())


@snippet
def place_in_bin(distance: float, edges: Any, guide: Any, scale: float, hops: int, rounding: float) -> int:
    """Return one plus the bin of a distance; 0 before the first, one plus the number of bins beyond the last.

    There is no branch that depends on the distance: it would be guessed wrong every other time.
    """
    last = edges.shape[0] - 1
    slack = TIE * distance + rounding
    reach = distance + slack
    cell = int(min(distance * scale, _CELLS))
    found = guide[cell]
    for _ in range(hops):
        found += (reach >= edges[found]) & (found < last)
    far = (distance > edges[last] + slack) | (distance > 1e300)
    return last + 1 if far else found


@kernel("void(float64[:, ::1], float64[:, ::1], float64[::1], int64[::1], int64, float64, boolean, float64[:, ::1])")
def _bin_sums(
    distance: Any, value: Any, edges: Any, guide: Any, hops: int, rounding: float, above: bool, out: Any
) -> None:
    """Go through the table."""
    lean()
    scale = _CELLS / edges[-1]
    for i in range(distance.shape[0]):
        for j in range(i + 1 if above else 0, distance.shape[1]):
            k = place_in_bin(distance[i, j], edges, guide, scale, hops, rounding)
            out[0, k] += 1.0
            out[1, k] += distance[i, j]
            out[2, k] += value[i, j]


@kernel(
    "void(float64[:, ::1], float64[::1], int64[::1], int64, float64, boolean, int64[::1], int64[::1], int64[:, ::1], "
    "int64[::1], int64[::1])"
)
def _find(
    distance: Any, edges: Any, guide: Any, hops: int, rounding: float, above: bool,
    ranks: Any, begins: Any, state: Any, rows: Any, cols: Any,
) -> None:  # fmt: skip
    """Go through the table, counting each bin's pairs, and note those whose turn it is (more than once, where asked)."""
    lean()
    scale = _CELLS / edges[-1]
    for i in range(distance.shape[0]):
        for j in range(i + 1 if above else 0, distance.shape[1]):
            k = place_in_bin(distance[i, j], edges, guide, scale, hops, rounding)
            while state[0, k] == state[1, k]:
                at = state[2, k]
                rows[at] = i
                cols[at] = j
                state[2, k] = at + 1
                state[1, k] = ranks[at + 1] if at + 1 < begins[k] else -1
            state[0, k] += 1
