"""Rules for labels that every algorithm shares.

Clusters are numbered by their first member in the order of the rows, which the estimator has sorted by group, position and
features; noise is -1.
"""

from __future__ import annotations

import numpy as np

from mcgta.runtime.parallel import triangle
from mcgta.runtime.types import Index, Labels


def number(labels: Labels) -> Labels:
    """Renumber clusters 0, 1, ... by their first member; negative labels become -1."""
    out = np.full(labels.shape, -1, dtype=np.int64)
    clustered = labels >= 0
    names, first, code = np.unique(labels[clustered], return_index=True, return_inverse=True)
    rank = np.empty(names.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(names.size)
    out[clustered] = rank[code]
    return out


def drop_small(labels: Labels, size: int) -> Labels:
    """Make clusters of fewer than ``size`` observations noise."""
    names, counts = np.unique(labels[labels >= 0], return_counts=True)
    return np.where(np.isin(labels, names[counts >= size]), labels, -1)


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
