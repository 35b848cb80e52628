"""States that differ in how they move are found, and none where there are none."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcgta.datasets.dynamics import make_dynamics
from mcgta.positions.reading import read_positions
from mcgta.runtime.archive import read_archive
from mcgta.selection.families.dynamics.search import search_dynamics


@pytest.fixture(scope="module")
def sample():
    return make_dynamics(3000, n_clusters=3, n_features=3, random_state=0)


@pytest.fixture(scope="module")
def found(sample):
    return search_dynamics(sample.X, read_positions(sample.positions, len(sample.X)), seed=0)


def test_states_of_equal_mean_and_covariance_are_found(sample, found):
    assert adjusted_rand_score(sample.labels, found.best.labels) > 0.9


def test_one_cluster_is_a_candidate_and_gains_nothing(found):
    assert found.candidates[0].n_clusters == 1
    assert found.candidates[0].gain == 0
    assert found.gain(found.candidates[0].labels) == 0


def test_the_gain_of_a_candidate_is_that_of_its_labels(found):
    for candidate in found.candidates:
        assert found.gain(candidate.labels) == pytest.approx(candidate.gain)


def test_labels_without_meaning_lose_nats(sample, found):
    assert found.gain(np.random.default_rng(0).integers(0, 3, len(sample.X))) < 0
    assert found.gain(np.arange(len(sample.X)) // 700) < found.best.gain


@pytest.mark.parametrize("number", [1, 2, 5, 40])
def test_as_many_states_as_asked_for_are_found(sample, number):
    places = read_positions(sample.positions, len(sample.X))
    assert search_dynamics(sample.X, places, seed=0, n_clusters=number).best.n_clusters == number


def test_the_same_seed_finds_the_same(sample, found):
    again = search_dynamics(sample.X, read_positions(sample.positions, len(sample.X)), seed=0)
    np.testing.assert_array_equal(again.best.labels, found.best.labels)


def test_too_few_steps_and_places_that_are_no_time_are_left_alone(sample):
    assert search_dynamics(sample.X[:100], read_positions(sample.positions[:100], 100), seed=0) is None
    places = read_positions(np.random.default_rng(0).normal(size=(3000, 2)), 3000)
    assert search_dynamics(sample.X, places, seed=0) is None


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("persistence", [0.0, 0.5, 0.95, 1.0])
def test_no_state_is_found_in_a_series_without(channels, persistence):
    x = np.random.default_rng(3).normal(size=(1500, channels))
    for t in range(1, len(x)):
        x[t] += persistence * x[t - 1]
    assert search_dynamics(x, read_positions(np.arange(1500.0), 1500), seed=0).best.n_clusters == 1


def test_models_are_saved_and_give_the_same_densities(sample, found, tmp_path):
    models = found.models(found.best.labels)
    places = read_positions(sample.positions, len(sample.X))
    models.save(tmp_path / "models")
    densities = models.row_log_densities(sample.X, places)
    assert densities.shape == (3000, 3)
    np.testing.assert_array_equal(read_archive(tmp_path / "models").row_log_densities(sample.X, places), densities)


@pytest.fixture(scope="module")
def damped():
    return make_dynamics(3000, n_clusters=2, kind="damping", random_state=0)


def test_groups_share_states_and_change_for_nothing_between_them(damped):
    groups = np.arange(3000) // 1000
    places = read_positions(damped.positions, 3000, groups=groups)
    search = search_dynamics(damped.X, places, seed=0)
    assert adjusted_rand_score(damped.labels, search.best.labels) > 0.8


def test_rows_at_uneven_times_are_labelled(damped):
    rng = np.random.default_rng(0)
    kept = np.sort(rng.choice(3000, 2800, replace=False))
    search = search_dynamics(damped.X[kept], read_positions(damped.positions[kept], 2800), seed=0)
    assert search.best.labels.shape == (2800,)
    assert adjusted_rand_score(damped.labels[kept], search.best.labels) > 0.7
