"""The clusterings of many settings, each level of work done once for all settings that share it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mcgta.clustering.linkage import SingleLinkage
from mcgta.clustering.neighbor_search import CachedSearch
from mcgta.clustering.registry import get_clusterer
from mcgta.estimator import MCGTA
from mcgta.pipeline import Algorithm, Stages
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Labels
from mcgta.selection.auto import settle_plainly
from mcgta.stages.dissimilarity.dissimilarity import FEATURE_BASED, NEEDS_DEFINITE
from mcgta.stages.local_models import LocalModels
from mcgta.validation.grid import DENSITY, LOSS, Grid, Values
from mcgta.validation.shelf import Shelf, take_fingerprint


class Fits:
    """Fits of the same observations.

    Parameters
    ----------
    X, positions, groups : as the user gave them
    features, places : the same, read
    params : of the estimator; a setting replaces some of them
    shelf : where local models are kept
    memory : how many fits, and local models, to remember
    """

    def __init__(
        self,
        X: Any,
        positions: Any,
        groups: Any,
        *,
        features: Array,
        places: Positions,
        params: Mapping[str, Any],
        shelf: Shelf,
        memory: int = 1,
    ) -> None:
        self._data = {"X": X, "positions": positions, "groups": groups}
        self._features, self._places = features, places
        self._params = dict(params)
        self._shelf, self._memory = shelf, memory
        self._models: dict[str, LocalModels] = {}
        self._fits: dict[str, MCGTA] = {}
        self._near: dict[str, tuple[Stages, CachedSearch]] = {}

    def labellings(
        self, grid: Grid, models: Values, curve: Values, loss: Values, density: Values
    ) -> Iterator[tuple[Values, Labels]]:
        """Yield the settings for each radius, in plain parameters, and the labels of each."""
        fit = self._fit(models, curve)
        inner = _state_plainly(fit, loss, density)
        algorithm, stages, near = self._find_near(fit, repr((models, curve)), inner)
        clusterer = get_clusterer(inner["clusterer"])
        name, radii = grid.radii(inner["clusterer"])
        options = algorithm.cluster_options(stages, None)
        if name == "eps_quantile":
            dense = options.min_samples <= len(near)
            heights = SingleLinkage.of(near, options.min_samples).heights if dense else np.empty(0)
            radii = tuple(dict.fromkeys(np.quantile(heights, radii).tolist())) if heights.size else (0.0,)
        for eps, found in zip(radii, clusterer.at_radii(near, options, radii), strict=True):
            labels = np.full(fit.labels_.size, -1, dtype=np.int64)
            labels[stages.rows] = algorithm.place_noise(found, stages)
            yield {**models, **curve, **inner, "eps": float(eps)}, labels

    def _find_near(self, fit: MCGTA, key: str, inner: Values) -> tuple[Algorithm, Stages, CachedSearch]:
        """Return what is to be clustered, and its neighbour search, which is the same for every density."""
        # The radius is of the size of those to come, so that the backend is chosen for such.
        params = {**inner, "eps": fit.semivariogram_.sill_}
        loss = repr((key, [inner.get(name) for name in LOSS]))
        if loss not in self._near:
            self._near.clear()  # of tables there is room for one
            _, stages, near = fit._find_near(params)
            self._near[loss] = stages, CachedSearch(near)
        return settle_plainly(Algorithm({**fit.get_params(deep=False), **params})), *self._near[loss]

    def _fit(self, models: Values, curve: Values) -> MCGTA:
        """Return a fit with the local models and the semivariogram of a setting; the rest of it does not matter."""
        key = repr((models, curve))
        if key not in self._fits:
            fingerprint = self._fingerprint(models)
            known = self._find_models(models, fingerprint)
            neutral = {"beta": 0.0, "margin": 0.0, "clusterer": "dbscan", "eps": 0.0, "min_samples": 1}
            params = {**self._params, **models, **curve, **neutral, "local_models": known}
            fit = MCGTA(**params).fit(**self._data)
            if known is None and fit.local_models_ is not None:
                _remember(self._models, fingerprint, fit.local_models_, self._memory)
                self._shelf.keep(fingerprint, fit.local_models_)
            _remember(self._fits, key, fit, self._memory)
        return self._fits[key]

    def _find_models(self, models: Values, fingerprint: str) -> LocalModels | None:
        if models["dissimilarity"] in FEATURE_BASED:
            return None
        if fingerprint not in self._models:
            kept = self._shelf.find(fingerprint)
            if kept is not None:
                _remember(self._models, fingerprint, kept, self._memory)
        return self._models.get(fingerprint)

    def _fingerprint(self, models: Values) -> str:
        used = ("weights", "lags", "covariance", "alpha", "shrinkage", "prior", "prior_components", "prior_strength")
        params = {name: self._params[name] for name in (*used, "random_state")} | models
        if params["dissimilarity"] not in NEEDS_DEFINITE:  # others share their models: only these drop singular ones
            del params["dissimilarity"]
        return take_fingerprint(self._features, self._places, params)


def _remember(store: dict[str, Any], key: str, value: Any, most: int) -> None:
    """Put something into a store, in the place of the oldest where it is full."""
    if len(store) == most:
        del store[next(iter(store))]
    store[key] = value


def _state_plainly(fit: MCGTA, loss: Values, density: Values) -> Values:
    """Turn what is said in sills and neighbours into the estimator's parameters."""
    plain = {**loss, **density}
    if "margin_in_sills" in plain:
        plain["margin"] = float(plain.pop("margin_in_sills") * fit.semivariogram_.sill_)
    if "min_samples_in_neighbors" in plain:
        least = get_clusterer(plain["clusterer"]).least_min_samples
        plain["min_samples"] = max(least, round(plain.pop("min_samples_in_neighbors") * fit.n_neighbors_))
    return {name: plain[name] for name in (*LOSS, *DENSITY) if name in plain}
