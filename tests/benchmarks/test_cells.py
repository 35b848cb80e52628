"""Cells have stable names, and their scores are those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score

from builders.versions import needs_new_sklearn
from measuring.scoring import score, score_ari
from paper.running.cells import SETTINGS, Cell

names = st.text("abc-0 =", min_size=1).map(lambda text: " ".join(text.split())).filter(bool)
cells = st.builds(Cell, names, names, names, st.sampled_from(SETTINGS), st.integers(0, 10**6))
labellings = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(low, 4), min_size=n, max_size=n) for low in (0, -1)))
)


def naive(truth, labels):
    """The three conventions of noise, written out as labels, and scored by scikit-learn."""
    truth = np.asarray(truth)
    labels = np.asarray(labels)
    kept = labels >= 0
    alone = labels.copy()
    alone[~kept] = 100 + np.arange((~kept).sum())
    return {
        "ari": 100 * adjusted_rand_score(truth, labels),
        "ami": 100 * adjusted_mutual_info_score(truth, labels),
        "nmi": 100 * normalized_mutual_info_score(truth, labels),
        "ari_singletons": 100 * adjusted_rand_score(truth, alone),
        "ari_left_out": 100 * adjusted_rand_score(truth[kept], labels[kept]) if kept.any() else None,
        "noise": 100 * np.mean(~kept),
        "clusters": len(set(labels[kept].tolist())),
        "true_clusters": len(set(truth.tolist())),
    }


def test_the_key_of_a_cell_is_what_files_are_known_by():
    assert Cell("baselines", "pavement", "mcgta-wo", "tuned", 3).key == "baselines/pavement/mcgta-wo/tuned/3"


@given(cells, cells)
def test_cells_share_a_key_only_if_they_are_equal(one, other):
    assert (one.key == other.key) == (one == other)
    assert Cell(**one.fields()) == one


@pytest.mark.parametrize(
    ("field", "value"),
    [("table", ""), ("data", "a/b"), ("method", " x"), ("method", "x\n"), ("setting", "best"), ("seed", -1)],
)
def test_a_cell_refuses_what_cannot_be_in_a_table(field, value):
    fields = {"table": "baselines", "data": "pavement", "method": "gmm", "setting": "free", "seed": 0}
    with pytest.raises(ValueError, match=f"^{field}={value!r}".replace("\\", "\\\\")):
        Cell(**{**fields, field: value})


@needs_new_sklearn("AMI of one class in one cluster is 0")
@given(labellings)
def test_scores_are_those_of_scikit_learn_whatever_is_noise(pair):
    truth, labels = pair
    found = score(truth, labels)
    wanted = naive(truth, labels)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name] == (value if value is None else pytest.approx(value, abs=1e-7)), name
    assert score_ari(truth, labels) == found["ari"]


@given(labellings, st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_the_order_of_rows_or_the_names_of_clusters(pair, random):
    truth, labels = map(np.asarray, pair)
    order = np.asarray(random.sample(range(truth.size), truth.size))
    renamed = np.where(labels < 0, -7, 9 - labels)
    for name, value in score(truth, labels).items():
        again = score(np.asarray(list("abcde"))[truth][order], renamed[order])[name]
        assert again == (value if value is None else pytest.approx(value, abs=1e-7)), name


def test_noise_only_is_one_class_that_says_nothing():
    found = score([0, 0, 1, 1], [-1, -1, -1, -1])
    assert (found["ari"], found["ami"], found["nmi"], found["ari_singletons"]) == (0, 0, 0, 0)
    assert (found["noise"], found["clusters"], found["ari_left_out"]) == (100, 0, None)


def test_every_observation_a_cluster_matches_classes_of_one():
    found = score(np.arange(50), np.arange(50))
    assert (found["ari"], found["ami"]) == (100, 100)
    assert found["nmi"] == pytest.approx(100)


def test_hundreds_of_thousands_of_rows_with_thousands_of_clusters_take_no_table_of_all_pairs():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 8, 700_000)
    labels = np.where(rng.random(truth.size) < 0.3, -1, truth * 5_000 + rng.integers(0, 5_000, truth.size))
    found = score(truth, labels)
    assert found["clusters"] == len(set(labels[labels >= 0].tolist()))
    assert found["ari"] == pytest.approx(100 * adjusted_rand_score(truth, labels))


@pytest.mark.parametrize(
    ("truth", "labels", "said"),
    [
        ([0, 1], [0, 1, 2], r"shape \(3,\)"),
        ([], [], "empty"),
        ([0, 1], [0.0, 1.0], "float64"),
        ([[0, 1]], [[0, 1]], r"shape \(1, 2\)"),
    ],
)
def test_scores_of_what_does_not_fit_together_are_refused(truth, labels, said):
    with pytest.raises(ValueError, match=said):
        score(truth, labels)
