"""What was chosen without labels, and in words why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index
from mcgta.selection.field import Field
from mcgta.selection.scoring import Scored
from mcgta.selection.search import SearchResult

CLOSE = 10.0
"""Of minus twice the log evidence, below which answers are about as good."""

_SAME = 1e-6
_LARGE = 2.0  # observations that count as one, from where on that is worth a word


class ChoiceWarning(UserWarning):
    """What was chosen without labels is doubtful: there are no clusters, other answers are as good, or the model is rough."""


@dataclass(frozen=True, eq=False)
class Choice(Archived):
    """What was chosen without labels, and why.

    Attributes
    ----------
    params : the numbers chosen, or kept, for n_neighbors, dissimilarity, beta, margin, min_samples and eps
    refined : whether labels are those of the second stage
    evidence : minus twice the log evidence of the labels, before overlaps of regions are resolved; less is better
    plain : that of the best clustering without the second stage; NaN where none was looked at
    one : that of one cluster
    tau : how many observations count as one, for what the model does not know of
    looseness : changes of label between neighbours, over what there would be were labels dealt out at random
    length : distance over which observations of a cluster depend on each other, the median over features; 0 if they do not
    freedom : degrees of freedom of the tails; infinitely many for Gaussian ones
    strays : share of observations taken to be anywhere
    numbers, evidences : numbers of clusters that were looked at, and the least evidence of each
    scored : how many observations the evidence is of
    notes : in words
    doubts : those of the notes that the fit warns of
    """

    params: dict[str, Any]
    refined: bool
    evidence: float
    plain: float
    one: float
    tau: float
    looseness: float
    length: float
    freedom: float
    strays: float
    numbers: Index
    evidences: Array
    scored: int
    notes: tuple[str, ...]
    doubts: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.notes)


def explain(
    params: dict[str, Any], field: Field, found: SearchResult, one: Scored, plain: Scored | None, refined: bool
) -> Choice:
    """Say what was chosen: numbers for what was left open, and whether labels are refined; ``one`` is one cluster for all."""
    best, tau = found.best if refined or plain is None else plain, found.tau
    lengths = field.dependence.lengths[best.kinds] * (best.kinds > 0)
    return Choice(
        params,
        refined,
        best.evidence(tau),
        np.nan if plain is None else plain.evidence(tau),
        one.evidence(tau),
        tau,
        found.loose,
        float(np.median(lengths)),
        best.tails.freedom,
        best.tails.share,
        np.array([scored.clusters for scored in found.others], dtype=np.int64),
        np.array([scored.evidence(tau) for scored in found.others]),
        len(field),
        *_words(field, found, best, plain, refined, one.evidence(tau)),
    )


def _words(
    field: Field, found: SearchResult, best: Scored, plain: Scored | None, refined: bool, one: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Say what was found, and how sure that is; return what is doubtful once more."""
    tau, size = found.tau, best.clusters
    notes, doubts = [], []
    if size > 1 and one <= best.evidence(tau):
        doubts.append(f"these {size} clusters explain the observations no better than one cluster does")
    elif size == 1:
        doubts.append(
            "no cluster structure: no labelling found explains the observations clearly better than one cluster"
        )
    else:
        counted = "" if refined else ", noise counted as one where there is any"
        notes.append(f"{size} clusters{counted}, {(one - best.evidence(tau)) / 2:.0f} nats ahead of one cluster")
    if found.labels.size > len(field):
        how = "whole pieces of series" if field.chain else "places at random"
        notes.append(f"chosen on a sample of {len(field)} of {found.labels.size} observations, {how}")
    if size > 1 and found.free:
        notes.append("position does not help: neighbours agree in label no more than any two observations")
    elif size > 1 and found.mixed:
        notes.append("position helps little: neighbours often differ in label, and labels are not smoothed")
    if refined and found.overlap:
        notes.append(
            f"regions overlap: each observation has its most probable cluster, judged by the {found.overlap} nearest"
        )
    near = sorted(
        scored.clusters
        for scored in found.others
        if scored.clusters != size and scored.evidence(tau) - best.evidence(tau) < CLOSE
    )
    if near and refined and size > 1:
        doubts.append(f"other answers are about as good: {', '.join(map(str, near))} clusters instead of {size}")
    if tau > _LARGE:
        doubts.append(
            f"the clusters' model is rough: {tau:.1f} observations count as one, so fine distinctions are left out"
        )
    if plain is not None:
        notes.append(_compared(found.best.evidence(tau), plain.evidence(tau), refined))
    return (*notes, *doubts), tuple(doubts)


def _compared(second: float, plain: float, refined: bool) -> str:
    """Say which labels have more evidence, refined ones or the clusterer's; the user may have asked for the others."""
    if abs(second - plain) < _SAME:
        return "refined labels and those of the clusterer have the same evidence"
    if second < plain:
        return "refined labels have more evidence than those of the clusterer"
    if refined:
        return "the clusterer's labels do not have clearly more evidence than refined ones"
    return "the clusterer's labels have more evidence than refined ones"
