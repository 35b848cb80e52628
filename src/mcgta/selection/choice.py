"""The choice that a search has made without labels, and in words why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index
from mcgta.selection.field import Field
from mcgta.selection.scoring import Scored
from mcgta.selection.search import SearchResult

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
    refined : whether labels are those of the cluster models, not the clusterer's
    log_evidence : of the labels, before overlaps of regions are resolved
    clusterer_log_evidence : of the best clustering by Algorithm 1; NaN where none was looked at
    one_cluster_log_evidence : of one cluster for all
    overdispersion : how many observations count as one, for what the model does not know of
    join_count_ratio : changes of label between neighbours, over what there would be were labels dealt out at random
    correlation_length : distance over which observations of a cluster depend on each other, the median over features; 0 if
        they do not
    degrees_of_freedom : of the tails; infinitely many for Gaussian ones
    outlier_share : share of observations taken to be anywhere
    numbers, log_evidences : numbers of clusters that were looked at, and the most evidence of each
    scored : how many observations the evidence is of
    notes : in words
    doubts : those of the notes that the fit warns of
    """

    settings: dict[str, Any]
    refined: bool
    log_evidence: float
    clusterer_log_evidence: float
    one_cluster_log_evidence: float
    overdispersion: float
    join_count_ratio: float
    correlation_length: float
    degrees_of_freedom: float
    outlier_share: float
    numbers: Index
    log_evidences: Array
    scored: int
    notes: tuple[str, ...]
    doubts: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.notes)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The labellings that a choice is between.

    Attributes
    ----------
    field : the observations that they are scored on
    result : of the search
    one : one cluster for all, scored
    clusterer : the best labelling of the clusterer, scored; None where none was looked at
    refined : whether the result of the search is taken
    wanted : the number of clusters asked for; None where it was left open
    """

    field: Field
    result: SearchResult
    one: Scored
    clusterer: Scored | None
    refined: bool
    wanted: int | None = None

    @property
    def best(self) -> Scored:
        """The labelling that is taken."""
        if self.refined or self.clusterer is None:
            return self.result.best
        return self.clusterer

    def log_evidence(self, scored: Scored) -> float:
        """Return the log evidence at the overdispersion of the search."""
        return scored.log_evidence(self.result.overdispersion)


def explain(compared: Comparison, settings: dict[str, Any]) -> Choice:
    """Say what was chosen: values for settings that were left open, and whether labels are those of the search."""
    result = compared.result
    best = compared.best
    lengths = compared.field.dependence.lengths[best.kinds] * (best.kinds > 0)
    notes, doubts = _words(compared)
    return Choice(
        settings=settings,
        refined=compared.refined,
        log_evidence=compared.log_evidence(best),
        clusterer_log_evidence=np.nan if compared.clusterer is None else compared.log_evidence(compared.clusterer),
        one_cluster_log_evidence=compared.log_evidence(compared.one),
        overdispersion=result.overdispersion,
        join_count_ratio=result.join_counts,
        correlation_length=float(np.median(lengths)),
        degrees_of_freedom=best.tails.degrees_of_freedom,
        outlier_share=best.tails.share,
        numbers=np.array([scored.clusters for scored in result.others], dtype=np.int64),
        log_evidences=np.array([compared.log_evidence(scored) for scored in result.others]),
        scored=len(compared.field),
        notes=(*notes, *doubts),
        doubts=doubts,
    )


def _words(compared: Comparison) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Say what was found, and how sure that is; return what is sure, then what is doubtful."""
    result = compared.result
    size = compared.best.clusters
    notes: list[str] = []
    doubts: list[str] = []
    _tell_structure(compared, notes, doubts)
    if result.labels.size > len(compared.field):
        how = "whole pieces of series" if compared.field.chain else "places at random"
        notes.append(f"chosen on a sample of {len(compared.field)} of {result.labels.size} observations, {how}")
    if size > 1 and result.free:
        notes.append("position does not help: neighbours agree in label no more than any two observations")
    elif size > 1 and result.mixed:
        notes.append("position helps little: neighbours often differ in label, and labels are not smoothed")
    if compared.refined and result.overlap:
        notes.append(
            f"regions overlap: each observation has its most probable cluster, judged by the {result.overlap} nearest"
        )
    near = _about_as_good(compared)
    if near and compared.refined and size > 1 and compared.wanted is None:
        doubts.append(f"other answers are about as good: {', '.join(map(str, near))} clusters instead of {size}")
    if result.overdispersion > _LARGE_OVERDISPERSION:
        doubts.append(
            f"the clusters' model is rough: {result.overdispersion:.1f} observations count as one, so fine distinctions are "
            "left out"
        )
    if compared.clusterer is not None:
        notes.append(_tell_preferred(compared))
    return tuple(notes), tuple(doubts)


def _tell_structure(compared: Comparison, notes: list[str], doubts: list[str]) -> None:
    size = compared.best.clusters
    ahead = compared.log_evidence(compared.best) - compared.log_evidence(compared.one)
    if size > 1 and ahead <= 0:
        doubts.append(f"these {size} clusters explain the observations no better than one cluster does")
    elif size == 1 and compared.wanted is None:
        doubts.append(
            "no cluster structure: no labelling found explains the observations clearly better than one cluster"
        )
    elif size > 1:
        counted = "" if compared.refined else ", noise counted as one where there is any"
        notes.append(f"{size} clusters{counted}, {ahead:.0f} nats ahead of one cluster")


def _about_as_good(compared: Comparison) -> list[int]:
    """Return the other numbers of clusters whose evidence is close to that of the best."""
    best = compared.best
    level = compared.log_evidence(best) - CLOSE_NATS
    return sorted(
        scored.clusters
        for scored in compared.result.others
        if scored.clusters != best.clusters and compared.log_evidence(scored) > level
    )


def _tell_preferred(compared: Comparison) -> str:
    """Say which labels have more evidence, refined ones or the clusterer's; the user may have asked for the others."""
    assert compared.clusterer is not None
    ahead = compared.log_evidence(compared.result.best) - compared.log_evidence(compared.clusterer)
    if abs(ahead) < _SAME_NATS:
        return "refined labels and those of the clusterer have the same evidence"
    if ahead > 0:
        return "refined labels have more evidence than those of the clusterer"
    if compared.refined:
        return "the clusterer's labels do not have clearly more evidence than refined ones"
    return "the clusterer's labels have more evidence than refined ones"
