"""The slow twin of the evidence of regressions: sums row by row, and the textbook formula of its conjugate prior."""

from __future__ import annotations

import math

import numpy as np


def sums(regressors, rows, labels, size):
    """Counts, sums of w w^T, of w y^T and of y y^T of each cluster, all features whitened alike."""
    q, d = len(regressors), len(rows)
    counts = np.zeros(size)
    grams = np.zeros((size, q, q))
    products = np.zeros((size, q, d))
    squares = np.zeros((size, d, d))
    for i, k in enumerate(labels):
        counts[k] += 1
        grams[k] += np.outer(regressors[:, i], regressors[:, i])
        products[k] += np.outer(regressors[:, i], rows[:, i])
        squares[k] += np.outer(rows[:, i], rows[:, i])
    return counts, grams, products, squares


def log_marginal(count, gram, product, square, a, kappa, pooled, middle):
    """Log marginal likelihood of one cluster, by the posterior of its coefficients and covariance; ``middle`` is (q, d)."""
    q, d = product.shape
    freedom = d + 1.0 + a
    precision = gram + kappa * np.eye(q)
    mean = np.linalg.solve(precision, product + kappa * middle)
    before = a * pooled
    after = before + square + kappa * middle.T @ middle - mean.T @ precision @ mean
    found = -0.5 * count * d * math.log(math.pi)
    found += 0.5 * d * (q * math.log(kappa) - np.linalg.slogdet(precision)[1])
    found += 0.5 * freedom * np.linalg.slogdet(before)[1] - 0.5 * (freedom + count) * np.linalg.slogdet(after)[1]
    for f in range(d):
        found += math.lgamma(0.5 * (freedom + count - f)) - math.lgamma(0.5 * (freedom - f))
    return found
