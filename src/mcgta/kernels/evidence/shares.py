"""What share of its neighbours belongs to each cluster."""

from __future__ import annotations

from typing import Any

from mcgta.kernels.simd.compiled import kernel


@kernel("void(int64[:, ::1], int64, float64[:, ::1], float64[:, ::1])")
def local_shares(near: Any, count: int, chances: Any, shares: Any) -> None:
    """Write the mean ``chances`` (N, K) of the first ``count`` rows in ``near`` (n, >= count), and of one that may be in any.

    ``shares`` is (n, K); each row of it sums to 1 where those of ``chances`` do.
    """
    size = chances.shape[1]
    for i in range(near.shape[0]):
        for k in range(size):
            shares[i, k] = 1.0 / size
        for p in range(count):
            row = near[i, p]
            for k in range(size):
                shares[i, k] += chances[row, k]
        for k in range(size):
            shares[i, k] /= count + 1.0
