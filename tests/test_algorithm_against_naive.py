"""Algorithm 1 as a whole: the estimator beside the composition of the slow functions."""

import itertools

import numpy as np
import pytest

from mcgta import MCGTA
from naive import algorithm as naive
from naive import clusters as naive_clusters


def states(seed, sizes, d=2):
    """Features whose mean and scale change from piece to piece."""
    rng = np.random.default_rng(seed)
    pieces = [rng.normal(mean, scale, (size, d)) for size, (mean, scale) in sizes]
    return np.concatenate(pieces)


def canonical(places, X, groups):
    """Rows sorted by group, position and features."""
    return sorted(range(len(X)), key=lambda i: (groups[i], *places[i], *X[i]))


def algorithm_1(X, places, *, n, alpha, bins, beta, margin, min_samples, eps=None, groups=None, measure=naive.euclidean,
                weights="uniform", curve=None):  # fmt: skip
    """Lines 1-10; ``curve`` holds the parameters of a fitted exponential model, else the empirical curve is used."""
    count = len(X)
    groups = [0] * count if groups is None else list(groups)
    order = canonical(places, X, groups)
    X, places, groups = X[order], places[order], [groups[i] for i in order]
    D = naive.distance_table(places, measure, groups)
    models = []
    for i in range(count):
        near = naive.neighbours(i, D, places, n)
        mean, cov = naive.moments(X[near], naive.kernel_weights(D[i, near], weights))
        models.append((mean, naive.graphical_lasso(cov, alpha)))
    W = np.zeros((count, count))
    for i, j in itertools.combinations(range(count), 2):
        W[i, j] = W[j, i] = naive.wasserstein2(*models[i], *models[j])
    edges = naive.default_edges(D, bins)
    lags, values, counts = naive.empirical_semivariogram(W, D, edges)
    if curve is None:
        gamma, rho, _, _ = naive_clusters.empirical_curve(edges, lags, values, counts)
    else:
        rho = naive.practical_range("exponential", curve.length)
        gamma = lambda h: naive.variogram(h, "exponential", curve.nugget_, curve.sill_, curve.length)  # noqa: E731
    M = naive_clusters.loss_table(W, D, gamma, rho, beta, margin)
    if eps is None:
        eps = 0.4 * np.median([expected_by_chance(cov, n) for _, cov in models])
    labels, core = naive_clusters.dbscan(M, eps, min_samples)
    out = {
        "labels": np.empty(count, dtype=int),
        "core": sorted(order[i] for i in core),
        "objective": naive_clusters.objective(W, M, labels),
        "bins": (edges, lags, values, counts),
        "passing": naive_clusters.passing_by_bin(W, D, gamma, margin, labels, edges),
        "range": rho,
        "eps": eps,
        "strengths": np.zeros(count),
    }
    out["labels"][order] = labels
    for i in range(count):
        anchors = [c for c in core if labels[c] == labels[i] >= 0]
        if anchors:
            own = [naive_clusters.core_distance(M, c, min_samples) for c in anchors]
            out["strengths"][order[i]] = naive_clusters.strength(naive_clusters.reach(M[i, anchors], own), eps)
    return out


def expected_by_chance(cov, n):
    """[2 tr S + sum_kl l_k l_l (1 + [k = l])/(l_k + l_l)]/n with the eigenvalues l of S."""
    values = np.linalg.eigvalsh(cov)
    shape = sum(a * b * (1 + (k == m)) / (a + b) for k, a in enumerate(values) for m, b in enumerate(values))
    return (2 * sum(values) + shape) / n


def same_result(model, expected):
    lags, values, counts = expected["bins"][1:]
    curve = model.semivariogram_
    np.testing.assert_allclose(curve.edges, expected["bins"][0], rtol=1e-10)
    np.testing.assert_array_equal(curve.counts, counts)
    np.testing.assert_allclose(curve.lags, lags, rtol=1e-8)
    np.testing.assert_allclose(curve.values, values, rtol=1e-5, atol=1e-12)
    assert curve.range_ == pytest.approx(expected["range"], rel=1e-5)
    assert model.eps_ == pytest.approx(expected["eps"], rel=1e-6)
    assert model.labels_.tolist() == expected["labels"].tolist()
    assert model.core_sample_indices_.tolist() == expected["core"]
    found = model.objective_
    assert (found.total, found.dissimilarity, found.penalty) == pytest.approx(expected["objective"][:3], rel=1e-5)
    assert found.pairs == expected["objective"][3]
    np.testing.assert_allclose(model.probabilities_, expected["strengths"], atol=1e-4)
    test = model.goodness_of_fit()
    assert (test.pairs.tolist(), test.passed.tolist()) == expected["passing"]


@pytest.mark.parametrize("semivariogram", ["exponential", "empirical"])
@pytest.mark.parametrize("eps", [0.6, None])
def test_a_small_time_series_is_clustered_as_by_the_slow_algorithm(semivariogram, eps):
    sizes = [(16, (0, 0.5)), (16, (3, 1.5)), (14, (0, 0.5)), (14, (6, 1.0))]
    X = states(1, sizes)
    times = np.cumsum(np.where(np.arange(60) % 20 == 19, 6.0, 1.0))
    options = {"alpha": 0.02, "bins": 12, "beta": 1.5, "margin": 0.4, "min_samples": 4}
    model = MCGTA(n_neighbors=8, semivariogram=semivariogram, eps=0.6, **options).fit(X, positions=times)
    if eps is None:  # the radius that chance suggests
        model = model.refit(eps="auto")
    curve = model.semivariogram_ if semivariogram == "exponential" else None
    assert model.semivariogram_.model == semivariogram
    assert model.n_clusters_ > 1
    same_result(model, algorithm_1(X, times[:, None], n=8, eps=eps, curve=curve, **options))


@pytest.mark.parametrize("metric", ["euclidean", "haversine"])
def test_a_small_map_in_any_order_of_rows_is_clustered_as_by_the_slow_algorithm(metric):
    cells = np.array(list(itertools.product(range(8), range(7))), dtype=float)
    places = cells * 1.7 if metric == "euclidean" else np.column_stack([cells[:, 0] * 1.3 - 5, cells[:, 1] * 1.1 + 40])
    rng = np.random.default_rng(2)
    places = places + rng.normal(0, 0.05, places.shape)
    X = np.where(cells[:, :1] < 4, 0.4, 2.0) * rng.normal(size=(56, 3)) + np.where(cells[:, 1:] < 4, 0.0, 3.0)
    mixed = rng.permutation(56)
    X, places = X[mixed], places[mixed]
    options = {"alpha": 0.05, "bins": 8, "beta": 0.8, "margin": 0.2, "min_samples": 3}
    model = MCGTA(n_neighbors=9, metric=metric, semivariogram="empirical", eps=1.2, weights="epanechnikov", **options)
    model.fit(X, positions=places)
    assert model.n_clusters_ > 1
    measure = naive.great_circle if metric == "haversine" else naive.euclidean
    same_result(model, algorithm_1(X, places, n=9, eps=1.2, measure=measure, weights="epanechnikov", **options))


def test_several_series_with_gaps_share_clusters_as_in_the_slow_algorithm():
    X = states(3, [(15, (0, 0.5)), (15, (4, 1.0)), (15, (4, 1.0)), (15, (0, 0.5))], d=1)
    groups = np.repeat(["b", "a"], 30)
    times = np.random.default_rng(3).exponential(1.0, 60).cumsum()
    options = {"alpha": 0.01, "bins": 10, "beta": 1.0, "margin": 0.1, "min_samples": 4}
    model = MCGTA(n_neighbors=7, semivariogram="empirical", eps=0.5, **options).fit(X, positions=times, groups=groups)
    assert len(set(model.labels_[groups == "a"]) & set(model.labels_[groups == "b"])) > 1
    same_result(model, algorithm_1(X, times[:, None], n=7, eps=0.5, groups=groups, **options))
