"""New observations placed by density: in the cluster whose core observations they reach first, within its radius."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.fit import Fit
from mcgta.pipeline import compare, models_on
from mcgta.positions.positions import Positions
from mcgta.runtime.parallel import tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss import Loss
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.updating.joining import Joined

_TABLE_ENTRIES = 2**22  # losses to all anchors that are held at a time


class Reached(NamedTuple):
    """Clusters (F,) and strengths (F,) of new observations, and why some have no model, by their number."""

    labels: Labels
    strengths: Array
    failures: dict[int, str]


def place_by_density(fit: Fit, joined: Joined, groups: Index) -> Reached:
    """Return clusters and strengths of the new ones among joined observations; ``groups`` are theirs by codes of the fit."""
    size = joined.around.size
    count = joined.fresh.size
    labels = np.full(count, -1, dtype=np.int64)
    strengths = np.zeros(count)
    X = joined.stacked(fit.data, fit.settings.n_lags)
    models: LocalModels | None = None
    if fit.models is None:
        failures = fit.settings.dissimilarity_kind.incomparable(X[size:])
    else:
        near = find_neighborhoods_of_new(joined.positions, size, fit.data.n_neighbors, fit.settings.weights)
        chain = fit.data.positions.is_chain
        models = models_on(X, near, fit.settings, fit.prior, fit.data.seed, along_time=chain)
        failures = models.failures
    placed = np.setdiff1d(np.arange(count), list(failures))
    if placed.size:
        some = None if models is None else models.take(placed)
        place = _place_by_table if fit.derived.density_rule.tree is None else _place_by_tree
        labels[placed], strengths[placed] = place(fit, joined, X, some, placed, groups[placed])
    return Reached(labels, strengths, failures)


def _place_by_tree(
    fit: Fit, joined: Joined, X: Array, models: LocalModels | None, placed: Index, groups: Index
) -> tuple[Labels, Array]:
    rule = fit.derived.density_rule
    assert rule.tree is not None
    rows = joined.around.size + placed
    places = joined.positions.take(rows)
    parts = compare(X[rows], models, rows, fit.settings, fit.data.seed).parts
    reach, reached = rule.tree.place(parts, places, groups)
    return rule.membership.place(reach, np.searchsorted(rule.tree.rows, reached))


def _place_by_table(
    fit: Fit, joined: Joined, X: Array, models: LocalModels | None, placed: Index, groups: Index
) -> tuple[Labels, Array]:
    membership = fit.derived.density_rule.membership
    anchors = membership.anchors  # rows of what is joined, since all of the fit is, unless there are none
    if fit.models is not None and models is not None:
        models = fit.models.take(anchors).append(models)
    both = np.concatenate([anchors, joined.around.size + placed])
    dissimilarity = compare(X[both], models, both, fit.settings, fit.data.seed)
    settings = fit.settings
    places = joined.positions.take(both)
    loss = Loss(dissimilarity, places, fit.semivariogram, float(settings.beta), fit.margin, settings.penalty)
    labels = np.empty(placed.size, dtype=np.int64)
    strengths = np.empty(placed.size)
    with stage("placing", placed.size) as advance:
        for part in tiles(placed.size, max(1, _TABLE_ENTRIES // max(anchors.size, 1))):
            losses = loss.between(anchors.size + np.arange(part.start, part.stop), np.arange(anchors.size))
            labels[part], strengths[part] = membership.assign(losses)
            advance(part.stop - part.start)
    return labels, strengths


def find_neighborhoods_of_new(positions: Positions, fitted: int, n: int, weights: str) -> Neighborhoods | TimeWindows:
    """Neighbourhoods of the new observations: in the fit for those within its reach, among all beyond it."""
    of_fit = np.arange(len(positions)) < fitted
    new = np.arange(fitted, len(positions))
    near = find_neighborhoods(positions, n, weights=weights, of=new, among=of_fit)
    far = np.ones(new.size, dtype=bool)
    rows = np.flatnonzero(near.complete)
    if rows.size:
        others = np.where(near.indices[rows] == new[rows, None], np.inf, near.distances[rows])
        closest = near.indices[rows][np.arange(rows.size), others.argmin(axis=1)]
        around = find_neighborhoods(positions, n, of=closest, among=of_fit)
        reach = np.sort(around.distances, axis=1)[:, -(-n // 4)]
        far[rows] = ~(others.min(axis=1) <= reach)
    if not far.any():
        return near
    tables = {name: getattr(near, name).copy() for name in ("indices", "distances", "weights")}
    beyond = find_neighborhoods(positions, n, weights=weights, of=new[far])
    for name, values in tables.items():
        values[far] = getattr(beyond, name)
    return Neighborhoods(new, **tables)
