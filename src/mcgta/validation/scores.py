"""The scores of every setting, on all labels, and in each fold on the labels to choose by and on those held out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.runtime.types import Labels
from mcgta.settings import hashable
from mcgta.validation.blocks import Fold
from mcgta.validation.grid import Values
from mcgta.validation.labels import AgreementScore, KnownLabels


@dataclass(frozen=True)
class LabellingScores:
    """How well one labelling agrees with the known labels.

    Attributes
    ----------
    whole : score on all known labels
    train, held_out : the same on the labels to choose by, and on those held out, for each fold
    clusters : number of clusters
    noise_share : share of all observations that are noise
    """

    whole: float
    train: tuple[float, ...]
    held_out: tuple[float, ...]
    clusters: int
    noise_share: float


class Scores:
    """Settings in the order in which they were tried; a labelling that comes again is not scored again."""

    def __init__(self, labels: KnownLabels, folds: Sequence[Fold], score: AgreementScore) -> None:
        self.settings: list[Values] = []
        self.rows: list[LabellingScores] = []
        self._labels = labels
        self._folds = folds
        self._score = score
        self._numbers: dict[Any, int] = {}
        self._scored: dict[bytes, LabellingScores] = {}

    def add(self, setting: Values, clusters: Labels) -> int:
        """Score the clusters of a setting; return its number, which is the earlier one if it has been tried before."""
        key = tuple((name, hashable(value)) for name, value in sorted(setting.items()))
        if key not in self._numbers:
            self._numbers[key] = len(self.settings)
            self.settings.append(setting)
            self.rows.append(self._row(clusters))
        return self._numbers[key]

    def _row(self, clusters: Labels) -> LabellingScores:
        digest = hashlib.sha256(clusters.tobytes()).digest()
        if digest not in self._scored:
            train, held_out = (
                tuple(self._score(self._labels, clusters, fold[part]) for fold in self._folds) for part in (0, 1)
            )
            everywhere = self._score(self._labels, clusters, np.arange(clusters.size))
            noise = float(np.mean(clusters < 0))
            self._scored[digest] = LabellingScores(everywhere, train, held_out, int(clusters.max()) + 1, noise)
        return self._scored[digest]

    def best(self, fold: int | None, among: Sequence[int] | None = None) -> int:
        """Return the setting with the best score on the labels to choose by, or on all; of several the first."""
        numbers = range(len(self.rows)) if among is None else sorted(among)
        return max(numbers, key=lambda k: self.chosen_by(k, fold))

    def chosen_by(self, number: int, fold: int | None) -> float:
        """Return the score that a setting is chosen by, in a fold or on all labels."""
        row = self.rows[number]
        return row.whole if fold is None else row.train[fold]
