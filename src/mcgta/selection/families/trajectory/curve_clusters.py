"""Clusters of records as curves: their evidence, their coefficients, and the density of records in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.kernels.evidence.cluster_evidence import CLOSENESS, STRENGTHS
from mcgta.kernels.evidence.regression_evidence import regression_marginal, regression_merge_gains, regression_plug_in
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.trajectory.curve_data import CurveSums
from mcgta.selection.scoring.scored_labelling import Prior

NUMBERS_OF_REGRESSORS = (1, 2, 3, 4, 6, 9, 13, 18, 25)
"""Cosines that curves may be made of, the constant among them; one is a level."""

_COARSE_STRENGTHS = STRENGTHS[1::2]
_COARSE_CLOSENESS = CLOSENESS[:3]


class Marginal(NamedTuple):
    """Log marginal likelihood of whitened rows, and the prior that is best for it; ``middle`` of the prior is (d, q)."""

    value: float
    prior: Prior


@dataclass(frozen=True, eq=False)
class Curves:
    """K clusters: coefficients (K, d, q) of their curves, and covariances (K, d, d) about them."""

    coefficients: Array
    covariances: Array

    def __len__(self) -> int:
        return int(self.covariances.shape[0])


def marginal(sums: CurveSums, overdispersion: float = 1.0, *, coarse: bool = False) -> Marginal:
    """Return the log marginal likelihood of clusters, their rows counted 1 / overdispersion; a ``coarse`` grid is faster."""
    size = sums.counts.size
    d = sums.squares.shape[1]
    strengths = native(_COARSE_STRENGTHS if coarse else STRENGTHS)
    closeness = native(_COARSE_CLOSENESS if coarse else CLOSENESS)
    best: Marginal | None = None
    for with_scales in (False, True) if size > 1 and not coarse else (False,):
        middle = np.empty((d, sums.n_regressors))
        pooled = np.empty((d, d))
        scales = np.empty(size)
        chosen = np.array([strengths[0], closeness[0]])
        given = (*_arrays(sums), 1.0 / overdispersion, strengths, closeness, with_scales)
        value = regression_marginal(*given, middle, pooled, scales, chosen, np.empty(size))
        if best is None or value > best.value:
            best = Marginal(value, Prior(float(chosen[0]), float(chosen[1]), middle, pooled, scales))
    assert best is not None
    return best


def merge_gains(sums: CurveSums, prior: Prior, overdispersion: float) -> Array:
    """Return (K, K) what merging two clusters does to the log marginal likelihood."""
    size = sums.counts.size
    gains = np.empty((size, size))
    by = (prior.strength, prior.closeness, prior.middle, prior.pooled, prior.scales)
    regression_merge_gains(*_arrays(sums), 1.0 / overdispersion, *by, gains)
    return gains


def fit_curves(sums: CurveSums, prior: Prior) -> Curves:
    """Return the curves of clusters by their sums and a prior."""
    size = sums.counts.size
    d = sums.squares.shape[1]
    curves = Curves(np.empty((size, d, sums.n_regressors)), np.empty((size, d, d)))
    by = (prior.strength, prior.closeness, prior.middle, prior.pooled, prior.scales)
    regression_plug_in(*_arrays(sums), *by, curves.coefficients, curves.covariances)
    return curves


def record_log_densities(records: CurveSums, curves: Curves) -> Array:
    """Return (R, K) log densities of records in each cluster."""
    d = records.squares.shape[1]
    records = records.first_regressors(curves.coefficients.shape[2])
    number = len(curves)
    ways = records.ways
    precisions = np.linalg.inv(curves.covariances)
    n_ways = records.grams.shape[1]
    member = np.eye(n_ways)[ways]  # (d, U)
    pulled = precisions[:, :, :, None] * curves.coefficients[:, :, None, :]  # (K, f, g, q): P_fg b_f
    linear = np.einsum("fu,kfgq->kugq", member, pulled)
    square = np.einsum("gv,kugp,kgq->kuvpq", member, linear, curves.coefficients)
    flat = (records.counts.size, -1)
    distances = records.squares.reshape(flat) @ precisions.reshape(number, -1).T
    distances -= 2.0 * records.products.reshape(flat) @ linear.reshape(number, -1).T
    distances += records.grams.reshape(flat) @ square.reshape(number, -1).T
    log_determinants = np.linalg.slogdet(curves.covariances)[1]
    constants = records.counts * d * np.log(2 * np.pi) + 2.0 * records.log_scales
    return np.asarray(-0.5 * (distances + constants[:, None] + records.counts[:, None] * log_determinants))


def estimate_overdispersion(records: CurveSums, labels: Labels, curves: Curves) -> float:
    """Return how many rows count as one: how far records are from their curve, over what it is if rows are independent.

    The score of a record is the derivative of its log density with respect to the coefficients of its curve. Under the model
    its square, over the information that the record has, is one for each coefficient, less what fitting takes away. Smooth
    deviations of whole records make it larger.
    """
    d = records.squares.shape[1]
    q = curves.coefficients.shape[2]
    records = records.first_regressors(q)
    sizes = np.bincount(labels)
    precisions = np.linalg.inv(curves.covariances)
    squared = 0.0
    free = 0.0
    for k in np.flatnonzero(sizes > 1):
        own = np.flatnonzero(labels == k)
        coefficients = curves.coefficients[k]
        grams = records.grams[own][:, :, records.ways]  # (n, U, d, q, q)
        left = records.products[own] - np.einsum("nufpq,fq->nufp", grams, coefficients)  # (n, U, d, q)
        scores = np.einsum("nfgq,fg->nfq", left[:, records.ways], precisions[k])
        for f in range(d):
            u = records.ways[f]
            information = records.grams[own, u, u] * precisions[k, f, f]
            ridge = 1e-6 * np.trace(information, axis1=1, axis2=2)[:, None, None] / q * np.eye(q)
            solved = np.linalg.solve(information + ridge, scores[:, f, :, None])[..., 0]
            squared += float((solved * scores[:, f]).sum())
        free += d * q * (own.size - 1.0)
    return max(1.0, squared / free) if free > 0 else 1.0


def best_curves(sums: CurveSums, overdispersion: float = 1.0) -> Curves:
    """Return the curves of clusters, with the number of cosines that has the most evidence."""
    numbers = [number for number in NUMBERS_OF_REGRESSORS if number <= sums.n_regressors]
    found = [marginal(sums.first_regressors(number), overdispersion) for number in numbers]
    best = int(np.argmax([one.value for one in found]))
    return fit_curves(sums.first_regressors(numbers[best]), found[best].prior)


def _arrays(sums: CurveSums) -> tuple[Array | Index, ...]:
    """The arrays that kernels take."""
    return sums.counts, sums.grams, sums.products, sums.squares, sums.ways
