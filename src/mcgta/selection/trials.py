"""Trials of the clusterer: settings that are left open take several values, and the best labelling wins.

The best has the most evidence. Where labels have to be the clusterer's, and those of the search have more evidence, the best
agrees most with those of the search instead. The clusterer blurs each border by the width of a neighbourhood, which costs
evidence; so by evidence alone it would be set to have few borders: too few clusters, or noise in the place of some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.clustering.backend import Backend
from mcgta.clustering.linkage import ImpossibleCutError
from mcgta.observations.observations import Observations
from mcgta.pipeline import Prepared, StageCache, choose_backend_for, cluster, open_search, prepare
from mcgta.runtime.cached import cached_property
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Labels
from mcgta.selection.merit import ByAgreement, ByEvidence
from mcgta.selection.sampling import MAX_SEARCHED_ROWS
from mcgta.selection.scoring.scored_labelling import ScoredLabelling
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.search import SearchResult
from mcgta.selection.trial_values import MANY_ROWS, Values, to_parameters, values_to_agree, values_to_try
from mcgta.settings import Settings

MAX_AGREEING_ROWS = 20_000
"""Observations up to which several radii are tried for agreement, which is sooner known than evidence."""

MAX_CLUSTERS_TRIED = 40
"""Clusters of a labelling beyond which it is not compared by its evidence."""

MIN_SAMPLES_TRIED = 2
"""The least number of observations that make a row core in a trial."""

PROMISING_SHARE = 0.5
"""Share of what refined labels explain, from where on other settings of the clusterer are tried, too."""

AGREEMENT_ROUNDS = 2
"""How often each setting is varied for agreement; once beyond ``MANY_ROWS`` observations."""

FINER_RADII = 8
"""Radii to try on either side of the one that agrees best, up to the next one that was tried."""

LEAST_AGREEMENT_GAIN = 0.005
"""Agreement, as adjusted Rand index, that another value of a setting has to gain: the target is no surer than that."""

Merit = Callable[[Labels], float]
"""How good labels (N,) are, noise -1; more is better."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A labelling of the clusterer, scored, and the settings that give it."""

    scored: ScoredLabelling
    log_evidence: float
    settings: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Tried:
    """A labelling of the clusterer.

    Attributes
    ----------
    labels : (N,) noise -1
    settings : that give it, as parameters
    merit : how good it is
    radii : tried with the same settings, ascending; none where no radius was chosen
    """

    labels: Labels
    settings: dict[str, Any]
    merit: float
    radii: tuple[float, ...]


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

    @cached_property
    def evidence(self) -> ByEvidence:
        """The evidence of labellings."""
        return ByEvidence(self.scoring_data, self.result, self.settings.refine == "noise")

    def best(self, one: ScoredLabelling) -> Trial:
        """Try settings, changing one at a time; return the trial with the most evidence, or that agrees best.

        ``one`` is one cluster for all. Where a number of clusters is asked for that no setting can have, the last one's error
        is raised.
        """
        values = values_to_try(self.settings, self.data)
        with stage("settings"):
            current, first = self._first_possible(values)
            target = self._target(first)
            if target is None:
                varied = {name: values[name] for name in self._worth_varying(values, first, one)}
                best = self._vary(varied, current, first, self.evidence, least_gain=0.0)[1]
            else:
                best = self._agree_with(target, current)
        scored = self.evidence.score(best.labels)
        return Trial(scored, scored.log_evidence(self.result.overdispersion), best.settings)

    def _target(self, first: _Tried) -> Labels | None:
        """Return the labels (N,) of the search where the clusterer is to agree with them.

        That is where labels have to be the clusterer's, the search has found clusters, and the clusterer's first labelling
        does not have more evidence. Where a number of clusters is asked for, they are the best of the search with as many.
        """
        found = self.result.best
        labels = self.result.labels
        for scored in self.result.others:
            if scored.n_clusters == self.settings.n_clusters:
                found = scored
                labels = scored.labels
        if not self.settings.wants_clusterer or found.n_clusters == 1:
            return None
        return labels if found.log_evidence(self.result.overdispersion) >= first.merit else None

    def _agree_with(self, target: Labels, current: dict[str, Any]) -> _Tried:
        """Return the labelling that agrees best with a target: every setting is varied, then the radius more finely."""
        merit = ByAgreement(self.evidence, target)
        values = values_to_agree(self.settings, self.data)
        best = self._try(current, merit)
        for _ in range(AGREEMENT_ROUNDS if len(self.data.positions) <= MANY_ROWS else 1):
            current, best = self._vary(values, current, best, merit, least_gain=LEAST_AGREEMENT_GAIN)
        return self._with_finer_radius(best, merit)

    def _vary(
        self, values: Values, current: dict[str, Any], best: _Tried, merit: Merit, *, least_gain: float
    ) -> tuple[dict[str, Any], _Tried]:
        """Change one setting at a time for what is better; return the values in the end, and the labelling."""
        for name, tried in values.items():
            for value in dict.fromkeys(tried):
                if value == current[name] or (name == "margin_in_sills" and not self._has_penalty(current)):
                    continue
                varied = {**current, name: value}
                try:
                    trial = self._try(varied, merit)
                except ImpossibleCutError:
                    continue
                if trial.merit > best.merit + least_gain:
                    best = trial
                    current = varied
        return current, best

    def _has_penalty(self, current: dict[str, Any]) -> bool:
        """Whether pairs can be penalised at all, so that the margin matters."""
        return bool(current.get("beta", self.settings.beta) != 0)

    def _first_possible(self, values: Values) -> tuple[dict[str, Any], _Tried]:
        """Try the first values, then others one by one until the clusterer can be cut as asked for; return both."""
        first = {name: tried[0] for name, tried in values.items()}
        starts = [first, *({**first, name: value} for name, tried in values.items() for value in tried[1:])]
        for start in starts[:-1]:
            try:
                return start, self._try(start, self.evidence)
            except ImpossibleCutError:
                continue
        return starts[-1], self._try(starts[-1], self.evidence)

    def _worth_varying(self, values: Values, first: _Tried, one: ScoredLabelling) -> list[str]:
        """Return the settings whose other values are worth trying, after a first trial."""
        overdispersion = self.result.overdispersion
        least = one.log_evidence(overdispersion)
        gain = self.result.best.log_evidence(overdispersion) - least
        promising = self.settings.wants_clusterer or first.merit - least > max(0.0, PROMISING_SHARE * gain)
        if promising and len(self.data.positions) <= MANY_ROWS:
            return list(values)
        return ["n_neighbors"] if self.settings.wants_clusterer and "n_neighbors" in values else []

    def _try(self, relative: dict[str, Any], merit: Merit) -> _Tried:
        """Cluster with one setting at several radii; return the best labelling."""
        values = self._to_parameters(relative)
        most = MAX_SEARCHED_ROWS if merit is self.evidence else MAX_AGREEING_ROWS
        return self._best_of(values, self._labellings(values, most), merit)

    def _best_of(
        self, values: dict[str, Any], labellings: Iterable[tuple[dict[str, Any], Labels]], merit: Merit
    ) -> _Tried:
        """Return the best of some labellings, of which there is one at least; any other is preferred to all noise."""
        best: _Tried | None = None
        all_noise = False
        radii: list[float] = []
        for proposed, labels in labellings:
            if isinstance(proposed.get("eps"), float):
                radii.append(proposed["eps"])
            count = int(labels.max()) + 1
            many = merit is self.evidence and count > MAX_CLUSTERS_TRIED
            if best is not None and (count == 0 or many):
                continue
            value = merit(labels)
            if best is None or all_noise or value > best.merit:
                best = _Tried(labels, {**values, **proposed}, value, ())
                all_noise = count == 0
        assert best is not None
        return _Tried(best.labels, best.settings, best.merit, tuple(sorted(radii)))

    def _with_finer_radius(self, best: _Tried, merit: Merit) -> _Tried:
        """Return the best labelling with a radius between those next to its own, where several were tried."""
        if len(best.radii) < 2 or not self.settings.clustering_algorithm.tunes_eps:
            return best
        eps = best.settings["eps"]
        if eps == "auto":
            return best
        at = best.radii.index(eps)
        below = np.linspace(best.radii[max(at - 1, 0)], eps, FINER_RADII, endpoint=False)
        above = np.linspace(eps, best.radii[min(at + 1, len(best.radii) - 1)], FINER_RADII + 1)[1:]
        radii = [eps, *np.unique(np.r_[below, above]).tolist()]
        prepared, backend = self._prepare(best.settings)
        neighbors = open_search(prepared, backend, self.cache)
        found = prepared.settings.clustering_algorithm.at_radii(neighbors, prepared.options, radii)
        labellings = (
            ({"eps": radius}, prepared.spread_out(labels)) for radius, labels in zip(radii, found, strict=True)
        )
        return self._best_of(best.settings, labellings, merit)

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

    def _labellings(self, values: dict[str, Any], most: int) -> Iterator[tuple[dict[str, Any], Labels]]:
        """Yield what else has to be set, and the labels of all observations, noise -1; several up to ``most`` rows."""
        prepared, backend = self._prepare(values)
        neighbors = open_search(prepared, backend, self.cache)
        if self.settings.n_clusters != "auto":  # the clusterer is cut there, so no radius is left to choose
            yield {}, prepared.spread_out(cluster(prepared, neighbors).labels)
        elif prepared.options.min_samples > len(neighbors) or len(neighbors) > most:
            clustering = cluster(prepared, neighbors)
            eps = "auto" if np.isnan(clustering.eps) else clustering.eps
            yield {"eps": eps}, prepared.spread_out(clustering.labels)
        else:
            for proposed, labels in prepared.settings.clustering_algorithm.proposals(neighbors, prepared.options):
                yield proposed, prepared.spread_out(labels)
