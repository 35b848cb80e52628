"""Trials of the clusterer: settings that are left open take several values, and the labelling with the most evidence wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.clustering.backend import Backend
from mcgta.clustering.labels import small_to_noise
from mcgta.clustering.linkage import ImpossibleCutError
from mcgta.observations.observations import Observations
from mcgta.pipeline import Prepared, StageCache, choose_backend_for, cluster, open_search, prepare
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Labels
from mcgta.selection.noise import NOISE_AS_CLUSTER, NOISE_ASSIGNED, score_with_noise
from mcgta.selection.sampling import MAX_SEARCHED_ROWS
from mcgta.selection.scoring.scored_labelling import ScoredLabelling
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.search import SearchResult
from mcgta.settings import Settings
from mcgta.stages.dissimilarity.registry import names_where

NEIGHBORS = (30, 20, 45)
"""Sizes of neighbourhoods to try."""

MAX_NEIGHBORS_RATIO = 1.5
"""Largest of these, over the size that is taken where nothing is searched."""

MANY_NEIGHBORS = (90, 180)
"""Sizes to try for more than ``MANY_ROWS`` observations, up to one neighbour in ``ROWS_A_NEIGHBOR``."""

BETAS = (1.0, 0.0)
"""Weights of the penalty to try."""

MIN_SAMPLES = (1.0, 0.5, 1.5)
"""Observations that make a row core to try, in neighbourhoods."""

MARGINS = (0.0, 0.25)
"""Margins to try, in sills of the semivariogram."""

RELATIVE = {"margin_in_sills": "margin", "min_samples_in_neighbors": "min_samples"}
"""Ways to say a setting relative to what the stages before have found, and which setting that is."""

MANY_ROWS = 3000
"""Observations beyond which one setting is tried, or, where labels have to be the clusterer's, several n."""

ROWS_A_NEIGHBOR = 50
MAX_CLUSTERS_TRIED = 40
SMALLEST_SHARE = 500
"""A cluster with less than one in as many observations is noise, for the evidence."""

MIN_SAMPLES_TRIED = 2
"""The least number of observations that make a row core in a trial."""

PROMISING_SHARE = 0.5
"""Share of what refined labels explain, from where on other settings of the clusterer are tried, too."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A labelling of the clusterer, scored, and the settings that give it."""

    scored: ScoredLabelling
    log_evidence: float
    settings: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Trials:
    """Settings of the clusterer that can be tried on the same observations.

    Attributes
    ----------
    settings : as asked for; what is "auto" is tried
    data : the observations
    scoring_data : the same, prepared for being scored
    result : of the search, by whose correlations, tails and overdispersion labellings of trials are scored
    cache : results of stages, which trials share
    """

    settings: Settings
    data: Observations
    scoring_data: ScoringData
    result: SearchResult
    cache: StageCache

    def best(self, one: ScoredLabelling) -> Trial:
        """Try settings, changing one at a time; return the trial with the most evidence.

        ``one`` is one cluster for all. Where a number of clusters is asked for that no setting can have, the last one's error
        is raised.
        """
        values = self._values_to_try()
        with stage("settings"):
            current, best = self._first_possible(values)
            for name in self._worth_varying(values, best, one):
                for value in dict.fromkeys(values[name]):
                    if value == current[name]:
                        continue
                    varied = {**current, name: value}
                    try:
                        trial = self._try(varied)
                    except ImpossibleCutError:
                        continue
                    if trial.log_evidence > best.log_evidence:
                        best = trial
                        current = varied
        return best

    def _values_to_try(self) -> dict[str, tuple[Any, ...]]:
        """Return the values to try of each setting that is left open, the first one first."""
        count = len(self.data.positions)
        plain = self.data.n_neighbors
        sizes = [n for n in NEIGHBORS if n <= MAX_NEIGHBORS_RATIO * plain]
        if count > MANY_ROWS:
            sizes = [n for n in MANY_NEIGHBORS if n <= count / ROWS_A_NEIGHBOR]
        values: dict[str, tuple[Any, ...]] = {
            "n_neighbors": (plain, *sizes),
            "dissimilarity": names_where(chance_known=True),
            "beta": BETAS,
            "margin_in_sills": MARGINS,
            "min_samples_in_neighbors": MIN_SAMPLES,
            "min_cluster_size": (None,),  # several with HDBSCAN, which proposes them
        }
        return {name: tried for name, tried in values.items() if self.settings.is_auto(RELATIVE.get(name, name))}

    def _first_possible(self, values: dict[str, tuple[Any, ...]]) -> tuple[dict[str, Any], Trial]:
        """Try the first values, then others one by one until the clusterer can be cut as asked for; return both."""
        first = {name: tried[0] for name, tried in values.items()}
        starts = [first, *({**first, name: value} for name, tried in values.items() for value in tried[1:])]
        for start in starts[:-1]:
            try:
                return start, self._try(start)
            except ImpossibleCutError:
                continue
        return starts[-1], self._try(starts[-1])

    def _worth_varying(self, values: dict[str, tuple[Any, ...]], first: Trial, one: ScoredLabelling) -> list[str]:
        """Return the settings whose other values are worth trying, after a first trial."""
        overdispersion = self.result.overdispersion
        least = one.log_evidence(overdispersion)
        gain = self.result.best.log_evidence(overdispersion) - least
        promising = self.settings.wants_clusterer or first.log_evidence - least > max(0.0, PROMISING_SHARE * gain)
        if promising and len(self.data.positions) <= MANY_ROWS:
            return list(values)
        return ["n_neighbors"] if self.settings.wants_clusterer and "n_neighbors" in values else []

    def _try(self, relative: dict[str, Any]) -> Trial:
        """Cluster with one setting at several radii; return the best labelling, noise treated as it will be."""
        values = self._to_parameters(relative)
        treatment = NOISE_ASSIGNED if self.settings.refine == "noise" else NOISE_AS_CLUSTER
        known = self.result.best
        best: Trial | None = None
        all_noise = False  # whether the best so far has no cluster at all, to which any other is preferred
        for proposed, labels in self._labellings(values):
            count = int(labels.max()) + 1
            if best is not None and not 0 < count <= MAX_CLUSTERS_TRIED:
                continue
            # Fragments are scored as noise, though the fit keeps them. Correlations and tails are those of the labelling of
            # the search, which favours that a little: to find them for each trial would take too long (decision 38).
            fragment = max(self.scoring_data.min_cluster_rows, len(self.scoring_data) // SMALLEST_SHARE)
            (scored,) = score_with_noise(
                self.scoring_data,
                small_to_noise(labels, fragment),
                treatments=(treatment,),
                correlations=known.correlations,
                tails=known.tails,
            ).values()
            trial = Trial(scored, scored.log_evidence(self.result.overdispersion), {**values, **proposed})
            if best is None or all_noise or trial.log_evidence > best.log_evidence:
                best = trial
                all_noise = count == 0
        assert best is not None
        return best

    def _to_parameters(self, relative: dict[str, Any]) -> dict[str, Any]:
        """Return values as parameters; those in sills need a semivariogram, whatever the margin is."""
        size = int(relative.get("n_neighbors", self.data.n_neighbors))
        values = {**relative, "n_neighbors": size}
        sill = 0.0
        if relative.get("margin_in_sills"):
            without = {**values, "margin_in_sills": 0.0}
            plain = to_parameters(without, n_neighbors=size, sill=0.0, least=MIN_SAMPLES_TRIED)
            sill = float(self._prepare(plain)[0].loss.semivariogram.sill_)
        return to_parameters(values, n_neighbors=size, sill=sill, least=MIN_SAMPLES_TRIED)

    def _prepare(self, values: dict[str, Any]) -> tuple[Prepared, Backend]:
        """Run Algorithm 1 up to the clustering; return how neighbours are to be searched for, too."""
        settings = self.settings.having(**values)
        data = self.data.with_neighbors(int(settings.n_neighbors))
        backend = choose_backend_for(data.raw.shape, settings)
        return prepare(data, settings, self.cache, backend=backend, quiet=True), backend

    def _labellings(self, values: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Labels]]:
        """Yield what else has to be set, and the labels of all observations, noise -1."""
        prepared, backend = self._prepare(values)
        neighbors = open_search(prepared, backend, self.cache)
        if self.settings.n_clusters != "auto":  # the clusterer is cut there, so no radius is left to choose
            yield {}, prepared.spread_out(cluster(prepared, neighbors).labels)
        elif prepared.options.min_samples > len(neighbors) or len(neighbors) > MAX_SEARCHED_ROWS:
            clustering = cluster(prepared, neighbors)
            eps = "auto" if np.isnan(clustering.eps) else clustering.eps
            yield {"eps": eps}, prepared.spread_out(clustering.labels)
        else:
            for proposed, labels in prepared.settings.clustering_algorithm.proposals(neighbors, prepared.options):
                yield proposed, prepared.spread_out(labels)


def to_parameters(values: Mapping[str, Any], *, n_neighbors: int, sill: float, least: int) -> dict[str, Any]:
    """Return values with the margin not in sills, and ``min_samples``, at least ``least``, not in neighbours."""
    plain = dict(values)
    if "margin_in_sills" in plain:
        plain["margin"] = float(plain.pop("margin_in_sills") * sill)
    if "min_samples_in_neighbors" in plain:
        plain["min_samples"] = max(least, round(plain.pop("min_samples_in_neighbors") * n_neighbors))
    return plain
