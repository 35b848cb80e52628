"""What all baselines share: how data come in, how parameters are checked, how labels go out."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin

from mcgta.clustering.labels import number_by_first_member
from mcgta.observations.observations import align_positions, check_squares, read_features
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.random import draw_seed
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array, Index, Labels
from mcgta.settings import RULES

K_RULE = Rule(integer=(1, INF))

_ROUNDING = 1e-12  # of the largest number of a feature, by which it may vary for want of digits


@dataclass(frozen=True, eq=False)
class Task:
    """What a baseline is given: rows in canonical order, so that labels do not depend on the order they came in.

    Attributes
    ----------
    X : (N, d) features
    positions : of the rows, with their groups; steps of time where none were given
    seed : for everything that is random
    rows : (N,) which row of the user's table each is
    """

    X: Array
    positions: Positions
    seed: int
    rows: Index

    @property
    def series(self) -> list[Index]:
        """Rows of each group, in canonical order: that of time, where positions are times."""
        codes = self.positions.groups
        return [np.flatnonzero(codes == code) for code in np.unique(codes)]


class Baseline(ClusterMixin, BaseEstimator):
    """A rival of :class:`mcgta.MCGTA`, in the same shape.

    A child declares its parameters in ``__init__`` as scikit-learn wants it, ``random_state`` among them, their rules in
    ``_rules``, and labels rows in ``_label``. After ``fit`` there are ``labels_`` (N,), -1 for noise, clusters numbered from 0
    by their first row, and ``n_clusters_``.
    """

    _rules: ClassVar[dict[str, Rule]] = {}
    _metrics: ClassVar[tuple[str, ...] | None] = None
    """Metrics of position that it can use; None for all."""
    _looks_at_positions: bool = True
    """Whether positions matter; if not, those that are given are not read, so that they may be anything."""

    labels_: Labels
    n_clusters_: int

    def fit(self, X: Any, y: Any = None, *, positions: Any = None, groups: Any = None) -> Self:
        """Cluster the observations.

        Parameters
        ----------
        X : (N, d) features
        y : ignored
        positions : as in :meth:`mcgta.MCGTA.fit`; without them the order of the rows is time
        groups : (N,) series or slides that share clusters but no neighbourhoods, or None
        """
        self._check()
        features = read_features(self, X, ensure_min_samples=2)
        check_squares(features)
        params = self.get_params(deep=False)
        if positions is not None and not self._looks_at_positions:
            check_length(positions, len(features))
            positions = np.zeros((len(features), 2))  # all at one place
        elif self._looks_at_positions:
            positions = align_positions(X, positions, groups, metric=params.get("metric", "auto"))
        metric = self._metric_of_positions()
        places = read_positions(positions, features.shape[0], groups=groups, metric=metric)
        if self._metrics is not None and places.metric.name not in self._metrics:
            raise ValueError(
                f"positions are of metric {places.metric.name!r}, but {type(self).__name__} works on "
                f"{' or '.join(map(repr, self._metrics))} only"
            )
        if params.get("n_clusters") is not None and params["n_clusters"] > len(features):
            raise ValueError(
                f"n_clusters={params['n_clusters']} but there are only {len(features)} observations (n_samples = "
                f"{len(features)}); n_clusters must not be larger"
            )
        order = places.order(features)
        task = Task(features[order], places.take(order), draw_seed(params.get("random_state", 0)), order)
        labels = np.empty(len(features), dtype=np.int64)
        labels[order] = self._label(task)
        self.labels_ = number_by_first_member(labels)
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self

    def fit_predict(self, X: Any, y: Any = None, *, positions: Any = None, groups: Any = None) -> Labels:
        """Cluster the observations, and return their labels."""
        return self.fit(X, y, positions=positions, groups=groups).labels_

    def _label(self, task: Task) -> Labels:
        """Return labels of the task's rows in any numbering, negative for noise."""
        raise TypeError(f"{type(self).__name__} is what baselines have in common, and labels nothing itself")

    def _metric_of_positions(self) -> Any:
        """Return the metric of the positions."""
        return getattr(self, "metric", "auto")

    def _check(self) -> None:
        """Refuse parameters that are not allowed."""
        params = self.get_params(deep=False)
        for name, value in params.items():
            rule = self._rules.get(name) or RULES[name]
            check_value(name, value, rule)


def check_length(positions: Any, count: int) -> None:
    """Refuse positions of another number of rows than X has."""
    rows = len(positions) if hasattr(positions, "__len__") else len(np.atleast_1d(positions))
    if rows != count:
        raise ValueError(f"positions has {rows} rows but X has {count}")


def standardise(X: Array) -> Array:
    """Return features of mean zero and variance one; those that are constant but for rounding stay near zero."""
    scale = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(scale > _ROUNDING * np.abs(X).max(axis=0), scale, 1.0))


def connect(count: int, pairs: Index) -> Index:
    """Return which of ``count`` rows are connected by pairs (L, 2): the number of its set for each row."""
    graph = coo_array((np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def need(module: str, package: str, user: str) -> ModuleType:
    """Import an optional package, or say what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{user} needs {package}: pip install 'mcgta[baselines]'") from error
