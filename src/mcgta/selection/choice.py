"""The choice that a search has made without labels, and in words why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.choosing import FamilyChoice, LevelAnswer
from mcgta.selection.families.registry import LEVEL
from mcgta.selection.scoring.scored_labelling import ScoredLabelling
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.search import MIXED_JOIN_COUNT_RATIO, SearchResult

CLUSTERER = "clusterer"
EVIDENCE = "evidence"
"""Where labels come from: the clusterer of Algorithm 1, or the search for evidence."""

CLOSE_NATS = 5.0
"""Difference of log evidence below which answers are about as good."""

_SAME_NATS = 5e-7
_LARGE_OVERDISPERSION = 2.0  # from where on it is worth a word


class ChoiceWarning(UserWarning):
    """A choice made without labels is doubtful: there are no clusters, other answers are as good, or the model is rough."""


@dataclass(frozen=True, eq=False)
class Choice(Archived):
    """What was chosen without labels, and why. Evidence is its logarithm, in nats; more is better.

    Attributes
    ----------
    settings : the values chosen, or kept, for n_neighbors, dissimilarity, beta, margin, min_samples, min_cluster_size and eps
    source : where labels come from: "evidence" (cluster models) or "clusterer"
    log_evidence : of the labels, before overlaps of regions are resolved
    clusterer_log_evidence : of the best clustering by Algorithm 1; NaN where none was looked at
    one_cluster_log_evidence : of one cluster for all
    overdispersion : how many observations count as one, for what the model does not know of
    join_count_ratio : changes of label between neighbours, over what there would be were labels dealt out at random
    correlation_length : distance over which observations of a cluster depend on each other, the median over features; 0 if
        they do not
    degrees_of_freedom : of the tails; infinitely many for Gaussian ones
    outlier_share : share of observations taken to be anywhere
    cluster_counts, log_evidences : numbers of clusters that were looked at, and the most evidence of each
    scored : how many observations the evidence is of
    notes : in words
    doubts : those of the notes that the fit warns of
    family : what clusters differ in: "level" (level and covariance), "dynamics", "trajectory" or "composition"
    family_gains : nats over one cluster of the best labelling of each family that was looked at
    """

    settings: dict[str, Any]
    source: str
    log_evidence: float
    clusterer_log_evidence: float
    one_cluster_log_evidence: float
    overdispersion: float
    join_count_ratio: float
    correlation_length: float
    degrees_of_freedom: float
    outlier_share: float
    cluster_counts: Index
    log_evidences: Array
    scored: int
    notes: tuple[str, ...]
    doubts: tuple[str, ...]
    family: str = LEVEL
    family_gains: dict[str, float] = field(default_factory=dict)

    @property
    def mixed(self) -> bool:
        """Whether labels have little to do with position."""
        return self.join_count_ratio > MIXED_JOIN_COUNT_RATIO

    def __str__(self) -> str:
        return "\n".join(self.notes)


class Considered(NamedTuple):
    """A labelling that was looked at: its number of clusters, its log evidence, and its labels, of a sample or of all."""

    n_clusters: int
    log_evidence: float
    labels: Labels


@dataclass(frozen=True, eq=False)
class Contenders:
    """The labellings that a choice is between.

    Attributes
    ----------
    level : what the search for Gaussian clusters says
    clusterer : the best labelling of the clusterer, scored; None where none was looked at
    others : the best labelling of each number of clusters that was looked at
    source : where the labels that are taken come from
    family : what clusters differ in
    wanted : the number of clusters asked for; None where it was left open
    """

    level: LevelAnswer
    clusterer: ScoredLabelling | None
    others: tuple[Considered, ...]
    source: str
    family: FamilyChoice
    wanted: int | None = None

    @property
    def result(self) -> SearchResult:
        """Of the search for Gaussian clusters."""
        return self.level.given.result

    @property
    def scoring_data(self) -> ScoringData:
        """The observations that labellings are scored on."""
        return self.level.given.scoring_data

    @property
    def one_log_evidence(self) -> float:
        """Log evidence of one cluster for all."""
        return self.level.one.log_evidence(self.result.overdispersion)

    @property
    def refined(self) -> bool:
        """Whether labels are those of a search, of whatever family."""
        return self.source == EVIDENCE

    @property
    def gaussian(self) -> ScoredLabelling:
        """The labelling that is taken, as Gaussian clusters; those of the search where it is of another family."""
        if self.refined:
            return self.level.one if self.family.sets_aside else self.result.best
        assert self.clusterer is not None
        return self.clusterer

    @property
    def size(self) -> int:
        """Number of clusters of the labelling that is taken."""
        return self.gaussian.n_clusters if self.family.search is None else int(self.family.labels.max()) + 1

    @property
    def log_evidence(self) -> float:
        """Log evidence of the labelling that is taken."""
        if self.family.search is not None:
            return self.one_log_evidence + self.family.gain
        return self.gaussian.log_evidence(self.result.overdispersion)

    @property
    def ahead(self) -> float:
        """Log evidence of the labelling that is taken, less that of one cluster."""
        return self.log_evidence - self.one_log_evidence


def make_choice(contenders: Contenders, settings: dict[str, Any]) -> Choice:
    """Say what was chosen: values for settings that were left open, and where labels come from."""
    result = contenders.result
    gaussian = contenders.gaussian
    overdispersion = result.overdispersion
    doubts = _doubts(contenders)
    return Choice(
        settings=settings,
        source=contenders.source,
        log_evidence=contenders.log_evidence,
        clusterer_log_evidence=np.nan
        if contenders.clusterer is None
        else contenders.clusterer.log_evidence(overdispersion),
        one_cluster_log_evidence=contenders.one_log_evidence,
        overdispersion=overdispersion,
        join_count_ratio=0.0 if contenders.family.search is not None else result.join_count_ratio,
        correlation_length=float(np.median(correlation_lengths(contenders.scoring_data, gaussian))),
        degrees_of_freedom=gaussian.tails.degrees_of_freedom,
        outlier_share=gaussian.tails.outlier_share,
        cluster_counts=np.array([each.n_clusters for each in contenders.others], dtype=np.int64),
        log_evidences=np.array([each.log_evidence for each in contenders.others]),
        scored=len(contenders.scoring_data),
        notes=(*_notes(contenders), *doubts),
        doubts=doubts,
        family=contenders.family.name,
        family_gains=contenders.family.gains,
    )


def correlation_lengths(scoring_data: ScoringData, scored: ScoredLabelling) -> Array:
    """Return the (d,) distances over which rows of a cluster depend on each other, by feature; 0 where they do not."""
    return np.where(scored.correlations > 0, scoring_data.correlation_grid.lengths[scored.correlations], 0.0)


def _notes(contenders: Contenders) -> tuple[str, ...]:
    """Say what was found, and which labels have more evidence; the user may have asked for the others."""
    result = contenders.result
    scoring_data = contenders.scoring_data
    size = contenders.size
    refined = contenders.refined
    other_family = contenders.family.search is not None
    notes: list[str] = []
    if size > 1 and contenders.ahead > 0:
        # The clusterer's are scored without its smallest clusters, and with noise as one, so their number is another.
        what = f"{size} clusters" if refined else "the clusterer's labels"
        notes.append(f"{what}, {contenders.ahead:.0f} nats ahead of one cluster")
    elif size == 1 and contenders.wanted == 1:
        notes.append("one cluster, as was asked for")
    notes += contenders.family.notes
    if result.labels.size > len(scoring_data):
        how = "whole pieces of series" if scoring_data.chain else "places at random"
        notes.append(f"chosen on a sample of {len(scoring_data)} of {result.labels.size} observations, {how}")
    if other_family or contenders.family.sets_aside:
        return tuple(notes)
    if size > 1 and result.ignores_position:
        notes.append("position does not help: neighbours agree in label no more than any two observations")
    elif size > 1 and result.mixed:
        notes.append("position helps little: neighbours often differ in label, and labels are not smoothed")
    if refined and result.overlap:
        notes.append(
            f"regions overlap: each observation has its most probable cluster, judged by the {result.overlap} nearest"
        )
    if contenders.clusterer is not None:
        overdispersion = result.overdispersion
        ahead = result.best.log_evidence(overdispersion) - contenders.clusterer.log_evidence(overdispersion)
        if abs(ahead) < _SAME_NATS:
            notes.append("refined labels and those of the clusterer have the same evidence")
        elif ahead > 0:
            notes.append("refined labels have more evidence than those of the clusterer")
        elif refined:
            notes.append("the clusterer's labels do not have clearly more evidence than refined ones")
        else:
            notes.append("the clusterer's labels have more evidence than refined ones")
    return tuple(notes)


def _doubts(contenders: Contenders) -> tuple[str, ...]:
    """Say why the choice is doubtful, if it is."""
    overdispersion = contenders.result.overdispersion
    size = contenders.size
    doubts: list[str] = []
    if size > 1 and contenders.ahead <= 0:
        what = f"these {size} clusters" if contenders.refined else "the clusterer's labels"
        doubts.append(f"{what} explain the observations no better than one cluster does")
    elif size == 1 and contenders.wanted is None:
        doubts.append(
            "no cluster structure: no labelling found explains the observations clearly better than one cluster"
        )
    if size > 1 and contenders.wanted is None and contenders.refined:
        level = contenders.log_evidence - CLOSE_NATS
        near = [each.n_clusters for each in contenders.others if each.n_clusters != size and each.log_evidence > level]
        if near:
            noun = "cluster" if near == [1] else "clusters"
            doubts.append(f"other answers are about as good: {', '.join(map(str, near))} {noun} instead of {size}")
    if overdispersion > _LARGE_OVERDISPERSION and contenders.family.search is None:
        doubts.append(
            f"the clusters' model is rough: {overdispersion:.1f} observations count as one, so fine distinctions are left out"
        )
    return tuple(doubts)
