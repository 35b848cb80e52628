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
from mcgta.fit import place_noise
from mcgta.observations import Observations, sort_observations
from mcgta.pipeline import (
    Prepared,
    StageCache,
    choose_backend_for,
    models_key,
    prepare,
    search_neighbors,
)
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Labels
from mcgta.settings import Settings, names_of
from mcgta.stages.local_models import LocalModels
from mcgta.stages.units import choose_spreads
from mcgta.validation.grid import DENSITY, LOSS, Grid, Values
from mcgta.validation.shelf import Shelf, take_fingerprint


class Fits:
    """Clusterings of the same observations.

    Parameters
    ----------
    features, places : of the observations, in the user's order
    settings : of the estimator; a setting of the grid replaces some of them
    shelf : where local models are kept
    memory : how many sets of local models, with what is computed from them, to remember
    """

    def __init__(self, features: Array, places: Positions, settings: Settings, shelf: Shelf, memory: int = 1) -> None:
        self._features = features
        self._places = places
        self._settings = settings
        self._shelf = shelf
        self._memory = memory
        self._caches: dict[Any, StageCache] = {}
        self._searches: dict[Any, tuple[Prepared, CachedSearch]] = {}

    def labellings(
        self, grid: Grid, models: Values, curve: Values, loss: Values, density: Values
    ) -> Iterator[tuple[Values, Labels]]:
        """Yield the settings for each radius, in plain parameters, and the labels of each, in the user's order."""
        base = self._prepare(self._settings.having(**models, **curve, **_NEUTRAL))
        inner = _state_plainly(base, loss, density)
        prepared, search = self._open_search(base, {**models, **curve}, inner)
        options = prepared.options
        algorithm = prepared.settings.algorithm
        name, radii = grid.radii(inner["clusterer"])
        if name == "eps_quantile":
            enough = options.min_samples <= len(search)
            heights = SingleLinkage.of(search, options.min_samples).heights if enough else np.empty(0)
            radii = tuple(dict.fromkeys(np.quantile(heights, radii).tolist())) if heights.size else (0.0,)
        for eps, labels in zip(radii, algorithm.at_radii(search, options, radii), strict=True):
            placed = place_noise(Clustering.of_members(labels, eps), prepared).labels
            yield {**models, **curve, **inner, "eps": float(eps)}, prepared.spread_out(placed)[prepared.data.back]

    def _open_search(self, base: Prepared, outer: Values, inner: Values) -> tuple[Prepared, CachedSearch]:
        """Return the prepared pipeline of a setting, and the neighbour search, which is the same for every density."""
        # The radius is of the size of those to come, so that the backend is chosen for such.
        eps = float(base.loss.semivariogram.sill_)
        settings = self._settings.having(**outer, **{**inner, "eps": eps}).plain()
        key = repr((outer, [inner.get(name) for name in LOSS]))
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
        known = set(cache.models)
        prepared = prepare(data, settings, cache, backend=choose_backend_for(self._features.shape, settings))
        fresh = set(cache.models) - known
        if fresh and prepared.models is not None:
            self._shelf.keep(self._fingerprint(settings), prepared.models.take(data.back))
        return prepared

    def _sort(self, settings: Settings) -> Observations:
        return sort_observations(
            self._features,
            self._places,
            n_neighbors=settings.n_neighbors,
            lags=settings.lags,
            seed=int(settings.random_state),
            spreads=choose_spreads(self._features, settings.standardize),
        )

    def _cache(self, settings: Settings, data: Observations) -> StageCache:
        """Return what is known for the local models of a setting; of several the oldest is forgotten."""
        key = models_key(settings, data)
        if key not in self._caches:
            if len(self._caches) == self._memory:
                del self._caches[next(iter(self._caches))]
            cache = StageCache()
            kept = self._kept_models(settings)
            if kept is not None:
                cache.models[key] = kept.take(data.order)
                cache.priors[key] = kept.prior
            self._caches[key] = cache
        return self._caches[key]

    def _kept_models(self, settings: Settings) -> LocalModels | None:
        if not settings.kind.fits_models:
            return None
        return self._shelf.find(self._fingerprint(settings))

    def _fingerprint(self, settings: Settings) -> str:
        params = {name: getattr(settings, name) for name in names_of("models")}
        if settings.kind.needs_definite:  # others share their models: only these drop singular ones
            params["dissimilarity"] = settings.dissimilarity
        return take_fingerprint(self._features, self._places, params)


_NEUTRAL: Values = {"beta": 0.0, "margin": 0.0, "clusterer": "dbscan", "eps": 0.0, "min_samples": 1}
"""Settings of the loss and the clusterer for a run that ends before these matter."""


def _state_plainly(base: Prepared, loss: Values, density: Values) -> Values:
    """Turn what is said in sills and neighbours into the estimator's parameters."""
    plain = {**loss, **density}
    if "margin_in_sills" in plain:
        plain["margin"] = float(plain.pop("margin_in_sills") * base.loss.semivariogram.sill_)
    if "min_samples_in_neighbors" in plain:
        least = get_clusterer(plain["clusterer"]).least_min_samples
        plain["min_samples"] = max(least, round(plain.pop("min_samples_in_neighbors") * base.data.n_neighbors))
    return {name: plain[name] for name in (*LOSS, *DENSITY) if name in plain}
