"""Labels given clusters, and how far off the rows of a cluster may be."""

import itertools
from dataclasses import astuple

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial.distance import cdist

from mcgta.kernels.evidence.relabel import best_path, log_density, own_distances, squared_distances, visit
from mcgta.kernels.evidence.whitening import EXPONENTIAL, INDEPENDENT, MATERN
from mcgta.selection.scoring.scored_labelling import Gaussians, Prior, fit_clusters
from mcgta.selection.scoring.scoring_data import Whitened
from mcgta.selection.scoring.tails import GAUSSIAN, STUDENT_T, WITH_OUTLIERS, Tails
from naive import selection as naive

SOME = settings(max_examples=25, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
TAILS = [GAUSSIAN, *STUDENT_T, *WITH_OUTLIERS]
KINDS = np.array([INDEPENDENT, EXPONENTIAL, EXPONENTIAL, MATERN])
LENGTHS = np.array([1.0, 0.7, 5.0, 2.0])
NUGGETS = np.array([1.0, 0.01, 0.4, 0.15])


def clusters(rng, size, d):
    """Means, covariances, inverse factors and half log determinants."""
    root = rng.normal(size=(size, d, d))
    covariances = root @ root.transpose(0, 2, 1) + 0.3 * np.eye(d)
    inverse = np.linalg.inv(np.linalg.cholesky(covariances))
    return rng.normal(0, 2, (size, d)), covariances, np.tril(inverse), 0.5 * np.linalg.slogdet(covariances)[1]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 150])
@pytest.mark.parametrize("d", [1, 3])
def test_distances_from_clusters_are_those_of_mahalanobis(count, d):
    rng = np.random.default_rng(count + d)
    means, covariances, inverse, _ = clusters(rng, 3, d)
    y, w, labels = rng.normal(size=(d, count)), rng.uniform(0, 2, (d, count)), rng.integers(0, 3, count)
    every, own = np.empty((count, 3)), np.empty(count)
    squared_distances(y, w, means, inverse, every)
    own_distances(y, w, labels, means, inverse, own)
    for i, k in itertools.product(range(count), range(3)):
        off = y[:, i] - w[:, i] * means[k]
        assert every[i, k] == pytest.approx(off @ np.linalg.solve(covariances[k], off), rel=1e-8)
    np.testing.assert_allclose(own, every[np.arange(count), labels], rtol=1e-12)


@given(
    seed=SEEDS,
    count=st.integers(1, 7),
    size=st.integers(1, 3),
    cost=st.sampled_from([0.0, 0.5, 3.0]),
    spread=st.floats(0, 4),
)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_the_best_path_is_the_best_of_all(seed, count, size, cost, spread):
    rng = np.random.default_rng(seed)
    enter = rng.normal(0, 2, (count, size))
    stay = enter + rng.normal(0, 1, (count, size)) * spread
    first = np.r_[True, rng.random(count - 1) < 0.3]
    labels = np.empty(count, dtype=np.int64)
    best_path(stay, enter, first, cost, labels)
    best = max(
        naive.path_score(stay, enter, first, cost, path) for path in itertools.product(range(size), repeat=count)
    )
    assert naive.path_score(stay, enter, first, cost, labels) == pytest.approx(best, rel=1e-12, abs=1e-12)


def run_visit(X, lists, groups, by, tails, together, shares, temper, near, labels):
    means, _, inverse, log_root = groups
    kinds, which = np.unique(by, return_inverse=True)
    found = labels.copy()
    changed = visit(
        X, *lists, means, inverse, log_root, which, KINDS[kinds], LENGTHS[kinds], NUGGETS[kinds],
        *astuple(tails), together, shares, temper, near, found,
    )  # fmt: skip
    assert changed == (found != labels).sum()
    return found


@given(
    seed=SEEDS, together=st.sampled_from([0.0, 2.0]), tails=st.sampled_from(TAILS), temper=st.sampled_from([1.0, 0.3])
)
@SOME
def test_a_visit_is_that_of_one_observation_after_another(seed, together, tails, temper):
    rng = np.random.default_rng(seed)
    count, d, size, near = 30, 2, 3, 4
    distances = cdist(*[rng.uniform(0, 5, (count, 2))] * 2)
    lists = naive.list_rows(
        distances, 10, keep=lambda i, j: i % 5 > 0 or distances[i, j] < 1
    )  # some lists are short, or empty
    groups, by = clusters(rng, size, d), rng.integers(0, KINDS.size, d)
    X, labels, shares = rng.normal(0, 2, (d, count)), rng.integers(0, size, count), rng.normal(size=size)
    found = run_visit(X, lists, groups, by, tails, together, shares, temper, near, labels)
    centres = [(groups[0][k], groups[1][k], shares[k]) for k in range(size)]
    kinds = [(KINDS[t], LENGTHS[t], NUGGETS[t]) for t in by]
    expected = naive.visit(X, lists[0], distances, centres, kinds, astuple(tails), together, temper, near, labels)
    assert found.tolist() == expected


@given(seed=SEEDS, together=st.floats(0.1, 5))
@SOME
def test_a_visit_of_independent_rows_never_does_harm(seed, together):
    rng = np.random.default_rng(seed)
    count, size = 40, 3
    ring = np.array([(i + step) % count for i in range(count) for step in (1, -1, 2, -2, 3, -3, 4, -4)]).reshape(
        count, 8
    )
    lists = ring, np.ones((count, 8)), np.ones((count, 28))
    groups = clusters(rng, size, 2)
    X, labels, shares = rng.normal(0, 2, (2, count)), rng.integers(0, size, count), rng.normal(size=size)

    def worth(labels):
        off = X.T - groups[0][labels]
        square = np.einsum("nf,nfg,ng->n", off, np.linalg.inv(groups[1])[labels], off)
        own = GAUSSIAN.log_density(square, 2) - groups[3][labels] + shares[labels]
        return own.sum() + 0.5 * together * (labels[ring] == labels[:, None]).mean(axis=1).sum()

    last = worth(labels)
    for _ in range(4):
        labels = run_visit(X, lists, groups, np.zeros(2, dtype=int), GAUSSIAN, together, shares, 1.0, 4, labels)
        assert worth(labels) >= last - 1e-9
        last = worth(labels)


@numba.njit
def compiled_density(squares, d, freedom, share, spread):
    return np.array([log_density(square, d, freedom, share, spread) for square in squares])


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_densities_are_those_of_the_definition_in_the_kernel_too(tails, d):
    squares = np.array([0.0, 0.3, 1.0, 7.0, 50.0, 1e4])
    expected = [naive.log_density(square, d, *astuple(tails)) for square in squares]
    np.testing.assert_allclose(tails.log_density(squares, d), expected, rtol=1e-10)
    np.testing.assert_allclose(compiled_density(squares, d, *astuple(tails)), expected, rtol=1e-10)


@pytest.mark.parametrize("tails", TAILS)
def test_densities_integrate_to_one(tails):
    def line(x):
        return float(np.exp(tails.log_density(np.array(x * x), 1)))

    def plane(r):
        return float(2 * np.pi * r * np.exp(tails.log_density(np.array(r * r), 2)))

    # Substituted, as Student's tails are long: x = sinh u.
    def whole(f):
        return quad(lambda u: f(np.sinh(u)) * np.cosh(u), 0, 18, limit=400)[0]

    assert 2 * whole(line) == pytest.approx(1, abs=1e-6)
    assert whole(plane) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("d", [1, 4])
def test_weights_are_minus_twice_the_derivative_of_the_log_density(tails, d):
    squares = np.array([0.5, 3.0, 20.0, 300.0])
    step = 1e-4
    slope = (tails.log_density(squares + step, d) - tails.log_density(squares - step, d)) / (2 * step)
    np.testing.assert_allclose(tails.weights(squares, d), -2 * slope, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("tails", [STUDENT_T[0], STUDENT_T[2], STUDENT_T[4], WITH_OUTLIERS[1], WITH_OUTLIERS[3]])
@pytest.mark.parametrize("seed", range(3))
def test_more_steps_of_fitting_tails_explain_no_less(tails, seed):
    rng = np.random.default_rng(seed)
    d, labels = 2, np.repeat([0, 1], [60, 40])
    y, w = rng.standard_t(2, (d, 100)) + 4.0 * labels, np.broadcast_to(rng.uniform(0.3, 1.5, 100), (d, 100)).copy()
    rows = Whitened(y, w, np.zeros(100))
    start = Gaussians(np.zeros((2, d)), np.broadcast_to(np.eye(d), (2, d, d)).copy(), np.zeros(2))
    none = Prior(-d - 1.0, 0.0, np.zeros(d), np.eye(d), np.ones(2))  # no observations of it
    explained = [fit_clusters(rows, labels, tails, none, start, steps=steps).log_likelihood for steps in range(9)]
    assert (np.diff(explained) >= -1e-9).all()
    assert explained[-1] > explained[0]


def test_a_gaussian_counts_all_rows_the_same():
    assert (Tails().weights(np.array([0.0, 1e6]), 3) == 1).all()
