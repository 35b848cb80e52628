"""Settings and labels that are left to the data: whether there is a search, and what it chooses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcgta.observations.observations import Observations
from mcgta.pipeline import StageCache
from mcgta.runtime.progress import note
from mcgta.runtime.types import Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.choice import CLOSE_NATS, CLUSTERER, EVIDENCE, Choice, Considered, Contenders, make_choice
from mcgta.selection.families.choosing import FamilyChoice, LevelAnswer, choose_family
from mcgta.selection.families.family import FamilySearch
from mcgta.selection.families.registry import LEVEL, FamilyInput
from mcgta.selection.sampling import MAX_CHOSEN_ON_ALL_ROWS, scored_rows
from mcgta.selection.scoring.feature_scale import varying_columns
from mcgta.selection.scoring.scored_labelling import score
from mcgta.selection.search import SearchResult, search
from mcgta.selection.trials import Trial, Trials
from mcgta.settings import SEARCHED, Settings
from mcgta.stages.loss import PENALTIES

_ROUNDING = 16 * float(np.finfo(float).eps)
"""Of the largest value of a feature: what varies less is constant but for how its values were computed."""


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen for observations.

    Attributes
    ----------
    settings : with values for what was left open
    choice : what was chosen, and why
    labels : (N,) those of the search, in canonical order, whether they are taken or not
    overlap : neighbours by which these were found where regions overlap; 0 where they do not
    family : the search of the family that the labels are of; None for Gaussian clusters
    others : the best labelling of each number of clusters that was looked at, fewest first; one cluster and that of ``labels``
        are among them
    """

    settings: Settings
    choice: Choice
    labels: Labels
    overlap: int
    family: FamilySearch | None
    others: tuple[Considered, ...]

    def having_chosen(self, **values: Any) -> Selection:
        """Return the same with values among the settings chosen that were settled before the search."""
        return replace(self, choice=replace(self.choice, settings={**self.choice.settings, **values}))


def asks_for_search(settings: Settings) -> bool:
    """Whether the settings leave anything to search for.

    A radius has a meaning for one loss only, so setting it leaves nothing open.
    """
    if settings.refine == "all" or settings.family not in ("auto", LEVEL):
        return True
    if settings.n_clusters != "auto" and not settings.wants_clusterer:
        return True
    return (
        settings.clustering_algorithm.takes_options
        and settings.is_auto("eps")
        and settings.dissimilarity_kind.chance_known
        and settings.prior is None
        and PENALTIES[settings.penalty].hinged
    )


def select_where_open(settings: Settings, data: Observations, cache: StageCache) -> Selection | None:
    """Search for the best labelling where something is left open; else say why not, if the data are the reason.

    It takes features that vary, and a labelling that can be scored: the clusterer's are not beyond
    ``MAX_CHOSEN_ON_ALL_ROWS`` observations, where the search looks at a sample.
    """
    varying = varying_columns(data.X)
    if varying.size == 0:
        _warn_of_offsets(data, varying)
        if settings.n_clusters not in ("auto", 1) and not settings.wants_clusterer:
            raise ValueError(
                f"n_clusters={settings.n_clusters} is not possible: no feature varies, so there is nothing to part by"
            )
        return None
    if not asks_for_search(settings):
        return None
    if settings.wants_clusterer and len(data.positions) > MAX_CHOSEN_ON_ALL_ROWS:
        note(
            f"nothing is searched for: with refine={settings.refine!r} labels have to be the clusterer's, which are not scored "
            f"beyond {MAX_CHOSEN_ON_ALL_ROWS:,} observations"
        )
        return None
    _warn_of_offsets(data, varying)
    return select(settings, data, cache)


def select(settings: Settings, data: Observations, cache: StageCache) -> Selection:
    """Search for the best labelling; return it, the settings chosen, and why.

    Results of stages go to the cache, from where the fit takes them again.
    """
    wanted = None if settings.n_clusters == "auto" else int(settings.n_clusters)
    # The clusterer is cut where it has as many clusters as are wanted, so only refined labels are searched for by number.
    refined_number = None if settings.wants_clusterer else wanted
    scoring_data, result = search(data.X, data.positions, seed=data.seed, n_clusters=refined_number)
    best = result.best
    correlations = best.correlations if scoring_data.from_sample else None
    one = score(scoring_data, np.zeros(len(scoring_data), dtype=np.int64), correlations=correlations)
    trial = None
    if settings.refine != "all" and refined_number is None and len(data.positions) <= MAX_CHOSEN_ON_ALL_ROWS:
        trial = Trials(settings, data, scoring_data, result, cache).best(one)
    source = choose_source(settings, result, trial)
    chosen = settings.having(**({"n_neighbors": data.n_neighbors} if trial is None else trial.settings)).plain()
    given = FamilyInput(data.X, data.positions, scoring_data, result, data.seed, refined_number)
    level = LevelAnswer(given, one, scored_rows(data.positions, data.seed))
    family = choose_family(level, LEVEL if settings.wants_clusterer else settings.family)
    if family.search is not None or family.sets_aside:
        source = EVIDENCE
    considered = list_considered(level, family)
    contenders = Contenders(level, None if trial is None else trial.scored, considered, source, family, wanted)
    choice = make_choice(contenders, {name: getattr(chosen, name) for name in SEARCHED})
    overlap = 0 if family.search is not None or family.sets_aside else result.overlap
    return Selection(chosen, choice, family.labels, overlap, family.search, considered)


def list_considered(level: LevelAnswer, family: FamilyChoice) -> tuple[Considered, ...]:
    """List the best labelling of each number of clusters that was looked at in the family of the labels, fewest first."""
    result = level.given.result
    overdispersion = result.overdispersion
    one_evidence = level.one.log_evidence(overdispersion)
    if family.search is not None:
        size = int(family.labels.max()) + 1
        (own,) = (each.gain for each in family.others if each.n_clusters == size)
        # Others have what the family explains beside its labels, as the labelling that is taken has.
        beside = family.gain - own if size > 1 else 0.0
        listed = {
            each.n_clusters: Considered(
                each.n_clusters, one_evidence + each.gain + (beside if each.n_clusters > 1 else 0.0), each.labels
            )
            for each in family.others
        }
        listed[size] = Considered(size, one_evidence + family.gain, family.labels)
    else:
        listed = {
            scored.n_clusters: Considered(scored.n_clusters, scored.log_evidence(overdispersion), scored.labels)
            for scored in (*result.others, level.one, result.best)
        }
    return tuple(listed[number] for number in sorted(listed))


def choose_source(settings: Settings, result: SearchResult, trial: Trial | None) -> str:
    """Choose whose labels are taken: as asked for, else refined ones unless the clusterer's have clearly more evidence."""
    if settings.refine == "auto" and trial is not None:
        # Where neither is clearly ahead, refined labels are better for giving every observation a cluster.
        refined = result.best.log_evidence(result.overdispersion) >= trial.log_evidence - CLOSE_NATS
        return EVIDENCE if refined else CLUSTERER
    return CLUSTERER if settings.wants_clusterer else EVIDENCE


def _warn_of_offsets(data: Observations, varying: Index) -> None:
    """Warn of features that vary, but by so little against their size that the search has to leave them out."""
    spread = np.ptp(data.X, axis=0)
    spread[varying] = 0.0
    spread[spread <= _ROUNDING * np.abs(data.X).max(axis=0)] = 0.0
    column = int(np.argmax(spread))
    if spread[column] > 0:
        others = ", and so do the others" if varying.size == 0 else ": the search leaves it out"
        warn(
            f"X: column {column} varies by {spread[column]:.3g} around {np.abs(data.X[:, column]).max():.3g}, which leaves too "
            f"few digits to compare labellings by{others}; subtract the offset of each feature before fitting"
        )
