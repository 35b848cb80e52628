"""The same observations with other settings: what comes before the change is used again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mcgta.clustering.clustering import Clustering
from mcgta.fit import EVIDENCE, Fit, assemble, label_by_clusterer, label_by_evidence, place_noise
from mcgta.pipeline import StageCache, choose_backend_for, models_key, prepare, smallest_cluster
from mcgta.runtime.types import Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.auto import select
from mcgta.settings import CHANGED_BY_REFIT, SEARCHED, Settings, names_of
from mcgta.stages.local_models import LocalModels


def refit(fit: Fit, params: dict[str, Any], local_models: Any) -> Fit:
    """Return a fit of the same observations with other settings of the loss, the clusterer or the labels, or other models."""
    wrong = sorted(set(params) - set(CHANGED_BY_REFIT))
    if wrong:
        raise ValueError(f"refit cannot change {', '.join(wrong)}: only {', '.join(CHANGED_BY_REFIT)}; use fit")
    asked = fit.asked.having(**{**_chosen(fit), **params})
    changed = _changed(fit, params)
    if not changed and local_models is None:
        return fit.having(asked=fit.asked.having(**params))
    settings = asked.plain()
    given = fit.given_models or local_models is not None
    cache = fit.derived.cache if local_models is None else _cache_with(fit, settings, local_models)
    backend = choose_backend_for(fit.data.raw.shape, settings)
    by_evidence = settings.refine == "all" or (settings.n_clusters != "auto" and not settings.wants_clusterer)
    if local_models is None:
        settings = _with_semivariogram(fit, settings)
    prepared = prepare(fit.data, settings, cache, backend=backend, quiet=local_models is None)
    prepared = replace(prepared, settings=asked.plain())
    if by_evidence:
        selection = select(asked.having(refine="all"), fit.data, cache)
        labelling = label_by_evidence(prepared, selection)
        again = assemble(asked, prepared, labelling, backend, fit.names, selection, cache)
        return again.having(given_models=given)
    if fit.labelling.source == EVIDENCE and not {"refine", "n_clusters"} & set(changed):
        warn(
            f"labels now come from the clusterer, not from evidence as before: {', '.join(changed) or 'local_models'} changes "
            "the loss or the clusterer, which evidence does not look at (labels_source_)"
        )
    labelling, backend = label_by_clusterer(prepared, backend, cache)
    again = assemble(asked, prepared, labelling, backend, fit.names, None, cache)
    return again.having(given_models=given)


def labels_with(fit: Fit, eps: float) -> Labels:
    """Return the labels of DBSCAN with another radius, in the user's order."""
    if fit.settings.penalty == "no_hinge":
        raise ValueError(
            "dbscan_clustering needs losses >= 0, as DBSCAN does, but the fit was made with penalty='no_hinge'"
        )
    prepared = fit.derived.prepared
    linkage = fit.derived.linkage
    labels = np.full(len(prepared.loss), -1, dtype=np.int64)
    if linkage is not None:
        labels = linkage.labels_at(eps, min_cluster_size=smallest_cluster(fit.settings) or 1)
        labels = place_noise(Clustering.of_members(labels, eps), prepared).labels
    return np.asarray(fit.to_user(prepared.spread_out(labels)))


def _chosen(fit: Fit) -> dict[str, Any]:
    """Return the settings that a search has chosen, to be kept."""
    return {} if fit.choice is None else {name: getattr(fit.settings, name) for name in SEARCHED}


def _changed(fit: Fit, params: dict[str, Any]) -> list[str]:
    """Return the settings among these that differ from those of the fit, and matter for the labels."""
    matter = set(names_of("loss", "clustering", "labels"))
    asked = fit.asked.params
    current = fit.settings.params
    return [
        name
        for name, value in params.items()
        if name in matter and not _same(value, asked[name]) and not _same(value, current[name])
    ]


def _same(one: Any, two: Any) -> bool:
    return one is two or (type(one) is type(two) and bool(np.all(one == two)))


def _with_semivariogram(fit: Fit, settings: Settings) -> Settings:
    """Return settings with the semivariogram of the fit in the place of its model."""
    return settings.having(semivariogram=fit.semivariogram, max_lag=None)


def _cache_with(fit: Fit, settings: Settings, local_models: Any) -> StageCache:
    """Return a cache that holds other local models, in the user's order of rows."""
    if not isinstance(local_models, LocalModels):
        raise ValueError(f"local_models={local_models!r} must be LocalModels, such as local_models_ of a fit")
    if local_models.means.shape != fit.data.X.shape:
        raise ValueError(
            f"local_models holds (observations, features) {local_models.means.shape}, but the fit, with lags={settings.lags}, "
            f"has {fit.data.X.shape}"
        )
    if settings.kind.needs_definite:
        local_models = local_models.require_definite(settings.kind.name)
    key = models_key(settings, fit.data)
    return StageCache(priors={key: local_models.prior}, models={key: _in_units(local_models, fit).take(fit.data.order)})


def _in_units(models: LocalModels, fit: Fit) -> LocalModels:
    """Return models in the units that the features of a fit are compared in."""
    return models if fit.data.spreads is None else models.scaled(1.0 / fit.data.spreads)
