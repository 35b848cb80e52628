"""Choosing without labels in plain loops: dependence, evidence, labels and regions, straight from their definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import multigammaln

# ----------------------------------------------------------------------------------------------------------- dependence


def correlation(kind, u):
    """exp(-u), or Matern's with smoothness 3/2."""
    if kind == 0:
        return math.exp(-u)
    return (1 + math.sqrt(3) * u) * math.exp(-math.sqrt(3) * u)


def covariance(distances, kind, length, nugget):
    """Of a process with variance one at places that are so far apart."""
    count = len(distances)
    table = np.eye(count)
    for i, j in itertools.permutations(range(count), 2):
        table[i, j] = (1 - nugget) * correlation(kind, distances[i][j] / length)
    return table


def own_places(listed, labels, i, most):
    """Where in its list row i has the first ``most`` rows of its label."""
    same = [p for p, j in enumerate(listed[i]) if j >= 0 and labels[j] == labels[i]]
    return same[:most]


def whiten(x, i, others, distances, kind, length, nugget, jitter=1e-6):
    """What is left of x[i] when the others are known, over its standard deviation; what the mean counts there; log s."""
    if kind == -1 or len(others) == 0:
        return x[i], 1.0, 0.0
    rows = [*others, i]
    table = covariance([[distances[a][b] for b in rows] for a in rows], kind, length, nugget)
    reach = table[-1, :-1]
    weights = np.linalg.solve(table[:-1, :-1] + jitter * np.eye(len(others)), reach)
    s = math.sqrt(max(1 - reach @ weights, jitter))
    return (x[i] - weights @ x[list(others)]) / s, (1 - weights.sum()) / s, math.log(s)


def profile(y, w, log_s, labels):
    """Minus the log-likelihood of one feature's rows at the best means and variances, 1/2 (1 + log 2 pi) a row left out."""
    found = float(np.sum(log_s))
    for k in np.unique(labels):
        rows = labels == k
        mean = float(w[rows] @ y[rows] / (w[rows] @ w[rows]))
        variance = float(np.mean((y[rows] - mean * w[rows]) ** 2))
        found += 0.5 * rows.sum() * math.log(variance) + 0.5 * math.log(1 + w[rows] @ w[rows])
    return found
