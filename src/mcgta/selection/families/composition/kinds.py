"""Kinds: Gaussians that rows are of with some probability, found without position.

A merge path leads from many kinds to one. On it each number of kinds is a soft mixture, and its log evidence is the bound of
variational Bayes: the marginal likelihood of clusters at soft sums, that of the shares, and the entropy of probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from mcgta.kernels.evidence.cluster_evidence import CLOSENESS, STRENGTHS, merge_gains
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Labels
from mcgta.selection.relabelling import cluster_log_densities
from mcgta.selection.scoring.scored_labelling import Gaussians, Prior, best_prior, close_gaps, gaussians_of
from mcgta.selection.scoring.scoring_data import ScoringData, Whitened
from mcgta.selection.scoring.tails import GAUSSIAN
from mcgta.selection.starts import kmeans_labels, winsorize

MAX_KINDS = 24
"""Kinds that the merge path begins with."""

_SETTLING_STEPS = 20  # of estimating kinds and probabilities in turn
_STEPS_PER_PRIOR = 5
_STABLE_CHANGE = 2e-3  # of the probabilities of a row, in sum
_COARSE_STRENGTHS = STRENGTHS[1::2]
_COARSE_CLOSENESS = CLOSENESS[1:2]
_LEAST_PROBABILITY = 1e-12
_TINY = 1e-300
_WORSE_IN_A_ROW = 4  # numbers of kinds, each worse than the best so far, that end the path


@dataclass(frozen=True, eq=False)
class Kinds:
    """M kinds of N rows.

    Attributes
    ----------
    probabilities : (N, M) of kinds, for each row by itself
    gaussians : means and covariances of scaled features
    log_densities : (N, M) of rows in each kind
    log_evidence : of the mixture, in nats
    one_log_evidence : of a single Gaussian, in nats
    """

    probabilities: Array
    gaussians: Gaussians
    log_densities: Array
    log_evidence: float
    one_log_evidence: float

    def __len__(self) -> int:
        return int(self.probabilities.shape[1])

    @property
    def labels(self) -> Labels:
        """(N,) the most probable kind of each row; kinds that are that of none have no number."""
        return close_gaps(self.probabilities.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class _Mixture:
    """Probabilities (N, M) of kinds, and the counts and sums (M, 3, d, d) that they give."""

    probabilities: Array
    counts: Array
    sums: Array

    @classmethod
    def of(cls, X: Array, probabilities: Array) -> _Mixture:
        d = X.shape[0]
        counts = probabilities.sum(axis=0)
        sums = np.empty((counts.size, 3, d, d))
        for kind in range(counts.size):
            weighted = X * probabilities[:, kind]
            sums[kind, 0] = counts[kind]
            sums[kind, 1] = weighted.sum(axis=1)[None, :]
            sums[kind, 2] = weighted @ X.T
        return cls(probabilities, counts, sums)

    def log_evidence(self) -> tuple[float, Prior]:
        """Return the log evidence, and the prior that is best for it."""
        explained, prior = best_prior(self.counts, self.sums)
        size = self.counts.size
        shares = gammaln(size) - gammaln(self.counts.sum() + size) + gammaln(self.counts + 1.0).sum()
        return float(explained + shares + entropies(self.probabilities).sum()), prior


def entropies(probabilities: Array) -> Array:
    """Return the (M,) sums over rows of -p log p."""
    return np.asarray(-(probabilities * np.log(np.maximum(probabilities, _TINY))).sum(axis=0))


def softmax(logs: Array) -> Array:
    """Return numbers with sum one in each row, in proportion to the exponentials of ``logs``."""
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def find_kinds(scoring_data: ScoringData, seed: int) -> Kinds:
    """Return the number of kinds with the most evidence, on the merge path from ``MAX_KINDS`` to one."""
    X = scoring_data.X
    start = kmeans_labels(winsorize(scoring_data), MAX_KINDS, seed)
    probabilities: Array = np.eye(int(start.max()) + 1)[start]
    best: tuple[float, _Mixture, Prior] | None = None
    worse = 0
    while True:
        mixture = _settle(X, probabilities)
        value, prior = mixture.log_evidence()
        worse += 1
        if best is None or value > best[0]:
            best = value, mixture, prior
            worse = 0
        if mixture.counts.size == 1 or worse == _WORSE_IN_A_ROW:
            break
        probabilities = _merge_two(mixture, prior)
    log_evidence, mixture, prior = best
    gaussians = gaussians_of(mixture.counts, mixture.sums, prior)
    alone = _Mixture.of(X, np.ones((X.shape[1], 1)))
    return Kinds(
        mixture.probabilities,
        gaussians,
        kind_log_densities(X, gaussians),
        log_evidence,
        alone.log_evidence()[0],
    )


def kind_log_densities(X: Array, gaussians: Gaussians) -> Array:
    """Return the (N, M) log densities of rows X (d, N) in each kind."""
    return cluster_log_densities(Whitened.of_independent(X), gaussians, GAUSSIAN)


def _settle(X: Array, probabilities: Array) -> _Mixture:
    """Estimate kinds and probabilities in turn until these change little; kinds that have hardly any rows are given up."""
    mixture = _Mixture.of(X, native(probabilities))
    least = X.shape[0] + 2.0
    prior = _coarse_prior(mixture)
    for step in range(_SETTLING_STEPS):
        if mixture.counts.size == 1:
            break
        if step % _STEPS_PER_PRIOR == _STEPS_PER_PRIOR - 1 or prior.scales.size != mixture.counts.size:
            prior = _coarse_prior(mixture)
        densities = kind_log_densities(X, gaussians_of(mixture.counts, mixture.sums, prior))
        changed = softmax(densities + np.log(np.maximum(mixture.counts, 1e-3)))
        kept = changed.sum(axis=0) > least
        if not kept.all() and kept.any():
            changed = changed[:, kept] + _LEAST_PROBABILITY
            changed /= changed.sum(axis=1, keepdims=True)
        before = mixture.probabilities
        mixture = _Mixture.of(X, native(changed))
        if before.shape == changed.shape and np.abs(changed - before).sum(axis=1).mean() < _STABLE_CHANGE:
            break
    return mixture


def _coarse_prior(mixture: _Mixture) -> Prior:
    return best_prior(mixture.counts, mixture.sums, strengths=_COARSE_STRENGTHS, closeness=_COARSE_CLOSENESS)[1]


def _merge_two(mixture: _Mixture, prior: Prior) -> Array:
    """Return the probabilities with the two kinds merged for which the evidence is best."""
    counts = mixture.counts
    probabilities = mixture.probabilities
    size = counts.size
    gains = np.empty((size, size))
    by = (prior.strength, prior.closeness, prior.middle, prior.pooled, prior.scales)
    merge_gains(counts, mixture.sums, 1.0, *by, gains)
    own = entropies(probabilities)
    for kind in range(size):
        together = entropies(probabilities[:, [kind]] + probabilities)
        shares = gammaln(counts[kind] + counts + 1.0) - gammaln(counts[kind] + 1.0) - gammaln(counts + 1.0)
        gains[kind] += together - own[kind] - own + shares
    np.fill_diagonal(gains, -np.inf)
    first, second = sorted(np.unravel_index(int(gains.argmax()), gains.shape))
    merged = probabilities.copy()
    merged[:, first] += merged[:, second]
    return np.delete(merged, second, axis=1)
