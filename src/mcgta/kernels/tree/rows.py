"""What density-based clustering makes of losses that it is handed a few rows at a time."""

from __future__ import annotations

from typing import Any

from mcgta.kernels.simd.compiled import kernel
from mcgta.kernels.tree.connect import find, join


@kernel("void(boolean[:, ::1], int64[::1], int64[::1], int64[::1])")
def join_near(near: Any, rows: Any, cols: Any, parent: Any) -> None:
    """Make one component of every row and column that are near each other."""
    for i in range(rows.shape[0]):
        root = find(parent, rows[i])
        for j in range(cols.shape[0]):
            if near[i, j] and parent[cols[j]] != root:
                other = find(parent, cols[j])
                if other != root:
                    join(parent, root, other)
                    root = min(root, other)


@kernel("int64(int64[::1], int64, float64[::1], int64, float64[::1], float64[::1], float64[::1], int64[::1])")
def step_outside(outside: Any, size: int, losses: Any, last: int, core: Any, floor: Any, nearest: Any, end: Any) -> int:
    """Return the row that the walk of Prim (1957), or of OPTICS, goes to after ``last``, and take it from those outside.

    ``outside[:size]`` are the rows not yet visited, ascending, and ``losses`` those from ``last`` to each of them. A row's
    ``nearest`` is the least of max(loss, core of the one, floor of the row) over rows visited, ``end`` the first of those that
    comes to it. The nearest row is next, the first one at ties.
    """
    best = 0
    for k in range(size):
        row = outside[k]
        reach = max(max(losses[k], core[last]), floor[row])
        if reach < nearest[row]:
            nearest[row] = reach
            end[row] = last
        if nearest[row] < nearest[outside[best]]:
            best = k
    found: int = outside[best]
    for k in range(best, size - 1):
        outside[k] = outside[k + 1]
    return found
