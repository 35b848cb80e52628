"""New observations placed in the clusters of a fit, by the rule that made its labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.clustering.membership import Membership
from mcgta.fit import Fit
from mcgta.observations.missing import CompleteRows
from mcgta.positions.surroundings import Surroundings
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.cluster_models import ClusterModels
from mcgta.selection.families.family import FamilyModels
from mcgta.selection.scoring.neighbor_graph import LISTED_NEIGHBORS
from mcgta.updating.by_density import place_by_density
from mcgta.updating.by_models import Placed, SeriesContext, place_by_models
from mcgta.updating.completing import complete_new
from mcgta.updating.joining import Joined, New, join_new, read_new
from mcgta.updating.unlike import warn_of_unlike

_FEW = 5  # observations that are no reason to warn
_NEW = -2  # label of an observation that is to be placed


@dataclass(frozen=True, eq=False)
class Prediction:
    """Clusters of M observations.

    Attributes
    ----------
    labels : (M,) -1 for noise
    strengths : (M,) in [0, 1]: of membership by density, or the probability of the cluster
    """

    labels: Labels
    strengths: Array


def predict(fit: Fit, X: Array, positions: Any, groups: Any, *, with_strengths: bool) -> Prediction:
    """Place observations; those that the fit knows keep their labels, and, where these are wanted, their strengths."""
    given = complete_new(fit, X, positions, groups)
    count = given.X.shape[0]
    labels = np.full(count, -1, dtype=np.int64)
    strengths = np.zeros(count)
    if count:
        _place(fit, given, labels, strengths, with_strengths=with_strengths)
    return Prediction(given.spread_out(labels, -1), given.spread_out(strengths, 0.0))


def _place(fit: Fit, given: CompleteRows, labels: Labels, strengths: Array, *, with_strengths: bool) -> None:
    """Fill in the labels and strengths of observations, whose values are all known."""
    new = read_new(fit.data.positions, given.X, given.positions, given.groups)
    rule = fit.labelling.rule
    if isinstance(rule, (ClusterModels, FamilyModels)):
        joined, placed = _place_by_models(fit, rule, new)
        labels[joined.fresh] = placed.labels
        strengths[joined.fresh] = placed.probabilities[np.arange(placed.labels.size), placed.labels]
        if joined.fresh.size:
            features = joined.stacked(fit.data, fit.settings.n_lags)[joined.around.size :]
            if isinstance(rule, ClusterModels):
                warn_of_unlike(rule, fit.labelling.labels, features, placed.labels, given.numbers[joined.fresh])
    elif isinstance(rule, Membership):
        if fit.settings.dissimilarity_kind.compares == "rows":
            raise ValueError(
                "dissimilarity is a table of the rows of the fit, so new rows cannot be compared with them"
            )
        joined = join_new(fit.data, new, fit.derived.density_rule.surroundings)
        if joined.fresh.size:
            reached = place_by_density(fit, joined, new.groups[joined.fresh])
            labels[joined.fresh] = reached.labels
            strengths[joined.fresh] = reached.strengths
            _warn_of_failures(reached.failures, given.numbers[joined.fresh])
            _warn_of_noise(fit, reached.labels)
    else:  # no feature varies, and there is one cluster at most
        joined = join_new(fit.data, new)
        labels[joined.fresh] = fit.labelling.labels.max(initial=-1)
        strengths[joined.fresh] = labels[joined.fresh] >= 0
    _repeat_known(fit, joined, labels, strengths, with_strengths=with_strengths)


def predict_probabilities(fit: Fit, X: Array, positions: Any, groups: Any) -> Array:
    """Return (M, K) probabilities of the clusters, by their models, whatever made the labels; 0 for rows that are left out."""
    given = complete_new(fit, X, positions, groups)
    count = given.X.shape[0]
    size = fit.labelling.n_clusters
    probabilities = np.ones((count, size)) / max(size, 1)
    if count == 0:
        return given.spread_out(probabilities, 0.0)
    new = read_new(fit.data.positions, given.X, given.positions, given.groups)
    models = fit.derived.placing_models
    if size > 1 and models is not None:
        joined, placed = _place_by_models(fit, models, new)
        probabilities[joined.fresh] = placed.probabilities
        again = joined.known >= 0
        probabilities[again] = fit.derived.probabilities[fit.data.back[joined.known[again]]]
    return given.spread_out(probabilities, 0.0)


def _place_by_models(fit: Fit, rule: ClusterModels | FamilyModels, new: New) -> tuple[Joined, Placed]:
    """Join new observations to those of the fit that stand near them, and place them by cluster models."""
    positions = fit.data.positions
    reach = max(LISTED_NEIGHBORS, fit.settings.n_lags)
    overlap = 0
    if isinstance(rule, FamilyModels):
        reach = max(reach, rule.reach)
    else:
        overlap = rule.overlap
    context: SeriesContext | Surroundings | None = None
    if positions.is_chain:
        context = SeriesContext(positions, reach)
    elif positions.kind is not None:
        context = fit.derived.surroundings(max(reach, overlap) + 1, fit.settings.n_lags)
    joined = join_new(fit.data, new, context)
    labels = np.r_[fit.labelling.labels[joined.around], np.full(joined.fresh.size, _NEW)]
    if joined.fresh.size == 0:
        return joined, Placed(np.empty(0, dtype=np.int64), np.empty((0, len(rule))))
    X = joined.stacked(fit.data, fit.settings.n_lags)
    return joined, place_by_models(rule, X, joined.positions, labels)


def _repeat_known(fit: Fit, joined: Joined, labels: Labels, strengths: Array, *, with_strengths: bool) -> None:
    """Give observations of the fit what they have there, in place."""
    again = np.flatnonzero(joined.known >= 0)
    if again.size == 0:
        return
    rows = fit.data.back[joined.known[again]]
    labels[again] = fit.labelling.labels[rows]
    if with_strengths:
        strengths[again] = fit.derived.strengths[rows]


def _warn_of_failures(failures: dict[int, str], rows: Index) -> None:
    if failures:
        first, reason = next(iter(failures.items()))
        warn(
            f"{len(failures)} of {rows.size} new observations have no model and are labelled noise; row {rows[first]}: "
            f"{reason}"
        )


def _warn_of_noise(fit: Fit, labels: Labels) -> None:
    """Warn where the clusters of the fit leave most new observations out."""
    share = float(np.mean(labels < 0))
    usual = float(np.mean(fit.labelling.labels < 0))
    if share > max(0.5, 2 * usual) and np.sum(labels < 0) > _FEW:
        warn(
            f"{share:.0%} of {labels.size} new observations are noise, {usual:.0%} of those of the fit: they are unlike what "
            "the clusterer has seen; use append, or fit with refine='auto', whose clusters have models"
        )
