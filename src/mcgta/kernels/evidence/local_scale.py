"""Scales that come and go along series: each row's, foretold from how far the rows before it were from their clusters.

The log of the squared scale h is pulled back to zero and pushed by what each row says of it (Harvey 2013):
h' = persistence h + gain (u m / (d e^h) - 1), where m is the row's squared Mahalanobis distance, and u the weight of a row in
Student's t with ``freedom`` degrees of freedom, so that one row far off does not count as a change of scale.
"""

from __future__ import annotations

import math
from typing import Any

from mcgta.kernels.simd.compiled import kernel

_MAX_LOG = 12.0  # of a squared scale, either way


@kernel("float64(float64[::1], int64, boolean[::1], float64, float64, float64, float64[::1])")
def follow_scales(
    distances: Any, d: int, first: Any, persistence: float, gain: float, freedom: float, log_scales: Any
) -> float:
    """Write the log of each row's squared scale; return the log-likelihood of Student's t, but for constants.

    ``distances`` (N,) are squared, of rows with ``d`` features; ``first`` tells where a series begins.
    """
    total = 0.0
    h = 0.0
    for i in range(distances.size):
        if first[i]:
            h = 0.0
        log_scales[i] = h
        far = distances[i] * math.exp(-h)
        total -= 0.5 * d * h + 0.5 * (freedom + d) * math.log1p(far / freedom)
        h = persistence * h + gain * ((freedom + d) / (freedom + far) * far / d - 1.0)
        h = min(max(h, -_MAX_LOG), _MAX_LOG)
    return total
