"""Records that follow different curves: found as groups and in one series, and not found where there are none."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import mcgta.selection.families.trajectory.search as searching
from mcgta.datasets import make_gestures, make_regions, make_series
from mcgta.positions.reading import read_positions
from mcgta.selection.families.trajectory.search import search_trajectory

N_RECORDS = 60
LENGTH = 80


def arrange(X, times=None, groups=None):
    places = read_positions(times, len(X), groups=groups)
    order = places.order(X)
    return X[order], places.take(order)


def as_groups(sample, n_records=N_RECORDS):
    """Records of equal length as groups, in canonical order."""
    length = len(sample.X) // n_records
    return arrange(sample.X, np.tile(np.arange(float(length)), n_records), np.repeat(np.arange(n_records), length))


def gestures(seed=0, **options):
    return make_gestures(N_RECORDS, record_length=LENGTH, random_state=seed, **options)


@pytest.mark.parametrize("options", [{"n_types": 4}, {"n_types": 2, "n_features": 1}, {"n_types": 5, "noise": 0.3}])
def test_types_of_records_are_found_as_groups_and_in_one_series(options):
    sample = gestures(**options)
    for features, places in (as_groups(sample), arrange(sample.X)):
        found = search_trajectory(features, places, seed=0)
        assert adjusted_rand_score(sample.labels, found.best.labels) == 1.0
        assert found.best.gain > 0
        assert found.gain_over_level_one > 0
        assert found.gain(found.best.labels) == pytest.approx(found.best.gain)


@pytest.mark.parametrize("seed", range(3))
def test_records_of_one_type_are_one_cluster_which_is_a_curve(seed):
    found = search_trajectory(*as_groups(gestures(seed, n_types=1)), seed=0)
    assert found.best.n_clusters == 1
    assert found.best.gain == 0
    assert found.gain_over_level_one > 50
    assert found.describe(found.best.labels) == "all records follow one curve over 80 steps"


def test_words_say_how_many_curves_there_are():
    found = search_trajectory(*as_groups(gestures(n_types=3)), seed=0)
    assert found.describe(found.best.labels) == "records follow 3 curves over 80 steps"


def test_candidates_are_there_once_and_begin_with_one_cluster():
    found = search_trajectory(*as_groups(gestures(n_types=3)), seed=0)
    assert len({candidate.labels.tobytes() for candidate in found.candidates}) == len(found.candidates)
    assert found.candidates[0].n_clusters == 1
    assert found.candidates[0].gain == 0
    assert sum(candidate.n_clusters == 1 for candidate in found.candidates) == 1


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 30, 60])
def test_as_many_clusters_as_asked_for_are_found(n_clusters):
    found = search_trajectory(*as_groups(gestures(n_types=3)), seed=0, n_clusters=n_clusters)
    assert found.best.n_clusters == np.unique(found.best.labels).size == n_clusters


def test_more_clusters_than_records_are_not_found():
    assert search_trajectory(*as_groups(gestures()), seed=0, n_clusters=N_RECORDS + 1) is None


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.95, 1.0])
def test_groups_that_do_not_repeat_are_one_cluster_and_no_curve(memory):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 100, 2))
    for step in range(1, 100):
        X[:, step] += memory * X[:, step - 1]
    found = search_trajectory(
        *arrange(X.reshape(-1, 2), np.tile(np.arange(100.0), 40), np.repeat(np.arange(40), 100)), seed=0
    )
    assert found.best.n_clusters == 1
    assert found.gain_over_level_one < 0


@pytest.mark.parametrize("seed", range(2))
def test_levels_inside_groups_are_left_to_the_family_of_levels(seed):
    sample = make_series(3000, random_state=seed)
    found = search_trajectory(*as_groups(sample, 30), seed=0)
    assert found.best.n_clusters == 1
    assert found.gain_over_level_one < 0


def test_groups_that_differ_in_level_alone_are_left_to_the_family_of_levels():
    rng = np.random.default_rng(0)
    kinds = rng.integers(3, size=40)
    X = rng.normal(size=(40, 100, 2)) + 3.0 * np.eye(3)[kinds][:, None, :2]
    found = search_trajectory(
        *arrange(X.reshape(-1, 2), np.tile(np.arange(100.0), 40), np.repeat(np.arange(40), 100)), seed=0
    )
    assert found.best.n_clusters == 1


def test_drift_of_one_type_makes_no_clusters():
    sample = gestures(n_types=1)
    drift = np.repeat(np.linspace(0, 3, N_RECORDS), LENGTH)[:, None]
    features, places = arrange(
        sample.X + drift, np.tile(np.arange(float(LENGTH)), N_RECORDS), np.repeat(np.arange(N_RECORDS), LENGTH)
    )
    assert search_trajectory(features, places, seed=0).best.n_clusters == 1


def test_there_is_no_search_without_time_or_records():
    regions = make_regions(400, n_clusters=3, random_state=0)
    places = read_positions(regions.positions, 400)
    order = places.order(regions.X)
    assert search_trajectory(regions.X[order], places.take(order), seed=0) is None
    series = make_series(1000, random_state=0)
    assert search_trajectory(*arrange(series.X), seed=0) is None
    assert search_trajectory(*arrange(series.X, None, np.repeat([0, 1], 500)), seed=0) is None


def test_the_same_is_found_whatever_the_order_of_rows():
    sample = gestures(n_types=3)
    shuffled = np.random.default_rng(0).permutation(len(sample.X))
    times = np.tile(np.arange(float(LENGTH)), N_RECORDS)
    groups = np.repeat(np.arange(N_RECORDS), LENGTH)
    first = search_trajectory(*arrange(sample.X, times, groups), seed=0)
    second = search_trajectory(*arrange(sample.X[shuffled], times[shuffled], groups[shuffled]), seed=0)
    assert np.array_equal(first.best.labels, second.best.labels)
    assert first.best.gain == second.best.gain


def stretch(sample, lengths):
    """Records that run faster or slower, so that they last differently long."""
    parts = []
    for record, length in zip(sample.X.reshape(N_RECORDS, LENGTH, -1), lengths, strict=True):
        at = np.linspace(0, LENGTH - 1, length)
        parts.append(np.column_stack([np.interp(at, np.arange(LENGTH), column) for column in record.T]))
    return np.concatenate(parts)


@pytest.mark.parametrize("relative", [True, False])
def test_phases_are_relative_where_records_are_stretched_and_not_where_they_are_cut_short(relative):
    sample = gestures(n_types=3)
    rng = np.random.default_rng(0)
    lengths = rng.integers(LENGTH // 2, LENGTH, N_RECORDS)
    groups = np.repeat(np.arange(N_RECORDS), lengths)
    times = np.concatenate([np.arange(float(length)) for length in lengths])
    whole = sample.X.reshape(N_RECORDS, LENGTH, -1)
    cut = np.concatenate([record[:length] for record, length in zip(whole, lengths, strict=True)])
    found = search_trajectory(*arrange(stretch(sample, lengths) if relative else cut, times, groups), seed=0)
    assert found.rule.relative == relative
    assert adjusted_rand_score(sample.labels[::LENGTH][groups], found.best.labels) == 1.0


def test_of_many_records_a_sample_is_searched_and_all_are_labelled(monkeypatch):
    sample = gestures(n_types=3)
    features, places = as_groups(sample)
    monkeypatch.setattr(searching, "MAX_SEARCHED_RECORDS", 40)
    monkeypatch.setattr(searching, "LABELLED_AT_A_TIME_ROWS", 7 * LENGTH)
    found = search_trajectory(features, places, seed=0)
    assert len(found.data.records) == 40
    assert adjusted_rand_score(sample.labels, found.best.labels) == 1.0
    assert found.gain(found.best.labels) == pytest.approx(found.best.gain)
    assert len(found.models(found.best.labels)) == 3


def test_very_many_types_are_found_only_if_asked_for():
    sample = make_gestures(120, record_length=30, n_types=24, random_state=0)
    features, places = as_groups(sample, 120)
    assert search_trajectory(features, places, seed=0).best.n_clusters == 1
    assert search_trajectory(features, places, seed=0, n_clusters=24).best.n_clusters == 24
