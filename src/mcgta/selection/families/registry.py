"""The families of clusters by name. A new one is a folder beside this file and a row here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array
from mcgta.selection.families.dynamics.search import search_dynamics
from mcgta.selection.families.family import FamilySearch
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.search import SearchResult

LEVEL = "level"
"""Clusters that differ in level or covariance: a Gaussian each, the family of the search itself."""

DYNAMICS = "dynamics"
TRAJECTORY = "trajectory"
COMPOSITION = "composition"


@dataclass(frozen=True, eq=False)
class FamilyInput:
    """What a family searches.

    Attributes
    ----------
    features : (N, d) of all observations in canonical order
    places : their positions
    scoring_data, result : of the search for levels, which has looked at a sample where there are many observations
    seed : of what is random
    n_clusters : the number of clusters that is asked for; None where it is left open
    """

    features: Array
    places: Positions
    scoring_data: ScoringData
    result: SearchResult
    seed: int
    n_clusters: int | None = None


@dataclass(frozen=True, eq=False)
class Family:
    """A family.

    Attributes
    ----------
    name : as the setting ``family`` has it
    needs : what observations have to be like for it, in words
    search : returns None for observations that it is not for
    """

    name: str
    needs: str
    search: Callable[[FamilyInput], FamilySearch | None]


def _search_dynamics(given: FamilyInput) -> FamilySearch | None:
    return search_dynamics(given.features, given.places, seed=given.seed, n_clusters=given.n_clusters)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (Family(DYNAMICS, "positions that are times, and 20 blocks of 8 steps at least", _search_dynamics),)
}
