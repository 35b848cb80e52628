"""A kind of dissimilarity, as a row of the registry: how it compares observations, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from mcgta.runtime.types import Array
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity
from mcgta.stages.local_models import LocalModels

Basis = Literal["models", "features", "rows"]


def _all_comparable(X: Array) -> dict[int, str]:
    return {}


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of dissimilarity with its capabilities; the other modules ask for these, never for its name.

    Attributes
    ----------
    name : what users call it
    compares : what ``build`` takes: local "models", "features" (N, d), or the user's "rows" (N,) in canonical order
    build : returns the dissimilarity of these, given a seed
    needs_definite : whether covariances must have full rank
    mixes : whether local models are mixtures over components that all share, in the place of single Gaussians
    has_bounds : whether it compares packed models by W2 squared, whose bounds kernels know, so that a tree over the models can
        be used; internal, for kinds of the library
    sampled : whether it is an estimate with a sampling error
    shift_invariant : whether adding a constant to a feature changes nothing
    incomparable : returns the rows of features (N, d) that it cannot compare, with the reason
    suggested_eps : returns a radius for DBSCAN, from models and the number of neighbours they were fitted on; None without
    chance_scale : returns the (N,) dissimilarity to be expected of two samples of each model; None where that is not known
    table : (N, N) all pairs in the user's order of rows, where it is given; None for others
    """

    name: str
    compares: Basis
    build: Callable[[Any, int], Dissimilarity]
    needs_definite: bool = False
    mixes: bool = False
    has_bounds: bool = False
    sampled: bool = False
    shift_invariant: bool = True
    incomparable: Callable[[Array], dict[int, str]] = _all_comparable
    suggested_eps: Callable[[LocalModels, int], float] | None = None
    chance_scale: Callable[[LocalModels], Array] | None = None
    table: Array | None = None

    @property
    def fits_models(self) -> bool:
        """Whether local models have to be fitted for it."""
        return self.compares == "models"

    @property
    def has_own_models(self) -> bool:
        """Whether its local models are others than those that most kinds compare."""
        return self.needs_definite or self.mixes

    @property
    def chance_known(self) -> bool:
        """Whether it is known what models of one Gaussian differ by, which significance levels and the search need."""
        return self.chance_scale is not None
