"""Adding observations to a fit: what nothing new is near to is taken from there.

Only models whose neighbourhood has changed are fitted again. With the radius and the semivariogram of before, whether an
observation is core can change only where a model that has changed is, or was, within the radius; others are not counted again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcgta.clustering.backend import Backend
from mcgta.clustering.tree_search import TreeSearch
from mcgta.observations import Observations, check_columns, check_group_names, need_groups, sort_observations
from mcgta.pipeline import Algorithm, Stages
from mcgta.positions.distances import read_distances
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.parallel import tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.runtime.warnings import warn
from mcgta.stages.local_models import LocalModels
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.stages.prior import MixturePrior
from mcgta.stages.semivariogram.curve import Semivariogram

_TILE = 8192
_FEW = 1 / 8  # share of changed models up to which it pays to ask who is near them


@dataclass(frozen=True, eq=False)
class Before:
    """What a fit knows before observations are added, in the user's order of rows.

    Attributes
    ----------
    X : (N, d) features, without lags
    names : of the features, where they have some
    positions : where the observations are
    models : their local models; None for a dissimilarity of features
    prior : the global mixture, if any
    semivariogram : to be used again; None to estimate it anew
    n_neighbors : size of the neighbourhoods
    seed : of everything that is random
    failed, cores : rows without a model, and core ones
    tree : over the models, if there is one
    """

    X: Array
    names: Any
    positions: Positions
    models: LocalModels | None
    prior: MixturePrior | None
    semivariogram: Semivariogram | None
    n_neighbors: int
    seed: int
    failed: Index
    cores: Index
    tree: TreeSearch | None

    def sort(self, X: Array, positions: Positions, lags: int) -> Observations:
        """Bring observations into canonical order, with the neighbourhoods and the seed of the fit."""
        return sort_observations(X, positions, n_neighbors=self.n_neighbors, lags=lags, seed=self.seed)


def append_stages(
    before: Before, X: Array, positions: Any, groups: Any, algorithm: Algorithm, backend: Backend
) -> tuple[Stages, TreeSearch | None]:
    """Return what a fit on the observations of before and the new ones has computed when the clustering begins.

    ``X``, ``positions`` and ``groups`` are those of the new observations, which follow the others in the user's order. The
    tree is that of the backend, if it takes one.
    """
    places = join_positions(before.positions, X.shape[0], positions, groups)
    every = np.concatenate([before.X, X])
    check_columns(every, before.names, algorithm.dissimilarity)
    data = before.sort(every, places, algorithm.lags)
    if positions is not None:
        _report_repeated(data, before.X.shape[0])
    old = before.sort(before.X, before.positions, algorithm.lags)
    models, fresh = before.models, np.ones(data.order.size, dtype=bool)
    if models is not None:
        models, fresh = _extend(models, old, data, before.prior, algorithm)
    kept, failed = algorithm.comparable(data, models)
    there = data.positions.take(kept)
    dissimilarity = algorithm.compare(data.X[kept], models and models.take(kept), data.seed)
    if backend.name == "dense":
        dissimilarity.matrix()
    semivariogram = before.semivariogram
    if semivariogram is None:
        semivariogram = algorithm.fit_semivariogram(dissimilarity, there, data.seed)
    significance = algorithm.significance(data, models, kept) if algorithm.asks_for_levels else None
    margin = algorithm.choose_margin(significance, there, semivariogram, data.seed)
    loss = algorithm.loss(dissimilarity, there, semivariogram, margin)
    stages = Stages(data, before.prior, models, kept, failed, loss, significance=significance)
    if backend.name != "tree":
        return stages, None
    with stage("tree"):
        tree = TreeSearch.of(stages.loss)
    # Cores of clusters that were too small are not among those of before.
    same = (
        before.semivariogram is not None and algorithm.clusterer == "dbscan" and (algorithm.min_cluster_size or 1) == 1
    )
    if same and before.tree is not None and fresh.sum() <= _FEW * fresh.size and _same_reach(before.tree, tree):
        stages = replace(stages, cores=_known_cores(before, before.tree, old, stages, tree, fresh, algorithm))
    return stages, tree


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


def _report_repeated(data: Observations, fitted: int) -> None:
    """Warn of new times that the fit has already, as it would be of repeated ones: rows may have been given twice."""
    if not data.positions.is_chain:
        return
    times, groups, new = data.positions.coordinates[:, 0], data.positions.groups, data.order >= fitted
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


def _extend(
    models: LocalModels, old: Observations, data: Observations, prior: MixturePrior | None, algorithm: Algorithm
) -> tuple[LocalModels, Mask]:
    """Return the models of all observations, in canonical order, and which are new; ``models`` are in the user's order."""
    with stage("neighbourhoods"):
        then, now = (
            find_neighborhoods(each.positions, each.n_neighbors, weights=algorithm.weights) for each in (old, data)
        )
        fresh = outdated(old, then, data, now, slides=algorithm.covariance != "min_cov_det")
    rows = np.flatnonzero(fresh)
    source = data.order.copy()
    source[rows] = len(models) + np.arange(rows.size)
    return models.append(algorithm.models_on(data.X, now.take(rows), prior, data.seed)).take(source), fresh


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
        starts, count = now.starts[known], np.r_[0, np.cumsum(touched)]
        between = (count[starts + now.n_neighbors] > count[starts]) & (starts >= 0)
        out[known] |= between | (_named(data.order, starts) != _named(old.order, then.starts[before]))
        return out
    for part in tiles(known.size, _TILE):
        here, there = now.members(known[part]), then.members(before[part])
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
    before: Before,
    old_tree: TreeSearch,
    old: Observations,
    stages: Stages,
    tree: TreeSearch,
    fresh: Mask,
    algorithm: Algorithm,
) -> Labels:
    """Tell of each row of the loss whether it is core, 1, or not, 0, as far as that follows from the fit of before; -1 else.

    A core one stays core unless a model that is no more was within the radius; any other stays none unless a new model is.
    """
    count, eps = stages.data.order.size, float(algorithm.eps)
    changed, core, lost = (np.zeros(count, dtype=bool) for _ in range(3))
    changed[stages.data.order] = fresh
    core[before.cores] = True
    compared = old.order[~np.isin(old.order, before.failed)]
    lost[compared] = old_tree.near(eps, changed[compared])
    rows = stages.rows
    gained = tree.near(eps, changed[rows])
    sure = ~changed[rows] & ~np.where(core[rows], lost[rows], gained)
    return np.where(sure, core[rows], -1).astype(np.int64)


def _same_reach(then: TreeSearch, now: TreeSearch) -> bool:
    """Tell whether pairs are within the penalty's reach as before; how it is rounded depends on the largest position."""
    low, high = sorted((then.reach_of_penalty(), now.reach_of_penalty()))
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
