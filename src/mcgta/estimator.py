"""The estimator: Algorithm 1 of the paper as a scikit-learn clusterer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mcgta.clustering.backend import SMALL, Backend
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clustering import Clustering, NeighborSearch, densities, settle
from mcgta.clustering.linkage import SingleLinkage
from mcgta.clustering.membership import Membership
from mcgta.clustering.tree_search import TreeSearch, serves
from mcgta.fit import FITTED, check_fitted
from mcgta.inference.pair_test import GoodnessOfFit, PairTest, calibrated_test, labelling_test, pair_test
from mcgta.inference.significance import Significance
from mcgta.observations import align_positions, read_features, read_new, sort_observations
from mcgta.pipeline import Algorithm, Stages
from mcgta.positions.metrics import Metric
from mcgta.runtime.archive import Archived
from mcgta.runtime.parallel import threads
from mcgta.runtime.progress import note, reporting, stage
from mcgta.runtime.rules import read_level
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.auto import choose, left_open, refine_labels, settle_plainly
from mcgta.selection.choice import ChoiceWarning
from mcgta.selection.probabilities import membership_probabilities
from mcgta.selection.search import LOOSE
from mcgta.settings import RULES, check_testable
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity, sampling_error
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss import Objective
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.empirical import ERROR
from mcgta.updating.append import Before, append_stages
from mcgta.updating.predict import Reference, place_new

_AFTER_SEMIVARIOGRAM = (
    "beta", "margin", "hinge", "within_range", "clusterer", "eps", "min_samples", "min_cluster_size", "refine", "noise",
    "n_jobs", "max_memory", "progress",
)  # fmt: skip


_AGAIN = (
    "_dissimilarity",
    "_tree",
    "_every",
    "_reference",
    "_significance",
    "_probabilities",
)  # what can be computed again from the rest, and is not saved


Result = TypeVar("Result")


def warn_of_positions_as_target(y: Any) -> None:
    """Point out what looks like positions in the place of the ignored target."""
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    if y is not None and ((np.ndim(y) == 2 and np.shape(y)[1] > 1) or kind in ("M", "m") or hasattr(y, "geom_type")):
        warn("y is ignored, and looks like positions; did you mean fit(X, positions=...)?", UserWarning)


def _at_work(method: Callable[..., Result]) -> Callable[..., Result]:
    """Let a method work on the threads, and report to what, its estimator says."""

    @wraps(method)
    def work(self: MCGTA, *args: Any, **options: Any) -> Result:
        with threads(self.n_jobs), reporting(self.progress):
            return method(self, *args, **options)

    return work


class MCGTA(ClusterMixin, BaseEstimator, Archived):
    """Metric-constrained model-based clustering by goodness-of-fit tests with autocorrelation.

    Each observation gets a Gaussian model, fitted on its neighbours in position. Pairs are compared by the squared
    Wasserstein-2 distance of their models, W; the semivariogram tells how large W should be at their distance d; the loss
    of a pair is M = W + beta * max(0, W - t(d)) for d within the range, with t(d) = 2 gamma(d) - margin; and a density-based
    algorithm clusters on that loss.

    Whatever is left at "auto" is chosen from the data, without labels: labellings are compared by their evidence (see
    :func:`mcgta.evidence`), those of the clusterer with several settings and refined ones. ``choice_`` says what was chosen and
    why. Setting ``eps`` ends the search, since a radius has a meaning for one loss only: the rest of what is left open then
    takes the plain value named below. So it does for dissimilarities other than W2 squared, with a ``prior``, a clusterer
    object, or features that do not vary.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        n, the observations that each local model is fitted on, itself included. "auto" tries 20, 30 and 45, and plainly is 30,
        or a third of the group of the median observation where that is less.
    weights : {"uniform", "epanechnikov", "triangular", "gaussian"}, default="uniform"
        Weight of a neighbour by its distance.
    lags : int, default=0
        Stack this many predecessors in time (nearest neighbours elsewhere) to each observation's features.
    covariance : {"graphical_lasso", "min_cov_det", "shrunk", "empirical", "ledoit_wolf", "oas"}
        Estimator of the local covariances.
    alpha : float, default=0.01
        Penalty of the graphical lasso, in the squared unit of the features.
    shrinkage : float in [0, 1], default=0.1
        Shrinkage of ``covariance="shrunk"``.
    prior : {None, "gmm"}
        "gmm" makes each local model the update of a global Gaussian mixture by its neighbours, for sparse data.
    prior_components : int or None
        Components of that mixture; None takes the number with the least BIC.
    prior_strength : float or None
        Weight of the prior, in observations; None is n.
    dissimilarity : {"auto", "wasserstein2", "calibrated", "euclidean", "cosine", "kl", "js", "tv"}, default="auto"
        "auto" tries the first two, and plainly is "wasserstein2". How pairs are compared: W2 squared; W2 squared in units
        of what two samples of n from one model would show, the mean for the two models; Kullback-Leibler (symmetrised),
        Jensen-Shannon or total variation of the models; squared Euclidean or cosine distance of the features, for which no
        models are fitted.
    metric : {"auto", "time", "euclidean", "haversine", "precomputed"}, Metric or callable
        Distance of positions. "auto" is time for one column, haversine for columns named longitude and latitude
        (or GeoPandas points in degrees), else euclidean. ``SpaceTime(time_scale=...)`` is space and time.
    metric_params : dict or None
        For "spacetime": ``time_scale``, the distance that one unit of time is worth, and ``space``.
    semivariogram : {"spherical", "exponential", "gaussian", "stable", "matern", "empirical"} or Semivariogram
        Theoretical model, or one fitted before.
    bins : int or sequence of float, default=40
        Bins of distance, or their edges.
    max_lag : float or None
        Largest distance that the semivariogram looks at. None is half the largest distance, less where the curve has not
        levelled off by then.
    semivariogram_error : float in [0, 1], default=0.001
        Standard error wanted of each bin of the semivariogram, relative to its value; beyond 2,000 observations as many pairs
        are compared as that takes. With 0 all pairs are.
    beta : float or "auto", default="auto"
        Weight of the penalty; 0 is the paper's MC-GTA-wo. "auto" tries 1 and 0, and plainly is 1.
    margin : float, "auto" or a level such as "5%", default="auto"
        "auto" tries 0 and a quarter of the sill of the semivariogram, and plainly is 0. delta, by which a pair must stay
        below its expected dissimilarity. A significance level is the share of pairs of one Gaussian, at distances within
        the range, that would be penalised; see :meth:`p_value` for what that assumes.
    hinge : bool, default=True
        Cut the penalty off at zero. False needs a clusterer object that takes negative values.
    within_range : bool, default=True
        Penalise only pairs within the range of the semivariogram.
    clusterer : {"dbscan", "hdbscan", "optics"} or object
        The algorithm, or any object with ``fit_predict`` on a precomputed matrix.
    eps : float, "auto" or a level such as "5%", default="auto"
        DBSCAN's radius, in the unit of the loss. A significance level is the share of pairs of one Gaussian, of the median
        scale and without common neighbours, whose W2 squared would be beyond it. "auto" tries radii at which places come to
        hang together; plainly it is 0.4 of the W2 squared that two samples of n from one model would show, for the median
        observation, and for other dissimilarities the knee of the curve of losses to the ``min_samples``-th nearest. With
        OPTICS the height of the cut ("auto" tries the xi method, which it plainly is, and several heights), with HDBSCAN
        the loss below which clusters are not split ("auto" is 0).
    min_samples : int or "auto", default="auto"
        Observations that make a place dense, itself included. "auto" tries n, n/2 and 3n/2, and plainly is n.
    min_cluster_size : int, None or "auto", default="auto"
        Smaller clusters are noise. "auto" is searched for with HDBSCAN, and None otherwise. None is ``min_samples`` for HDBSCAN
        and OPTICS, and no limit for DBSCAN.
    refine : bool or "auto", default="auto"
        Whether labels are those of a second stage in place of the clusterer's: Gaussians (or Student's t) for clusters, which
        depend on each other along position, and labels that suit them, by dynamic programming along time and a Potts model
        elsewhere; clusters are merged as long as that has more evidence. Every observation with a model gets a cluster. "auto"
        lets the evidence decide, where there is a search.
    noise : {"keep", "assign"}, default="keep"
        Whether the clusterer's noise is given to the clusters that it suits best. Observations without a model stay noise.
    local_models : LocalModels or None
        Models fitted before on the same observations, in the same order.
    n_jobs : int or None
        Threads, as in scikit-learn; the result does not depend on it.
    max_memory : number, str, "auto" or None, default="auto"
        Memory that the fit may use, in bytes or as a text such as "1.5GB" (10^9) or "800MiB" (2^20); what needs more is refused
        before it begins. "auto" or None is three quarters of what is available when the fit begins, within the limits of the
        container.
    random_state : int, RandomState, Generator or None, default=0
        Seed of what is random: the mixture prior, "min_cov_det", the points of "js" and "tv", and the pairs that a large
        semivariogram is estimated from.
    progress : "auto", bool or callable, default="auto"
        True reports on standard error: on a terminal by a live bar with stage, share done and time left, elsewhere by a line
        for each finished stage and, in stages longer than two seconds, one every ten seconds. "auto" says nothing for two
        seconds, then does as True on a terminal and goes on saying nothing elsewhere. A function is called with the stage's
        name and the share done.

    Attributes
    ----------
    labels_ : (N,) cluster of each observation, numbered by first member in order of group, position and features; -1 noise
    strengths_ : (N,) strength of membership in [0, 1]; see :mod:`mcgta.clustering.membership`. Beyond 2,000 observations
        computed when first asked for
    probabilities_ : (N, K) how probable each cluster is for each observation, noise too, given the clusters' Gaussians and,
        along time, the labels of all, elsewhere those of neighbours; rows sum to one. Computed when first asked for; see
        :func:`mcgta.selection.probabilities.membership_probabilities`
    local_models_ : LocalModels, or None for a dissimilarity of features
    semivariogram_ : Semivariogram, with ``range_``, ``sill_``, ``nugget_``, bins, counts and the fitted function
    core_sample_indices_ : rows of DBSCAN's core observations; of all clustered ones for other algorithms
    ordering_, reachability_ : (N,) rows in the order in which OPTICS visits them, those without a model last, and the
        reachability of each row, as scikit-learn has them; only with ``clusterer="optics"``
    objective_ : Objective, the paper's total loss of the labelling and its two parts, over all pairs within clusters, each
        of which is compared; beyond 2,000 observations when first asked for, which takes long for large clusters
    backend_ : Backend, how the pairs were gone about and why, and how many had to be compared
    noise_share_ : share of observations labelled noise, failed ones included
    failed_ : dict of row -> reason, for observations whose model could not be fitted; they are labelled noise
    n_clusters_ : number of clusters
    n_neighbors_ : the size of the neighbourhoods
    min_samples_ : the observations that make a place dense
    eps_ : the radius; NaN where the clusterer has none
    margin_, beta_, dissimilarity_ : the margin, the weight of the penalty, and how pairs were compared
    refined_ : whether labels are those of the second stage
    choice_ : Choice, what was chosen without labels and, in words, why (``print(model.choice_)``); None without a search
    positions_ : Positions
    prior_ : MixturePrior or None
    dissimilarity_error_ : typical sampling error of "js" and "tv"; 0 for the others, which are exact
    n_features_in_ : number of features
    feature_names_in_ : their names, where X had text for all of them

    Examples
    --------
    >>> from mcgta import MCGTA
    >>> from mcgta.datasets import make_series
    >>> data = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
    >>> MCGTA().fit(data.X).n_clusters_
    2
    """

    _dissimilarity: Dissimilarity | None
    _tree: TreeSearch | None
    _every: SingleLinkage | None
    _reference: Reference | None
    _significance: Significance | None
    _probabilities: Array | None

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        weights: str = "uniform",
        lags: int = 0,
        covariance: str = "graphical_lasso",
        alpha: float = 0.01,
        shrinkage: float = 0.1,
        prior: str | None = None,
        prior_components: int | None = None,
        prior_strength: float | None = None,
        dissimilarity: str = "auto",
        metric: Any = "auto",
        metric_params: dict[str, Any] | None = None,
        semivariogram: str | Semivariogram = "spherical",
        bins: Any = 40,
        max_lag: float | None = None,
        semivariogram_error: float = ERROR,
        beta: float | str = "auto",
        margin: float | str = "auto",
        hinge: bool = True,
        within_range: bool = True,
        clusterer: Any = "dbscan",
        eps: float | str = "auto",
        min_samples: int | str = "auto",
        min_cluster_size: int | str | None = "auto",
        refine: bool | str = "auto",
        noise: str = "keep",
        local_models: LocalModels | None = None,
        n_jobs: int | None = None,
        max_memory: float | str | None = "auto",
        random_state: Any = 0,
        progress: Any = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.lags = lags
        self.covariance = covariance
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.prior = prior
        self.prior_components = prior_components
        self.prior_strength = prior_strength
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.semivariogram = semivariogram
        self.bins = bins
        self.max_lag = max_lag
        self.semivariogram_error = semivariogram_error
        self.beta = beta
        self.margin = margin
        self.hinge = hinge
        self.within_range = within_range
        self.clusterer = clusterer
        self.eps = eps
        self.min_samples = min_samples
        self.min_cluster_size = min_cluster_size
        self.refine = refine
        self.noise = noise
        self.local_models = local_models
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.random_state = random_state
        self.progress = progress

    @_at_work
    def fit(self, X: Any, y: Any = None, *, positions: Any = None, groups: Any = None) -> Self:
        """Cluster the observations.

        Parameters
        ----------
        X : array-like or frame (N, d)
            Features.
        y : ignored
        positions : array-like, frame, geometry column or None
            Where each observation is; see :func:`mcgta.positions.reading.read_positions`. None means that the order of the rows
            is time, or the index of X where that holds times.
        groups : array-like of labels or None
            The series, slide or machine of each observation. Groups share clusters but no neighbourhoods.
        """
        algorithm = Algorithm(self.get_params(deep=False))
        warn_of_positions_as_target(y)
        shape = type(self)()  # takes note of the columns, which are this estimator's only once the fit has succeeded
        features = read_features(shape, X, ensure_min_samples=2, copy=True)
        positions = align_positions(X, positions, groups, metric=algorithm.metric)
        plain = settle_plainly(algorithm)
        backend = plain.choose_backend(*features.shape, neighbors=plain.listed_neighbors(positions))
        data = plain.read(features, getattr(shape, "feature_names_in_", None), positions, groups)
        choice, refined = None, None
        if left_open(algorithm.params, data):
            plain, choice, refined = choose(algorithm, data)
            for remark in choice.notes:
                note(remark)
            if choice.doubts:
                warn(f"{'; '.join(choice.doubts)} (see choice_)", ChoiceWarning)
            backend = plain.choose_backend(*features.shape, neighbors=plain.listed_neighbors(positions))
            data = data.with_neighbors(int(choice.params["n_neighbors"]))
        algorithm = plain
        prior = algorithm.fit_prior(data)
        models = algorithm.fit_models(data, prior)  # lines 1-3: neighbourhoods, local models
        kept, failed = algorithm.comparable(data, models)
        places = data.positions.take(kept)
        dissimilarity = algorithm.compare(data.X[kept], models and models.take(kept), data.seed)  # lines 4-5
        if backend.name == "dense":
            dissimilarity.matrix()
        semivariogram = algorithm.fit_semivariogram(dissimilarity, places, data.seed)  # lines 6-8
        significance = algorithm.significance(data, models, kept) if algorithm.asks_for_levels else None
        margin = algorithm.choose_margin(significance, places, semivariogram, data.seed)
        loss = algorithm.loss(dissimilarity, places, semivariogram, margin)  # line 9
        stages = Stages(data, prior, models, kept, failed, loss, significance=significance)
        self._cluster(algorithm, stages, backend, None, refined)  # line 10
        self.choice_ = choice
        return self._note_columns(shape)

    @_at_work
    def refit(self, **params: Any) -> Self:
        """Cluster the same observations with other parameters of the loss or the clusterer; return a new estimator.

        Local models, semivariogram, and the table of dissimilarities or the tree are used again. ``params`` may be ``beta``,
        ``margin``, ``hinge``, ``within_range``, ``clusterer``, ``eps``, ``min_samples``, ``min_cluster_size``, ``refine``,
        ``noise``, ``n_jobs``, ``max_memory`` and ``progress``. What was searched for stays as it was chosen; labels are the
        clusterer's, unless ``refine=True`` was, or is now, asked for.
        """
        check_is_fitted(self)
        wrong = sorted(set(params) - set(_AFTER_SEMIVARIOGRAM))
        if wrong:
            raise ValueError(f"refit cannot change {', '.join(wrong)}: only {', '.join(_AFTER_SEMIVARIOGRAM)}; use fit")
        kept = self._algorithm.asked["refine"] is True  # else labels are refined by a search only
        searched = {} if self.choice_ is None else {**self.choice_.params, "refine": kept}
        new = type(self)(**{**self._algorithm.asked, **searched, **params})
        algorithm = settle_plainly(Algorithm(new.get_params(deep=False)))
        backend, stages = self._stages_of(algorithm)
        refined = refine_labels(stages.data) if algorithm.refine is True else None
        new._cluster(algorithm, stages, backend, self._tree, refined)
        return new._note_columns(self)

    def _find_near(self, params: dict[str, Any]) -> tuple[Algorithm, Stages, BruteForceSearch | TreeSearch]:
        """Return what :meth:`refit` clusters with other parameters, and who tells which observations are near each other."""
        algorithm = settle_plainly(Algorithm({**self._algorithm.asked, **params}))
        backend, stages = self._stages_of(algorithm)
        return algorithm, stages, algorithm.find_near(backend, stages, self._tree)[0]

    def _stages_of(self, algorithm: Algorithm) -> tuple[Backend, Stages]:
        """Return the stages of the fit with the loss of other parameters, and how to cluster them."""
        backend, stages = algorithm.choose_backend(*self._X.shape), self._restore()
        if backend.name == "dense":
            stages.loss.dissimilarity.matrix()
        significance = self._calibrated(stages) if algorithm.asks_for_levels else self._significance
        places, semivariogram = stages.loss.positions, stages.loss.semivariogram
        margin = algorithm.choose_margin(significance, places, semivariogram, self._seed)
        loss = algorithm.loss(stages.loss.dissimilarity, places, semivariogram, margin)
        return backend, replace(stages, loss=loss, significance=significance)

    @_at_work
    def append(self, X: Any, *, positions: Any = None, groups: Any = None, refresh: bool = False) -> Self:
        """Add observations to the fit, at the end of a series or anywhere else, and cluster all of them again.

        The result is that of a fit on all observations, the new ones after the others, with the ``n_neighbors_``,
        ``min_samples_``, ``prior_``, ``semivariogram_``, ``margin_`` and ``eps_`` of this one, and its parameters. Only local
        models whose neighbourhood has changed are fitted; along time, with uniform weights, also those behind a new row in the
        middle of a series. Where something fails, the fit stays as it was.

        Parameters
        ----------
        X : array-like or frame (M, d)
            Features of the new observations.
        positions : array-like, frame, geometry column or None
            Where they are, as in :meth:`fit`. None continues every series of a fit without positions, a step a row. For
            precomputed distances those to the observations of the fit, then to each other, (M, N + M).
        groups : array-like of labels or None
            As in :meth:`fit`; there may be new ones.
        refresh : bool, default=False
            Estimate the semivariogram, the radius where ``eps="auto"`` was not searched for, and both radius and margin where
            they are levels such as "5%", anew from all observations, which is worth it as a fit grows. (:meth:`refit` estimates
            such a radius or margin anew in any case.) What was searched for stays as it was chosen; :meth:`fit` searches again.

        Returns
        -------
        the estimator itself

        Examples
        --------
        >>> from mcgta import MCGTA
        >>> from mcgta.datasets import make_series
        >>> data = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
        >>> MCGTA(n_neighbors=30, eps=0.5).fit(data.X[:500]).append(data.X[500:]).labels_.size
        600
        """
        check_is_fitted(self)
        if not isinstance(refresh, (bool, np.bool_)):
            raise ValueError(f"refresh={refresh!r} must be True or False")
        params = {**self._algorithm.params, "max_memory": self.max_memory, "progress": self.progress}
        if params["local_models"] is not None:
            raise ValueError(
                "local_models: the models of this fit were passed in, so there is no telling how those of new observations are "
                "to be fitted; use fit, with the models of all observations"
            )
        new = type(self)(**params)
        if not refresh:
            params["margin"] = self.margin_
            if params["clusterer"] == "dbscan" or read_level(params["eps"]) is not None:  # which depend on the data
                params["eps"] = self.eps_
        algorithm = Algorithm(params)
        features = read_features(self, X, reset=False)
        positions = align_positions(X, positions, groups, metric=self.positions_.metric)
        count = self.labels_.size + features.shape[0]
        listed = 2 * algorithm.listed_neighbors(positions)  # before and after
        backend = algorithm.choose_backend(count, features.shape[1], neighbors=listed)
        before = Before(
            self._X,
            getattr(self, "feature_names_in_", None),
            self.positions_,
            self.local_models_,
            self.prior_,
            None if refresh else self.semivariogram_,
            self.n_neighbors_,
            self._seed,
            np.array(list(self.failed_), dtype=np.intp),
            self.core_sample_indices_,
            self._tree,
        )
        stages, tree = append_stages(before, features, positions, groups, algorithm, backend)
        refined = refine_labels(stages.data) if self.refined_ else None
        new._cluster(algorithm, stages, backend, tree, refined)
        # All at once and last, so that nothing that stops the work leaves half of it here.
        kept = (*params, "_algorithm", "choice_")
        self.__dict__.update({name: value for name, value in vars(new).items() if name not in kept})
        return self

    @_at_work
    def labels_at(self, eps: Any) -> Labels:
        """Return the labels that DBSCAN with another radius would give, all else being equal; far cheaper than a fit.

        Cores and their components are read off a tree that serves every radius, made when first asked for; only the
        border is looked at anew.
        """
        check_is_fitted(self)
        if not isinstance(eps, (int, float, np.integer, np.floating)) or isinstance(eps, bool) or not 0 <= eps < np.inf:
            raise ValueError(f"eps={eps!r} must be a number >= 0")
        if not self._algorithm.hinge:
            raise ValueError("labels_at needs losses >= 0, as DBSCAN does, but the fit was made with hinge=False")
        stages, algorithm = self._restore(), self._algorithm
        labels = np.full(self.labels_.size, -1, dtype=np.int64)
        if self.min_samples_ > len(stages.loss):  # nobody can be a core
            return labels
        found = self._cuts(stages).labels_at(float(eps), min_cluster_size=algorithm.min_cluster_size or 1)
        labels[stages.rows] = algorithm.place_noise(found, stages)
        return labels

    @_at_work
    def merge_heights(self) -> Array:
        """Return the radii at which places of DBSCAN hang together, from the least to the largest; where to try ``labels_at``.

        They are the weights of the tree that :meth:`labels_at` reads, one less than there are observations with a model;
        none where there are fewer of these than ``min_samples_``.
        """
        stages = self._restore()
        if self.min_samples_ > len(stages.loss):
            return np.empty(0)
        return self._cuts(stages).linkage[:, 2].copy()

    def _cuts(self, stages: Stages) -> SingleLinkage:
        """Return what gives the labels of every radius."""
        if self._every is None:
            near = self._look_up(stages)
            samples = self.min_samples_
            self._every = SingleLinkage.of(near, samples)
        return self._every

    def _look_up(self, stages: Stages) -> NeighborSearch:
        """Return who tells which observations are near each other, as in the fit."""
        if self.backend_.name == "tree":
            return self._grown(stages)
        # The table of losses was not kept, and there may be less memory than before.
        backend = self._algorithm.choose_backend(*self._X.shape) if self.backend_.name == "dense" else self.backend_
        return self._algorithm.look_up(backend, stages.loss, self._tree)

    @_at_work
    def predict(self, X: Any, *, positions: Any = None, groups: Any = None) -> Labels:
        """Return the cluster of new observations, -1 for noise.

        A new observation among those of the fit (no farther from the nearest than that one's n/4-th neighbour) gets a model
        fitted on itself and its n - 1 nearest in the fit, whatever else is asked in the same call. Beyond the fit's reach,
        other new observations are neighbours too. A group not seen in the fit is a set of its own, and so are new rows
        without positions (of a fit without positions). An observation of the fit, given again at its position, keeps its
        label. An observation without a model is reported by a warning, and noise. See :mod:`mcgta.clustering.membership` for
        the rule.

        Beyond 2,000 observations the first call prepares the search, which takes seconds (after HDBSCAN up to the time of the
        fit); later ones take milliseconds. DBSCAN's densities are found where new observations come; for many thousands of
        these it is quicker to ask for ``strengths_`` before, which finds all.

        ``X``, ``positions`` and ``groups`` are as in :meth:`fit`; for precomputed distances ``positions`` holds those
        to the observations of the fit, (M, N).
        """
        return self._place(X, positions, groups, known=False)[0]

    @_at_work
    def score_samples(self, X: Any, *, positions: Any = None, groups: Any = None) -> Array:
        """Return the strength, in [0, 1], with which new observations belong to the cluster that predict gives them."""
        return self._place(X, positions, groups)[1]

    @_at_work
    def pair_test(self, i: Any, j: Any) -> PairTest:
        """Test whether observations ``i`` and ``j`` differ no more than their distance lets expect."""
        check_is_fitted(self)
        for name, row in (("i", i), ("j", j)):
            if not isinstance(row, (int, np.integer)) or not 0 <= row < self.labels_.size:
                raise ValueError(f"{name}={row} is not a row: there are {self.labels_.size} observations")
            if row in self.failed_:
                raise ValueError(f"{name}={row} has no model: {self.failed_[int(row)]}")
        stages = self._restore()
        rows = stages.rows.tolist()
        return pair_test(stages.loss, rows.index(i), rows.index(j))

    @_at_work
    def p_value(self, i: Any, j: Any) -> Any:
        """Return how probable a W2 squared as large as that of observations ``i`` and ``j`` is if they come from one Gaussian.

        Small values say that the two differ by more than chance. What chance does is simulated, with the seed of the fit:
        samples are drawn from some of the local models and fitted as these were. Neighbourhoods that overlap make models
        alike, which is accounted for; the same neighbourhood gives 1. Observations are taken to be independent given their
        model, so values are too small where features follow their predecessors, or with ``lags``. Only for W2 squared (plain or
        "calibrated") and without a prior.

        Parameters
        ----------
        i, j : int or arrays of int
            Rows of observations with a model, by NumPy's rules of broadcasting.

        Returns
        -------
        float, or an array of the shape of both

        Examples
        --------
        >>> from mcgta import MCGTA
        >>> from mcgta.datasets import make_series
        >>> data = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
        >>> model = MCGTA(n_neighbors=30, eps=0.5).fit(data.X)
        >>> model.p_value(0, 0)
        1.0
        """
        check_is_fitted(self)
        check_testable(self._algorithm.params, "p_value needs to know how much models differ by chance")
        stages = self._restore()
        back = np.full(self.labels_.size, -1)
        back[stages.rows] = np.arange(stages.rows.size)
        i, j = np.broadcast_arrays(self._compared("i", i), self._compared("j", j))
        rows, cols = np.minimum(back[i], back[j]).ravel(), np.maximum(back[i], back[j]).ravel()
        significance = self._calibrated(stages)
        found = significance.p_values(stages.loss.dissimilarity.of_pairs(rows, cols), rows, cols).reshape(i.shape)
        return float(found) if found.ndim == 0 else found

    def _compared(self, name: str, rows: Any) -> Index:
        """Check rows of observations with a model."""
        given = np.asarray(rows)
        if given.dtype.kind not in "iu" and given.size:
            raise ValueError(f"{name}={rows!r} must be rows, integers from 0 to {self.labels_.size - 1}")
        wrong = given[(given < 0) | (given >= self.labels_.size)]
        if wrong.size:
            raise ValueError(f"{name}: {wrong.flat[0]} is not a row: there are {self.labels_.size} observations")
        bad = given[np.isin(given, list(self.failed_))]
        if bad.size:
            raise ValueError(f"{name}: row {bad.flat[0]} has no model: {self.failed_[int(bad.flat[0])]}")
        return given.astype(np.int64)

    def _calibrated(self, stages: Stages) -> Significance:
        """Return what differs by more than chance; made when first asked for, and kept."""
        if self._significance is None:
            self._significance = self._algorithm.significance(stages.data, stages.models, stages.kept)
        return self._significance

    @_at_work
    def goodness_of_fit(self, level: Any = None) -> GoodnessOfFit:
        """Count the pairs within clusters that pass the test, by distance. All of them are compared, however many there are.

        With a significance ``level`` (a number between 0 and 1, or a text such as "5%") it is also told how many of the pairs
        within clusters have a :meth:`p_value` above it; of more than 200,000 a sample.
        """
        check_is_fitted(self)
        if level is not None:
            level = self._read_level(level)
        stages = self._restore()
        labels = self.labels_[stages.rows]
        found = labelling_test(stages.loss, labels)
        if level is None:
            return found
        test = self._calibrated(stages)
        return calibrated_test(found, stages.loss, labels, test, level, random_state=self._seed)

    def _read_level(self, level: Any) -> float:
        """Check a significance level, and that there can be one."""
        number = read_level(level)
        if number is None and isinstance(level, (int, float, np.integer, np.floating)) and 0 < level < 1:
            number = float(level)
        if number is None:
            raise ValueError(f"level={level!r} must be a number above 0 and below 1, or a text such as '5%'")
        check_testable(self._algorithm.params, f"level={level!r} is a significance level")
        return number

    def _note_columns(self, seen: BaseEstimator) -> Self:
        """Take over the number and names of the features."""
        self.n_features_in_ = seen.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(seen, "feature_names_in_"):
            self.feature_names_in_ = seen.feature_names_in_
        return self

    def _cluster(
        self,
        algorithm: Algorithm,
        stages: Stages,
        backend: Backend,
        tree: TreeSearch | None,
        refined: Labels | None = None,
    ) -> None:
        """Run the clusterer on the loss and keep what the fit has found, in the user's order.

        ``refined`` labels, of all observations in canonical order, take the place of the clusterer's.
        """
        data, models, loss, rows = stages.data, stages.models, stages.loss, stages.rows
        pairs = len(loss) * (len(loss) - 1) // 2
        note(str(backend))
        near: NeighborSearch | None = tree and replace(tree, loss=loss)
        strengths = objective = None
        if backend.name == "dense":
            near = algorithm.look_up(backend, loss, tree)
            with stage("clustering"):
                clustering, exact = algorithm.conclude(near, stages, refined)[0], pairs
                clustering, reach = settle(near, clustering, algorithm.dense(data.n_neighbors))
                strengths = np.zeros(data.order.size)
                strengths[rows] = Membership.of(clustering).strengths_at(reach, clustering.labels)
                objective = loss.objective(clustering.labels)
        elif refined is not None:
            clustering, exact = algorithm.conclude(None, stages, refined)
        else:
            near, backend = algorithm.find_near(backend, stages, tree)
            clustering, exact = algorithm.conclude(near, stages, None)
        membership = Membership.of(clustering)
        self.backend_ = replace(backend, pairs=pairs, exact_pairs=exact)
        if backend.name != "dense" and refined is None:
            note(self.backend_.tell_pairs())
        self.labels_ = np.full(data.order.size, -1, dtype=np.int64)
        self.labels_[rows] = clustering.labels
        self._strengths, self._objective = strengths, objective
        for name in ("ordering_", "reachability_"):
            self.__dict__.pop(name, None)
        if clustering.ordering is not None:
            self.ordering_ = np.concatenate(
                [rows[clustering.ordering], np.array(sorted(stages.failed), dtype=rows.dtype)]
            )
            self.reachability_ = np.full(data.order.size, np.inf)
            self.reachability_[rows] = clustering.reachability
        self.local_models_ = models and models.take(data.back)
        self.positions_ = data.positions.take(data.back)
        self.prior_ = stages.prior
        self.semivariogram_ = loss.semivariogram
        self.core_sample_indices_ = np.sort(rows[clustering.core])
        self.noise_share_ = float(np.mean(self.labels_ < 0))
        self.failed_ = stages.failed
        self.n_clusters_ = int(clustering.labels.max()) + 1
        self.n_neighbors_, self.min_samples_ = data.n_neighbors, algorithm.dense(data.n_neighbors)
        self.eps_, self.margin_, self.beta_ = clustering.eps, loss.margin, float(algorithm.beta)
        self.dissimilarity_, self.refined_, self.choice_ = algorithm.dissimilarity, refined is not None, None
        self.dissimilarity_error_ = sampling_error(models, algorithm.dissimilarity, random_state=data.seed)
        self._algorithm, self._X, self._seed = algorithm, data.raw, data.seed
        self._membership = replace(membership, anchors=rows[membership.anchors])
        self._dissimilarity, self._every, self._reference = loss.dissimilarity, None, None
        self._significance, self._probabilities = stages.significance, None
        self._tree = near if isinstance(near, TreeSearch) else None

    @property
    @_at_work
    def strengths_(self) -> Array:
        """Strength of membership in [0, 1] of each observation."""
        check_is_fitted(self)
        if self._strengths is None:
            self._complete()
        assert self._strengths is not None
        return self._strengths

    @property
    @_at_work
    def probabilities_(self) -> Array:
        """How probable each cluster is for each observation."""
        check_is_fitted(self)
        if self._probabilities is None:
            lags, seed, choice = self._algorithm.lags, self._seed, self.choice_
            data = sort_observations(self._X, self.positions_, n_neighbors=self.n_neighbors_, lags=lags, seed=seed)
            found = membership_probabilities(
                data.X,
                data.positions,
                self.labels_[data.order],
                seed=seed,
                tau=1.0 if choice is None else choice.tau,
                mixed=choice is not None and choice.looseness > LOOSE,
            )
            self._probabilities = found[data.back]
        return self._probabilities

    @property
    @_at_work
    def objective_(self) -> Objective:
        """The paper's total loss of the labelling and its two parts."""
        check_is_fitted(self)
        if self._objective is None:
            stages = self._restore()
            labels = self.labels_[stages.rows]
            self._objective = stages.loss.objective(labels)
        return self._objective

    def _complete(self) -> None:
        """Find what a clustering of many leaves open until somebody asks: densities of cores, and strengths."""
        stages = self._restore()
        near, found = self._densities(stages)
        reach = near.reach(found.labels, found.core, found.own)
        self._strengths = np.zeros(self.labels_.size)
        self._strengths[stages.rows] = self._membership.strengths_at(reach, found.labels)
        self._reference = None  # the next one knows all densities

    def _densities(self, stages: Stages) -> tuple[NeighborSearch, Clustering]:
        """Return who knows what is near, and the clustering with the densities of its cores, found where they are missing."""
        near, membership = self._look_up(stages), self._membership
        back = np.full(self.labels_.size, -1)
        back[stages.rows] = np.arange(stages.rows.size)
        anchors = back[membership.anchors]
        core, own = np.zeros(len(near), dtype=bool), np.full(len(near), np.inf)
        core[anchors], own[anchors] = True, membership.own
        clustering = Clustering(self.labels_[stages.rows], core, own, membership.radii)
        if np.isnan(membership.own).any():
            clustering = densities(near, clustering, self.min_samples_)
            self._membership = replace(membership, own=clustering.own[anchors], radii=clustering.radii)
        return near, clustering

    def _grown(self, stages: Stages) -> TreeSearch:
        """Return the tree of the fit, built where there is none yet."""
        if self._tree is None:
            with stage("tree"):
                self._tree = TreeSearch.of(stages.loss)
        return self._tree

    def _refer(self) -> Reference:
        """Return what new observations are placed by; with a tree it is made when first asked for, and kept."""
        if self._reference is not None:
            return self._reference
        stages, tree = self._restore(), None
        large = self.backend_.name == "dense" and len(stages.loss) > SMALL and serves(stages.loss)
        if self.backend_.name == "tree" or large:
            tree = self._grown(stages)
        # Radii need the densities of all, and so does a comparison with all; else those nearby will do.
        if np.isnan(self._membership.radii).any() or (tree is None and np.isnan(self._membership.own).any()):
            self._densities(stages)
        reference = Reference.of(
            self.labels_,
            stages.data,
            stages.kept,
            self.local_models_,
            self._membership,
            tree,
            min_samples=self.min_samples_,
            lags=self._algorithm.lags,
        )
        self._reference = reference if tree is not None else None
        return reference

    def _restore(self) -> Stages:
        """Return the stages of the fit again; only what was not kept is computed."""
        check_is_fitted(self)
        algorithm = self._algorithm
        data = sort_observations(
            self._X, self.positions_, n_neighbors=self.n_neighbors_, lags=algorithm.lags, seed=self._seed
        )
        models = self.local_models_ and self.local_models_.take(data.order)
        kept = np.flatnonzero(~np.isin(data.order, list(self.failed_)))
        if self._dissimilarity is None:
            self._dissimilarity = algorithm.compare(data.X[kept], models and models.take(kept), data.seed)
        loss = algorithm.loss(self._dissimilarity, data.positions.take(kept), self.semivariogram_, self.margin_)
        return Stages(data, self.prior_, models, kept, self.failed_, loss)

    def _place(self, X: Any, positions: Any, groups: Any, *, known: bool = True) -> tuple[Labels, Array]:
        """Labels and strengths of new observations; ``known`` asks for the strengths of those that the fit knows, too."""
        check_is_fitted(self)
        algorithm, seed = self._algorithm, self._seed
        features = read_features(self, X, reset=False)
        positions = align_positions(X, positions, groups, metric=self.positions_.metric)
        new = read_new(self.positions_, features, positions, groups)
        return place_new(
            self._refer(),
            new,
            strengths_of_fit=(lambda: self.strengths_) if known else None,
            lags=algorithm.lags,
            weights=algorithm.weights,
            dissimilarity=algorithm.dissimilarity,
            fit_models=lambda X, near: algorithm.models_on(X, near, self.prior_, seed),
            make_loss=lambda X, models, places: algorithm.loss(
                algorithm.compare(X, models, seed), places, self.semivariogram_, self.margin_
            ),
        )

    # ------------------------------------------------------------------ one file

    def _archive_state(self) -> dict[str, Any]:
        check_is_fitted(self)
        params, chosen = dict(self._algorithm.asked), dict(self._algorithm.chosen)
        for name in ("metric", "clusterer", "progress"):
            if not isinstance(params[name], (str, bool, Metric)):
                raise ValueError(
                    f"{name}={params[name]!r} is code, and cannot be saved in a file without pickle; save local_models_ and "
                    "semivariogram_ instead"
                )
        if not isinstance(params["random_state"], (int, np.integer)):
            params["random_state"] = self._seed
        fitted = {name: getattr(self, name) for name in FITTED if hasattr(self, name)}
        if "feature_names_in_" in fitted:
            fitted["feature_names_in_"] = fitted["feature_names_in_"].astype(str)  # scikit-learn holds them as objects
        return {"params": params, "chosen": chosen, "fitted": fitted}

    def __getstate__(self) -> dict[str, Any]:
        """Leave the table of dissimilarities and the like out of pickles and copies; they are computed again when needed."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, **dict.fromkeys(_AGAIN)} if "_dissimilarity" in state else state

    @classmethod
    def _from_archive_state(cls, state: dict[str, Any]) -> Self:
        params, chosen, fitted = state["params"], state["chosen"], state["fitted"]
        unknown = (set(params) - set(RULES)) | (set(chosen) - set(RULES)) | (set(fitted) - set(FITTED))
        if unknown:
            raise ValueError(f"unknown entries {sorted(unknown)}")
        model = cls(**params)
        model._algorithm = Algorithm(model.get_params(deep=False), chosen)
        check_fitted(fitted)
        if fitted["choice_"] is not None and not set(fitted["choice_"].params) <= set(RULES):
            raise ValueError(f"choice_ has unknown parameters {sorted(set(fitted['choice_'].params) - set(RULES))}")
        for name, value in fitted.items():
            setattr(model, name, value.astype(object) if name == "feature_names_in_" else value)
        for name in _AGAIN:
            setattr(model, name, None)
        return model
