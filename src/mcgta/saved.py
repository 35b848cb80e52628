"""A fit in a file: its parts, and whether they fit together when they come out of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mcgta.clustering.backend import Backend
from mcgta.clustering.membership import Membership
from mcgta.fit import Fit
from mcgta.labelling import Labelling
from mcgta.observations.missing import Missing
from mcgta.observations.observations import MAX_FEATURE, sort_observations
from mcgta.observations.provenance import Provenance
from mcgta.observations.reduction import Reduction
from mcgta.positions.metrics import Metric
from mcgta.positions.positions import Positions
from mcgta.positions.reading import MAX_COORDINATE
from mcgta.runtime.types import Index
from mcgta.selection.alternatives import Alternative
from mcgta.selection.choice import CLUSTERER, EVIDENCE, Choice
from mcgta.selection.cluster_models import ClusterModels
from mcgta.selection.families.family import FamilyModels
from mcgta.settings import RULES, SEARCHED, Settings, names_of
from mcgta.stages.local_models import LocalModels
from mcgta.stages.prior import MixturePrior
from mcgta.stages.semivariogram.curve import Semivariogram

_NONE = type(None)
PARTS: dict[str, tuple[type, ...]] = {
    "asked": (dict,),
    "settings": (dict,),
    "X": (np.ndarray,),
    "names": (np.ndarray, _NONE),
    "positions": (Positions,),
    "n_neighbors": (int,),
    "seed": (int,),
    "spreads": (np.ndarray, _NONE),
    "reduction": (Reduction, _NONE),
    "models": (LocalModels, _NONE),
    "prior": (MixturePrior, _NONE),
    "failed": (dict,),
    "semivariogram": (Semivariogram,),
    "margin": (float, int),
    "labels": (np.ndarray,),
    "source": (str,),
    "rule": (Membership, ClusterModels, FamilyModels, _NONE),
    "eps": (float, int),
    "ordering": (np.ndarray, _NONE),
    "reachability": (np.ndarray, _NONE),
    "backend": (Backend,),
    "choice": (Choice, _NONE),
    "alternatives": (list,),
    "changed_share": (float, int),
    "given_models": (bool,),
    "missing": (Missing, _NONE),
    "provenance": (Provenance, _NONE),
}
"""What a saved fit consists of, and of which types."""

LATER_PARTS = {"reduction": None, "missing": None, "provenance": None}
"""Parts that files of earlier versions do not have, and what stands for them."""


def state_of(fit: Fit) -> dict[str, Any]:
    """Return the parts of a fit as they are saved; local models and labels are in canonical order."""
    asked = dict(fit.asked.params)
    settings = fit.settings.params | {name: asked[name] for name in names_of("work")}
    for name in ("metric", "clusterer", "covariance", "dissimilarity"):
        if fit.settings.dissimilarity_kind.compares == "rows" and name == "dissimilarity":
            raise ValueError(
                "dissimilarity is a table of all pairs, which is not kept in a file; save it beside labels_"
            )
        known = isinstance(asked[name], Metric) and type(asked[name]).__module__ == Metric.__module__
        if not (isinstance(asked[name], str) or known):
            raise ValueError(
                f"{name}={asked[name]!r} is code, and cannot be saved in a file without pickle; save local_models_ and "
                "semivariogram_ instead"
            )
    for params in (asked, settings):
        if not isinstance(params["progress"], (str, bool)):  # a function, which changes no result
            params["progress"] = "auto"
        if not isinstance(params["random_state"], (int, np.integer)):
            params["random_state"] = fit.data.seed
    labelling = fit.labelling
    return {
        "asked": asked,
        "settings": settings,
        "X": fit.data.raw,
        "names": None if fit.names is None else fit.names.astype(str),  # scikit-learn holds them as objects
        "positions": fit.data.positions.take(fit.data.back),
        "n_neighbors": fit.data.n_neighbors,
        "seed": fit.data.seed,
        "spreads": fit.data.spreads,
        "reduction": fit.data.reduction,
        "models": fit.models,
        "prior": fit.prior,
        "failed": fit.failed,
        "semivariogram": fit.semivariogram,
        "margin": fit.margin,
        "labels": labelling.labels,
        "source": labelling.source,
        "rule": labelling.rule,
        "eps": labelling.eps,
        "ordering": labelling.ordering,
        "reachability": labelling.reachability,
        "backend": fit.backend,
        "choice": fit.choice,
        "alternatives": [_state_of_alternative(item) for item in fit.alternatives],
        "changed_share": fit.changed_share,
        "given_models": fit.given_models,
        "missing": fit.missing,
        "provenance": fit.provenance,
    }


def read_fit(state: dict[str, Any]) -> Fit:
    """Return the fit of saved parts; raise a ValueError unless they are there, of their types, and fit together."""
    state = {**LATER_PARTS, **state}
    _check_types(state)
    for name in ("asked", "settings"):
        unknown = set(state[name]) - set(RULES)
        if unknown:
            raise ValueError(f"{name} has unknown entries {sorted(unknown)}")
    asked = Settings(**state["asked"])
    settings = Settings(**state["settings"]).plain()
    _check_sizes(state)
    _check_positions(state["positions"])
    _check_labels(state)
    provenance = state["provenance"]
    if provenance is not None and len(provenance.features) != state["X"].shape[1]:
        raise ValueError(f"provenance names {len(provenance.features)} features, of {state['X'].shape[1]}")
    choice = state["choice"]
    if choice is not None and set(choice.settings) - {"lags"} != set(SEARCHED):
        raise ValueError(f"choice has settings {sorted(choice.settings)}")
    data = sort_observations(
        state["X"],
        state["positions"],
        n_neighbors=state["n_neighbors"],
        lags=settings.n_lags,
        seed=state["seed"],
        spreads=state["spreads"],
        rows=_rows_of(state["missing"]),
        reduction=state["reduction"],
    )
    models = state["models"]
    if (models is not None) != settings.dissimilarity_kind.fits_models:
        raise ValueError(
            f"models is a {type(models).__name__}, with dissimilarity={settings.dissimilarity_kind.name!r}"
        )
    if models is not None and models.means.shape != data.X.shape:
        raise ValueError(f"local models {models.means.shape} do not fit features {data.X.shape}")
    labelling = Labelling(
        state["labels"], state["source"], state["rule"], float(state["eps"]), state["ordering"], state["reachability"]
    )
    return Fit(
        asked=asked,
        settings=settings,
        data=data,
        names=None if state["names"] is None else state["names"].astype(object),
        models=models,
        prior=state["prior"],
        failed=state["failed"],
        semivariogram=state["semivariogram"],
        margin=float(state["margin"]),
        labelling=labelling,
        backend=state["backend"],
        choice=choice,
        alternatives=tuple(_read_alternative(item, len(data.positions)) for item in state["alternatives"]),
        changed_share=float(state["changed_share"]),
        given_models=state["given_models"],
        missing=state["missing"],
        provenance=state["provenance"],
    )


def _rows_of(missing: Missing | None) -> Index | None:
    """Return the numbers of the rows that are observations; None where all are."""
    return None if missing is None or missing.rows.size == 0 else missing.kept


def _check_types(state: dict[str, Any]) -> None:
    if set(state) != set(PARTS):
        raise ValueError(f"parts are missing or unknown: {sorted(set(state) ^ set(PARTS))}")
    for name, kinds in PARTS.items():
        if not isinstance(state[name], kinds) or (isinstance(state[name], bool) and bool not in kinds):
            raise ValueError(f"{name} is a {type(state[name]).__name__}")


def _check_sizes(state: dict[str, Any]) -> None:
    X = state["X"]
    models = state["models"]
    count = len(state["positions"])
    if X.ndim != 2 or X.dtype != np.float64 or X.shape[0] != count or X.shape[1] == 0:
        raise ValueError(f"features {X.shape} do not fit {count} positions")
    if not np.isfinite(X).all() or np.abs(X).max(initial=0.0) > MAX_FEATURE:
        raise ValueError("features must be finite, and not too large to square")
    spreads = state["spreads"]
    if spreads is not None and (spreads.shape != X.shape[1:] or spreads.dtype != np.float64 or not (spreads > 0).all()):
        raise ValueError("spreads must be a number above zero for each feature")
    reduction = state["reduction"]
    if reduction is not None and reduction.center.shape != X.shape[1:]:
        raise ValueError(f"reduction is of {reduction.center.size} features, of {X.shape[1]}")
    if models is not None and len(models) != count:
        raise ValueError(f"{len(models)} local models for {count} observations")
    _check_missing(state)
    rows = _rows_of(state["missing"])
    if not np.isin(list(state["failed"]), np.arange(count) if rows is None else rows).all():
        raise ValueError("failed names a row that does not exist")
    if not 2 <= state["n_neighbors"] <= count:
        raise ValueError(f"n_neighbors={state['n_neighbors']} with {count} observations")
    if state["names"] is not None and state["names"].shape != (X.shape[1],):
        raise ValueError("names does not name every feature")
    compared = count - len(state["failed"])
    for name, dtype in (("ordering", np.int64), ("reachability", np.float64)):
        values = state[name]
        if values is not None and (values.shape != (compared,) or values.dtype != dtype):
            raise ValueError(f"{name} has shape {values.shape}, expected ({compared},)")
    ordering = state["ordering"]
    if ordering is not None and not np.array_equal(np.sort(ordering), np.arange(compared)):
        raise ValueError("ordering must name every row once")


def _check_missing(state: dict[str, Any]) -> None:
    """Check what was missing against the observations that are there."""
    missing = state["missing"]
    if missing is None:
        return
    places = state["positions"]
    if missing.n_rows != len(places) + missing.rows.size:
        raise ValueError(
            f"{missing.n_rows} rows, {missing.rows.size} of them left out, do not fit {len(places)} positions"
        )
    same = missing.positions.metric == places.metric
    if not same or missing.positions.coordinates.shape[1] != places.coordinates.shape[1]:
        raise ValueError("positions of rows that were left out are not like those of others")
    if missing.cells[:, 1].max(initial=-1) >= state["X"].shape[1]:
        raise ValueError("a cell that was imputed is in a column that does not exist")


def _check_positions(positions: Positions) -> None:
    if not np.abs(positions.coordinates).max(initial=0.0) <= MAX_COORDINATE:
        raise ValueError(f"positions must be finite and at most {MAX_COORDINATE:g} in size")
    if positions.matrix is not None and not positions.matrix.min(initial=0.0) >= 0:
        raise ValueError("distances of positions must be numbers >= 0")


def _check_labels(state: dict[str, Any]) -> None:
    labels = state["labels"]
    rule = state["rule"]
    count = len(state["positions"])
    if labels.shape != (count,) or labels.dtype != np.int64:
        raise ValueError(f"labels has shape {labels.shape}, expected ({count},)")
    if state["source"] not in (CLUSTERER, EVIDENCE):
        raise ValueError(f"source={state['source']!r} is not one of {CLUSTERER}, {EVIDENCE}")
    if isinstance(rule, Membership) != (state["source"] == CLUSTERER):
        raise ValueError(f"rule is a {type(rule).__name__}, with source={state['source']!r}")
    size = int(labels.max(initial=-1)) + 1
    if labels.min(initial=0) < -1 or size > count or not np.isin(np.arange(size), labels).all():
        raise ValueError("labels must be clusters 0, 1, ... without gaps, or -1")
    if isinstance(rule, Membership):
        anchors = rule.anchors
        if rule.radii.size != size or (anchors.size and not 0 <= anchors.min() <= anchors.max() < count):
            raise ValueError("the rule names a row or a cluster that does not exist")
        if not np.array_equal(rule.labels, labels[anchors]):
            raise ValueError("the rule and the labels disagree on the clusters of core observations")
    if isinstance(rule, ClusterModels) and (len(rule) != size or rule.columns.max(initial=-1) >= _columns(state)):
        raise ValueError("the rule has other clusters or features than the observations")
    if isinstance(rule, FamilyModels) and (len(rule) != size or rule.n_features != _columns(state)):
        raise ValueError("the rule has other clusters or features than the observations")


def _columns(state: dict[str, Any]) -> int:
    reduction = state["reduction"]
    features = state["X"].shape[1] if reduction is None else len(reduction)
    return int(features * (int(state["settings"]["lags"]) + 1))


def _state_of_alternative(alternative: Alternative) -> dict[str, Any]:
    labels = alternative.labels
    small = None if labels is None else labels.astype(np.int16)
    return {**vars(alternative), "labels": small}


def _read_alternative(state: Any, count: int) -> Alternative:
    if not isinstance(state, dict) or set(state) != set(Alternative.__dataclass_fields__):
        raise ValueError("an alternative has other parts than expected")
    alternative = Alternative(**state)
    labels = alternative.labels
    if not isinstance(alternative.n_clusters, int) or not isinstance(alternative.difference, str):
        raise ValueError("an alternative is not of its types")
    if labels is None:
        return alternative
    if not isinstance(labels, np.ndarray) or labels.shape != (count,) or labels.dtype != np.int16:
        raise ValueError("labels of an alternative do not fit the observations")
    if labels.min() < 0 or labels.max() >= alternative.n_clusters:
        raise ValueError("labels of an alternative name a cluster that does not exist")
    return replace(alternative, labels=labels.astype(np.int64))
