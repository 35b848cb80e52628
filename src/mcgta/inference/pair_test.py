"""The goodness-of-fit reading of the loss (section 5.2 of the paper).

A pair passes when its dissimilarity is at most t(d) = 2 gamma(d) - margin: the two observations differ no more than
observations at that distance do on average, less the margin. It passes the calibrated test when the two differ no more than
samples of one Gaussian do by chance (:mod:`mcgta.inference.significance`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.inference.significance import Significance
from mcgta.runtime.archive import Archived
from mcgta.runtime.parallel import run, tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.stages.loss import Loss
from mcgta.stages.semivariogram.binning import bin_of
from mcgta.stages.within_clusters import count_within, draw_within, pairs_within

_TILE_ROWS = 1024
_TILE_PAIRS = 8192
_MOST_TESTED_PAIRS = 200_000


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
    level : significance level of the calibrated test; NaN where it was not asked for
    tested : pairs within clusters that were put to the calibrated test
    accepted : those of them that pass it, with a p-value above the level
    """

    edges: Array
    pairs: Index
    passed: Index
    level: float = np.nan
    tested: int = 0
    accepted: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.accepted <= self.tested:
            raise ValueError(f"{self.accepted} of {self.tested} pairs cannot have passed")
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

    @property
    def accepted_share(self) -> float:
        """Share of the tested pairs that pass the calibrated test, 1 - level for clusters of one Gaussian each; NaN without."""
        return self.accepted / self.tested if self.tested else float("nan")

    @property
    def sampled(self) -> bool:
        """Whether the calibrated test was put to a sample of the pairs within clusters."""
        return 0 < self.tested < int(self.pairs.sum())

    def __str__(self) -> str:
        lines = [
            f"  {self.edges[k]:>10.4g} - {self.edges[k + 1]:<10.4g} {self.shares[k]:7.1%} of {self.pairs[k]}"
            for k in np.flatnonzero(self.pairs)
        ]
        lines.insert(0, f"{self.share:.1%} of {self.pairs.sum()} pairs within clusters pass")
        if not np.isnan(self.level):
            some = f"a sample of {self.tested}" if self.sampled else f"{self.tested}"
            lines.append(f"{self.accepted_share:.1%} of {some} pass the calibrated test at level {self.level:g}")
        return "\n".join(lines)


def pair_test(loss: Loss, i: int, j: int) -> PairTest:
    """Test whether two observations differ no more than is expected at their distance."""
    rows = np.array([i])
    cols = np.array([j])
    distance = loss.positions.of_pairs(rows, cols)
    value = loss.dissimilarity.of_pairs(rows, cols)
    threshold = float(loss.threshold(distance)[0])
    penalty = 0.0 if i == j else float(loss.beta * loss.penalty(value, distance)[0])
    return PairTest(
        float(distance[0]), float(value[0]), threshold, bool(value[0] <= threshold), penalty, float(value[0]) + penalty
    )


def p_values(loss: Loss, significance: Significance, i: Index, j: Index) -> Array:
    """Return the probability of such a dissimilarity, or more, of rows i[k] and j[k] if both come from one Gaussian."""
    rows = np.minimum(i, j)
    cols = np.maximum(i, j)
    return significance.p_values(loss.dissimilarity.of_pairs(rows, cols), rows, cols)


def goodness_of_fit(
    loss: Loss,
    labels: Labels,
    *,
    significance: Significance | None = None,
    level: float = np.nan,
    edges: Array | None = None,
    random_state: int = 0,
) -> GoodnessOfFit:
    """Count the pairs within clusters that pass, by distance bin (those of the semivariogram by default).

    With ``significance`` it is also counted how many pass the calibrated test at a level, of a sample beyond 200,000 pairs.
    """
    edges = np.asarray(loss.semivariogram.edges if edges is None else edges, dtype=np.float64)
    edges = np.r_[0.0, edges[edges > 0], np.inf]
    pieces = pairs_within(labels, _TILE_ROWS)

    def count_passing(piece: tuple[Index, Index, bool]) -> tuple[Index, Index]:
        rows, cols, halved = piece
        value = loss.dissimilarity.between(rows, cols)
        distance = loss.positions.between(rows, cols)
        if halved:
            once = np.triu(np.ones(value.shape, dtype=bool), 1)
            value = value[once]
            distance = distance[once]
        value = value.ravel()
        distance = distance.ravel()
        where = bin_of(distance, edges, loss.positions.rounding)
        inside = where >= 0
        passes = inside & (value <= loss.threshold(distance))
        counted, passing = (np.bincount(where[some], minlength=edges.size - 1) for some in (inside, passes))
        return counted, passing

    pairs, passed = (np.zeros(edges.size - 1, dtype=np.int64) for _ in range(2))
    with stage("goodness of fit", len(pieces)) as advance:
        for counted, passing in run(count_passing, pieces):
            pairs += counted
            passed += passing
            advance(1)
    if significance is None:
        return GoodnessOfFit(edges, pairs, passed)
    tested, accepted = _count_accepted(loss, labels, significance, level, random_state)
    return GoodnessOfFit(edges, pairs, passed, level, tested, accepted)


def _count_accepted(
    loss: Loss, labels: Labels, significance: Significance, level: float, random_state: int
) -> tuple[int, int]:
    """Return how many pairs within clusters are put to the calibrated test, and how many pass it."""
    count = count_within(labels)
    ranks = np.arange(min(count, _MOST_TESTED_PAIRS))
    if count > _MOST_TESTED_PAIRS:
        ranks = np.sort(np.random.default_rng(random_state).integers(0, count, _MOST_TESTED_PAIRS))
    i, j = draw_within(labels, ranks)

    def count_accepted(part: slice) -> int:
        return int(np.count_nonzero(p_values(loss, significance, i[part], j[part]) > level))

    accepted = 0
    parts = tiles(i.size, _TILE_PAIRS)
    with stage("calibrated test", len(parts)) as advance:
        for passing in run(count_accepted, parts):
            accepted += passing
            advance(1)
    return i.size, accepted
