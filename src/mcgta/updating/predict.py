"""Placing new observations in the clusters of a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mcgta.clustering.membership import Membership
from mcgta.clustering.tree_anchors import TreeAnchors
from mcgta.clustering.tree_search import TreeSearch
from mcgta.observations import Joined, New, Observations, join_new
from mcgta.positions.positions import Positions
from mcgta.runtime.parallel import tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.stages.dissimilarity.dissimilarity import incomparable
from mcgta.stages.lags import stack_lags
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss import Loss
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.updating.surroundings import Surroundings

_ENTRIES = 2**22  # of a table of losses to all anchors

FitModels = Callable[[Array, Neighborhoods | TimeWindows], LocalModels]
MakeLoss = Callable[[Array, LocalModels | None, Positions], Loss]


@dataclass(frozen=True, eq=False)
class Reference:
    """What the placing of new observations needs to know of a fit.

    Attributes
    ----------
    labels : (N,) of the observations of the fit, in the user's order
    data : those, in canonical order
    models : their local models, in the user's order; None for a dissimilarity of features
    membership : its anchors, by rows of ``data``, ascending
    tree : through which they are found; None where new observations are compared with all of them
    surroundings : finds the observations of the fit that new ones are modelled on; None where all are looked through
    """

    labels: Labels
    data: Observations
    models: LocalModels | None
    membership: Membership
    tree: TreeAnchors | None = None
    surroundings: Surroundings | None = None

    @classmethod
    def of(
        cls,
        labels: Labels,
        data: Observations,
        kept: Index,
        models: LocalModels | None,
        membership: Membership,
        tree: TreeSearch | None,
        *,
        min_samples: int,
        lags: int,
    ) -> Reference:
        """Bring the anchors into canonical order; ``kept`` are the rows of ``data`` that the tree is about."""
        rows = np.flatnonzero(np.isin(data.order[kept], membership.anchors))
        membership = replace(membership.reorder(data.order[kept[rows]]), anchors=kept[rows])
        if tree is None:
            return cls(labels, data, models, membership)
        anchored = surroundings = None
        if rows.size:
            largest = float(membership.radii.max())
            anchored = TreeAnchors.of(
                tree, rows, membership.core_distances, largest_radius=largest, min_samples=min_samples
            )
        if data.positions.kind is not None:
            surroundings = Surroundings(data.positions, max(data.n_neighbors, lags + 1), lags)
        return cls(labels, data, models, membership, anchored, surroundings)

    def join(self, new: New) -> Joined:
        """Join new observations to those of the fit that their models may need."""
        return join_new(self.data, new, self.surroundings)


def place_new(
    fit: Reference,
    new: New,
    *,
    strengths_of_fit: Callable[[], Array] | None,
    lags: int,
    weights: str,
    dissimilarity: str,
    fit_models: FitModels,
    make_loss: MakeLoss,
) -> tuple[Labels, Array]:
    """Return the clusters and strengths of the rows given; those that the fit knows keep what they have.

    Strengths of the fit are asked for when needed; without a function for it the strengths of known rows are left out.
    """
    joined, count = fit.join(new), new.X.shape[0]
    labels, strengths = np.full(count, -1, dtype=np.int64), np.zeros(count)
    again = joined.known >= 0
    labels[again] = fit.labels[joined.known[again]]
    if strengths_of_fit is not None and again.any():
        strengths[again] = strengths_of_fit()[joined.known[again]]
    if joined.fresh.size == 0:
        return labels, strengths

    size = joined.around.size
    X = stack_lags(joined.X, joined.positions, lags)
    X[:size] = fit.data.X[joined.around]  # which know nothing of new ones before them
    if fit.models is None:
        models, failures = None, incomparable(X[size:], dissimilarity)
    else:
        models = fit_models(X, _neighborhoods(joined.positions, size, fit.data.n_neighbors, weights))
        failures = models.failures
    _report(failures, joined.fresh)

    placed = np.setdiff1d(np.arange(joined.fresh.size), list(failures))
    if placed.size == 0:
        return labels, strengths
    where, models = joined.fresh[placed], models and models.take(placed)
    if fit.tree is not None:
        places = joined.positions.take(size + placed)
        parts = make_loss(X[size + placed], models, places).dissimilarity.parts
        reach, rows = fit.tree.place(parts, places, new.groups[where])
        labels[where], strengths[where] = fit.membership.place(reach, np.searchsorted(fit.tree.rows, rows))
        return labels, strengths
    anchors = fit.membership.anchors  # rows of what is joined, since all of the fit is, unless there are none
    if fit.models is not None and models is not None:
        models = fit.models.take(fit.data.order[anchors]).append(models)
    both = np.concatenate([anchors, size + placed])
    loss = make_loss(X[both], models, joined.positions.take(both))
    with stage("placing", placed.size) as advance:
        for part in tiles(placed.size, max(1, _ENTRIES // max(anchors.size, 1))):
            losses = loss.between(anchors.size + np.arange(part.start, part.stop), np.arange(anchors.size))
            labels[where[part]], strengths[where[part]] = fit.membership.assign(losses)
            advance(part.stop - part.start)
    return labels, strengths


def _neighborhoods(positions: Positions, fitted: int, n: int, weights: str) -> Neighborhoods | TimeWindows:
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
    out = {name: getattr(near, name).copy() for name in ("indices", "distances", "weights")}
    beyond = find_neighborhoods(positions, n, weights=weights, of=new[far])
    for name, values in out.items():
        values[far] = getattr(beyond, name)
    return Neighborhoods(new, **out)


def _report(failures: dict[int, str], rows: Index) -> None:
    if failures:
        first, reason = next(iter(failures.items()))
        warn(
            f"{len(failures)} of {rows.size} new observations have no model and are labelled noise; row {rows[first]}: "
            f"{reason}",
            UserWarning,
        )
