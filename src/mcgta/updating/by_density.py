"""New observations placed by density: in the cluster whose core observations they reach first, within its radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.clustering.membership import Membership
from mcgta.clustering.tree_anchors import TreeAnchors
from mcgta.clustering.tree_search import TreeSearch
from mcgta.observations import Observations
from mcgta.pipeline import compare, make_loss, models_on
from mcgta.positions.positions import Positions
from mcgta.positions.surroundings import Surroundings
from mcgta.runtime.parallel import tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.settings import Settings
from mcgta.stages.local_models import LocalModels
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.stages.prior import MixturePrior
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.updating.joining import Joined

_TABLE_ENTRIES = 2**22  # losses to all anchors that are held at a time


class Reached(NamedTuple):
    """Clusters (F,) and strengths (F,) of new observations, and why some have no model, by their number."""

    labels: Labels
    strengths: Array
    failures: dict[int, str]


@dataclass(frozen=True, eq=False)
class DensityReference:
    """What the placing of new observations by density needs to know of a fit.

    Attributes
    ----------
    data : the observations of the fit, in canonical order
    settings, prior, semivariogram, margin : of the fit
    models : their local models, in canonical order; None for a dissimilarity of features
    membership : its anchors, by rows of ``data``, ascending
    tree : through which they are found; None where new observations are compared with all of them
    surroundings : finds the observations of the fit that new ones are modelled on; None where all are looked through
    """

    data: Observations
    settings: Settings
    prior: MixturePrior | None
    semivariogram: Semivariogram
    margin: float
    models: LocalModels | None
    membership: Membership
    tree: TreeAnchors | None = None
    surroundings: Surroundings | None = None


def anchor_tree(tree: TreeSearch, kept: Index, membership: Membership, min_samples: int) -> TreeAnchors | None:
    """Make ready a tree over the rows ``kept`` of a fit for searches of its anchors; None where there are none."""
    rows = np.searchsorted(kept, membership.anchors)
    if rows.size == 0:
        return None
    largest = float(membership.radii.max())
    return TreeAnchors.of(tree, rows, membership.core_distances, largest_radius=largest, min_samples=min_samples)


def place_by_density(fit: DensityReference, joined: Joined, groups: Index) -> Reached:
    """Return clusters and strengths of the new ones among joined observations; ``groups`` are theirs by codes of the fit."""
    size = joined.around.size
    count = joined.fresh.size
    labels = np.full(count, -1, dtype=np.int64)
    strengths = np.zeros(count)
    X = joined.stacked(fit.data, fit.settings.lags)
    models: LocalModels | None = None
    if fit.models is None:
        failures = fit.settings.kind.incomparable(X[size:])
    else:
        near = find_neighborhoods_of_new(joined.positions, size, fit.data.n_neighbors, fit.settings.weights)
        models = models_on(X, near, fit.settings, fit.prior, fit.data.seed)
        failures = models.failures
    placed = np.setdiff1d(np.arange(count), list(failures))
    if placed.size:
        some = None if models is None else models.take(placed)
        place = _place_by_table if fit.tree is None else _place_by_tree
        labels[placed], strengths[placed] = place(fit, joined, X, some, placed, groups[placed])
    return Reached(labels, strengths, failures)


def _place_by_tree(
    fit: DensityReference, joined: Joined, X: Array, models: LocalModels | None, placed: Index, groups: Index
) -> tuple[Labels, Array]:
    assert fit.tree is not None
    rows = joined.around.size + placed
    places = joined.positions.take(rows)
    parts = compare(X[rows], models, rows, fit.settings, fit.data.seed).parts
    reach, reached = fit.tree.place(parts, places, groups)
    return fit.membership.place(reach, np.searchsorted(fit.tree.rows, reached))


def _place_by_table(
    fit: DensityReference, joined: Joined, X: Array, models: LocalModels | None, placed: Index, groups: Index
) -> tuple[Labels, Array]:
    anchors = fit.membership.anchors  # rows of what is joined, since all of the fit is, unless there are none
    if fit.models is not None and models is not None:
        models = fit.models.take(anchors).append(models)
    both = np.concatenate([anchors, joined.around.size + placed])
    dissimilarity = compare(X[both], models, both, fit.settings, fit.data.seed)
    loss = make_loss(dissimilarity, joined.positions.take(both), fit.semivariogram, fit.settings, fit.margin)
    labels = np.empty(placed.size, dtype=np.int64)
    strengths = np.empty(placed.size)
    with stage("placing", placed.size) as advance:
        for part in tiles(placed.size, max(1, _TABLE_ENTRIES // max(anchors.size, 1))):
            losses = loss.between(anchors.size + np.arange(part.start, part.stop), np.arange(anchors.size))
            labels[part], strengths[part] = fit.membership.assign(losses)
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
