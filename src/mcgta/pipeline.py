"""Algorithm 1 with its options: each line of it as a method, bound to the parameters of one fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.covariance import ShrunkCovariance

from mcgta.clustering.backend import Backend, choose_backend, reconsider
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clustering import Clustering, NeighborSearch, cluster, cluster_by_object, of_members
from mcgta.clustering.labels import number
from mcgta.clustering.tree_search import TreeSearch
from mcgta.inference.null_distribution import draw_null
from mcgta.inference.significance import Significance
from mcgta.observations import DEFAULT_NEIGHBORS, Observations, check_columns, check_neighbors, sort_observations
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.memory import budget, check_memory, count_tables, needed_bytes
from mcgta.runtime.progress import note, stage
from mcgta.runtime.rules import draw_seed, read_level
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.noise import assign_noise
from mcgta.settings import check_parameters
from mcgta.stages.covariance import get_covariance
from mcgta.stages.dissimilarity.compare import compare_features, compare_models
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.registry import get_dissimilarity
from mcgta.stages.lags import check_lags_of
from mcgta.stages.local_models import LocalModels, fit_local_models
from mcgta.stages.loss import Loss
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.stages.prior import GaussianMixturePrior, MixturePrior
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.empirical import empirical_semivariogram
from mcgta.stages.semivariogram.fitting import fit_semivariogram


@dataclass(frozen=True, eq=False)
class Stages:
    """What a fit has computed before the clustering, in canonical order.

    Attributes
    ----------
    data : the observations
    prior, models : None where there are none
    kept : the rows of ``data`` that can be compared; the loss is about these
    failed : why others cannot, by the user's rows
    loss : which holds dissimilarity, positions and semivariogram
    cores : of those that the loss is about, whether they are known to be core (1) or not (0), or have to be counted
        out (-1), for DBSCAN; None where nothing is known
    significance : what differs by more than chance; None where nobody has asked
    """

    data: Observations
    prior: MixturePrior | None
    models: LocalModels | None
    kept: Index
    failed: dict[int, str]
    loss: Loss
    cores: Labels | None = None
    significance: Significance | None = None

    @property
    def rows(self) -> Index:
        """The user's rows of those that can be compared."""
        return self.data.order[self.kept]


class Algorithm:
    """The steps of a fit, with the estimator's parameters as they were when it began.

    Prediction and refitting use the steps of the fit, so a parameter set later on the estimator takes effect with its
    next fit and not before. ``asked`` are the parameters as the user set them, ``chosen`` those found for what was left
    open, and ``params`` both.
    """

    def __init__(self, asked: Mapping[str, Any], chosen: Mapping[str, Any] | None = None) -> None:
        self.asked, self.chosen = dict(asked), dict(chosen or {})
        self.params = {**self.asked, **self.chosen}
        check_parameters(self.params)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["params"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def estimator(self) -> Any:
        """The estimator of covariances, by name or with its shrinkage."""
        return ShrunkCovariance(shrinkage=self.shrinkage) if self.covariance == "shrunk" else self.covariance

    @property
    def kind(self) -> Kind:
        """The dissimilarity with its capabilities; "auto" chooses among kinds that have those of "wasserstein2"."""
        return get_dissimilarity("wasserstein2" if self.dissimilarity == "auto" else self.dissimilarity)

    def having(self, **params: Any) -> Algorithm:
        """Return the same with these parameters chosen."""
        return Algorithm(self.asked, {**self.chosen, **params})

    def read(self, X: Array, names: Any, positions: Any, groups: Any) -> Observations:
        """Check the observations against the parameters, and sort them."""
        check_columns(X, names, self.dissimilarity)
        places = read_positions(
            positions, X.shape[0], groups=groups, metric=self.metric, metric_params=self.metric_params
        )
        seed = draw_seed(self.random_state)
        data = sort_observations(X, places, n_neighbors=self.n_neighbors, lags=self.lags, seed=seed)
        options = {name: self.params[name] for name in ("covariance", "alpha", "prior", "dissimilarity")}
        check_neighbors(data.n_neighbors, data.X.shape[1], **options)
        if self.local_models is not None and self.local_models.means.shape != data.X.shape:
            raise ValueError(
                f"local_models holds (observations, features) {self.local_models.means.shape}, but X with lags={self.lags} "
                f"has {data.X.shape}"
            )
        return data

    def fit_prior(self, data: Observations) -> MixturePrior | None:
        """Fit the global mixture, where one is wanted."""
        if self.prior is None or not self.kind.fits_models:
            return None
        if self.local_models is not None and self.local_models.prior is not None:
            known = self.local_models.prior
            return known if known.strength == self.prior_strength else replace(known, strength=self.prior_strength)
        with stage("prior"):
            return GaussianMixturePrior(self.prior_components, self.prior_strength).fit(data.X, data.seed)

    def fit_models(self, data: Observations, prior: MixturePrior | None) -> LocalModels | None:
        """Find neighbourhoods and fit a model on each, unless models were passed in; None for dissimilarities of features."""
        if not self.kind.fits_models:
            return None
        if self.local_models is not None:
            return self._definite(self.local_models.take(data.order))
        with stage("neighbourhoods"):
            neighborhoods = find_neighborhoods(data.positions, data.n_neighbors, weights=self.weights)
        return self.models_on(data.X, neighborhoods, prior, data.seed)

    def models_on(
        self, X: Array, neighborhoods: Neighborhoods | TimeWindows, prior: MixturePrior | None, seed: int
    ) -> LocalModels:
        """Fit a model on each neighbourhood."""
        models = fit_local_models(
            X,
            neighborhoods,
            covariance=self.estimator,
            alpha=self.alpha,
            prior=prior,
            random_state=seed,
        )
        return self._definite(models)

    def _definite(self, models: LocalModels) -> LocalModels:
        return models.require_definite(self.dissimilarity) if self.kind.needs_definite else models

    def comparable(
        self, data: Observations, models: LocalModels | None, *, quiet: bool = False
    ) -> tuple[Index, dict[int, str]]:
        """Return the (sorted) rows that can be compared, and why others cannot, by the user's rows; warn unless quiet."""
        failures = models.failures if models is not None else self.kind.incomparable(data.X)
        kept = np.setdiff1d(np.arange(data.order.size), list(failures))
        reasons = dict(sorted((int(data.order[row]), reason) for row, reason in failures.items()))
        if not reasons or (quiet and kept.size >= 2):
            return kept, reasons
        row, reason = next(iter(reasons.items()))
        said = f"{len(reasons)} of {data.order.size} observations have no model"
        if kept.size < 2:
            raise ValueError(f"{said}, which leaves nothing to cluster; row {row}: {reason}")
        warn(f"{said} and are labelled noise; row {row}: {reason}. failed_ lists them all", UserWarning)
        return kept, reasons

    def compare(self, X: Array, models: LocalModels | None, seed: int) -> Dissimilarity:
        """Return the dissimilarity of the observations, by their models or their features."""
        if models is None:
            return compare_features(X, self.dissimilarity)
        return compare_models(models, self.dissimilarity, random_state=seed)

    def fit_semivariogram(self, dissimilarity: Dissimilarity, places: Positions, seed: int) -> Semivariogram:
        """Return the semivariogram, unless one was passed in."""
        if isinstance(self.semivariogram, Semivariogram):
            if self.semivariogram.unit != places.unit:
                units = [unit or "the unit of the input" for unit in (self.semivariogram.unit, places.unit)]
                raise ValueError(f"semivariogram has distances in {units[0]}, but positions are in {units[1]}")
            return self.semivariogram
        empirical = empirical_semivariogram(
            dissimilarity,
            places,
            bins=self.bins,
            max_lag=self.max_lag,
            error=self.semivariogram_error,
            random_state=seed,
        )
        return fit_semivariogram(empirical, self.semivariogram, adapt=self.max_lag is None)

    @property
    def asks_for_levels(self) -> bool:
        """Whether the margin or the radius is given as a significance level."""
        return read_level(self.margin) is not None or read_level(self.eps) is not None

    def significance(self, data: Observations, models: LocalModels | None, kept: Index) -> Significance:
        """Find out how much models of one Gaussian differ, for the rows of ``data`` that can be compared."""
        assert models is not None
        with stage("neighbourhoods"):
            near = find_neighborhoods(data.positions, data.n_neighbors, weights=self.weights)
        if not near.complete[kept].all():
            raise ValueError(
                f"n_neighbors={data.n_neighbors}: local_models has models of observations that do not have so many neighbours, "
                "so there is no telling how much they differ by chance"
            )

        def fit(X: Array, neighborhoods: Neighborhoods) -> LocalModels:
            return self.models_on(X, neighborhoods, None, data.seed)

        null = draw_null(models, near, fit, slow=get_covariance(self.covariance).in_processes, random_state=data.seed)
        assert self.kind.chance_scale is not None
        return Significance(null, near.take(kept), self.kind.chance_scale(models.take(kept)))

    def choose_margin(
        self, significance: Significance | None, places: Positions, semivariogram: Semivariogram, seed: int
    ) -> float:
        """Return the margin, by way of what models of one Gaussian differ where it is given as a level."""
        level = read_level(self.margin)
        if level is None:
            return float(self.margin)
        assert significance is not None
        return significance.margin(level, semivariogram, places, random_state=seed)

    def loss(
        self, dissimilarity: Dissimilarity, places: Positions, semivariogram: Semivariogram, margin: float
    ) -> Loss:
        """Return the loss of every pair."""
        options = (float(self.beta), margin, bool(self.hinge), bool(self.within_range))
        return Loss(dissimilarity, places, semivariogram, *options)

    def choose_backend(self, count: int, features: int, *, neighbors: int = 0) -> Backend:
        """Choose how to cluster that many observations, and refuse what does not fit into memory.

        ``neighbors`` are to be listed of each; see :meth:`listed_neighbors`.
        """
        check_lags_of(self.lags, count)
        distances = self.metric == "precomputed" or callable(self.metric)
        size, room = (count, features * (self.lags + 1)), budget(self.max_memory)
        whole = count_tables(self.clusterer, dense=True, distances=distances)
        backend = choose_backend(
            count,
            clusterer=self.clusterer,
            dissimilarity=self.dissimilarity,
            measured=self.beta == 0 or not distances,
            fits=room is None or needed_bytes(*size, tables=whole, neighbors=neighbors) <= room,
        )
        tables = count_tables(self.clusterer, dense=backend.name == "dense", distances=distances)
        try:
            check_memory(*size, tables=tables, neighbors=neighbors, budget=room)
        except MemoryError as error:
            if self.lags == 0:
                raise
            raise MemoryError(f"lags={self.lags} makes {size[1]} features of {features}: {error}") from None
        return backend

    def listed_neighbors(self, positions: Any) -> int:
        """Return how many neighbours of each observation are listed; none along time, where neighbourhoods are windows."""
        if not self.kind.fits_models or self.local_models is not None:
            return 0
        shape: tuple[int, ...] = () if positions is None else np.shape(positions)
        along_time = self.metric in ("auto", "time") and (len(shape) < 2 or shape[1] == 1)
        if along_time and not hasattr(positions, "geom_type") and self.weights == "uniform":
            return 0
        return DEFAULT_NEIGHBORS if self.n_neighbors == "auto" else int(self.n_neighbors)

    def look_up(self, backend: Backend, loss: Loss, tree: TreeSearch | None) -> BruteForceSearch | TreeSearch:
        """Return who tells which observations are near each other; ``tree`` is one of the same models, if there is one."""
        if backend.name == "dense":
            return BruteForceSearch.of_table(loss.matrix())
        if backend.name == "tiled":
            return BruteForceSearch.of(loss)
        if tree is not None:
            return replace(tree, loss=loss)
        with stage("tree"):
            return TreeSearch.of(loss)

    def find_near(
        self, backend: Backend, stages: Stages, tree: TreeSearch | None
    ) -> tuple[BruteForceSearch | TreeSearch, Backend]:
        """Return who tells which observations are near each other, and how: the tree is given up where it does not pay."""
        near = self.look_up(backend, stages.loss, tree)
        if not isinstance(near, TreeSearch):
            return near, backend
        eps = float(self.choose_eps(stages)) if self.clusterer == "dbscan" else None
        with stage("probe"):  # asks some observations
            backend = reconsider(backend, near.open_share(self.dense(stages.data.n_neighbors), eps=eps))
        if backend.name != "tree":
            note(str(backend))
            near = self.look_up(backend, stages.loss, None)
        return near, backend

    def cluster(self, near: NeighborSearch, stages: Stages) -> tuple[Clustering, int]:
        """Cluster by what is near; return the pairs compared, too."""
        if not isinstance(self.clusterer, str):
            assert isinstance(near, BruteForceSearch)
            assert near.table is not None
            return cluster_by_object(near.table, self.clusterer), 0
        return cluster(
            near,
            self.clusterer,
            eps=self.choose_eps(stages),
            min_samples=self.dense(stages.data.n_neighbors),
            min_cluster_size=self.min_cluster_size,
            known=stages.cores,
        )

    def conclude(self, near: NeighborSearch | None, stages: Stages, refined: Labels | None) -> tuple[Clustering, int]:
        """Cluster, or take refined labels of all observations instead; noise is given to clusters where that is wanted."""
        if refined is not None:
            eps = self.choose_eps(stages) if isinstance(self.clusterer, str) else np.nan
            return of_members(refined[stages.kept], np.nan if eps == "auto" else float(eps)), 0
        assert near is not None
        clustering, exact = self.cluster(near, stages)
        labels = self.place_noise(clustering.labels, stages)
        if labels is not clustering.labels:
            clustering = replace(
                of_members(labels, clustering.eps), ordering=clustering.ordering, reachability=clustering.reachability
            )
        return clustering, exact

    def place_noise(self, labels: Labels, stages: Stages) -> Labels:
        """Give noise to clusters, where that is wanted and there are both; labels are of those that the loss is about."""
        if self.noise != "assign" or (labels >= 0).all() or (labels < 0).all():
            return labels
        with stage("noise"):
            return number(assign_noise(stages.data.X[stages.kept], stages.loss.positions, labels))

    def dense(self, n_neighbors: int) -> int:
        """Return the observations that make a place dense."""
        return n_neighbors if self.min_samples == "auto" else int(self.min_samples)

    def choose_eps(self, stages: Stages) -> float | str:
        """Return the radius where the user gives a level, or leaves it to us and the clusterer needs one."""
        models, level = stages.models, read_level(self.eps)
        if level is not None:
            assert stages.significance is not None
            return stages.significance.radius(level)
        suggested_eps = self.kind.suggested_eps
        if self.eps != "auto" or self.clusterer != "dbscan" or models is None or suggested_eps is None:
            return self.eps
        return suggested_eps(models, stages.data.n_neighbors)
