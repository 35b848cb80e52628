"""DBSCAN with radii in features, space and time, against tables of all distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import cluster

from mcgta.baselines.spacetime_dbscan import MDSTDBSCAN, STDBSCAN
from mcgta.position_input import read_positions
from mcgta.stages.labelling import number


def dense(near: Any, min_samples: int) -> Any:
    """DBSCAN of a table that tells which rows are neighbours."""
    return number(cluster.DBSCAN(eps=0.5, min_samples=min_samples, metric="precomputed").fit_predict(1.0 - near))


def distances(X: Any) -> Any:
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


def places(metric: str, count: int, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    if metric == "time":
        return rng.uniform(0, 40, count), {}
    if metric == "haversine":
        return rng.uniform([179.4, 59.5], [180.4, 60.5], (count, 2)), {"metric": "haversine"}
    if metric == "spacetime":
        params = {"time_scale": 2.0, "space": "haversine"}
        place = np.column_stack([rng.uniform(-0.5, 0.5, (count, 2)), rng.uniform(0, 1e4, count)])
        return place, {"metric": "spacetime", "metric_params": params}
    if metric == "precomputed":
        return distances(rng.uniform(0, 10, (count, 2))), {"metric": "precomputed"}
    return rng.uniform(0, 10, (count, 2)), {"metric": "euclidean"}


RADII = {"time": 3.0, "euclidean": 1.5, "haversine": 15e3, "spacetime": 20e3, "precomputed": 1.5}


@pytest.mark.parametrize("metric", RADII)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("eps", [1.2, 2.5])
def test_stdbscan_gives_the_labels_of_the_dense_table(metric: str, grouped: bool, eps: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, 2)) + 4.0 * rng.integers(0, 2, (160, 1))
    positions, options = places(metric, 160, rng)
    groups = rng.integers(0, 2, 160) if grouped else None
    model = STDBSCAN(eps, RADII[metric], 4, **options).fit(X, positions=positions, groups=groups)
    read = read_positions(
        positions, 160, groups=groups, metric=model.metric, metric_params=options.get("metric_params")
    )
    order = read.order(X)
    near = (distances(X) <= eps) & (read.between(slice(None), slice(None)) <= RADII[metric])
    expected = np.empty(160, dtype=np.int64)
    expected[order] = dense(near[np.ix_(order, order)], 4)
    np.testing.assert_array_equal(model.labels_, number(expected))
    assert np.unique(model.labels_).size > 1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), eps=st.floats(0.1, 3), reach=st.floats(0.5, 20), min_samples=st.integers(1, 8))
def test_any_radii_give_the_labels_of_the_dense_table(seed: int, eps: float, reach: float, min_samples: int) -> None:
    X = np.random.default_rng(seed).normal(size=(60, 2))
    found = STDBSCAN(eps, reach, min_samples).fit(X).labels_
    steps = np.arange(60.0)
    near = (distances(X) <= eps) & (np.abs(steps[:, None] - steps) <= reach)
    np.testing.assert_array_equal(found, dense(near, min_samples))


@pytest.mark.parametrize("eps", [1.0, (0.5, 2.0)])
def test_mdstdbscan_measures_space_time_and_attributes_apart(eps: Any) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2))
    where, when = rng.uniform(0, 4, (200, 2)), rng.uniform(0, 10, 200)
    options = {"metric": "spacetime", "metric_params": {"time_scale": 7.0}}
    model = MDSTDBSCAN(eps, 1.0, 2.5, 4, **options).fit(X, positions=np.column_stack([where, when]))
    alike = distances(X) <= eps if np.ndim(eps) == 0 else (np.abs(X[:, None] - X[None]) <= eps).all(axis=2)
    near = alike & (distances(where) <= 1.0) & (np.abs(when[:, None] - when) <= 2.5)
    order = np.lexsort([*X.T[::-1], when, *where.T[::-1]])
    expected = np.empty(200, dtype=np.int64)
    expected[order] = dense(near[np.ix_(order, order)], 4)
    np.testing.assert_array_equal(model.labels_, number(expected))
    assert np.unique(model.labels_).size > 1


def test_a_loose_time_radius_is_the_method_in_space() -> None:
    rng = np.random.default_rng(5)
    X, where = rng.normal(size=(100, 2)), rng.uniform(0, 4, (100, 2))
    table = np.column_stack([where, np.zeros(100)])
    options = {"metric": "spacetime", "metric_params": {"time_scale": 1.0}}
    both = MDSTDBSCAN(1.0, 0.8, 1.0, **options).fit(X, positions=table).labels_
    np.testing.assert_array_equal(both, MDSTDBSCAN(1.0, 0.8).fit(X, positions=where).labels_)
    np.testing.assert_array_equal(both, STDBSCAN(1.0, 0.8).fit(X, positions=where).labels_)


def test_delta_stops_a_ramp_that_small_steps_lead_along() -> None:
    X = np.repeat([0.0, 5.0], 40)[:, None] + np.random.default_rng(6).normal(0, 0.01, (80, 1))
    X[30:50, 0] = np.linspace(0, 5, 20)
    loose, strict = STDBSCAN(0.6, 3.0, 3), STDBSCAN(0.6, 3.0, 3, delta=1.0)
    assert loose.fit(X).n_clusters_ == 1
    labels = strict.fit(X).labels_
    assert labels[0] != labels[-1]
    assert (labels[:30] == labels[0]).all()
    assert (labels[50:] == labels[-1]).all()


def test_a_delta_that_forbids_nothing_is_no_delta_for_core_rows() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 2)) + 6.0 * np.repeat([0, 1, 0], 50)[:, None]
    free, bound = STDBSCAN(1.5, 10.0, 4).fit(X).labels_, STDBSCAN(1.5, 10.0, 4, delta=1e9).fit(X).labels_
    np.testing.assert_array_equal(free, bound)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (MDSTDBSCAN(1.0, None), "eps_space=None must be given: .*'euclidean' are in space"),
        (MDSTDBSCAN(1.0, 1.0, 1.0), "eps_time=1.0 has no effect: .*'euclidean' are in space"),
        (MDSTDBSCAN((1.0, 1.0, 1.0), 1.0), r"eps has shape \(3,\), but there are 2 features"),
        (MDSTDBSCAN((1.0, -1.0), 1.0), r"eps holds -1.0; each must be a number >= 0"),
        (MDSTDBSCAN(np.array(-1.0), 1.0), r"eps has shape \(\), but there are 2 features"),
        (MDSTDBSCAN([[1.0, 2.0], [3.0]], 1.0), r"eps holds \[1.0, 2.0\]; each must be a number >= 0"),
        (STDBSCAN(-1.0, 1.0), r"eps=-1.0 is not allowed: eps must be a number >= 0"),
    ],
)
def test_wrong_radii_are_refused(model: Any, said: str, plane: Any) -> None:
    with pytest.raises(ValueError, match=said):
        model.fit(plane.X, positions=plane.positions)
