"""How well found clusters agree with true classes, in per cent, with each of the three ways to treat noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.runtime.types import Index
from mcgta.validation.agreement import (
    adjusted_mutual_information,
    adjusted_rand,
    adjusted_rand_of_sums,
    count_together,
    normalized_mutual_information,
)


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
    classes = _read_classes(truth)
    clusters = _read_clusters(labels, classes)
    counts = count_together(classes, clusters)
    has_noise = bool(clusters.min() < 0)
    without_noise = counts[:, has_noise:]  # noise, -1, is the first column
    left = without_noise[without_noise.any(axis=1)]
    noise = int(clusters.size - without_noise.sum())
    return {
        "ari": 100 * adjusted_rand(counts),
        "ami": 100 * _adjusted_information(counts),
        "nmi": 100 * normalized_mutual_information(counts),
        "ari_singletons": 100 * _adjusted_rand_of_singletons(counts, without_noise, noise),
        "ari_left_out": 100 * adjusted_rand(left) if left.size else None,
        "noise": 100 * noise / clusters.size,
        "clusters": without_noise.shape[1],
        "true_clusters": counts.shape[0],
    }


def score_ari(truth: Any, labels: Any) -> float:
    """Return what :func:`score` gives as ``ari``, without the work for the rest."""
    classes = _read_classes(truth)
    return 100 * adjusted_rand(count_together(classes, _read_clusters(labels, classes)))


def same_clusters(labels: Any, others: Any) -> bool:
    """Whether two labellings are the same but for the names of clusters, noise being one of them."""
    return score_ari(labels, others) == 100


def _read_classes(truth: Any) -> Index:
    """Return classes as codes."""
    classes = np.asarray(truth)
    if classes.ndim != 1:
        raise ValueError(f"truth has shape {classes.shape}, but must have one dimension")
    if not classes.size:
        raise ValueError("truth is empty: there is nothing to compare")
    return np.unique(classes, return_inverse=True)[1]


def _read_clusters(labels: Any, classes: Index) -> Index:
    """Return clusters with noise as -1."""
    clusters = np.asarray(labels)
    if clusters.shape != classes.shape:
        raise ValueError(
            f"labels have shape {clusters.shape}, but must have one entry for each of truth {classes.shape}"
        )
    if clusters.dtype.kind not in "iu":
        raise ValueError(f"labels are {clusters.dtype}, but must be integers, -1 for noise")
    return np.maximum(clusters.astype(np.int64), -1)


def _adjusted_information(counts: Index) -> float:
    """Return the adjusted mutual information; 1 of equal labellings, where the formula may divide rounding errors."""
    if np.count_nonzero(counts) == counts.shape[0] == counts.shape[1]:
        return 1.0
    return adjusted_mutual_information(counts)


def _adjusted_rand_of_singletons(counts: Index, without_noise: Index, noise: int) -> float:
    """Return the adjusted Rand index with each of ``noise`` observations a cluster of one.

    Such a cluster adds one to the sums of squares of the entries and of the columns.
    """
    return adjusted_rand_of_sums(
        int(counts.sum()),
        int((without_noise**2).sum()) + noise,
        int((counts.sum(axis=1) ** 2).sum()),
        int((without_noise.sum(axis=0) ** 2).sum()) + noise,
    )
