"""Placing new observations in the clusters of a fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mcgta.observations import Joined
from mcgta.parallel import tiles
from mcgta.positions import Positions
from mcgta.progress import Progress
from mcgta.stages.dissimilarity import incomparable
from mcgta.stages.lags import stack_lags
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss import Loss
from mcgta.stages.membership import Membership
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.types import Array, Index, Labels

_ENTRIES = 2**22  # of a table of losses to all anchors

FitModels = Callable[[Array, Neighborhoods | TimeWindows], LocalModels]
MakeLoss = Callable[[Array, LocalModels | None, Positions], Loss]


@dataclass(frozen=True, eq=False)
class Reference:
    """The clusters of a fit, in the user's order of rows.

    Attributes
    ----------
    labels, strengths : (N,) of the observations of the fit
    order : (N,) canonical order of its rows
    models : their local models; None for a dissimilarity of features
    membership : its anchors
    n_neighbors : size of the neighbourhoods
    """

    labels: Labels
    strengths: Array
    order: Index
    models: LocalModels | None
    membership: Membership
    n_neighbors: int


def place_new(
    fit: Reference,
    joined: Joined,
    *,
    lags: int,
    weights: str,
    dissimilarity: str,
    fit_models: FitModels,
    make_loss: MakeLoss,
    progress: Progress,
) -> tuple[Labels, Array]:
    """Return the clusters and strengths of the rows given; those that the fit knows keep what they have."""
    count = joined.known.size
    labels, strengths = np.full(count, -1, dtype=np.int64), np.zeros(count)
    again = joined.known >= 0
    labels[again], strengths[again] = fit.labels[joined.known[again]], fit.strengths[joined.known[again]]
    if joined.fresh.size == 0:
        return labels, strengths

    fitted = np.arange(fit.order.size)
    new = fit.order.size + np.arange(joined.fresh.size)
    X = stack_lags(joined.X, joined.positions, lags)
    X[fitted] = stack_lags(joined.X[fitted], joined.positions.take(fitted), lags)
    if fit.models is None:
        models, failures = None, incomparable(X[new], dissimilarity)
    else:
        models = fit_models(X, _neighborhoods(joined.positions, fit.order.size, fit.n_neighbors, weights))
        failures = models.failures
    _report(failures, joined.fresh)

    placed = np.setdiff1d(np.arange(new.size), list(failures))
    if placed.size == 0:
        return labels, strengths
    anchors = np.flatnonzero(np.isin(fit.order, fit.membership.anchors))
    if fit.models is not None and models is not None:
        models = fit.models.take(fit.order[anchors]).append(models.take(placed))
    both = np.concatenate([anchors, new[placed]])
    loss = make_loss(X[both], models, joined.positions.take(both))
    membership = fit.membership.reorder(fit.order[anchors])
    with progress.stage("placing", placed.size) as advance:
        for part in tiles(placed.size, max(1, _ENTRIES // max(anchors.size, 1))):
            losses = loss.between(anchors.size + np.arange(part.start, part.stop), np.arange(anchors.size))
            where = joined.fresh[placed[part]]
            labels[where], strengths[where] = membership.assign(losses)
            advance(where.size)
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
        warnings.warn(
            f"{len(failures)} of {rows.size} new observations have no model and are labelled noise; row {rows[first]}: "
            f"{reason}",
            UserWarning,
            stacklevel=5,
        )
