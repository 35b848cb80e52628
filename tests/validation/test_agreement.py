"""Scores of agreement are scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score

from builders.versions import needs_new_sklearn
from mcgta.validation.agreement import (
    adjusted_mutual_information,
    adjusted_rand,
    count_together,
    normalized_mutual_information,
)
from mcgta.validation.labels import AgreementScore, read_labels

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 6)), min_size=1, max_size=60)


@needs_new_sklearn("AMI of one class in one cluster is 0")
@given(pairs=PAIRS)
def test_scores_are_those_of_scikit_learn(pairs):
    classes, clusters = np.array(pairs).T
    table = count_together(classes, clusters)
    assert adjusted_rand(table) == adjusted_rand_score(classes, clusters)
    mutual = adjusted_mutual_info_score(classes, clusters)
    assert adjusted_mutual_information(table) == pytest.approx(mutual, rel=1e-6, abs=1e-8)
    assert normalized_mutual_information(table) == pytest.approx(
        normalized_mutual_info_score(classes, clusters), rel=1e-9, abs=1e-12
    )


@given(pairs=PAIRS)
def test_noise_is_a_class_or_singletons_or_left_out(pairs):
    classes, clusters = np.array(pairs).T
    labels, rows = read_labels(classes, classes.size), np.arange(classes.size)
    assert AgreementScore("ari", "class")(labels, clusters, rows) == adjusted_rand_score(classes, clusters)
    alone = np.where(clusters < 0, 100 + rows, clusters)
    assert AgreementScore("ari", "singletons")(labels, clusters, rows) == adjusted_rand_score(classes, alone)
    inside = clusters >= 0
    wanted = adjusted_rand_score(classes[inside], clusters[inside]) if inside.any() else 0.0
    assert AgreementScore("ari", "left out")(labels, clusters, rows) == wanted


@pytest.mark.parametrize(
    ("y", "codes", "names"),
    [
        ([3, -1, 5, 3], [0, -1, 1, 0], [3, 5]),
        (["b", None, "a", float("nan")], [1, -1, 0, -1], ["a", "b"]),
        (np.array([1.0, np.nan, -1.0, 0.0]), [1, -1, -1, 0], [0, 1]),
        ([True, False, None, True], [1, 0, -1, 1], [False, True]),
        (np.array(["-1", "x", "x", "-1"]), [0, 1, 1, 0], ["-1", "x"]),
    ],
    ids=["integers", "text", "floats", "booleans", "text that looks like -1"],
)
def test_none_nan_and_the_number_minus_one_are_unknown(y, codes, names):
    labels = read_labels(y, 4)
    assert labels.codes.tolist() == codes
    assert labels.names.tolist() == names


def test_labels_are_read_from_frames():
    import pandas as pd
    import polars as pl

    for y in (pd.Series(["x", None, "y"]), pd.Categorical(["x", None, "y"]), pl.Series(["x", None, "y"])):
        assert read_labels(y, 3).codes.tolist() == [0, -1, 1]
    assert read_labels(pd.Series([4, pd.NA, 2], dtype="Int64"), 3).codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([1, 2], r"one label for each of the 3 rows of X, got shape \(2,\)"),
        ([[1], [2], [3]], r"got shape \(3, 1\)"),
        (None, r"got shape \(\)"),
        ([1, "a", 2], "y mixes integers and text"),
        ([0.5, 1.0, 2.0], "y holds 0.5 of type float; labels must be integers, text or booleans"),
        ([(1,), (2,), (3,)], "one label for each"),
    ],
)
def test_what_is_no_label_is_refused(y, said):
    with pytest.raises(ValueError, match=said):
        read_labels(y, 3)


def test_a_function_gets_the_users_labels_of_known_rows_and_must_return_a_number():
    seen = []

    def share(y, clusters):
        seen.append((y.tolist(), clusters.tolist()))
        return float(np.mean(clusters >= 0))

    labels = read_labels(["a", None, "b", "a"], 4)
    assert AgreementScore(share)(labels, np.array([0, 0, -1, 1]), np.arange(4)) == 2 / 3
    assert seen == [(["a", "b", "a"], [0, -1, 1])]
    with pytest.raises(ValueError, match="scoring: <lambda> returned nan; it must return a finite number"):
        AgreementScore(lambda y, clusters: float("nan"))(labels, np.zeros(4, int), np.arange(4))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            {"scoring": "rand"},
            "scoring='rand' is not allowed: scoring must be one of 'ari', 'ami', 'nmi', or a function",
        ),
        ({"scoring": None}, "scoring=None is not allowed"),
        ({"noise": "left_out"}, "noise='left_out' is not allowed: noise must be one of .*did you mean 'left out'"),
    ],
)
def test_unknown_scores_are_refused(params, said):
    with pytest.raises(ValueError, match=said):
        AgreementScore(**params)
