"""Every stage of Algorithm 1 in plain loops, straight from the equations: the slow twin that the package is compared with.

Nothing here comes from the package, nothing is vectorised for speed, and nothing is clever. Observations are rows
0, 1, 2, ...; tables are nested loops; a pair is looked at by itself.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
from scipy import integrate, optimize, special
from scipy.linalg import sqrtm

EARTH_RADIUS = 6_371_008.8

# ---------------------------------------------------------------------------------------------- distances of positions


def great_circle(a, b):
    """Haversine formula for (longitude, latitude) in degrees; metres."""
    lon_a, lat_a, lon_b, lat_b = (math.radians(float(x)) for x in (*a, *b))
    h = math.sin((lat_b - lat_a) / 2) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    return 2 * EARTH_RADIUS * math.asin(math.sqrt(min(1.0, h)))


def euclidean(a, b):
    return math.sqrt(math.fsum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True)))


def spacetime(a, b, time_scale, space=euclidean):
    """Time is the last coordinate."""
    return math.hypot(space(a[:-1], b[:-1]), time_scale * (float(a[-1]) - float(b[-1])))


def distance_table(places, measure=euclidean, groups=None):
    """All distances; infinite between groups."""
    count = len(places)
    table = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            apart = groups is not None and groups[i] != groups[j]
            table[i, j] = math.inf if apart else measure(places[i], places[j])
    return table


# ------------------------------------------------------------------------------------------------------- neighbourhoods


def neighbours(i, table, coordinates, n, rounding=0.0):
    """Rows of the n nearest of i, itself included, ascending; None where fewer than n can be reached.

    Distances within 1e-9 of the n-th (and ``rounding``) are tied; among tied rows the lexicographically earlier
    coordinates come first, then the earlier row.
    """
    others = [j for j in range(len(table)) if j != i and math.isfinite(table[i][j])]
    if len(others) + 1 < n:
        return None
    if n == 1:
        return [i]
    last = sorted(table[i][j] for j in others)[n - 2]
    slack = 1e-9 * last + rounding
    closer = [j for j in others if table[i][j] < last - slack]
    tied = [j for j in others if abs(table[i][j] - last) <= slack]
    tied.sort(key=lambda j: (tuple(coordinates[j]), j))
    return sorted([i, *closer, *tied[: n - 1 - len(closer)]])


def kernel_weights(distances, kind):
    """Weights of one neighbourhood, from its n distances."""
    n = len(distances)
    width = max(distances) * (n + 1) / n
    raw = []
    for distance in distances:
        u = distance / width if width > 0 else 0.0
        raw.append(
            {
                "uniform": 1.0,
                "epanechnikov": 1 - u**2,
                "triangular": 1 - u,
                "gaussian": math.exp(-0.5 * (u / 0.5) ** 2),
            }[kind]
        )
    return np.array([value / math.fsum(raw) for value in raw])


def stack_lags_in_time(X, times, groups, lags):
    """Each row followed by its predecessors; the first of a series stands in for those that are missing."""
    out = []
    for i in range(len(X)):
        series = sorted((j for j in range(len(X)) if groups[j] == groups[i]), key=lambda j: (times[j], j))
        at = series.index(i)
        out.append(np.concatenate([X[series[max(at - lag, 0)]] for lag in range(lags + 1)]))
    return np.array(out)


def stack_lags_in_space(X, table, lags):
    """Each row followed by its nearest, second nearest, ... neighbour."""
    out = []
    for i in range(len(X)):
        near = sorted((j for j in range(len(X)) if j != i), key=lambda j: (table[i][j], j))
        out.append(np.concatenate([X[j] for j in [i, *near[:lags]]]))
    return np.array(out)


# --------------------------------------------------------------------------------------------------------- local models


def moments(window, weights):
    """Weighted mean and covariance, summed without rounding."""
    d = len(window[0])
    mean = [math.fsum(float(w) * float(x[k]) for w, x in zip(weights, window, strict=True)) for k in range(d)]
    cov = np.zeros((d, d))
    for k in range(d):
        for m in range(d):
            cov[k, m] = math.fsum(w * (x[k] - mean[k]) * (x[m] - mean[m]) for w, x in zip(weights, window, strict=True))
    return np.array(mean), cov


def duality_gap(cov, fitted, alpha):
    """How far a covariance is from the graphical lasso's optimum, in nats; 0 at it."""
    theta = np.linalg.inv(fitted)
    d = len(cov)
    penalty = sum(abs(theta[i, j]) for i in range(d) for j in range(d) if i != j)
    return float(np.trace(cov @ theta) - d + alpha * penalty)


def graphical_lasso(cov, alpha, tol=1e-12, sweeps=20_000):
    """Maximise log det W over |W_ij - S_ij| <= alpha, W_ii = S_ii, one entry at a time.

    With P = W^-1, det(W + t (e_i e_j' + e_j e_i')) = det W [(1 + t P_ij)^2 - t^2 P_ii P_jj], a parabola in t with its
    top at P_ij / (P_ii P_jj - P_ij^2). Constant columns stay out.
    """
    varies = [k for k in range(len(cov)) if cov[k, k] > 0]
    S = cov[np.ix_(varies, varies)]
    d = len(varies)
    out = np.zeros_like(cov)
    towards = min([1.0] + [0.999 * alpha / abs(S[i, j]) for i in range(d) for j in range(i) if S[i, j] != 0])
    W = (1 - towards) * S + towards * np.diag(np.diag(S))
    for _ in range(sweeps):
        for i in range(d):
            for j in range(i):
                P = np.linalg.inv(W)
                top = W[i, j] + P[i, j] / (P[i, i] * P[j, j] - P[i, j] ** 2)
                W[i, j] = W[j, i] = min(max(top, S[i, j] - alpha), S[i, j] + alpha)
        if abs(duality_gap(S, W, alpha)) < tol:
            break
    out[np.ix_(varies, varies)] = W
    return out


def shrunk(cov, shrinkage):
    """(1 - s) S + s tr(S)/d I over the columns that vary."""
    varies = [k for k in range(len(cov)) if cov[k, k] > 0]
    level = sum(cov[k, k] for k in varies) / max(len(varies), 1)
    out = (1 - shrinkage) * cov
    for k in varies:
        out[k, k] += shrinkage * level
    return out


def ledoit_wolf(window):
    """Ledoit and Wolf (2004), lemma 3.2-3.4, from a window with uniform weights."""
    n, d = window.shape
    centred = window - window.mean(axis=0)
    S = sum(np.outer(x, x) for x in centred) / n
    m = np.trace(S) / d
    d2 = ((S - m * np.eye(d)) ** 2).sum() / d
    b2 = min(sum(((np.outer(x, x) - S) ** 2).sum() / d for x in centred) / n**2, d2)
    return b2 / d2 * m * np.eye(d) + (1 - b2 / d2) * S


def oas(cov, n):
    """Chen et al. (2010) in the form of scikit-learn, which leaves out the 2/d of the article."""
    d = len(cov)
    square, trace = float((cov**2).sum()), float(np.trace(cov))
    return shrunk(cov, min(1.0, (square + trace**2) / ((n + 1) * (square - trace**2 / d))))


def density(x, mean, cov):
    shift = np.asarray(x) - mean
    inside = float(shift @ np.linalg.inv(cov) @ shift)
    return math.exp(-0.5 * inside) / math.sqrt(np.linalg.det(2 * math.pi * np.atleast_2d(cov)))


def responsibilities(x, shares, means, covs):
    raw = [share * density(x, mean, cov) for share, mean, cov in zip(shares, means, covs, strict=True)]
    return [value / sum(raw) for value in raw]


def prior_moments(x, shares, means, covs):
    """Mean and covariance of the mixture reweighted by the responsibilities of x."""
    weight = responsibilities(x, shares, means, covs)
    mean = sum(w * m for w, m in zip(weight, means, strict=True))
    cov = sum(w * (c + np.outer(m - mean, m - mean)) for w, m, c in zip(weight, means, covs, strict=True))
    return mean, cov


def map_update(mean, cov, prior_mean, prior_cov, n, m):
    """n observations of the neighbourhood and m pseudo-observations of the prior."""
    out_mean = (m * prior_mean + n * mean) / (m + n)
    between = m * n / (m + n) * np.outer(mean - prior_mean, mean - prior_mean)
    return out_mean, (m * prior_cov + n * cov + between) / (m + n)


# -------------------------------------------------------------------------------------------------------- dissimilarity


def wasserstein2(mean_a, cov_a, mean_b, cov_b):
    """Equation 5, with matrix square roots."""
    root = sqrtm(cov_a)
    cross = sqrtm(root @ cov_b @ root)
    return float(sum((mean_a - mean_b) ** 2) + np.trace(cov_a + cov_b - 2 * np.real(cross)))


def wasserstein2_of_factors(mean_a, A, mean_b, B):
    """The same for covariances A A' and B B' of any rank: the cross term is the nuclear norm of A' B."""
    cross = np.linalg.svd(A.T @ B, compute_uv=False).sum()
    return float(sum((mean_a - mean_b) ** 2) + (A**2).sum() + (B**2).sum() - 2 * cross)


def wasserstein2_precise(mean_a, cov_a, mean_b, cov_b):
    """Equation 5 with 50 digits; eigenvalues that rounding of the covariances made negative count as zero."""
    with mpmath.workdps(50):
        values, vectors = mpmath.eigsy(mpmath.matrix(cov_a.tolist()))
        factor = vectors * mpmath.diag([mpmath.sqrt(max(value, 0)) for value in values])
        cross = mpmath.eigsy(factor.T * mpmath.matrix(cov_b.tolist()) * factor, eigvals_only=True)
        shifts = [(mpmath.mpf(float(x)) - float(y)) ** 2 for x, y in zip(mean_a, mean_b, strict=True)]
        traces = mpmath.fsum([*map(float, np.diag(cov_a)), *map(float, np.diag(cov_b))])
        return float(mpmath.fsum(shifts) + traces - 2 * mpmath.fsum(mpmath.sqrt(max(value, 0)) for value in cross))


def kl(mean_a, cov_a, mean_b, cov_b):
    """KL(a | b)."""
    inverse, shift = np.linalg.inv(cov_b), mean_b - mean_a
    logs = np.linalg.slogdet(cov_b)[1] - np.linalg.slogdet(cov_a)[1]
    return 0.5 * float(np.trace(inverse @ cov_a) - len(mean_a) + shift @ inverse @ shift + logs)


def symmetric_kl(mean_a, cov_a, mean_b, cov_b):
    return (kl(mean_a, cov_a, mean_b, cov_b) + kl(mean_b, cov_b, mean_a, cov_a)) / 2


def js_integrand(p, q):
    m = (p + q) / 2
    return 0.5 * sum(x * math.log(x / m) for x in (p, q) if x > 0)


def tv_integrand(p, q):
    return abs(p - q) / 2


def integral_1d(integrand, mean_a, sd_a, mean_b, sd_b):
    """The integral of a function of two normal densities over the line."""

    def value(x):
        p, q = (math.exp(-0.5 * ((x - m) / s) ** 2) / (s * math.sqrt(2 * math.pi)) for m, s in pairs)
        return integrand(p, q)

    pairs = ((mean_a, sd_a), (mean_b, sd_b))
    low, high = min(m - 12 * s for m, s in pairs), max(m + 12 * s for m, s in pairs)
    marks = sorted({m + k * s for m, s in pairs for k in range(-4, 5)})
    return integrate.quad(value, low, high, points=marks, limit=500)[0]


def monte_carlo(kind, mean_a, cov_a, mean_b, cov_b, count, seed):
    """JS or TV by sampling the mixture (a + b)/2; returns the value and its standard error."""
    rng = np.random.default_rng(seed)
    half = count // 2
    drawn = [rng.multivariate_normal(m, c, half) for m, c in ((mean_a, cov_a), (mean_b, cov_b))]
    x = np.concatenate(drawn)
    p, q = (np.exp(log_densities(x, m, c)) for m, c in ((mean_a, cov_a), (mean_b, cov_b)))
    mixture = (p + q) / 2
    if kind == "tv":
        values = np.abs(p - q) / 2 / mixture
    else:
        values = 0.5 * (special.xlogy(p, p / mixture) + special.xlogy(q, q / mixture)) / mixture
    return float(values.mean()), float(values.std() / math.sqrt(count))


def log_densities(x, mean, cov):
    shift = x - mean
    inside = np.einsum("nd,de,ne->n", shift, np.linalg.inv(cov), shift)
    return -0.5 * (inside + np.linalg.slogdet(2 * math.pi * cov)[1])


def squared_euclidean(x, y):
    return sum((float(a) - float(b)) ** 2 for a, b in zip(x, y, strict=True))


def cosine(x, y):
    return 1 - sum(a * b for a, b in zip(x, y, strict=True)) / math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))


def simulated_null(cov, n, repeats, seed):
    """Mean W2 squared between the Gaussians fitted to two samples of n from one Gaussian, and its standard error."""
    rng, d = np.random.default_rng(seed), len(cov)
    values = []
    for _ in range(repeats):
        a, b = rng.multivariate_normal(np.zeros(d), cov, n), rng.multivariate_normal(np.zeros(d), cov, n)
        covs = [np.atleast_2d(np.cov(x.T, bias=True)) for x in (a, b)]
        values.append(wasserstein2(a.mean(axis=0), covs[0], b.mean(axis=0), covs[1]))
    return float(np.mean(values)), float(np.std(values) / math.sqrt(repeats))


def chance(cov, n):
    """W2 squared to be expected of two samples of n from one Gaussian, to first order."""
    values = [float(x) for x in np.linalg.eigvalsh(cov)]
    shape = math.fsum(a * b * (1 + (k == m)) / (a + b) for k, a in enumerate(values) for m, b in enumerate(values))
    return (2 * math.fsum(values) + shape) / n


def simulated_ratios(cov, n, shared, repeats, seed):
    """W2 squared over its expectation for the Gaussians fitted to two samples of n that have ``shared`` members in common."""
    rng, d = np.random.default_rng(seed), len(cov)
    out = []
    for _ in range(repeats):
        drawn = rng.multivariate_normal(np.zeros(d), cov, 2 * n - shared)
        a, b = drawn[:n], drawn[n - shared :]
        covs = [np.atleast_2d(np.cov(x.T, bias=True)) for x in (a, b)]
        expected = (1 - shared / n) * (chance(covs[0], n) + chance(covs[1], n)) / 2
        out.append(wasserstein2(a.mean(axis=0), covs[0], b.mean(axis=0), covs[1]) / expected)
    return np.array(out)


def overlap(members_a, weights_a, members_b, weights_b):
    """What the variance of a difference of weighted means falls short by for common members."""
    a = dict(zip(members_a.tolist(), weights_a.tolist(), strict=True))
    b = dict(zip(members_b.tolist(), weights_b.tolist(), strict=True))
    apart = sum((a.get(k, 0) - b.get(k, 0)) ** 2 for k in {*a, *b})
    return 1 - apart / (sum(w * w for w in a.values()) + sum(w * w for w in b.values()))


# -------------------------------------------------------------------------------------------------------- semivariogram


def default_edges(table, bins, max_lag=None):
    """Bins between zero and half the largest distance, the k-th edge at (k/bins)^2 of it."""
    if max_lag is None:
        max_lag = max(x for x in np.ravel(table) if math.isfinite(x)) / 2
    return np.array([max_lag * (k / bins) ** 2 for k in range(bins + 1)])


def bin_of(distance, edges):
    """The bin [edge, next edge) that holds a distance, the last one closed; None outside."""
    for k in range(len(edges) - 1):
        if edges[k] <= distance < edges[k + 1] or (k == len(edges) - 2 and distance == edges[-1]):
            return k
    return None


def empirical_semivariogram(W, table, edges):
    """Mean distance, half the mean dissimilarity and number of the pairs i < j in each bin (equation 6)."""
    held = [[] for _ in range(len(edges) - 1)]
    for i in range(len(W)):
        for j in range(i + 1, len(W)):
            k = bin_of(table[i][j], edges)
            if k is not None:
                held[k].append((table[i][j], W[i][j]))
    lags = [math.fsum(d for d, _ in pairs) / len(pairs) if pairs else math.nan for pairs in held]
    values = [math.fsum(w for _, w in pairs) / (2 * len(pairs)) if pairs else math.nan for pairs in held]
    return np.array(lags), np.array(values), np.array([len(pairs) for pairs in held])


def correlation(h, model, length, shape=math.nan):
    """GSTools' correlation functions at distance h with len_scale ``length`` and its default rescaling."""
    x = h / length
    if model == "spherical":
        return 1 - 1.5 * x + 0.5 * x**3 if x < 1 else 0.0
    if model == "exponential":
        return math.exp(-x)
    if model == "gaussian":
        return math.exp(-math.pi / 4 * x**2)
    if model == "stable":
        return math.exp(-(x**shape))
    if x == 0:
        return 1.0
    if shape > 20:
        return math.exp(-((x / 2) ** 2))
    z = math.sqrt(shape) * x
    return 2 ** (1 - shape) / math.gamma(shape) * z**shape * float(special.kv(shape, z))


def variogram(h, model, nugget, sill, length, shape=math.nan):
    """nugget + (sill - nugget)(1 - correlation), the sill at infinity, the nugget at zero."""
    if math.isinf(h):
        return sill
    return nugget + (sill - nugget) * (1 - correlation(h, model, length, shape))


def practical_range(model, length, shape=math.nan):
    """Where 95 % of the rise is reached; the length itself for the spherical model, which reaches all of it there."""
    if model == "spherical":
        return length
    far = length
    while correlation(far, model, length, shape) > 0.05:
        far *= 2
    return optimize.brentq(lambda h: correlation(h, model, length, shape) - 0.05, 0, far, xtol=1e-12 * length)


def least_squares(x, y, weights, model, lengths, shape=math.nan):
    """Smallest weighted mean square of nugget + partial (1 - correlation) over a list of lengths, and its length."""
    best = (math.inf, math.nan)
    for length in lengths:
        rise = [1 - correlation(h, model, length, shape) for h in x]
        A = np.sqrt(weights)[:, None] * np.column_stack([np.ones(len(x)), rise])
        residual = optimize.nnls(A, np.sqrt(weights) * y)[1]
        best = min(best, (residual**2 / sum(weights), length))
    return best


def non_decreasing(values, weights):
    """Pool adjacent violators until the means of the blocks rise."""
    blocks = [([k], float(v), float(w)) for k, (v, w) in enumerate(zip(values, weights, strict=True))]
    k = 0
    while k < len(blocks) - 1:
        if blocks[k][1] > blocks[k + 1][1]:
            (a, v, w), (b, v2, w2) = blocks[k], blocks[k + 1]
            blocks[k : k + 2] = [(a + b, (v * w + v2 * w2) / (w + w2), w + w2)]
            k = max(k - 1, 0)
        else:
            k += 1
    return [value for rows, value, _ in blocks for _ in rows]
