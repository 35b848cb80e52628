"""The values of the clusterer's settings that trials take, where settings are left open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcgta.observations.observations import Observations
from mcgta.settings import Settings
from mcgta.stages.dissimilarity.registry import names_where

NEIGHBORS = (30, 20, 45)
"""Sizes of neighbourhoods to try."""

MAX_NEIGHBORS_RATIO = 1.5
"""Largest of these, over the size that is taken where nothing is searched."""

MANY_NEIGHBORS = (90, 180)
"""Sizes to try for more than ``MANY_ROWS`` observations, up to one neighbour in ``ROWS_A_NEIGHBOR``."""

SMALL_NEIGHBORS = (20, 15)
"""Sizes to try where the clusterer is to agree with other labels: small ones blur borders less."""

BETAS = (1.0, 0.0)
"""Weights of the penalty to try."""

MIN_SAMPLES = (1.0, 0.5, 1.5)
"""Observations that make a row core to try, in neighbourhoods."""

MARGINS = (0.0, 0.25)
"""Margins to try, in sills of the semivariogram."""

RELATIVE = {"margin_in_sills": "margin", "min_samples_in_neighbors": "min_samples"}
"""Ways to say a setting relative to what the stages before have found, and which setting that is."""

MANY_ROWS = 3000
"""Observations beyond which fewer settings are tried."""

ROWS_A_NEIGHBOR = 50

Values = dict[str, tuple[Any, ...]]
"""The values to try of each setting that is left open, by name, the first one first."""


def values_to_try(settings: Settings, data: Observations) -> Values:
    """Return the values to try for labellings that are compared by their evidence."""
    count = len(data.positions)
    plain = data.n_neighbors
    sizes = [n for n in NEIGHBORS if n <= MAX_NEIGHBORS_RATIO * plain]
    if count > MANY_ROWS:
        sizes = [n for n in MANY_NEIGHBORS if n <= count / ROWS_A_NEIGHBOR]
    values: Values = {
        "n_neighbors": (plain, *sizes),
        "dissimilarity": names_where(chance_known=True),
        "beta": BETAS,
        "margin_in_sills": MARGINS,
        "min_samples_in_neighbors": MIN_SAMPLES,
        "min_cluster_size": (None,),  # several with HDBSCAN, which proposes them
    }
    return {name: tried for name, tried in values.items() if settings.is_auto(RELATIVE.get(name, name))}


def values_to_agree(settings: Settings, data: Observations) -> Values:
    """Return the values to try for labellings that are to agree with others, the settings that matter most first."""
    values = values_to_try(settings, data)
    first: Values = {name: values[name] for name in ("dissimilarity", "n_neighbors") if name in values}
    if "n_neighbors" in first:
        estimator = settings.covariance_estimator
        least = estimator.least_neighbors + (data.X.shape[1] if estimator.plus_features else 0)
        small = [n for n in SMALL_NEIGHBORS if least <= n <= MAX_NEIGHBORS_RATIO * data.n_neighbors]
        # Of the largest sizes, which take longest, the first will do.
        large = first["n_neighbors"][:2] if len(data.positions) > MANY_ROWS else first["n_neighbors"]
        first["n_neighbors"] = tuple(dict.fromkeys((*large, *small)))
    return {**first, **{name: tried for name, tried in values.items() if name not in first}}


def to_parameters(values: Mapping[str, Any], *, n_neighbors: int, sill: float, least: int) -> dict[str, Any]:
    """Return values with the margin not in sills, and ``min_samples``, at least ``least``, not in neighbours."""
    plain = dict(values)
    if "margin_in_sills" in plain:
        plain["margin"] = float(plain.pop("margin_in_sills") * sill)
    if "min_samples_in_neighbors" in plain:
        plain["min_samples"] = max(least, round(plain.pop("min_samples_in_neighbors") * n_neighbors))
    return plain
