"""The evidence of a labelling: what its clusters explain, less what it takes to write it down."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from mcgta.kernels.evidence.cluster_evidence import CLOSENESS, STRENGTHS, marginal, plug_in, sum_clusters
from mcgta.kernels.evidence.relabel import own_distances
from mcgta.kernels.evidence.whitening import profile
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.scoring.local_scale import SCALE_COST, find_log_scales
from mcgta.selection.scoring.scoring_data import ScoringData, Whitened
from mcgta.selection.scoring.tails import GAUSSIAN, STUDENT_T, WITH_OUTLIERS, Tails

_TAIL_STEPS = 3  # of fitting tails, each with the weights of the one before
_SCALE_STEPS = 2  # of finding scales that come and go, each with the clusters of the one before
_COARSE_STRENGTHS = STRENGTHS[1::2]
_COARSE_CLOSENESS = CLOSENESS[1:2]


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
class FittedClusters:
    """K clusters with tails, fitted to the N whitened rows of a labelling.

    Attributes
    ----------
    gaussians : means and covariances
    counts : (K,) rows of each cluster
    distances : (N,) squared Mahalanobis distances of rows from their own clusters
    weights : (N,) weights of rows in the estimates
    log_likelihood : of the whitened rows, in nats
    """

    gaussians: Gaussians
    counts: Array
    distances: Array
    weights: Array
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class ScoredLabelling:
    """A labelling and the parts of its evidence.

    Attributes
    ----------
    labels : (N,) clusters 0 ... K - 1, each with a row at least
    correlations : (d,) row of the correlation grid for each feature
    counts, sums : over each cluster's whitened rows
    whitening_nats : sum of the log standard deviations that whitening divides by
    label_nats : nats that it takes to write the labels down, by what changes from neighbour to neighbour
    label_nats_by_place : the same if each change costs as much as naming its place among all edges
    tails : of the clusters' distributions
    tail_nats : nats that the tails explain beyond Gaussian ones
    log_scales : (N,) logs of squared scales that come and go along series, which whitened rows are divided by; None where
        they stay
    model_nats : nats that it takes to say so
    """

    labels: Labels
    correlations: Index
    counts: Array
    sums: Array
    whitening_nats: float
    label_nats: float
    label_nats_by_place: float
    tails: Tails = GAUSSIAN
    tail_nats: float = 0.0
    log_scales: Array | None = None
    model_nats: float = 0.0

    @property
    def n_clusters(self) -> int:
        """K."""
        return int(self.counts.size)

    @cached_property
    def _marginals(self) -> dict[float, tuple[float, Prior]]:
        return {}

    def marginal(self, overdispersion: float = 1.0) -> tuple[float, Prior]:
        """Log marginal likelihood of the whitened rows, each counted 1 / overdispersion, and the prior that is best for it."""
        if overdispersion not in self._marginals:
            self._marginals[overdispersion] = best_prior(self.counts, self.sums, 1.0 / overdispersion)
        return self._marginals[overdispersion]

    def log_evidence(self, overdispersion: float = 1.0, *, by_place: bool = False) -> float:
        """Return the log evidence in nats, rows counting 1 / overdispersion; minus infinity where it is no number.

        ``by_place`` takes ``label_nats_by_place`` for the labels.
        """
        explained = self.marginal(overdispersion)[0] + (self.tail_nats - self.whitening_nats) / overdispersion
        value = explained - (self.label_nats_by_place if by_place else self.label_nats) - self.model_nats
        return value if math.isfinite(value) else -math.inf


def close_gaps(labels: Labels) -> Labels:
    """Number clusters 0, 1, ... without gaps, in their order."""
    present = np.bincount(labels) > 0
    return np.asarray((np.cumsum(present) - 1)[labels], dtype=np.int64)


def score(
    scoring_data: ScoringData,
    labels: Labels,
    *,
    correlations: Index | None = None,
    tails: Tails | None = None,
    quick: bool = False,
) -> ScoredLabelling:
    """Score a labelling, by the correlations and the tails that explain most, or by those given.

    Each feature has a correlation of its own, or all have one, which keeps what they have in common. Along series rows have
    scales that come and go, where these explain more. ``quick`` looks neither for a common correlation nor for scales.
    """
    labels = close_gaps(labels)
    if correlations is not None:
        whitenings = [(correlations, scoring_data.whiten_by(labels, correlations))]
    else:
        by_all = scoring_data.whiten(labels)
        whitenings = [(own, by_all.take(own)) for own in _best_correlations(by_all, labels, quick=quick)]
    found = [_score_whitened(scoring_data, labels, *whitening, tails) for whitening in whitenings]
    best = max(range(len(found)), key=lambda i: found[i].log_evidence())
    if quick or not scoring_data.chain:
        return found[best]
    log_scales = _find_scales(scoring_data, whitenings[best][1], labels)
    if log_scales is None:
        return found[best]
    scaled = _score_whitened(scoring_data, labels, *whitenings[best], tails, log_scales)
    return max(found[best], scaled, key=ScoredLabelling.log_evidence)


def _best_correlations(by_all: Whitened, labels: Labels, *, quick: bool) -> list[Index]:
    """Return the (d,) correlations that explain most: one for each feature, and unless ``quick`` one for all."""
    counts = np.bincount(labels).astype(np.float64)
    table = np.empty(by_all.rows.shape[:2])
    profile(*by_all, labels, counts, table)
    own = table.argmin(axis=0)
    common = np.full_like(own, table.sum(axis=1).argmin())
    return [own] if quick or np.array_equal(own, common) else [own, common]


def _score_whitened(
    scoring_data: ScoringData,
    labels: Labels,
    correlations: Index,
    whitened: Whitened,
    tails: Tails | None,
    log_scales: Array | None = None,
) -> ScoredLabelling:
    """Score a labelling of whitened rows, divided by scales of their own if any are given."""
    whitened = whitened.divided_by(log_scales)
    counts = np.bincount(labels).astype(np.float64)
    sums = sum_cluster_rows(whitened, labels, counts.size)
    label_nats = label_code_length(scoring_data, labels, counts)
    jacobian = float(whitened.log_scales.sum())
    scored = ScoredLabelling(labels, correlations, counts, sums, jacobian, *label_nats)
    if log_scales is not None:
        scored = replace(scored, log_scales=log_scales, model_nats=SCALE_COST * math.log(labels.size))
    return _with_tails(scored, whitened, tails)


def _find_scales(scoring_data: ScoringData, whitened: Whitened, labels: Labels) -> Array | None:
    """Return the (N,) logs of squared scales that come and go along series; None where scales stay."""
    log_scales: Array | None = None
    for _ in range(_SCALE_STEPS):
        clusters = fit_clusters(whitened.divided_by(log_scales), labels, GAUSSIAN).gaussians
        distances = own_squared_distances(whitened, labels, clusters)
        log_scales = find_log_scales(distances, scoring_data.d, scoring_data.series_starts)
        if log_scales is None:
            break
    return log_scales


def whiten_as_scored(scoring_data: ScoringData, scored: ScoredLabelling) -> Whitened:
    """Return the rows whitened as they were when the labelling was scored."""
    return scoring_data.whiten_by(scored.labels, scored.correlations).divided_by(scored.log_scales)


def _with_tails(scored: ScoredLabelling, whitened: Whitened, tails: Tails | None) -> ScoredLabelling:
    """Add the nats that tails explain; the tails that explain most are taken, unless some are given."""
    prior = scored.marginal()[1]
    gaussians = gaussians_of(scored.counts, scored.sums, prior)
    level = fit_clusters(whitened, scored.labels, GAUSSIAN, prior, gaussians).log_likelihood
    if tails is not None:
        fitted = fit_clusters(whitened, scored.labels, tails, prior, gaussians)
        return replace(scored, tails=tails, tail_nats=fitted.log_likelihood - level)
    best = GAUSSIAN
    tail_nats = 0.0
    for heavier in STUDENT_T:
        fitted = fit_clusters(whitened, scored.labels, heavier, prior, gaussians)
        gaussians = fitted.gaussians
        if not fitted.log_likelihood - level > tail_nats:
            break
        best = heavier
        tail_nats = fitted.log_likelihood - level
    for outliers in WITH_OUTLIERS if best != GAUSSIAN else ():
        fitted = fit_clusters(whitened, scored.labels, outliers, prior, gaussians)
        if fitted.log_likelihood - level > tail_nats:
            best = outliers
            tail_nats = fitted.log_likelihood - level
    return replace(scored, tails=best, tail_nats=tail_nats)


def row_log_densities(scoring_data: ScoringData, scored: ScoredLabelling) -> Array:
    """Return the (N,) log densities of rows under their own clusters."""
    whitened = whiten_as_scored(scoring_data, scored)
    fitted = fit_clusters(whitened, scored.labels, scored.tails, scored.marginal()[1])
    densities = scored.tails.log_density(fitted.distances, scoring_data.d)
    return np.asarray(densities - fitted.gaussians.log_root[scored.labels] - whitened.log_scales)


def fit_clusters(
    whitened: Whitened,
    labels: Labels,
    tails: Tails,
    prior: Prior | None = None,
    start: Gaussians | None = None,
    *,
    steps: int = _TAIL_STEPS,
) -> FittedClusters:
    """Fit the clusters of labels 0 ... K - 1; a coarse prior is chosen, and Gaussian clusters to start from, unless given."""
    counts = np.bincount(labels).astype(np.float64)
    d = whitened.rows.shape[0]
    if prior is None or start is None:
        sums = sum_cluster_rows(whitened, labels, counts.size)
        if prior is None:
            prior = best_prior(counts, sums, strengths=_COARSE_STRENGTHS, closeness=_COARSE_CLOSENESS)[1]
        start = gaussians_of(counts, sums, prior)
    gaussians = start
    strengths = np.array([prior.strength])
    closeness = np.array([prior.closeness])
    scaled = (bool((prior.scales != 1.0).any()),)
    for _ in range(0 if tails == GAUSSIAN else steps):
        weights = tails.weights(own_squared_distances(whitened, labels, gaussians), d)
        sums = sum_cluster_rows(whitened, labels, counts.size, weights)
        # A prior as strong and as close, but of these sums: rows far off must not hold it where they are.
        moved = best_prior(counts, sums, strengths=strengths, closeness=closeness, scaled=scaled)[1]
        gaussians = gaussians_of(counts, sums, moved)
    distances = own_squared_distances(whitened, labels, gaussians)
    explained = float((tails.log_density(distances, d) - gaussians.log_root[labels]).sum())
    return FittedClusters(gaussians, counts, distances, tails.weights(distances, d), explained)


def best_prior(
    counts: Array,
    sums: Array,
    likelihood_weight: float = 1.0,
    *,
    strengths: Array = STRENGTHS,
    closeness: Array = CLOSENESS,
    scaled: tuple[bool, ...] = (False, True),
) -> tuple[float, Prior]:
    """Return the largest log marginal likelihood, and its prior, of a grid; ``scaled`` tells whether clusters have scales."""
    size = counts.size
    d = sums.shape[2]
    best: tuple[float, Prior] | None = None
    for with_scales in scaled if size > 1 else (False,):
        middle = np.empty(d)
        pooled = np.empty((d, d))
        scales = np.empty(size)
        chosen = np.array([strengths[0], closeness[0]])
        grid = (native(strengths), native(closeness), with_scales)
        value = marginal(counts, sums, likelihood_weight, *grid, middle, pooled, scales, chosen, np.empty(size))
        if best is None or value > best[0]:
            best = value, Prior(float(chosen[0]), float(chosen[1]), middle, pooled, scales)
    assert best is not None
    return best


def gaussians_of(counts: Array, sums: Array, prior: Prior) -> Gaussians:
    """Return the means and covariances of clusters by their sums and a prior."""
    size = counts.size
    d = sums.shape[2]
    clusters = Gaussians(np.empty((size, d)), np.empty((size, d, d)), np.empty(size))
    by = (prior.strength, prior.closeness, prior.middle, prior.pooled, prior.scales)
    plug_in(counts, sums, *by, clusters.means, clusters.inverse, clusters.log_root)
    return clusters


def sum_cluster_rows(whitened: Whitened, labels: Labels, size: int, weights: Array | None = None) -> Array:
    """Return the sums (K, 3, d, d) over the rows of each of ``size`` clusters, rows counted by their weights."""
    d = whitened.rows.shape[0]
    sums = np.empty((size, 3, d, d))
    weights = np.ones(labels.size) if weights is None else weights
    sum_clusters(whitened.rows, whitened.weights, labels, weights, np.empty(size), sums)
    return sums


def own_squared_distances(whitened: Whitened, labels: Labels, clusters: Gaussians) -> Array:
    """Return the (N,) squared Mahalanobis distances of rows from their own clusters."""
    out = np.empty(labels.size)
    own_distances(whitened.rows, whitened.weights, labels, clusters.means, clusters.inverse, out)
    return out


def label_code_length(scoring_data: ScoringData, labels: Labels, counts: Array) -> tuple[float, float]:
    """Return the nats that it takes to write labels down, and what it takes if each change names its place.

    What is written is which edges labels change along, and what they change to. Along series each change names its place
    among all edges. Elsewhere regions are bounded by many edges, so that changes come at the rate of this labelling. Labels
    that have nothing to do with position are shorter to write one by one, each as rare as its cluster.
    """
    size = counts.size
    edges = len(scoring_data.edges)
    if size == 1:
        return 0.0, 0.0
    changes = int((labels[scoring_data.edges[:, 0]] != labels[scoring_data.edges[:, 1]]).sum())
    groups = (int(scoring_data.series_starts.sum()) - 1) * np.log(size)
    by_place = changes * change_cost(edges, size) + groups
    rows = counts.sum()
    one_by_one = gammaln(rows + size) - gammaln(size) - gammaln(counts + 1).sum()
    if scoring_data.chain:
        return float(min(by_place, one_by_one)), by_place
    rate = gammaln(edges + 1) - gammaln(changes + 1) - gammaln(edges - changes + 1) + np.log(edges + 1)
    return float(min(rate + changes * np.log(max(size - 1, 1)) + groups, one_by_one)), by_place


def change_cost(edges: int, size: int) -> float:
    """Nats of a change of label between neighbours: which edge it is, and what the new label is."""
    return float(np.log(max(edges, 1)) + np.log(max(size - 1, 1)))
