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
from mcgta.fit import EVIDENCE, Fit, Labelling, assemble, label_by_clusterer, label_by_evidence
from mcgta.observations import Observations, check_columns, sort_observations
from mcgta.pipeline import (
    Prepared,
    StageCache,
    choose_backend_for,
    listed_neighbors,
    models_key,
    models_on,
    open_search,
    prepare,
)
from mcgta.positions.distances import read_distances
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.parallel import tiles
from mcgta.runtime.progress import note, stage
from mcgta.runtime.rules import read_level
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.runtime.warnings import warn
from mcgta.selection.auto import Selection, select
from mcgta.settings import Settings
from mcgta.stages.local_models import LocalModels
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.updating.joining import check_group_names, need_groups

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
    if fit.settings.kind.compares == "rows":
        raise ValueError("dissimilarity is a table of the rows of the fit, so new rows cannot be added to it; use fit")
    settings = _settings_for(fit, refresh=refresh)
    count = len(fit.data.positions) + X.shape[0]
    listed = 2 * listed_neighbors(positions, settings)  # before and after
    backend = choose_backend_for((count, X.shape[1]), settings, neighbors=listed)
    places = join_positions(_user_positions(fit), X.shape[0], positions, groups)
    every = np.concatenate([fit.data.raw, X])
    check_columns(every, fit.names, settings.kind)
    data = _sort(fit, every, places)
    if positions is not None:
        _warn_of_repeated(data, len(fit.data.positions))
    cache = StageCache(priors={models_key(settings, data): fit.prior})
    changed = np.ones(data.order.size, dtype=bool)
    if fit.models is not None:
        models, changed = _extend(fit, data, settings)
        cache.models[models_key(settings, data)] = models
    prepared = prepare(data, settings, cache, backend=backend)
    selection = None
    if fit.labelling.source == EVIDENCE:
        selection = _search_again(fit, data)
        labelling = label_by_evidence(prepared, selection)
    else:
        cores = None
        if backend.name == "tree":
            cores = _known_cores(fit, prepared, open_search(prepared, backend, cache), changed, refresh=refresh)
        labelling, backend = label_by_clusterer(prepared, backend, cache, cores)
    prepared = replace(prepared, settings=fit.settings)
    labelling = _number_by_old_members(fit, data, labelling)
    share = _changed_share(fit, data, labelling)
    note(f"{share:.1%} of the observations of before have changed cluster")
    appended = assemble(fit.asked, prepared, labelling, backend, fit.names, selection, cache)
    choice = fit.choice if selection is None else appended.choice  # settings of the clusterer stay as they were chosen
    return appended.having(choice=choice, changed_share=share)


def _settings_for(fit: Fit, *, refresh: bool) -> Settings:
    """Return the settings to run Algorithm 1 with: what depends on the data stays as it was, unless refreshed."""
    if refresh:
        return fit.settings
    values: dict[str, Any] = {"margin": fit.margin, "semivariogram": fit.semivariogram, "max_lag": None}
    settings = fit.settings
    cut = settings.n_clusters != "auto" and settings.wants_clusterer  # at a radius of its own
    if not cut and (settings.algorithm.needs_eps or read_level(settings.eps) is not None):
        values["eps"] = "auto" if np.isnan(fit.labelling.eps) else fit.labelling.eps
    return settings.having(**values)


def _search_again(fit: Fit, data: Observations) -> Selection:
    """Search for labels on all observations, with the settings as they were chosen."""
    return select(fit.settings.having(refine="all", n_clusters=fit.asked.n_clusters), data, StageCache())


def _user_positions(fit: Fit) -> Positions:
    return fit.data.positions.take(fit.data.back)


def _sort(fit: Fit, X: Array, positions: Positions) -> Observations:
    """Bring observations into canonical order, with the neighbourhoods and the seed of the fit."""
    return sort_observations(
        X,
        positions,
        n_neighbors=fit.data.n_neighbors,
        lags=fit.settings.lags,
        seed=fit.data.seed,
        spreads=fit.data.spreads,
    )


def join_positions(places: Positions, count: int, positions: Any, groups: Any) -> Positions:
    """Read the positions of ``count`` new observations and put them after those of a fit.

    Without positions, which the fit must have been without too, every group goes on a step a row.
    """
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
    if positions is None and places.unit != "step":
        raise ValueError("positions is needed: the fit had positions")
    new = read_positions(positions, count, groups=groups, like=places)
    check_group_names(places, new)
    return places.join(_go_on(places, new) if positions is None else new)


def _go_on(places: Positions, new: Positions) -> Positions:
    """Let steps continue where each group has ended."""
    ends = np.full(len(places.group_names), -1.0)
    np.maximum.at(ends, places.groups, np.floor(places.coordinates[:, 0]))
    after = dict(zip(places.group_names.tolist(), (ends + 1).tolist(), strict=True))
    first = np.array([after.get(name, 0.0) for name in new.group_names.tolist()])
    return replace(new, coordinates=new.coordinates + first[new.groups, None])


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
        changed = outdated(fit.data, then, data, now, slides=settings.estimator.by_moments)
    rows = np.flatnonzero(changed)
    known = np.flatnonzero(~changed)
    source = np.empty(data.order.size, dtype=np.int64)
    source[known] = fit.data.back[data.order[known]]
    source[rows] = len(fit.models) + np.arange(rows.size)
    fresh = models_on(data.X, now.take(rows), settings, fit.prior, data.seed)
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
    That nobody new is among them does not suffice: which distances are tied depends on all positions. Weights
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
        # Old rows keep their order along time, so windows of one beginning are the same unless somebody has come between.
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
    same = not refresh and settings.algorithm.takes_known_core and (settings.min_cluster_size or 1) == 1
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
    compared = fit.data.order[fit.derived.prepared.kept]
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


def _number_by_old_members(fit: Fit, data: Observations, labelling: Labelling) -> Labelling:
    """Give clusters the numbers of those before that they have most members of; new ones follow."""
    before, now = _old_labels(fit, data, labelling)
    size = labelling.n_clusters
    old_size = fit.labelling.n_clusters
    if size == 0 or old_size == 0:
        return labelling
    inside = (before >= 0) & (now >= 0)
    table = np.zeros((size, old_size), dtype=np.int64)
    np.add.at(table, (now[inside], before[inside]), 1)
    mine, theirs = linear_sum_assignment(-table)
    names = np.full(size, -1, dtype=np.int64)
    shared = table[mine, theirs] > 0
    names[mine[shared]] = theirs[shared]
    free = iter(number for number in range(size + old_size) if number not in set(theirs[shared].tolist()))
    for k in np.flatnonzero(names < 0):
        names[k] = next(free)
    order = np.argsort(names, kind="stable")  # without gaps, in the order of the old numbers
    rank = np.empty(size, dtype=np.int64)
    rank[order] = np.arange(size)
    return labelling.renumbered(rank)


def _changed_share(fit: Fit, data: Observations, labelling: Labelling) -> float:
    """Return the share of the observations of before whose cluster is another now, noise being one of its own."""
    before, now = _old_labels(fit, data, labelling)
    return float(np.mean(before != now))


def _old_labels(fit: Fit, data: Observations, labelling: Labelling) -> tuple[Labels, Labels]:
    """Return the labels before and now of the observations of the earlier fit, in the user's order."""
    count = len(fit.data.positions)
    return fit.labels, labelling.labels[data.back][:count]
