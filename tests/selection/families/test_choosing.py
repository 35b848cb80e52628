"""Which family labels are of, as users see it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import mcgta
from mcgta import MCGTA
from mcgta.datasets import make_dynamics, make_gestures, make_mixed_regions, make_regions, make_series

MOVES = make_dynamics(1500, n_clusters=2, n_features=1, kind="periods", segment_lengths=(200, 400), random_state=3)
MIXED = make_mixed_regions(1200, n_clusters=3, n_kinds=5, n_features=5, separation=8.0, random_state=3)
GESTURES = make_gestures(40, record_length=60, n_types=3, random_state=1)
RECORDS = np.repeat(np.arange(40), 60)
CLOCK = np.tile(np.arange(60.0), 40)


def fitted(X, positions=None, groups=None, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MCGTA(progress=False, **params).fit(X, positions=positions, groups=groups)


@pytest.fixture(scope="module")
def moving():
    return fitted(MOVES.X)


@pytest.fixture(scope="module")
def mixed():
    return fitted(MIXED.X, MIXED.positions)


@pytest.fixture(scope="module")
def records():
    return fitted(GESTURES.X, CLOCK, RECORDS)


def test_states_that_differ_in_how_they_move_are_found_and_told(moving):
    assert moving.family_ == "dynamics"
    assert adjusted_rand_score(MOVES.labels, moving.labels_) > 0.8
    assert any("how they move" in note for note in moving.choice_.notes)
    assert moving.choice_.family_gains["dynamics"] > moving.choice_.family_gains["level"]


def test_a_description_tells_how_states_move(moving):
    described = moving.describe()
    assert all(cluster.motion is not None for cluster in described.clusters)
    assert "period" in str(described)


def test_records_that_follow_different_curves_are_found_and_told(records):
    assert records.family_ == "trajectory"
    assert adjusted_rand_score(GESTURES.labels, records.labels_) > 0.9
    assert any(note.startswith("records follow") for note in records.choice_.notes)


def test_regions_of_mixed_kinds_are_found_with_their_kinds(mixed):
    assert mixed.family_ == "composition"
    assert adjusted_rand_score(MIXED.labels, mixed.labels_) > 0.5
    assert adjusted_rand_score(MIXED.kinds, mixed.kinds_) > 0.8
    shares = mixed.family_models_.kind_shares
    assert shares.shape[0] == mixed.n_clusters_
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert "of kind" in str(mixed.describe())


@pytest.mark.parametrize("family", ["moving", "mixed", "records"])
def test_a_file_gives_the_same_labels_probabilities_and_predictions(request, tmp_path, family):
    model = request.getfixturevalue(family)
    model.save(tmp_path / "fit")
    again = mcgta.load(tmp_path / "fit")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.membership_probabilities_, model.membership_probabilities_)
    assert again.family_ == model.family_


@pytest.mark.parametrize("family", ["moving", "mixed", "records"])
def test_probabilities_sum_to_one_and_agree_with_most_labels(request, family):
    model = request.getfixturevalue(family)
    np.testing.assert_allclose(model.membership_probabilities_.sum(axis=1), 1.0)
    assert np.mean(model.membership_probabilities_.argmax(axis=1) == model.labels_) > 0.85


def test_what_comes_next_is_placed_by_how_it_moves():
    model = fitted(MOVES.X[:1100])
    placed = model.predict(MOVES.X[1100:])
    assert adjusted_rand_score(MOVES.labels[1100:], placed) > 0.5


def test_a_new_record_is_placed_by_its_curve():
    known = RECORDS < 30
    model = fitted(GESTURES.X[known], CLOCK[known], RECORDS[known], family="trajectory")
    placed = model.predict(GESTURES.X[~known], positions=CLOCK[~known], groups=RECORDS[~known])
    assert adjusted_rand_score(GESTURES.labels[~known], placed) > 0.9


def test_new_places_are_placed_by_the_kinds_around_them():
    rng = np.random.default_rng(0)
    known = rng.uniform(size=len(MIXED.X)) < 0.8
    model = fitted(MIXED.X[known], MIXED.positions[known], family="composition", n_clusters=3)
    placed = model.predict(MIXED.X[~known], positions=MIXED.positions[~known])
    assert adjusted_rand_score(MIXED.labels[~known], placed) > 0.5


def test_appended_rows_keep_the_family(moving):
    model = fitted(MOVES.X[:1200]).append(MOVES.X[1200:])
    assert model.family_ == "dynamics"
    assert adjusted_rand_score(moving.labels_, model.labels_) > 0.8


def test_levels_stay_levels_and_the_family_can_be_fixed():
    data = make_series(800, n_clusters=3, segment_lengths=(20, 40), random_state=4)
    free = fitted(data.X)
    fixed = fitted(data.X, family="level")
    assert free.family_ == fixed.family_ == "level"
    np.testing.assert_array_equal(free.labels_, fixed.labels_)
    assert fixed.kinds_ is None
    assert fixed.family_models_ is None


def test_phases_of_a_cycle_are_told_and_given_on_request():
    wave = np.sign(np.sin(2 * np.pi * np.arange(1500) / 50))[:, None]
    X = wave + 0.3 * np.random.default_rng(0).normal(size=wave.shape)
    free = fitted(X)
    assert free.n_clusters_ == 1
    assert any("phases of one cycle" in note for note in free.choice_.notes)
    assert fitted(X, family="level").n_clusters_ == 2


@pytest.mark.parametrize("family", ["dynamics", "trajectory"])
def test_a_family_of_time_is_refused_in_space(family):
    data = make_regions(300, random_state=0)
    with pytest.raises(ValueError, match=f"family='{family}' is not possible here: it needs positions that are times"):
        fitted(data.X, data.positions, family=family)


def test_families_are_refused_with_the_clusterers_labels():
    with pytest.raises(ValueError, match="family='dynamics' and refine='none' cannot both be set"):
        fitted(MOVES.X, family="dynamics", refine="none")


def test_an_unknown_family_is_refused():
    with pytest.raises(ValueError, match="family='motion'"):
        fitted(MOVES.X, family="motion")


@pytest.mark.parametrize("number", [2, 3])
def test_a_number_of_states_that_move_is_kept_to(number):
    assert fitted(MOVES.X, family="dynamics", n_clusters=number).n_clusters_ == number


def test_neither_rows_in_another_order_nor_threads_change_the_labels(moving):
    order = np.random.default_rng(0).permutation(len(MOVES.X))
    shuffled = fitted(MOVES.X[order], np.asarray(MOVES.positions)[order], n_jobs=2)
    np.testing.assert_array_equal(shuffled.labels_, moving.labels_[order])
