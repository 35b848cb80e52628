"""The evidence of a labelling: what its clusters explain, less what it takes to write it down."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from mcgta.kernels.evidence.cluster_evidence import CLOSENESS, STRENGTHS, marginal, plug_in, sum_clusters
from mcgta.kernels.evidence.relabel import own_distances
from mcgta.kernels.evidence.whitening import profile
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.field import Field, gather
from mcgta.selection.tails import GAUSSIAN, HEAVY, STRAY, Tails

_STEPS = 3  # of fitting Student's t


@dataclass(frozen=True, eq=False)
class Prior:
    """The prior of a labelling's clusters; see :mod:`mcgta.kernels.evidence.cluster_evidence`."""

    strength: float
    closeness: float
    middle: Array
    pooled: Array
    scales: Array


@dataclass(frozen=True, eq=False)
class Gaussians:
    """K clusters: means (K, d), inverse Cholesky factors of the covariances (K, d, d), half their log determinants (K,)."""

    means: Array
    inverse: Array
    log_root: Array


@dataclass(frozen=True, eq=False)
class Scored:
    """A labelling and what its evidence is made of.

    Attributes
    ----------
    labels : (N,) clusters 0 ... K - 1, each with a row at least
    kinds : (d,) which kind of dependence each feature has
    counts, sums : over each cluster's whitened rows
    jacobian : sum of log s
    code : nats that it takes to write the labels down, by what changes from neighbour to neighbour
    full : nats if each change is one of as many places as there are
    tails : how far off rows may be
    gain : nats that the tails explain
    """

    labels: Labels
    kinds: Index
    counts: Array
    sums: Array
    jacobian: float
    code: float
    full: float
    tails: Tails = GAUSSIAN
    gain: float = 0.0

    @property
    def clusters(self) -> int:
        """K."""
        return int(self.counts.size)

    @cached_property
    def _found(self) -> dict[float, tuple[float, Prior]]:
        return {}

    def marginal(self, overdispersion: float = 1.0) -> tuple[float, Prior]:
        """Log marginal likelihood of the whitened rows, each counted 1 / overdispersion, and the prior that is best for it."""
        if overdispersion not in self._found:
            self._found[overdispersion] = best_prior(self.counts, self.sums, 1.0 / overdispersion)
        return self._found[overdispersion]

    def log_evidence(self, overdispersion: float = 1.0, *, full: bool = False) -> float:
        """Return the log evidence in nats, rows counting 1 / overdispersion; minus infinity where it is no number."""
        explained = self.marginal(overdispersion)[0] + (self.gain - self.jacobian) / overdispersion
        value = explained - (self.full if full else self.code)
        return value if math.isfinite(value) else -math.inf


def best_prior(counts: Array, sums: Array, temper: float, *, coarse: bool = False) -> tuple[float, Prior]:
    """Return the log marginal likelihood and the prior, with or without scales of clusters, for which it is largest.

    ``coarse`` looks at a few priors only.
    """
    strengths, closeness = (STRENGTHS[1::2], CLOSENESS[1:2]) if coarse else (STRENGTHS, CLOSENESS)
    best: tuple[float, Prior] | None = None
    for scaled in (False, True) if counts.size > 1 else (False,):
        size = counts.size
        d = sums.shape[2]
        middle = np.empty(d)
        pooled = np.empty((d, d))
        scales = np.empty(size)
        chosen = np.empty(2)
        each = np.empty(size)
        found = marginal(
            counts, sums, temper, native(strengths), native(closeness), scaled, middle, pooled, scales, chosen, each
        )
        if best is None or found > best[0]:
            best = found, Prior(float(chosen[0]), float(chosen[1]), middle, pooled, scales)
    assert best is not None
    return best


def estimate(counts: Array, sums: Array, prior: Prior) -> Gaussians:
    """Return the clusters' Gaussians."""
    size = counts.size
    d = sums.shape[2]
    means = np.empty((size, d))
    inverse = np.empty((size, d, d))
    log_root = np.empty(size)
    plug_in(
        counts,
        sums,
        prior.strength,
        prior.closeness,
        prior.middle,
        prior.pooled,
        prior.scales,
        means,
        inverse,
        log_root,
    )
    return Gaussians(means, inverse, log_root)


def compact(labels: Labels) -> Labels:
    """Number clusters 0, 1, ... without gaps, in their order."""
    present = np.bincount(labels) > 0
    return np.asarray((np.cumsum(present) - 1)[labels], dtype=np.int64)


def score(field: Field, labels: Labels, *, kinds: Index | None = None, tails: Tails | None = None) -> Scored:
    """Score a labelling, by the dependence and the tails that suit it best, or by those given."""
    labels = compact(labels)
    counts = np.bincount(labels).astype(np.float64)
    if kinds is None:
        whitened = field.whiten(labels)
        table = np.empty((len(field.dependence), field.d))
        profile(*whitened, labels, counts, table)
        kinds = table.argmin(axis=0)
        y, w, log_s = gather(whitened, kinds)
    else:
        y, w, log_s = field.whiten_by(labels, kinds)
    sums = add_up(y, w, labels, counts.size)
    code, full = write_down(field, labels, counts)
    found = Scored(labels, kinds, counts, sums, float(log_s.sum()), code, full)
    return _with_tails(found, y, w, tails)


def log_densities(field: Field, scored: Scored) -> Array:
    """Return the (N,) log densities of rows under the clusters of a labelling."""
    y, w, log_s = field.whiten_by(scored.labels, scored.kinds)
    prior = scored.marginal()[1]
    start = estimate(scored.counts, scored.sums, prior)
    clusters = fit_tails(y, w, scored.labels, scored.counts, prior, start, scored.tails)[1]
    distances = distances_of(y, w, scored.labels, clusters)
    return np.asarray(scored.tails.log_density(distances, field.d) - clusters.log_root[scored.labels] - log_s)


def add_up(y: Array, w: Array, labels: Labels, size: int, weights: Array | None = None) -> Array:
    """Return the sums over clusters' rows."""
    d = y.shape[0]
    counts = np.empty(size)
    sums = np.empty((size, 3, d, d))
    sum_clusters(y, w, labels, np.ones(labels.size) if weights is None else weights, counts, sums)
    return sums


def write_down(field: Field, labels: Labels, counts: Array) -> tuple[float, float]:
    """Return the nats that it takes to write labels down, which edges they change along, and what to; and with changes in full.

    Along series each change is one of as many places. Elsewhere regions are bounded by many edges, so that changes come at the
    rate of this labelling. Labels that have nothing to do with position are shorter to write one by one, each as rare as its
    cluster.
    """
    size = counts.size
    edges = len(field.edges)
    if size == 1:
        return 0.0, 0.0
    changes = int((labels[field.edges[:, 0]] != labels[field.edges[:, 1]]).sum())
    groups = (int(field.first.sum()) - 1) * np.log(size)
    full = changes * switch_cost(edges, size) + groups
    rows = counts.sum()
    free = gammaln(rows + size) - gammaln(size) - gammaln(counts + 1).sum()
    if field.chain:
        return float(min(full, free)), full
    rate = gammaln(edges + 1) - gammaln(changes + 1) - gammaln(edges - changes + 1) + np.log(edges + 1)
    return float(min(rate + changes * np.log(max(size - 1, 1)) + groups, free)), full


def switch_cost(edges: int, size: int) -> float:
    """Nats of a change of label between neighbours: which edge it is, and what the new label is."""
    return float(np.log(max(edges, 1)) + np.log(max(size - 1, 1)))


def fit_tails(
    y: Array, w: Array, labels: Labels, counts: Array, prior: Prior, start: Gaussians, tails: Tails, steps: int = _STEPS
) -> tuple[float, Gaussians, Array]:
    """Fit clusters of Student's t; return the log-likelihood of whitened rows, the clusters, and the weights of rows."""
    d = y.shape[0]
    found = start
    for _ in range(0 if tails == GAUSSIAN else steps):
        distances = distances_of(y, w, labels, found)
        sums = add_up(y, w, labels, counts.size, tails.weights(distances, d))
        found = estimate(counts, sums, _moved(prior, counts, sums))
    distances = distances_of(y, w, labels, found)
    explained = float((tails.log_density(distances, d) - found.log_root[labels]).sum())
    return explained, found, tails.weights(distances, d)


def _moved(prior: Prior, counts: Array, sums: Array) -> Prior:
    """Return a prior as strong and as close, of clusters with other sums: rows far off must not hold it where they are."""
    size = counts.size
    d = sums.shape[2]
    middle = np.empty(d)
    pooled = np.empty((d, d))
    scales = np.empty(size)
    grid = np.array([prior.strength]), np.array([prior.closeness])
    scaled = bool((prior.scales != 1.0).any())
    marginal(counts, sums, 1.0, *grid, scaled, middle, pooled, scales, np.empty(2), np.empty(size))
    return Prior(prior.strength, prior.closeness, middle, pooled, scales)


def distances_of(y: Array, w: Array, labels: Labels, clusters: Gaussians) -> Array:
    """Squared Mahalanobis distances of rows from their own clusters."""
    out = np.empty(labels.size)
    own_distances(y, w, labels, clusters.means, clusters.inverse, out)
    return out


def _with_tails(found: Scored, y: Array, w: Array, tails: Tails | None) -> Scored:
    """Add what tails explain; those that explain most, unless they are given."""
    prior = found.marginal()[1]
    plain = estimate(found.counts, found.sums, prior)

    def explain(by: Tails, start: Gaussians) -> tuple[float, Gaussians]:
        return fit_tails(y, w, found.labels, found.counts, prior, start, by)[:2]

    level = explain(GAUSSIAN, plain)[0]
    if tails is not None:
        return replace(found, tails=tails, gain=explain(tails, plain)[0] - level)
    best = GAUSSIAN
    gain = 0.0
    start = plain
    for by in HEAVY:
        explained, start = explain(by, start)
        if not explained - level > gain:
            break
        best = by
        gain = explained - level
    if best != GAUSSIAN:
        for by in STRAY:
            explained = explain(by, start)[0]
            if explained - level > gain:
                best = by
                gain = explained - level
    return replace(found, tails=best, gain=gain)
