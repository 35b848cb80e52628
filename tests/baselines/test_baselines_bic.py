"""The Bayesian information criterion of baselines, beside one by hand: -2 log-likelihood + log(rows) * free numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from mcgta.baselines.hidden_markov import HMM
from mcgta.baselines.plain import GMM
from mcgta.baselines.sticc import STICC
from mcgta.baselines.ticc import TICC
from mcgta.baselines.windowed_gmm import WindowedGMM
from mcgta.runtime.types import Array, Labels


def gaussians(rows: Array, labels: Labels, covariance_type: str, added: Any) -> tuple[Array, int]:
    """Log densities (N, K) of the Gaussians of clusters that are certain, and how many numbers make them.

    ``added`` is what goes to the variances of each cluster.
    """
    d, out = rows.shape[1], []
    for k in range(2):
        cov = np.cov(rows[labels == k].T, bias=True) + added[k] * np.eye(d)
        cov = np.diag(np.diag(cov)) if covariance_type == "diag" else cov
        out.append(multivariate_normal(rows[labels == k].mean(axis=0), cov).logpdf(rows))
    return np.column_stack(out), 2 * (d + (d if covariance_type == "diag" else d * (d + 1) // 2))


def mixture_bic(rows: Array, labels: Labels, covariance_type: str, reg_covar: float) -> float:
    densities, free = gaussians(rows, labels, covariance_type, [reg_covar, reg_covar])
    likelihood = logsumexp(densities + np.log(np.bincount(labels) / labels.size), axis=1).sum()
    return float(-2 * likelihood + np.log(len(rows)) * (free + 1))  # one weight is free


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_that_of_a_mixture(covariance_type: str, series: Any) -> None:
    model = GMM(2, covariance_type=covariance_type, reg_covar=0.1).fit(series.X)
    np.testing.assert_array_equal(model.labels_, series.truth)
    assert model.bic_ == pytest.approx(mixture_bic(series.X, series.truth, covariance_type, 0.1), rel=1e-8)


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_that_of_a_mixture_of_local_moments(covariance_type: str, series: Any) -> None:
    """Two series of one state each, and windows of eleven rows around each row, moved inside at the ends."""
    order = np.argsort(series.truth, kind="stable")
    X, groups = series.X[order], series.truth[order]
    model = WindowedGMM(2, 11, covariance_type=covariance_type, reg_covar=0.1).fit(X, groups=groups)
    np.testing.assert_array_equal(model.labels_, groups)
    moments = []
    for row in range(120):
        first = 60 * groups[row] + np.clip(row % 60 - 5, 0, 49)
        near = X[first : first + 11]
        moments.append([*near.mean(axis=0), *np.cov(near.T, bias=True)[np.triu_indices(2)]])
    table = np.array(moments)
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    assert model.bic_ == pytest.approx(mixture_bic(scaled, groups, covariance_type, 0.1), rel=1e-8)


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_that_of_a_hidden_markov_model(covariance_type: str, series: Any) -> None:
    """Two series of states that are certain, so that chances are counts; the likelihood is a slow forward recursion."""
    halves = np.split(np.arange(120), 2)
    model = HMM(2, covariance_type=covariance_type).fit(series.X, groups=np.repeat([0, 1], 60))
    np.testing.assert_array_equal(model.labels_, series.truth)
    rows = (series.X - series.X.mean(axis=0)) / series.X.std(axis=0)
    densities, free = gaussians(rows, series.truth, covariance_type, 0.01 / np.bincount(series.truth))
    follows = np.zeros((2, 2))
    for half in halves:
        np.add.at(follows, (series.truth[half[:-1]], series.truth[half[1:]]), 1)
    chances = follows / follows.sum(axis=1, keepdims=True)
    likelihood = 0.0
    for half in halves:
        so_far = np.log([0.5, 0.5]) + densities[half[0]]  # one series begins in each state
        for row in half[1:]:
            so_far = logsumexp(so_far[:, None] + np.log(chances), axis=0) + densities[row]
        likelihood += logsumexp(so_far)
    assert model.log_likelihood_ == pytest.approx(likelihood, rel=1e-8)
    free += 1 + 2  # where series begin, and for each state whether it stays
    assert model.bic_ == pytest.approx(-2 * likelihood + np.log(120) * free, rel=1e-8)


def items(X: Array, kind: type, width: int) -> Array:
    """Rows one after the other, or places on a line with their nearest, in the order of distance."""
    if kind is TICC:
        return np.array([X[t : t + width].ravel() for t in range(len(X) - width + 1)])
    at = np.arange(len(X)) ** 1.01
    return np.array([X[np.argsort(np.abs(at - at[i]))[:width]].ravel() for i in range(len(X))])


@pytest.mark.parametrize(("kind", "wide"), [(TICC, "window"), (STICC, "subregion")])
def test_that_of_sparse_inverse_covariances(kind: Any, wide: str) -> None:
    """What is free are the means, and the entries that are not zero of the upper half of the first block and of its row."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 3)) + 3.0 * np.repeat([0, 1, 0], 40)[:, None]
    X[:, 1] += X[:, 0]
    X[1:, 2] += X[:-1, 0]
    model = kind(2, **{wide: 3}, beta=1.0, sparsity=0.2).fit(X, positions=np.arange(120) ** 1.01)
    rows = items(X, kind, 3)
    labels = model.labels_[1:-1] if kind is TICC else model.labels_  # of the row in the middle
    cost, free = 0.0, 0
    for k in range(2):
        own, theta = rows[labels == k], model.precisions_[k]
        cost -= 2 * multivariate_normal(model.means_[k], np.linalg.inv(theta)).logpdf(own).sum()
        free += 9 + sum(theta[i, j] != 0 for i in range(3) for j in range(i, 9))
    assert 2 * (9 + 3) < free < 2 * (9 + 6 + 18)
    assert model.bic_ == pytest.approx(cost + np.log(len(rows)) * free, rel=1e-9)
