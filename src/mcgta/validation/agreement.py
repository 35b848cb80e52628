"""How well two labellings agree, from the table that counts the observations of each class in each cluster.

The scores are scikit-learn's, whose functions spend far longer on checks than on these few numbers, and tuning asks for
thousands.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics.cluster import expected_mutual_information

from mcgta.runtime.types import Array, Index, Labels

_TINY = float(np.finfo(float).eps)


def count_together(classes: Labels, clusters: Labels) -> Index:
    """Return the (C, K) counts of observations by class and cluster, without empty rows and columns."""
    _, row = np.unique(classes, return_inverse=True)
    _, column = np.unique(clusters, return_inverse=True)
    shape = (int(row.max()) + 1, int(column.max()) + 1)
    return np.bincount(row * shape[1] + column, minlength=shape[0] * shape[1]).reshape(shape)


def adjusted_rand(table: Index) -> float:
    """Return the adjusted Rand index (Hubert and Arabie 1985)."""
    rows = int((table.sum(axis=1) ** 2).sum())
    columns = int((table.sum(axis=0) ** 2).sum())
    return adjusted_rand_of_sums(int(table.sum()), int((table**2).sum()), rows, columns)


def adjusted_rand_of_sums(count: int, squares: int, rows: int, columns: int) -> float:
    """Return the adjusted Rand index from the sums of squares of a table's entries, row sums and column sums."""
    together = squares - count
    row_only = rows - squares
    column_only = columns - squares
    apart = count**2 - rows - columns + squares
    if row_only == column_only == 0:
        return 1.0
    chance = (together + row_only) * (row_only + apart) + (together + column_only) * (column_only + apart)
    return 2.0 * (together * apart - row_only * column_only) / chance


def adjusted_mutual_information(table: Index) -> float:
    """Return the adjusted mutual information (Vinh, Epps and Bailey 2010), by the arithmetic mean of the entropies."""
    if 1 in table.shape:
        return float(table.shape == (1, 1))
    expected = expected_mutual_information(table, int(table.sum()))
    return _away_from_zero(_information(table) - expected) / _away_from_zero(_mean_entropy(table) - expected)


def normalized_mutual_information(table: Index) -> float:
    """Return the mutual information in arithmetic means of the entropies."""
    if 1 in table.shape:
        return float(table.shape == (1, 1))
    return _information(table) / _mean_entropy(table)


def _information(table: Index) -> float:
    share = table / table.sum()
    outer = share.sum(axis=1, keepdims=True) * share.sum(axis=0)
    some = table > 0
    terms = share[some] * np.log(share[some] / outer[some])
    return max(0.0, float(terms[np.abs(terms) >= _TINY].sum()))


def _mean_entropy(table: Index) -> float:
    return (_entropy(table.sum(axis=1)) + _entropy(table.sum(axis=0))) / 2


def _entropy(counts: Array | Index) -> float:
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())


def _away_from_zero(value: float) -> float:
    """Keep rounding from making 0/0 of a perfect match."""
    return float(np.copysign(max(abs(value), _TINY), value))
