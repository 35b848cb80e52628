"""The registry of metrics: every row is complete, and a new one is a few lines."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from mcgta import MCGTA, load, read_positions
from mcgta.positions.metrics import METRICS, FunctionMetric, Metric, SpaceTime, get_metric
from mcgta.positions.tables import Table
from naive import algorithm as naive

PLACES = np.random.default_rng(0).uniform(-50, 50, (12, 3))
GIVEN = {
    "auto": PLACES,
    "time": PLACES[:, :1],
    "euclidean": PLACES,
    "haversine": PLACES[:, :2],
    "spacetime": PLACES,
    "precomputed": naive.distance_table(PLACES),
}


def complete(metric: Metric) -> Metric:
    """Return the metric with its parameters set, where it has any."""
    return SpaceTime(2.0, "haversine") if metric.name == "spacetime" else metric


def make(**params):
    return MCGTA(**{"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params})


@pytest.fixture
def manhattan():
    """A metric that was not there before."""

    class Manhattan(Metric):
        name = "manhattan"

        def distances(self, a, b):
            return np.abs(a[:, None] - b).sum(axis=2)

    METRICS[Manhattan.name] = Manhattan()
    yield Manhattan()
    del METRICS["manhattan"]


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_complete(name):
    metric = METRICS[name]
    assert metric.name == name
    assert get_metric(name) is metric
    assert get_metric(metric) is metric
    read = read_positions(GIVEN[name], 12, metric=complete(metric))
    chosen = read.metric
    assert chosen.is_complete
    assert chosen.choose(Table(PLACES, ("x", "y", "z"), (False,) * 3)) == chosen
    assert chosen.has_matrix == metric.has_matrix == (chosen.kind is None) == (read.points is None)
    assert chosen.has_coordinates == (read.coordinates.shape[1] > 0)
    assert read.is_chain == chosen.is_chain == (name == "time")
    assert type(chosen).__doc__ != Metric.__doc__


@pytest.mark.parametrize("name", METRICS)
def test_positions_of_every_metric_come_back_from_a_file(name, tmp_path):
    read = read_positions(GIVEN[name], 12, metric=complete(METRICS[name]))
    read.save(tmp_path / "places")
    again = load(tmp_path / "places")
    assert again.metric == read.metric
    every = np.arange(12)
    np.testing.assert_array_equal(again.between(every, every), read.between(every, every))


@pytest.mark.parametrize("name", METRICS)
def test_positions_without_values_are_taken_by_metrics_of_time_only(name):
    if METRICS[name].takes_row_order:
        assert read_positions(None, 12, metric=name).is_chain
    else:
        with pytest.raises(ValueError, match=f"metric='{name}' needs positions="):
            read_positions(None, 12, metric=name)


def test_straight_lines_reach_as_far_as_the_metric():
    for metric in (METRICS["euclidean"], SpaceTime(2.0, "haversine"), SpaceTime(2.0, "euclidean")):
        read = read_positions(PLACES, 12, metric=metric)
        straight = naive.distance_table(read.points)
        measured = read.between(slice(None), slice(None))
        for row in range(12):
            reach = metric.straight_reach(straight[row])
            nearer = measured[row][:, None] >= measured[row][None, :]
            assert (straight[row][None, :] <= reach[:, None] * (1 + 1e-9) + 1e-6)[nearer].all()


def test_a_new_metric_is_known_everywhere_by_its_name(plane, manhattan, tmp_path):
    model = make(metric="manhattan").fit(plane.X, positions=plane.positions)
    every = np.arange(128)
    expected = naive.distance_table(plane.positions, lambda a, b: float(np.abs(np.subtract(a, b)).sum()))
    np.testing.assert_allclose(model.positions_.between(every, every), expected, rtol=1e-14)
    np.testing.assert_array_equal(model.labels_, plane.truth)
    np.testing.assert_array_equal(model.predict(plane.X, positions=plane.positions), model.labels_)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").positions_.metric == manhattan
    with pytest.raises(ValueError, match=r"'manhattan'.*; did you mean 'manhattan'\?"):
        make(metric="manhatan").fit(plane.X, positions=plane.positions)


def test_a_new_metric_is_the_function_of_the_same_distances(plane, manhattan):
    by_object = make(metric=manhattan).fit(plane.X, positions=plane.positions)
    by_function = make(metric=lambda a, b: np.abs(a - b).sum()).fit(plane.X, positions=plane.positions)
    assert isinstance(by_function.positions_.metric, FunctionMetric)
    np.testing.assert_array_equal(by_object.positions_.matrix, by_function.positions_.matrix)
    np.testing.assert_array_equal(by_object.labels_, by_function.labels_)


def test_a_metric_whose_distances_are_not_symmetric_is_refused(plane):
    class OneWay(Metric):
        name = "one_way"

        def distances(self, a, b):
            return np.maximum(a[:, None, 0] - b[None, :, 0], 0.0)

    with pytest.raises(ValueError, match="must be symmetric"):
        make(metric=OneWay()).fit(plane.X, positions=plane.positions)


def test_space_and_time_are_an_object_that_is_copied_saved_and_used_again(plane, tmp_path):
    places = np.column_stack([plane.positions, np.arange(128.0)])
    model = clone(make(metric=SpaceTime(time_scale=0.01))).fit(plane.X, positions=places)
    assert model.positions_.metric == SpaceTime(time_scale=0.01, space="euclidean")
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.metric == SpaceTime(time_scale=0.01)
    np.testing.assert_array_equal(again.predict(plane.X, positions=places), model.labels_)
