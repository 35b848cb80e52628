"""The search: samples, what stands apart, merge paths, and clusters found where they are known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import mcgta.selection.search as searching
from mcgta import MCGTA
from mcgta.datasets import make_regions
from mcgta.positions.reading import read_positions
from mcgta.selection.field import Field
from mcgta.selection.merging import merge_path
from mcgta.selection.scoring import score
from mcgta.selection.search import PIECE, by_number, coarsest, join_count_ratio, nearest_rows, parted, sample, search


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


def make_field(X, *where):
    return Field.of(*arrange(X, *where)[:2])


# -------------------------------------------------------------------------------------------------------------- samples


def test_few_observations_are_all_taken():
    places = read_positions(None, 300)
    rows, same = sample(places, 0, most=300)
    assert rows.tolist() == list(range(300))
    assert same is places


def test_samples_of_series_are_whole_pieces_spread_evenly_each_a_group():
    places = read_positions(None, 20 * PIECE)
    rows, part = sample(places, 0, most=100, size=5 * PIECE)
    firsts = rows.reshape(-1, PIECE)[:, 0]
    np.testing.assert_array_equal(rows, (firsts[:, None] + np.arange(PIECE)).ravel())
    assert (firsts % PIECE == 0).all()
    assert (firsts[0], firsts[-1]) == (0, 19 * PIECE)
    assert firsts.size == 5
    assert np.ptp(np.diff(firsts)) <= PIECE
    np.testing.assert_array_equal(part.groups, np.repeat(np.arange(5), PIECE))
    np.testing.assert_array_equal(part.coordinates, places.coordinates[rows])


def test_pieces_do_not_reach_from_one_series_into_the_next():
    places = read_positions(None, 3000, groups=np.arange(3000) // 100)
    rows, part = sample(places, 0, most=100, size=500)
    assert 400 <= rows.size <= 600
    for code in np.unique(part.groups):
        inside = rows[part.groups == code]
        assert np.unique(places.groups[inside]).size == 1
        assert inside.size == 100


def test_samples_elsewhere_are_places_at_random_by_a_seed():
    places = read_positions(np.random.default_rng(0).uniform(size=(900, 2)), 900)
    rows, part = sample(places, 3, most=100, size=200)
    assert np.unique(rows).size == 200
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(part.coordinates, places.coordinates[rows])
    np.testing.assert_array_equal(sample(places, 3, most=100, size=200)[0], rows)
    assert not np.array_equal(sample(places, 4, most=100, size=200)[0], rows)


def places_of_many_kinds():
    rng = np.random.default_rng(1)
    plane, groups = rng.uniform(size=(60, 2)), np.arange(60) // 20
    table = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    yield "time", read_positions(np.cumsum(rng.exponential(size=60)), 60)
    yield "time in groups", read_positions(np.tile(np.arange(20.0), 3), 60, groups=groups)
    yield "plane", read_positions(plane, 60)
    yield "plane in groups", read_positions(plane, 60, groups=groups)
    yield "table", read_positions(table, 60, metric="precomputed")
    yield "table in groups", read_positions(table, 60, metric="precomputed", groups=groups)
    yield "globe", read_positions(plane * [360, 160] - [180, 80], 60, metric="haversine")


PLACES = dict(places_of_many_kinds())


@pytest.mark.parametrize("name", PLACES)
def test_the_nearest_row_is_the_nearest_of_the_group(name):
    places, rows = PLACES[name], np.array([3, 4, 5, 20, 21, 22, 40, 41])
    found = nearest_rows(places, rows)
    for i in range(60):
        away = [float(places.of_pairs(i, j)) for j in rows]
        assert away[found[i]] == pytest.approx(min(away))


@pytest.mark.parametrize("name", ["time in groups", "plane in groups", "table in groups"])
def test_groups_without_any_row_get_one_of_another(name):
    found = nearest_rows(PLACES[name], np.array([3, 4, 5, 40, 41]))
    assert ((found >= 0) & (found < 5)).all()


# ----------------------------------------------------------------------------------------------- comparing labellings


@pytest.mark.parametrize("seed", range(3))
def test_halves_of_one_gaussian_do_not_stand_apart_and_two_gaussians_do(seed):
    rng = np.random.default_rng(seed)
    one = make_field(rng.normal(size=(600, 2)))
    for line in (one.X[0], one.X[0] + one.X[1]):
        assert not parted(one, score(one, (line > np.median(line)).astype(np.int64)))
    labels = rng.integers(0, 2, 600)
    two = make_field(rng.normal(size=(600, 2)) + np.outer(labels, [4.0, 0.0]))
    assert parted(two, score(two, labels))
    assert not parted(two, score(two, np.zeros(600, dtype=np.int64)))
    split = np.where(labels == 1, 2, (two.X[1] > 0).astype(np.int64))
    assert not parted(two, score(two, split))


@pytest.mark.parametrize("where", [(), (np.random.default_rng(0).uniform(size=(200, 2)),)], ids=["time", "plane"])
def test_the_join_count_ratio_is_changes_over_those_of_labels_dealt_at_random(where):
    rng = np.random.default_rng(2)
    field = make_field(rng.normal(size=(200, 2)), *where)
    for labels in (np.arange(200) // 70, rng.integers(0, 3, 200), np.zeros(200, dtype=np.int64)):
        changes = sum(labels[i] != labels[j] for i, j in field.edges) / len(field.edges)
        pairs = sum(int(a != b) for a in labels for b in labels) / 200**2
        expected = changes / pairs if pairs else 0.0
        assert join_count_ratio(field, score(field, labels)) == pytest.approx(expected)


def test_the_best_of_each_number_comes_first_by_number_and_no_more_than_twelve():
    field = make_field(SERIES.X)
    few, many = np.arange(500) // 100, np.arange(500) * 13 // 500
    found = [score(field, labels) for labels in (many, few, SERIES.labels, few % 3)]
    listed = by_number(found, 1.0)
    assert [scored.clusters for scored in listed] == [3, 5]
    np.testing.assert_array_equal(listed[0].labels, found[2].labels)


def test_fewer_clusters_are_taken_unless_more_are_clearly_better():
    field = make_field(SERIES.X)
    one, truth = score(field, np.zeros(500, dtype=np.int64)), score(field, SERIES.labels)
    split = score(field, np.where((SERIES.labels == 0) & (np.arange(500) < 250), 3, SERIES.labels))
    for overdispersion in (1.0, 1.5):
        np.testing.assert_array_equal(coarsest(field, [split, truth, one], overdispersion).labels, truth.labels)
    assert coarsest(field, [split, truth, one], 4.0).clusters == 1  # what 125 observations say of 20 segments is little
    assert coarsest(field, [one], 1.0).clusters == 1


# ---------------------------------------------------------------------------------------------------------- merge paths


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("data", [SERIES, REGIONS], ids=["time", "plane"])
def test_a_merge_path_leads_to_one_cluster_by_fewer_at_each_step(data, mixed):
    X, places, _ = arrange(data.X, data.positions)
    field = Field.of(X, places)
    start = field.pieces(len(X) // 12)
    path = merge_path(field, start, mixed=mixed, independent=mixed)
    numbers = [scored.clusters for scored in path]
    assert numbers[0] <= start.max() + 1
    assert numbers[-1] == 1
    assert (np.diff(numbers) <= -1).all()
    for scored in path:
        assert scored.labels.shape == (len(X),)
        assert np.bincount(scored.labels).min() >= (field.d + 2 if scored.clusters > 1 else 1)
        assert scored.counts.sum() == len(X)


# ------------------------------------------------------------------------------------------------------------ the search


@pytest.mark.parametrize(
    ("data", "groups"),
    [(SERIES, None), (SERIES, np.arange(500) // 100), (REGIONS, None), (REGIONS, np.arange(400) % 2)],
    ids=["time", "series", "plane", "maps"],
)
def test_clusters_are_found_where_they_are_easy_to_tell(data, groups):
    X, places, truth = arrange(data.X, data.positions, groups, data.labels)
    field, found = search(X, places)
    assert found.best.clusters == np.unique(truth).size
    assert adjusted_rand_score(truth, found.labels) > 0.9
    assert len(field) == len(X)
    assert not found.mixed
    assert 1 in [scored.clusters for scored in found.others]


@pytest.mark.parametrize("place", ["time", "plane"])
def test_a_mixture_that_ignores_position_is_found(place):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 300)
    where = None if place == "time" else rng.uniform(size=(300, 2))
    X, places, truth = arrange(rng.normal(size=(300, 3)) + 8 * np.eye(3)[labels], where, None, labels)
    found = search(X, places)[1]
    assert found.mixed
    assert found.join_counts > 0.9
    assert adjusted_rand_score(truth, found.labels) == 1.0


@pytest.mark.parametrize("place", ["time", "plane"])
@pytest.mark.parametrize("seed", range(3))
def test_one_gaussian_is_one_cluster(seed, place):
    rng = np.random.default_rng(seed)
    X, places, _ = arrange(rng.normal(size=(300, 2)), None if place == "time" else rng.uniform(size=(300, 2)))
    found = search(X, places)[1]
    assert found.best.clusters == 1
    assert (found.labels == 0).all()


def test_many_short_series_are_searched_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(300), 12)
    truth = groups % 3
    X, places, truth = arrange(rng.normal(size=(3600, 2)) + 4.0 * truth[:, None], None, groups, truth)
    found = search(X, places)[1]
    assert found.best.clusters == 3
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
    monkeypatch.setattr(searching, "WHOLE", whole)
    monkeypatch.setattr(searching, "PART", 400)
    monkeypatch.setattr(searching, "sample", lambda places, seed, **_: sample(places, seed, most=800, size=600))
    field, found = search(X, places)
    assert (len(field) < len(X)) == (whole == 500)
    assert found.labels.size == len(X)
    assert found.best.clusters == everything.best.clusters == 3
    assert adjusted_rand_score(everything.labels, found.labels) > 0.9
    assert adjusted_rand_score(truth, found.labels) > 0.9


def test_neither_the_order_of_rows_nor_threads_change_what_a_sample_finds(monkeypatch):
    monkeypatch.setattr(searching, "sample", lambda places, seed, **_: sample(places, seed, most=300, size=250))
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
    assert [replace(found, join_counts=ratio).mixed for ratio in (0.1, 0.5, 0.6)] == [False, False, True]


@pytest.mark.parametrize("seed", [109, 121, 126])
def test_a_mixture_in_which_neighbours_agree_a_little_by_chance_keeps_its_clusters(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 3)) + 8 * np.eye(3)[truth]
    _, found = search(X, read_positions(None, 300))
    assert found.free
    assert adjusted_rand_score(truth, found.labels) > 0.99
