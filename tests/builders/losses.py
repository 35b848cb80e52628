"""Losses of small data sets, stage by stage."""

from __future__ import annotations

import warnings

import numpy as np

from mcgta.observations.observations import sort_observations
from mcgta.positions.reading import read_positions
from mcgta.stages import (
    compare_models,
    empirical_semivariogram,
    find_neighborhoods,
    fit_local_models,
    fit_semivariogram,
)
from mcgta.stages.dissimilarity.compare import compare_features
from mcgta.stages.loss import Loss
from naive import algorithm as naive
from naive import clusters as naive_clusters


def make_loss(
    X,
    positions=None,
    groups=None,
    *,
    metric="auto",
    n=8,
    weights="uniform",
    beta=0.5,
    margin=0.1,
    model="spherical",
    kind="wasserstein2",
    **more,
):
    """The loss of a data set, stage by stage."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        places = read_positions(positions, len(X), groups=groups, metric=metric)
        data = sort_observations(X, places, n_neighbors=n, lags=0, seed=0)
        models = fit_local_models(data.X, find_neighborhoods(data.positions, n, weights=weights))
        kept = np.flatnonzero(models.fitted)
        compared = compare_models(models.take(kept), kind)
        places = data.positions.take(kept)
        curve = fit_semivariogram(empirical_semivariogram(compared, places), model)
    return Loss(compared, places, curve, beta, margin, **more)


def places_of(rng, kind, count):
    if kind == "steps":
        return None, "auto"
    if kind == "irregular":
        return np.cumsum(rng.exponential(size=count)), "time"
    if kind == "plane":
        return rng.uniform(0, 10, (count, 2)), "euclidean"
    return np.column_stack([rng.uniform(-180, 180, count), rng.uniform(-85, 85, count)]), "haversine"


def draw_loss(seed, count, d, place, grouped, repeats, **options):
    rng = np.random.default_rng(seed)
    states = np.repeat(rng.integers(0, 3, count // 10 + 1), 10)[:count, None]
    X = rng.normal(size=(count, d)) * (1 + states) + rng.choice([0, 1, 3]) * states
    if repeats == "rounded":
        X = np.round(X)
    elif repeats == "clumps":
        X[count // 2 :] = X[count // 2]
    positions, metric = places_of(rng, place, count)
    groups = np.sort(rng.integers(0, 2, count)) if grouped else None
    return make_loss(X, positions, groups, metric=metric, n=min(d + 6, count // 4), **options)


def example(seed, *, groups=False, penalty="within_range", **options):
    """A loss of the package beside the ingredients of the naive one."""
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(size=(30, 2)), axis=0)
    times, codes = np.cumsum(rng.exponential(1.0, 30)), rng.integers(0, 2, 30) if groups else np.zeros(30, dtype=int)
    times[11], codes[11] = times[10], codes[10]  # two observations at one place are still two
    X[11] = X[10] + 0.01
    positions = read_positions(np.column_stack([times, np.zeros(30)]), 30, groups=codes)
    dissimilarity = compare_features(X)
    curve = fit_semivariogram(empirical_semivariogram(dissimilarity, positions, bins=8, max_lag=20.0), "empirical")
    D = naive.distance_table(times[:, None], groups=codes)
    W = np.array([[naive.squared_euclidean(x, y) for y in X] for x in X])
    gamma = naive_clusters.empirical_curve(curve.edges, curve.lags, curve.values, curve.counts)[0]
    return Loss(dissimilarity, positions, curve, penalty_kind=penalty, **options), W, D, gamma
