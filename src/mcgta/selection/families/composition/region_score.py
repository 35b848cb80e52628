"""The evidence of regions: each row's label is summed over, given what the rows before it foretell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.kernels.composition.forward import predict_rows
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.composition.kinds import softmax
from mcgta.selection.families.composition.region_model import RegionModel, indicators
from mcgta.selection.relabelling import POTTS_NEIGHBORS
from mcgta.selection.scoring.overdispersion import BLOCK_ROWS
from mcgta.selection.scoring.scored_labelling import close_gaps, label_code_length

_GENERATIONS = (-1, 4)  # least and greatest power of two of the distance to the nearest row before, over the median
_FIRST_AGREEMENT = 3.0
_AGREEMENTS = (1e-3, 12.0)
_NEWTON_STEPS = 25
_MAX_NEWTON_STEP = 2.0
_SMALL_NEWTON_STEP = 1e-3
_LEAST_CURVATURE = 1e-6
_LEAST_PROBABILITY = 1e-12
_LEAST_BLOCK_SPREAD = 0.5  # of what centring leaves of a region's blocks


class RegionScore(NamedTuple):
    """What regions explain.

    Attributes
    ----------
    nats : log evidence over that of one region
    rows : (N,) log probability of each row given those before it
    """

    nats: float
    rows: Array


class Foretold(NamedTuple):
    """Log probabilities (N, K) of labels given the rows before each, and the nats that their weights cost."""

    logs: Array
    cost: float


@dataclass(frozen=True, eq=False)
class RegionScorer:
    """Scores labellings by regions of a model."""

    model: RegionModel

    @cached_property
    def _generations(self) -> Index:
        """(N,) how far the nearest row before each is, in powers of two; 99 where there is none."""
        lists = self.model.scoring_data.predecessors
        some = lists.rows[:, 0] >= 0
        gaps = lists.distances[:, 0]
        positive = gaps[some & (gaps > 0)]
        middle = float(np.median(positive)) if positive.size else 1.0
        found = np.full(gaps.size, 99, dtype=np.int64)
        powers = np.floor(np.log2(np.maximum(gaps[some] / middle, 1e-9)))
        found[some] = np.clip(powers, *_GENERATIONS).astype(np.int64)
        return found

    def foretell(self, probabilities: Array) -> Foretold:
        """Return what the nearest rows before each foretell of its label, given the probabilities (N, K) of all labels."""
        listed = self.model.scoring_data.predecessors.rows[:, :POTTS_NEIGHBORS]
        number = (listed >= 0).sum(axis=1)
        near = (probabilities[listed] * (listed >= 0)[..., None]).sum(axis=1) / np.maximum(number, 1)[:, None]
        logs = np.full(probabilities.shape, -np.log(probabilities.shape[1]))
        cost = 0.0
        for generation in np.unique(self._generations[number > 0]):
            rows = np.flatnonzero((self._generations == generation) & (number > 0))
            logs[rows] = _agreement_logs(near[rows], probabilities[rows])
            cost += 0.5 * np.log(rows.size + 1.0)
        return Foretold(logs, cost)

    def score(self, labels: Labels, overdispersion: float = 1.0) -> RegionScore:
        """Score a labelling, rows counting 1 / overdispersion."""
        model = self.model
        one = model.one_region / overdispersion
        labels = close_gaps(labels)
        size = int(labels.max()) + 1
        if size == 1:
            return RegionScore(0.0, one)
        found = model.shares_of(labels)
        worth = native(model.log_likelihoods(found.shares) / overdispersion)
        probabilities = model.probabilities(labels, worth)
        found = model.estimate_shares(probabilities, found.shares, 2)
        worth = native(model.log_likelihoods(found.shares) / overdispersion)
        rows, cost = self._predict(labels, worth, probabilities)
        nats = float((rows - one).sum()) + model.occam(found, overdispersion) - cost
        return RegionScore(nats, rows)

    def sum_labels(self, labels: Labels, worth: Array) -> float:
        """Return the log probability of all rows with log likelihoods ``worth`` (N, K), labels summed over."""
        worth = native(worth)
        rows, cost = self._predict(labels, worth, self.model.probabilities(labels, worth))
        return float(rows.sum()) - cost

    def _predict(self, labels: Labels, worth: Array, probabilities: Array) -> tuple[Array, float]:
        """Return the (N,) log probabilities of rows given those before them, and the nats that what is estimated costs."""
        model = self.model
        if model.scoring_data.chain:
            rows = np.empty(len(model))
            predict_rows(worth, model.scoring_data.series_starts, model.change_probability(labels), rows)
            return rows, 0.5 * float(np.log(len(model)))
        foretold = self.foretell(probabilities)
        both = worth + foretold.logs
        top = both.max(axis=1)
        return np.log(np.exp(both - top[:, None]).sum(axis=1)) + top, foretold.cost

    def written(self, labels: Labels) -> float:
        """Return the nats over one region if labels are written down one by one: less than the truth, without any doubt."""
        model = self.model
        labels = close_gaps(labels)
        if labels.max() == 0:
            return 0.0
        hard = indicators(labels)
        found = model.shares_of(labels)
        rows = np.arange(labels.size)
        code = label_code_length(model.scoring_data, labels, hard.sum(axis=0))[0]
        if not model.scoring_data.chain:
            foretold = self.foretell(hard)
            code = min(code, foretold.cost - float(foretold.logs[rows, labels].sum()))
        explained = float((model.log_likelihoods(found.shares)[rows, labels] - model.one_region).sum())
        return explained + model.occam(found) - code

    def overdispersion(self, labels: Labels) -> float:
        """Return how many rows count as one: the variance of scores of shares, summed over blocks, over that of single rows."""
        model = self.model
        shares = model.shares_of(labels).shares
        kinds = model.likelihoods * shares[labels]
        kinds /= kinds.sum(axis=1, keepdims=True)
        scores = kinds / np.sqrt(shares[labels])
        found = [1.0]
        for size in BLOCK_ROWS:
            blocks = model.scoring_data.blocks(size)
            summed = 0.0
            single = 0.0
            for region in range(int(labels.max()) + 1):
                inside = labels == region
                block = close_gaps(blocks[inside])
                centered = scores[inside] - scores[inside].mean(axis=0)
                held = np.bincount(block)
                spread = 1.0 - float((held**2).sum()) / block.size**2
                if spread < _LEAST_BLOCK_SPREAD:
                    continue
                sums = np.stack([np.bincount(block, column) for column in centered.T])
                summed += float((sums**2).sum()) / spread
                single += float((centered**2).sum())
            found.append(summed / single if single > 0 else 1.0)
        return max(found)


def _agreement_logs(near: Array, probabilities: Array) -> Array:
    """Return log probabilities (n, K) by neighbours' shares ``near``, weighted so that they suit ``probabilities`` best."""
    weight = _FIRST_AGREEMENT
    own = (probabilities * near).sum(axis=1)
    for _ in range(_NEWTON_STEPS):
        chance = softmax(weight * near)
        mean = (chance * near).sum(axis=1)
        curvature = float(((chance * near**2).sum(axis=1) - mean**2).sum()) + _LEAST_CURVATURE
        step = float(np.clip((own - mean).sum() / curvature, -_MAX_NEWTON_STEP, _MAX_NEWTON_STEP))
        weight = float(np.clip(weight + step, *_AGREEMENTS))
        if abs(step) < _SMALL_NEWTON_STEP:
            break
    return np.log(np.maximum(softmax(weight * near), _LEAST_PROBABILITY))
