"""What comes next: observations after those of a fit, beside them, or on another map get the clusters of a fit on all."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcgta import MCGTA
from mcgta.datasets import make_series

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
    unseen = [
        set(data.labels[FITTED:]) > set(data.labels[:FITTED])
        or bool(set(data.labels[FITTED:]) - set(data.labels[:FITTED]))
        for data, *_ in next_rows
    ]
    told = [any(UNLIKE in said for said in messages) for *_, messages in next_rows]
    assert unseen[0]
    assert told == unseen
