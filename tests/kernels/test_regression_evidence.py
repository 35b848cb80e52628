"""Marginal likelihood of regressions: that of levels with one regressor, and its definition with several."""

import numpy as np
import pytest

from mcgta.kernels.evidence.cluster_evidence import CLOSENESS, STRENGTHS, marginal, merge_gains, sum_clusters
from mcgta.kernels.evidence.regression_evidence import regression_marginal, regression_merge_gains, regression_plug_in
from naive import regression as naive

TEMPER = 0.7


def level_sums(seed, d, clusters, count=60):
    """Counts and sums of clusters whose features are whitened each in its own way."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count) % clusters)
    w = rng.uniform(0.2, 1.5, (d, count))
    y = w * rng.normal(0, 2, (clusters, d))[labels].T + rng.normal(size=(d, count))
    counts, sums = np.empty(clusters), np.empty((clusters, 3, d, d))
    sum_clusters(y, w, labels, np.ones(count), counts, sums)
    return counts, sums


def as_regression(sums):
    """The same sums as those of a regression on one regressor."""
    parts = sums[:, 0, :, :, None, None], sums[:, 1, :, :, None], sums[:, 2]
    return tuple(np.ascontiguousarray(part) for part in parts)


def curve_sums(seed, q, d, clusters, count=80):
    """Sums of clusters whose mean is a regression on q regressors, all features whitened alike."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count) % clusters)
    w = rng.normal(size=(q, count))
    y = np.einsum("nqd,qn->dn", rng.normal(0, 2, (clusters, q, d))[labels], w) + rng.normal(size=(d, count))
    counts, grams, products, squares = naive.sums(w, y, labels, clusters)
    kernel = grams[:, None, None], products.transpose(0, 2, 1)[:, None], squares
    return counts, tuple(np.ascontiguousarray(part) for part in kernel), (grams, products, squares)


def outputs(size, d, q):
    return np.empty((d, q)), np.empty((d, d)), np.empty(size), np.empty(2), np.empty(size)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(("d", "clusters"), [(1, 1), (2, 3), (4, 2)])
def test_a_regression_on_one_regressor_has_the_evidence_of_levels(d, clusters, scaled):
    counts, sums = level_sums(d, d, clusters)
    middle, pooled, scales, best, each = (
        np.empty(d),
        np.empty((d, d)),
        np.empty(clusters),
        np.empty(2),
        np.empty(clusters),
    )
    of_levels = marginal(counts, sums, TEMPER, STRENGTHS, CLOSENESS, scaled, middle, pooled, scales, best, each)
    out = outputs(clusters, d, 1)
    given = (counts, *as_regression(sums), np.arange(d), TEMPER)
    of_regression = regression_marginal(*given, STRENGTHS, CLOSENESS, scaled, *out)
    assert of_regression == pytest.approx(of_levels, rel=1e-12)
    for found, expected in zip(out, (middle[:, None], pooled, scales, best, each), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    level_gains, gains = np.empty((clusters, clusters)), np.empty((clusters, clusters))
    merge_gains(counts, sums, TEMPER, *best, middle, pooled, scales, level_gains)
    regression_merge_gains(*given, *best, middle[:, None].copy(), pooled, scales, gains)
    np.testing.assert_allclose(gains, level_gains, rtol=1e-9)


@pytest.mark.parametrize(("q", "d", "clusters"), [(1, 1, 1), (3, 2, 2), (6, 3, 4)])
def test_the_evidence_of_several_regressors_is_that_of_its_definition(q, d, clusters):
    counts, kernel, parts = curve_sums(q, q, d, clusters)
    ways = np.zeros(d, dtype=np.int64)
    strengths, closeness = np.array([4.0]), np.array([0.1])
    middle, pooled, scales, best, each = outputs(clusters, d, q)
    found = regression_marginal(
        counts, *kernel, ways, 1.0, strengths, closeness, False, middle, pooled, scales, best, each
    )
    expected = [
        naive.log_marginal(counts[k], *(part[k] for part in parts), 4.0, 0.1, pooled, middle.T) for k in range(clusters)
    ]
    np.testing.assert_allclose(each, expected, rtol=1e-8)
    assert found == pytest.approx(sum(expected), rel=1e-9)


def test_what_merging_does_to_the_evidence_is_the_difference_of_evidences():
    counts, kernel, parts = curve_sums(5, 3, 2, 3)
    ways = np.zeros(2, dtype=np.int64)
    middle, pooled, scales, best, each = outputs(3, 2, 3)
    regression_marginal(
        counts, *kernel, ways, 1.0, np.array([4.0]), np.array([0.1]), False, middle, pooled, scales, best, each
    )
    gains = np.empty((3, 3))
    regression_merge_gains(counts, *kernel, ways, 1.0, 4.0, 0.1, middle, pooled, scales, gains)
    both = naive.log_marginal(counts[0] + counts[2], *(part[0] + part[2] for part in parts), 4.0, 0.1, pooled, middle.T)
    assert gains[0, 2] == gains[2, 0] == pytest.approx(both - each[0] - each[2], rel=1e-7)
    assert np.isneginf(np.diagonal(gains)).all()


def test_coefficients_and_covariances_are_drawn_to_the_prior():
    counts, kernel, (grams, products, _) = curve_sums(2, 4, 2, 2)
    ways = np.zeros(2, dtype=np.int64)
    rng = np.random.default_rng(0)
    middle = rng.normal(size=(2, 4))
    curves, covariances = np.empty((2, 2, 4)), np.empty((2, 2, 2))
    regression_plug_in(counts, *kernel, ways, 4.0, 0.5, middle, np.eye(2), np.ones(2), curves, covariances)
    for k in range(2):
        expected = np.linalg.solve(grams[k] + 0.5 * np.eye(4), products[k] + 0.5 * middle.T)
        np.testing.assert_allclose(curves[k].T, expected, rtol=1e-9)
        assert (np.linalg.eigvalsh(covariances[k]) > 0).all()
