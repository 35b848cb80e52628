"""The choice that a search has made without labels, and in words why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index
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

    @property
    def mixed(self) -> bool:
        """Whether labels have little to do with position."""
        return self.join_count_ratio > MIXED_JOIN_COUNT_RATIO

    def __str__(self) -> str:
        return "\n".join(self.notes)


@dataclass(frozen=True, eq=False)
class Contenders:
    """The labellings that a choice is between.

    Attributes
    ----------
    scoring_data : the observations that they are scored on
    result : of the search
    one : one cluster for all, scored
    clusterer : the best labelling of the clusterer, scored; None where none was looked at
    others : the best labelling of each number of clusters that was looked at, scored
    source : where the labels that are taken come from
    wanted : the number of clusters asked for; None where it was left open
    """

    scoring_data: ScoringData
    result: SearchResult
    one: ScoredLabelling
    clusterer: ScoredLabelling | None
    others: tuple[ScoredLabelling, ...]
    source: str
    wanted: int | None = None

    @property
    def best(self) -> ScoredLabelling:
        """The labelling that is taken."""
        if self.source == EVIDENCE:
            return self.result.best
        assert self.clusterer is not None
        return self.clusterer

    @property
    def ahead(self) -> float:
        """Log evidence of the labelling that is taken, less that of one cluster."""
        overdispersion = self.result.overdispersion
        return self.best.log_evidence(overdispersion) - self.one.log_evidence(overdispersion)


def make_choice(contenders: Contenders, settings: dict[str, Any]) -> Choice:
    """Say what was chosen: values for settings that were left open, and where labels come from."""
    result = contenders.result
    best = contenders.best
    overdispersion = result.overdispersion
    doubts = _doubts(contenders)
    return Choice(
        settings=settings,
        source=contenders.source,
        log_evidence=best.log_evidence(overdispersion),
        clusterer_log_evidence=np.nan
        if contenders.clusterer is None
        else contenders.clusterer.log_evidence(overdispersion),
        one_cluster_log_evidence=contenders.one.log_evidence(overdispersion),
        overdispersion=overdispersion,
        join_count_ratio=result.join_count_ratio,
        correlation_length=float(np.median(correlation_lengths(contenders.scoring_data, best))),
        degrees_of_freedom=best.tails.degrees_of_freedom,
        outlier_share=best.tails.outlier_share,
        cluster_counts=np.array([scored.n_clusters for scored in contenders.others], dtype=np.int64),
        log_evidences=np.array([scored.log_evidence(overdispersion) for scored in contenders.others]),
        scored=len(contenders.scoring_data),
        notes=(*_notes(contenders), *doubts),
        doubts=doubts,
    )


def correlation_lengths(scoring_data: ScoringData, scored: ScoredLabelling) -> Array:
    """Return the (d,) distances over which rows of a cluster depend on each other, by feature; 0 where they do not."""
    return np.where(scored.correlations > 0, scoring_data.correlation_grid.lengths[scored.correlations], 0.0)


def _notes(contenders: Contenders) -> tuple[str, ...]:
    """Say what was found, and which labels have more evidence; the user may have asked for the others."""
    result = contenders.result
    scoring_data = contenders.scoring_data
    size = contenders.best.n_clusters
    refined = contenders.source == EVIDENCE
    notes: list[str] = []
    if size > 1 and contenders.ahead > 0:
        # The clusterer's are scored without its smallest clusters, and with noise as one, so their number is another.
        what = f"{size} clusters" if refined else "the clusterer's labels"
        notes.append(f"{what}, {contenders.ahead:.0f} nats ahead of one cluster")
    elif size == 1 and contenders.wanted == 1:
        notes.append("one cluster, as was asked for")
    if result.labels.size > len(scoring_data):
        how = "whole pieces of series" if scoring_data.chain else "places at random"
        notes.append(f"chosen on a sample of {len(scoring_data)} of {result.labels.size} observations, {how}")
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
    best = contenders.best
    size = best.n_clusters
    doubts: list[str] = []
    if size > 1 and contenders.ahead <= 0:
        what = f"these {size} clusters" if contenders.source == EVIDENCE else "the clusterer's labels"
        doubts.append(f"{what} explain the observations no better than one cluster does")
    elif size == 1 and contenders.wanted is None:
        doubts.append(
            "no cluster structure: no labelling found explains the observations clearly better than one cluster"
        )
    if size > 1 and contenders.wanted is None and contenders.source == EVIDENCE:
        level = best.log_evidence(overdispersion) - CLOSE_NATS
        near = [
            each.n_clusters
            for each in contenders.others
            if each.n_clusters != size and each.log_evidence(overdispersion) > level
        ]
        if near:
            noun = "cluster" if near == [1] else "clusters"
            doubts.append(f"other answers are about as good: {', '.join(map(str, near))} {noun} instead of {size}")
    if overdispersion > _LARGE_OVERDISPERSION:
        doubts.append(
            f"the clusters' model is rough: {overdispersion:.1f} observations count as one, so fine distinctions are left out"
        )
    return tuple(doubts)
