"""W2 squared in units of what chance makes of it: T = W / ((c_i + c_j) / 2).

c is the W2 squared to be expected of two samples of one model (:func:`mcgta.kernels.gaussians.wasserstein.null_expectation`).
Rounding of the features makes models differ too, so c is not taken to be less than that: models without any spread have a c
as well, unless
their means are zero. One function divides for all callers, so bits are the same everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.gaussians.wasserstein import null_expectation, wasserstein2_pairs, wasserstein2_tile
from mcgta.kernels.simd.compiled import kernel, literal_helper, native
from mcgta.runtime.types import Array, Index

_ROUNDING = 64 * np.finfo(float).eps  # of a mean, by which those of equal observations may differ


def chance(means: Array, covs: Array, sizes: Array) -> Array:
    """Return c (N,) of models: means (N, d) and covariances (N, d, d) of samples of ``sizes`` (N,) observations."""
    rounding = (_ROUNDING**2) * np.einsum("nk,nk->n", means, means)
    return np.maximum(null_expectation(covs, sizes), rounding)


def calibrated_tile(left: Array, left_half: Array, right: Array, right_half: Array) -> Array:
    """T of each packed model of ``left`` (R, m) from each of ``right`` (C, m), given c/2 of each, as a table (R, C)."""
    table = wasserstein2_tile(left, right)
    _divide_table(table, native(left_half), native(right_half))
    return table


def calibrated_pairs(packed: Array, half: Array, i: Index, j: Index) -> Array:
    """T of the packed models i[k] and j[k], given c/2 of each, as (len(i),)."""
    values = wasserstein2_pairs(packed, i, j)
    _divide_pairs(values, native(half), native(i, np.int64), native(j, np.int64))
    return values


@literal_helper
def in_units(value: float, one: float, two: float) -> float:
    """Return T, given W and c/2 of the two models; 0 for two models at the origin without spread, for which W is 0 too."""
    total = one + two
    return value / total if total > 0.0 else 0.0


@kernel("void(float64[:, ::1], float64[::1], float64[::1])", literal=True)
def _divide_table(table: Any, left: Any, right: Any) -> None:
    """Turn a table of W into one of T."""
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            table[row, column] = in_units(table[row, column], left[row], right[column])


@kernel("void(float64[::1], float64[::1], int64[::1], int64[::1])", literal=True)
def _divide_pairs(values: Any, half: Any, i: Any, j: Any) -> None:
    """Turn W of listed pairs into T."""
    for k in range(values.shape[0]):
        values[k] = in_units(values[k], half[i[k]], half[j[k]])
