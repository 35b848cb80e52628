"""The same observations with other settings: what comes before the change is used again."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any

import numpy as np

from mcgta.clustering.clustering import Clustering
from mcgta.clustering.labels import number_by_first_member
from mcgta.fit import Fit
from mcgta.fitting import assemble, label_by_clusterer, label_by_evidence, place_noise
from mcgta.pipeline import StageCache, choose_backend_for, prepare, stage_key
from mcgta.runtime.types import Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.auto import Selection, select_where_open
from mcgta.selection.choice import CLUSTERER, EVIDENCE
from mcgta.settings import CHANGED_BY_REFIT, SEARCHED, Settings, names_of
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss import PENALTIES


def refit(fit: Fit, params: dict[str, Any], local_models: Any) -> Fit:
    """Return a fit of the same observations with other settings of the loss, the clusterer or the labels, or other models."""
    wrong = sorted(set(params) - set(CHANGED_BY_REFIT))
    if wrong:
        raise ValueError(f"refit cannot change {', '.join(wrong)}: only {', '.join(CHANGED_BY_REFIT)}; use fit")
    asked = fit.asked.having(**params)
    changed = _changed(fit, params)
    if not changed and local_models is None:
        return fit.having(asked=asked)
    chosen = asked.having(**_chosen(fit, asked, params))
    cache = fit.derived.cache if local_models is None else _cache_with(fit, chosen.plain(), local_models)
    selection = _search(fit, chosen.having(eps=asked.eps), changed, cache)
    refined = selection is not None and selection.choice.source == EVIDENCE
    settings = chosen.plain() if selection is None or refined else selection.settings
    backend = choose_backend_for(fit.data.raw.shape, settings)
    run = settings
    if local_models is None:
        run = settings.having(semivariogram=fit.semivariogram)
    prepared = prepare(fit.data, run, cache, backend=backend, quiet=local_models is None)
    prepared = replace(prepared, settings=settings)
    if selection is not None and refined:
        labelling = label_by_evidence(prepared, selection)
    else:
        if fit.labelling.source == EVIDENCE and selection is None and not asked.wants_clusterer:
            warn(
                f"labels now come from the clusterer, not from evidence as before: {', '.join(changed) or 'local_models'} "
                "changes the loss or the clusterer, which evidence does not look at (labels_source_)"
            )
        labelling, backend = label_by_clusterer(prepared, backend, cache)
    made = assemble(asked, prepared, labelling, backend, fit.names, selection, cache)
    # The observations are the same, but the command that read them would not repeat this fit.
    provenance = None if fit.provenance is None else replace(fit.provenance, command="")
    given = fit.given_models or local_models is not None
    return made.having(given_models=given, missing=fit.missing, provenance=provenance)


def _search(fit: Fit, settings: Settings, changed: list[str], cache: StageCache) -> Selection | None:
    """Search for labels by evidence, where they are asked for, or where another number or choice of labels is."""
    forced = settings.refine == "all" or settings.n_clusters != "auto"
    if settings.wants_clusterer or not (forced or {"refine", "n_clusters", "family"} & set(changed)):
        return None
    return select_where_open(settings, fit.data, cache)


def labels_with(fit: Fit, eps: float) -> Labels:
    """Return the labels of DBSCAN with another radius, in the user's order."""
    if not PENALTIES[fit.settings.penalty].hinged:
        raise ValueError(
            f"dbscan_clustering needs losses >= 0, as DBSCAN does, but the fit was made with penalty={fit.settings.penalty!r}"
        )
    by_radius = fit.labelling.source == CLUSTERER and fit.settings.clustering_algorithm.needs_eps
    if by_radius and eps == fit.labelling.eps:
        return fit.labels  # numbered as they are, which after ``append`` is by old members
    prepared = fit.derived.prepared
    linkage = fit.derived.linkage
    labels = np.full(len(prepared.loss), -1, dtype=np.int64)
    if linkage is not None:
        labels = linkage.labels_at(eps, min_cluster_size=prepared.options.min_cluster_size or 1)
        labels = place_noise(Clustering.of_members(labels, eps), prepared).labels
    return np.asarray(fit.to_user(prepared.spread_out(labels)))


def labels_for(fit: Fit, n_clusters: int) -> Labels:
    """Return the best labels with some number of clusters, by evidence, in the user's order."""
    if n_clusters == fit.labelling.n_clusters and fit.labelling.source == EVIDENCE:
        return fit.labels
    for alternative in fit.alternatives:
        if alternative.n_clusters == n_clusters and alternative.labels is not None:
            return np.asarray(fit.to_user(alternative.labels))
    wanted = fit.asked.having(n_clusters=n_clusters, refine="all", eps="auto")
    selection = select_where_open(wanted, fit.data, StageCache())
    if selection is None:
        return fit.labels
    labels = np.full(selection.labels.size, -1, dtype=np.int64)
    labels[fit.comparable] = number_by_first_member(selection.labels[fit.comparable])
    return np.asarray(fit.to_user(labels))


def _chosen(fit: Fit, asked: Settings, params: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a search has chosen, to be kept.

    A radius is of one clusterer, and has no meaning where that is cut at a number of clusters.
    """
    chosen = {name: getattr(fit.settings, name) for name in (*SEARCHED, "lags") if name not in params}
    cut = asked.n_clusters != "auto" and asked.wants_clusterer
    if cut or not _same(asked.clusterer, fit.asked.clusterer):
        chosen["eps"] = params.get("eps", fit.asked.eps)
    return chosen


def _changed(fit: Fit, params: dict[str, Any]) -> list[str]:
    """Return the settings among these that differ from those of the fit, and matter for the labels."""
    matter = set(names_of("loss", "clustering", "labels"))
    in_use: dict[str, Any] = {"margin": fit.margin, "eps": fit.labelling.eps, "min_samples": fit.min_samples}
    return [
        name
        for name, value in params.items()
        if name in matter
        and not _same(value, getattr(fit.asked, name))
        and not _same(value, in_use.get(name, getattr(fit.settings, name)))
    ]


def _same(one: Any, two: Any) -> bool:
    if one is two:
        return True
    if isinstance(one, numbers.Real) and isinstance(two, numbers.Real):  # of whatever type
        return isinstance(one, bool) == isinstance(two, bool) and bool(one == two)
    return type(one) is type(two) and bool(np.all(one == two))


def _cache_with(fit: Fit, settings: Settings, local_models: Any) -> StageCache:
    """Return a cache that holds other local models, in the user's order of rows."""
    if not isinstance(local_models, LocalModels):
        raise ValueError(f"local_models={local_models!r} must be LocalModels, such as local_models_ of a fit")
    expected = (fit.n_rows, fit.data.X.shape[1])
    if local_models.means.shape != expected:
        raise ValueError(
            f"local_models holds (observations, features) {local_models.means.shape}, but the fit, with "
            f"lags={settings.n_lags}, has {expected}"
        )
    if fit.missing is not None:
        local_models = local_models.take(fit.missing.kept)
    if settings.dissimilarity_kind.needs_definite:
        local_models = local_models.require_definite(settings.dissimilarity_kind.name)
    spreads = fit.data.model_spreads
    models = local_models if spreads is None else local_models.scaled(1.0 / spreads)
    cache = StageCache()
    key = stage_key("models", settings, fit.data)
    cache.put("prior", key, models.prior)
    cache.put("models", key, models.take(fit.data.order))
    return cache
