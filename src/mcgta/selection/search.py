"""The search for the labelling with the most evidence, without known labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mcgta.positions.positions import Positions
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.merging import merge_down, merge_path
from mcgta.selection.region_overlap import resolve_overlap
from mcgta.selection.relabelling import RELABEL_STEPS, Relabeller, absorb_small
from mcgta.selection.sampling import (
    LABELLED_AT_A_TIME_ROWS,
    MAX_CHOSEN_ON_ALL_ROWS,
    nearest_rows,
    searched_rows,
)
from mcgta.selection.scoring.overdispersion import BLOCK_ROWS, estimate_overdispersion
from mcgta.selection.scoring.scored_labelling import ScoredLabelling, fit_clusters, row_log_densities, score
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.starts import START_CLUSTERS, initial_labellings, kmeans_labels, winsorize

MIXED_JOIN_COUNT_RATIO = 0.5
"""Join-count ratio beyond which labels are mixed: they have little to do with position."""

RANDOM_JOIN_COUNT_RATIO = 0.95
"""Join-count ratio beyond which labels ignore position, but for chance."""

MAX_CLUSTERS = 12
"""Clusters of a labelling that is looked at, unless more are asked for."""

_RICHER_CLUSTERS = 3  # more than the best labelling has, up to which labellings tell of overdispersion
_RESCORED = 8  # labellings that are scored with their own correlations and tails
_EXTENDED_FEWER = (
    3  # numbers of clusters below that of the best labelling of a sample, extended to all observations with it
)
_EXTENDED_MORE = 1  # and above
_EXTENDED_ROUNDS = 2  # of relabelling an extended labelling
_LEAST_NATS = 3.0  # that several clusters have to be ahead of one, for the many labellings that are looked at
_STANDARD_ERRORS = 2.0
_ERROR_BLOCKS = 40  # blocks that the standard error is estimated from
_SEPARATED_DEVIATIONS = 1.45  # standard deviations of both; the halves of a Gaussian are 1.32 apart
_MIXTURE_START_CLUSTERS = 12  # of the path that ignores position


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The labelling that a search has chosen, and others that it looked at.

    Attributes
    ----------
    labels : (N,) cluster of each observation
    best : the labelling, scored; of the sample where there are many observations
    overdispersion : how many observations count as one, for what the model does not know of
    join_count_ratio : changes of label between neighbours, over those expected if labels were assigned at random
    others : the best labelling of each number of clusters that was looked at, fewest first
    overlap : neighbours by which labels are more probable, one by one, than those of ``best``; 0 where they are the same
    ignores_position : whether labels have nothing to do with position
    """

    labels: Labels
    best: ScoredLabelling
    overdispersion: float
    join_count_ratio: float
    others: tuple[ScoredLabelling, ...] = ()
    overlap: int = 0
    ignores_position: bool = False

    @property
    def mixed(self) -> bool:
        """Whether labels have little to do with position."""
        return self.join_count_ratio > MIXED_JOIN_COUNT_RATIO


class Candidates(NamedTuple):
    """Labellings that the search has come across: ``spatial`` ones by position too, ``mixed`` ones by features alone."""

    spatial: list[ScoredLabelling]
    mixed: list[ScoredLabelling]


class JoinCounts(NamedTuple):
    """The join-count ratio of a labelling, and two standard errors of that of labels assigned at random."""

    ratio: float
    tolerance: float

    @property
    def ignores_position(self) -> bool:
        """Whether neighbours agree in label no more than any two rows, but for chance."""
        return self.ratio > RANDOM_JOIN_COUNT_RATIO - self.tolerance


def search(
    features: Array, places: Positions, *, seed: int = 0, n_clusters: int | None = None
) -> tuple[ScoringData, SearchResult]:
    """Search for the labelling of features (N, d) at positions, both in canonical order, that has the most evidence.

    Returns the data that it was scored on, too. Of more than ``MAX_SEARCHED_ROWS`` observations it searches a sample, extends
    the best labelling of each number of clusters to all, and chooses among these; of more than ``MAX_CHOSEN_ON_ALL_ROWS`` it
    chooses on the sample. With ``n_clusters`` only labellings with that many clusters can be chosen.
    """
    rows, part = searched_rows(places, seed)
    with stage("neighbours"):
        scoring_data = ScoringData.of(features[rows], part, seed=seed)
    candidates = find_candidates(scoring_data, seed, n_clusters)
    if rows.size == len(places):
        return scoring_data, choose_candidate(scoring_data, candidates, n_clusters)
    with stage("all observations"):
        nearest = nearest_rows(places, rows)
        if len(places) > MAX_CHOSEN_ON_ALL_ROWS:
            result = choose_candidate(scoring_data, candidates, n_clusters)
            labels = label_in_parts(scoring_data, result, features, places, nearest, seed)
            return scoring_data, replace(result, labels=labels)
        scale = scoring_data.scale
        grid = scoring_data.correlation_grid
        every = ScoringData.of(features, places, seed=seed, scale=scale, correlation_grid=grid)
        extended = extend_candidates(scoring_data, candidates, every, rows, nearest, n_clusters, seed)
        return every, choose_candidate(every, extended, n_clusters)


def find_candidates(scoring_data: ScoringData, seed: int, n_clusters: int | None = None) -> Candidates:
    """Return every labelling on the merge paths from all initial labellings, each once."""
    spatial: dict[bytes, ScoredLabelling] = {}
    number = START_CLUSTERS if n_clusters is None else max(START_CLUSTERS, 2 * n_clusters)
    with stage("search"):
        for start in initial_labellings(scoring_data, seed, number=number):
            for weight in start.likelihood_weights if scoring_data.chain else (1.0,):
                for scored in merge_path(scoring_data, start.labels, likelihood_weight=weight):
                    key = scored.labels.tobytes()
                    if key not in spatial or scored.log_evidence() > spatial[key].log_evidence():
                        spatial[key] = scored
        mixture = kmeans_labels(winsorize(scoring_data), max(_MIXTURE_START_CLUSTERS, n_clusters or 0), seed)
        mixed = merge_path(scoring_data, mixture, mixed=True, independent=True)
    return Candidates(list(spatial.values()), [scored for scored in mixed if are_separated(scoring_data, scored)])


def are_separated(scoring_data: ScoringData, scored: ScoredLabelling) -> bool:
    """Whether there are several clusters, and each is separated from every other in its features.

    Along the line that separates two of them best, their means have to be farther apart than those of the two halves of one
    Gaussian, in standard deviations. Else, where position does not help, there is no telling clusters from tails or a bend.
    """
    inside = [scoring_data.X[:, scored.labels == k] for k in range(scored.n_clusters)]
    means = [part.mean(axis=1) for part in inside]
    spreads = [np.atleast_2d(np.cov(part)) for part in inside]
    for k in range(scored.n_clusters):
        for m in range(k):
            gap = means[k] - means[m]
            both = 0.5 * (spreads[k] + spreads[m])
            line = np.linalg.lstsq(both, gap, rcond=None)[0]
            widths = np.sqrt([max(float(line @ spread @ line), 0.0) for spread in (spreads[k], spreads[m])])
            if abs(float(line @ gap)) < _SEPARATED_DEVIATIONS * widths.sum():
                return False
    return scored.n_clusters > 1


def extend_candidates(
    sampled: ScoringData,
    candidates: Candidates,
    every: ScoringData,
    rows: Index,
    nearest: Index,
    n_clusters: int | None,
    seed: int,
) -> Candidates:
    """Extend the best labellings of a sample to all observations, and add one cluster.

    ``rows`` are those of the sample, and ``nearest`` (N,) is the nearest of them to each observation.
    """
    judge = Judge(sampled)
    first = judge.rescore(max_evidence([*candidates.spatial, *candidates.mixed], 1.0))
    overdispersion = estimate_overdispersion(sampled, first)
    mixed = count_joins(sampled, first).ratio > MIXED_JOIN_COUNT_RATIO
    pool = (candidates.mixed if mixed else candidates.spatial) or candidates.spatial
    best = [judge.rescore(scored) for scored in best_by_n_clusters(pool, overdispersion)]
    top = int(np.argmax([scored.log_evidence(overdispersion) for scored in best]))
    best = best[max(0, top - _EXTENDED_FEWER) : top + 1 + _EXTENDED_MORE]
    if n_clusters is not None and all(scored.n_clusters != n_clusters for scored in best):
        wanted = with_n_clusters(sampled, pool, n_clusters, overdispersion, seed)
        best.append(judge.rescore(max_evidence(wanted, overdispersion)))
    extended: list[ScoredLabelling] = []
    for scored in best:
        relabeller = Relabeller(every, scored.correlations, scored.tails, 1.0 / overdispersion, mixed)
        labels = absorb_small(every, relabeller.assign_from(rows, scored.labels, nearest))
        labels = relabeller.relabel_until_stable(labels, _EXTENDED_ROUNDS)
        extended.append(score(every, labels, correlations=scored.correlations, tails=scored.tails))
    one = score(every, np.zeros(len(every), dtype=np.int64), correlations=first.correlations, tails=first.tails)
    return Candidates([*extended, one], extended if mixed else [])


def label_in_parts(
    sampled: ScoringData, result: SearchResult, features: Array, places: Positions, nearest: Index, seed: int
) -> Labels:
    """Return labels of all observations by the clusters of a sample, ``LABELLED_AT_A_TIME_ROWS`` at a time.

    ``nearest`` (N,) is the nearest row of the sample to each observation.
    """
    best = result.best
    whitened = sampled.whiten_by(best.labels, best.correlations)
    fitted = fit_clusters(whitened, best.labels, best.tails, steps=RELABEL_STEPS)
    labels = np.empty(len(places), dtype=np.int64)
    scale = sampled.scale
    grid = sampled.correlation_grid
    for start in range(0, len(places), LABELLED_AT_A_TIME_ROWS):
        rows = np.arange(start, min(start + LABELLED_AT_A_TIME_ROWS, len(places)))
        part = ScoringData.of(features[rows], places.take(rows), seed=seed, scale=scale, correlation_grid=grid)
        relabeller = Relabeller(part, best.correlations, best.tails, 1.0 / result.overdispersion, result.mixed)
        labels[rows] = relabeller.assign(best.labels[nearest[rows]], fitted.gaussians, fitted.counts)
        if result.overlap:
            labels[rows] = resolve_overlap(part, labels[rows], fitted.gaussians, best.correlations, best.tails)[0]
    return labels


class Judge:
    """Scores candidates with the correlations, scales and tails that suit them best, each once.

    Those that were extended from a sample keep what suited them there.
    """

    def __init__(self, scoring_data: ScoringData) -> None:
        self.scoring_data = scoring_data
        self._judged: dict[bytes, ScoredLabelling] = {}

    def rescore(self, scored: ScoredLabelling) -> ScoredLabelling:
        """Return the labelling, scored with what suits it best."""
        if self.scoring_data.from_sample:
            return scored
        key = scored.labels.tobytes()
        if key not in self._judged:
            self._judged[key] = score(self.scoring_data, scored.labels)
        return self._judged[key]

    def best(
        self, candidates: list[ScoredLabelling], overdispersion: float, *, by_place: bool = False
    ) -> ScoredLabelling:
        """Return the candidate with the most evidence, of those that come near and the best of each number of clusters."""
        ranked = sorted(candidates, key=lambda scored: -scored.log_evidence(overdispersion, by_place=by_place))
        near = [*ranked[:_RESCORED], *best_by_n_clusters(ranked, overdispersion)]
        return max_evidence([self.rescore(scored) for scored in near], overdispersion, by_place=by_place)


def choose_candidate(scoring_data: ScoringData, candidates: Candidates, n_clusters: int | None = None) -> SearchResult:
    """Choose the candidate with the most evidence, by position if it helps and by features alone if not."""
    judge = Judge(scoring_data)
    first = judge.best([*candidates.spatial, *candidates.mixed], 1.0)
    joins = count_joins(scoring_data, first)
    if joins.ratio > MIXED_JOIN_COUNT_RATIO and (joins.ignores_position or candidates.mixed):
        return _choose_mixed(judge, candidates.mixed, first, joins, n_clusters)
    return _choose_spatial(judge, candidates.spatial, first, n_clusters)


def _choose_spatial(
    judge: Judge, candidates: list[ScoredLabelling], first: ScoredLabelling, n_clusters: int | None
) -> SearchResult:
    """Choose where position helps: ``first`` takes the model at its word, the choice believes it as far as it is right."""
    scoring_data = judge.scoring_data
    # Clusters that are still to be found make blocks alike, too, so labellings with more of them have a say.
    most = first.n_clusters + _RICHER_CLUSTERS
    richer = [scored for scored in best_by_n_clusters(candidates, 1.0) if first.n_clusters < scored.n_clusters <= most]
    told = [first, *(judge.rescore(scored) for scored in richer)]
    overdispersion = min(estimate_overdispersion(scoring_data, scored) for scored in told)
    best = simplest_adequate(judge, candidates, overdispersion)
    if n_clusters is not None and best.n_clusters != n_clusters:
        wanted = with_n_clusters(scoring_data, candidates, n_clusters, overdispersion)
        if scoring_data.from_sample and best.n_clusters > n_clusters:
            wanted.append(merge_down(scoring_data, best, n_clusters))
        best = judge.rescore(max_evidence(wanted, overdispersion))
    result = SearchResult(
        best.labels,
        best,
        overdispersion,
        count_joins(scoring_data, best).ratio,
        tuple(best_by_n_clusters(candidates, overdispersion, most=max(MAX_CLUSTERS, n_clusters or 0))),
    )
    if result.mixed:
        return result
    whitened = scoring_data.whiten_by(best.labels, best.correlations)
    clusters = fit_clusters(whitened, best.labels, best.tails, steps=RELABEL_STEPS).gaussians
    labels, overlap = resolve_overlap(scoring_data, best.labels, clusters, best.correlations, best.tails)
    return replace(result, labels=labels, overlap=overlap)


def _choose_mixed(
    judge: Judge,
    candidates: list[ScoredLabelling],
    first: ScoredLabelling,
    joins: JoinCounts,
    n_clusters: int | None,
) -> SearchResult:
    """Choose where position helps little, or not at all, so that each observation counts."""
    best = first
    overdispersion = 1.0
    if not joins.ignores_position:
        rough = judge.best(candidates, 1.0, by_place=True)
        overdispersion = estimate_overdispersion(judge.scoring_data, rough)
        best = judge.best(candidates, overdispersion, by_place=True)
    if n_clusters is not None:
        wanted = with_n_clusters(judge.scoring_data, candidates, n_clusters, overdispersion)
        best = judge.best(wanted, overdispersion, by_place=True)
    others = tuple(best_by_n_clusters(candidates, overdispersion, most=max(MAX_CLUSTERS, n_clusters or 0)))
    return SearchResult(best.labels, best, overdispersion, joins.ratio, others, ignores_position=joins.ignores_position)


def with_n_clusters(
    scoring_data: ScoringData,
    candidates: list[ScoredLabelling],
    n_clusters: int,
    overdispersion: float,
    seed: int = 0,
) -> list[ScoredLabelling]:
    """Return the candidates with exactly that many clusters; where there are none, one that is made for the purpose.

    The candidate with the fewest clusters more is merged, without relabelling; where all have fewer, observations are cut by
    their features.
    """
    exact = [scored for scored in candidates if scored.n_clusters == n_clusters]
    if exact:
        return exact
    finer = [scored for scored in candidates if scored.n_clusters > n_clusters]
    if finer:
        fewest = min(scored.n_clusters for scored in finer)
        start = max_evidence([scored for scored in finer if scored.n_clusters == fewest], overdispersion)
        return [merge_down(scoring_data, start, n_clusters)]
    labels = kmeans_labels(winsorize(scoring_data), n_clusters, seed)
    distinct = np.unique(labels).size
    if distinct < n_clusters:
        raise ValueError(f"n_clusters={n_clusters} is more than there are different observations, {distinct}")
    return [score(scoring_data, labels)]


def simplest_adequate(judge: Judge, candidates: list[ScoredLabelling], overdispersion: float) -> ScoredLabelling:
    """Return the candidate with the fewest clusters that is not clearly worse than the best.

    The more observations count as one, the less the model is to be believed, and the clearer it has to be: what is left of the
    difference of log densities when more clusters are paid for is up to two standard errors of it (Vuong 1989), by sums over
    blocks. The error is that of the blocks which speak for fewer clusters, taken twice: a cluster that is there in a few
    blocks only has large sums in those, and these are no error. Several clusters have to be ahead of one by ``_LEAST_NATS``.
    """
    scoring_data = judge.scoring_data
    best = judge.best(candidates, overdispersion)
    one = judge.rescore(best_by_n_clusters(candidates, overdispersion)[0])
    if best.log_evidence(overdispersion) < one.log_evidence(overdispersion) + _LEAST_NATS:
        return one
    errors = _STANDARD_ERRORS * float(np.clip(overdispersion - 1.0, 0.0, 1.0))
    blocks = scoring_data.blocks(max(BLOCK_ROWS[0], len(scoring_data) // _ERROR_BLOCKS))
    level = row_log_densities(scoring_data, best)
    for scored in best_by_n_clusters(candidates, overdispersion):
        if scored.n_clusters >= best.n_clusters:
            break
        fewer = judge.rescore(scored)
        sums = np.bincount(blocks, level - row_log_densities(scoring_data, fewer))
        error = np.sqrt(2.0 * (np.minimum(sums, 0.0) ** 2).sum())
        paid = overdispersion * (best.log_evidence(overdispersion) - fewer.log_evidence(overdispersion))
        if paid < errors * error:
            return fewer
    return best


def best_by_n_clusters(
    candidates: list[ScoredLabelling], overdispersion: float, *, most: int = MAX_CLUSTERS
) -> list[ScoredLabelling]:
    """Return the best candidate of each number of clusters up to ``most``, fewest clusters first."""
    best: dict[int, ScoredLabelling] = {}
    for scored in candidates:
        if scored.n_clusters > most:
            continue
        other = best.get(scored.n_clusters)
        if other is None or scored.log_evidence(overdispersion) > other.log_evidence(overdispersion):
            best[scored.n_clusters] = scored
    return [best[number] for number in sorted(best)]


def max_evidence(
    candidates: list[ScoredLabelling], overdispersion: float, *, by_place: bool = False
) -> ScoredLabelling:
    """Return the candidate with the most evidence; raise a ValueError where that of none is a finite number."""
    best = max(candidates, key=lambda scored: scored.log_evidence(overdispersion, by_place=by_place))
    if not np.isfinite(best.log_evidence(overdispersion, by_place=by_place)):
        raise ValueError("X: the evidence of no labelling is a finite number, so there is nothing to choose by")
    return best


def count_joins(scoring_data: ScoringData, scored: ScoredLabelling) -> JoinCounts:
    """Return the changes of label between neighbours over those expected if labels were assigned at random."""
    share = scored.counts / scored.counts.sum()
    random = 1.0 - float((share**2).sum())
    i, j = scoring_data.edges.T
    if random <= 0:
        return JoinCounts(0.0, 0.0)
    ratio = float((scored.labels[i] != scored.labels[j]).mean()) / random if len(i) else 0.0
    return JoinCounts(ratio, 2.0 * float(np.sqrt(random * (1.0 - random) / max(len(i), 1))) / random)
