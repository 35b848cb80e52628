"""The slow twin of descriptions: effect sizes, spells, patches, partial correlations and typical rows, one by one."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np


def effect_and_ratio(inside, outside):
    """Cohen's d with the pooled standard deviation, and the ratio of standard deviations, of two lists of numbers."""
    means = [sum(values) / len(values) for values in (inside, outside)]
    squares = [sum((v - mean) ** 2 for v in values) for values, mean in zip((inside, outside), means, strict=True)]
    pooled = math.sqrt(sum(squares) / (len(inside) + len(outside) - 2))
    deviations = [math.sqrt(s / (len(v) - 1)) for s, v in zip(squares, (inside, outside), strict=True)]
    return (means[0] - means[1]) / pooled, deviations[0] / deviations[1]


def spells(labels, times, groups, cluster):
    """Lengths of the runs of a cluster: last time less first, and the median step more; rows in any order."""
    order = sorted(range(len(labels)), key=lambda k: (groups[k], times[k]))
    steps = [times[b] - times[a] for a, b in pairwise(order) if groups[a] == groups[b]]
    step = float(np.median([s for s in steps if s > 0]))
    lengths = []
    run = []
    for k in [*order, None]:
        if run and (k is None or labels[k] != labels[run[-1]] or groups[k] != groups[run[-1]]):
            if labels[run[0]] == cluster:
                lengths.append(times[run[-1]] - times[run[0]] + step)
            run = []
        run.append(k)
    return lengths


def transitions(labels, times, groups, size):
    """How often a row of one cluster is followed by one of another, within groups."""
    order = sorted(range(len(labels)), key=lambda k: (groups[k], times[k]))
    table = [[0] * size for _ in range(size)]
    for a, b in pairwise(order):
        if groups[a] == groups[b] and min(labels[a], labels[b]) >= 0:
            table[labels[a]][labels[b]] += 1
    return table


def count_patches(labels, distances, cluster, neighbors):
    """Connected parts of a cluster: two rows are joined where one is among the nearest ``neighbors`` others of the other."""
    rows = [k for k in range(len(labels)) if labels[k] == cluster]
    nearest = {
        k: set(np.argsort(np.where(np.arange(len(labels)) == k, np.inf, distances[k]))[:neighbors].tolist())
        for k in rows
    }
    left = set(rows)
    patches = 0
    while left:
        patches += 1
        reached = [left.pop()]
        while reached:
            k = reached.pop()
            more = {j for j in left if j in nearest[k] or k in nearest[j]}
            left -= more
            reached += more
    return patches


def partial_correlations(X):
    """Correlations of residuals of two columns after regression on all others, by the correlations shrunk as OAS has it."""
    R = shrunk_correlations(X)
    d = len(R)
    out = np.eye(d)
    for i in range(d):
        for j in range(d):
            if i != j:
                others = [k for k in range(d) if k not in (i, j)]
                both = np.ix_([i, j], [i, j])
                cross = R[np.ix_([i, j], others)]
                left = R[both] - cross @ np.linalg.solve(R[np.ix_(others, others)], cross.T)
                out[i, j] = left[0, 1] / math.sqrt(left[0, 0] * left[1, 1])
    return out


def shrunk_correlations(X):
    """(1 - s) R + s I with the s of scikit-learn's OAS."""
    n, d = X.shape
    R = np.corrcoef(X, rowvar=False)
    alpha = float((R**2).sum()) / d**2
    s = min(1.0, (alpha + 1) / ((n + 1) * (alpha - 1 / d)))
    return (1 - s) * R + s * np.eye(d)


def typical_rows(X, rows, count):
    """The rows nearest to the mean of all of them, in Mahalanobis distance; of tied ones the first."""
    scaled = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0, ddof=1)
    inverse = np.linalg.inv(shrunk_correlations(X[rows]))
    distance = [round(float(z @ inverse @ z), 9) for z in scaled]
    return tuple(sorted(rows, key=lambda row: (distance[rows.index(row)], row))[:count])
