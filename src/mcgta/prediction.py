"""Placing new observations in the clusters of a fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mcgta.observations import Joined
from mcgta.parallel import tiles
from mcgta.positions import Positions
from mcgta.stages.dissimilarity import incomparable
from mcgta.stages.lags import stack_lags
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss import Loss
from mcgta.stages.membership import Membership
from mcgta.stages.neighborhoods import Neighborhoods, find_neighborhoods
from mcgta.types import Array, Index, Labels

_TILE = 256

FitModels = Callable[[Array, Neighborhoods], LocalModels]
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
) -> tuple[Labels, Array]:
    """Return the clusters and strengths of the rows given; those that the fit knows keep what they have."""
    count = joined.known.size
    labels, strengths = np.full(count, -1, dtype=np.int64), np.zeros(count)
    again = joined.known >= 0
    labels[again], strengths[again] = fit.labels[joined.known[again]], fit.strengths[joined.known[again]]
    if joined.fresh.size == 0:
        return labels, strengths

    X = stack_lags(joined.X, joined.positions, lags)
    new = fit.order.size + np.arange(joined.fresh.size)
    if fit.models is None:
        models, failures = None, incomparable(X[new], dissimilarity)
    else:
        models = fit_models(X, find_neighborhoods(joined.positions, fit.n_neighbors, weights=weights, of=new))
        failures = models.failures
    _report(failures, joined.fresh)

    placed = np.setdiff1d(np.arange(new.size), list(failures))
    anchors = np.flatnonzero(np.isin(fit.order, fit.membership.anchors))
    if fit.models is not None and models is not None:
        models = fit.models.take(fit.order[anchors]).append(models.take(placed))
    both = np.concatenate([anchors, new[placed]])
    loss = make_loss(X[both], models, joined.positions.take(both))
    membership = fit.membership.reorder(fit.order[anchors])
    for part in tiles(placed.size, _TILE):
        losses = loss.between(anchors.size + np.arange(part.start, part.stop), np.arange(anchors.size))
        where = joined.fresh[placed[part]]
        labels[where], strengths[where] = membership.assign(losses)
    return labels, strengths


def _report(failures: dict[int, str], rows: Index) -> None:
    if not failures:
        return
    first, reason = next(iter(failures.items()))
    if len(failures) == rows.size:
        raise ValueError(f"none of the {rows.size} new observations could be modelled, the first because {reason}")
    warnings.warn(
        f"{len(failures)} of {rows.size} new observations have no model and are labelled noise; row {rows[first]}: {reason}",
        UserWarning,
        stacklevel=5,
    )
