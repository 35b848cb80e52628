"""A dissimilarity that is the user's function of two Gaussians.

The function is called once for each pair that is looked at, with the earlier row first, and must not depend on which of the two
that is. An observation does not differ from itself.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mcgta.runtime.types import Array, Index
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity, Parts
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.model_parts import embedding_of
from mcgta.stages.local_models import LocalModels

_SYMMETRY_CHECKS = 8
_SYMMETRY_TOLERANCE = 1e-8
_NUMBERS_OF_A_CALL = 10_000  # what a call costs, in numbers that a kernel could touch meanwhile


class Gaussian(NamedTuple):
    """A local model: its mean (d,) and covariance (d, d)."""

    mean: Array
    covariance: Array


Function = Callable[[Gaussian, Gaussian], float]


@dataclass(frozen=True)
class Called:
    """A comparison by a Python function, pair by pair; parts are means, covariances and rows."""

    function: Function
    size: int = _NUMBERS_OF_A_CALL

    def table(self, left: Parts, right: Parts) -> Array:
        """Compare each row of ``left`` with each of ``right``."""
        rows = range(left[0].shape[0])
        columns = range(right[0].shape[0])
        return np.array([[self._between(left, i, right, j) for j in columns] for i in rows]).reshape(
            len(rows), len(columns)
        )

    def pairs(self, parts: Parts, i: Index, j: Index) -> Array:
        """Compare the rows i[k] and j[k]."""
        values = [self._between(parts, a, parts, b) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
        return np.array(values, dtype=np.float64)

    def _between(self, left: Parts, i: int, right: Parts, j: int) -> float:
        row = int(left[2][i])
        column = int(right[2][j])
        if row == column:
            return 0.0
        one = Gaussian(left[0][i], left[1][i])
        other = Gaussian(right[0][j], right[1][j])
        value = self.function(one, other) if row < column else self.function(other, one)
        return _checked(value, self.function, row, column)


def function_kind(function: Function) -> Kind:
    """Return the kind of dissimilarity that calls ``function(a, b)`` with two Gaussians."""
    return Kind(_name_of(function), "models", partial(_build, function))


def _build(function: Function, models: LocalModels, seed: int) -> Dissimilarity:
    _check_symmetry(function, models)
    parts = (models.means, models.covariances, np.arange(len(models)))
    return Dissimilarity(_name_of(function), parts, Called(function), embedding_of(models))


def _check_symmetry(function: Function, models: LocalModels) -> None:
    """Call the function both ways for some pairs, spread over the rows, since rows next to each other may have one model."""
    rows = np.unique(np.linspace(0, len(models) - 1, _SYMMETRY_CHECKS).round().astype(int)).tolist()
    for first, row in pairwise(rows):
        one = Gaussian(models.means[first], models.covariances[first])
        other = Gaussian(models.means[row], models.covariances[row])
        forth = _checked(function(one, other), function, first, row)
        back = _checked(function(other, one), function, row, first)
        if not np.isclose(forth, back, rtol=_SYMMETRY_TOLERANCE, atol=np.finfo(float).tiny):
            raise ValueError(
                f"dissimilarity={_name_of(function)}: rows {first} and {row} differ by {forth:g} one way and "
                f"{back:g} the other; it must be symmetric"
            )


def _checked(value: object, function: Function, row: int, column: int) -> float:
    if not isinstance(value, numbers.Real) or not 0 <= float(value) < np.inf:
        raise ValueError(
            f"dissimilarity={_name_of(function)} gave {value!r} for rows {row} and {column}; it must be a number >= 0"
        )
    return float(value)


def _name_of(function: Function) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
