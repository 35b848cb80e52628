"""A forest cut into pieces of rows that hang together."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import kernel


@kernel("void(int64[::1], int64[::1], int64, int64[::1])")
def cut_subtrees(order: Any, parent: Any, size: int, piece: Any) -> None:
    """Cut trees into pieces of ``size`` rows or a few more; what is left at a root is a piece of its own.

    ``order`` lists rows with every row after its ``parent``, which is -1 for roots. Writes for each row the highest row of its
    ``piece``.
    """
    held = np.ones(parent.size, dtype=np.int64)
    for k in range(order.size - 1, -1, -1):
        row = order[k]
        if held[row] < size and parent[row] >= 0:
            held[parent[row]] += held[row]
            held[row] = 0
    for row in order:
        piece[row] = piece[parent[row]] if parent[row] >= 0 and held[row] == 0 else row
