"""What a labelling is worth: the nats that write it down, and tails that do not take rows far off for a cluster."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from mcgta.positions.reading import read_positions
from mcgta.selection.field import Field
from mcgta.selection.scoring import compact, estimate, fit_tails, log_densities, score, switch_cost, write_down
from mcgta.selection.tails import GAUSSIAN, HEAVY, Tails

INDEPENDENT = np.zeros(2, dtype=np.int64)


def make_field(X, positions=None, groups=None):
    """A field of rows that are in canonical order already, but for those in the plane, which are sorted."""
    places = read_positions(positions, len(X), groups=groups)
    order = places.order(X)
    return Field.of(X[order], places.take(order))


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
    yield "dice", compact(rng.integers(0, 3, count))
    yield "a rare one", compact((np.arange(count) % 17 == 3).astype(int))
    yield "two", np.arange(count) * 2 // count


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("place", ["time", "plane"])
def test_labels_are_written_down_by_changes_or_one_by_one_whichever_is_shorter(place, groups):
    rng = np.random.default_rng(groups)
    codes = np.arange(90) * groups // 90
    positions = None if place == "time" else rng.uniform(0, 5, (90, 2))
    field = make_field(rng.normal(size=(90, 2)), positions, codes if groups > 1 else None)
    shorter = set()
    for name, labels in labellings(90):
        counts = np.bincount(labels).astype(float)
        code, full = write_down(field, labels, counts)
        changes = by_changes(labels.tolist(), field.edges.tolist(), groups, at_a_rate=place == "plane")
        alone = one_by_one(labels.tolist())
        assert code == pytest.approx(min(changes, alone)), name
        assert full == pytest.approx(by_changes(labels.tolist(), field.edges.tolist(), groups, at_a_rate=False)), name
        shorter.add(changes < alone)
    assert shorter == {True, False}


def test_edges_join_all_rows_of_a_group_and_no_two_groups():
    rng = np.random.default_rng(0)
    for positions in (None, rng.uniform(0, 5, (90, 2))):
        field = make_field(rng.normal(size=(90, 2)), positions, np.arange(90) // 30)
        assert len(field.edges) == 90 - 3
        groups = field.places.groups
        assert (groups[field.edges[:, 0]] == groups[field.edges[:, 1]]).all()


def test_one_cluster_takes_nothing_to_write_down():
    field = make_field(np.random.default_rng(0).normal(size=(20, 2)))
    assert write_down(field, np.zeros(20, dtype=int), np.array([20.0])) == (0.0, 0.0)


def test_a_change_is_one_of_so_many_edges_to_one_of_the_others():
    assert switch_cost(99, 4) == pytest.approx(math.log(99) + math.log(3))
    assert switch_cost(0, 1) == 0.0


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


def fit_one(field, tails, **steps):
    """One cluster of some tails: log-likelihood, Gaussians, weights."""
    labels = np.zeros(len(field), dtype=np.int64)
    found = score(field, labels, kinds=INDEPENDENT)
    y, w, _ = field.whiten_by(labels, INDEPENDENT)
    prior = found.marginal()[1]
    start = estimate(found.counts, found.sums, prior)
    return fit_tails(y, w, labels, found.counts, prior, start, tails, **steps)


@pytest.mark.parametrize("degrees_of_freedom", [3.0, 6.0])
@pytest.mark.parametrize("seed", range(3))
def test_one_cluster_of_students_t_is_about_as_likely_as_it_can_be(seed, degrees_of_freedom):
    field = make_field(student(seed))
    best = likeliest_student(field.X.T, degrees_of_freedom)
    assert fit_one(field, Tails(degrees_of_freedom), steps=60)[0] == pytest.approx(best, abs=0.01)
    assert best - 2.5 < fit_one(field, Tails(degrees_of_freedom))[0] <= best + 1e-6


def test_a_prior_that_rows_far_off_have_pulled_does_not_hold_the_covariance():
    X = student(1)
    X[::60] *= 40
    field = make_field(X)
    _, clusters, weights = fit_one(field, Tails(3.0), steps=60)
    near = np.delete(field.X.T, np.s_[::60], axis=0)
    widths = np.linalg.norm(
        np.linalg.inv(clusters.inverse[0]), axis=1
    )  # of the scatter that three degrees of freedom have
    np.testing.assert_allclose(widths, np.quantile(np.abs(near), 0.608, axis=0), rtol=0.2)
    assert weights[::60].max() < np.median(weights)


def test_weights_are_those_of_the_definition():
    distances = np.array([0.0, 0.5, 3.0, 100.0])
    np.testing.assert_allclose(Tails(4.0).weights(distances, 2), [6 / (4 + q) for q in distances])
    near = [multivariate_normal.pdf([math.sqrt(q), 0], cov=np.eye(2)) * 0.9 for q in distances]
    far = [multivariate_normal.pdf([math.sqrt(q), 0], cov=25 * np.eye(2)) * 0.1 for q in distances]
    expected = [(a + b / 25) / (a + b) for a, b in zip(near, far, strict=True)]
    np.testing.assert_allclose(Tails(share=0.1, spread=25.0).weights(distances, 2), expected)
    np.testing.assert_allclose(np.exp(Tails(share=0.1, spread=25.0).log_density(distances, 2)), np.add(near, far))
    assert (GAUSSIAN.weights(distances, 2) == 1).all()


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_students_t_are_one_cluster_rather_than_two(seed):
    X = student(seed)
    field, rng = make_field(X), np.random.default_rng(seed)
    size = np.linalg.norm(X, axis=1)
    one = score(field, np.zeros(300, dtype=np.int64))
    assert one.tails in HEAVY[2:]
    splits = {
        "halves": np.arange(300) // 150,
        "dice": compact(rng.integers(0, 2, 300)),
        "far": (size > np.quantile(size, 0.9)).astype(int),
        "sides": (X[:, 0] > np.median(X[:, 0])).astype(int),
        "calm": (np.convolve(size, np.ones(15) / 15, "same") > size.mean()).astype(int),
    }
    for name, labels in splits.items():
        assert one.log_evidence() - 2.5 > score(field, labels).log_evidence(), name


def test_gaussian_rows_have_gaussian_tails_and_some_strays_are_told_from_them():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    labels = np.zeros(400, dtype=np.int64)
    plain = score(make_field(X), labels)
    assert (plain.tails, plain.gain) == (GAUSSIAN, 0.0)
    X[::50] += rng.normal(0, 20, (8, 2))
    stray = score(make_field(X), labels)
    assert stray.tails.share > 0
    assert stray.gain > 100


def test_given_tails_and_dependence_are_kept():
    field, labels = make_field(student(0)), np.arange(300) // 100
    found = score(field, labels, kinds=np.array([3, 1]), tails=Tails(6.0))
    assert found.kinds.tolist() == [3, 1]
    assert found.tails == Tails(6.0)
    free = score(field, labels)
    again = score(field, labels, kinds=free.kinds, tails=free.tails)
    assert again.log_evidence() == pytest.approx(free.log_evidence(), abs=5)


# ------------------------------------------------------------------------------------------------------------ the whole


@pytest.mark.parametrize(
    "tails", [GAUSSIAN, Tails(3.0), Tails(share=0.1, spread=25.0)], ids=["gaussian", "t", "outlier_share"]
)
def test_log_densities_are_those_of_rows_in_their_clusters(tails):
    field, labels = make_field(student(2)), np.arange(300) // 150
    found = score(field, labels, kinds=INDEPENDENT, tails=tails)
    y, w, _ = field.whiten_by(labels, INDEPENDENT)
    prior = found.marginal()[1]
    start = estimate(found.counts, found.sums, prior)
    explained, clusters, _ = fit_tails(y, w, labels, found.counts, prior, start, tails)
    densities = log_densities(field, found)
    assert densities.sum() == pytest.approx(explained)
    for i in range(0, 300, 37):
        root = np.linalg.inv(clusters.inverse[labels[i]])
        square = float(np.sum((clusters.inverse[labels[i]] @ (field.X[:, i] - clusters.means[labels[i]])) ** 2))
        expected = float(tails.log_density(np.array([square]), 2)[0]) - np.linalg.slogdet(root)[1]
        assert densities[i] == pytest.approx(expected)


def test_what_clusters_are_called_does_not_matter_and_empty_numbers_are_left_out():
    field, labels = make_field(student(4)), np.arange(300) // 100
    found, other = score(field, labels), score(field, np.array([7, 0, 3])[labels])
    assert other.clusters == 3
    assert other.log_evidence() == pytest.approx(found.log_evidence())
    assert found.log_evidence(2.0) != found.log_evidence()
    assert found.log_evidence(full=True) == pytest.approx(found.log_evidence() - (found.full - found.code))
