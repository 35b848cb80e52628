"""The share of pairs at each distance that lie within one cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.fit import Fit
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index
from mcgta.stages.semivariogram.census import take_census

MAX_PAIRED_ROWS = 20_000
"""Rows beyond which the pairs of a sample of rows are counted."""


@dataclass(frozen=True, eq=False)
class PairShares:
    """How many pairs there are in each bin of distance, and how many of them are within a cluster.

    Attributes
    ----------
    edges : (B + 1,) of the bins, in the unit of the positions
    pairs : (B,) all pairs, those with noise among them
    within : (B,) pairs of two rows of one cluster
    rows : how many rows were paired
    n_rows : how many there are
    """

    edges: Array
    pairs: Index
    within: Index
    rows: int
    n_rows: int

    @property
    def shares(self) -> Array:
        """(B,) within / pairs; NaN in a bin without pairs."""
        return np.where(self.pairs > 0, self.within / np.maximum(self.pairs, 1), np.nan)

    @property
    def sampled(self) -> bool:
        """Whether a sample of the rows was paired."""
        return self.rows < self.n_rows


def count_pairs_within(fit: Fit) -> PairShares:
    """Count pairs by the bins of the semivariogram; of more than 20,000 rows those of a sample, drawn with the fit's seed."""
    positions = fit.data.positions
    labels = fit.labelling.labels
    n_rows = labels.size
    if n_rows > MAX_PAIRED_ROWS:
        rng = np.random.default_rng(fit.data.seed)
        rows = np.sort(rng.choice(n_rows, MAX_PAIRED_ROWS, replace=False))
        positions = positions.take(rows)
        labels = labels[rows]
    edges = fit.semivariogram.edges
    within = np.zeros(edges.size - 1, dtype=np.int64)
    for cluster in range(fit.labelling.n_clusters):
        members = np.flatnonzero(labels == cluster)
        if members.size > 1:
            within += _count_pairs(positions.take(members), edges)
    return PairShares(edges, _count_pairs(positions, edges), within, int(labels.size), int(n_rows))


def _count_pairs(positions: Positions, edges: Array) -> Index:
    """Return the (B,) number of pairs in each bin."""
    return take_census(positions, edges, np.zeros((len(positions), 1))).counts
