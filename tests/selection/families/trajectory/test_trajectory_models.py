"""Trajectory models: densities of rows, paths that keep to a record, saving."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcgta.datasets import make_gestures
from mcgta.kernels.evidence.chances import path_chances
from mcgta.kernels.evidence.relabel import best_path
from mcgta.positions.reading import read_positions
from mcgta.runtime.archive import read_archive
from mcgta.selection.families.trajectory.search import search_trajectory

N_RECORDS = 60
LENGTH = 80
FITTED = 45 * LENGTH
SAMPLE = make_gestures(N_RECORDS, record_length=LENGTH, n_types=4, random_state=4)
TIMES = np.tile(np.arange(float(LENGTH)), N_RECORDS)
GROUPS = np.repeat(np.arange(N_RECORDS), LENGTH)


def places_of(rows, *, grouped):
    if grouped:
        return read_positions(TIMES[rows], TIMES[rows].size, groups=GROUPS[rows])
    times = np.arange(float(len(SAMPLE.X)))[rows]
    return read_positions(times, times.size)


def fit(*, grouped):
    rows = slice(0, FITTED)
    found = search_trajectory(SAMPLE.X[rows], places_of(rows, grouped=grouped), seed=0)
    return found, found.models(found.best.labels)


def follow(models, rows, *, grouped):
    """The best path and the probabilities of rows."""
    places = places_of(rows, grouped=grouped)
    densities = models.row_log_densities(SAMPLE.X[rows], places)
    labels = np.empty(len(densities), dtype=np.int64)
    best_path(densities, densities, places.group_starts, models.change_cost, labels)
    chances = np.empty_like(densities)
    path_chances(densities, densities, places.group_starts, models.change_cost, chances)
    return labels, chances


@pytest.mark.parametrize("grouped", [True, False])
def test_rows_of_the_fit_and_of_new_records_are_placed_with_their_type(grouped):
    found, models = fit(grouped=grouped)
    assert models.constant
    labels, chances = follow(models, slice(0, FITTED), grouped=grouped)
    assert np.array_equal(labels, found.best.labels)
    new, chances = follow(models, slice(FITTED, None), grouped=grouped)
    assert adjusted_rand_score(SAMPLE.labels[FITTED:], new) == 1.0
    assert (chances[np.arange(new.size), new] > 0.9).all()


def test_rows_that_go_on_an_old_record_have_its_phase():
    _, models = fit(grouped=True)
    rows = slice(LENGTH // 2, LENGTH)
    here = places_of(rows, grouped=True)
    records = models.rule.apply(here)
    np.testing.assert_allclose(records.phases, np.arange(LENGTH // 2, LENGTH) / (LENGTH - 1))
    new = models.rule.apply(read_positions(here.coordinates[:, 0], len(here), groups=np.full(len(here), 999)))
    assert new.phases[0] == 0


def test_a_record_counts_half_at_its_first_row_and_half_at_its_last():
    _, models = fit(grouped=True)
    densities = models.row_log_densities(SAMPLE.X[:LENGTH], places_of(slice(0, LENGTH), grouped=True))
    assert (densities[1:-1] == 0).all()
    np.testing.assert_array_equal(densities[0], densities[-1])


def test_models_of_labels_that_switch_within_records_have_densities_row_by_row():
    found, _ = fit(grouped=True)
    labels = found.best.labels.copy()
    labels[: LENGTH // 2] = (labels[0] + 1) % 4
    labels[LENGTH : 2 * LENGTH] = -1
    models = found.models(labels)
    assert not models.constant
    assert len(models) == 4
    densities = models.row_log_densities(SAMPLE.X[:LENGTH], places_of(slice(0, LENGTH), grouped=True))
    assert (densities != 0).all()
    assert np.isneginf(found.gain(np.where(labels < 0, 0, labels)))


def test_noise_has_no_part_in_models_and_leaves_labels_constant():
    found, whole = fit(grouped=True)
    labels = found.best.labels.copy()
    labels[: LENGTH // 2] = -1
    labels[LENGTH : 2 * LENGTH] = -1
    models = found.models(labels)
    assert models.constant
    assert len(models) == len(whole)


def test_models_are_saved_and_loaded_and_renumbered(tmp_path):
    _, models = fit(grouped=False)
    models.save(tmp_path / "models.mcgta")
    loaded = read_archive(tmp_path / "models.mcgta")
    rows = slice(FITTED, None)
    places = places_of(rows, grouped=False)
    densities = models.row_log_densities(SAMPLE.X[rows], places)
    assert np.array_equal(loaded.row_log_densities(SAMPLE.X[rows], places), densities)
    rank = np.array([2, 0, 3, 1])
    again = loaded.renumbered(rank).row_log_densities(SAMPLE.X[rows], places)
    np.testing.assert_allclose(again[:, rank], densities)
