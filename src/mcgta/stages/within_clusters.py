"""Pairs of observations within clusters: how many there are, some of them by rank, or all of them in tables."""

from __future__ import annotations

import numpy as np

from mcgta.runtime.parallel import triangle
from mcgta.runtime.types import Index, Labels


def count_within(labels: Labels) -> int:
    """Return the number of pairs within clusters."""
    sizes = np.bincount(labels[labels >= 0])
    return int((sizes * (sizes - 1) // 2).sum())


def draw_within(labels: Labels, ranks: Index) -> tuple[Index, Index]:
    """Return the pairs (i, j), i < j, within clusters of the given ranks: by cluster, then the later row, then the earlier."""
    order = np.argsort(np.where(labels < 0, labels.size, labels), kind="stable")
    sizes = np.bincount(labels[labels >= 0])
    before = np.concatenate([[0], np.cumsum(sizes * (sizes - 1) // 2)])
    cluster = np.searchsorted(before, ranks, side="right") - 1
    rank = ranks - before[cluster]
    later = ((1 + np.sqrt(1 + 8 * rank.astype(float))) / 2).astype(np.int64)
    later -= later * (later - 1) // 2 > rank  # where the root has been rounded up
    later += later * (later + 1) // 2 <= rank
    first = np.concatenate([[0], np.cumsum(sizes)])[cluster]
    return order[first + rank - later * (later - 1) // 2], order[first + later]


def pairs_within(labels: Labels, tile: int) -> list[tuple[Index, Index, bool]]:
    """Return tables (rows, columns) that hold every pair within clusters once; where the last says so, above the diagonal."""
    pieces = []
    for label in np.unique(labels[labels >= 0]):
        members = np.flatnonzero(labels == label)
        pieces += [(members[rows], members[cols], rows == cols) for rows, cols in triangle(members.size, tile)]
    return pieces
