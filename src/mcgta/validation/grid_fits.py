"""The clusterings of many settings, each level of work done once for all settings that share it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mcgta.clustering.clustering import Clustering
from mcgta.clustering.linkage import SingleLinkage
from mcgta.clustering.neighbor_search import CachedSearch
from mcgta.clustering.registry import get_clusterer
from mcgta.fitting import place_noise
from mcgta.observations.observations import Observations, sort_observations
from mcgta.observations.reduction import Reduction, choose_reduction
from mcgta.pipeline import (
    Prepared,
    StageCache,
    choose_backend_for,
    prepare,
    search_neighbors,
    stage_key,
)
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Labels
from mcgta.selection.trial_values import to_parameters
from mcgta.settings import Settings, names_of
from mcgta.stages.local_models import LocalModels
from mcgta.stages.units import choose_spreads
from mcgta.validation.grid import DENSITY, LOSS, Grid, Levels, Values
from mcgta.validation.model_archive import ModelArchive, take_fingerprint


class GridFits:
    """Clusterings of the same observations.

    Parameters
    ----------
    features, places : of the observations, in the user's order
    settings : of the estimator; a setting of the grid replaces some of them
    archive : where local models are kept
    memory : how many sets of local models, with what is computed from them, to remember
    """

    def __init__(
        self, features: Array, places: Positions, settings: Settings, archive: ModelArchive, memory: int = 1
    ) -> None:
        self._features = features
        self._places = places
        self._settings = settings
        self._archive = archive
        self._memory = memory
        self._caches: dict[Any, StageCache] = {}
        self._reductions: dict[Any, Reduction | None] = {}
        self._searches: dict[Any, tuple[Prepared, CachedSearch]] = {}

    def labellings(self, grid: Grid, levels: Levels) -> Iterator[tuple[Values, Labels]]:
        """Yield the settings for each radius, as parameters of the estimator, and the labels of each, in the user's order."""
        outer = {**levels.models, **levels.curve}
        base = self._prepare(self._settings.having(**outer, **_NEUTRAL))
        stated = to_parameters(
            {**levels.loss, **levels.density},
            n_neighbors=base.data.n_neighbors,
            sill=base.loss.semivariogram.sill_,
            least=get_clusterer(levels.density["clusterer"]).least_min_samples,
        )
        inner = {name: stated[name] for name in (*LOSS, *DENSITY) if name in stated}
        prepared, search = self._open_search(base, outer, inner)
        options = prepared.options
        algorithm = prepared.settings.clustering_algorithm
        name, radii = grid.radii(inner["clusterer"])
        if name == "eps_quantile":
            enough = options.min_samples <= len(search)
            heights = SingleLinkage.of(search, options.min_samples).heights if enough else np.empty(0)
            radii = tuple(dict.fromkeys(np.quantile(heights, radii).tolist())) if heights.size else (0.0,)
        for eps, labels in zip(radii, algorithm.at_radii(search, options, radii), strict=True):
            placed = place_noise(Clustering.of_members(labels, eps), prepared).labels
            yield {**outer, **inner, "eps": float(eps)}, prepared.spread_out(placed)[prepared.data.back]

    def _open_search(self, base: Prepared, outer: Values, inner: Values) -> tuple[Prepared, CachedSearch]:
        """Return the prepared pipeline of a setting, and the neighbour search, which is the same for every density."""
        # The radius is of the size of those to come, so that the backend is chosen for such.
        eps = float(base.loss.semivariogram.sill_)
        settings = self._settings.having(**outer, **{**inner, "eps": eps}).plain()
        key = settings.key("models", "loss")
        if key not in self._searches:
            self._searches.clear()  # of tables there is room for one
            prepared = self._prepare(settings)
            backend = choose_backend_for(self._features.shape, settings)
            search, _ = search_neighbors(prepared, backend, self._cache(settings, prepared.data))
            self._searches[key] = prepared, CachedSearch(search)
        prepared, search_once = self._searches[key]
        return replace(prepared, settings=settings), search_once

    def _prepare(self, settings: Settings) -> Prepared:
        settings = settings.plain()
        data = self._sort(settings)
        cache = self._cache(settings, data)
        known = cache.peek("models", stage_key("models", settings, data))
        prepared = prepare(data, settings, cache, backend=choose_backend_for(self._features.shape, settings))
        if prepared.models is not None and prepared.models is not known:
            self._archive.keep(self._fingerprint(settings), prepared.models.take(data.back))
        return prepared

    def _sort(self, settings: Settings) -> Observations:
        spreads = choose_spreads(self._features, settings.standardize)
        seed = int(settings.random_state)
        asked = (settings.components_asked, spreads is None, seed)
        if asked not in self._reductions:
            self._reductions[asked] = choose_reduction(
                self._features, self._places, settings.components_asked, spreads=spreads, seed=seed
            )
        return sort_observations(
            self._features,
            self._places,
            n_neighbors=settings.n_neighbors,
            lags=settings.n_lags,
            seed=seed,
            spreads=spreads,
            reduction=self._reductions[asked],
        )

    def _cache(self, settings: Settings, data: Observations) -> StageCache:
        """Return what is known for the local models of a setting; of several the oldest is forgotten."""
        key = stage_key("models", settings, data)
        if key not in self._caches:
            if len(self._caches) == self._memory:
                del self._caches[next(iter(self._caches))]
            cache = StageCache()
            kept = self._kept_models(settings)
            if kept is not None:
                cache.put("models", key, kept.take(data.order))
                cache.put("prior", key, kept.prior)
            self._caches[key] = cache
        return self._caches[key]

    def _kept_models(self, settings: Settings) -> LocalModels | None:
        if not settings.dissimilarity_kind.fits_models:
            return None
        return self._archive.find(self._fingerprint(settings))

    def _fingerprint(self, settings: Settings) -> str:
        params = {name: getattr(settings, name) for name in names_of("models")}
        if settings.dissimilarity_kind.has_own_models:  # others share theirs
            params["dissimilarity"] = settings.dissimilarity
        return take_fingerprint(self._features, self._places, params)


_NEUTRAL: Values = {"beta": 0.0, "margin": 0.0, "clusterer": "dbscan", "eps": 0.0, "min_samples": 1}
"""Settings of the loss and the clusterer for a run that ends before these matter."""
