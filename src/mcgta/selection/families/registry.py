"""The families of clusters by name. A new one is a folder beside this file and a row here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array
from mcgta.selection.families.composition.search import MIN_ROWS, search_composition
from mcgta.selection.families.dynamics.search import search_dynamics
from mcgta.selection.families.family import FamilySearch
from mcgta.selection.families.trajectory.search import MIN_GROUPS, search_trajectory
from mcgta.selection.sampling import MAX_CHOSEN_ON_ALL_ROWS
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
    required : whether the family is the one that is asked for
    """

    features: Array
    places: Positions
    scoring_data: ScoringData
    result: SearchResult
    seed: int
    n_clusters: int | None = None
    required: bool = False


@dataclass(frozen=True, eq=False)
class Family:
    """A family.

    Attributes
    ----------
    name : as the setting ``family`` has it
    needs : what observations have to be like for it, in words
    search : returns None for observations that it is not for
    after : families that have to have found nothing along time for this one to be searched there
    """

    name: str
    needs: str
    search: Callable[[FamilyInput], FamilySearch | None]
    after: tuple[str, ...] = ()


def _search_dynamics(given: FamilyInput) -> FamilySearch | None:
    return search_dynamics(_at_one_scale(given), given.places, seed=given.seed, n_clusters=given.n_clusters)


def _at_one_scale(given: FamilyInput) -> Array:
    """Return the features, divided by a scale that comes and goes where levels are explained by one: it is no way to move."""
    log_scales = given.result.best.log_scales
    if log_scales is None or log_scales.size != len(given.features) or given.result.best.n_clusters > 1:
        return given.features
    middle = given.features.mean(axis=0)
    return middle + (given.features - middle) * np.exp(-0.5 * log_scales)[:, None]


def _search_trajectory(given: FamilyInput) -> FamilySearch | None:
    return search_trajectory(given.features, given.places, seed=given.seed, n_clusters=given.n_clusters)


def _search_composition(given: FamilyInput) -> FamilySearch | None:
    dependent = bool((given.result.best.correlations > 0).any())
    along_time = given.places.is_chain and dependent and not given.required
    if len(given.scoring_data) < len(given.places) or along_time:
        return None
    return search_composition(
        given.scoring_data,
        given.result,
        n_features=given.features.shape[1],
        seed=given.seed,
        n_clusters=given.n_clusters,
        required=given.required,
    )


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(DYNAMICS, "positions that are times, and 20 blocks of 8 steps at least", _search_dynamics),
        Family(
            TRAJECTORY,
            f"positions that are times, and {MIN_GROUPS} groups at least that are repeated records, or a series made of such",
            _search_trajectory,
        ),
        Family(
            COMPOSITION,
            f"{MIN_ROWS} to {MAX_CHOSEN_ON_ALL_ROWS:,} observations of several kinds",
            _search_composition,
            after=(DYNAMICS, TRAJECTORY),
        ),
    )
}
