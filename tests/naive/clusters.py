"""The second half of the slow twin: what follows the semivariogram in Algorithm 1, pair by pair.

``gamma`` is a function of one distance, ``W`` the table of dissimilarities, ``D`` the table of distances.
"""

from __future__ import annotations

import math

import numpy as np

from naive import algorithm as naive


def empirical_curve(edges, lags, values, counts):
    """Gamma, range, sill and nugget read off the bins themselves.

    The curve is made non-decreasing, starts at (0, nugget), is joined by straight lines, stays level after its last
    point and never exceeds the sill. The sill is the mean over the pairs in the farther half of the lags; the range is
    where the curve first reaches 95 % of the rise from the nugget to the sill.
    """
    seen = [k for k in range(len(counts)) if counts[k] > 0]
    x, y, w = ([float(a[k]) for k in seen] for a in (lags, values, counts))
    far = [k for k in range(len(x)) if x[k] >= 0.5 * edges[-1] or k == len(x) - 1]
    nugget = y[0]
    sill = max(sum(y[k] * w[k] for k in far) / sum(w[k] for k in far), nugget)
    x, y = [0.0, *x], [nugget, *naive.non_decreasing(y, w)]

    def gamma(h):
        if math.isinf(h):
            return sill
        for k in range(len(x) - 1):
            if x[k] <= h < x[k + 1]:
                return min(sill, y[k] + (y[k + 1] - y[k]) * (h - x[k]) / (x[k + 1] - x[k]))
        return min(sill, y[-1])

    goal, range_ = nugget + 0.95 * (sill - nugget), x[-1]
    for k in range(len(x)):
        if y[k] >= goal:
            flat = k == 0 or y[k] == y[k - 1]
            range_ = x[k] if flat else x[k - 1] + (x[k] - x[k - 1]) * (goal - y[k - 1]) / (y[k] - y[k - 1])
            break
    return gamma, range_, sill, nugget


def pair_penalty(w, d, gamma, rho, margin, *, penalty="within_range"):
    """Equations 10 and 11, without beta; "unconditional" forgets the range, "no_hinge" does not cut off at zero."""
    if d > rho and penalty != "unconditional":
        return 0.0
    excess = w - (2 * gamma(d) - margin)
    return excess if penalty == "no_hinge" else max(0.0, excess)


def loss_table(W, D, gamma, rho, beta, margin, *, penalty="within_range"):
    """M(i, j) = W + beta r, and 0 for an observation with itself."""
    out = np.zeros(np.shape(W))
    for i in range(len(W)):
        for j in range(len(W)):
            if i != j:
                r = pair_penalty(W[i][j], D[i][j], gamma, rho, margin, penalty=penalty)
                out[i, j] = W[i][j] + beta * r
    return out


def pairs_within(labels):
    """Pairs i < j of one cluster; noise belongs to none."""
    count = len(labels)
    return [(i, j) for i in range(count) for j in range(i + 1, count) if labels[i] == labels[j] >= 0]


def objective(W, M, labels):
    """Total loss over the pairs within clusters, its part of dissimilarity, its part of penalty, number of pairs."""
    pairs = pairs_within(labels)
    plain = math.fsum(W[i][j] for i, j in pairs)
    total = math.fsum(M[i][j] for i, j in pairs)
    return total, plain, total - plain, len(pairs)


def passes(w, d, gamma, margin):
    return w <= 2 * gamma(d) - margin


def passing_by_bin(W, D, gamma, margin, labels, edges):
    """Pairs within clusters, and those that pass, in each bin [edge, next edge) and beyond the last edge."""
    pairs, passed = [0] * len(edges), [0] * len(edges)
    for i, j in pairs_within(labels):
        where = [k for k in range(len(edges)) if D[i][j] >= edges[k]]
        if where:
            pairs[where[-1]] += 1
            passed[where[-1]] += passes(W[i][j], D[i][j], gamma, margin)
    return pairs, passed


def renumber(labels):
    """Clusters 0, 1, ... by their first member."""
    names = []
    for label in labels:
        if label >= 0 and label not in names:
            names.append(label)
    return [names.index(label) if label >= 0 else -1 for label in labels]


def dbscan(M, eps, min_samples):
    """DBSCAN by its definition; returns labels and core rows.

    Core: at least min_samples rows within eps, itself included. Clusters: core rows joined by steps of at most eps, in
    the order of their first core row. A border row goes to the first cluster with a core row within eps.
    """
    count = len(M)
    core = [i for i in range(count) if sum(M[i][j] <= eps for j in range(count)) >= min_samples]
    labels, clusters = [-1] * count, 0
    for start in core:
        if labels[start] >= 0:
            continue
        reached = [start]
        for i in reached:
            labels[i] = clusters
            reached += [j for j in core if M[i][j] <= eps and labels[j] < 0 and j not in reached]
        clusters += 1
    for i in range(count):
        near = [labels[c] for c in core if M[i][c] <= eps]
        if i not in core and near:
            labels[i] = min(near)
    return renumber(labels), core


def core_distance(M, i, min_samples):
    """Loss to the min_samples-th nearest, itself included."""
    return sorted(M[i])[min(min_samples, len(M)) - 1]


def reach(losses, own):
    """Smallest radius at which an observation hangs on one of the anchors, given its losses with them."""
    return min(max(loss, 0.0, dense) for loss, dense in zip(losses, own, strict=True))


def strength(reached, radius):
    if radius <= 0:
        return 1.0 if reached <= 0 else 0.0
    return min(1.0, max(0.0, 1 - reached / radius))


def place(losses, anchor_labels, own, radii):
    """Cluster and strength of a new observation: the cluster it reaches first, if within that cluster's radius."""
    best = None
    for label in range(len(radii)):
        rows = [k for k in range(len(anchor_labels)) if anchor_labels[k] == label]
        if rows:
            reached = reach([losses[k] for k in rows], [own[k] for k in rows])
            if best is None or reached < best[0]:
                best = (reached, label)
    if best is None or best[0] > radii[best[1]]:
        return -1, 0.0
    return best[1], strength(best[0], radii[best[1]])


def drop_small(labels, size):
    """Clusters of fewer than ``size`` rows are noise."""
    return renumber([label if labels.count(label) >= size else -1 for label in labels])


def merge_heights(M, min_samples):
    """Radii at which components of mutual reachability, max(core distance of both, loss), become one."""
    count = len(M)
    core = [core_distance(M, i, min_samples) for i in range(count)]
    mutual = [[max(core[i], core[j], M[i][j]) for j in range(count)] for i in range(count)]
    component, heights = list(range(count)), []
    edges = [(mutual[i][j], i, j) for i in range(count) for j in range(i)]
    for height, i, j in sorted(edges):
        if component[i] != component[j]:
            heights.append(height)
            component = [component[i] if c == component[j] else c for c in component]
    return sorted(set(heights))


def cut(M, min_samples, size, n_clusters):
    """Try every merge height; labels and height of the least noise, then of the largest interval, then the lowest.

    Returns None where no height has exactly so many clusters.
    """
    heights = merge_heights(M, min_samples)
    best = None
    for k, eps in enumerate(heights):
        labels = drop_small(dbscan(M, eps, min_samples)[0], size)
        if max(labels) + 1 == n_clusters:
            after = heights[k + 1] if k + 1 < len(heights) else math.inf
            key = (labels.count(-1), eps - after, eps)
            if best is None or key < best[0]:
                best = key, labels, eps
    return best and best[1:]


def antichains(parent, c=0):
    """Every set of clusters within cluster c of which none is within another; the root is never taken."""
    children = [k for k in range(len(parent)) if parent[k] == c]
    sets = [()]
    for child in children:
        sets = [(*one, *two) for one in sets for two in antichains(parent, child)]
    return [*sets, (c,)] if c > 0 else sets
