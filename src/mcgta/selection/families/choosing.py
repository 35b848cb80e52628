"""Which family the labels are of: the best labelling of each family, on one scale.

The scale is nats over one cluster. Families that model another aspect of the observations than level and covariance, such as
how they move, add what they gain to what the same labels gain there: each aspect is either shared by all clusters, and gains
nothing, or differs between them. Families that model the same aspect by other means, such as curves, are compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcgta.runtime.cached import cached_property
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Index, Labels
from mcgta.selection.families.cycles import Cycle, cycle_in_steps, find_cycle
from mcgta.selection.families.family import Candidate, FamilySearch
from mcgta.selection.families.registry import FAMILIES, LEVEL, FamilyInput
from mcgta.selection.families.trends import Trend, one_with_trend
from mcgta.selection.scoring.scored_labelling import ScoredLabelling, close_gaps, score

CLEAR_NATS = float(np.log(20.0))
"""Nats that another family has to be ahead of Gaussian clusters, and of one cluster."""


@dataclass(frozen=True, eq=False)
class LevelAnswer:
    """What the search for Gaussian clusters says, and how it judges labels of other families.

    Attributes
    ----------
    given : the observations, and the result of the search
    one : one cluster for all, scored on the rows that the search has looked at
    rows : (R,) which rows of all these are
    """

    given: FamilyInput
    one: ScoredLabelling
    rows: Index

    @property
    def labels(self) -> Labels:
        """(N,) of the search."""
        return self.given.result.labels

    @cached_property
    def cycle(self) -> Cycle:
        """How the labels of the search recur along time; nowhere else."""
        places = self.given.places
        return find_cycle(self.labels, places.group_starts) if places.is_chain else Cycle(0, 0.0)

    @cached_property
    def trend(self) -> Trend:
        """One cluster with a trend and a season, along time; nothing elsewhere, and where there is one cluster anyway."""
        scoring_data = self.given.scoring_data
        if not scoring_data.chain or self.own_gain <= 0:
            return Trend(0.0, 0.0)
        result = self.given.result
        known = result.best.correlations if scoring_data.from_sample else None
        return one_with_trend(scoring_data, self.one, result.overdispersion, known)

    @property
    def own_gain(self) -> float:
        """Nats of the search's labels over one cluster."""
        return self._over_one(self.given.result.best)

    def gain(self, labels: Labels) -> float:
        """Return the nats of any labelling (N,) over one cluster, with the tails of the search."""
        result = self.given.result
        scoring_data = self.given.scoring_data
        # To find correlations for each labelling takes long where there are many observations (decision 38).
        known = result.best.correlations if scoring_data.from_sample else None
        sampled = close_gaps(labels[self.rows])
        if np.bincount(sampled).min() < scoring_data.min_cluster_rows:
            return -np.inf
        return self._over_one(score(scoring_data, sampled, correlations=known, tails=result.best.tails))

    def _over_one(self, scored: ScoredLabelling) -> float:
        overdispersion = self.given.result.overdispersion
        return scored.log_evidence(overdispersion) - self.one.log_evidence(overdispersion)


@dataclass(frozen=True, eq=False)
class FamilyChoice:
    """The family that the labels are of.

    Attributes
    ----------
    name : of the family
    labels : (N,) in canonical order
    gain : nats over one cluster
    gains : of the best labelling of each family that was looked at
    search : of the family; None for Gaussian clusters
    others : the best labelling of each number of clusters in that family; empty for Gaussian clusters
    notes : in words
    sets_aside : whether the Gaussian clusters of the search are not taken, and one cluster is
    """

    name: str
    labels: Labels
    gain: float
    gains: dict[str, float]
    search: FamilySearch | None = None
    others: tuple[Candidate, ...] = ()
    notes: tuple[str, ...] = ()
    sets_aside: bool = False


def choose_family(level: LevelAnswer, asked: str) -> FamilyChoice:
    """Choose between Gaussian clusters and the other families; ``asked`` is "auto", or the family that is wanted."""
    own = max(level.own_gain, 0.0)
    if asked == LEVEL:
        return FamilyChoice(LEVEL, level.labels, own, {LEVEL: own})
    found = search_families(level.given, asked)
    own += sum(each.beside_level(level.labels) for each in found)
    one_gain = max([0.0, *(each.one_gain for each in found)])
    gains = {LEVEL: own}
    best: tuple[float, FamilySearch, Candidate] | None = None
    ahead_of_one = {each.name for each in found if each.contenders()}
    for each in found:
        if not ahead_of_one.isdisjoint(each.yields_to):
            continue
        for candidate in each.contenders():
            value = float(each.value(candidate, level.gain(candidate.labels) - one_gain))
            gains[each.name] = max(gains.get(each.name, 0.0), value)
            if best is None or value > best[0]:
                best = value, each, candidate
    if asked != "auto":
        (only,) = found
        chosen = only.best if best is None else best[2]
        return _of_family(only, chosen, gains.get(only.name, 0.0), gains)
    # Where a richer model of one cluster explains as much as several Gaussian clusters do, there is one.
    ahead = own - one_gain
    notes = _reasons_for_one(level, own) if level.given.n_clusters is None and own > 0 else ()
    sets_aside = bool(notes) or (level.given.n_clusters is None and own > 0 and one_gain > 0 and ahead < CLEAR_NATS)
    if best is not None and best[0] > (0.0 if sets_aside else ahead) + CLEAR_NATS:
        return _of_family(best[1], best[2], best[0], gains)
    if sets_aside:
        return FamilyChoice(LEVEL, np.zeros_like(level.labels), 0.0, gains, notes=notes, sets_aside=True)
    return FamilyChoice(LEVEL, level.labels, own, gains)


def search_families(given: FamilyInput, asked: str) -> list[FamilySearch]:
    """Return what the families find, or the one that is asked for, which has to be possible."""
    if asked != "auto":
        family = FAMILIES[asked]
        with stage(family.name):
            found = family.search(replace(given, required=True))
        if found is None:
            raise ValueError(f"family={asked!r} is not possible here: it needs {family.needs}")
        return [found]
    results: list[FamilySearch] = []
    for family in FAMILIES.values():
        if given.places.is_chain and any(each.name in family.after and each.contenders() for each in results):
            continue
        with stage(family.name):
            found = family.search(given)
        if found is not None:
            results.append(found)
    return results


def _of_family(search: FamilySearch, candidate: Candidate, gain: float, gains: dict[str, float]) -> FamilyChoice:
    notes = (search.describe(candidate.labels),) if candidate.n_clusters > 1 else ()
    others: dict[int, Candidate] = {}
    for each in sorted(search.candidates, key=lambda one: one.gain):
        others[each.n_clusters] = each
    others[candidate.n_clusters] = candidate
    listed = tuple(others[number] for number in sorted(others))
    return FamilyChoice(search.name, candidate.labels, gain, gains, search, listed, notes)


def _reasons_for_one(level: LevelAnswer, gain: float) -> tuple[str, ...]:
    """Say why the Gaussian clusters of the search, which gain so many nats, are none; nothing where they are."""
    if level.cycle.is_clear:
        return (_tell_cycle(level),)
    if level.trend.gain > 0 and gain < level.trend.gain + CLEAR_NATS:
        return (f"a trend and a season of period {level.trend.period:.4g} explain as much as several clusters do",)
    return ()


def _tell_cycle(level: LevelAnswer) -> str:
    places = level.given.places
    period = cycle_in_steps(level.cycle, places.coordinates[:, 0], places.group_starts)
    return (
        f"levels come back with a period of {period:.4g}: these are phases of one cycle, not states "
        f"(family='level' gives them as clusters)"
    )
