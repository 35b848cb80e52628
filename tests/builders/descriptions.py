"""Fits with labels of one's own, to be described and drawn: the observations are real, the labels are given."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from mcgta import MCGTA
from mcgta.fit import Fit
from mcgta.labelling import Labelling
from mcgta.observations.observations import sort_observations
from mcgta.positions.reading import read_positions


@cache
def _any_fit() -> Fit:
    """Return a small fit, whose settings the others have."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    fit: Fit = MCGTA(n_neighbors=5, eps=1.0, progress=False).fit(X).fitted_
    return fit


def labelled(
    X: Any, labels: Any, *, positions: Any = None, groups: Any = None, metric: Any = "auto", names: Any = None
) -> Fit:
    """Return a fit of features (N, d) with given labels (N,), both in the user's order."""
    features = np.asarray(X, dtype=float)
    places = read_positions(positions, len(features), groups=groups, metric=metric)
    data = sort_observations(features, places, n_neighbors=2, lags=0, seed=0)
    labelling = Labelling(np.asarray(labels, dtype=np.int64)[data.order], "clusterer", None)
    return replace(_any_fit(), data=data, labelling=labelling, names=names, models=None, failed={})


def model_of(fit: Fit) -> MCGTA:
    """Return an estimator that has a fit."""
    model = MCGTA()
    model._fit = fit
    return model
