"""A fit: observations, the results of Algorithm 1, and one labelling with the rule that made it.

:func:`fit_observations` makes one in three steps: it chooses settings, runs Algorithm 1, and takes the labels of the search
where evidence prefers them. A :class:`Fit` never changes; what is computed from it when asked for is in its :class:`Derived`
parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mcgta.clustering.backend import Backend
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clustering import Clustering, densities
from mcgta.clustering.labels import number
from mcgta.clustering.linkage import SingleLinkage
from mcgta.clustering.membership import Membership
from mcgta.clustering.model_tree import serves
from mcgta.clustering.tree_search import TreeSearch
from mcgta.inference.significance import Significance
from mcgta.observations import Observations
from mcgta.pipeline import (
    Prepared,
    StageCache,
    choose_backend_for,
    cluster,
    dissimilarity_key,
    find_significance,
    listed_neighbors,
    models_key,
    open_search,
    prepare,
    read,
    search_neighbors,
    semivariogram_key,
)
from mcgta.positions.surroundings import Surroundings
from mcgta.runtime.config import get_config
from mcgta.runtime.progress import note, stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.alternatives import Alternative, list_alternatives
from mcgta.selection.auto import Selection, is_searchable, select
from mcgta.selection.choice import Choice, ChoiceWarning
from mcgta.selection.cluster_models import Background, ClusterModels, estimate_cluster_models
from mcgta.selection.noise import assign_noise
from mcgta.selection.probabilities import membership_probabilities
from mcgta.selection.search import LOOSE
from mcgta.settings import Settings
from mcgta.stages.dissimilarity.compare import sampling_error
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss import Objective
from mcgta.stages.prior import MixturePrior
from mcgta.stages.semivariogram.curve import Semivariogram

CLUSTERER = "clusterer"
EVIDENCE = "evidence"


@dataclass(frozen=True, eq=False)
class Labelling:
    """Labels, and the rule that made them.

    Attributes
    ----------
    labels : (N,) clusters in canonical order, -1 for noise
    source : "clusterer", or "evidence" where they are those of cluster models
    rule : by which new observations are placed: densities or cluster models; None where no feature varies
    eps : the radius of the clusterer, NaN where it has none
    ordering, reachability : (R,) of OPTICS, over the rows that can be compared; None for others
    """

    labels: Labels
    source: str
    rule: Membership | ClusterModels | None
    eps: float = np.nan
    ordering: Index | None = None
    reachability: Array | None = None

    @property
    def n_clusters(self) -> int:
        """K."""
        return int(self.labels.max(initial=-1)) + 1

    def renumbered(self, rank: Index) -> Labelling:
        """Return the same with other numbers for the clusters: ``rank`` (K,) is the new one of each."""
        labels = np.where(self.labels < 0, -1, rank[self.labels])
        return replace(self, labels=labels, rule=None if self.rule is None else self.rule.renumbered(rank))


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit is.

    Attributes
    ----------
    asked : settings as the user made them
    settings : the same with values for what was left open
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

    def to_user(self, values: Any) -> Any:
        """Bring values of observations from canonical into the user's order."""
        return values[self.data.back]

    @property
    def user_models(self) -> LocalModels | None:
        """Local models in the user's order of rows and units of features."""
        if self.models is None:
            return None
        models = self.models.take(self.data.back)
        return models if self.data.spreads is None else models.scaled(self.data.spreads)

    @property
    def labels(self) -> Labels:
        """(N,) clusters in the user's order."""
        return np.asarray(self.to_user(self.labelling.labels))

    @property
    def kept(self) -> Index:
        """Rows in canonical order that can be compared."""
        return np.flatnonzero(~np.isin(self.data.order, list(self.failed)))

    @property
    def min_samples(self) -> int:
        """Observations that make a row core."""
        given = self.settings.min_samples
        return self.data.n_neighbors if given == "auto" else int(given)

    def cache(self) -> StageCache:
        """Return the results of stages that another run on the same observations can use."""
        models = models_key(self.settings, self.data)
        return StageCache(
            priors={models: self.prior},
            models={models: self.models},
            semivariograms={semivariogram_key(self.settings, self.data): self.semivariogram},
        )


class Derived:
    """What follows from a fit, each part computed when first asked for, and kept; none of it is saved."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._cache = fit.cache()
        self._surroundings: dict[tuple[int, int], Surroundings] = {}
        self.density_reference: Any = None

    def remember(self, prepared: Prepared, cache: StageCache) -> None:
        """Keep what the fit has computed already."""
        self._cache = cache
        self.__dict__["prepared"] = prepared

    def adopt(self, other: Derived) -> None:
        """Take over what was computed for another fit of the same observations, settings and labels."""
        self.__dict__.update({**vars(other), "_fit": self._fit})

    @property
    def cache(self) -> StageCache:
        """Results of stages."""
        return self._cache

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
        prepared = prepare(
            fit.data, settings, self._cache, backend=Backend("tiled", "nothing is clustered"), quiet=True
        )
        return replace(prepared, settings=fit.settings)

    @cached_property
    def search(self) -> BruteForceSearch | TreeSearch:
        """The neighbour search of the fit."""
        backend = self._fit.backend
        if backend.name == "table":  # the table of losses was not kept, and there may be less memory than before
            backend = choose_backend_for(self._fit.data.raw.shape, self._fit.settings)
        return open_search(self.prepared, backend, self._cache)

    @cached_property
    def tree(self) -> TreeSearch | None:
        """A tree over the models; None where neighbours are few, or a tree cannot serve."""
        backend = self._fit.backend
        few = len(self.prepared.loss) <= get_config().table_rows
        if backend.name != "table":
            search = self.search
        elif few or not serves(self.prepared.loss):  # nor is the table of losses needed, which was not kept
            return None
        else:
            search = open_search(self.prepared, replace(backend, name="tree"), self._cache)
        return search if isinstance(search, TreeSearch) else None

    @cached_property
    def linkage(self) -> SingleLinkage | None:
        """DBSCAN at every radius; None where there are too few observations for any to be core."""
        if self._fit.min_samples > len(self.prepared.loss):
            return None
        return SingleLinkage.of(self.search, self._fit.min_samples)

    @cached_property
    def significance(self) -> Significance:
        """What differs by more than chance."""
        prepared = self.prepared
        if prepared.significance is not None:
            return prepared.significance
        key = dissimilarity_key(self._fit.settings, self._fit.data)
        if key not in self._cache.significances:
            assert prepared.models is not None
            self._cache.significances[key] = find_significance(
                prepared.data, prepared.models, prepared.kept, self._fit.settings
            )
        return self._cache.significances[key]

    @cached_property
    def clustering(self) -> Clustering:
        """The labelling as a clustering of the rows that can be compared, densities of its cores found."""
        fit = self._fit
        labels = fit.labelling.labels[self.prepared.kept]
        rule = fit.labelling.rule
        if not isinstance(rule, Membership):
            return densities(self.search, Clustering.of_members(labels, fit.labelling.eps), fit.min_samples)
        anchors = np.searchsorted(self.prepared.kept, rule.anchors)
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
        return replace(membership, anchors=self.prepared.kept[membership.anchors])

    @cached_property
    def strengths(self) -> Array:
        """(N,) in canonical order: strength of membership by density, or the probability of the own cluster."""
        labelling = self._fit.labelling
        strengths = np.zeros(labelling.labels.size)
        if isinstance(labelling.rule, Membership):
            found = self.clustering
            reach = self.search.cluster_reachability(found.labels, found.core, found.core_distances)
            strengths[self.prepared.kept] = self.membership.strengths_at(reach, found.labels)
            return strengths
        inside = np.flatnonzero(labelling.labels >= 0)
        strengths[inside] = self.probabilities[inside, labelling.labels[inside]]
        return strengths

    @cached_property
    def cluster_models(self) -> ClusterModels | None:
        """Models of the clusters, whatever made the labels."""
        fit = self._fit
        if isinstance(fit.labelling.rule, ClusterModels):
            return fit.labelling.rule
        if fit.labelling.n_clusters == 0:
            return None
        return describe_clusters(fit.data, fit.labelling.labels, background_of(fit.choice))

    @cached_property
    def probabilities(self) -> Array:
        """(N, K) in canonical order."""
        fit = self._fit
        models = self.cluster_models if fit.labelling.n_clusters > 1 else None
        return membership_probabilities(
            fit.data.X, fit.data.positions, fit.labelling.labels, models, seed=fit.data.seed
        )

    @cached_property
    def objective(self) -> Objective:
        """The paper's total loss of the labelling."""
        return self.prepared.loss.objective(self._fit.labelling.labels[self.prepared.kept])

    @cached_property
    def dissimilarity_error(self) -> float:
        """Sampling error of dissimilarities."""
        return sampling_error(self._fit.models, self._fit.settings.kind, random_state=self._fit.data.seed)


def fit_observations(X: Array, names: Any, positions: Any, groups: Any, asked: Settings) -> Fit:
    """Fit observations: choose settings, run Algorithm 1, refine labels where evidence prefers that."""
    plain = asked.plain()
    backend = choose_backend_for(X.shape, plain, neighbors=listed_neighbors(positions, plain))
    data = read(X, names, positions, groups, plain)
    cache = StageCache()

    settings = plain
    selection = None
    if is_searchable(asked, data):  # 1. choose settings
        selection = select(asked, data, cache)
        settings = selection.settings
        _tell(selection.choice)
        data = data.with_neighbors(int(settings.n_neighbors))
        backend = choose_backend_for(X.shape, settings, neighbors=listed_neighbors(positions, settings))

    prepared = prepare(data, settings, cache, backend=backend)  # 2. run Algorithm 1

    if selection is not None and selection.choice.refined:  # 3. refine labels where evidence prefers that
        labelling = label_by_evidence(prepared, selection)
    else:
        labelling, backend = label_by_clusterer(prepared, backend, cache)
    return assemble(asked, prepared, labelling, backend, names, selection, cache)


def assemble(
    asked: Settings,
    prepared: Prepared,
    labelling: Labelling,
    backend: Backend,
    names: Any,
    selection: Selection | None,
    cache: StageCache,
) -> Fit:
    """Put a fit together of what was computed."""
    fit = Fit(
        asked=asked,
        settings=prepared.settings,
        data=prepared.data,
        names=names,
        models=prepared.models,
        prior=prepared.prior,
        failed=prepared.failed,
        semivariogram=prepared.loss.semivariogram,
        margin=prepared.loss.margin,
        labelling=labelling,
        backend=backend,
        choice=None if selection is None else selection.choice,
        alternatives=() if selection is None else list_alternatives(prepared.data, selection),
    )
    fit.derived.remember(prepared, cache)
    return fit


def label_by_clusterer(
    prepared: Prepared, backend: Backend, cache: StageCache, known_core: Labels | None = None
) -> tuple[Labelling, Backend]:
    """Run the clusterer; return the labelling by density, and how neighbours were searched for."""
    note(str(backend))
    pairs = len(prepared.loss) * (len(prepared.loss) - 1) // 2
    search, backend = search_neighbors(prepared, backend, cache)
    if backend.name == "table":
        with stage("clustering"):
            clustering = place_noise(cluster(prepared, search), prepared)
            clustering = densities(search, clustering, prepared.min_samples)
        comparisons = pairs
    else:
        clustering = cluster(prepared, search, known_core=known_core)
        comparisons = clustering.comparisons
        clustering = place_noise(clustering, prepared)
    backend = replace(backend, pairs=pairs, exact_pairs=comparisons)
    if backend.name != "table":
        note(backend.tell_pairs())
    membership = Membership.of(clustering)
    membership = replace(membership, anchors=prepared.kept[membership.anchors])
    labels = prepared.spread_out(clustering.labels)
    labelling = Labelling(labels, CLUSTERER, membership, clustering.eps, clustering.ordering, clustering.reachability)
    return labelling, backend


def label_by_evidence(prepared: Prepared, selection: Selection) -> Labelling:
    """Take the labels of the search, and describe their clusters; observations without a model are noise."""
    labels = prepared.spread_out(number(selection.compared.result.labels[prepared.kept]))
    background = background_of(selection.choice, selection.compared.result.overlap)
    with stage("cluster models"):
        rule = describe_clusters(prepared.data, labels, background)
    eps = prepared.eps if prepared.settings.algorithm.takes_options else None
    return Labelling(labels, EVIDENCE, rule, np.nan if eps is None else eps)


def describe_clusters(data: Observations, labels: Labels, background: Background) -> ClusterModels | None:
    """Estimate models of the clusters of labelled observations."""
    return estimate_cluster_models(data.X, data.positions, labels, seed=data.seed, background=background)


def background_of(choice: Choice | None, overlap: int = 0) -> Background:
    """Return what a choice knows beside the labels."""
    if choice is None:
        return Background()
    return Background(choice.overdispersion, choice.join_count_ratio > LOOSE, overlap)


def place_noise(clustering: Clustering, prepared: Prepared) -> Clustering:
    """Give noise to clusters, where that is wanted and there are both."""
    labels = clustering.labels
    if prepared.settings.refine != "noise" or (labels >= 0).all() or (labels < 0).all():
        return clustering
    with stage("noise"):
        labels = number(assign_noise(prepared.data.X[prepared.kept], prepared.loss.positions, labels))
    members = Clustering.of_members(labels, clustering.eps)
    return replace(members, ordering=clustering.ordering, reachability=clustering.reachability)


def _tell(choice: Choice) -> None:
    for remark in choice.notes:
        note(remark)
    if choice.doubts:
        warn(f"{'; '.join(choice.doubts)} (see choice_)", ChoiceWarning)
