"""Algorithm 1 of the paper, once.

:func:`read` checks and sorts observations, :func:`prepare` runs lines 1 to 10, :func:`cluster` line 11. A fit, a refit, added
observations, the settings that a search tries and those of a grid all go through these, and differ in what they use again: a
:class:`StageCache` holds the results of stages by the settings that each depends on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
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
from mcgta.observations.observations import (
    DEFAULT_NEIGHBORS,
    Observations,
    check_columns,
    check_neighbors,
    sort_observations,
)
from mcgta.observations.reduction import choose_reduction, count_components
from mcgta.positions.metrics import get_metric
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.memory import MemoryNeed, budget
from mcgta.runtime.progress import note, stage
from mcgta.runtime.random import draw_seed
from mcgta.runtime.rules import read_level
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.settings import Settings
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity
from mcgta.stages.lags import check_lags_of
from mcgta.stages.local_mixtures import fit_local_mixtures
from mcgta.stages.local_models import LocalModels, fit_local_models
from mcgta.stages.loss import Loss
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.stages.prior import GaussianMixturePrior, MixturePrior, fit_shared_components
from mcgta.stages.semivariogram.binning import is_count
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
    settings : of this run; "auto" is left for what the data decide: neighbours, what makes a row core, and the radius
    prior, models : None where there are none
    comparable : the rows of ``data`` that can be compared; the loss is about these
    failed : why others cannot, by the user's rows
    loss : which holds dissimilarity, positions and semivariogram
    significance : what differs by more than chance; None where no significance level is asked for
    """

    data: Observations
    settings: Settings
    prior: MixturePrior | None
    models: LocalModels | None
    comparable: Index
    failed: dict[int, str]
    loss: Loss
    significance: Significance | None = None

    @property
    def rows(self) -> Index:
        """The unsorted rows of those that can be compared."""
        return self.data.order[self.comparable]

    @cached_property
    def options(self) -> ClusterOptions:
        """Options of the clusterer, values that the data decide filled in."""
        settings = self.settings
        size = settings.min_cluster_size
        return ClusterOptions(
            self._radius(),
            count_min_samples(settings, self.data),
            None if size is None or size == "auto" else int(size),
        )

    def _radius(self) -> float | None:
        """Return the radius: as set, by its significance level, or what chance suggests; None where the clusterer chooses."""
        level = read_level(self.settings.eps)
        if level is not None:
            assert self.significance is not None
            return self.significance.radius(level)
        if self.settings.eps != "auto":
            return float(self.settings.eps)
        suggest = self.settings.dissimilarity_kind.suggested_eps
        if not self.settings.clustering_algorithm.needs_eps or self.models is None or suggest is None:
            return None
        return suggest(self.models, self.data.n_neighbors)

    def spread_out(self, labels: Labels) -> Labels:
        """Return labels of all rows, given those of the rows that can be compared; others are noise."""
        whole = np.full(len(self.data.positions), -1, dtype=np.int64)
        whole[self.comparable] = labels
        return whole


def count_min_samples(settings: Settings, data: Observations) -> int:
    """Return how many observations make a row core, itself included; as many as make a neighbourhood where that is open."""
    return data.n_neighbors if settings.min_samples == "auto" else int(settings.min_samples)


class StageCache:
    """Results of stages on the same observations, by what they are and the settings that they depend on."""

    def __init__(self) -> None:
        self._results: dict[tuple[Any, ...], Any] = {}

    def get(self, name: str, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return a result by its name and :func:`stage_key`, made if it is not there."""
        if (name, key) not in self._results:
            self._results[name, key] = make()
        return self._results[name, key]

    def peek(self, name: str, key: tuple[Any, ...]) -> Any:
        """Return a result, or None if it is not there."""
        return self._results.get((name, key))

    def put(self, name: str, key: tuple[Any, ...], result: Any) -> None:
        """Hold a result that is known already."""
        self._results[name, key] = result


def stage_key(stage: str, settings: Settings, data: Observations) -> tuple[Any, ...]:
    """Return what the result of a stage depends on: its settings, and those of the stages before it.

    The neighbours count by their number, which "auto" leaves to the data.
    """
    own = settings.dissimilarity_kind.name if settings.dissimilarity_kind.has_own_models else None
    return (data.n_neighbors, own, *settings.key("models", stage, without=("n_neighbors",)))


def read(
    X: Array, names: Any, positions: Any, groups: Any, settings: Settings, rows: Index | None = None
) -> Observations:
    """Check observations against the settings, and bring them into canonical order.

    ``rows`` (N,) are numbers of the rows, where they are not 0, 1, ...
    """
    table = settings.dissimilarity_kind.table
    if table is not None and len(table) != len(X):
        raise ValueError(f"dissimilarity is a table of {len(table)} rows, but X has {len(X)}; they must be the same")
    check_columns(X, names, settings.dissimilarity_kind)
    places = read_positions(positions, X.shape[0], groups=groups, metric=settings.metric)
    seed = draw_seed(settings.random_state)
    spreads = choose_spreads(X, settings.standardize)
    data = sort_observations(
        X,
        places,
        n_neighbors=settings.n_neighbors,
        lags=settings.n_lags,
        seed=seed,
        spreads=spreads,
        rows=rows,
        reduction=choose_reduction(X, places, settings.components_asked, spreads=spreads, seed=seed),
    )
    check_neighbors(
        data.n_neighbors, data.X.shape[1], settings.covariance_estimator, settings.prior, settings.dissimilarity_kind
    )
    return data


def prepare(
    data: Observations, settings: Settings, cache: StageCache | None = None, *, backend: Backend, quiet: bool = False
) -> Prepared:
    """Run lines 1 to 10 of Algorithm 1; stages that are in the cache are not run again.

    ``quiet`` leaves warnings to another run with the same settings.
    """
    cache = StageCache() if cache is None else cache
    prior = models = None
    if settings.dissimilarity_kind.fits_models:  # Lines 1-3: neighbourhoods and local models.
        key = stage_key("models", settings, data)
        prior = cache.get("prior", key, lambda: _fit_prior(data, settings))
        models = cache.get("models", key, lambda: _fit_models(data, settings, prior))
    comparable, failed = _find_comparable(data, models, settings, quiet=quiet)
    places = data.positions.take(comparable)
    key = stage_key("dissimilarity", settings, data)
    # Lines 4-5: the dissimilarity.
    dissimilarity = cache.get("dissimilarity", key, lambda: _compare_rows(data, models, comparable, settings))
    if backend.holds_table:
        dissimilarity.matrix()  # filled once, read by the semivariogram and the loss
    semivariogram = settings.semivariogram
    if isinstance(semivariogram, Semivariogram):
        _check_unit(semivariogram, places)
    else:  # Lines 6-9: the semivariogram.
        curve_key = stage_key("semivariogram", settings, data)
        semivariogram = cache.get(
            "semivariogram",
            curve_key,
            lambda: _fit_semivariogram(dissimilarity, places, settings, data.seed, quiet=quiet),
        )
    significance = cache.peek("significance", key)
    if significance is None and settings.asks_for_levels:
        significance = cache.get("significance", key, lambda: find_significance(data, models, comparable, settings))
    margin = _choose_margin(settings, significance, places, semivariogram, data.seed)
    # Line 10: the loss.
    loss = Loss(dissimilarity, places, semivariogram, float(settings.beta), margin, settings.penalty)
    return Prepared(data, settings, prior, models, comparable, failed, loss, significance)


def search_neighbors(
    prepared: Prepared, backend: Backend, cache: StageCache | None = None
) -> tuple[BruteForceSearch | TreeSearch, Backend]:
    """Return the neighbour search on the loss, and its backend: a tree is given up where its bounds do not help."""
    search = open_search(prepared, backend, StageCache() if cache is None else cache)
    if not isinstance(search, TreeSearch):
        return search, backend
    options = prepared.options
    eps = options.eps if prepared.settings.clustering_algorithm.needs_eps else None
    with stage("probe"):  # asks for the neighbours of some observations
        backend = reconsider(backend, search.open_share(options.min_samples, eps=eps))
    if backend.is_tree:
        return search, backend
    note(str(backend))
    return open_search(prepared, backend, StageCache()), backend


def open_search(prepared: Prepared, backend: Backend, cache: StageCache) -> BruteForceSearch | TreeSearch:
    """Return the neighbour search of a backend; a tree over the same models is used again."""
    loss = prepared.loss
    if backend.holds_table:
        return BruteForceSearch.of_table(loss.matrix())
    if not backend.is_tree:
        return BruteForceSearch.of(loss)
    key = stage_key("dissimilarity", prepared.settings, prepared.data)
    tree = cache.get("tree", key, lambda: _grow_tree(loss))
    return tree if tree.loss is loss else replace(tree, loss=loss)


def cluster(prepared: Prepared, search: NeighborSearch, *, known_core: Labels | None = None) -> Clustering:
    """Run line 11 of Algorithm 1, the clusterer; where a number of clusters is asked for, it is cut there.

    ``known_core`` tells DBSCAN of rows whether they are core (1), not (0), or have to be counted (-1).
    """
    settings = prepared.settings
    options = replace(prepared.options, known_core=known_core)
    if settings.n_clusters == "auto" or not settings.wants_clusterer:
        return settings.clustering_algorithm.cluster(search, options)
    return settings.clustering_algorithm.cut(search, options, int(settings.n_clusters))


def models_on(
    X: Array,
    neighborhoods: Neighborhoods | TimeWindows,
    settings: Settings,
    prior: MixturePrior | None,
    seed: int,
    *,
    along_time: bool,
) -> LocalModels:
    """Fit a model on each neighbourhood; ``along_time`` says that lags are predecessors in time."""
    kind = settings.dissimilarity_kind
    if kind.mixes:
        assert prior is not None
        return fit_local_mixtures(X, neighborhoods, prior)
    covariance = settings.covariance_estimator
    if along_time:
        covariance = covariance.along_time(settings.n_lags)
    models = fit_local_models(X, neighborhoods, covariance=covariance, prior=prior, random_state=seed)
    return models.require_definite(kind.name) if kind.needs_definite else models


def compare(X: Array, models: LocalModels | None, rows: Index, settings: Settings, seed: int) -> Dissimilarity:
    """Return the dissimilarity of observations (lines 4-5): by their models, their features, or the user's table of rows."""
    subject = {"models": models, "features": X, "rows": rows}[settings.dissimilarity_kind.compares]
    return settings.dissimilarity_kind.build(subject, seed)


def choose_backend_for(shape: tuple[int, ...], settings: Settings, *, neighbors: int = 0) -> Backend:
    """Choose how to search neighbours among observations of this shape (N, d), and refuse what does not fit into memory.

    ``neighbors`` are listed of each observation; see :func:`listed_neighbors`.
    """
    count, given = shape
    features = count_components(given, settings.components_asked)
    check_lags_of(settings.n_lags, count)
    distances = get_metric(settings.metric).has_matrix
    room = budget()
    need = MemoryNeed(
        count,
        features * (settings.n_lags + 1),
        dense=True,
        distances=distances,
        by_object=settings.clustering_algorithm.needs_table,
        neighbors=neighbors,
    )
    backend = choose_backend(
        count,
        clusterer=settings.clustering_algorithm,
        dissimilarity=settings.dissimilarity_kind,
        measured=settings.beta == 0 or not distances,
        fits=room is None or need.bytes <= room,
    )
    try:
        replace(need, dense=backend.holds_table).check(room)
    except MemoryError as error:
        if settings.n_lags == 0:
            raise
        raise MemoryError(f"lags={settings.n_lags} makes {need.features} features of {features}: {error}") from None
    return backend


def _grow_tree(loss: Loss) -> TreeSearch:
    with stage("tree"):
        return TreeSearch.of(loss)


def listed_neighbors(positions: Any, settings: Settings) -> int:
    """Return how many neighbours of each observation are listed; none along time, where neighbourhoods are windows."""
    chain = get_metric(settings.metric).may_be_chain(positions) and settings.weights == "uniform"
    if chain or not settings.dissimilarity_kind.fits_models:
        return 0
    return DEFAULT_NEIGHBORS if settings.n_neighbors == "auto" else int(settings.n_neighbors)


def _fit_prior(data: Observations, settings: Settings) -> MixturePrior | None:
    """Fit the global mixture, where one is wanted or its components are what local mixtures share."""
    options = GaussianMixturePrior() if settings.prior in (None, "gmm") else settings.prior
    if settings.dissimilarity_kind.mixes:
        with stage("shared components"):
            components = fit_shared_components(data.X, options, data.seed)
        if components.shares.size == 1:
            warn(
                f"dissimilarity={settings.dissimilarity_kind.name!r}: the features are one component, so local mixtures do not "
                "differ; use prior=GaussianMixturePrior(n_components=...), or dissimilarity='wasserstein2'"
            )
        return components
    if settings.prior is None:
        return None
    with stage("prior"):
        return options.fit(data.X, data.seed)


def _fit_models(data: Observations, settings: Settings, prior: MixturePrior | None) -> LocalModels:
    """Find neighbourhoods and fit a model on each."""
    with stage("neighbourhoods"):
        neighborhoods = find_neighborhoods(data.positions, data.n_neighbors, weights=settings.weights)
    return models_on(data.X, neighborhoods, settings, prior, data.seed, along_time=data.positions.is_chain)


def _find_comparable(
    data: Observations, models: LocalModels | None, settings: Settings, *, quiet: bool
) -> tuple[Index, dict[int, str]]:
    """Return the rows that can be compared, and why others cannot, by the user's rows; warn of these unless quiet."""
    failures = models.failures if models is not None else settings.dissimilarity_kind.incomparable(data.X)
    comparable = np.setdiff1d(np.arange(data.order.size), list(failures))
    numbers = data.user_rows
    reasons = dict(sorted((int(numbers[row]), reason) for row, reason in failures.items()))
    if not reasons or (quiet and comparable.size >= 2):
        return comparable, reasons
    row, reason = next(iter(reasons.items()))
    told = f"{len(reasons)} of {data.order.size} observations have no model"
    if comparable.size < 2:
        raise ValueError(f"{told}, which leaves nothing to cluster; row {row}: {reason}")
    warn(f"{told} and are labelled noise; row {row}: {reason}. failed_ lists them all")
    return comparable, reasons


def _compare_rows(data: Observations, models: LocalModels | None, rows: Index, settings: Settings) -> Dissimilarity:
    chosen = None if models is None else models.take(rows)
    return compare(data.X[rows], chosen, data.order[rows], settings, data.seed)


def _fit_semivariogram(
    dissimilarity: Dissimilarity, places: Positions, settings: Settings, seed: int, *, quiet: bool
) -> Semivariogram:
    empirical = empirical_semivariogram(dissimilarity, places, bins=settings.bins, random_state=seed)
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", UserWarning)
        return fit_semivariogram(
            empirical, settings.semivariogram, adapt=is_count(settings.bins)
        )  # edges say how far to look


def _check_unit(semivariogram: Semivariogram, places: Positions) -> None:
    if semivariogram.unit != places.unit:
        units = [unit or "the unit of the input" for unit in (semivariogram.unit, places.unit)]
        raise ValueError(f"semivariogram has distances in {units[0]}, but positions are in {units[1]}")


def find_significance(data: Observations, models: LocalModels | None, rows: Index, settings: Settings) -> Significance:
    """Find out how much models of one Gaussian differ, for the ``rows`` of the data that can be compared."""
    assert models is not None
    with stage("neighbourhoods"):
        near = find_neighborhoods(data.positions, data.n_neighbors, weights=settings.weights)
    if not near.complete[rows].all():
        raise ValueError(
            f"n_neighbors={data.n_neighbors}: local_models has models of observations that do not have so many neighbours, "
            "so there is no telling how much they differ by chance; set margin and eps as numbers"
        )
    # Without the structure of lags: blocks of a window are about the same rows, but of simulated rows, which are independent,
    # they are not, so that averages over blocks would make models more alike there than chance makes those of a series.
    null = draw_null(models, near, covariance=settings.covariance, alpha=settings.alpha, random_state=data.seed)
    assert settings.dissimilarity_kind.chance_scale is not None
    return Significance(null, near.take(rows), settings.dissimilarity_kind.chance_scale(models.take(rows)))


def _choose_margin(
    settings: Settings, significance: Significance | None, places: Positions, semivariogram: Semivariogram, seed: int
) -> float:
    """Return the margin, by what models of one Gaussian differ by where it is given as a level."""
    level = read_level(settings.margin)
    if level is None:
        return float(settings.margin)
    assert significance is not None
    return significance.margin(level, semivariogram, places, random_state=seed)
