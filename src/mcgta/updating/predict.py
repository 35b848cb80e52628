"""New observations placed in the clusters of a fit, by the rule that made its labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.clustering.membership import Membership
from mcgta.fit import Fit
from mcgta.positions.surroundings import Surroundings
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.cluster_models import ClusterModels
from mcgta.selection.field import LISTED
from mcgta.updating.by_density import DensityReference, anchor_tree, place_by_density
from mcgta.updating.by_models import Placed, SeriesContext, place_by_models
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


def predict(fit: Fit, X: Array, positions: Any, groups: Any, *, strengths: bool) -> Prediction:
    """Place observations; those that the fit knows keep their labels. ``strengths`` of the latter are found where wanted."""
    new = read_new(fit.data.positions, X, positions, groups)
    count = X.shape[0]
    labels = np.full(count, -1, dtype=np.int64)
    firmness = np.zeros(count)
    rule = fit.labelling.rule
    if isinstance(rule, ClusterModels):
        joined, placed = _place_by_models(fit, rule, new)
        labels[joined.fresh] = placed.labels
        firmness[joined.fresh] = placed.probabilities[np.arange(placed.labels.size), placed.labels]
        features = joined.stacked(fit.data, fit.settings.lags)[joined.around.size :]
        warn_of_unlike(rule, fit.labelling.labels, features, placed.labels, joined.fresh)
    elif isinstance(rule, Membership):
        if fit.settings.kind.compares == "rows":
            raise ValueError(
                "dissimilarity is a table of the rows of the fit, so new rows cannot be compared with them"
            )
        reference = _refer(fit)
        joined = join_new(fit.data, new, reference.surroundings)
        if joined.fresh.size:
            reached = place_by_density(reference, joined, new.groups[joined.fresh])
            labels[joined.fresh] = reached.labels
            firmness[joined.fresh] = reached.strengths
            _warn_of_failures(reached.failures, joined.fresh)
            _warn_of_noise(fit, reached.labels)
    else:  # no feature varies, and there is one cluster at most
        joined = join_new(fit.data, new)
        labels[joined.fresh] = fit.labelling.labels.max(initial=-1)
        firmness[joined.fresh] = labels[joined.fresh] >= 0
    _repeat_known(fit, joined, labels, firmness, strengths=strengths)
    return Prediction(labels, firmness)


def predict_probabilities(fit: Fit, X: Array, positions: Any, groups: Any) -> Array:
    """Return (M, K) probabilities of the clusters, by their models, whatever made the labels."""
    new = read_new(fit.data.positions, X, positions, groups)
    size = fit.labelling.n_clusters
    models = fit.derived.cluster_models
    if size < 2 or models is None:
        return np.ones((X.shape[0], size)) / max(size, 1)
    joined, placed = _place_by_models(fit, models, new)
    probabilities = np.empty((X.shape[0], size))
    probabilities[joined.fresh] = placed.probabilities
    again = joined.known >= 0
    probabilities[again] = fit.derived.probabilities[fit.data.back[joined.known[again]]]
    return probabilities


def _place_by_models(fit: Fit, rule: ClusterModels, new: New) -> tuple[Joined, Placed]:
    """Join new observations to those of the fit that stand near them, and place them by cluster models."""
    positions = fit.data.positions
    reach = max(LISTED, fit.settings.lags)
    context: SeriesContext | Surroundings | None = None
    if positions.is_chain:
        context = SeriesContext(positions, reach)
    elif positions.kind is not None:
        context = fit.derived.surroundings(max(reach, rule.overlap) + 1, fit.settings.lags)
    joined = join_new(fit.data, new, context)
    labels = np.r_[fit.labelling.labels[joined.around], np.full(joined.fresh.size, _NEW)]
    if joined.fresh.size == 0:
        return joined, Placed(np.empty(0, dtype=np.int64), np.empty((0, len(rule))))
    X = joined.stacked(fit.data, fit.settings.lags)
    return joined, place_by_models(rule, X, joined.positions, labels)


def _refer(fit: Fit) -> DensityReference:
    """Return what new observations are placed by, prepared by the first call."""
    derived = fit.derived
    if derived.density_reference is None:
        rule = fit.labelling.rule
        assert isinstance(rule, Membership)
        tree = derived.tree
        # Radii need the densities of all, and so does a comparison with all; else those nearby will do.
        if np.isnan(rule.radii).any() or (tree is None and np.isnan(rule.core_distances).any()):
            rule = derived.membership
        surroundings = None
        anchored = None
        if tree is not None:
            anchored = anchor_tree(tree, derived.prepared.kept, rule, fit.min_samples)
            if fit.data.positions.kind is not None:
                lags = fit.settings.lags
                surroundings = derived.surroundings(max(fit.data.n_neighbors, lags + 1), lags)
        derived.density_reference = DensityReference(
            data=fit.data,
            settings=fit.settings,
            prior=fit.prior,
            semivariogram=fit.semivariogram,
            margin=fit.margin,
            models=fit.models,
            membership=rule,
            tree=anchored,
            surroundings=surroundings,
        )
    return derived.density_reference


def _repeat_known(fit: Fit, joined: Joined, labels: Labels, firmness: Array, *, strengths: bool) -> None:
    """Give observations of the fit what they have there, in place."""
    again = np.flatnonzero(joined.known >= 0)
    if again.size == 0:
        return
    rows = fit.data.back[joined.known[again]]
    labels[again] = fit.labelling.labels[rows]
    if strengths:
        firmness[again] = fit.derived.strengths[rows]


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
