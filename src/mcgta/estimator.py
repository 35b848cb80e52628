"""The estimator: MC-GTA as a scikit-learn clusterer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mcgta.description import Description, describe
from mcgta.fit import Fit
from mcgta.fitted_attributes import FittedAttributes
from mcgta.fitting import fit_observations
from mcgta.inference.pair_test import GoodnessOfFit, PairTest, goodness_of_fit, p_values, pair_test
from mcgta.observations.features import text_column_names
from mcgta.observations.frames import CallerFrame
from mcgta.observations.missing import complete_rows
from mcgta.observations.observations import align_positions, read_features, report_other_columns
from mcgta.observations.provenance import Provenance
from mcgta.plot.overview import overview
from mcgta.refit import labels_for, labels_with, refit
from mcgta.report import write_report
from mcgta.runtime.archive import Archived
from mcgta.runtime.methods import with_threads_and_progress
from mcgta.runtime.rules import Rule, check_value, read_level
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.saved import read_fit, state_of
from mcgta.settings import Settings, check_testable
from mcgta.updating.append import append
from mcgta.updating.predict import predict, predict_probabilities


class MCGTA(FittedAttributes, ClusterMixin, BaseEstimator, Archived):
    """Metric-constrained model-based clustering by goodness-of-fit tests with autocorrelation.

    Each observation gets a Gaussian model, fitted on its neighbours in position. Pairs are compared by the squared
    Wasserstein-2 distance of their models, W; the semivariogram tells how large W should be at their distance d; the loss
    of a pair is M = W + beta * max(0, W - t(d)) for d within the range, with t(d) = 2 gamma(d) - margin; and a density-based
    algorithm clusters on that loss.

    Settings left at "auto" are chosen from the data, without labels: labellings are compared by their evidence (see
    :func:`mcgta.evidence`), those of the clusterer with several settings and *refined* ones, whose clusters are Gaussians with
    labels that change at a cost along time or between neighbours. ``labels_source_`` says which were taken, ``choice_`` why.
    Setting ``eps`` ends the search, since a radius has a meaning for one loss only: the rest of what is left open then takes
    the plain value named below. So do dissimilarities other than W2 squared, a ``prior``, a clusterer object,
    ``penalty="no_hinge"``, features that do not vary, and more than 50,000 observations with ``refine`` "none" or "noise".
    A number for ``n_clusters``, and ``refine="all"``, ask for labels by evidence all the same, which the settings of the
    clusterer do not change.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters. A number gives the best labelling with that many clusters: by evidence, or with ``refine="none"``
        or ``"noise"`` the clusterer's, cut where it has that many.
    n_neighbors : int or "auto", default="auto"
        n, the observations that each local model is fitted on, itself included. "auto" tries 20, 30 and 45 up to 3,000
        observations; its plain value is 30, or a third of the group of the median observation where that is less.
    weights : {"uniform", "epanechnikov", "triangular", "gaussian"}, default="uniform"
        Weight of a neighbour by its distance.
    lags : int or "auto", default=0
        Stack this many predecessors in time (nearest neighbours elsewhere) to each observation's features. "auto" takes 1 to 3
        along time where evidence says that pieces of the series differ in how they move, and up to 16 features come of it;
        else none. Its plain value is 0. Along time the graphical lasso gives local models block-Toeplitz precisions, as in
        TICC: how an observation depends on another counts by how far they are apart, not by which of the stack they are.
    standardize : bool or "auto", default="auto"
        Whether each feature is divided by its standard deviation before anything is compared, as the search does in any case.
        Then ``alpha``, ``margin`` and ``eps`` mean the same whatever the units of the features. "auto" does so where standard
        deviations differ more than tenfold; see :mod:`mcgta.stages.units`.
    n_components : int, None or "auto", default="auto"
        Components that features are reduced to before anything is compared: directions in which neighbourhoods differ, found
        by how means and covariances vary in position; see :mod:`mcgta.observations.reduction`. "auto" leaves up to 40 features
        as they are, and reduces more to 8 to 16 components. None never reduces. A number always does, before lags are
        stacked. ``reduction_`` holds the components; local models and cluster models are about these, and all that is told of
        clusters is about the features. Dissimilarities of features take them as they are.
    covariance : {"graphical_lasso", "min_cov_det", "shrunk", "empirical", "ledoit_wolf", "oas"} or estimator
        Estimator of the local covariances: a name, or a scikit-learn covariance estimator. With ``lags`` along time, up to 24
        features with these, "graphical_lasso" finds the best precision among the block-Toeplitz ones; see
        :mod:`mcgta.kernels.gaussians.block_toeplitz_lasso`.
    alpha : float, default=0.01
        Penalty of the graphical lasso, in the squared unit of the features.
    prior : {None, "gmm"} or GaussianMixturePrior
        A global Gaussian mixture that each local model is an update of, for sparse data. With ``dissimilarity="mixture"`` it
        says how many components local mixtures share; by default the number of 1 to 12 with the least BIC.
    dissimilarity : {"auto", "wasserstein2", "calibrated", "mixture", "euclidean", "cosine", "kl", "js", "tv"}, function, ...
        How pairs are compared; by default "auto". By name: W2 squared; W2 squared in units of what two samples of n from one
        model would show, the mean for the two models; squared mixture Wasserstein distance of local mixtures over shared
        components, for regions that are mixtures; squared Euclidean or cosine distance of the features, for which no models are
        fitted; Kullback-Leibler (symmetrised), Jensen-Shannon or total variation of the models. "auto" tries the first
        two; its plain value is "wasserstein2". Or a function ``f(a, b)`` of two Gaussians that have a ``mean`` and a
        ``covariance``; a table (N, N) of all pairs; or a :class:`mcgta.stages.dissimilarity.kind.Kind`.
    metric : {"auto", "time", "euclidean", "haversine", "precomputed"}, SpaceTime or callable
        Distance of positions. "auto" is time for one column, haversine for columns named longitude and latitude
        (or GeoPandas points in degrees), else euclidean.
    semivariogram : {"spherical", "exponential", "gaussian", "stable", "matern", "empirical"} or Semivariogram
        Theoretical model, or one fitted before.
    bins : int or sequence of float, default=40
        Bins of distance up to half the largest one, of which only the first are used where the curve has not levelled off by
        then; or their edges, such as :func:`mcgta.stages.semivariogram.binning.lag_edges` makes: the last one is the largest
        distance that the semivariogram looks at.
    beta : float or "auto", default="auto"
        Weight of the penalty; 0 is the paper's MC-GTA-wo. "auto" tries 1 and 0; its plain value is 1.
    margin : float, "auto" or a level such as "5%", default="auto"
        delta, by which a pair must stay below its expected dissimilarity. A significance level is the share of pairs of one
        Gaussian, at distances within the range, that would be penalised; see :meth:`p_value` for what that assumes. "auto"
        tries 0 and a quarter of the sill of the semivariogram; its plain value is 0.
    penalty : {"within_range", "unconditional", "no_hinge"}, default="within_range"
        Which pairs are penalised: those within the range of the semivariogram, or all. "no_hinge" does not cut the penalty off
        at zero, and needs a clusterer object that takes negative values.
    clusterer : {"dbscan", "hdbscan", "optics"} or object
        The algorithm, or any object with ``fit_predict`` on a precomputed matrix.
    eps : float, "auto" or a level such as "5%", default="auto"
        DBSCAN's radius, in the unit of the loss. A significance level is the share of pairs of one Gaussian, of the median
        scale and without common neighbours, whose W2 squared would be beyond it. "auto" tries radii at which core observations
        are joined; its plain value is 0.4 of the W2 squared that two samples of n from one model would show, for the median
        observation; with "mixture" what one of eight pairs of such samples stays below; and for other dissimilarities the
        knee of the curve of losses to the ``min_samples``-th nearest. With OPTICS the height of the cut ("auto" tries the xi
        method, its plain value, and several heights), with HDBSCAN the loss below which clusters are not split ("auto" is 0).
    min_samples : int or "auto", default="auto"
        Observations within the radius that make an observation core, itself included. "auto" tries n, n/2 and 3n/2; its plain
        value is n.
    min_cluster_size : int, None or "auto", default="auto"
        Smaller clusters are noise. "auto" is searched for with HDBSCAN, and None otherwise. None is ``min_samples`` for HDBSCAN
        and OPTICS, and no limit for DBSCAN.
    refine : {"auto", "none", "noise", "all"}, default="auto"
        Which labels are taken. "none": the clusterer's. "noise": the clusterer's, its noise given to the clusters that it suits
        best. "all": refined ones, in which every observation with a model has a cluster. "auto": the clusterer's or refined
        ones, by their evidence, where there is a search; refined ones beyond 50,000 observations.
    family : {"auto", "level", "dynamics", "trajectory", "composition"}, default="auto"
        What refined clusters differ in. "level": level and covariance, one Gaussian a cluster. "dynamics": how observations
        move along time, by period, wave form or damping. "trajectory": the curve that a record follows from its beginning,
        where ``groups`` are repeated records or a series is made of them. "composition": the shares of kinds in a region,
        where each kind is a Gaussian found without position. "auto": the family with the most evidence.
    missing : {"error", "drop", "impute"}, default="error"
        What is done with rows that have a missing feature or position. "error" refuses them. "drop" leaves them out: they
        keep their place with the label -1 and probability 0, and ``failed_`` says why. "impute" fills in missing features,
        along time by interpolation within the group, elsewhere by the mean of the 8 nearest observations of the group that have
        the value, else by the feature's median; rows without a position are left out. A warning says how many. Infinite
        features and positions, and missing groups, are refused in any case.
    n_jobs : int or None
        Threads, as in scikit-learn; the result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed of what is random: the mixture prior, "min_cov_det", the points of "js" and "tv", samples of the search, and the
        pairs that a large semivariogram is estimated from.
    progress : "auto", "bar", bool or callable, default="auto"
        True reports on standard error: on a terminal by a live bar with stage, share done and time left, elsewhere by a line
        for each finished stage and, in stages longer than two seconds, one every ten seconds. "auto" says nothing for two
        seconds, then does as True on a terminal and goes on saying nothing elsewhere; "bar" does so, too, but leaves no lines
        behind. A function is called with the stage's name and the share done.

    See Also
    --------
    mcgta.config_context : how much memory a fit may use, and how exact the semivariogram is.

    Examples
    --------
    >>> from mcgta import MCGTA
    >>> from mcgta.datasets import make_series
    >>> data = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
    >>> MCGTA().fit(data.X).n_clusters_
    2
    """

    _frame: CallerFrame

    # What scikit-learn routes to these methods, where its metadata routing is enabled.
    __metadata_request__fit = {"positions": True, "groups": True}  # noqa: RUF012 - scikit-learn reads it so
    __metadata_request__predict = {"positions": True, "groups": True}  # noqa: RUF012
    __metadata_request__predict_proba = {"positions": True, "groups": True}  # noqa: RUF012

    def __init__(
        self,
        n_clusters: int | str = Settings.n_clusters,
        *,
        n_neighbors: int | str = Settings.n_neighbors,
        weights: str = Settings.weights,
        lags: int | str = Settings.lags,
        standardize: bool | str = Settings.standardize,
        n_components: int | str | None = Settings.n_components,
        covariance: Any = Settings.covariance,
        alpha: float = Settings.alpha,
        prior: Any = Settings.prior,
        dissimilarity: Any = Settings.dissimilarity,
        metric: Any = Settings.metric,
        semivariogram: Any = Settings.semivariogram,
        bins: Any = Settings.bins,
        beta: float | str = Settings.beta,
        margin: float | str = Settings.margin,
        penalty: str = Settings.penalty,
        clusterer: Any = Settings.clusterer,
        eps: float | str = Settings.eps,
        min_samples: int | str = Settings.min_samples,
        min_cluster_size: int | str | None = Settings.min_cluster_size,
        refine: str = Settings.refine,
        family: str = Settings.family,
        missing: str = Settings.missing,
        n_jobs: int | None = Settings.n_jobs,
        random_state: Any = Settings.random_state,
        progress: Any = Settings.progress,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.lags = lags
        self.standardize = standardize
        self.n_components = n_components
        self.covariance = covariance
        self.alpha = alpha
        self.prior = prior
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.semivariogram = semivariogram
        self.bins = bins
        self.beta = beta
        self.margin = margin
        self.penalty = penalty
        self.clusterer = clusterer
        self.eps = eps
        self.min_samples = min_samples
        self.min_cluster_size = min_cluster_size
        self.refine = refine
        self.family = family
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    # ------------------------------------------------------------------ fitting

    @with_threads_and_progress
    def fit(self, X: Any, y: Any = None, *, positions: Any = None, groups: Any = None) -> Self:
        """Cluster the observations.

        Parameters
        ----------
        X : array-like or frame (N, d)
            Features: an array, a frame of pandas, polars or pyarrow, or a GeoDataFrame, whose columns of numbers are taken.
        y : ignored
        positions : array-like, frame, geometry column or None
            Where each observation is; see :func:`mcgta.read_positions`. None takes the geometry of a GeoDataFrame, or the index
            of X where that holds times; else the order of the rows is time.
        groups : array-like of labels or None
            The series, slide or machine of each observation. Groups share clusters but no neighbourhoods.
        """
        asked = Settings(**self.get_params(deep=False))
        _warn_of_positions_as_target(y)
        features = read_features("MCGTA", X, missing=asked.missing, ensure_min_samples=2, copy=True)
        report_other_columns(X, asked.metric)
        names = text_column_names(X)
        places = align_positions(X, positions, groups, metric=asked.metric)
        given = complete_rows(features, names, places, groups, asked)
        self._fit = fit_observations(given, names, asked)
        self._frame = CallerFrame.of(X)
        return self

    @with_threads_and_progress
    def refit(self, *, local_models: Any = None, **params: Any) -> Self:
        """Cluster the same observations with other settings of the loss, the clusterer or the labels; return a new estimator.

        Local models, semivariogram, and the table of dissimilarities or the tree are used again. ``params`` may be ``beta``,
        ``margin``, ``penalty``, ``clusterer``, ``eps``, ``min_samples``, ``min_cluster_size``, ``n_clusters``, ``refine``,
        ``family``, ``n_jobs`` and ``progress``. What was searched for stays as it was chosen. Without a change of these labels
        are the same, to the last; with other settings of the loss or the clusterer they are the clusterer's, and a warning
        says so where they were chosen by evidence before. ``local_models`` takes the place of those of the fit; the
        semivariogram is then estimated anew.
        """
        check_is_fitted(self)
        return self._with_fit(refit(self._fit, params, local_models), self._frame)

    @with_threads_and_progress
    def append(self, X: Any, *, positions: Any = None, groups: Any = None, refresh: bool = False) -> Self:
        """Add observations to the fit, at the end of a series or anywhere else, and label all of them again.

        Algorithm 1 runs as in a fit on all observations, the new ones after the others, with the ``n_neighbors_``,
        ``min_samples_``, ``prior_``, ``semivariogram_``, ``margin_`` and ``eps_`` of this one. Only local models whose
        neighbourhood has changed are fitted; along time, with uniform weights, also those behind a new row in the middle of a
        series. Labels that were chosen by evidence are searched for again. Clusters keep the numbers of those before that
        they have most members of, and ``changed_share_`` is the share of old observations whose cluster is another one.
        Where something fails, the fit stays as it was.

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
            they are levels such as "5%", anew from all observations, which is worth it as a fit grows.

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
        check_value("refresh", refresh, Rule(flag=True))
        features, places = self._read_new(X, positions, groups)
        self._fit = append(self._fit, features, places, groups, refresh=bool(refresh))
        self._frame = self._frame.followed_by(CallerFrame.of(X))
        return self

    def with_provenance(self, provenance: Provenance | None) -> Self:
        """Return an estimator with the same fit, and where its observations came from, which files and reports tell."""
        check_is_fitted(self)
        if provenance is not None and not isinstance(provenance, Provenance):
            raise ValueError(f"provenance={provenance!r} must be a Provenance, or None")
        return self._with_fit(self._fit.having(provenance=provenance), self._frame)

    # ------------------------------------------------------------------ other labels

    @with_threads_and_progress
    def dbscan_clustering(self, eps: Any) -> Labels:
        """Return the labels that DBSCAN with a radius would give, all else being equal; far cheaper than a fit.

        Cores and their components are read off ``single_linkage_tree_``, which serves every radius; only the border is looked
        at anew. At ``eps_`` these are the labels of DBSCAN, where that is the clusterer and no number of clusters is set.
        """
        check_is_fitted(self)
        check_value("eps", eps, Rule(real=(0, np.inf)))
        return labels_with(self._fit, float(eps))

    @with_threads_and_progress
    def labels_for(self, n_clusters: Any) -> Labels:
        """Return the best labelling with some number of clusters, by evidence.

        For ``n_clusters_`` these are ``labels_``, where those come from evidence. Others are taken from ``alternatives_``, as
        the search has scored them: overlaps of regions are not resolved, and observations without a model have a cluster, too.
        Numbers that it has not looked at are searched for.
        """
        check_is_fitted(self)
        check_value("n_clusters", n_clusters, Rule(integer=(1, np.inf)))
        return labels_for(self._fit, int(n_clusters))

    # ------------------------------------------------------------------ new observations

    @with_threads_and_progress
    def predict(self, X: Any, *, positions: Any = None, groups: Any = None, return_probabilities: bool = False) -> Any:
        """Return the cluster of new observations, by the rule that made the labels; -1 for noise.

        Labels chosen by evidence have cluster models, which place every observation: along time by the likeliest path, that
        goes on from the labels of the fit, elsewhere by what neighbours suggest. A warning says where new observations are
        unlike anything in the fit. Labels of the clusterer have core observations: a new one gets a local model, and the
        cluster whose core observations it reaches first, within the cluster's radius; see :mod:`mcgta.clustering.membership`.

        A group not seen in the fit is a set of its own, and so are new rows without positions (of a fit without positions).
        An observation of the fit, given again at its position, keeps its label. ``X``, ``positions`` and ``groups`` are as in
        :meth:`fit`; for precomputed distances ``positions`` holds those to the rows of the fit, (M, N).

        Rows with missing values are treated by the ``missing`` of the fit: refused, labelled -1, or completed from the
        observations of the fit and from each other, the fit's going first where both are at one place.

        With ``return_probabilities`` the strength of membership of each is returned, too, as in ``probabilities_``.
        """
        check_is_fitted(self)
        check_value("return_probabilities", return_probabilities, Rule(flag=True))
        features, places = self._read_new(X, positions, groups)
        prediction = predict(self._fit, features, places, groups, with_strengths=bool(return_probabilities))
        return (prediction.labels, prediction.strengths) if return_probabilities else prediction.labels

    @with_threads_and_progress
    def predict_proba(self, X: Any, *, positions: Any = None, groups: Any = None) -> Array:
        """Return how probable each cluster is for new observations, (M, K), by the clusters' models; see :meth:`predict`.

        Rows that are left out because a value is missing have 0 throughout.
        """
        check_is_fitted(self)
        features, places = self._read_new(X, positions, groups)
        return predict_probabilities(self._fit, features, places, groups)

    # ------------------------------------------------------------------ tests

    @with_threads_and_progress
    def pair_test(self, i: Any, j: Any) -> PairTest:
        """Test whether observations ``i`` and ``j`` differ no more than is expected at their distance."""
        check_is_fitted(self)
        rows = [self._compared_rows(name, row) for name, row in (("i", i), ("j", j))]
        if any(row.ndim for row in rows):
            raise ValueError(f"i={i!r} and j={j!r} must be single rows")
        return pair_test(self._fit.derived.prepared.loss, int(rows[0]), int(rows[1]))

    @with_threads_and_progress
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
        check_testable(self._fit.settings, "p_value needs to know how much models differ by chance")
        one, two = np.broadcast_arrays(self._compared_rows("i", i), self._compared_rows("j", j))
        derived = self._fit.derived
        values = p_values(derived.prepared.loss, derived.significance, one.ravel(), two.ravel()).reshape(one.shape)
        return float(values) if values.ndim == 0 else values

    @with_threads_and_progress
    def goodness_of_fit(self, level: Any = None) -> GoodnessOfFit:
        """Count the pairs within clusters that pass the test, by distance. All of them are compared, however many there are.

        With a significance ``level`` (a number between 0 and 1, or a text such as "5%") it is also told how many of the pairs
        within clusters have a :meth:`p_value` above it; of more than 200,000 a sample.
        """
        check_is_fitted(self)
        share = None if level is None else self._read_level(level)
        derived = self._fit.derived
        loss = derived.prepared.loss
        labels = self._fit.labelling.labels[derived.prepared.comparable]
        if share is None:
            return goodness_of_fit(loss, labels)
        return goodness_of_fit(
            loss, labels, significance=derived.significance, level=share, random_state=self._fit.data.seed
        )

    # ------------------------------------------------------------------ what a fit has found

    @with_threads_and_progress
    def to_frame(self) -> Any:
        """Return the result as a frame: ``cluster``, ``probability`` and ``is_noise`` of each row.

        The frame is of the library that the features came in, and has the index of a pandas frame. Where features were an
        array it is of pandas, which must be installed. A file keeps neither: after :func:`mcgta.load` the frame is of pandas,
        and its index counts the rows.

        Examples
        --------
        >>> import pandas as pd
        >>> from mcgta import MCGTA
        >>> X = pd.DataFrame({"speed": [1.0, 1.2, 0.9, 5.0, 5.1, 4.9] * 5}, index=[f"row {k}" for k in range(30)])
        >>> MCGTA(n_neighbors=3, n_clusters=1).fit(X).to_frame().head(2)
               cluster  probability  is_noise
        row 0        0          1.0     False
        row 1        0          1.0     False
        """
        labels = self.labels_
        columns = {"cluster": labels, "probability": self.probabilities_, "is_noise": labels < 0}
        return self._frame.make(columns)

    @with_threads_and_progress
    def describe(self) -> Description:
        """Describe the clusters: size, what sets each apart with effect sizes, spells or places, and typical rows.

        Effect sizes are in the units of X. ``print`` shows it as a text, ``to_dict()`` is ready for JSON.

        Examples
        --------
        >>> from mcgta import MCGTA
        >>> from mcgta.datasets import make_series
        >>> data = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
        >>> print(MCGTA().fit(data.X).describe())
        2 clusters in 600 rows along time; noise 0 %
        cluster 0: 60 %, 358 rows, 3 spells, median 115 steps, longest 189 steps
            rather variable feature 4 (1.9 x the spread of the rest); ...
        cluster 1: 40 %, 242 rows, 2 spells, median 121 steps, longest 141 steps
            rather steady feature 4 (0.53 x the spread of the rest); ...
        """
        check_is_fitted(self)
        return describe(self._fit)

    @with_threads_and_progress
    def plot(self, ax: Any = None) -> Any:
        """Draw when or where clusters are: a timeline along time, a map in space; see :mod:`mcgta.plot` for other plots.

        Groups are strips one below another, or maps side by side where they would cover each other. Where positions cannot be
        drawn, such as of precomputed distances, the profiles of clusters are. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes to draw on; None is a new figure

        Returns
        -------
        the axes
        """
        check_is_fitted(self)
        return overview(self._fit, ax)

    @with_threads_and_progress
    def report(self, path: Any, *, force: bool = False, title: str | None = None) -> None:
        """Write what was found as one HTML file, and its values as JSON beside it.

        The page opens in any browser, needs nothing beside it, and loads nothing from a network: the verdict and its doubts, a
        timeline or a map, what sets each cluster apart, other numbers of clusters, the semivariogram, and how to repeat it.
        Equal fits give equal files, and each is replaced as a whole. Needs no matplotlib.

        Parameters
        ----------
        path : str or path
            Of the page, such as "report.html"; the values go to "report.json".
        force : bool, default=False
            Replace files that exist; else they are an error.
        title : str or None
            Of the page; the name of the input where that is known, else that of the file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from mcgta import MCGTA
        >>> from mcgta.datasets import make_series
        >>> data = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     MCGTA(n_neighbors=30, eps=0.5).fit(data.X).report(Path(folder) / "report.html")
        ...     print(sorted(path.name for path in Path(folder).iterdir()))
        ['report.html', 'report.json']
        """
        check_is_fitted(self)
        write_report(self._fit, path, force=force, title=title)

    # ------------------------------------------------------------------ for scikit-learn, files and pickles

    def __sklearn_is_fitted__(self) -> bool:
        return "_fit" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing in ("drop", "impute")
        return tags

    @classmethod
    def _with_fit(cls, fit: Fit, frame: CallerFrame | None = None) -> Self:
        """Return an estimator that has a fit, and knows the frame of its features where that is given."""
        new = cls(**fit.asked.params)
        new._fit = fit
        new._frame = CallerFrame() if frame is None else frame
        return new

    def _archive_state(self) -> dict[str, Any]:
        check_is_fitted(self)
        return state_of(self._fit)

    @classmethod
    def _from_archive_state(cls, state: dict[str, Any]) -> Self:
        return cls._with_fit(read_fit(state))

    def _read_new(self, X: Any, positions: Any, groups: Any) -> tuple[Array, Any]:
        """Check the features of new observations against those of the fit; return them, and the positions to read."""
        features = read_features(self, X, missing=self._fit.asked.missing, reset=False)
        return features, align_positions(X, positions, groups, metric=self._fit.data.positions.metric)

    def _compared_rows(self, name: str, rows: Any) -> Index:
        """Check rows of observations with a model; return their places in the loss."""
        given = np.asarray(rows)
        fit = self._fit
        count = fit.n_rows
        if given.dtype.kind not in "iu" and given.size:
            raise ValueError(f"{name}={rows!r} must be rows, integers from 0 to {count - 1}")
        wrong = given[(given < 0) | (given >= count)]
        if wrong.size:
            raise ValueError(f"{name}={wrong.flat[0]} is not a row: there are {count} observations")
        failed = fit.user_failed
        bad = given[np.isin(given, list(failed))]
        if bad.size:
            raise ValueError(f"{name}={bad.flat[0]} has no model: {failed[int(bad.flat[0])]}")
        unsorted = given.astype(np.int64) if fit.data.rows is None else np.searchsorted(fit.data.rows, given)
        return np.searchsorted(fit.derived.prepared.comparable, fit.data.back[unsorted])

    def _read_level(self, level: Any) -> float:
        """Check a significance level, and that there can be one."""
        check_value("level", level, Rule(real=(0, 1), above=True, below=True, level=True))
        check_testable(self._fit.settings, f"level={level!r} is a significance level")
        return read_level(level) or float(level)


def _warn_of_positions_as_target(y: Any) -> None:
    """Point out what looks like positions in the place of the ignored target."""
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    if y is not None and ((np.ndim(y) == 2 and np.shape(y)[1] > 1) or kind in ("M", "m") or hasattr(y, "geom_type")):
        warn("y is ignored, and looks like positions; did you mean fit(X, positions=...)?")
