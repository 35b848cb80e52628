"""Algorithm 1 of the paper, once.

:func:`read` checks and sorts observations, :func:`prepare` runs lines 1 to 9, :func:`cluster` line 10. A fit, a refit, added
observations, the settings that a search tries and those of a grid all go through these, and differ in what they use again: a
:class:`StageCache` holds the results of stages by the settings that each depends on.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mcgta.clustering.backend import Backend, choose_backend, reconsider
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clusterer import ClusterOptions
from mcgta.clustering.clustering import Clustering
from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.clustering.tree_search import TreeSearch
from mcgta.inference.null_distribution import draw_null
from mcgta.inference.significance import Significance
from mcgta.observations import DEFAULT_NEIGHBORS, Observations, check_columns, check_neighbors, sort_observations
from mcgta.positions.metrics import get_metric
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.config import get_config
from mcgta.runtime.memory import budget, check_memory, count_tables, needed_bytes
from mcgta.runtime.progress import note, stage
from mcgta.runtime.rules import draw_seed, read_level
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.settings import Settings
from mcgta.stages.dissimilarity.compare import compare_features, compare_models
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity
from mcgta.stages.lags import check_lags_of
from mcgta.stages.local_models import LocalModels, fit_local_models
from mcgta.stages.loss import Loss
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.stages.prior import GaussianMixturePrior, MixturePrior
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.empirical import empirical_semivariogram
from mcgta.stages.semivariogram.fitting import fit_semivariogram
from mcgta.stages.units import choose_spreads


@dataclass(frozen=True, eq=False)
class Prepared:
    """What Algorithm 1 has computed before the clustering, in canonical order.

    Attributes
    ----------
    data : the observations
    settings : none of which is left open but the radius
    prior, models : None where there are none
    kept : the rows of ``data`` that can be compared; the loss is about these
    failed : why others cannot, by the user's rows
    loss : which holds dissimilarity, positions and semivariogram
    significance : what differs by more than chance; None where no significance level is asked for
    """

    data: Observations
    settings: Settings
    prior: MixturePrior | None
    models: LocalModels | None
    kept: Index
    failed: dict[int, str]
    loss: Loss
    significance: Significance | None = None

    @property
    def rows(self) -> Index:
        """The user's rows of those that can be compared."""
        return self.data.order[self.kept]

    @property
    def min_samples(self) -> int:
        """Observations that make a row core, itself included."""
        given = self.settings.min_samples
        return self.data.n_neighbors if given == "auto" else int(given)

    @property
    def eps(self) -> float | None:
        """The radius: as set, by its significance level, or what chance suggests; None where the clusterer is to choose it."""
        level = read_level(self.settings.eps)
        if level is not None:
            assert self.significance is not None
            return self.significance.radius(level)
        if self.settings.eps != "auto":
            return float(self.settings.eps)
        suggest = self.settings.kind.suggested_eps
        if not self.settings.algorithm.needs_eps or self.models is None or suggest is None:
            return None
        return suggest(self.models, self.data.n_neighbors)

    @property
    def options(self) -> ClusterOptions:
        """Options of the clusterer."""
        return ClusterOptions(self.eps, self.min_samples, smallest_cluster(self.settings))

    def spread_out(self, labels: Labels) -> Labels:
        """Return labels of all rows, given those of the rows that can be compared; others are noise."""
        whole = np.full(len(self.data.positions), -1, dtype=np.int64)
        whole[self.kept] = labels
        return whole


@dataclass(eq=False)
class StageCache:
    """Results of stages on the same observations, by the settings that they depend on.

    Attributes
    ----------
    priors, models, dissimilarities, semivariograms, significances, trees : one for each stage that is worth keeping
    """

    priors: dict[Any, MixturePrior | None] = field(default_factory=dict)
    models: dict[Any, LocalModels | None] = field(default_factory=dict)
    dissimilarities: dict[Any, Dissimilarity] = field(default_factory=dict)
    semivariograms: dict[Any, Semivariogram] = field(default_factory=dict)
    significances: dict[Any, Significance] = field(default_factory=dict)
    trees: dict[Any, TreeSearch] = field(default_factory=dict)


def models_key(settings: Settings, data: Observations) -> tuple[Any, ...]:
    """Return what local models depend on; the neighbours by their number, which "auto" leaves to the data."""
    definite = settings.kind.name if settings.kind.needs_definite else None
    return (data.n_neighbors, definite, *settings.having(n_neighbors=data.n_neighbors).key("models"))


def dissimilarity_key(settings: Settings, data: Observations) -> tuple[Any, ...]:
    """Return what dissimilarities, and trees over the models, depend on."""
    return (*models_key(settings, data), *settings.key("dissimilarity"))


def semivariogram_key(settings: Settings, data: Observations) -> tuple[Any, ...]:
    """Return what the semivariogram depends on."""
    return (*dissimilarity_key(settings, data), *settings.key("semivariogram"))


def read(X: Array, names: Any, positions: Any, groups: Any, settings: Settings) -> Observations:
    """Check observations against the settings, and bring them into canonical order."""
    check_columns(X, names, settings.kind)
    places = read_positions(positions, X.shape[0], groups=groups, metric=settings.metric)
    seed = draw_seed(settings.random_state)
    data = sort_observations(
        X,
        places,
        n_neighbors=settings.n_neighbors,
        lags=settings.lags,
        seed=seed,
        spreads=choose_spreads(X, settings.standardize),
    )
    check_neighbors(
        data.n_neighbors,
        data.X.shape[1],
        covariance=settings.covariance,
        alpha=settings.alpha,
        prior=settings.prior,
        dissimilarity=settings.kind,
    )
    return data


def prepare(
    data: Observations, settings: Settings, cache: StageCache | None = None, *, backend: Backend, quiet: bool = False
) -> Prepared:
    """Run lines 1 to 9 of Algorithm 1; stages that are in the cache are not run again.

    ``quiet`` leaves warnings to another run with the same settings.
    """
    cache = StageCache() if cache is None else cache
    prior = _fit_prior(data, settings, cache)
    models = _fit_models(data, settings, prior, cache)  # lines 1-3: neighbourhoods and local models
    kept, failed = _comparable(data, models, settings, quiet=quiet)
    places = data.positions.take(kept)
    dissimilarity = _compare(data, models, kept, settings, cache)  # lines 4-5
    if backend.name == "table":
        dissimilarity.matrix()
    semivariogram = _fit_semivariogram(data, dissimilarity, places, settings, cache, quiet=quiet)  # lines 6-8
    significance = _find_significance(data, models, kept, settings, cache)
    margin = _choose_margin(settings, significance, places, semivariogram, data.seed)
    loss = make_loss(dissimilarity, places, semivariogram, settings, margin)  # line 9
    return Prepared(data, settings, prior, models, kept, failed, loss, significance)


def search_neighbors(
    prepared: Prepared, backend: Backend, cache: StageCache | None = None
) -> tuple[BruteForceSearch | TreeSearch, Backend]:
    """Return the neighbour search on the loss, and its backend: a tree is given up where its bounds do not help."""
    cache = StageCache() if cache is None else cache
    search = open_search(prepared, backend, cache)
    if not isinstance(search, TreeSearch):
        return search, backend
    eps = prepared.eps if prepared.settings.algorithm.needs_eps else None
    with stage("probe"):  # asks for the neighbours of some observations
        backend = reconsider(backend, search.open_share(prepared.min_samples, eps=eps))
    if backend.name == "tree":
        return search, backend
    note(str(backend))
    return open_search(prepared, backend, StageCache()), backend


def open_search(prepared: Prepared, backend: Backend, cache: StageCache) -> BruteForceSearch | TreeSearch:
    """Return the neighbour search of a backend; a tree over the same models is used again."""
    key = dissimilarity_key(prepared.settings, prepared.data)
    if backend.name == "tree" and key in cache.trees:
        return replace(cache.trees[key], loss=prepared.loss)
    search = backend.make_search(prepared.loss)
    if isinstance(search, TreeSearch):
        cache.trees[key] = search
    return search


def cluster(prepared: Prepared, search: NeighborSearch, *, known_core: Labels | None = None) -> Clustering:
    """Run line 10 of Algorithm 1, the clusterer; where a number of clusters is asked for, it is cut there.

    ``known_core`` tells DBSCAN of rows whether they are core (1), not (0), or have to be counted (-1).
    """
    settings = prepared.settings
    options = replace(prepared.options, known_core=known_core)
    if settings.n_clusters == "auto" or not settings.wants_clusterer:
        return settings.algorithm.cluster(search, options)
    return settings.algorithm.cut(search, options, int(settings.n_clusters))


def smallest_cluster(settings: Settings) -> int | None:
    """Return the least size of a cluster; None where the clusterer is to choose it."""
    size = settings.min_cluster_size
    return None if size is None or isinstance(size, str) else int(size)


def models_on(
    X: Array, neighborhoods: Neighborhoods | TimeWindows, settings: Settings, prior: MixturePrior | None, seed: int
) -> LocalModels:
    """Fit a model on each neighbourhood."""
    models = fit_local_models(
        X, neighborhoods, covariance=settings.covariance, alpha=settings.alpha, prior=prior, random_state=seed
    )
    return _definite(models, settings)


def make_loss(
    dissimilarity: Dissimilarity, places: Positions, semivariogram: Semivariogram, settings: Settings, margin: float
) -> Loss:
    """Return the loss of every pair (line 9)."""
    return Loss(dissimilarity, places, semivariogram, float(settings.beta), margin, settings.penalty)


def compare(X: Array, models: LocalModels | None, rows: Index, settings: Settings, seed: int) -> Dissimilarity:
    """Return the dissimilarity of observations (lines 4-5): by their models, their features, or the user's table of rows."""
    if models is not None:
        return compare_models(models, settings.kind, random_state=seed)
    if settings.kind.compares == "rows":
        return settings.kind.build(rows, seed)
    return compare_features(X, settings.kind)


def choose_backend_for(shape: tuple[int, ...], settings: Settings, *, neighbors: int = 0) -> Backend:
    """Choose how to search neighbours among observations of this shape (N, d), and refuse what does not fit into memory.

    ``neighbors`` are listed of each observation; see :func:`listed_neighbors`.
    """
    count, features = shape
    check_lags_of(settings.lags, count)
    distances = get_metric(settings.metric).has_matrix
    size = (count, features * (settings.lags + 1))
    room = budget(get_config().max_memory)
    by_object = settings.algorithm.needs_table
    tables = count_tables(dense=True, distances=distances, by_object=by_object)
    backend = choose_backend(
        count,
        clusterer=settings.algorithm,
        dissimilarity=settings.kind,
        measured=settings.beta == 0 or not distances,
        fits=room is None or needed_bytes(*size, tables=tables, neighbors=neighbors) <= room,
    )
    tables = count_tables(dense=backend.name == "table", distances=distances, by_object=by_object)
    try:
        check_memory(*size, tables=tables, neighbors=neighbors, budget=room)
    except MemoryError as error:
        if settings.lags == 0:
            raise
        raise MemoryError(f"lags={settings.lags} makes {size[1]} features of {features}: {error}") from None
    return backend


def listed_neighbors(positions: Any, settings: Settings) -> int:
    """Return how many neighbours of each observation are listed; none along time, where neighbourhoods are windows."""
    chain = get_metric(settings.metric).may_be_chain(positions) and settings.weights == "uniform"
    if chain or not settings.kind.fits_models:
        return 0
    return DEFAULT_NEIGHBORS if settings.n_neighbors == "auto" else int(settings.n_neighbors)


def _fit_prior(data: Observations, settings: Settings, cache: StageCache) -> MixturePrior | None:
    """Fit the global mixture, where one is wanted."""
    if settings.prior is None or not settings.kind.fits_models:
        return None
    key = models_key(settings, data)
    if key not in cache.priors:
        options = GaussianMixturePrior() if settings.prior == "gmm" else settings.prior
        with stage("prior"):
            cache.priors[key] = options.fit(data.X, data.seed)
    return cache.priors[key]


def _fit_models(
    data: Observations, settings: Settings, prior: MixturePrior | None, cache: StageCache
) -> LocalModels | None:
    """Find neighbourhoods and fit a model on each; None for dissimilarities of features."""
    if not settings.kind.fits_models:
        return None
    key = models_key(settings, data)
    if key not in cache.models:
        with stage("neighbourhoods"):
            neighborhoods = find_neighborhoods(data.positions, data.n_neighbors, weights=settings.weights)
        cache.models[key] = models_on(data.X, neighborhoods, settings, prior, data.seed)
    return cache.models[key]


def _definite(models: LocalModels, settings: Settings) -> LocalModels:
    return models.require_definite(settings.kind.name) if settings.kind.needs_definite else models


def _comparable(
    data: Observations, models: LocalModels | None, settings: Settings, *, quiet: bool
) -> tuple[Index, dict[int, str]]:
    """Return the rows that can be compared, and why others cannot, by the user's rows; warn of these unless quiet."""
    failures = models.failures if models is not None else settings.kind.incomparable(data.X)
    kept = np.setdiff1d(np.arange(data.order.size), list(failures))
    reasons = dict(sorted((int(data.order[row]), reason) for row, reason in failures.items()))
    if not reasons or (quiet and kept.size >= 2):
        return kept, reasons
    row, reason = next(iter(reasons.items()))
    told = f"{len(reasons)} of {data.order.size} observations have no model"
    if kept.size < 2:
        raise ValueError(f"{told}, which leaves nothing to cluster; row {row}: {reason}")
    warn(f"{told} and are labelled noise; row {row}: {reason}. failed_ lists them all")
    return kept, reasons


def _compare(
    data: Observations, models: LocalModels | None, kept: Index, settings: Settings, cache: StageCache
) -> Dissimilarity:
    key = dissimilarity_key(settings, data)
    if key not in cache.dissimilarities:
        chosen = None if models is None else models.take(kept)
        cache.dissimilarities[key] = compare(data.X[kept], chosen, data.order[kept], settings, data.seed)
    return cache.dissimilarities[key]


def _fit_semivariogram(
    data: Observations,
    dissimilarity: Dissimilarity,
    places: Positions,
    settings: Settings,
    cache: StageCache,
    *,
    quiet: bool,
) -> Semivariogram:
    """Return the semivariogram, unless one was passed in."""
    if isinstance(settings.semivariogram, Semivariogram):
        _check_unit(settings.semivariogram, places)
        return settings.semivariogram
    key = semivariogram_key(settings, data)
    if key not in cache.semivariograms:
        empirical = empirical_semivariogram(
            dissimilarity,
            places,
            bins=settings.bins,
            max_lag=settings.max_lag,
            error=get_config().semivariogram_error,
            random_state=data.seed,
        )
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", UserWarning)
            cache.semivariograms[key] = fit_semivariogram(
                empirical, settings.semivariogram, adapt=settings.max_lag is None
            )
    return cache.semivariograms[key]


def _check_unit(semivariogram: Semivariogram, places: Positions) -> None:
    if semivariogram.unit != places.unit:
        units = [unit or "the unit of the input" for unit in (semivariogram.unit, places.unit)]
        raise ValueError(f"semivariogram has distances in {units[0]}, but positions are in {units[1]}")


def _find_significance(
    data: Observations, models: LocalModels | None, kept: Index, settings: Settings, cache: StageCache
) -> Significance | None:
    """Return what differs by more than chance, where a significance level is asked for or it is known already."""
    key = dissimilarity_key(settings, data)
    if key not in cache.significances and settings.asks_for_levels:
        assert models is not None
        cache.significances[key] = find_significance(data, models, kept, settings)
    return cache.significances.get(key)


def find_significance(data: Observations, models: LocalModels, kept: Index, settings: Settings) -> Significance:
    """Find out how much models of one Gaussian differ, for the rows of ``data`` that can be compared."""
    with stage("neighbourhoods"):
        near = find_neighborhoods(data.positions, data.n_neighbors, weights=settings.weights)
    if not near.complete[kept].all():
        raise ValueError(
            f"n_neighbors={data.n_neighbors}: local_models has models of observations that do not have so many neighbours, "
            "so there is no telling how much they differ by chance"
        )

    def fit(X: Array, neighborhoods: Neighborhoods) -> LocalModels:
        return models_on(X, neighborhoods, settings, None, data.seed)

    null = draw_null(models, near, fit, slow=settings.estimator.in_processes, random_state=data.seed)
    assert settings.kind.chance_scale is not None
    return Significance(null, near.take(kept), settings.kind.chance_scale(models.take(kept)))


def _choose_margin(
    settings: Settings, significance: Significance | None, places: Positions, semivariogram: Semivariogram, seed: int
) -> float:
    """Return the margin, by what models of one Gaussian differ by where it is given as a level."""
    level = read_level(settings.margin)
    if level is None:
        return float(settings.margin)
    assert significance is not None
    return significance.margin(level, semivariogram, places, random_state=seed)
