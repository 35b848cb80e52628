"""How many regions there are, and whether there are any: kinds may do without, and so may clusters of one Gaussian each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.runtime.types import Array, Labels
from mcgta.selection.families.composition.kinds import Kinds
from mcgta.selection.families.composition.region_model import RegionModel
from mcgta.selection.families.composition.region_score import RegionScorer
from mcgta.selection.relabelling import cluster_log_densities
from mcgta.selection.scoring.overdispersion import BLOCK_ROWS
from mcgta.selection.scoring.scored_labelling import ScoredLabelling, fit_clusters, score
from mcgta.selection.scoring.scoring_data import ScoringData

ONE = "one"
"""Clusters are Gaussians: the labels of the search by level stay."""

KINDS = "kinds"
"""Clusters are kinds, whether they have anything to do with position or not; there are no regions with several."""

REGIONS = "regions"
"""Clusters are regions, which differ in their shares of kinds."""

SMOOTH_KIND_ERRORS = 2.0
"""Standard errors that regions have to be ahead of kinds taken as regions."""

MAX_CHOSEN_REGIONS = 10
"""Regions beyond which shares change smoothly: what looks like regions are steps of something without borders."""

MAX_SMOOTH_SHARE = 0.85
"""Of what regions explain beyond one region: what smooth shares explain at most, where there are borders."""

_STANDARD_ERRORS = 1.0  # that a labelling with more regions has to be ahead
_RICHER_REGIONS = 3  # more than the best labelling has, up to which labellings tell of overdispersion
_ERROR_BLOCKS = 40


class ScoredRegions(NamedTuple):
    """A labelling by regions, and its log evidence over one region in nats."""

    labels: Labels
    nats: float

    @property
    def n_regions(self) -> int:
        """K."""
        return int(self.labels.max()) + 1


class ChosenRegions(NamedTuple):
    """The labelling with the number of regions that was chosen, and how many rows count as one."""

    best: ScoredRegions
    overdispersion: float


class LevelNats(NamedTuple):
    """Log evidence in nats over that of one Gaussian for all rows.

    Attributes
    ----------
    one : a Gaussian a cluster, as the search by level has found them
    mixture : kinds without position
    kinds : kinds that are smooth in position themselves
    regions : regions with shares of kinds of their own
    written : the same, labels written down one by one
    smooth : shares of kinds that change smoothly with position, without borders
    """

    one: float
    mixture: float
    kinds: float
    regions: float
    written: float
    smooth: float


def best_by_number(scored: list[ScoredRegions]) -> dict[int, ScoredRegions]:
    """Return the best labelling of each number of regions, fewest first."""
    best: dict[int, ScoredRegions] = {}
    for each in sorted(scored, key=lambda each: each.nats):
        best[each.n_regions] = each
    return {number: best[number] for number in sorted(best)}


def choose_regions(scorer: RegionScorer, scored: list[ScoredRegions]) -> ChosenRegions:
    """Choose the fewest regions that are not clearly worse than the best, rows counting as overdispersion says."""
    by_number = best_by_number(scored)
    top = max(by_number, key=lambda number: by_number[number].nats)
    near = [number for number in by_number if top <= number <= top + _RICHER_REGIONS]
    overdispersion = min(scorer.overdispersion(by_number[number].labels) for number in near)
    rescored = {number: scorer.score(each.labels, overdispersion) for number, each in by_number.items()}
    best = max(rescored, key=lambda number: rescored[number].nats)
    for number, each in rescored.items():
        behind = rescored[best].nats - each.nats
        error = block_error(scorer.model.scoring_data, rescored[best].rows - each.rows)
        if number == best or behind < _STANDARD_ERRORS * error:
            return ChosenRegions(by_number[number], overdispersion)
    raise AssertionError("the best labelling is not worse than itself")  # pragma: no cover


def block_error(scoring_data: ScoringData, differences: Array) -> float:
    """Return the standard error of the sum of ``differences`` (N,), by their sums over blocks."""
    blocks = scoring_data.blocks(max(BLOCK_ROWS[0], len(scoring_data) // _ERROR_BLOCKS))
    sums = np.bincount(blocks, differences)
    return float(np.sqrt(sums.size * sums.var()))


def level_log_evidence(scoring_data: ScoringData, scored: ScoredLabelling) -> float:
    """Return the log evidence of clusters of one Gaussian, labels summed over where borders are uncertain, as regions' are."""
    value = scored.log_evidence()
    if scored.n_clusters == 1:
        return value
    gaussians = fit_clusters(scoring_data.unwhitened, scored.labels, scored.tails).gaussians
    worth = cluster_log_densities(scoring_data.unwhitened, gaussians, scored.tails)
    # Clusters are regions of one kind each.
    model = RegionModel.of(scoring_data, worth, np.full(scored.n_clusters, 1.0 / scored.n_clusters))
    relative = worth - worth.max(axis=1, keepdims=True)
    summed = RegionScorer(model).sum_labels(scored.labels, relative)
    written = float(relative[np.arange(len(scoring_data)), scored.labels].sum()) - scored.label_nats
    return value + max(0.0, summed - written)


def dependence_nats(scoring_data: ScoringData, kinds: Kinds) -> float:
    """Return what dependence between neighbours of one kind and heavier tails explain, which kinds do not know of."""
    labels = kinds.labels
    independent = np.zeros(scoring_data.d, dtype=np.int64)
    plain = score(scoring_data, labels, correlations=independent, tails=None)
    best = score(scoring_data, labels)
    return max(0.0, _explained(best) - plain.marginal()[0])


def _explained(scored: ScoredLabelling) -> float:
    return scored.marginal()[0] + scored.tail_nats - scored.whitening_nats


def choose_level(nats: LevelNats, chosen: ChosenRegions, *, doubtful: bool) -> str:
    """Choose what clusters are; ``doubtful`` says that kinds taken as regions explain about as much as regions."""
    if nats.one >= max(nats.mixture, nats.kinds, nats.regions):
        return ONE
    if not 1 < chosen.best.n_regions <= MAX_CHOSEN_REGIONS or nats.written <= nats.mixture or doubtful:
        return KINDS
    if nats.smooth - nats.mixture > MAX_SMOOTH_SHARE * (nats.regions - nats.mixture):
        return KINDS
    return REGIONS
