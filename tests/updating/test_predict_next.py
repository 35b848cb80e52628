"""What comes next: observations after those of a fit, beside them, or on another map get the clusters of a fit on all."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mcgta import MCGTA
from mcgta.datasets import make_regions, make_series

FOLDER = Path(os.environ.get("MCGTA_DATA", Path(__file__).parents[3] / "shared" / "data"))
UNLIKE = "unlike anything in the fit"
SEEDS = range(10)
FITTED = 1500


def predict_next(X, fitted, **where):
    """Fit the first rows and all; return both fits, labels of the rows that follow, and the warnings of their prediction."""
    before = {name: values[:fitted] for name, values in where.items()}
    after = {name: values[fitted:] for name, values in where.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = MCGTA().fit(X, **where)
        part = MCGTA().fit(X[:fitted], **before)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = part.predict(X[fitted:], **after)
    return part, whole, labels, [str(warned.message) for warned in caught]


@pytest.fixture(scope="module")
def next_rows():
    """Of ten series: the data, the fits on the first rows and on all, predicted labels, and warnings."""
    rows = []
    for seed in SEEDS:
        data = make_series(2000, random_state=seed)
        rows.append((data, *predict_next(data.X, FITTED, positions=data.positions)))
    return rows


@pytest.mark.slow
def test_the_next_rows_of_a_series_get_the_labels_of_a_fit_on_all(next_rows):
    scores = [adjusted_rand_score(whole.labels_[FITTED:], labels) for _, _, whole, labels, _ in next_rows]
    assert np.mean(scores) >= 0.95


@pytest.mark.slow
def test_the_next_rows_of_a_series_agree_with_the_truth_nearly_as_a_fit_on_all_does(next_rows):
    for seed, (data, _, whole, labels, _) in zip(SEEDS, next_rows, strict=True):
        truth = data.labels[FITTED:]
        own = adjusted_rand_score(truth, whole.labels_[FITTED:])
        assert adjusted_rand_score(truth, labels) >= 0.8 * own, seed


@pytest.mark.slow
def test_none_of_the_next_rows_of_a_series_is_noise(next_rows):
    for seed, (_, part, _, labels, _) in zip(SEEDS, next_rows, strict=True):
        assert part.labels_source_ == "evidence", seed
        assert (labels >= 0).all(), seed


@pytest.mark.slow
def test_a_state_that_the_fit_has_not_seen_is_told_of_and_nothing_else_is(next_rows):
    unseen = [bool(set(data.labels[FITTED:]) - set(data.labels[:FITTED])) for data, *_ in next_rows]
    told = [any(UNLIKE in said for said in messages) for *_, messages in next_rows]
    assert unseen[0]
    assert told == unseen


# ---------------------------------------------------------------------- real measurements

PIECE = 4160
LAST = 3 * PIECE // 4


def read_benchmark(name):
    path = FOLDER / name
    if not path.exists():
        pytest.skip("the benchmark data are not at hand; MCGTA_DATA names their folder")
    with np.load(path) as arrays:
        return arrays["X"].astype(float), arrays["y"]


@pytest.fixture(scope="module")
def vehicle():
    """Of four pieces of a drive: features, true states, fits on three quarters and on all, predictions, and warnings."""
    X, truth = read_benchmark("vehicle.npz")
    rows = []
    for first in range(0, 4 * PIECE, PIECE):
        piece = slice(first, first + PIECE)
        rows.append((X[piece], truth[piece], *predict_next(X[piece], LAST, positions=np.arange(float(PIECE)))))
    return rows


def taught(X, truth):
    """Return how well the last quarter is predicted by classifiers that are taught the true states of the rest."""
    scores = []
    for classifier in (QuadraticDiscriminantAnalysis(reg_param=1e-3), KNeighborsClassifier(25)):
        classifier = make_pipeline(StandardScaler(), classifier).fit(X[:LAST], truth[:LAST])
        scores.append(adjusted_rand_score(truth[LAST:], classifier.predict(X[LAST:])))
    return max(scores)


@pytest.mark.slow
def test_the_last_quarter_of_a_drive_gets_the_labels_of_a_fit_on_all_or_a_warning(vehicle):
    told = 0
    for X, truth, _, whole, labels, messages in vehicle:
        score = adjusted_rand_score(truth[LAST:], labels)
        if any(
            UNLIKE in said for said in messages
        ):  # who is taught the states of what came before does not know it, either
            told += 1
            assert score >= taught(X, truth)
        else:
            assert adjusted_rand_score(whole.labels_[LAST:], labels) >= 0.9
            assert score >= 0.8 * adjusted_rand_score(truth[LAST:], whole.labels_[LAST:])
    assert told == 1


@pytest.mark.slow
def test_noise_in_the_last_quarter_of_a_drive_is_at_most_twice_that_of_the_fit(vehicle):
    for _, _, part, _, labels, _ in vehicle:
        assert np.mean(labels < 0) <= 2 * part.noise_share_


@pytest.mark.slow
@pytest.mark.parametrize(("name", "fitted", "least"), [("pavement.npz", 800, 0.95), ("vehicle.npz", 12_480, 0.8)])
def test_the_end_of_a_whole_drive_gets_the_labels_of_a_fit_on_all(name, fitted, least):
    # Of Vehicle the first three quarters hold four states by evidence, and the whole five.
    X, truth = read_benchmark(name)
    _, whole, labels, messages = predict_next(X, fitted, positions=np.arange(float(len(X))))
    assert adjusted_rand_score(whole.labels_[fitted:], labels) >= least
    assert adjusted_rand_score(truth[fitted:], labels) >= 0.8 * adjusted_rand_score(
        truth[fitted:], whole.labels_[fitted:]
    )
    assert (labels >= 0).all()
    assert messages == []


# ---------------------------------------------------------------------- maps

MAPS = range(6)


def predict_rows(data, new, groups=None):
    """Return how labels of new rows agree with those of a fit on all, and how those of the fit on the others do."""
    where = {"positions": data.positions} if groups is None else {"positions": data.positions, "groups": groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = MCGTA().fit(data.X, **where)
        part = MCGTA().fit(data.X[~new], **{name: values[~new] for name, values in where.items()})
        labels = part.predict(data.X[new], **{name: values[new] for name, values in where.items()})
    assert (labels >= 0).all()
    return adjusted_rand_score(whole.labels_[new], labels), adjusted_rand_score(whole.labels_[~new], part.labels_)


@pytest.mark.slow
def test_places_between_those_of_a_fit_get_the_labels_of_a_fit_on_all():
    scores = []
    for seed in MAPS:
        data = make_regions(1500, random_state=seed)
        score, of_fit = predict_rows(data, np.random.default_rng(seed).random(1500) < 0.5)
        assert score >= 0.9 * of_fit, seed
        scores.append(score)
    assert np.mean(scores) >= 0.85


@pytest.mark.slow
def test_a_third_slide_gets_the_labels_of_a_fit_on_three():
    scores = []
    for seed in MAPS:
        data = make_regions(1500, random_state=seed)
        slides = np.random.default_rng(seed).integers(0, 3, 1500)
        score, of_fit = predict_rows(data, slides == 2, slides)
        assert score >= 0.9 * of_fit, seed
        scores.append(score)
    assert np.mean(scores) >= 0.8
