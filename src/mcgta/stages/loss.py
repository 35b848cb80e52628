"""Stage 5: the loss of putting two observations into one cluster (line 10 of Algorithm 1, equations 8-11)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.positions.metrics import TIE
from mcgta.positions.positions import Positions
from mcgta.runtime.archive import Archived
from mcgta.runtime.parallel import run, symmetric_table
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.within_clusters import pairs_within

_TILE_ROWS = 1024


@dataclass(frozen=True)
class Penalty:
    """Which pairs are penalised, and how.

    Attributes
    ----------
    name : what users call it
    within_range : whether only pairs within the range of the semivariogram are penalised
    hinged : whether it is cut off at zero, so that the loss is never negative
    """

    name: str
    within_range: bool = True
    hinged: bool = True


PENALTIES: dict[str, Penalty] = {
    row.name: row
    for row in (
        Penalty("within_range"),
        Penalty("unconditional", within_range=False),
        Penalty("no_hinge", hinged=False),
    )
}
"""The penalties by name."""


@dataclass(frozen=True, eq=False)
class Objective(Archived):
    """The paper's total loss of a labelling (equation 8), over the pairs within clusters, each counted once.

    Attributes
    ----------
    total : dissimilarity + penalty
    dissimilarity : sum of the pairs' dissimilarities
    penalty : beta times the sum of their hinge penalties
    pairs : number of pairs within clusters; noise belongs to none
    """

    total: float
    dissimilarity: float
    penalty: float
    pairs: int


@dataclass(frozen=True, eq=False)
class Loss:
    """M(i, j) = W + beta * max(0, W - t(d)) * [d <= rho], and M(i, i) = 0.

    W is the dissimilarity, d the distance of the pair, rho the range, and t(d) = 2 gamma(d) - margin the dissimilarity
    up to which the pair passes the test. (Equation 9 writes gamma for the mean dissimilarity at a distance, which by equation 6
    is 2 gamma.)

    Attributes
    ----------
    dissimilarity, positions, semivariogram : the stages before, for the same N observations
    beta : weight of the penalty; 0 leaves W alone
    margin : delta, in the unit of W
    penalty_kind : a name of ``PENALTIES``
    """

    dissimilarity: Dissimilarity
    positions: Positions
    semivariogram: Semivariogram
    beta: float = 1.0
    margin: float = 0.0
    penalty_kind: str = "within_range"

    def __post_init__(self) -> None:
        if len(self.dissimilarity) != len(self.positions):
            raise ValueError(f"{len(self.dissimilarity)} dissimilarities but {len(self.positions)} positions")
        if not 0 <= self.beta < np.inf or not np.isfinite(self.margin):
            raise ValueError(f"beta={self.beta} must be a number >= 0, and margin={self.margin} a number")
        if self.penalty_kind not in PENALTIES:
            raise ValueError(f"penalty={self.penalty_kind!r} is not one of {', '.join(PENALTIES)}")

    def __len__(self) -> int:
        return len(self.positions)

    def threshold(self, distance: Array) -> Array:
        """t(d), the dissimilarity up to which a pair at that distance passes the goodness-of-fit test."""
        return self.semivariogram.expected(distance) - self.margin

    def penalty(self, dissimilarity: Array, distance: Array) -> Array:
        """r(i, j), without beta (equations 9 and 10; without the range, equation 11)."""
        if not PENALTIES[self.penalty_kind].within_range:
            return self._exceeds(dissimilarity, distance)
        out = np.zeros(np.broadcast_shapes(dissimilarity.shape, distance.shape))
        near = distance <= self.semivariogram.range_ * (1 + TIE) + self.positions.rounding
        out[near] = self._exceeds(dissimilarity[near], distance[near])
        return out

    def _exceeds(self, dissimilarity: Array, distance: Array) -> Array:
        excess = dissimilarity - self.threshold(distance)
        return np.maximum(excess, 0.0) if PENALTIES[self.penalty_kind].hinged else excess

    def between(self, rows: Index | slice, cols: Index | slice) -> Array:
        """Loss of each of ``rows`` with each of ``cols``, as a table."""
        table = self.dissimilarity.between(rows, cols)
        if self.beta > 0:
            table = table + self.beta * self.penalty(table, self.positions.between(rows, cols))
            every = np.arange(len(self))
            table[every[rows][:, None] == every[cols][None, :]] = 0.0
        return table

    def matrix(self, *, tile: int = _TILE_ROWS) -> Array:
        """Return the whole table (N, N), symmetric with a zero diagonal."""
        return symmetric_table(self.between, len(self), tile, name="loss")

    def objective(self, labels: Labels) -> Objective:
        """Sum the loss over the pairs within clusters, all of which are compared."""
        pieces = pairs_within(labels, _TILE_ROWS)

        def add_up(piece: tuple[Index, Index, bool]) -> tuple[float, float, int]:
            rows, cols, halved = piece
            value = self.dissimilarity.between(rows, cols)
            once = np.triu(np.ones(value.shape, dtype=bool), 1) if halved else np.ones(value.shape, dtype=bool)
            penalised = 0.0
            if self.beta > 0:
                penalty = self.penalty(value, self.positions.between(rows, cols))
                penalised = float(self.beta * penalty[once].sum())
            return float(value[once].sum()), penalised, int(once.sum())

        plain = 0.0
        penalised = 0.0
        pairs = 0
        with stage("objective", len(pieces)) as advance:
            for part in run(add_up, pieces):
                plain = plain + part[0]
                penalised = penalised + part[1]
                pairs = pairs + part[2]
                advance(1)
        return Objective(plain + penalised, plain, penalised, pairs)
