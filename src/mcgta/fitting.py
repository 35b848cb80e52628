"""Fitting: settings are chosen, Algorithm 1 runs, and the labels of the search or of the clusterer are taken.

:func:`fit_observations` shows it whole. A refit and added observations label and assemble their fits by the same functions.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from mcgta.clustering.backend import Backend
from mcgta.clustering.clustering import Clustering, densities
from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.membership import Membership
from mcgta.fit import Fit
from mcgta.labelling import Labelling, describe_clusters
from mcgta.observations.missing import CompleteRows
from mcgta.pipeline import (
    Prepared,
    StageCache,
    choose_backend_for,
    cluster,
    listed_neighbors,
    prepare,
    read,
    search_neighbors,
)
from mcgta.runtime.progress import note, stage
from mcgta.runtime.types import Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.alternatives import list_alternatives
from mcgta.selection.auto import Selection, select_where_open
from mcgta.selection.choice import CLUSTERER, EVIDENCE, ChoiceWarning
from mcgta.selection.cluster_models import ClusterModels
from mcgta.selection.families.family import FamilyModels
from mcgta.selection.lag_choice import choose_lags
from mcgta.selection.noise import assign_noise
from mcgta.settings import Settings


def fit_observations(given: CompleteRows, names: Any, asked: Settings) -> Fit:
    """Fit observations: choose settings, run Algorithm 1, refine labels where evidence prefers that.

    ``names`` are those of the features, where they have some.
    """
    settings = asked.plain()
    # What does not fit into memory is refused before anything is read; the settings that are chosen may need another backend.
    listed = listed_neighbors(given.positions, settings)
    backend = choose_backend_for(given.X.shape, settings, neighbors=listed)
    data = read(given.X, names, given.positions, given.groups, settings, given.rows)
    cache = StageCache()

    # 1. Choose settings that were left open: lags first, then the others, and the search for these finds labels by evidence.
    open_settings = asked
    if asked.is_auto("lags"):
        open_settings = asked.having(lags=choose_lags(data.X, data.positions))
        settings = open_settings.plain()
        backend = choose_backend_for(given.X.shape, settings, neighbors=listed)
        data = data.with_lags(settings.n_lags)
    selection = select_where_open(open_settings, data, cache)
    if selection is not None:
        settings = selection.settings
        if asked.is_auto("lags"):
            selection = selection.having_chosen(lags=settings.n_lags)
        data = replace(data, n_neighbors=int(settings.n_neighbors))
        listed = listed_neighbors(given.positions, settings)
        backend = choose_backend_for(given.X.shape, settings, neighbors=listed)

    # 2. Run Algorithm 1, up to the loss.
    prepared = prepare(data, settings, cache, backend=backend)

    # 3. Take the labels of the search where evidence prefers them, else run the clusterer.
    if selection is not None and selection.choice.source == EVIDENCE:
        labelling = label_by_evidence(prepared, selection)
    else:
        labelling, backend = label_by_clusterer(prepared, backend, cache)
    fit = assemble(asked, prepared, labelling, backend, names, selection, cache)
    return fit.having(missing=given.record(data.positions))


def label_by_evidence(prepared: Prepared, selection: Selection) -> Labelling:
    """Take the labels of the search, and estimate models of their clusters; observations without a model are noise."""
    labels = prepared.spread_out(number_by_first_member(selection.labels[prepared.comparable]))
    rule: ClusterModels | FamilyModels | None
    with stage("cluster models"):
        if selection.family is None:
            rule = describe_clusters(prepared.data, labels, selection.choice, selection.overlap)
        else:
            rule = selection.family.models(labels)
    eps = prepared.options.eps if prepared.settings.clustering_algorithm.takes_options else None
    return Labelling(labels, EVIDENCE, rule, np.nan if eps is None else eps)


def label_by_clusterer(
    prepared: Prepared, backend: Backend, cache: StageCache, known_core: Labels | None = None
) -> tuple[Labelling, Backend]:
    """Run the clusterer; return the labelling by density, and how neighbours were searched for."""
    note(str(backend))
    search, backend = search_neighbors(prepared, backend, cache)
    with stage("clustering") if backend.holds_table else nullcontext():  # other searches report stages of their own
        clustering = cluster(prepared, search, known_core=known_core)
        comparisons = clustering.comparisons
        clustering = place_noise(clustering, prepared)
        if backend.holds_table:  # while it is there; others find densities when they are asked for
            clustering = densities(search, clustering, prepared.options.min_samples)
    pairs = len(prepared.loss) * (len(prepared.loss) - 1) // 2
    backend = replace(backend, pairs=pairs, exact_pairs=pairs if backend.holds_table else comparisons)
    if not backend.holds_table:
        note(backend.tell_pairs())
    membership = Membership.of(clustering)
    membership = replace(membership, anchors=prepared.comparable[membership.anchors])
    labels = prepared.spread_out(clustering.labels)
    labelling = Labelling(labels, CLUSTERER, membership, clustering.eps, clustering.ordering, clustering.reachability)
    return labelling, backend


def place_noise(clustering: Clustering, prepared: Prepared) -> Clustering:
    """Give noise to clusters, where that is wanted and there are both."""
    labels = clustering.labels
    if prepared.settings.refine != "noise" or (labels >= 0).all() or (labels < 0).all():
        return clustering
    with stage("noise"):
        labels = number_by_first_member(
            assign_noise(prepared.data.X[prepared.comparable], prepared.loss.positions, labels)
        )
    members = Clustering.of_members(labels, clustering.eps)
    return replace(members, ordering=clustering.ordering, reachability=clustering.reachability)


def assemble(
    asked: Settings,
    prepared: Prepared,
    labelling: Labelling,
    backend: Backend,
    names: Any,
    selection: Selection | None,
    cache: StageCache,
) -> Fit:
    """Put a fit together of what was computed, and tell of what a search has found; see :class:`mcgta.fit.Fit`."""
    choice = None if selection is None else selection.choice
    if choice is not None:
        for remark in choice.notes:
            note(remark)
        if choice.doubts:
            warn(f"{'; '.join(choice.doubts)} (see choice_)", ChoiceWarning)
        if prepared.data.reduction is not None:  # which was said when it was found
            choice = replace(choice, notes=(*choice.notes, str(prepared.data.reduction)))
    fit = Fit(
        asked=asked,
        settings=prepared.settings,
        data=prepared.data,
        names=names,
        models=prepared.models,
        prior=prepared.prior,
        failed=prepared.failed,
        semivariogram=prepared.loss.semivariogram,
        margin=prepared.loss.margin,
        labelling=labelling,
        backend=backend,
        choice=choice,
        alternatives=() if selection is None else list_alternatives(prepared.data, selection, names),
    )
    fit.derived.remember(prepared, cache)
    return fit
