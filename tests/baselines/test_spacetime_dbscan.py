"""DBSCAN with radii in features, space and time, against tables of all distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import cluster

from mcgta.baselines import density
from mcgta.baselines.spacetime_dbscan import MDSTDBSCAN, STDBSCAN
from mcgta.clustering.labels import number_by_first_member
from mcgta.positions.metrics import SpaceTime
from mcgta.positions.reading import read_positions


def dense(near: Any, min_samples: int) -> Any:
    """DBSCAN of a table that tells which rows are neighbours."""
    return number_by_first_member(
        cluster.DBSCAN(eps=0.5, min_samples=min_samples, metric="precomputed").fit_predict(1.0 - near)
    )


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
        return place, {"metric": SpaceTime(**params)}
    if metric == "precomputed":
        return distances(rng.uniform(0, 10, (count, 2))), {"metric": "precomputed"}
    return rng.uniform(0, 10, (count, 2)), {"metric": "euclidean"}


TABLES = ["euclidean", "haversine", "spacetime", "precomputed"]
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
    read = read_positions(positions, 160, groups=groups, metric=model.metric)
    order = read.order(X)
    near = (distances(X) <= eps) & (read.between(slice(None), slice(None)) <= RADII[metric])
    expected = np.empty(160, dtype=np.int64)
    expected[order] = dense(near[np.ix_(order, order)], 4)
    np.testing.assert_array_equal(model.labels_, number_by_first_member(expected))
    assert np.unique(model.labels_).size > 1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), eps=st.floats(0.1, 3), reach=st.floats(0.5, 20), min_samples=st.integers(1, 8))
def test_any_radii_give_the_labels_of_the_dense_table(seed: int, eps: float, reach: float, min_samples: int) -> None:
    X = np.random.default_rng(seed).normal(size=(60, 2))
    found = STDBSCAN(eps, reach, min_samples).fit(X).labels_
    steps = np.arange(60.0)
    near = (distances(X) <= eps) & (np.abs(steps[:, None] - steps) <= reach)
    np.testing.assert_array_equal(found, dense(near, min_samples))


def series(count: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Features, times and groups of so many series of 20 rows, all at the same times."""
    return rng.normal(size=(20 * count, 2)), np.tile(np.arange(20.0), count), np.repeat(np.arange(count), 20)


@pytest.mark.parametrize("kind", [lambda: STDBSCAN(1.0, 4.0, 4), lambda: MDSTDBSCAN(1.0, None, 4.0, 4)])
@pytest.mark.parametrize("offset", [0.0, 1.7e9])
def test_groups_at_the_same_times_are_clustered_as_if_far_apart(kind: Any, offset: float) -> None:
    X, times, groups = series(30, np.random.default_rng(8))
    together = kind().fit(X, positions=times + offset, groups=groups).labels_
    np.testing.assert_array_equal(together, kind().fit(X, positions=times + offset + 1000.0 * groups).labels_)
    near = (distances(X) <= 1.0) & (np.abs(times[:, None] - times) <= 4.0) & (groups[:, None] == groups)
    np.testing.assert_array_equal(together, dense(near, 4))
    assert together.max() > 30


@pytest.mark.parametrize("delta", [None, 1.0])
@pytest.mark.parametrize("reach", [0.0, 4.0, 1e300])
def test_no_pair_of_different_groups_is_looked_at(
    delta: float | None, reach: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, times, groups = series(30, np.random.default_rng(9))
    looked: list[Any] = []
    near = density.Neighbors._near

    def spy(self: Any, i: Any, j: Any) -> Any:
        looked.append(groups[self.rows[i]] == groups[self.rows[j]])
        return near(self, i, j)

    monkeypatch.setattr(density.Neighbors, "_near", spy)
    STDBSCAN(1.0, reach, 4, delta=delta).fit(X, positions=times, groups=groups)
    same = np.concatenate(looked)
    assert same.size >= len(X)
    assert same.all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), metric=st.sampled_from(TABLES), min_samples=st.integers(1, 8))
def test_equal_rows_in_groups_keep_the_labels_of_the_dense_table(seed: int, metric: str, min_samples: int) -> None:
    rng = np.random.default_rng(seed)
    picked = rng.integers(0, 25, 90)
    X = rng.integers(0, 3, (25, 2)).astype(float)[picked]
    positions, options = places(metric, 25, rng)
    positions = positions[np.ix_(picked, picked)] if metric == "precomputed" else positions[picked]
    groups = rng.integers(0, 3, 90)
    found = STDBSCAN(1.0, RADII[metric], min_samples, **options).fit(X, positions=positions, groups=groups).labels_
    measure = options.get("metric", "auto")
    read = read_positions(positions, 90, groups=groups, metric=measure)
    order = read.order(X)
    near = (distances(X) <= 1.0) & (read.between(slice(None), slice(None)) <= RADII[metric])
    expected = np.empty(90, dtype=np.int64)
    expected[order] = dense(near[np.ix_(order, order)], min_samples)
    np.testing.assert_array_equal(found, number_by_first_member(expected))


@pytest.mark.parametrize("eps", [1.0, (0.5, 2.0)])
def test_mdstdbscan_measures_space_time_and_attributes_apart(eps: Any) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2))
    where, when = rng.uniform(0, 4, (200, 2)), rng.uniform(0, 10, 200)
    options = {"metric": SpaceTime(time_scale=7.0)}
    model = MDSTDBSCAN(eps, 1.0, 2.5, 4, **options).fit(X, positions=np.column_stack([where, when]))
    alike = distances(X) <= eps if np.ndim(eps) == 0 else (np.abs(X[:, None] - X[None]) <= eps).all(axis=2)
    near = alike & (distances(where) <= 1.0) & (np.abs(when[:, None] - when) <= 2.5)
    order = np.lexsort([*X.T[::-1], when, *where.T[::-1]])
    expected = np.empty(200, dtype=np.int64)
    expected[order] = dense(near[np.ix_(order, order)], 4)
    np.testing.assert_array_equal(model.labels_, number_by_first_member(expected))
    assert np.unique(model.labels_).size > 1


@pytest.mark.parametrize("space", ["euclidean", "haversine"])
def test_mdstdbscan_does_not_heed_the_time_scale(space: str) -> None:
    rng = np.random.default_rng(10)
    X = rng.normal(size=(100, 2))
    table = rng.uniform(0, 4, (100, 3))
    radius = 1.0 if space == "euclidean" else 1e5
    plain = MDSTDBSCAN(1.0, radius, 2.0, metric=SpaceTime(time_scale=1.0, space=space)).fit(X, positions=table)
    assert plain.n_features_in_ == 2
    assert plain.n_clusters_ > 0
    for scale in (1e-3, 1e6):
        scaled = MDSTDBSCAN(1.0, radius, 2.0, metric=SpaceTime(time_scale=scale, space=space))
        np.testing.assert_array_equal(scaled.fit(X, positions=table).labels_, plain.labels_)
    if space == "euclidean":
        bare = MDSTDBSCAN(1.0, radius, 2.0, metric="spacetime").fit(X, positions=table)
        np.testing.assert_array_equal(bare.labels_, plain.labels_)


def test_a_loose_time_radius_is_the_method_in_space() -> None:
    rng = np.random.default_rng(5)
    X, where = rng.normal(size=(100, 2)), rng.uniform(0, 4, (100, 2))
    table = np.column_stack([where, np.zeros(100)])
    options = {"metric": SpaceTime(time_scale=1.0)}
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


def slow_grow(near: Any, min_samples: int, X: Any, delta: float) -> Any:
    """ST-DBSCAN with ``delta`` by its definition: row by row, with the mean of the cluster taken anew each time."""
    count = len(X)
    labels = [-1] * count
    for row in range(count):
        if labels[row] >= 0 or near[row].sum() < min_samples:
            continue
        name = max(labels) + 1
        waiting = [other for other in range(count) if near[row, other] and labels[other] < 0]
        for other in waiting:
            labels[other] = name
        while waiting:
            here = waiting.pop()
            if near[here].sum() < min_samples:
                continue
            mean = np.mean([X[member] for member in range(count) if labels[member] == name], axis=0)
            free = [other for other in range(count) if near[here, other] and labels[other] < 0]
            joining = [other for other in free if np.linalg.norm(X[other] - mean) <= delta]
            for other in joining:
                labels[other] = name
            waiting.extend(joining)
    return np.array(labels)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    eps=st.floats(0.3, 2),
    reach=st.integers(1, 8),
    min_samples=st.integers(1, 5),
    delta=st.floats(0.1, 2),
    kinds=st.integers(5, 60),
    count=st.integers(1, 3),
)
def test_clusters_grow_as_row_by_row_with_the_mean_of_the_time(
    seed: int, eps: float, reach: int, min_samples: int, delta: float, kinds: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    picked = np.sort(rng.integers(0, kinds, 60))  # some rows are equal
    X, times = rng.normal(size=(kinds, 2)).cumsum(axis=0)[picked] / 2, picked.astype(float)
    groups = np.sort(rng.integers(0, count, 60))
    order = np.lexsort([*X.T[::-1], times, groups])
    X, times, groups = X[order], times[order], groups[order]
    near = (distances(X) <= eps) & (np.abs(times[:, None] - times) <= reach) & (groups[:, None] == groups)
    line = np.column_stack([times, np.zeros(60)])  # repeated times would warn, places do not
    found = STDBSCAN(eps, reach, min_samples, delta=delta).fit(X, positions=line, groups=groups).labels_
    np.testing.assert_array_equal(found, number_by_first_member(slow_grow(near, min_samples, X, delta)))


def test_the_mean_moves_with_the_rows_that_join() -> None:
    """The cluster begins with 0 and 0.5; of their mean 2 is 1.75 away, but 1.25 once 1 and 1.5 have joined."""
    X = np.array([0.0, 0.5, 1.0, 1.5, 2.0])[:, None]
    assert STDBSCAN(0.5, 1.0, 2, delta=1.3).fit(X).labels_.tolist() == [0, 0, 0, 0, 0]
    assert STDBSCAN(0.5, 1.0, 2, delta=1.2).fit(X).labels_.tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(("times", "labels"), [(1, [0, 0, 1, 0]), (2, [0, 0, 0, 0, 0])])
def test_equal_rows_look_around_again_once_the_mean_has_moved(times: int, labels: list[int]) -> None:
    """Rows at (0, 0) alone see the last two places: one of them lets in 1.0, which moves the mean, and another then 1.4."""
    repeats = [1, times, 1, 1]
    X = np.repeat([0.0, 0.0, 1.4, 1.0], repeats)[:, None]
    where = np.repeat([(-1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (1.0, 0.0)], repeats, axis=0)
    assert STDBSCAN(2.0, 1.0, 1 + times, delta=1.2).fit(X, positions=where).labels_.tolist() == labels


def test_equal_rows_do_not_look_around_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    of = density.Neighbors.of
    monkeypatch.setattr(density.Neighbors, "of", lambda self, row: asked.append(row) or of(self, row))
    X = np.repeat(np.arange(10.0), 50)[:, None]
    found = STDBSCAN(1.0, 1.0, 5, delta=100.0).fit(X, positions=np.zeros((500, 2))).labels_
    np.testing.assert_array_equal(found, 0)
    assert len(asked) <= 3 * 10


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
