"""Rules for labels that every algorithm shares.

Clusters are numbered by their first member in the order of the rows, which the estimator has sorted by group, position and
features; noise is -1.
"""

from __future__ import annotations

import numpy as np

from mcgta.runtime.types import Labels


def number_by_first_member(labels: Labels) -> Labels:
    """Renumber clusters 0, 1, ... by their first member; negative labels become -1."""
    out = np.full(labels.shape, -1, dtype=np.int64)
    clustered = labels >= 0
    names, first, code = np.unique(labels[clustered], return_index=True, return_inverse=True)
    rank = np.empty(names.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(names.size)
    out[clustered] = rank[code]
    return out


def small_to_noise(labels: Labels, size: int) -> Labels:
    """Make clusters of fewer than ``size`` observations noise."""
    names, counts = np.unique(labels[labels >= 0], return_counts=True)
    return np.where(np.isin(labels, names[counts >= size]), labels, -1)
