"""What a fitted estimator can be asked for: attributes that are read off its fit, computed where they are not kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mcgta.clustering.condensed_tree import CondensedTree
from mcgta.clustering.membership import Membership
from mcgta.fit import Fit
from mcgta.runtime.methods import with_threads_and_progress
from mcgta.runtime.types import Array, Index
from mcgta.selection.families.family import FamilyModels


def _read_off(text: str, read: Callable[[Fit], Any]) -> Any:
    """Return an attribute that is read off the fit."""

    @with_threads_and_progress
    def get(self: FittedAttributes) -> Any:
        check_is_fitted(self)
        return read(self._fit)

    return property(get, doc=text)


class FittedAttributes:
    """Attributes of an estimator that has a fit; before :meth:`mcgta.MCGTA.fit` they raise scikit-learn's NotFittedError."""

    _fit: Fit

    fitted_ = _read_off("The whole Fit: observations, results of Algorithm 1, labelling and its rule.", lambda fit: fit)
    labels_ = _read_off(
        "(N,) cluster of each row, -1 for noise and rows that were left out; numbered by first member in order of group, "
        "position and features.",
        lambda fit: fit.labels,
    )
    labels_source_ = _read_off(
        'Where labels come from: "clusterer" (Algorithm 1), or "evidence" (cluster models that the search preferred).',
        lambda fit: fit.labelling.source,
    )
    probabilities_ = _read_off(
        "(N,) strength of membership in [0, 1]: by density, or the probability of the own cluster; 0 for noise.",
        lambda fit: fit.to_user(fit.derived.strengths, 0.0),
    )
    membership_probabilities_ = _read_off(
        "(N, K) how probable each cluster is for each observation, noise too, by the clusters' models; rows sum to one, or "
        "are 0 where they were left out.",
        lambda fit: fit.to_user(fit.derived.probabilities, 0.0),
    )
    n_clusters_ = _read_off("Number of clusters.", lambda fit: fit.labelling.n_clusters)
    noise_share_ = _read_off(
        "Share of rows labelled -1: noise, and rows that were left out.", lambda fit: float(np.mean(fit.labels < 0))
    )
    failed_ = _read_off(
        "dict of row -> reason, for rows without a model, which are labelled noise: it could not be fitted, or a value is "
        "missing.",
        lambda fit: fit.user_failed,
    )
    missing_ = _read_off(
        "What was missing, and left out or imputed; None where nothing was. ``print(model.missing_)``.",
        lambda fit: fit.missing,
    )
    reduction_ = _read_off(
        "The Reduction of features to components: directions, loadings and explained share; None where nothing was reduced. "
        "``print(model.reduction_)``.",
        lambda fit: fit.data.reduction,
    )
    choice_ = _read_off(
        'What was chosen without labels, and why; None without a search, such as with ``eps``, or with ``refine`` "none" or '
        '"noise" beyond 50,000 observations, and after ``append`` to labels of the clusterer. ``print(model.choice_)``.',
        lambda fit: fit.choice,
    )
    family_ = _read_off(
        'What clusters differ in: "level", "dynamics", "trajectory" or "composition"; see the parameter ``family``.',
        lambda fit: fit.family,
    )
    alternatives_ = _read_off(
        "The best labelling of each number of clusters that the search looked at, fewest first; see :meth:`labels_for`.",
        lambda fit: fit.user_alternatives,
    )
    changed_share_ = _read_off(
        "Share of the observations whose cluster the last :meth:`append` has changed; NaN before one.",
        lambda fit: fit.changed_share,
    )
    cluster_models_ = _read_off(
        "Gaussian models of the clusters: centres, covariances, dependence and tails; None without clusters.",
        lambda fit: fit.derived.cluster_models,
    )
    family_models_ = _read_off(
        "Models of clusters that differ in another way than in level and covariance; None for others.",
        lambda fit: fit.labelling.rule if isinstance(fit.labelling.rule, FamilyModels) else None,
    )
    kinds_ = _read_off(
        "(N,) kind of each row, where clusters are regions that differ in their shares of kinds, -1 for rows that were left "
        'out; None unless ``family_`` is "composition".',
        lambda fit: None if fit.derived.kinds is None else fit.to_user(fit.derived.kinds),
    )
    local_models_ = _read_off(
        "LocalModels of the observations, in the units of X, or of components where there is a ``reduction_``; None for a "
        "dissimilarity of features.",
        lambda fit: fit.user_models,
    )
    semivariogram_ = _read_off("The fitted Semivariogram, with range, sill and nugget.", lambda fit: fit.semivariogram)
    positions_ = _read_off("Positions of the rows; NaN where they are missing.", lambda fit: fit.user_positions)
    prior_ = _read_off(
        "The global mixture, in the units of ``local_models_``; None without a prior.", lambda fit: fit.user_prior
    )
    objective_ = _read_off(
        "The paper's total loss of the labelling and its two parts, over all pairs within clusters, each of which is compared.",
        lambda fit: fit.derived.objective,
    )
    backend_ = _read_off(
        "How neighbours were searched for, why, and how many pairs were compared.", lambda fit: fit.backend
    )
    n_neighbors_ = _read_off("Size of the neighbourhoods.", lambda fit: fit.data.n_neighbors)
    min_samples_ = _read_off("Observations that make an observation core.", lambda fit: fit.min_samples)
    eps_ = _read_off("The radius; NaN where the clusterer has none.", lambda fit: fit.labelling.eps)
    beta_ = _read_off("Weight of the penalty.", lambda fit: float(fit.settings.beta))
    margin_ = _read_off("The margin.", lambda fit: fit.margin)
    dissimilarity_ = _read_off("How pairs were compared.", lambda fit: fit.settings.dissimilarity)
    dissimilarity_error_ = _read_off(
        'Typical sampling error of "js" and "tv"; 0 for others, which are exact.',
        lambda fit: fit.derived.dissimilarity_error,
    )
    n_features_in_ = _read_off("Number of features.", lambda fit: int(fit.data.raw.shape[1]))

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features, where X had text for all of them."""
        check_is_fitted(self)
        return _where_there(self._fit.names, "feature_names_in_", "X had no names for its features")

    @property
    def core_sample_indices_(self) -> Index:
        """Rows of DBSCAN's core observations, or of all clustered ones for other clusterers; of labels by the clusterer."""
        check_is_fitted(self)
        rule = self._fit.labelling.rule
        anchors = rule.anchors if isinstance(rule, Membership) else None
        rows = _where_there(
            anchors, "core_sample_indices_", "labels were chosen by evidence, and have no core observations"
        )
        return np.sort(self._fit.data.user_rows[rows])

    @property
    def ordering_(self) -> Index:
        """(N,) rows in the order in which OPTICS visits them, those without a model last."""
        check_is_fitted(self)
        fit = self._fit
        ordering = _where_there(fit.labelling.ordering, "ordering_", "there is one with clusterer='optics' only")
        rows = fit.data.user_rows[fit.comparable]
        return np.concatenate([rows[ordering], np.array(sorted(fit.user_failed), dtype=rows.dtype)])

    @property
    def reachability_(self) -> Array:
        """(N,) reachability of each row, as scikit-learn's OPTICS has it; infinite for rows without a model."""
        check_is_fitted(self)
        fit = self._fit
        reached = _where_there(fit.labelling.reachability, "reachability_", "there is one with clusterer='optics' only")
        reachability = np.full(fit.n_rows, np.inf)
        reachability[fit.data.user_rows[fit.comparable]] = reached
        return reachability

    @property
    @with_threads_and_progress
    def single_linkage_tree_(self) -> Array:
        """Merges of core observations with growing radius, as SciPy writes a linkage, over the rows with a model."""
        check_is_fitted(self)
        linkage = self._fit.derived.linkage
        return np.empty((0, 4)) if linkage is None else linkage.linkage.copy()

    @property
    @with_threads_and_progress
    def condensed_tree_(self) -> CondensedTree:
        """The condensed tree of HDBSCAN over the rows with a model, whatever the clusterer is."""
        check_is_fitted(self)
        tree: CondensedTree = _where_there(
            self._fit.derived.condensed_tree, "condensed_tree_", "fewer observations have a model than min_samples"
        )
        return tree


def _where_there(value: Any, name: str, why_not: str) -> Any:
    if value is None:
        raise AttributeError(f"{name} is not available: {why_not}")
    return value
