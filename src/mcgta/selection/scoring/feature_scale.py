"""Features as they are scored: those that vary, in units of their standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Index

_MIN_RELATIVE_SPREAD = 1e-12  # standard deviation over the largest value; what varies less is rounding
_TINY = 1e-300  # stands for a largest value of zero
_MAX_DISTINCT_SHARE = 0.5  # of the rows, distinct values up to which a feature repeats itself
_BLUR_IN_DEVIATIONS = 1e-4  # of a feature's standard deviation
_MIN_UNEXPLAINED_SHARE = 1e-8  # of a feature's variance, what others have to leave unexplained


def varying_columns(features: Array) -> Index:
    """Return those of the features (N, D) that vary by more than rounding, so that there is something to score by."""
    return _varying(features, features.std(axis=0))


@dataclass(frozen=True, eq=False)
class Scale:
    """The features that are used, and what divides them; left out are constant ones and sums of multiples of others.

    Attributes
    ----------
    columns : (d,) those used
    middle, spread : (d,) their means and standard deviations
    """

    columns: Index
    middle: Array
    spread: Array

    @classmethod
    def of(cls, features: Array) -> Scale:
        """Find the scale of features (N, D)."""
        spread = features.std(axis=0)
        columns = _varying(features, spread)
        middle = features[:, columns].mean(axis=0)
        spread = spread[columns]
        X = (features[:, columns] - middle) / spread
        rest = X.T @ X / len(X)
        kept = []
        for _ in range(columns.size):
            best = int(np.argmax(np.diagonal(rest)))
            if rest[best, best] < _MIN_UNEXPLAINED_SHARE:
                break
            kept.append(best)
            rest = rest - np.outer(rest[:, best], rest[best]) / rest[best, best]
            rest[best] = 0.0
            rest[:, best] = 0.0
        kept.sort()
        return cls(columns[kept], middle[kept], spread[kept])

    def apply(self, features: Array) -> Array:
        """Return (d, N) scaled features."""
        return native(((features[:, self.columns] - self.middle) / self.spread).T)


def _varying(features: Array, spread: Array) -> Index:
    """Return the columns whose standard deviation, ``spread`` (D,), is more than rounding."""
    return np.flatnonzero(spread > _MIN_RELATIVE_SPREAD * np.maximum(np.abs(features).max(axis=0), _TINY))


def blur_repeated(X: Array, seed: int) -> Array:
    """Add a trace of noise, in place, to features (d, N) that repeat their values.

    A cluster of equal rows would have all the evidence.
    """
    rng = np.random.default_rng(seed)
    for feature in X:
        if np.unique(feature).size <= _MAX_DISTINCT_SHARE * feature.size:
            feature += _BLUR_IN_DEVIATIONS * rng.normal(size=feature.size)
    return X
