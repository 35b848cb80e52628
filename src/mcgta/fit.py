"""What a fitted estimator consists of, and whether it fits together: used when one comes out of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mcgta.clustering.backend import Backend
from mcgta.clustering.membership import Membership
from mcgta.positions.positions import Positions
from mcgta.selection.choice import Choice
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss import Objective
from mcgta.stages.prior import MixturePrior
from mcgta.stages.semivariogram.curve import Semivariogram

FITTED: dict[str, tuple[type, ...]] = {
    "labels_": (np.ndarray,),
    "_strengths": (np.ndarray, type(None)),
    "local_models_": (LocalModels, type(None)),
    "semivariogram_": (Semivariogram,),
    "core_sample_indices_": (np.ndarray,),
    "ordering_": (np.ndarray,),
    "reachability_": (np.ndarray,),
    "_objective": (Objective, type(None)),
    "backend_": (Backend,),
    "noise_share_": (float,),
    "failed_": (dict,),
    "n_clusters_": (int,),
    "n_neighbors_": (int,),
    "min_samples_": (int,),
    "eps_": (float,),
    "margin_": (float,),
    "positions_": (Positions,),
    "prior_": (MixturePrior, type(None)),
    "dissimilarity_error_": (float,),
    "dissimilarity_": (str,),
    "beta_": (float,),
    "refined_": (bool,),
    "choice_": (Choice, type(None)),
    "n_features_in_": (int,),
    "feature_names_in_": (np.ndarray,),
    "_X": (np.ndarray,),
    "_seed": (int,),
    "_membership": (Membership,),
}
_MAX_COORDINATE = 1e150
"""Larger ones could not be squared."""
_OPTIONAL = ("feature_names_in_", "ordering_", "reachability_")


def check_fitted(fitted: Mapping[str, Any]) -> None:
    """Raise a ValueError unless the parts of a fitted estimator are there, of their types, and of matching sizes."""
    for name, kinds in FITTED.items():
        if name not in fitted and name not in _OPTIONAL:
            raise ValueError(f"{name} is missing")
        if name in fitted and not isinstance(fitted[name], kinds):
            raise ValueError(f"{name} is a {type(fitted[name]).__name__}")
    X, models = fitted["_X"], fitted["local_models_"]
    count = len(fitted["positions_"])
    if X.ndim != 2 or X.dtype != np.float64 or X.shape != (count, fitted["n_features_in_"]):
        raise ValueError(f"features {X.shape} do not fit {count} positions")
    for name, dtype in (
        ("labels_", np.int64),
        ("_strengths", np.float64),
        ("ordering_", np.int64),
        ("reachability_", np.float64),
    ):
        if fitted.get(name) is None:
            continue
        if fitted[name].shape != (count,) or fitted[name].dtype != dtype:
            raise ValueError(f"{name} has shape {fitted[name].shape}, expected ({count},)")
    if models is not None and len(models) != count:
        raise ValueError(f"{len(models)} local models for {count} observations")
    _check_labels(fitted, count)
    coordinates = fitted["positions_"].coordinates
    if coordinates.size and not np.abs(coordinates).max() <= _MAX_COORDINATE:
        raise ValueError(f"positions_ must be finite and at most {_MAX_COORDINATE:g} in size")
    for name, rows in (
        ("core_sample_indices_", fitted["core_sample_indices_"]),
        ("anchors", fitted["_membership"].anchors),
    ):
        if rows.dtype.kind != "i" or (rows.size and not 0 <= rows.min() <= rows.max() < count):
            raise ValueError(f"{name} names a row that does not exist")
    if not all(isinstance(row, int) and 0 <= row < count for row in fitted["failed_"]):
        raise ValueError("failed_ names a row that does not exist")
    if not 2 <= fitted["n_neighbors_"] <= count:
        raise ValueError(f"n_neighbors_={fitted['n_neighbors_']} with {count} observations")
    names = fitted.get("feature_names_in_")
    if names is not None and names.shape != (fitted["n_features_in_"],):
        raise ValueError("feature_names_in_ does not name every feature")


def _check_labels(fitted: Mapping[str, Any], count: int) -> None:
    """Raise a ValueError unless labels and what else names clusters agree on their number."""
    clusters = fitted["n_clusters_"]
    if not 0 <= clusters <= count:
        raise ValueError(f"n_clusters_={clusters} with {count} observations")
    labels = fitted["labels_"]
    if count and not -1 <= labels.min() <= labels.max() < clusters:
        raise ValueError(f"labels_ must be -1 to {clusters - 1}, one of the {clusters} clusters or noise")
    if fitted["_membership"].radii.shape != (clusters,):
        raise ValueError(f"_membership has radii {fitted['_membership'].radii.shape}, expected ({clusters},)")
