"""The search for regions that are mixtures of kinds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.composition.choosing import (
    KINDS,
    ONE,
    REGIONS,
    SMOOTH_KIND_ERRORS,
    ChosenRegions,
    LevelNats,
    ScoredRegions,
    best_by_number,
    block_error,
    choose_level,
    choose_regions,
    dependence_nats,
    level_log_evidence,
)
from mcgta.selection.families.composition.kinds import Kinds, find_kinds, kind_log_densities
from mcgta.selection.families.composition.models import CompositionModels
from mcgta.selection.families.composition.paths import START_REGIONS, cut_regions, merge_to, region_labellings
from mcgta.selection.families.composition.region_model import RegionModel
from mcgta.selection.families.composition.region_score import RegionScorer
from mcgta.selection.families.composition.smooth_shares import score_smooth_shares
from mcgta.selection.families.family import Candidate
from mcgta.selection.relabelling import POTTS_NEIGHBORS, potts_weight
from mcgta.selection.sampling import nearest_rows, sample_rows
from mcgta.selection.scoring.feature_scale import Scale
from mcgta.selection.scoring.scored_labelling import Gaussians, change_cost, close_gaps, score
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.search import SearchResult

NAME = "composition"
"""The family, as the setting ``family`` has it."""

MAX_REGIONS = 14
"""Regions of a labelling that is scored, unless more are asked for."""

MIN_ROWS = 200
"""Rows below which there is no telling regions of mixed kinds."""

MAX_ROWS = 4000
"""Rows up to which all are searched, and a sample of as many beyond."""

_EXTENDED_ROUNDS = 2  # of settling labels of all rows that come from a sample
_LEAST_SHARE = 1e-9
_NAMED_KINDS = 26  # that have a letter each


@dataclass(frozen=True, eq=False)
class CompositionSearch:
    """Regions that were found in rows, in canonical order.

    Attributes
    ----------
    name : of the family
    candidates : the best labelling of each number of regions that was looked at; one region is among them, with a gain of 0
    best : the candidate that is chosen: regions, or kinds where ``level`` says so, or one region
    level : "regions", "kinds", or "one" where the labels of the search by level are better
    nats : log evidence of these over one Gaussian, on the rows that were searched
    overdispersion : how many rows count as one
    kinds : (N,) the most probable kind of each row by itself
    kind_means, kind_covariances : (M, d), (M, d, d) of the features that are used, in their own units
    model : of all rows, by which labellings are scored
    kind_gaussians : the kinds, in the unit of scaled features
    n_features : of the observations
    claimed : whether regions explain the observations best, whatever number of them was asked for
    """

    name: str
    candidates: tuple[Candidate, ...]
    best: Candidate
    level: str
    nats: LevelNats
    overdispersion: float
    kinds: Labels
    kind_means: Array
    kind_covariances: Array
    model: RegionModel
    kind_gaussians: Gaussians
    n_features: int
    claimed: bool = False

    @property
    def one_gain(self) -> float:
        """0: that kinds explain more than one Gaussian does not mean that there is one region."""
        return 0.0

    @property
    def yields_to(self) -> tuple[str, ...]:
        """No family."""
        return ()

    def contenders(self) -> tuple[Candidate, ...]:
        """Return the regions that were chosen; nothing where the labels of the search by level, or kinds, are better."""
        return (self.best,) if self.claimed and self.best.n_clusters > 1 else ()

    def value(self, candidate: Candidate, level_gain: float) -> float:
        """Return nats over one Gaussian, in the same rows as the search by level; Gaussian clusters have no part in them."""
        return self.nats.mixture + candidate.gain

    def beside_level(self, labels: Labels) -> float:
        """Return 0: kinds explain the same aspect of rows as Gaussian clusters do."""
        return 0.0

    def gain(self, labels: Labels) -> float:
        """Return the log evidence of any labelling over that of one region, in nats."""
        return RegionScorer(self.model).score(close_gaps(labels)).nats

    def shares(self, labels: Labels) -> Array:
        """Return the (K, M) shares of kinds in the regions of a labelling; -1 is noise and has no part in them."""
        size = int(labels.max(initial=0)) + 1
        weights = np.zeros((labels.size, size))
        known = np.flatnonzero(labels >= 0)
        weights[known, labels[known]] = 1.0
        return self.model.estimate_shares(weights).shares

    def describe(self, labels: Labels) -> str:
        """Say in words what the regions of a labelling differ in."""
        shares = self.shares(labels)
        size = shares.shape[1]
        if len(shares) == 1:
            return f"one region of {size} {'kind' if size == 1 else 'kinds'}"
        kind = int(np.ptp(shares, axis=0).argmax())
        most = int(shares[:, kind].argmax())
        least = int(shares[:, kind].argmin())
        name = chr(ord("A") + kind) if kind < _NAMED_KINDS else str(kind + 1)
        return (
            f"regions differ in their shares of {size} kinds: kind {name} is {shares[most, kind]:.0%} of region {most} and "
            f"{shares[least, kind]:.0%} of region {least}"
        )

    def models(self, labels: Labels) -> CompositionModels:
        """Estimate the regions of a labelling; -1 is noise and has no part in them."""
        shares = np.maximum(self.shares(labels), _LEAST_SHARE)
        known = np.flatnonzero(labels >= 0)
        counts = np.bincount(labels[known], minlength=len(shares))
        scoring_data = self.model.scoring_data
        agreement = 0.0
        if not scoring_data.chain and len(shares) > 1:
            agreement = potts_weight(scoring_data.neighbors[known, :POTTS_NEIGHBORS], labels[known], labels)
        return CompositionModels(
            columns=scoring_data.scale.columns,
            centers=scoring_data.scale.middle,
            spreads=scoring_data.scale.spread,
            kind_means=self.kind_gaussians.means,
            inverse_factors=self.kind_gaussians.inverse,
            log_roots=self.kind_gaussians.log_root,
            shares=shares / shares.sum(axis=1, keepdims=True),
            log_shares=np.log((counts + 0.5) / (counts.sum() + 0.5 * counts.size)),
            change_cost=change_cost(len(scoring_data.edges), len(shares)),
            agreement=agreement,
            overdispersion=self.overdispersion,
            n_features=self.n_features,
        )


def search_composition(
    scoring_data: ScoringData,
    result: SearchResult,
    *,
    n_features: int,
    seed: int,
    n_clusters: int | None = None,
    required: bool = False,
) -> CompositionSearch | None:
    """Search for regions that differ in their shares of kinds; None where clusters of one Gaussian are clearly right.

    ``result`` is what the search by level has found in the same rows, which have ``n_features``. With ``n_clusters`` the best
    labelling has that many regions. ``required`` says that regions are wanted, even where Gaussian clusters are right.
    """
    if scoring_data.d == 0 or len(scoring_data) < MIN_ROWS:
        return None
    rows = sample_rows(scoring_data.places, seed, most=MAX_ROWS, size=MAX_ROWS)[0]
    sampled = scoring_data
    level = result.best
    if rows.size < len(scoring_data):
        sampled = _take(scoring_data, rows, seed)
        level = score(sampled, level.labels[rows], correlations=level.correlations, tails=level.tails)
    with stage("kinds"):
        kinds = find_kinds(sampled, seed)
    alone = kinds.one_log_evidence
    mixture = kinds.log_evidence + dependence_nats(sampled, kinds) - alone
    one = level_log_evidence(sampled, level) - alone
    model = RegionModel.of(sampled, kinds.log_densities, kinds.probabilities.mean(axis=0))
    if len(kinds) == 1 or (not required and one >= mixture - float(model.one_region.sum())):
        return None  # even regions that told each row its kind would not explain as much
    scorer = RegionScorer(model)
    with stage("regions"):
        scored = _score_labellings(scorer, seed, n_clusters)
    chosen = choose_regions(scorer, scored)
    top = max(scored, key=lambda each: each.nats)
    smooth = scorer.score(kinds.labels)
    behind = top.nats - smooth.nats
    error = block_error(sampled, scorer.score(top.labels).rows - smooth.rows)
    written = max((scorer.written(each.labels) for each in best_by_number(scored).values()), default=0.0)
    borderless = score_smooth_shares(model, seed)
    nats = LevelNats(
        one, mixture, mixture + smooth.nats, mixture + top.nats, mixture + written, mixture + borderless.nats
    )
    found = choose_level(nats, chosen, doubtful=behind < SMOOTH_KIND_ERRORS * error)
    claimed = found == REGIONS
    if n_clusters is not None:
        chosen = ChosenRegions(_with_n_regions(scorer, scored, n_clusters, seed), chosen.overdispersion)
        found = REGIONS
    found_regions = _collect(scoring_data, rows, kinds, model, scored, chosen, nats, found)
    return replace(found_regions, n_features=n_features, claimed=claimed)


def _take(scoring_data: ScoringData, rows: Index, seed: int) -> ScoringData:
    """Prepare some of the rows, as they are scaled."""
    d = scoring_data.d
    scale = Scale(np.arange(d), np.zeros(d), np.ones(d))
    places = scoring_data.places.take(rows)
    features = scoring_data.X[:, rows].T
    return ScoringData.of(features, places, seed=seed, scale=scale, correlation_grid=scoring_data.correlation_grid)


def _score_labellings(scorer: RegionScorer, seed: int, n_clusters: int | None) -> list[ScoredRegions]:
    """Return every labelling on the merge paths with few enough regions, each once, with its evidence."""
    start = START_REGIONS if n_clusters is None else max(START_REGIONS, 2 * n_clusters)
    most = max(MAX_REGIONS, n_clusters or 0)
    found = {labels.tobytes(): labels for labels in region_labellings(scorer.model, seed, start_regions=start)}
    few = [labels for labels in found.values() if labels.max() < most]
    return [ScoredRegions(labels, scorer.score(labels).nats) for labels in few]


def _with_n_regions(scorer: RegionScorer, scored: list[ScoredRegions], n_clusters: int, seed: int) -> ScoredRegions:
    """Return the best labelling with exactly that many regions; where there is none, one that is made for the purpose."""
    by_number = best_by_number(scored)
    if n_clusters in by_number:
        return by_number[n_clusters]
    finer = [number for number in by_number if number > n_clusters]
    if finer:
        labels = merge_to(scorer.model, by_number[finer[0]].labels, n_clusters)
    else:
        labels = cut_regions(scorer.model, n_clusters, seed)
    return ScoredRegions(labels, scorer.score(labels).nats)


def _collect(
    scoring_data: ScoringData,
    rows: Index,
    kinds: Kinds,
    model: RegionModel,
    scored: list[ScoredRegions],
    chosen: ChosenRegions,
    nats: LevelNats,
    level: str,
) -> CompositionSearch:
    """Extend what was found in some rows to all, and put it together."""
    best_regions = best_by_number(scored)
    best_regions[chosen.best.n_regions] = chosen.best
    if rows.size < len(scoring_data):
        densities = kind_log_densities(scoring_data.X, kinds.gaussians)
        model = RegionModel.of(scoring_data, densities, model.shares)
        nearest = nearest_rows(scoring_data.places, rows)
    extended: dict[int, Candidate] = {}
    scorer = RegionScorer(model)
    for number, each in best_regions.items():
        labels = each.labels
        gain = each.nats
        if rows.size < len(scoring_data):
            labels = model.settle(labels[nearest], _EXTENDED_ROUNDS)
            labels = labels if int(labels.max()) + 1 == number else each.labels[nearest]
            gain = scorer.score(labels).nats
        extended[number] = Candidate(labels, gain)
    extended.setdefault(1, Candidate(np.zeros(len(scoring_data), dtype=np.int64), 0.0))
    own = close_gaps(model.kind_probabilities.argmax(axis=1))
    best = {
        ONE: extended[1],
        KINDS: Candidate(own, scorer.score(own).nats),
        REGIONS: extended[chosen.best.n_regions],
    }[level]
    spread = scoring_data.scale.spread
    roots = np.linalg.inv(kinds.gaussians.inverse)
    return CompositionSearch(
        name=NAME,
        candidates=tuple(extended[number] for number in sorted(extended)),
        best=best,
        level=level,
        nats=nats,
        overdispersion=chosen.overdispersion,
        kinds=own,
        kind_means=kinds.gaussians.means * spread + scoring_data.scale.middle,
        kind_covariances=roots @ np.swapaxes(roots, 1, 2) * np.outer(spread, spread),
        model=model,
        kind_gaussians=kinds.gaussians,
        n_features=scoring_data.d,
    )
