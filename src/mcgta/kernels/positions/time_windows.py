"""The n nearest observations along time, where they are n rows in a row.

Contract
--------
``times``   (N,)   ascending within each group
``ends``    (G,)   the row after the last of each group
``starts``  (N,)   first row of the window of n rows nearest to each; -1 in a group of fewer than n

The rules are those of :mod:`mcgta.stages.neighborhoods`: of observations about as far away (within ``tie`` of the n-th
distance and ``rounding``) the earlier ones come first, and an observation is in its own window. Where many share one time
these may not be rows in a row; such rows are counted, and their starts are meaningless.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import kernel, native
from mcgta.runtime.types import Array, Index


def time_windows(times: Array, ends: Index, n: int, *, tie: float, rounding: float) -> tuple[Index, int]:
    """Return the starts, and how many neighbourhoods are no window."""
    starts = np.empty(times.shape[0], dtype=np.int64)
    return starts, int(_find(native(times), native(ends, np.int64), n, tie, rounding, starts))


@kernel("int64(float64[::1], int64[::1], int64, float64, float64, int64[::1])", literal=True)
def _find(times: Any, ends: Any, n: int, tie: float, rounding: float, starts: Any) -> int:
    """Slide a window along each group."""
    broken = 0
    first = 0
    for end in ends:
        if end - first < n:
            starts[first:end] = -1
            first = end
            continue
        begin = first
        for row in range(first, end):
            here = times[row]
            # The n nearest by distance alone: the window moves on while what it gains is nearer than what it loses.
            while begin + n < end and (row >= begin + n or times[begin + n] - here < here - times[begin]):
                begin += 1
            last = max(here - times[begin], times[begin + n - 1] - here)
            slack = tie * last + rounding
            # Those nearer for sure are rows inner to after - 1; those about as far on the left are rows outer to inner - 1.
            outer = begin
            while outer > first and here - times[outer - 1] <= last + slack:
                outer -= 1
            inner = outer
            while inner < row and not here - times[inner] < last - slack:
                inner += 1
            after = begin + n
            while after > row + 1 and not times[after - 1] - here < last - slack:
                after -= 1
            wanted = n - (after - inner)  # of those about as far
            if wanted >= inner - outer:
                starts[row] = outer
            else:
                starts[row] = inner
                broken += wanted > 0
        first = end
    return broken
