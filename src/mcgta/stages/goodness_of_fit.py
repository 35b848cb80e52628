"""The goodness-of-fit reading of the loss (section 5.2 of the paper).

A pair passes when its dissimilarity is at most t(d) = 2 gamma(d) - margin: the two observations differ no more than
observations at that distance do on average, less the margin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.archive import Archived
from mcgta.parallel import run
from mcgta.progress import Progress
from mcgta.stages.labelling import pairs_within
from mcgta.stages.lag_bins import bin_of
from mcgta.stages.loss import Loss
from mcgta.types import Array, Index, Labels

_TILE = 1024


@dataclass(frozen=True)
class PairTest:
    """The test of one pair.

    Attributes
    ----------
    distance : of the positions
    dissimilarity : the test statistic, W
    threshold : t(d) = 2 gamma(d) - margin
    passes : whether dissimilarity <= threshold
    penalty : beta times the hinge penalty, 0 where the pair passes or is out of range
    loss : dissimilarity + penalty, what the clustering sees
    """

    distance: float
    dissimilarity: float
    threshold: float
    passes: bool
    penalty: float
    loss: float


@dataclass(frozen=True, eq=False)
class GoodnessOfFit(Archived):
    """How many of the pairs within clusters pass, by distance.

    Attributes
    ----------
    edges : (B + 2,) edges of the bins of distance; the last bin runs to infinity and holds pairs of different groups
    pairs : (B + 1,) pairs within clusters, each counted once
    passed : (B + 1,) those of them that pass
    """

    edges: Array
    pairs: Index
    passed: Index

    def __post_init__(self) -> None:
        if self.pairs.shape != self.passed.shape or self.edges.shape != (self.pairs.size + 1,):
            raise ValueError("edges, pairs and passed disagree on the number of bins")

    @property
    def share(self) -> float:
        """Share of all pairs within clusters that pass; NaN without pairs."""
        return float(self.passed.sum() / self.pairs.sum()) if self.pairs.sum() else float("nan")

    @property
    def shares(self) -> Array:
        """(B + 1,) share of each bin; NaN in an empty one."""
        with np.errstate(invalid="ignore"):
            return np.where(self.pairs > 0, self.passed / np.maximum(self.pairs, 1), np.nan)

    def __str__(self) -> str:
        lines = [
            f"  {self.edges[k]:>10.4g} - {self.edges[k + 1]:<10.4g} {self.shares[k]:7.1%} of {self.pairs[k]}"
            for k in np.flatnonzero(self.pairs)
        ]
        lines.insert(0, f"{self.share:.1%} of {self.pairs.sum()} pairs within clusters pass")
        return "\n".join(lines)


def pair_test(loss: Loss, i: int, j: int) -> PairTest:
    """Test whether two observations differ no more than their distance lets expect."""
    rows, cols = np.array([i]), np.array([j])
    distance = loss.positions.of_pairs(rows, cols)
    value = loss.dissimilarity.of_pairs(rows, cols)
    threshold = float(loss.threshold(distance)[0])
    penalty = 0.0 if i == j else float(loss.beta * loss.penalty(value, distance)[0])
    return PairTest(
        float(distance[0]), float(value[0]), threshold, bool(value[0] <= threshold), penalty, float(value[0]) + penalty
    )


def labelling_test(
    loss: Loss,
    labels: Labels,
    *,
    edges: Array | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> GoodnessOfFit:
    """Count the pairs within clusters that pass, by distance bin (those of the semivariogram by default)."""
    edges = np.asarray(loss.semivariogram.edges if edges is None else edges, dtype=np.float64)
    edges = np.r_[0.0, edges[edges > 0], np.inf]
    pieces = pairs_within(labels, _TILE)

    def look(piece: tuple[Index, Index, bool]) -> tuple[Index, Index]:
        rows, cols, halved = piece
        value, distance = loss.dissimilarity.between(rows, cols), loss.positions.between(rows, cols)
        if halved:
            once = np.triu(np.ones(value.shape, dtype=bool), 1)
            value, distance = value[once], distance[once]
        value, distance = value.ravel(), distance.ravel()
        where = bin_of(distance, edges, loss.positions.rounding)
        inside = where >= 0
        passes = inside & (value <= loss.threshold(distance))
        counted, passing = (np.bincount(where[some], minlength=edges.size - 1) for some in (inside, passes))
        return counted, passing

    pairs, passed = (np.zeros(edges.size - 1, dtype=np.int64) for _ in range(2))
    with (progress or Progress()).stage("goodness of fit", len(pieces)) as advance:
        for counted, passing in run(look, pieces, n_jobs=n_jobs):
            pairs += counted
            passed += passing
            advance(1)
    return GoodnessOfFit(edges, pairs, passed)
