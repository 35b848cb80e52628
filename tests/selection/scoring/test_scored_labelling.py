"""What a labelling is worth: the nats that write it down, and tails that do not take rows far off for a cluster."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from mcgta.positions.reading import read_positions
from mcgta.selection.scoring.scored_labelling import (
    change_cost,
    close_gaps,
    fit_clusters,
    label_code_length,
    row_log_densities,
    score,
)
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.scoring.tails import GAUSSIAN, STUDENT_T, Tails
from mcgta.selection.search import max_evidence

INDEPENDENT = np.zeros(2, dtype=np.int64)


def make_scoring_data(X, positions=None, groups=None):
    """Rows prepared, brought into canonical order first."""
    places = read_positions(positions, len(X), groups=groups)
    order = places.order(X)
    return ScoringData.of(X[order], places.take(order))


# ------------------------------------------------------------------------------------------------ writing labels down


def one_by_one(labels):
    """Nats of labels dealt one after another, each as probable as its cluster is so far, plus one."""
    size, seen, nats = max(labels) + 1, [0] * (max(labels) + 1), 0.0
    for row, k in enumerate(labels):
        nats -= math.log((seen[k] + 1) / (row + size))
        seen[k] += 1
    return nats


def by_changes(labels, edges, groups, *, at_a_rate):
    """Nats of the changes along edges, each to one of the others, and of the first labels of all groups but one."""
    size, changes = max(labels) + 1, 0
    for i, j in edges:
        changes += labels[i] != labels[j]
    choices = math.comb(len(edges), changes) * (len(edges) + 1) if at_a_rate else len(edges) ** changes
    where = math.log(choices)
    return where + changes * math.log(size - 1) + (groups - 1) * math.log(size)


def labellings(count):
    rng = np.random.default_rng(count)
    yield "segments", np.arange(count) * 3 // count
    yield "dice", close_gaps(rng.integers(0, 3, count))
    yield "a rare one", close_gaps((np.arange(count) % 17 == 3).astype(int))
    yield "two", np.arange(count) * 2 // count


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("place", ["time", "plane"])
def test_labels_are_written_down_by_changes_or_one_by_one_whichever_is_shorter(place, groups):
    rng = np.random.default_rng(groups)
    codes = np.arange(90) * groups // 90
    positions = None if place == "time" else rng.uniform(0, 5, (90, 2))
    scoring_data = make_scoring_data(rng.normal(size=(90, 2)), positions, codes if groups > 1 else None)
    shorter = set()
    for name, labels in labellings(90):
        counts = np.bincount(labels).astype(float)
        label_nats, full = label_code_length(scoring_data, labels, counts)
        changes = by_changes(labels.tolist(), scoring_data.edges.tolist(), groups, at_a_rate=place == "plane")
        alone = one_by_one(labels.tolist())
        assert label_nats == pytest.approx(min(changes, alone)), name
        assert full == pytest.approx(
            by_changes(labels.tolist(), scoring_data.edges.tolist(), groups, at_a_rate=False)
        ), name
        shorter.add(changes < alone)
    assert shorter == {True, False}


def test_edges_join_all_rows_of_a_group_and_no_two_groups():
    rng = np.random.default_rng(0)
    for positions in (None, rng.uniform(0, 5, (90, 2))):
        scoring_data = make_scoring_data(rng.normal(size=(90, 2)), positions, np.arange(90) // 30)
        assert len(scoring_data.edges) == 90 - 3
        groups = scoring_data.places.groups
        assert (groups[scoring_data.edges[:, 0]] == groups[scoring_data.edges[:, 1]]).all()


def test_one_cluster_takes_nothing_to_write_down():
    scoring_data = make_scoring_data(np.random.default_rng(0).normal(size=(20, 2)))
    assert label_code_length(scoring_data, np.zeros(20, dtype=int), np.array([20.0])) == (0.0, 0.0)


def test_a_change_is_one_of_so_many_edges_to_one_of_the_others():
    assert change_cost(99, 4) == pytest.approx(math.log(99) + math.log(3))
    assert change_cost(0, 1) == 0.0


# --------------------------------------------------------------------------------------------------------------- tails


def student(seed, count=300):
    """Rows of Student's t with three degrees of freedom, correlated."""
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 1.0]], count)
    return X / np.sqrt(rng.chisquare(3, count) / 3)[:, None]


def likeliest_student(X, degrees_of_freedom, rounds=300):
    """The largest log-likelihood of one cluster of Student's t, by EM, row by row."""
    (count, d), mean, covariance = X.shape, X.mean(axis=0), np.cov(X.T, bias=True)
    for _ in range(rounds):
        inverse = np.linalg.inv(covariance)
        weights = np.array(
            [(degrees_of_freedom + d) / (degrees_of_freedom + (x - mean) @ inverse @ (x - mean)) for x in X]
        )
        mean = (weights[:, None] * X).sum(axis=0) / weights.sum()
        covariance = (weights[:, None] * (X - mean)).T @ (X - mean) / count
    return float(multivariate_t(mean, covariance, df=degrees_of_freedom).logpdf(X).sum())


def fit_one(scoring_data, tails, **steps):
    """One cluster of some tails."""
    labels = np.zeros(len(scoring_data), dtype=np.int64)
    found = score(scoring_data, labels, correlations=INDEPENDENT)
    whitened = scoring_data.whiten_by(labels, INDEPENDENT)
    return fit_clusters(whitened, labels, tails, found.marginal()[1], **steps)


@pytest.mark.parametrize("degrees_of_freedom", [3.0, 6.0])
@pytest.mark.parametrize("seed", range(3))
def test_one_cluster_of_students_t_is_about_as_likely_as_it_can_be(seed, degrees_of_freedom):
    scoring_data = make_scoring_data(student(seed))
    best = likeliest_student(scoring_data.X.T, degrees_of_freedom)
    assert fit_one(scoring_data, Tails(degrees_of_freedom), steps=60).log_likelihood == pytest.approx(best, abs=0.01)
    assert best - 2.5 < fit_one(scoring_data, Tails(degrees_of_freedom)).log_likelihood <= best + 1e-6


def test_a_prior_that_rows_far_off_have_pulled_does_not_hold_the_covariance():
    X = student(1)
    X[::60] *= 40
    scoring_data = make_scoring_data(X)
    fitted = fit_one(scoring_data, Tails(3.0), steps=60)
    near = np.delete(scoring_data.X.T, np.s_[::60], axis=0)
    widths = np.linalg.norm(
        np.linalg.inv(fitted.gaussians.inverse[0]), axis=1
    )  # of the scatter that three degrees of freedom have
    np.testing.assert_allclose(widths, np.quantile(np.abs(near), 0.608, axis=0), rtol=0.2)
    assert fitted.weights[::60].max() < np.median(fitted.weights)


def test_weights_are_those_of_the_definition():
    distances = np.array([0.0, 0.5, 3.0, 100.0])
    np.testing.assert_allclose(Tails(4.0).weights(distances, 2), [6 / (4 + q) for q in distances])
    near = [multivariate_normal.pdf([math.sqrt(q), 0], cov=np.eye(2)) * 0.9 for q in distances]
    far = [multivariate_normal.pdf([math.sqrt(q), 0], cov=25 * np.eye(2)) * 0.1 for q in distances]
    expected = [(a + b / 25) / (a + b) for a, b in zip(near, far, strict=True)]
    np.testing.assert_allclose(Tails(outlier_share=0.1, outlier_spread=25.0).weights(distances, 2), expected)
    np.testing.assert_allclose(
        np.exp(Tails(outlier_share=0.1, outlier_spread=25.0).log_density(distances, 2)), np.add(near, far)
    )
    assert (GAUSSIAN.weights(distances, 2) == 1).all()


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_students_t_are_one_cluster_rather_than_two(seed):
    X = student(seed)
    scoring_data, rng = make_scoring_data(X), np.random.default_rng(seed)
    size = np.linalg.norm(X, axis=1)
    one = score(scoring_data, np.zeros(300, dtype=np.int64))
    assert one.tails in STUDENT_T[2:]
    splits = {
        "halves": np.arange(300) // 150,
        "dice": close_gaps(rng.integers(0, 2, 300)),
        "far": (size > np.quantile(size, 0.9)).astype(int),
        "sides": (X[:, 0] > np.median(X[:, 0])).astype(int),
        "calm": (np.convolve(size, np.ones(15) / 15, "same") > size.mean()).astype(int),
    }
    for name, labels in splits.items():
        assert one.log_evidence() - 2.0 > score(scoring_data, labels).log_evidence(), name


def test_gaussian_rows_have_gaussian_tails_and_some_strays_are_told_from_them():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    labels = np.zeros(400, dtype=np.int64)
    plain = score(make_scoring_data(X), labels)
    assert (plain.tails, plain.tail_nats) == (GAUSSIAN, 0.0)
    X[::50] += rng.normal(0, 20, (8, 2))
    stray = score(make_scoring_data(X), labels)
    assert stray.tails.outlier_share > 0
    assert stray.tail_nats > 100


def test_given_tails_and_dependence_are_kept():
    scoring_data, labels = make_scoring_data(student(0)), np.arange(300) // 100
    found = score(scoring_data, labels, correlations=np.array([3, 1]), tails=Tails(6.0))
    assert found.correlations.tolist() == [3, 1]
    assert found.tails == Tails(6.0)
    free = score(scoring_data, labels)
    again = score(scoring_data, labels, correlations=free.correlations, tails=free.tails)
    assert again.log_evidence() == pytest.approx(free.log_evidence(), abs=5)


# ------------------------------------------------------------------------------------------------------------ the whole


@pytest.mark.parametrize(
    "tails",
    [GAUSSIAN, Tails(3.0), Tails(outlier_share=0.1, outlier_spread=25.0)],
    ids=["gaussian", "t", "outlier_share"],
)
def test_log_densities_are_those_of_rows_in_their_clusters(tails):
    scoring_data, labels = make_scoring_data(student(2)), np.arange(300) // 150
    found = score(scoring_data, labels, correlations=INDEPENDENT, tails=tails)
    whitened = scoring_data.whiten_by(labels, INDEPENDENT)
    fitted = fit_clusters(whitened, labels, tails, found.marginal()[1])
    clusters = fitted.gaussians
    densities = row_log_densities(scoring_data, found)
    assert densities.sum() == pytest.approx(fitted.log_likelihood)
    for i in range(0, 300, 37):
        root = np.linalg.inv(clusters.inverse[labels[i]])
        square = float(np.sum((clusters.inverse[labels[i]] @ (scoring_data.X[:, i] - clusters.means[labels[i]])) ** 2))
        expected = float(tails.log_density(np.array([square]), 2)[0]) - np.linalg.slogdet(root)[1]
        assert densities[i] == pytest.approx(expected)


def test_what_clusters_are_called_does_not_matter_and_empty_numbers_are_left_out():
    scoring_data, labels = make_scoring_data(student(4)), np.arange(300) // 100
    found, other = score(scoring_data, labels), score(scoring_data, np.array([7, 0, 3])[labels])
    assert other.n_clusters == 3
    assert other.log_evidence() == pytest.approx(found.log_evidence())
    assert found.log_evidence(2.0) != found.log_evidence()
    assert found.log_evidence(by_place=True) == pytest.approx(
        found.log_evidence() - (found.label_nats_by_place - found.label_nats)
    )


# ------------------------------------------------------------------------------------------------ evidence that is no number


@pytest.mark.parametrize("nats", [math.nan, math.inf, -math.inf])
def test_evidence_that_is_no_number_is_behind_all_other_and_never_chosen(nats):
    rng = np.random.default_rng(0)
    scored = score(make_scoring_data(rng.normal(size=(40, 2))), np.zeros(40, dtype=np.int64))
    broken = replace(scored, whitening_nats=nats)
    assert broken.log_evidence() == -math.inf
    assert max_evidence([broken, scored], 1.0) is scored
    with pytest.raises(ValueError, match="the evidence of no labelling is a finite number"):
        max_evidence([broken], 1.0)
