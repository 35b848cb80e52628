"""Regions with shares of kinds of their own: how probable rows are in them, and the labels that suit given shares best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from mcgta.kernels.evidence.chances import path_chances, sweep_chances
from mcgta.kernels.evidence.relabel import best_path
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.relabelling import POTTS_NEIGHBORS, potts_weight
from mcgta.selection.scoring.scored_labelling import change_cost, close_gaps
from mcgta.selection.scoring.scoring_data import ScoringData

CONCENTRATIONS = (0.5, 2.0, 8.0, 32.0, 128.0)
"""Pseudo-observations of the Dirichlet prior of a region's shares, centred at those of all rows; the best is taken."""

MIN_REGION_ROWS = 15
"""Rows of the smallest region."""

_SHARE_STEPS = 4  # of estimating shares and the kinds of rows in turn
_SHARE_CONCENTRATION = 2.0  # of the prior by which shares are estimated
_MEAN_FIELD_SWEEPS = 6
_START_CERTAINTY = 0.8  # of the labels that a mean field begins with
_LEAST_LIKELIHOOD = 1e-200
_STABLE_LABELS = 1e-3  # share of labels that may change in the last round


class Shares(NamedTuple):
    """Shares (K, M) of kinds in each region, and the expected counts (K, M) that they come from."""

    shares: Array
    counts: Array


@dataclass(frozen=True, eq=False)
class RegionModel:
    """N rows of M kinds, of which regions have shares of their own.

    Attributes
    ----------
    scoring_data : the rows
    likelihoods : (N, M) densities of rows in each kind, over the largest of the row
    shares : (M,) of kinds in all rows
    """

    scoring_data: ScoringData
    likelihoods: Array
    shares: Array

    @classmethod
    def of(cls, scoring_data: ScoringData, log_densities: Array, shares: Array) -> RegionModel:
        """Prepare rows by their log densities (N, M) in each kind, and the kinds' shares (M,) of all rows."""
        relative = np.exp(log_densities - log_densities.max(axis=1, keepdims=True))
        return cls(scoring_data, native(np.maximum(relative, _LEAST_LIKELIHOOD)), native(shares))

    def __len__(self) -> int:
        return int(self.likelihoods.shape[0])

    @property
    def kind_probabilities(self) -> Array:
        """(N, M) probabilities of kinds for each row by itself."""
        joint = self.likelihoods * self.shares
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    @property
    def one_region(self) -> Array:
        """(N,) log likelihoods of rows if there is one region."""
        return np.asarray(np.log(self.likelihoods @ self.shares))

    def estimate_shares(self, weights: Array, start: Array | None = None, steps: int = _SHARE_STEPS) -> Shares:
        """Estimate the shares of kinds in regions that rows belong to with ``weights`` (N, K)."""
        shares = np.tile(self.shares, (weights.shape[1], 1)) if start is None else start
        counts = self._expected_counts(weights, shares)
        for _ in range(steps):
            shares = counts + _SHARE_CONCENTRATION * self.shares
            shares /= shares.sum(axis=1, keepdims=True)
            counts = self._expected_counts(weights, shares)
        return Shares(shares, counts)

    def _expected_counts(self, weights: Array, shares: Array) -> Array:
        inside = self.likelihoods @ shares.T
        return np.asarray(shares * ((weights / inside).T @ self.likelihoods))

    def shares_of(self, labels: Labels) -> Shares:
        """Estimate the shares of kinds in the regions of a labelling."""
        return self.estimate_shares(indicators(labels))

    def log_likelihoods(self, shares: Array) -> Array:
        """Return the (N, K) log likelihoods of rows in regions with given shares."""
        return native(np.log(self.likelihoods @ shares.T))

    def probabilities(self, labels: Labels, worth: Array) -> Array:
        """Return the (N, K) probabilities of regions, given log likelihoods and how much neighbours agree in ``labels``."""
        size = worth.shape[1]
        found = native(indicators(labels, size) * _START_CERTAINTY + (1.0 - _START_CERTAINTY) / size)
        scoring_data = self.scoring_data
        if scoring_data.chain:
            change = self.change_probability(labels)
            cost = np.log((1.0 - change) * max(size - 1, 1) / change)
            path_chances(worth, worth, scoring_data.series_starts, cost, found)
            return found
        beside = native(scoring_data.neighbors[:, :POTTS_NEIGHBORS], np.int64)
        agreement = potts_weight(beside, labels, labels)
        for _ in range(_MEAN_FIELD_SWEEPS):
            sweep_chances(worth, beside, agreement, found)
        return found

    def change_probability(self, labels: Labels) -> float:
        """Return how probable it is that neighbouring rows have different labels."""
        edges = self.scoring_data.edges
        changes = int((labels[edges[:, 0]] != labels[edges[:, 1]]).sum())
        return (changes + 0.5) / (len(edges) + 1.0)

    def settle(self, labels: Labels, rounds: int) -> Labels:
        """Estimate shares and labels in turn until labels change little, or that many times; small regions are given up."""
        labels = close_gaps(labels)
        for _ in range(rounds):
            size = int(labels.max()) + 1
            if size == 1:
                break
            worth = self.log_likelihoods(self.shares_of(labels).shares)
            changed = close_gaps(self._assign(labels, worth))
            before = labels
            labels = changed
            if int(labels.max()) + 1 == size and float((labels != before).mean()) < _STABLE_LABELS:
                break
        return labels

    def _assign(self, labels: Labels, worth: Array) -> Labels:
        """Return the best labels: along series by Viterbi's algorithm, elsewhere the most probable ones."""
        if self.scoring_data.chain:
            cost = change_cost(len(self.scoring_data.edges), worth.shape[1])
            while True:
                assigned = np.empty(len(self), dtype=np.int64)
                best_path(worth, worth, self.scoring_data.series_starts, cost, assigned)
                small = self._small(assigned, worth.shape[1])
                if not small.any() or small.all() or not np.isfinite(worth[:, small]).any():
                    return assigned
                worth = worth.copy()
                worth[:, small] = -np.inf
        found = self.probabilities(labels, worth)
        small = self._small(found.argmax(axis=1), worth.shape[1])
        if small.any() and not small.all():
            found[:, small] = -1.0
        return np.asarray(found.argmax(axis=1), dtype=np.int64)

    @staticmethod
    def _small(labels: Labels, size: int) -> Index:
        return np.asarray(np.bincount(labels, minlength=size) < MIN_REGION_ROWS)

    def dirichlet(self, counts: Array, concentration: float) -> Array:
        """Return the (...,) log probabilities of ``counts`` (..., M) of kinds, shares being unknown."""
        alpha = np.maximum(concentration * self.shares, 1e-12)
        single = (gammaln(counts + alpha) - gammaln(alpha)).sum(axis=-1)
        return np.asarray(gammaln(concentration) - gammaln(counts.sum(axis=-1) + concentration) + single)

    def occam(self, found: Shares, overdispersion: float = 1.0) -> float:
        """Return the log of what not knowing the shares leaves of the likelihood, which is negative."""
        counts = found.counts / overdispersion
        explained = float((counts * np.log(np.maximum(found.shares, _LEAST_LIKELIHOOD))).sum())
        return max(float(self.dirichlet(counts, each).sum()) for each in CONCENTRATIONS) - explained


def indicators(labels: Labels, size: int | None = None) -> Array:
    """Return the (N, K) table with a 1 for the label of each row."""
    return np.eye(int(labels.max()) + 1 if size is None else size)[labels]
