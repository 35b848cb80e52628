"""A Gaussian mixture on local moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcgta.baselines.plain import GMM
from mcgta.baselines.windowed_gmm import WindowedGMM, local_moments
from mcgta.datasets import make_series
from mcgta.positions.reading import read_positions
from mcgta.stages.local_models import fit_local_models
from mcgta.stages.neighborhoods import find_neighborhoods


def test_states_that_differ_in_covariance_alone_are_found() -> None:
    sample = make_series(1500, n_clusters=3, segment_lengths=(30, 49), separation=1.5, random_state=1)
    windows = WindowedGMM(3).fit(sample.X, positions=sample.positions).labels_
    rows = GMM(3).fit(sample.X, positions=sample.positions).labels_
    found = adjusted_rand_score(sample.labels, windows)
    assert found > 0.75
    assert found > adjusted_rand_score(sample.labels, rows) + 0.3


def test_local_moments_are_those_of_numpy() -> None:
    X = np.random.default_rng(2).normal(size=(50, 3))
    places = read_positions(None, 50, groups=None, metric="auto")
    near = find_neighborhoods(places, 8)
    found = local_moments(fit_local_models(X, near, covariance="empirical"), X)
    slow = []
    for rows in near.indices:
        cov = np.cov(X[rows].T, bias=True)
        slow.append([*X[rows].mean(axis=0), *(cov[i, j] for i in range(3) for j in range(i, 3))])
    slow = np.array(slow)
    np.testing.assert_allclose(found, (slow - slow.mean(axis=0)) / slow.std(axis=0), atol=1e-9)


def test_a_change_of_units_and_a_constant_feature_change_nothing(series: Any) -> None:
    plain = WindowedGMM(2, 5).fit(series.X, positions=series.positions).labels_
    scaled = np.column_stack([series.X * [1e-6, 1e4] + 3, np.full(len(series.X), 0.1)])
    np.testing.assert_array_equal(WindowedGMM(2, 5).fit(scaled, positions=series.positions).labels_, plain)


def test_rows_of_small_groups_are_noise(series: Any) -> None:
    groups = np.repeat(["large", "small"], [116, 4])
    labels = WindowedGMM(2, 5).fit(series.X, positions=series.positions, groups=groups).labels_
    np.testing.assert_array_equal(np.flatnonzero(labels < 0), np.arange(116, 120))


def test_it_works_on_the_sphere(plane: Any) -> None:
    model = WindowedGMM(2, 8, metric="haversine").fit(plane.X, positions=plane.positions)
    assert adjusted_rand_score(plane.truth, model.labels_) > 0.8


def test_neighbourhoods_larger_than_any_group_are_refused(series: Any) -> None:
    with pytest.raises(ValueError, match="n_neighbors=121: only 0 rows are in a group of that many"):
        WindowedGMM(2, 121).fit(series.X, positions=series.positions)
