"""Correlations that neighbours of one cluster may have, in the features that they do not explain by their cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.evidence.whitening import EXPONENTIAL, INDEPENDENT, MATERN
from mcgta.runtime.types import Array, Index

_LENGTHS_IN_NEAREST_DISTANCES = (1.5, 5.0, 15.0, 50.0, 150.0)
_NUGGETS = (0.01, 0.15, 0.4, 0.7)  # shares of the variance
_SMOOTH_LENGTHS_IN_NEAREST_DISTANCES = (5.0, 15.0, 50.0)  # of smooth series
_SMOOTH_NUGGETS = (0.001, 0.01)
_WALK_LENGTH_IN_NEAREST_DISTANCES = 1000.0  # of series that wander: a random walk has an infinite one, and no nugget


@dataclass(frozen=True, eq=False)
class CorrelationGrid:
    """T correlations that rows of one cluster may have, the first of which is none.

    Attributes
    ----------
    families : (T,) codes of the functions: independent, exponential, Matérn
    lengths : (T,) in the unit of position
    nuggets : (T,) shares of the variance that neighbours do not have in common
    """

    families: Index
    lengths: Array
    nuggets: Array

    @classmethod
    def of(cls, nearest: Array, count: int, *, chain: bool) -> CorrelationGrid:
        """Make a grid for ``count`` rows with these distances to the nearest, in time (``chain``) or in space."""
        nearest = nearest[np.isfinite(nearest) & (nearest > 0)]
        unit = float(np.median(nearest)) if nearest.size else 1.0
        longest = unit * (count / 3 if chain else np.sqrt(count))
        lengths = [unit * length for length in _LENGTHS_IN_NEAREST_DISTANCES if unit * length <= longest]
        rows = [(INDEPENDENT, 1.0, 1.0)]
        rows += [(EXPONENTIAL, length, nugget) for length in lengths for nugget in _NUGGETS]
        if chain:
            smooth = [unit * length for length in _SMOOTH_LENGTHS_IN_NEAREST_DISTANCES if unit * length <= longest]
            rows += [(MATERN, length, nugget) for length in smooth for nugget in _SMOOTH_NUGGETS]
            rows.append((EXPONENTIAL, unit * _WALK_LENGTH_IN_NEAREST_DISTANCES, 0.0))
        else:
            rows += [(MATERN, length, nugget) for length in lengths for nugget in _NUGGETS]
        family, length, nugget = zip(*rows, strict=True)
        return cls(np.array(family, dtype=np.int64), np.array(length), np.array(nugget))

    def __len__(self) -> int:
        return int(self.families.size)

    def take(self, rows: Index) -> CorrelationGrid:
        """Return some of the correlations."""
        return CorrelationGrid(self.families[rows], self.lengths[rows], self.nuggets[rows])
