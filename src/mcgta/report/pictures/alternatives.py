"""Labellings that a page can show: the one that was taken, and the best of other numbers of clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from mcgta.fit import Fit
from mcgta.runtime.types import Index, Labels
from mcgta.selection.choice import CLUSTERER


@dataclass(frozen=True, eq=False)
class Shown:
    """A labelling that the page can show.

    Attributes
    ----------
    n_clusters : K
    labels : (N,) in canonical order, -1 for noise, with numbers that keep the colours of the labelling that was taken
    taken : whether it is that one
    behind : nats of log evidence behind the best; NaN where that is not known
    words : what distinguishes it
    """

    n_clusters: int
    labels: Labels
    taken: bool
    behind: float
    words: str


def list_shown(fit: Fit) -> list[Shown]:
    """Return the labellings that can be shown, fewest clusters first; the one that was taken is among them."""
    taken = fit.labelling.labels
    by_clusterer = fit.labelling.source == CLUSTERER
    own = "the labels of the clusterer, which were taken" if by_clusterer else "the labels that were taken"
    listed = []
    best = _best_evidence(fit)
    behind = np.nan if fit.choice is None else best - fit.choice.log_evidence
    found = False
    for each in fit.alternatives:
        if not by_clusterer and each.n_clusters == fit.labelling.n_clusters:
            listed.append(Shown(each.n_clusters, taken, True, behind, each.difference))
            found = True
        elif each.labels is not None:
            labels = keep_numbers(taken, each.labels)
            listed.append(Shown(each.n_clusters, labels, False, best - each.log_evidence, each.difference))
    if not found:
        listed.append(Shown(fit.labelling.n_clusters, taken, True, behind, own))
    return sorted(listed, key=lambda each: each.n_clusters)


def _best_evidence(fit: Fit) -> float:
    if fit.choice is None:
        return np.nan
    return max(fit.choice.log_evidence, *(each.log_evidence for each in fit.alternatives), -np.inf)


def count_numbers(shown: list[Shown]) -> int:
    """Return how many numbers of clusters any of the labellings uses, from 0 on."""
    return max(int(each.labels.max(initial=-1)) + 1 for each in shown)


def keep_numbers(taken: Labels, other: Labels) -> Labels:
    """Return other labels with the numbers of those taken clusters that they share most rows with, new ones behind them."""
    rank = match_numbers(taken, other)
    return np.where(other < 0, -1, rank[np.maximum(other, 0)])


def match_numbers(taken: Labels, other: Labels) -> Index:
    """Return a number for each of the other clusters, so that as many rows as possible keep theirs."""
    n_taken = int(taken.max(initial=-1)) + 1
    n_other = int(other.max(initial=-1)) + 1
    both = (taken >= 0) & (other >= 0)
    shared = np.bincount(other[both] * max(n_taken, 1) + taken[both], minlength=n_other * max(n_taken, 1))
    rows, columns = linear_sum_assignment(-shared.reshape(n_other, max(n_taken, 1))[:, :n_taken])
    rank = np.full(max(n_other, 1), -1)
    rank[rows] = columns
    free = np.flatnonzero(rank[:n_other] < 0)
    rank[free] = n_taken + np.arange(free.size)
    return rank
