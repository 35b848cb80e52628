"""A tree over the models of a loss, and what its kernels need to know of that loss.

The tree depends on the models and where they are, not on the penalty, so losses that differ in beta or margin share it.
:mod:`mcgta.kernels.tree.search` has the contract of the tuples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.kernels.gaussians.wasserstein import embed, features_of, pair_functions, pair_workspace
from mcgta.kernels.positions.metrics import FLAT, TIE
from mcgta.kernels.simd.compiled import native
from mcgta.kernels.tree.build import bound_boxes, build_tree, spread_fans, turn_points
from mcgta.runtime.types import Array, Index
from mcgta.stages.dissimilarity.registry import names_where
from mcgta.stages.loss import PENALTIES, Loss

RELATIVE_ROUNDING = 1e-12
"""What bounds and exact values may be off, in largest traces and radii."""

_PLACE_WEIGHT = 1e-200  # of a whole side of the positions; models come first by far


class ModelTree(NamedTuple):
    """A tree over N models.

    Attributes
    ----------
    rows : (N,) row of each point of the tree
    tree, data : what kernels take
    largest_trace : the largest trace of a covariance, in the unit of the dissimilarity
    """

    rows: Index
    tree: tuple[Array, Index, Array, Array, Array, Index, Index, Array]
    data: tuple[Array, Index, Array, Index, Array]
    largest_trace: float


class Models(NamedTuple):
    """What a dissimilarity compares observations by.

    Attributes
    ----------
    packed : (N, 1 + d + d^2) means, traces and covariances
    half_chance : (N,) c/2 of each for what is in units of chance; empty for W2 squared itself
    """

    packed: Array
    half_chance: Array

    @classmethod
    def of(cls, parts: tuple[Array, ...]) -> Models:
        """Read the parts of a dissimilarity."""
        return cls(parts[0], parts[1] if len(parts) > 1 else np.empty(0))

    def points(self) -> Array:
        """Return the points that a tree is over."""
        z = embed(self.packed, spectra=True)
        return np.column_stack([z, self.half_chance]) if self.half_chance.size else z

    def traces(self) -> Array:
        """Return the traces of covariances, in units of c where the dissimilarity is."""
        traces = self.packed[:, features_of(self.packed)]
        if not self.half_chance.size:
            return traces
        zeros = np.zeros_like(traces)
        return np.divide(traces, 2 * self.half_chance, out=zeros, where=self.half_chance > 0)


class LossTerms(NamedTuple):
    """What kernels need to know of a loss, with a radius: numbers and curve of the penalty, and functions to call."""

    numbers: tuple[Array, Array, Array, Array]
    calls: Index


def serves(loss: Loss) -> bool:
    """Tell whether a tree can be built for this loss."""
    measured = loss.positions.kind is not None or loss.beta == 0
    return loss.dissimilarity.has_bounds and PENALTIES[loss.penalty_kind].hinged and measured


def grow_tree(loss: Loss) -> ModelTree:
    """Build the tree, for W2 squared (or calibrated) and positions that kernels can measure between, or no penalty."""
    if not serves(loss):
        raise ValueError(
            f"a tree needs dissimilarity={' or '.join(map(repr, names_where(has_bounds=True)))}, a hinge, and positions with "
            "coordinates (or beta=0)"
        )
    models = Models.of(loss.dissimilarity.parts)
    d = features_of(models.packed)
    z = models.points()
    positions = loss.positions.points
    places = np.zeros((len(loss), 1)) if positions is None else positions
    # Models at one place are divided by position, which keeps piles of equal ones small.
    side = np.maximum(np.ptp(places, axis=0), np.finfo(float).tiny)
    weights = np.zeros(z.shape[1])  # of c none, which follows from the others
    weights[:d] = 1.0
    weights[d : 2 * d + d * (d + 1) // 2] = np.sqrt(0.5)
    rows, nodes = build_tree(np.hstack([z, places]), np.r_[weights, _PLACE_WEIGHT / side], full=True)
    z = z[rows]
    places = np.ascontiguousarray(places[rows])
    groups = loss.positions.groups.astype(np.int64)[rows]
    boxes = bound_boxes(z, nodes)
    where = bound_boxes(np.column_stack([places, groups]), nodes)
    data = (np.ascontiguousarray(models.packed).reshape(-1), rows, places, groups, native(models.half_chance))
    tree = (z, nodes, boxes, where, turn_points(z), *spread_fans(nodes, boxes))
    return ModelTree(rows, tree, data, float(models.traces().max(initial=0.0)))


def features(loss: Loss) -> int:
    """Return the number of features d that the models are about."""
    return features_of(loss.dissimilarity.parts[0])


def workspace(loss: Loss) -> Array:
    """Return room in which kernels compare pairs; each thread needs its own."""
    return pair_workspace(features(loss))


def penalty_reach(loss: Loss, rounding: float) -> float:
    """Return the distance beyond which pairs are not penalised, given the rounding errors of distances."""
    within_range = PENALTIES[loss.penalty_kind].within_range
    return loss.semivariogram.range_ * (1 + TIE) + rounding if within_range else np.inf


def describe_loss(loss: Loss, largest_trace: float, eps: float, rounding: float | None = None) -> LossTerms:
    """Describe a loss to kernels, with a radius; ``rounding`` is that of the loss's positions by default."""
    rounding = loss.positions.rounding if rounding is None else rounding
    slack = RELATIVE_ROUNDING * (largest_trace + abs(eps))
    code, *arrays = loss.semivariogram.kernel_curve
    parameters, x, y = map(native, arrays)
    numbers = np.array([eps, loss.beta, loss.margin, penalty_reach(loss, rounding), slack])
    kind = FLAT if loss.positions.kind is None else loss.positions.kind
    d = features(loss)
    calls = np.array([d, kind, code, *pair_functions(d)], dtype=np.int64)
    return LossTerms((numbers, parameters, x, y), calls)
