"""Tuning by Optuna, and by scikit-learn's own searches."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import optuna
import pytest
import sklearn
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from mcgta import MCGTA, BlockSplit, LabelScorer, tune

SPACE = {
    "n_neighbors": [4, 6],
    "beta": [0.0, 2.0],
    "margin": [0.0, 1.0],
    "min_samples": [4, 10],
    "eps": [0.5, 1.0, 2.0],
}
PLAIN = {"dissimilarity": "wasserstein2", "semivariogram": "empirical", "beta": 1.0, "margin": 0.0, "min_samples": 5}


def propose(series, y=None, **options):
    options = {"grid": SPACE, "folds": 3, "search": "optuna", "trials": 15, **options}  # TPE listens after 10
    return tune(series.X, series.truth if y is None else y, positions=series.positions, **options)


def place(search):
    """Where the search has the setting that the tests look at."""
    return search.cv_results_["params"].index({"n_neighbors": 4, "eps": 2.0})


def test_optuna_gives_the_same_result_every_time(series):
    one, other, seeded = propose(series), propose(series), propose(series, random_state=1)
    assert one.settings == other.settings
    assert one.folds == other.folds
    assert one.best_params == other.best_params
    assert [row["beta"] for row in one.settings] != [row["beta"] for row in seeded.settings]


def test_optuna_stays_within_the_grid_and_reads_every_radius_off_one_tree(series):
    found = propose(series, trials=5)
    for row in found.settings:
        assert row["n_neighbors"] in (4, 6)
        assert 0 <= row["beta"] <= 2
        assert 0 <= row["margin"] <= 1
        assert row["min_samples"] in range(4, 11)
    assert len(found.settings) % 3 == 0
    assert 15 <= len(found.settings) <= 5 * 4 * 3
    assert any(row["beta"] not in SPACE["beta"] for row in found.settings)


def test_optuna_finds_what_a_grid_finds(series):
    found, grid = propose(series, trials=20), propose(series, search="grid", trials=None)
    assert found.best_score >= grid.best_score - 0.05
    assert found.best_score == adjusted_rand_score(series.truth, found.best_estimator.labels_)


def test_optuna_chooses_between_grids(series):
    grids = [SPACE, {**SPACE, "clusterer": ["hdbscan", "optics"], "eps": [0.0, 1.0]}]
    found = propose(series, grid=grids, trials=15)
    assert {row["clusterer"] for row in found.settings} == {"dbscan", "hdbscan", "optics"}


def test_a_study_is_told_nothing_of_the_labels_held_out_in_its_fold(series):
    def as_much_noise_as_ones(y, clusters):
        return -abs(np.mean(clusters < 0) - np.mean(y))

    space = {**SPACE, "beta": [0.0, 20.0], "min_samples": [2, 30], "eps": [0.08]}
    options = {"grid": space, "scoring": as_much_noise_as_ones, "trials": 25}
    before, changed = propose(series, **options), 0
    for k, (_, held) in enumerate(BlockSplit(3).split(series.X, positions=series.positions)):
        y = series.truth.copy()
        y[held], y[held[0]] = 1, 0
        after = propose(series, y=y, **options)
        assert after.folds[k].params == before.folds[k].params
        changed += after.best_params != before.best_params
    assert changed == 3


def test_optuna_keeps_its_logging_as_it_was(series):
    before = optuna.logging.get_verbosity()
    propose(series, trials=1)
    assert optuna.logging.get_verbosity() == before


def test_without_optuna_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['optuna'] = None; import mcgta, numpy as np; "
        "mcgta.tune(np.zeros((50, 2)), [0, 1] * 25, search='optuna')"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: search='optuna' needs Optuna: pip install 'mcgta[tune]'" in done.stderr


def test_grid_search_of_scikit_learn_works_without_positions(series):
    search = GridSearchCV(
        MCGTA(**PLAIN), {"n_neighbors": [4, 6], "eps": [0.1, 2.0]}, cv=BlockSplit(3), scoring="adjusted_rand_score"
    ).fit(series.X, series.truth)
    assert search.cv_results_["mean_test_score"].shape == (4,)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["eps"] == 2.0
    train, held = next(BlockSplit(3).split(series.X))
    fitted = MCGTA(**PLAIN, n_neighbors=4, eps=2.0).fit(series.X[train])
    wanted = adjusted_rand_score(series.truth[held], fitted.predict(series.X[held]))
    assert search.cv_results_["split0_test_score"][place(search)] == wanted


@pytest.mark.filterwarnings("ignore:.* new observations are noise")  # of those held out, with eps=0.1
@pytest.mark.parametrize("grouped", [False, True], ids=["one series", "groups"])
def test_grid_search_of_scikit_learn_works_with_positions(series, grouped):
    extra = {"positions": series.positions}
    if grouped:
        extra["groups"] = np.repeat(["a", "b", "c"], 40)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            MCGTA(**PLAIN).set_fit_request(positions=True, groups=True),
            {"n_neighbors": [4, 6], "eps": [0.1, 2.0]},
            cv=BlockSplit(3),
            scoring=LabelScorer("ari"),
            error_score="raise",
        ).fit(series.X, series.truth, **extra)
    assert search.best_params_["eps"] == 2.0
    assert search.best_score_ > 0.5
    for k, (train, held) in enumerate(BlockSplit(3).split(series.X, **extra)):
        if grouped:
            assert np.unique(extra["groups"][held]).size == 1
        fitted = MCGTA(**PLAIN, n_neighbors=4, eps=2.0).fit(
            series.X[train], **{name: values[train] for name, values in extra.items()}
        )
        found = fitted.predict(series.X[held], **{name: values[held] for name, values in extra.items()})
        wanted = adjusted_rand_score(series.truth[held], found)
        assert search.cv_results_[f"split{k}_test_score"][place(search)] == wanted
    assert search.best_estimator_.positions_.unit == ""


def test_a_scorer_leaves_unknown_labels_out(series):
    y = series.truth.copy()
    y[::2] = -1
    scores = cross_val_score(
        MCGTA(**PLAIN, n_neighbors=6, eps=2.0),
        series.X,
        y,
        cv=BlockSplit(3),
        scoring=LabelScorer("ami", noise="left out"),
    )
    assert scores.shape == (3,)
    assert (scores > 0.5).all()
    assert repr(LabelScorer("ami", noise="left out")) == "LabelScorer('ami', noise='left out')"
