"""What plots are given: fitted estimators, fits and labellings, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mcgta.description.moments import Moments
from mcgta.description.summary import distinguishing_features, feature_names
from mcgta.fit import Fit
from mcgta.runtime.rules import Rule, check_value
from mcgta.runtime.types import Array, Index, Labels

MOST_LABELS = 2_000
"""Different labels of a labelling that can be compared with another."""

_KINDS = {"time": "times", "space": "places", "spacetime": "places and times", "other": "distances without coordinates"}


def fit_of(model: Any) -> Fit:
    """Return the fit of a fitted estimator, or the fit that was passed."""
    if isinstance(model, Fit):
        return model
    if hasattr(type(model), "fitted_"):
        fit: Fit = model.fitted_
        return fit
    raise ValueError(f"model must be a fitted MCGTA, got {type(model).__name__}")


def refuse_kind(fit: Fit, plot: str, allowed: tuple[str, ...], instead: str) -> None:
    """Refuse a plot of positions that it cannot show."""
    kind = fit.data.positions.metric.domain
    if kind not in allowed:
        wanted = " or ".join(_KINDS[each] for each in allowed)
        raise ValueError(f"{plot} shows {wanted}, but the positions of this fit are {_KINDS[kind]}; use {instead}")


def refuse_no_clusters(fit: Fit, plot: str) -> None:
    """Refuse a plot of clusters where there are none."""
    if fit.labelling.n_clusters == 0:
        raise ValueError(f"{plot} shows clusters, and this fit has none: all rows are noise")


def cluster_counts(fit: Fit) -> Index:
    """Return the (K,) rows of each cluster."""
    labels = fit.labelling.labels
    return np.bincount(labels[labels >= 0], minlength=fit.labelling.n_clusters)


class ClusterShares(NamedTuple):
    """Shares (K,) of the clusters and the share of noise, of all rows; rows that were left out are noise."""

    clusters: Array
    noise: float


def cluster_shares(fit: Fit) -> ClusterShares:
    """Return which share of the rows each cluster has, and noise."""
    counts = cluster_counts(fit)
    return ClusterShares(counts / fit.n_rows, (fit.n_rows - int(counts.sum())) / fit.n_rows)


def cluster_moments(fit: Fit) -> Moments:
    """Return means and scatter of the clusters, in the units of the user's features."""
    return Moments.of(fit.data.raw, fit.labelling.labels[fit.data.back], fit.labelling.n_clusters)


def read_features(fit: Fit, features: int | Sequence[str] | None, default: int, *, least: int = 0) -> list[int]:
    """Return the columns of features to draw: those named, or so many of the most distinguishing; refuse less than least."""
    names = feature_names(fit)
    if features is None:
        features = default
    if isinstance(features, str):
        features = [features]
    if not isinstance(features, Sequence):
        check_value("features", features, Rule(integer=(least, np.inf)))
        return distinguishing_features(fit)[: int(features)]
    unknown = [name for name in features if name not in names]
    if unknown:
        raise ValueError(f"features: {unknown[0]!r} is no feature of this fit, which has {', '.join(names)}")
    if len(features) < least:
        raise ValueError(f"features={features!r} must name {least} or more of {', '.join(names)}")
    return [names.index(name) for name in features]


def largest_clusters(fit: Fit, most: int) -> list[int]:
    """Return the clusters to draw: all, or so many of the largest, by their numbers."""
    return np.sort(np.argsort(-cluster_counts(fit), kind="stable")[:most]).tolist()


class NamedLabels(NamedTuple):
    """Labels (N,) with -1 for noise, and the name of each cluster."""

    labels: Labels
    names: tuple[str, ...]


def labels_of(name: str, given: Any) -> NamedLabels:
    """Return the labels of a fitted estimator, or labels that were passed; errors call them by ``name``."""
    if isinstance(given, Fit) or hasattr(type(given), "fitted_"):
        labels = fit_of(given).labels
        return NamedLabels(labels, _numbers(labels))
    labels = np.asarray(given)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"{name} must be a fitted MCGTA or one label for each row, got shape {labels.shape}")
    missing = np.flatnonzero(np.ma.getmaskarray(given) if np.ma.isMaskedArray(given) else _is_missing(labels))
    if missing.size:
        raise ValueError(f"{name} has no label in row {missing[0]}; give one to each row, -1 for noise")
    if labels.dtype.kind == "f" and (labels == np.rint(labels)).all():
        labels = labels.astype(np.int64)
    if labels.dtype.kind in "iu" and labels.min() < -1:
        raise ValueError(f"{name} holds {labels.min()}; clusters are numbered from 0, and -1 is noise")
    if labels.dtype.kind in "iu" and labels.max() < MOST_LABELS:
        return NamedLabels(labels.astype(np.int64), _numbers(labels))
    return _name_labels(name, labels)


def _is_missing(labels: Any) -> Any:
    """Tell which labels are None, NaN, NaT or infinite."""
    if labels.dtype.kind == "f":
        return ~np.isfinite(labels)
    return (
        np.array([label is None or label != label for label in labels])
        if labels.dtype.kind == "O"
        else labels != labels
    )


def _name_labels(name: str, labels: Any) -> NamedLabels:
    """Return labels by number with their texts as names; -1 among numbers is noise."""
    noise = labels == -1 if labels.dtype.kind in "iu" else np.zeros(labels.size, dtype=bool)
    names, codes = np.unique(labels[~noise].astype(str), return_inverse=True)
    if names.size > MOST_LABELS:
        raise ValueError(f"{name} holds {names.size:,} different labels; at most {MOST_LABELS:,} can be compared")
    numbered = np.full(labels.size, -1, dtype=np.int64)
    numbered[~noise] = codes
    return NamedLabels(numbered, tuple(names.tolist()))


def _numbers(labels: Labels) -> tuple[str, ...]:
    return tuple(str(k) for k in range(int(labels.max(initial=-1)) + 1))
