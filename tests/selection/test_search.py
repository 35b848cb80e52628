"""The search: what stands apart, merge paths, and clusters found where they are known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import mcgta.selection.sampling
import mcgta.selection.search as searching
from mcgta import MCGTA
from mcgta.datasets import make_regions
from mcgta.positions.reading import read_positions
from mcgta.selection.merging import merge_path
from mcgta.selection.sampling import sample_rows
from mcgta.selection.scoring.scored_labelling import score
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.search import (
    Judge,
    are_separated,
    best_by_n_clusters,
    count_joins,
    search,
    simplest_adequate,
)


def make_states(count):
    """Series of three states in turn, far apart in their means."""
    truth = np.arange(count) // 25 * 7 % 3
    X = np.random.default_rng(1).normal(size=(count, 3)) + 3 * np.eye(3)[truth]
    return SimpleNamespace(X=X, positions=np.arange(float(count)), labels=truth)


SERIES = make_states(500)
REGIONS = make_regions(400, n_clusters=3, spacing=5.0, random_state=1)


def arrange(X, positions=None, groups=None, labels=None, **options):
    """Features, positions and labels in canonical order."""
    places = read_positions(positions, len(X), groups=groups, **options)
    order = places.order(X)
    return X[order], places.take(order), None if labels is None else np.asarray(labels)[order]


def make_scoring_data(X, *where):
    return ScoringData.of(*arrange(X, *where)[:2])


# ----------------------------------------------------------------------------------------------- comparing labellings


@pytest.mark.parametrize("seed", range(3))
def test_halves_of_one_gaussian_do_not_stand_apart_and_two_gaussians_do(seed):
    rng = np.random.default_rng(seed)
    one = make_scoring_data(rng.normal(size=(600, 2)))
    for line in (one.X[0], one.X[0] + one.X[1]):
        assert not are_separated(one, score(one, (line > np.median(line)).astype(np.int64)))
    labels = rng.integers(0, 2, 600)
    two = make_scoring_data(rng.normal(size=(600, 2)) + np.outer(labels, [4.0, 0.0]))
    assert are_separated(two, score(two, labels))
    assert not are_separated(two, score(two, np.zeros(600, dtype=np.int64)))
    split = np.where(labels == 1, 2, (two.X[1] > 0).astype(np.int64))
    assert not are_separated(two, score(two, split))


@pytest.mark.parametrize("where", [(), (np.random.default_rng(0).uniform(size=(200, 2)),)], ids=["time", "plane"])
def test_the_join_count_ratio_is_changes_over_those_of_labels_dealt_at_random(where):
    rng = np.random.default_rng(2)
    scoring_data = make_scoring_data(rng.normal(size=(200, 2)), *where)
    for labels in (np.arange(200) // 70, rng.integers(0, 3, 200), np.zeros(200, dtype=np.int64)):
        changes = sum(labels[i] != labels[j] for i, j in scoring_data.edges) / len(scoring_data.edges)
        pairs = sum(int(a != b) for a in labels for b in labels) / 200**2
        expected = changes / pairs if pairs else 0.0
        assert count_joins(scoring_data, score(scoring_data, labels)).ratio == pytest.approx(expected)


def test_the_best_of_each_number_comes_first_by_number_and_no_more_than_twelve():
    scoring_data = make_scoring_data(SERIES.X)
    few, many = np.arange(500) // 100, np.arange(500) * 13 // 500
    found = [score(scoring_data, labels) for labels in (many, few, SERIES.labels, few % 3)]
    listed = best_by_n_clusters(found, 1.0)
    assert [scored.n_clusters for scored in listed] == [3, 5]
    np.testing.assert_array_equal(listed[0].labels, found[2].labels)


def test_fewer_clusters_are_taken_unless_more_are_clearly_better():
    scoring_data = make_scoring_data(SERIES.X)
    one, truth = score(scoring_data, np.zeros(500, dtype=np.int64)), score(scoring_data, SERIES.labels)
    split = score(scoring_data, np.where((SERIES.labels == 0) & (np.arange(500) < 250), 3, SERIES.labels))
    for overdispersion in (1.0, 1.5):
        np.testing.assert_array_equal(
            simplest_adequate(Judge(scoring_data), [split, truth, one], overdispersion).labels, truth.labels
        )
    assert (
        simplest_adequate(Judge(scoring_data), [split, truth, one], 4.0).n_clusters == 1
    )  # what 125 observations say of 20 segments is little
    assert simplest_adequate(Judge(scoring_data), [one], 1.0).n_clusters == 1


# ---------------------------------------------------------------------------------------------------------- merge paths


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("data", [SERIES, REGIONS], ids=["time", "plane"])
def test_a_merge_path_leads_to_one_cluster_by_fewer_at_each_step(data, mixed):
    X, places, _ = arrange(data.X, data.positions)
    scoring_data = ScoringData.of(X, places)
    start = scoring_data.blocks(len(X) // 12)
    path = merge_path(scoring_data, start, mixed=mixed, independent=mixed)
    numbers = [scored.n_clusters for scored in path]
    assert numbers[0] <= start.max() + 1
    assert numbers[-1] == 1
    assert (np.diff(numbers) <= -1).all()
    for scored in path:
        assert scored.labels.shape == (len(X),)
        assert np.bincount(scored.labels).min() >= (scoring_data.d + 2 if scored.n_clusters > 1 else 1)
        assert scored.counts.sum() == len(X)


# ------------------------------------------------------------------------------------------------------------ the search


@pytest.mark.parametrize(
    ("data", "groups"),
    [(SERIES, None), (SERIES, np.arange(500) // 100), (REGIONS, None), (REGIONS, np.arange(400) % 2)],
    ids=["time", "series", "plane", "maps"],
)
def test_clusters_are_found_where_they_are_easy_to_tell(data, groups):
    X, places, truth = arrange(data.X, data.positions, groups, data.labels)
    scoring_data, found = search(X, places)
    assert found.best.n_clusters == np.unique(truth).size
    assert adjusted_rand_score(truth, found.labels) > 0.9
    assert len(scoring_data) == len(X)
    assert not found.mixed
    assert 1 in [scored.n_clusters for scored in found.others]


@pytest.mark.parametrize("place", ["time", "plane"])
def test_a_mixture_that_ignores_position_is_found(place):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 300)
    where = None if place == "time" else rng.uniform(size=(300, 2))
    X, places, truth = arrange(rng.normal(size=(300, 3)) + 8 * np.eye(3)[labels], where, None, labels)
    found = search(X, places)[1]
    assert found.mixed
    assert found.join_count_ratio > 0.9
    assert adjusted_rand_score(truth, found.labels) == 1.0


@pytest.mark.parametrize("place", ["time", "plane"])
@pytest.mark.parametrize("seed", range(3))
def test_one_gaussian_is_one_cluster(seed, place):
    rng = np.random.default_rng(seed)
    X, places, _ = arrange(rng.normal(size=(300, 2)), None if place == "time" else rng.uniform(size=(300, 2)))
    found = search(X, places)[1]
    assert found.best.n_clusters == 1
    assert (found.labels == 0).all()


def test_many_short_series_are_searched_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(300), 12)
    truth = groups % 3
    X, places, truth = arrange(rng.normal(size=(3600, 2)) + 4.0 * truth[:, None], None, groups, truth)
    found = search(X, places)[1]
    assert found.best.n_clusters == 3
    assert adjusted_rand_score(truth, found.labels) > 0.99


@pytest.mark.parametrize("whole", [50_000, 500], ids=["chosen on all", "chosen on the sample"])
@pytest.mark.parametrize("place", ["series", "plane"])
def test_a_sample_finds_the_clusters_that_all_observations_have(monkeypatch, place, whole):
    if place == "series":
        data = make_states(1500)
        X, places, truth = arrange(data.X, None, np.arange(1500) // 500, data.labels)
    else:
        data = make_regions(1200, n_clusters=3, spacing=5.0, random_state=1)
        X, places, truth = arrange(data.X, data.positions, None, data.labels)
    everything = search(X, places)[1]
    monkeypatch.setattr(searching, "MAX_CHOSEN_ON_ALL_ROWS", whole)
    monkeypatch.setattr(searching, "LABELLED_AT_A_TIME_ROWS", 400)
    monkeypatch.setattr(
        mcgta.selection.sampling, "sample_rows", lambda places, seed, **_: sample_rows(places, seed, most=800, size=600)
    )
    scoring_data, found = search(X, places)
    assert (len(scoring_data) < len(X)) == (whole == 500)
    assert found.labels.size == len(X)
    assert found.best.n_clusters == everything.best.n_clusters == 3
    assert adjusted_rand_score(everything.labels, found.labels) > 0.9
    assert adjusted_rand_score(truth, found.labels) > 0.9


def test_neither_the_order_of_rows_nor_threads_change_what_a_sample_finds(monkeypatch):
    monkeypatch.setattr(
        mcgta.selection.sampling, "sample_rows", lambda places, seed, **_: sample_rows(places, seed, most=300, size=250)
    )
    X, where = REGIONS.X, REGIONS.positions
    order = np.random.default_rng(3).permutation(len(X))
    options = {"refine": "all", "semivariogram": "empirical"}
    one = MCGTA(**options, n_jobs=1).fit(X, positions=where)
    two = MCGTA(**options, n_jobs=2).fit(X[order], positions=where[order])
    np.testing.assert_array_equal(two.labels_, one.labels_[order])
    assert two.choice_.log_evidence == pytest.approx(one.choice_.log_evidence)


def test_what_was_found_tells_whether_position_helps():
    X, places, _ = arrange(SERIES.X[:200])
    found = search(X, places)[1]
    assert [replace(found, join_count_ratio=ratio).mixed for ratio in (0.1, 0.5, 0.6)] == [False, False, True]


@pytest.mark.parametrize("seed", [109, 121, 126])
def test_a_mixture_in_which_neighbours_agree_a_little_by_chance_keeps_its_clusters(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 3)) + 8 * np.eye(3)[truth]
    _, found = search(X, read_positions(None, 300))
    assert found.ignores_position
    assert adjusted_rand_score(truth, found.labels) > 0.99
