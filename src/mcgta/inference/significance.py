"""The calibrated goodness-of-fit test: whether two observations differ by more than chance.

The paper reads the margin as a significance level (section 5.2). Here that is made a number: how probable a W2 squared as large
as that of a pair is, if both models describe samples of one Gaussian. Observations of a neighbourhood are taken to be
independent, given the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.inference.null_distribution import NullDistribution
from mcgta.kernels.positions.metrics import TIE
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows
from mcgta.stages.semivariogram.census import take_census
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.shared_neighbors import overlaps

_DRAWN_PAIRS = 256  # pairs of each bin whose overlap is looked at
_QUANTILES = (np.arange(128) + 0.5) / 128


@dataclass(frozen=True, eq=False)
class Significance:
    """What tells whether the dissimilarities of N observations can be chance.

    Attributes
    ----------
    null : distribution of W2 squared over its mean, for models of one Gaussian
    neighborhoods : what the model of each observation was fitted on
    scale : (N,) dissimilarity to be expected of two samples of each model: W2 squared, or 1 where it is in units of that
    """

    null: NullDistribution
    neighborhoods: Neighborhoods | TimeWindows
    scale: Array

    def p_values(self, dissimilarity: Array, i: Index, j: Index) -> Array:
        """Return the probability of such a dissimilarity, or more, of rows i[k] and j[k] if both come from one Gaussian.

        It is 1 for rows with the same neighbourhood, which have the same model.
        """
        shared = overlaps(self.neighborhoods, i, j)
        expected = (1 - shared) * (self.scale[i] + self.scale[j]) / 2
        nothing = np.where(dissimilarity > 0, np.inf, 0.0)
        return self.null.p_value(np.divide(dissimilarity, expected, out=nothing, where=expected > 0), shared)

    def radius(self, level: float) -> float:
        """Return what a share ``level`` of pairs of one Gaussian is beyond, without common neighbours, at the median scale."""
        return float(self.null.quantile(1 - level) * np.median(self.scale))

    def margin(
        self, level: float, semivariogram: Semivariogram, positions: Positions, *, random_state: int = 0
    ) -> float:
        """Return the delta for which a share ``level`` of pairs of one Gaussian exceeds 2 gamma(d) - delta.

        Pairs are as far apart as those of the semivariogram's bins within its range; how much their neighbourhoods overlap is
        looked up for a sample of each bin. Each observation of that stands for a Gaussian.
        """
        reach = semivariogram.range_ * (1 + TIE) + positions.rounding
        edges = np.append(semivariogram.edges[semivariogram.edges < reach], reach)
        counts = np.zeros(1, dtype=np.int64)
        if edges.size > 1:
            census = take_census(positions, edges, np.zeros((len(positions), 1)))
            counts = census.counts
        if not counts.any():
            raise ValueError(
                f"margin={level:.6g} as a level: no pair of observations lies within the range, {semivariogram.range_:g} "
                f"{positions.unit}".rstrip()
                + "; give a number"
            )
        drawn = [
            np.arange(count)
            if count <= _DRAWN_PAIRS
            else np.sort(np.random.default_rng([random_state, k]).integers(0, count, _DRAWN_PAIRS))
            for k, count in enumerate(counts.tolist())
        ]
        i, j = census.draw(drawn)
        weights = np.repeat(counts / np.maximum([part.size for part in drawn], 1), [part.size for part in drawn])
        shared = overlaps(self.neighborhoods, i, j)
        expected = semivariogram.expected(positions.of_pairs(i, j))
        chance = (1 - shared) * self.null.quantile(_QUANTILES, shared)
        rest = np.stack([expected - chance * self.scale[rows] for rows in (i, j)])
        return _weighted_quantile(rest.ravel(), np.broadcast_to(weights, rest.shape).ravel(), level)


def _weighted_quantile(values: Array, weights: Array, level: float) -> float:
    """Return the least of the values that a share ``level`` of the weight does not exceed."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order][min(int(np.searchsorted(total, level * total[-1])), values.size - 1)])
