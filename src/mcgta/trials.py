"""Settings tried one after another on the same observations; what they share is computed once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mcgta.algorithm import Algorithm, Stages
from mcgta.observations import Observations
from mcgta.progress import Progress
from mcgta.stages.clustering import Near
from mcgta.stages.cuts import Cuts
from mcgta.stages.dissimilarity import Dissimilarity
from mcgta.stages.local_models import LocalModels
from mcgta.stages.loss_tree import LossTree
from mcgta.stages.semivariogram import Semivariogram
from mcgta.stages.significance import Significance
from mcgta.types import Labels

RADII = np.linspace(0.2, 0.98, 12)
"""Where DBSCAN's radii are among the heights at which places hang together."""

SIZES = (1, 2, 4)
"""HDBSCAN's smallest clusters, in observations that make a place dense."""

HEIGHTS = (0.5, 0.7, 0.85, 0.95)
"""Where OPTICS is cut among the reachabilities, beside the xi method."""


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
        self._quiet = Progress()
        self._models: dict[int, LocalModels | None] = {}
        self._compared: dict[tuple[int, str], tuple[Dissimilarity, Semivariogram]] = {}
        self._levels: dict[tuple[int, str], Significance] = {}
        self._trees: dict[tuple[int, str], LossTree] = {}

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
        self, trial: Algorithm, near: Near, stages: Stages, dense: int
    ) -> Iterator[tuple[dict[str, Any], Labels]]:
        jobs = {"n_jobs": trial.n_jobs}
        if dense > len(near) or len(near) > self._many:
            found = trial.cluster(near, stages, self._quiet)[0]
            yield {"eps": "auto" if np.isnan(found.eps) else found.eps}, found.labels
        elif trial.clusterer == "dbscan":
            cuts = Cuts.of(near, dense, **jobs)
            for eps in np.unique(np.quantile(cuts.linkage[:, 2], RADII)).tolist():
                yield {"eps": eps}, cuts.labels_at(eps, min_cluster_size=trial.min_cluster_size or 1, **jobs)
        elif trial.clusterer == "hdbscan":
            near = Remembered(near)
            sizes = [trial.min_cluster_size] if self._algorithm.min_cluster_size != "auto" else _sizes(dense, len(near))
            for size in sizes:
                found = trial.having(min_cluster_size=size).cluster(near, stages, self._quiet)[0]
                yield {"min_cluster_size": size}, found.labels
        else:
            near = Remembered(near)
            reached = near.order(dense, n_jobs=trial.n_jobs, progress=None)[1]
            heights = np.unique(np.quantile(reached[np.isfinite(reached)], HEIGHTS)).tolist()
            for eps in ("auto", *heights):
                yield {"eps": eps}, trial.having(eps=eps).cluster(near, stages, self._quiet)[0].labels

    def _prepare(self, trial: Algorithm) -> tuple[Near, Stages]:
        """Do everything before the clustering; return who tells what is near, and the stages."""
        data = self._data.with_neighbors(int(trial.n_neighbors))
        number = data.n_neighbors
        if number not in self._models:
            self._models[number] = trial.fit_models(data, None, self._quiet)
        models = self._models[number]
        kept, failed = trial.comparable(data, models, quiet=True)
        places, key = data.positions.take(kept), (number, str(trial.dissimilarity))
        engine = trial.choose_engine(len(data.positions), data.raw.shape[1])
        if key not in self._compared:
            dissimilarity = trial.compare(data.X[kept], models and models.take(kept), data.seed)
            if engine.name == "dense":
                dissimilarity.matrix(n_jobs=trial.n_jobs)
            with warnings.catch_warnings():  # the fit that is chosen will warn
                warnings.simplefilter("ignore", UserWarning)
                semivariogram = trial.fit_semivariogram(dissimilarity, places, data.seed, self._quiet)
            self._compared[key] = dissimilarity, semivariogram
        if trial.asks_for_levels and key not in self._levels:
            self._levels[key] = trial.significance(data, models, kept, self._quiet)
        (dissimilarity, semivariogram), significance = self._compared[key], self._levels.get(key)
        margin = trial.choose_margin(significance, places, semivariogram, data.seed)
        loss = trial.loss(dissimilarity, places, semivariogram, margin)
        near = trial.look_up(engine, loss, self._trees.get(key), self._quiet)
        if isinstance(near, LossTree):
            self._trees[key] = near
        return near, Stages(data, None, models, kept, failed, loss, significance=significance)


class Remembered:
    """Who is near whom, with spanning trees and orderings found once."""

    def __init__(self, near: Near) -> None:
        self._near = near
        self.span, self.order = cache(near.span), cache(near.order)

    def __len__(self) -> int:
        return len(self._near)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._near, name)


def _sizes(dense: int, count: int) -> list[int]:
    """Return sizes of the smallest cluster to try: no more than half of the observations."""
    return [size * dense for size in SIZES if 2 * size * dense <= count] or [dense]
