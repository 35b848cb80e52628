"""A fit: observations, the results of Algorithm 1, and one labelling with the rule that made it.

A :class:`Fit` never changes; what is computed from it when asked for is in its :class:`Derived` parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mcgta.clustering.backend import Backend
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clustering import Clustering, densities
from mcgta.clustering.condensed_tree import CondensedTree, condensed_tree
from mcgta.clustering.linkage import SingleLinkage
from mcgta.clustering.membership import Membership
from mcgta.clustering.model_tree import serves
from mcgta.clustering.tree_anchors import TreeAnchors
from mcgta.clustering.tree_search import TreeSearch
from mcgta.inference.significance import Significance
from mcgta.labelling import Labelling, describe_clusters
from mcgta.observations.missing import Missing
from mcgta.observations.observations import Observations
from mcgta.observations.provenance import Provenance
from mcgta.pipeline import (
    Prepared,
    StageCache,
    choose_backend_for,
    count_min_samples,
    find_significance,
    open_search,
    prepare,
    stage_key,
)
from mcgta.positions.positions import Positions
from mcgta.positions.surroundings import Surroundings
from mcgta.runtime.cached import cached_property
from mcgta.runtime.config import get_config
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.alternatives import Alternative
from mcgta.selection.choice import Choice
from mcgta.selection.cluster_models import ClusterModels
from mcgta.selection.families.family import FamilyModels
from mcgta.selection.families.registry import LEVEL
from mcgta.selection.probabilities import membership_probabilities
from mcgta.settings import Settings
from mcgta.stages.dissimilarity.compare import sampling_error
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss import Objective
from mcgta.stages.prior import MixturePrior
from mcgta.stages.semivariogram.curve import Semivariogram


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit is.

    Attributes
    ----------
    asked : settings as the user made them
    settings : the same with values that were chosen for what was left open, or plain ones
    data : the observations, in canonical order
    names : of the features, where they have some
    models, prior : in canonical order; None where there are none
    failed : why observations have no model, by the user's rows
    semivariogram, margin : of the loss
    labelling : the labels and their rule
    backend : how neighbours were searched for
    choice : what was chosen without labels; None without a search
    alternatives : the best labelling of each number of clusters that was looked at, in canonical order
    changed_share : share of the observations of an earlier fit that changed cluster when others were added; NaN without
    given_models : whether the local models were passed in, so that there is no telling how to fit others like them
    missing : rows of the user that are no observations, and features that were imputed; None where nothing was missing
    provenance : the file that the observations were read from; None where that is not known
    """

    asked: Settings
    settings: Settings
    data: Observations
    names: Any
    models: LocalModels | None
    prior: MixturePrior | None
    failed: dict[int, str]
    semivariogram: Semivariogram
    margin: float
    labelling: Labelling
    backend: Backend
    choice: Choice | None = None
    alternatives: tuple[Alternative, ...] = ()
    changed_share: float = np.nan
    given_models: bool = False
    missing: Missing | None = None
    provenance: Provenance | None = None

    @cached_property
    def derived(self) -> Derived:
        """What is computed when asked for, and kept."""
        return Derived(self)

    def having(self, **values: Any) -> Fit:
        """Return the same fit with other values of fields that nothing derived depends on, and with what is derived already."""
        other = replace(self, **values)
        other.derived.adopt(self.derived)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Leave what can be computed again out of pickles and copies."""
        return {name: value for name, value in vars(self).items() if name != "derived"}

    @property
    def n_rows(self) -> int:
        """Rows that the user gave, those left out included."""
        return len(self.data.positions) if self.missing is None else self.missing.n_rows

    def to_user(self, values: Any, absent: Any = None) -> Any:
        """Bring values of observations from canonical order into that of the user's rows.

        Rows that were left out get ``absent``: by default -1 for integers, NaN for other numbers, and False.
        """
        own = values[self.data.back]
        return own if self.missing is None else self.missing.spread_out(own, absent)

    @property
    def user_models(self) -> LocalModels | None:
        """Local models in the user's order of rows and units of features, or of components where these were reduced.

        Rows that were left out have failed.
        """
        if self.models is None:
            return None
        models = self.models.take(self.data.back)
        if self.data.model_spreads is not None:
            models = models.scaled(self.data.model_spreads)
        if self.missing is None or self.missing.rows.size == 0:
            return models
        rows = self.missing.kept.tolist()
        return replace(
            models,
            means=self.missing.spread_out(models.means),
            covariances=self.missing.spread_out(models.covariances),
            failures={**{rows[k]: reason for k, reason in models.failures.items()}, **self.missing.reasons},
            sizes=None if models.sizes is None else self.missing.spread_out(models.sizes, self.data.n_neighbors),
            shares=None if models.shares is None else self.missing.spread_out(models.shares),
        )

    @property
    def user_positions(self) -> Positions:
        """Positions in the user's order of rows; of rows that were left out as far as they are known, else NaN."""
        places = self.data.positions.take(self.data.back)
        return places if self.missing is None else self.missing.spread_positions(places)

    @property
    def user_failed(self) -> dict[int, str]:
        """Why rows of the user have no model: those that were left out, too."""
        return self.failed if self.missing is None else dict(sorted({**self.failed, **self.missing.reasons}.items()))

    @property
    def observed(self) -> Array:
        """(N, d) features of the observations in canonical order, NaN where they were imputed."""
        features = self.data.raw.copy()
        if self.missing is not None:
            rows, columns = self.missing.cells.T
            features[np.searchsorted(self.missing.kept, rows), columns] = np.nan
        return features[self.data.order]

    @property
    def user_prior(self) -> MixturePrior | None:
        """The global mixture in the units of :attr:`user_models`."""
        if self.prior is None or self.data.model_spreads is None:
            return self.prior
        return self.prior.scaled(self.data.model_spreads)

    @property
    def user_alternatives(self) -> tuple[Alternative, ...]:
        """The alternatives with labels in the user's order."""
        return tuple(
            replace(each, labels=None if each.labels is None else self.to_user(each.labels))
            for each in self.alternatives
        )

    @property
    def family(self) -> str:
        """What clusters differ in; level and covariance where nothing was chosen."""
        return LEVEL if self.choice is None else self.choice.family

    @property
    def labels(self) -> Labels:
        """(N,) clusters in the user's order."""
        return np.asarray(self.to_user(self.labelling.labels))

    @property
    def comparable(self) -> Index:
        """Rows in canonical order that can be compared."""
        return np.flatnonzero(~np.isin(self.data.user_rows, list(self.failed)))

    @property
    def min_samples(self) -> int:
        """Observations that make a row core."""
        return count_min_samples(self.settings, self.data)


class DensityRule(NamedTuple):
    """How labels of the clusterer place new observations.

    Attributes
    ----------
    membership : anchors of the clusters, by rows in canonical order, ascending
    tree : through which anchors are found; None where new observations are compared with all of them
    surroundings : finds the observations of the fit that new ones are modelled on; None where all are looked through
    """

    membership: Membership
    tree: TreeAnchors | None
    surroundings: Surroundings | None


class Derived:
    """What follows from a fit, each part computed when first asked for, and kept; none of it is saved."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._surroundings: dict[tuple[int, int], Surroundings] = {}

    def remember(self, prepared: Prepared, cache: StageCache) -> None:
        """Keep what the fit has computed already."""
        self.__dict__.update(prepared=prepared, cache=cache)

    def adopt(self, other: Derived) -> None:
        """Take over what was computed for another fit of the same observations, settings and labels."""
        self.__dict__.update({**vars(other), "_fit": self._fit})

    @cached_property
    def cache(self) -> StageCache:
        """Results of stages that another run on the same observations can use."""
        fit = self._fit
        cache = StageCache()
        key = stage_key("models", fit.settings, fit.data)
        cache.put("prior", key, fit.prior)
        cache.put("models", key, fit.models)
        cache.put("semivariogram", stage_key("semivariogram", fit.settings, fit.data), fit.semivariogram)
        return cache

    def surroundings(self, count: int, before: int) -> Surroundings:
        """Return what finds observations of the fit around new ones: ``count`` neighbours, ``before`` predecessors."""
        if (count, before) not in self._surroundings:
            self._surroundings[count, before] = Surroundings(self._fit.data.positions, count, before)
        return self._surroundings[count, before]

    @cached_property
    def prepared(self) -> Prepared:
        """Algorithm 1 up to the clustering; only what was not kept is computed."""
        fit = self._fit
        settings = fit.settings.having(margin=fit.margin, semivariogram=fit.semivariogram)
        prepared = prepare(fit.data, settings, self.cache, backend=Backend("tiled", "nothing is clustered"), quiet=True)
        return replace(prepared, settings=fit.settings)

    @cached_property
    def search(self) -> BruteForceSearch | TreeSearch:
        """The neighbour search of the fit."""
        backend = self._fit.backend
        if backend.holds_table:  # the table of losses was not kept, and there may be less memory than before
            backend = choose_backend_for(self._fit.data.raw.shape, self._fit.settings)
        return open_search(self.prepared, backend, self.cache)

    @cached_property
    def tree(self) -> TreeSearch | None:
        """A tree over the models; None up to ``table_rows`` observations, or where a tree cannot serve."""
        backend = self._fit.backend
        few = len(self.prepared.loss) <= get_config().table_rows
        if not backend.holds_table:
            search = self.search
        elif few or not serves(self.prepared.loss):  # nor is the table of losses needed, which was not kept
            return None
        else:
            search = open_search(self.prepared, replace(backend, name="tree"), self.cache)
        return search if isinstance(search, TreeSearch) else None

    @cached_property
    def linkage(self) -> SingleLinkage | None:
        """DBSCAN at every radius; None where there are too few observations for any to be core."""
        if self._fit.min_samples > len(self.prepared.loss):
            return None
        return SingleLinkage.of(self.search, self._fit.min_samples)

    @cached_property
    def condensed_tree(self) -> CondensedTree | None:
        """The condensed tree of HDBSCAN; None where there are too few observations for any to be core."""
        if self.linkage is None:
            return None
        options = self.prepared.options
        return condensed_tree(self.linkage.linkage, max(2, options.min_cluster_size or options.min_samples))

    @cached_property
    def significance(self) -> Significance:
        """What differs by more than chance."""
        prepared = self.prepared
        if prepared.significance is not None:
            return prepared.significance
        fit = self._fit
        return self.cache.get(
            "significance",
            stage_key("dissimilarity", fit.settings, fit.data),
            lambda: find_significance(fit.data, prepared.models, prepared.comparable, fit.settings),
        )

    @cached_property
    def clustering(self) -> Clustering:
        """The labelling as a clustering of the rows that can be compared, densities of its cores found."""
        fit = self._fit
        labels = fit.labelling.labels[self.prepared.comparable]
        rule = fit.labelling.rule
        if not isinstance(rule, Membership):
            return densities(self.search, Clustering.of_members(labels, fit.labelling.eps), fit.min_samples)
        anchors = np.searchsorted(self.prepared.comparable, rule.anchors)
        core = np.zeros(labels.size, dtype=bool)
        core[anchors] = True
        core_distances = np.full(labels.size, np.inf)
        core_distances[anchors] = rule.core_distances
        clustering = Clustering(labels, core, core_distances, rule.radii, fit.labelling.eps)
        if np.isnan(rule.core_distances).any() or np.isnan(rule.radii).any():
            clustering = densities(self.search, clustering, fit.min_samples)
        return clustering

    @cached_property
    def membership(self) -> Membership:
        """Anchors of clusters in canonical order, with the densities of all."""
        membership = Membership.of(self.clustering)
        return replace(membership, anchors=self.prepared.comparable[membership.anchors])

    @cached_property
    def density_rule(self) -> DensityRule:
        """By which labels of the clusterer place new observations."""
        fit = self._fit
        rule = fit.labelling.rule
        assert isinstance(rule, Membership)
        tree = self.tree
        # Radii need the densities of all, and so does a comparison with all; else those nearby will do.
        if np.isnan(rule.radii).any() or (tree is None and np.isnan(rule.core_distances).any()):
            rule = self.membership
        surroundings = None
        if tree is not None and fit.data.positions.kind is not None:
            lags = fit.settings.lags
            surroundings = self.surroundings(max(fit.data.n_neighbors, lags + 1), lags)
        return DensityRule(rule, self.anchor_tree(rule), surroundings)

    def anchor_tree(self, rule: Membership) -> TreeAnchors | None:
        """Make the tree ready for searches of anchors; None without a tree, or without anchors."""
        tree = self.tree
        rows = np.searchsorted(self.prepared.comparable, rule.anchors)
        if tree is None or rows.size == 0:
            return None
        largest = float(rule.radii.max())
        samples = self._fit.min_samples
        return TreeAnchors.of(tree, rows, rule.core_distances, largest_radius=largest, min_samples=samples)

    @cached_property
    def strengths(self) -> Array:
        """(N,) in canonical order: strength of membership by density, or the probability of the own cluster."""
        labelling = self._fit.labelling
        strengths = np.zeros(labelling.labels.size)
        if isinstance(labelling.rule, Membership):
            clustering = self.clustering
            reach = self.search.cluster_reachability(clustering.labels, clustering.core, clustering.core_distances)
            strengths[self.prepared.comparable] = self.membership.strengths_at(reach, clustering.labels)
            return strengths
        inside = np.flatnonzero(labelling.labels >= 0)
        strengths[inside] = self.probabilities[inside, labelling.labels[inside]]
        return strengths

    @cached_property
    def cluster_models(self) -> ClusterModels | None:
        """Gaussian models of the clusters, whatever made the labels."""
        fit = self._fit
        if isinstance(fit.labelling.rule, ClusterModels):
            return fit.labelling.rule
        if fit.labelling.n_clusters == 0:
            return None
        return describe_clusters(fit.data, fit.labelling.labels, fit.choice)

    @property
    def placing_models(self) -> ClusterModels | FamilyModels | None:
        """Models of the clusters that observations have probabilities by: those of the rule, or Gaussians."""
        rule = self._fit.labelling.rule
        return rule if isinstance(rule, FamilyModels) else self.cluster_models

    @cached_property
    def probabilities(self) -> Array:
        """(N, K) in canonical order."""
        fit = self._fit
        models = self.placing_models if fit.labelling.n_clusters > 1 else None
        return membership_probabilities(fit.data.X, fit.data.positions, fit.labelling.labels, models)

    @cached_property
    def kinds(self) -> Labels | None:
        """(N,) kinds in canonical order, where clusters are regions that differ in their shares of these; None for others."""
        rule = self._fit.labelling.rule
        if not isinstance(rule, FamilyModels):
            return None
        return rule.kinds(self._fit.data.X, self._fit.labelling.labels)

    @cached_property
    def objective(self) -> Objective:
        """The paper's total loss of the labelling."""
        return self.prepared.loss.objective(self._fit.labelling.labels[self.prepared.comparable])

    @cached_property
    def dissimilarity_error(self) -> float:
        """Sampling error of dissimilarities."""
        return sampling_error(self._fit.models, self._fit.settings.dissimilarity_kind, random_state=self._fit.data.seed)
