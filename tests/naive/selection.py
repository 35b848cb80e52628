"""Choosing without labels in plain loops: dependence, evidence, labels and regions, straight from their definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import multigammaln
from scipy.stats import multivariate_normal, multivariate_t

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


def list_rows(distances, size, keep=lambda i, j: j < i):
    """Lists of up to ``size`` of the rows before each, nearest first."""
    count = len(distances)
    listed, gaps = np.full((count, size), -1), np.zeros((count, size))
    between = np.zeros((count, size * (size - 1) // 2))
    for i in range(count):
        near = sorted((j for j in range(count) if j != i and keep(i, j)), key=lambda j: distances[i, j])[:size]
        listed[i, : len(near)], gaps[i, : len(near)] = near, distances[i, near]
        for q in range(len(near)):
            for p in range(q):
                between[i, q * (q - 1) // 2 + p] = distances[near[p], near[q]]
    return listed, gaps, between


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


# ------------------------------------------------------------------------------------------------- marginal likelihood


def moments(y, w):
    """Mean of rows (n, d) that counts w (n, d) times in each, its weight, and the scatter about it."""
    weight = (w**2).sum(axis=0)
    mean = (w * y).sum(axis=0) / weight
    left = y - w * mean
    return mean, weight, left.T @ left


def log_marginal(y, w, a, kappa, prior, middle, temper=1.0):
    """Normal-inverse-Wishart: the closed form, rows counted ``temper`` times."""
    mean, weight, scatter = moments(y, w)
    (count, d), weight, scatter = y.shape, temper * weight, temper * scatter
    count = temper * count
    degrees_of_freedom = d + 1 + a
    off = np.sqrt(kappa * weight / (kappa + weight)) * (mean - middle)
    found = multigammaln((degrees_of_freedom + count) / 2, d) - multigammaln(degrees_of_freedom / 2, d)
    found += degrees_of_freedom / 2 * np.linalg.slogdet(a * prior)[1]
    found -= (degrees_of_freedom + count) / 2 * np.linalg.slogdet(a * prior + scatter + np.outer(off, off))[1]
    return found + 0.5 * np.log(kappa / (kappa + weight)).sum() - count * d / 2 * math.log(math.pi)


def pooled_prior(y, w, labels, scaled, temper=1.0, rounds=5):
    """The prior's middle, pooled covariance and scales of the clusters."""
    names, d = np.unique(labels), y.shape[1]
    parts = [moments(y[labels == k], w[labels == k]) for k in names]
    counts = np.array([(labels == k).sum() for k in names])
    mass = sum(temper * weight for _, weight, _ in parts) + 1e-12
    middle = sum(temper * weight * mean for mean, weight, _ in parts) / mass

    def pool(scales):
        table = sum(scatter / scale for (_, _, scatter), scale in zip(parts, scales, strict=True)) / counts.sum()
        return table + (1e-9 * np.trace(table) / d + 1e-12) * np.eye(d)

    scales = np.ones(names.size)
    pooled = pool(scales)
    for _ in range(rounds if scaled else 0):
        inverse = np.linalg.inv(pooled)
        scales = np.array([np.trace(inverse @ s) / (d * n) for (_, _, s), n in zip(parts, counts, strict=True)])
        pooled = pool(scales)
    return middle, pooled, scales


def marginal(y, w, labels, strengths, closeness, scaled, temper=1.0):
    """The best of the grid: log marginal likelihood, a, kappa."""
    middle, pooled, scales = pooled_prior(y, w, labels, scaled, temper)
    best = (-math.inf, math.nan, math.nan)
    for kappa, a in itertools.product(closeness, strengths):
        found = 0.0
        for k, scale in enumerate(scales):
            rows = labels == k
            found += log_marginal(y[rows], w[rows], a, kappa, scale * pooled, middle, temper)
            found -= 0.5 * math.log(max(temper * rows.sum(), 2)) if scaled else 0
        best = max(best, (found, a, kappa))
    return best


# --------------------------------------------------------------------------------------------------------------- labels


def log_density(square, d, degrees_of_freedom=math.inf, share=0.0, spread=1.0):
    """Log density of Student's t, or of two Gaussians about one centre, so far from it; covariance the identity."""
    x = np.zeros(d)
    x[0] = math.sqrt(square)
    if degrees_of_freedom < math.inf:
        return float(multivariate_t(np.zeros(d), np.eye(d), df=degrees_of_freedom).logpdf(x))
    near = multivariate_normal(np.zeros(d), np.eye(d)).logpdf(x)
    if share == 0:
        return float(near)
    far = multivariate_normal(np.zeros(d), spread * np.eye(d)).logpdf(x)
    return float(np.logaddexp(math.log(1 - share) + near, math.log(share) + far))


def path_score(stay, enter, first, cost, labels):
    """What the labels of series are worth."""
    found = 0.0
    for t, k in enumerate(labels):
        if t == 0 or first[t]:
            found += enter[t][k]
        elif labels[t - 1] == k:
            found += stay[t][k]
        else:
            found += enter[t][k] - cost
    return found


def suitability(x, i, k, labels, listed, distances, centre, by, tails, together, temper, near):
    """What label k is worth for observation i; ``by`` are kind, length and nugget of each feature."""
    mean, covariance, share = centre
    own = [j for j in listed[i] if j >= 0 and labels[j] == k][:near]
    left, scales = [], []
    for f in range(len(x)):
        y, w, log_s = whiten(x[f], i, own, distances, *by[f])
        left.append(y - w * mean[f])
        scales.append(log_s)
    square = float(np.array(left) @ np.linalg.solve(covariance, left))
    logs = log_density(square, len(x), *tails) - 0.5 * np.linalg.slogdet(covariance)[1] - sum(scales)
    first = [j for j in listed[i] if j >= 0][:8]
    agree = sum(labels[j] == k for j in first) / len(first) if first else 0.0
    return temper * logs + together * agree + share


def visit(x, listed, distances, centres, by, tails, together, temper, near, labels):
    """Each observation in turn takes the label that is worth most; only those in its list if neighbours count."""
    labels = [int(k) for k in labels]
    for i in range(len(labels)):
        held = {labels[j] for j in listed[i] if j >= 0} | {labels[i]}
        allowed = held if together > 0 else range(len(centres))
        worth = {
            k: suitability(x, i, k, labels, listed, distances, centres[k], by, tails, together, temper, near)
            for k in sorted(allowed)
        }
        labels[i] = max(worth, key=worth.get)
    return labels


# -------------------------------------------------------------------------------------------------------------- regions


def grow(X, edges, wanted):
    """Merge the two regions next to each other whose sum of squares about their mean rises least, until few are left."""

    def squares(rows):
        part = X[sorted(rows)]
        return float(((part - part.mean(axis=0)) ** 2).sum())

    held = [{i} for i in range(len(X))]
    while len(held) > wanted:
        pairs = []
        for a, b in itertools.combinations(range(len(held)), 2):
            if any((i in held[a] and j in held[b]) or (i in held[b] and j in held[a]) for i, j in edges):
                pairs.append((squares(held[a] | held[b]) - squares(held[a]) - squares(held[b]), a, b))
        if not pairs:
            break
        _, a, b = min(pairs)
        held[a] |= held.pop(b)
    return {frozenset(rows) for rows in held}


def connected(rows, edges):
    """Whether edges among the rows join all of them."""
    rows = set(rows)
    reached, fresh = set(), {min(rows)}
    while fresh:
        reached |= fresh
        fresh = {b for i, j in edges for a, b in ((i, j), (j, i)) if a in reached and b in rows} - reached
    return reached == rows


def partition(labels):
    """The sets of rows of each label."""
    held = {}
    for row, k in enumerate(labels):
        held.setdefault(int(k), set()).add(row)
    return {frozenset(rows) for rows in held.values()}


def follow_scales(distances, d, first, persistence, gain, freedom):
    """Logs of squared scales, each from the rows before it in its series, and the log-likelihood of Student's t."""
    logs = []
    total = 0.0
    for i, distance in enumerate(distances):
        if i == 0 or first[i]:
            logs.append(0.0)
        else:
            before = logs[-1]
            far = distances[i - 1] / np.exp(before)
            weight = (freedom + d) / (freedom + far)
            logs.append(float(np.clip(persistence * before + gain * (weight * far / d - 1), -12, 12)))
        total -= 0.5 * d * logs[-1] + 0.5 * (freedom + d) * np.log(1 + distance / np.exp(logs[-1]) / freedom)
    return np.array(logs), total
