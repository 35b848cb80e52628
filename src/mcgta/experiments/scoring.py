"""How well found clusters agree with true classes, in per cent, with each of the three ways to treat noise.

The table of classes by clusters is kept as its entries that are not zero, of which there are at most as many as observations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics.cluster import expected_mutual_information

from mcgta.runtime.types import Index
from mcgta.validation.agreement import adjusted_rand_of_sums

_TINY = float(np.finfo(float).eps)


def score(truth: Any, labels: Any) -> dict[str, Any]:
    """Compare found clusters with true classes.

    Parameters
    ----------
    truth : (N,) true classes, of any values
    labels : (N,) clusters; what is negative is noise

    Returns
    -------
    dict
        ``ari``, ``ami``, ``nmi`` in per cent, noise being one class (the paper's convention); ``ari_singletons``, each
        observation that is noise being a class of its own; ``ari_left_out``, without what is noise, None where all is;
        ``noise``, its share in per cent; ``clusters`` and ``true_clusters``, their numbers
    """
    classes, found = _read(truth, labels)
    counts, kept = _count(classes, found), found >= 0
    rest = _count(classes[kept], found[kept])
    noise = int(found.size - kept.sum())
    return {
        "ari": 100 * _adjusted_rand(counts),
        "ami": 100 * _adjusted_information(counts),
        "nmi": 100 * _normalized_information(counts),
        "ari_singletons": 100 * _adjusted_rand_of_singletons(counts, rest, noise),
        "ari_left_out": 100 * _adjusted_rand(rest) if kept.any() else None,
        "noise": 100 * noise / found.size,
        "clusters": int(rest.columns.size),
        "true_clusters": int(counts.rows.size),
    }


def score_ari(truth: Any, labels: Any) -> float:
    """Return what :func:`score` gives as ``ari``, without the work for the rest."""
    return 100 * _adjusted_rand(_count(*_read(truth, labels)))


@dataclass(frozen=True)
class _Counts:
    """A table of classes by clusters: its sums, and where it is not zero.

    Attributes
    ----------
    rows, columns : sums by class and by cluster
    entries : counts that are not zero
    at : for each of them row and column
    """

    rows: Index
    columns: Index
    entries: Index
    at: tuple[Index, Index]


def _read(truth: Any, labels: Any) -> tuple[Index, Index]:
    """Return classes as codes, and clusters with noise as -1."""
    truth, found = np.asarray(truth), np.asarray(labels)
    if truth.ndim != 1 or found.shape != truth.shape:
        raise ValueError(f"labels have shape {found.shape}, but must have one entry for each of truth {truth.shape}")
    if not truth.size:
        raise ValueError("truth is empty: there is nothing to compare")
    if found.dtype.kind not in "iu":
        raise ValueError(f"labels are {found.dtype}, but must be integers, -1 for noise")
    return np.unique(truth, return_inverse=True)[1], np.maximum(found.astype(np.int64), -1)


def _count(classes: Index, clusters: Index) -> _Counts:
    _, row, rows = np.unique(classes, return_inverse=True, return_counts=True)
    _, column, columns = np.unique(clusters, return_inverse=True, return_counts=True)
    places, entries = np.unique(row * max(columns.size, 1) + column, return_counts=True)
    return _Counts(rows, columns, entries, np.divmod(places, max(columns.size, 1)))


def _adjusted_rand(counts: _Counts) -> float:
    return adjusted_rand_of_sums(
        int(counts.rows.sum()), *(int((part**2).sum()) for part in (counts.entries, counts.rows, counts.columns))
    )


def _adjusted_rand_of_singletons(counts: _Counts, rest: _Counts, noise: int) -> float:
    """Each of ``noise`` observations is a cluster of one, which adds one to each sum of squares by cluster."""
    return adjusted_rand_of_sums(
        int(counts.rows.sum()),
        int((rest.entries**2).sum()) + noise,
        int((counts.rows**2).sum()),
        int((rest.columns**2).sum()) + noise,
    )


def _information(counts: _Counts) -> tuple[float, float]:
    """Return mutual information, and the mean of the two entropies."""
    one, other, both = (_entropy(part) for part in (counts.rows, counts.columns, counts.entries))
    return max(0.0, one + other - both), (one + other) / 2


def _normalized_information(counts: _Counts) -> float:
    if 1 in (counts.rows.size, counts.columns.size):
        return float(counts.rows.size == counts.columns.size)
    shared, mean = _information(counts)
    return shared / mean


def _adjusted_information(counts: _Counts) -> float:
    if 1 in (counts.rows.size, counts.columns.size):
        return float(counts.rows.size == counts.columns.size)
    if counts.entries.size == counts.rows.size == counts.columns.size:
        return 1.0  # the same labelling; the formula would divide rounding errors if it has singletons only
    table = csr_array((counts.entries, counts.at), shape=(counts.rows.size, counts.columns.size))
    expected = expected_mutual_information(table, int(counts.rows.sum()))
    shared, mean = _information(counts)
    return float((shared - expected) / np.copysign(max(abs(mean - expected), _TINY), mean - expected))


def _entropy(counts: Index) -> float:
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())
