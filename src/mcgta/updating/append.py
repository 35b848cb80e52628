"""Observations added to a fit: what nothing new is near to is taken from there.

Only models whose neighbourhood has changed are fitted again. With the radius and the semivariogram of before, whether an
observation is core can change only where a model that has changed is, or was, within the radius; others are not counted again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from mcgta.clustering.membership import Membership
from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.clustering.tree_search import TreeSearch
from mcgta.fit import Fit
from mcgta.fitting import assemble, label_by_clusterer, label_by_evidence
from mcgta.labelling import Labelling
from mcgta.observations.missing import CompleteRows, Missing
from mcgta.observations.observations import Observations, check_columns, sort_observations
from mcgta.pipeline import (
    Prepared,
    StageCache,
    choose_backend_for,
    listed_neighbors,
    models_on,
    open_search,
    prepare,
    stage_key,
)
from mcgta.positions.distances import read_distances
from mcgta.positions.positions import Positions
from mcgta.positions.reading import is_row_order, read_positions
from mcgta.runtime.parallel import tiles
from mcgta.runtime.progress import note, stage
from mcgta.runtime.rules import read_level
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.runtime.warnings import warn
from mcgta.selection.auto import select
from mcgta.selection.choice import EVIDENCE
from mcgta.selection.families.registry import LEVEL
from mcgta.settings import Settings
from mcgta.stages.local_models import LocalModels
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.updating.completing import complete_new
from mcgta.updating.joining import check_group_names, go_on, need_groups, need_positions

_TILE_ROWS = 8192
_FEW_CHANGED = 1 / 8  # share of changed models up to which it pays to look for what is near them


def append(fit: Fit, X: Array, positions: Any, groups: Any, *, refresh: bool) -> Fit:
    """Return the fit on the observations of another one and new ones, which follow the others in the user's order.

    Semivariogram, margin and radius are those of before, unless they are to be estimated anew (``refresh``). Clusters are
    numbered by their old members.
    """
    if fit.given_models:
        raise ValueError(
            "local_models: the models of this fit were passed in, so there is no telling how those of new observations are "
            "fitted; use fit"
        )
    if fit.settings.dissimilarity_kind.compares == "rows":
        raise ValueError("dissimilarity is a table of the rows of the fit, so new rows cannot be added to it; use fit")
    given = complete_new(fit, X, positions, groups, append=True)
    if given.X.shape[0] == 0 < given.n_rows:
        return fit.having(missing=_missing_in_all(fit, given), changed_share=0.0)
    settings = _settings_for(fit, refresh=refresh)
    count = len(fit.data.positions) + given.X.shape[0]
    listed = 2 * listed_neighbors(given.positions, settings)  # before and after
    backend = choose_backend_for((count, X.shape[1]), settings, neighbors=listed)
    places = join_positions(fit, given)
    every = np.concatenate([fit.data.raw, given.X])
    check_columns(every, fit.names, settings.dissimilarity_kind)
    data = sort_observations(
        every,
        places,
        n_neighbors=fit.data.n_neighbors,
        lags=settings.n_lags,
        seed=fit.data.seed,
        spreads=fit.data.spreads,
        rows=_numbers_of_all(fit, given),
        reduction=fit.data.reduction,
    )
    if positions is not None:
        _warn_of_repeated(data, len(fit.data.positions))
    cache = StageCache()
    key = stage_key("models", settings, data)
    cache.put("prior", key, fit.prior)
    changed = np.ones(data.order.size, dtype=bool)
    if fit.models is not None:
        models, changed = _extend(fit, data, settings)
        cache.put("models", key, models)
    prepared = prepare(data, settings, cache, backend=backend)
    selection = None
    if fit.labelling.source == EVIDENCE:
        # Labels are searched for on all observations, with the settings as they were chosen.
        family = fit.asked.family if fit.family == LEVEL else fit.family
        asked = fit.settings.having(refine="all", n_clusters=fit.asked.n_clusters, family=family)
        selection = select(asked, data, StageCache())
        labelling = label_by_evidence(prepared, selection)
    else:
        cores = None
        if backend.is_tree:
            cores = _known_cores(fit, prepared, open_search(prepared, backend, cache), changed, refresh=refresh)
        labelling, backend = label_by_clusterer(prepared, backend, cache, cores)
    prepared = replace(prepared, settings=fit.settings)
    labelling, share = _number_by_old_members(fit, data, labelling)
    note(f"{share:.1%} of the observations of before have changed cluster")
    grown = assemble(fit.asked, prepared, labelling, backend, fit.names, selection, cache)
    return grown.having(changed_share=share, missing=_missing_in_all(fit, given))


def _settings_for(fit: Fit, *, refresh: bool) -> Settings:
    """Return the settings to run Algorithm 1 with: what depends on the data stays as it was, unless refreshed."""
    if refresh:
        return fit.settings
    values: dict[str, Any] = {"margin": fit.margin, "semivariogram": fit.semivariogram}
    settings = fit.settings
    cut = settings.n_clusters != "auto" and settings.wants_clusterer  # at a radius of its own
    if not cut and (settings.clustering_algorithm.needs_eps or read_level(settings.eps) is not None):
        values["eps"] = "auto" if np.isnan(fit.labelling.eps) else fit.labelling.eps
    return settings.having(**values)


def _numbers_of_all(fit: Fit, given: CompleteRows) -> Index | None:
    """Return the numbers of the user's rows that are observations; None where all are."""
    if fit.data.rows is None and given.rows is None:
        return None
    before = np.arange(fit.n_rows) if fit.data.rows is None else fit.data.rows
    return np.concatenate([before, fit.n_rows + given.numbers])


def _missing_in_all(fit: Fit, given: CompleteRows) -> Missing | None:
    """Return what is missing in the rows of the fit and in those that follow."""
    new = given.record(fit.data.positions)
    if fit.missing is None and new is None:
        return None
    if new is None:
        new = Missing.nothing(given.n_rows, fit.data.positions)
    elif is_row_order(given.positions):
        new = replace(new, positions=go_on(fit.user_positions, new.positions))
    before = fit.missing or Missing.nothing(fit.n_rows, fit.data.positions)
    return before.followed_by(new)


def join_positions(fit: Fit, given: CompleteRows) -> Positions:
    """Read the positions of new observations and put them after those of a fit, in the order of the user's rows.

    Without positions, which the fit must have been without too, every group goes on a step a row.
    """
    places = fit.data.positions.take(fit.data.back)
    count = given.X.shape[0]
    positions = given.positions
    groups = given.groups
    need_groups(places, groups)
    if not places.metric.has_coordinates:
        shape = (count, len(places) + count)
        if positions is None:
            raise ValueError(
                f"positions is needed: the distances {shape} of the new observations to those of the fit, then to each other"
            )
        table = read_distances(positions, shape)
        new = read_positions(table[:, len(places) :], count, groups=groups, like=places)
        check_group_names(places, new)
        return places.join(new, cross=table[:, : len(places)])
    need_positions(places, positions)
    new = read_positions(positions, count, groups=groups, like=places)
    check_group_names(places, new)
    return places.join(go_on(fit.user_positions, new) if is_row_order(positions) else new)


def _warn_of_repeated(data: Observations, fitted: int) -> None:
    """Warn of new times that the fit has already, as it would be of repeated ones: rows may have been given twice."""
    if not data.positions.is_chain:
        return
    times = data.positions.coordinates[:, 0]
    groups = data.positions.groups
    new = data.order >= fitted
    moment = np.cumsum(np.r_[0, (times[1:] != times[:-1]) | (groups[1:] != groups[:-1])])
    seen = np.zeros(moment[-1] + 1, dtype=bool)
    seen[moment[~new]] = True
    repeated = int(np.count_nonzero(seen[moment] & new))
    if repeated:
        warn(
            f"positions: {repeated} of {np.count_nonzero(new)} new times are in the fit already, within their group; ties "
            "between equal times are broken by the features",
            UserWarning,
        )


def _extend(fit: Fit, data: Observations, settings: Settings) -> tuple[LocalModels, Mask]:
    """Return the models of all observations, in canonical order, and which of them are new."""
    assert fit.models is not None
    with stage("neighbourhoods"):
        then = find_neighborhoods(fit.data.positions, fit.data.n_neighbors, weights=settings.weights)
        now = find_neighborhoods(data.positions, data.n_neighbors, weights=settings.weights)
        changed = outdated(fit.data, then, data, now, slides=settings.covariance_estimator.by_moments)
    rows = np.flatnonzero(changed)
    known = np.flatnonzero(~changed)
    source = np.empty(data.order.size, dtype=np.int64)
    source[known] = fit.data.back[data.order[known]]
    source[rows] = len(fit.models) + np.arange(rows.size)
    chain = data.positions.is_chain
    fresh = models_on(data.X, now.take(rows), settings, fit.prior, data.seed, along_time=chain)
    return fit.models.append(fresh).take(source), changed


def outdated(
    old: Observations,
    then: Neighborhoods | TimeWindows,
    data: Observations,
    now: Neighborhoods | TimeWindows,
    *,
    slides: bool,
) -> Mask:
    """Tell which rows of ``data`` need another model than they have: new ones, and those with other neighbours or features.

    A row keeps its model if the same observations with the same features, in the same order, are its neighbours as before.
    That no new one is among them does not suffice: which distances are tied depends on all positions. Weights
    follow from the neighbours. ``slides`` says that along time moments are taken from sums over blocks of rows; the
    row's place in its block must then be as before too, so that what is kept is, to the last bit, what a fit would find.
    """
    known = np.flatnonzero(data.order < old.order.size)
    before = old.back[data.order[known]]
    touched = np.ones(data.order.size, dtype=bool)
    touched[known] = np.any(data.X[known] != old.X[before], axis=1)
    out = touched.copy()
    if slides:
        out[known] |= _place_in_block(now)[known] != _place_in_block(then)[before]
    if isinstance(now, TimeWindows) and isinstance(then, TimeWindows):
        # Old rows keep their order along time, so windows of one beginning are the same unless a new one has come between.
        starts = now.starts[known]
        count = np.r_[0, np.cumsum(touched)]
        between = (count[starts + now.n_neighbors] > count[starts]) & (starts >= 0)
        out[known] |= between | (_named(data.order, starts) != _named(old.order, then.starts[before]))
        return out
    for part in tiles(known.size, _TILE_ROWS):
        here = now.members(known[part])
        there = then.members(before[part])
        same = _named(data.order, here) == _named(old.order, there)
        out[known[part]] |= ~same.all(axis=1) | (touched[here] & (here >= 0)).any(axis=1)
    return out


def _named(order: Index, rows: Index) -> Index:
    """The user's rows, -1 where there are none."""
    return np.where(rows < 0, -1, order[rows])


def _place_in_block(near: Neighborhoods | TimeWindows) -> Index:
    """Where each window begins in its block of rows; -1 where neighbourhoods are no windows."""
    if near.windows is None:
        return np.full(len(near), -1)
    starts, origins = near.windows
    return np.where(near.complete, (starts - origins) % near.n_neighbors, -1)


def _known_cores(
    fit: Fit, prepared: Prepared, search: NeighborSearch, changed: Mask, *, refresh: bool
) -> Labels | None:
    """Tell of each row of the loss whether it is core, 1, or not, 0, as far as that follows from the fit of before; -1 else.

    A core one stays core unless a model that is no more was within the radius; any other stays none unless a new model is.
    None where nothing is known.
    """
    settings = fit.settings
    rule = fit.labelling.rule
    # Cores of clusters that were too small are not among those of before.
    same = not refresh and settings.clustering_algorithm.takes_known_core and (settings.min_cluster_size or 1) == 1
    if not same or not isinstance(search, TreeSearch) or not isinstance(rule, Membership):
        return None
    before = fit.derived.search
    if changed.sum() > _FEW_CHANGED * changed.size or not isinstance(before, TreeSearch):
        return None
    if settings.refine == "noise" or not _same_reach(before, search):
        return None
    eps = fit.labelling.eps
    data = prepared.data
    touched = np.zeros(data.order.size, dtype=bool)
    touched[data.order] = changed
    core = np.zeros(data.order.size, dtype=bool)
    core[fit.data.order[rule.anchors]] = True
    compared = fit.data.order[fit.derived.prepared.comparable]
    lost = np.zeros(data.order.size, dtype=bool)
    lost[compared] = before.near(eps, touched[compared])
    rows = prepared.rows
    gained = search.near(eps, touched[rows])
    sure = ~touched[rows] & ~np.where(core[rows], lost[rows], gained)
    return np.where(sure, core[rows], -1).astype(np.int64)


def _same_reach(then: TreeSearch, now: TreeSearch) -> bool:
    """Tell whether pairs are within the penalty's reach as before; how it is rounded depends on the largest position."""
    low, high = sorted((then.penalty_reach(), now.penalty_reach()))
    places = now.loss.positions
    if low == high or now.loss.beta == 0:
        return True
    if not places.is_chain:
        return False
    slack = places.rounding
    for times in np.split(places.coordinates[:, 0], np.flatnonzero(np.diff(places.groups)) + 1):
        nearer = np.searchsorted(times, times + (low - slack))
        if (nearer != np.searchsorted(times, times + (high + slack), side="right")).any():
            return False
    return True


def _number_by_old_members(fit: Fit, data: Observations, labelling: Labelling) -> tuple[Labelling, float]:
    """Let clusters go on under the numbers of those before that they have most members of; new ones follow.

    Numbers of clusters that are no more are closed up. Returns the share of old rows, too, whose cluster is not the one that
    goes on as theirs, noise being one of its own.
    """
    before = fit.labelling.labels[fit.data.back]
    now = labelling.labels[data.back][: before.size]
    size = labelling.n_clusters
    old_size = fit.labelling.n_clusters
    if size == 0 or old_size == 0:
        return labelling, float(np.mean(before != now))
    inside = (before >= 0) & (now >= 0)
    table = np.zeros((size, old_size), dtype=np.int64)
    np.add.at(table, (now[inside], before[inside]), 1)
    mine, theirs = linear_sum_assignment(-table)
    names = old_size + np.arange(size)
    shared = table[mine, theirs] > 0
    names[mine[shared]] = theirs[shared]
    share = float(np.mean(before != np.where(now < 0, -1, names[now])))
    rank = np.empty(size, dtype=np.int64)
    rank[np.argsort(names)] = np.arange(size)
    return labelling.renumbered(rank), share
