"""Settings that are left to the data: what is tried, and what is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.clustering.labels import drop_small
from mcgta.clustering.linkage import ImpossibleCutError
from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.observations import Observations
from mcgta.pipeline import Prepared, StageCache, choose_backend_for, cluster, open_search, prepare
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.choice import CLOSE_NATS, Choice, Comparison, explain
from mcgta.selection.field import Scale
from mcgta.selection.noise import ASSIGN, CLASS, score_each_way
from mcgta.selection.scoring import Scored, score
from mcgta.selection.search import MOST_SCORED, WHOLE, search
from mcgta.settings import SEARCHED, Settings
from mcgta.stages.dissimilarity.registry import names_where

NEIGHBORS = (30, 20, 45)
"""Sizes of neighbourhoods to try."""

MANY_NEIGHBORS = (90, 180)
"""The same for more than ``MANY_ROWS`` observations, up to one in ``ROWS_A_NEIGHBOR``."""

MIN_SAMPLES = (1.0, 0.5, 1.5)
"""Observations that make a row core, in neighbourhoods."""

MARGINS = (0.0, 0.25)
"""Margins to try, in sills of the semivariogram."""

MANY_ROWS = 3000
"""Observations beyond which one setting is tried, or, where labels have to be the clusterer's, several n."""

ROWS_A_NEIGHBOR = 50
MAX_CLUSTERS_TRIED = 40
SMALLEST_SHARE = 500
"""A cluster with less than one in as many observations is noise, for the evidence."""

PROMISING = 0.5
"""Share of what refined labels explain, from where on other settings of the clusterer are tried, too."""


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen for observations.

    Attributes
    ----------
    settings : with values for what was left open
    choice : what was chosen, and why
    compared : the labellings that the choice was between
    """

    settings: Settings
    choice: Choice
    compared: Comparison


@dataclass(frozen=True, eq=False)
class Trial:
    """A labelling of the clusterer, scored, and the settings that give it."""

    scored: Scored
    settings: dict[str, Any]


def is_searchable(settings: Settings, data: Observations) -> bool:
    """Whether there is anything to search for, and by: features that vary.

    A radius has a meaning for one loss only, so setting it leaves nothing open.
    """
    if Scale.of(data.X).columns.size == 0:
        _warn_of_offsets(data)
        return False
    if settings.refine == "all" or (settings.n_clusters != "auto" and not settings.wants_clusterer):
        return True
    return (
        settings.algorithm.takes_options
        and settings.is_open("eps")
        and settings.kind.chance_known
        and settings.prior is None
        and settings.penalty != "no_hinge"
    )


def select(settings: Settings, data: Observations, cache_of_fit: StageCache) -> Selection:
    """Search for the best labelling; return the settings chosen, why, and the labellings compared.

    Results of stages go to the cache of the fit, which uses them again.
    """
    wanted = None if settings.n_clusters == "auto" else int(settings.n_clusters)
    of_search = None if settings.wants_clusterer else wanted
    field, result = search(data.X, data.positions, seed=data.seed, n_clusters=of_search)
    kinds = result.best.kinds if field.borrowed else None
    one = score(field, np.zeros(len(field), dtype=np.int64), kinds=kinds)
    compared = Comparison(field, result, one, None, refined=True, wanted=wanted)
    best: Trial | None = None
    if settings.refine != "all" and of_search is None and len(data.positions) <= WHOLE:
        best = Trials(settings, data, compared, cache_of_fit).best()
    refined = not settings.wants_clusterer
    if settings.refine == "auto" and best is not None:
        # Where neither is clearly ahead, refined labels are better for giving every observation a cluster.
        refined = compared.log_evidence(result.best) >= compared.log_evidence(best.scored) - CLOSE_NATS
    compared = Comparison(field, result, one, None if best is None else best.scored, refined, wanted)
    values = best.settings if best is not None else {"n_neighbors": data.n_neighbors}
    chosen = settings.having(**values).plain()
    return Selection(chosen, explain(compared, {name: getattr(chosen, name) for name in SEARCHED}), compared)


class Trials:
    """Settings of the clusterer, tried one after another; what they share is computed once.

    Parameters
    ----------
    settings : as the user set them
    data : the observations
    compared : what the search has found, by which labellings are scored
    cache : of the results of stages
    """

    def __init__(self, settings: Settings, data: Observations, compared: Comparison, cache: StageCache) -> None:
        self._settings = settings
        self._data = data
        self._compared = compared
        self._cache = cache
        self._noise = ASSIGN if settings.refine == "noise" else CLASS
        self._impossible: ImpossibleCutError | None = None

    def best(self) -> Trial:
        """Try settings, each at several radii, changing one at a time; return the labelling with the most evidence."""
        open_values = self._open_values()
        setting = {name: values[0] for name, values in open_values.items()}
        with stage("settings") as advance:
            best = self._try(setting)
            advance(1)
            if best is None:
                best, setting = self._first_possible(open_values, setting)
            for name in self._worth_varying(open_values, best):
                for value in dict.fromkeys(open_values.get(name, ())):
                    if value == setting[name]:
                        continue
                    other = self._try({**setting, name: value})
                    advance(1)
                    if other is not None and self._level(other) > self._level(best):
                        best = other
                        setting = {**setting, name: value}
        return best

    def _first_possible(
        self, open_values: dict[str, tuple[Any, ...]], setting: dict[str, Any]
    ) -> tuple[Trial, dict[str, Any]]:
        """Return a trial with the number of clusters asked for, and its setting, one value changed; raise where none has."""
        for name, values in open_values.items():
            for value in values[1:]:
                other = {**setting, name: value}
                trial = self._try(other)
                if trial is not None:
                    return trial, other
        assert self._impossible is not None
        raise self._impossible

    def _level(self, trial: Trial) -> float:
        return self._compared.log_evidence(trial.scored)

    def _open_values(self) -> dict[str, tuple[Any, ...]]:
        """Return the values to try of each setting that is left open, the first one first."""
        count = len(self._data.positions)
        n_neighbors = self._data.n_neighbors
        sizes = [n for n in NEIGHBORS if n <= 1.5 * n_neighbors]
        if count > MANY_ROWS:
            sizes = [n for n in MANY_NEIGHBORS if n <= count / ROWS_A_NEIGHBOR]
        values: dict[str, tuple[Any, ...]] = {
            "n_neighbors": (n_neighbors, *sizes),
            "dissimilarity": names_where(chance_known=True),
            "beta": (1.0, 0.0),
            "margin": MARGINS,
            "min_samples": MIN_SAMPLES,
            "min_cluster_size": (None,),  # several with HDBSCAN, which proposes them
        }
        return {name: tried for name, tried in values.items() if self._settings.is_open(name)}

    def _worth_varying(self, open_values: dict[str, tuple[Any, ...]], best: Trial) -> list[str]:
        """Return the settings that are worth trying other values of."""
        one = self._compared.log_evidence(self._compared.one)
        gain = self._level(best) - one
        wanted = self._compared.log_evidence(self._compared.result.best) - one
        promising = self._settings.wants_clusterer or gain > max(0.0, PROMISING * wanted)
        if promising and len(self._data.positions) <= MANY_ROWS:
            return list(open_values)
        return ["n_neighbors"] if self._settings.wants_clusterer else []

    def _try(self, setting: dict[str, Any]) -> Trial | None:
        """Cluster with one setting at several radii; return the best labelling, noise treated as it will be.

        None where the clusterer cannot have the number of clusters that is asked for.
        """
        values = {**setting, "n_neighbors": int(setting.get("n_neighbors", self._data.n_neighbors))}
        if "min_samples" in values:  # a share, until it is known of what
            values["min_samples"] = max(2, round(values["min_samples"] * values["n_neighbors"]))
        if values.get("margin"):
            sill = self._prepare({**values, "margin": 0.0})[0].loss.semivariogram.sill_
            values["margin"] = values["margin"] * float(sill)
        field = self._compared.field
        known = self._compared.result.best
        best: Trial | None = None
        none_yet = False  # whether the best so far has no cluster at all, to which any other is preferred
        for more, labels in self._labellings(values):
            count = int(labels.max()) + 1
            if best is not None and not 0 < count <= MAX_CLUSTERS_TRIED:
                continue
            large = drop_small(labels, max(field.d + 2, len(field) // SMALLEST_SHARE))
            ways = score_each_way(field, large, ways=(self._noise,), kinds=known.kinds, tails=known.tails)
            (scored,) = ways.values()
            trial = Trial(scored, {**values, **more})
            if best is None or none_yet or self._level(trial) > self._level(best):
                best = trial
                none_yet = count == 0
        return best

    def _prepare(self, values: dict[str, Any]) -> tuple[Prepared, NeighborSearch]:
        """Run Algorithm 1 up to the clustering."""
        settings = self._settings.having(**values)
        data = self._data.with_neighbors(int(settings.n_neighbors))
        backend = choose_backend_for(data.raw.shape, settings)
        prepared = prepare(data, settings, self._cache, backend=backend, quiet=True)
        return prepared, open_search(prepared, backend, self._cache)

    def _labellings(self, values: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Labels]]:
        """Yield what else has to be set, and the labels of all observations, noise -1."""
        prepared, found = self._prepare(values)
        for setting, labels in self._proposals(prepared, found):
            yield setting, prepared.spread_out(labels)

    def _proposals(self, prepared: Prepared, search: NeighborSearch) -> Iterator[tuple[dict[str, Any], Labels]]:
        if self._compared.wanted is not None:  # the clusterer is cut there, so no radius is left to choose
            try:
                return iter([({}, cluster(prepared, search).labels)])
            except ImpossibleCutError as error:
                self._impossible = error
                return iter(())
        if prepared.min_samples > len(search) or len(search) > MOST_SCORED:
            clustering = cluster(prepared, search)
            return iter([({"eps": "auto" if np.isnan(clustering.eps) else clustering.eps}, clustering.labels)])
        return prepared.settings.algorithm.proposals(search, prepared.options)


def _warn_of_offsets(data: Observations) -> None:
    """Warn where features vary, but by so little against their size that there is nothing to search by."""
    spread = np.ptp(data.X, axis=0)
    column = int(np.argmax(spread))
    if spread[column] > 0:
        warn(
            f"X: column {column} varies by {spread[column]:.3g} around {np.abs(data.X[:, column]).max():.3g}, which leaves too "
            "few digits to compare labellings by, and so do the others; subtract the offset of each feature before fitting"
        )
