"""How probable the rows of series are, one after the other, when regions change now and then."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import kernel


@kernel("void(float64[:, ::1], boolean[::1], float64, float64[::1])")
def predict_rows(worth: Any, first: Any, change: float, out: Any) -> None:
    """Write the (N,) log probability of each row given those before it in its series, summed over the labels of all of them.

    ``worth`` (N, K) are log densities under each label, ``first`` (N,) marks the beginnings of series, where all labels are
    as probable, and ``change`` is the probability that a label is another than that before it: any other, with equal chances.
    """
    rows, size = worth.shape
    chances = np.empty(size)
    likely = np.empty(size)
    to_other = change / (size - 1) if size > 1 else 0.0
    stay = 1.0 - change - to_other if size > 1 else 1.0
    for t in range(rows):
        if t == 0 or first[t]:
            chances[:] = 1.0 / size
        else:
            for k in range(size):
                chances[k] = stay * chances[k] + to_other
        top = worth[t, 0]
        for k in range(1, size):
            top = max(top, worth[t, k])
        total = 0.0
        for k in range(size):
            likely[k] = chances[k] * math.exp(worth[t, k] - top)
            total += likely[k]
        for k in range(size):
            chances[k] = likely[k] / total
        out[t] = top + math.log(total)
