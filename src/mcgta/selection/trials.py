"""Settings tried one after another on the same observations; what they share is computed once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.clustering.registry import get_clusterer
from mcgta.clustering.tree_search import TreeSearch
from mcgta.inference.significance import Significance
from mcgta.observations import Observations
from mcgta.pipeline import Algorithm, Stages
from mcgta.runtime.types import Labels
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity
from mcgta.stages.local_models import LocalModels
from mcgta.stages.semivariogram.curve import Semivariogram


class Trials:
    """Clusterings of the same observations.

    Local models are shared by settings with the same number of neighbours; the table of dissimilarities, or the tree, and the
    semivariogram by those that compare models alike, too.

    Parameters
    ----------
    algorithm : with everything that the user set
    data : the observations
    many : observations beyond which one radius is looked at, which chance suggests
    """

    def __init__(self, algorithm: Algorithm, data: Observations, many: int) -> None:
        self._algorithm, self._data, self._many = algorithm, data, many
        self._models: dict[int, LocalModels | None] = {}
        self._compared: dict[tuple[int, str], tuple[Dissimilarity, Semivariogram]] = {}
        self._levels: dict[tuple[int, str], Significance] = {}
        self._trees: dict[tuple[int, str], TreeSearch] = {}

    def labellings(self, params: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Labels]]:
        """Yield what else has to be set, and the labels of all observations, noise -1."""
        trial = self._algorithm.having(**params)
        near, stages = self._prepare(trial)
        dense = trial.dense(stages.data.n_neighbors)
        for setting, labels in self._cluster(trial, near, stages, dense):
            whole = np.full(len(self._data.positions), -1, dtype=np.int64)
            whole[stages.kept] = labels
            yield setting, whole

    def sill(self, params: dict[str, Any]) -> float:
        """Return the height at which the semivariogram of a setting levels off."""
        return float(self._prepare(self._algorithm.having(**{**params, "margin": 0.0}))[1].loss.semivariogram.sill_)

    def _cluster(
        self, trial: Algorithm, near: NeighborSearch, stages: Stages, dense: int
    ) -> Iterator[tuple[dict[str, Any], Labels]]:
        if dense > len(near) or len(near) > self._many:
            found = trial.cluster(near, stages)[0]
            yield {"eps": "auto" if np.isnan(found.eps) else found.eps}, found.labels
            return
        clusterer = get_clusterer(trial.clusterer)
        options = trial.cluster_options(stages, None)
        size = self._algorithm.min_cluster_size
        if size is None:  # as the user says: the clusterer's default, and no other
            options = replace(options, min_cluster_size=clusterer.smallest_cluster(options))
        for setting, labels in clusterer.proposals(near, options):
            if "min_cluster_size" in setting and size != "auto":
                setting["min_cluster_size"] = size
            yield setting, labels

    def _prepare(self, trial: Algorithm) -> tuple[NeighborSearch, Stages]:
        """Do everything before the clustering; return the neighbour search, and the stages."""
        data = self._data.with_neighbors(int(trial.n_neighbors))
        number = data.n_neighbors
        if number not in self._models:
            self._models[number] = trial.fit_models(data, None)
        models = self._models[number]
        kept, failed = trial.comparable(data, models, quiet=True)
        places, key = data.positions.take(kept), (number, str(trial.dissimilarity))
        backend = trial.choose_backend(len(data.positions), data.raw.shape[1])
        if key not in self._compared:
            dissimilarity = trial.compare(data.X[kept], models and models.take(kept), data.seed)
            if backend.name == "table":
                dissimilarity.matrix()
            with warnings.catch_warnings():  # the fit that is chosen will warn
                warnings.simplefilter("ignore", UserWarning)
                semivariogram = trial.fit_semivariogram(dissimilarity, places, data.seed)
            self._compared[key] = dissimilarity, semivariogram
        if trial.asks_for_levels and key not in self._levels:
            self._levels[key] = trial.significance(data, models, kept)
        (dissimilarity, semivariogram), significance = self._compared[key], self._levels.get(key)
        margin = trial.choose_margin(significance, places, semivariogram, data.seed)
        loss = trial.loss(dissimilarity, places, semivariogram, margin)
        near = trial.look_up(backend, loss, self._trees.get(key))
        if isinstance(near, TreeSearch):
            self._trees[key] = near
        return near, Stages(data, None, models, kept, failed, loss, significance=significance)
