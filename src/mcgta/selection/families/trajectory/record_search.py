"""The search for clusters of records as points: labellings, what they gain, and the choice among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Labels
from mcgta.selection.families.trajectory.record_clusters import (
    difference_error,
    initial_labels,
    least_separation,
    log_evidence,
    merge_path,
    merge_two,
)
from mcgta.selection.families.trajectory.record_coordinates import NUMBERS_OF_DIRECTIONS, RecordCoordinates

START_CLUSTERS = 24
"""Clusters of records that the search begins with, unless more are asked for."""

MIN_SEPARATION = 2.0
"""Standard deviations of both that clusters of records are apart at least; see :func:`least_separation`.

Labels of records have nothing to do with position, so that there is no telling clusters that are nearer from tails or a bend.
"""

MAX_CLUSTERS = 18
"""Clusters of records that are taken for types, unless more are asked for.

Where more have more evidence still, records vary without end, such as those of a cycle that drifts against the record length.
"""

_RECORDS_OF_A_START_CLUSTER = 2  # on average, at least
_STANDARD_ERRORS = 2.0


class RecordGain(NamedTuple):
    """What clusters of records gain over one cluster, in nats.

    Attributes
    ----------
    nats : log evidence over that of one cluster
    shape_nats : the same without the records' levels
    directions : which of ``NUMBERS_OF_DIRECTIONS`` has the most
    """

    nats: float
    shape_nats: float
    directions: int


@dataclass(frozen=True, eq=False)
class RecordSearch:
    """R records as points, and what labellings of them gain."""

    coordinates: RecordCoordinates

    def __len__(self) -> int:
        return len(self.coordinates)

    @cached_property
    def points(self) -> list[Array]:
        """Points (m, R) by each of the numbers of directions."""
        return [self.coordinates.points(number) for number in NUMBERS_OF_DIRECTIONS]

    @cached_property
    def _shapes(self) -> list[Array]:
        return [self.coordinates.points(number, first=1) for number in NUMBERS_OF_DIRECTIONS]

    @cached_property
    def _ones(self) -> tuple[list[float], list[float]]:
        one = np.zeros(len(self), dtype=np.int64)
        return [log_evidence(part, one) for part in self.points], [log_evidence(part, one) for part in self._shapes]

    def gain(self, labels: Labels) -> RecordGain:
        """Return what clusters (R,) of records gain over one, in the directions in which they gain most."""
        if labels.max() == 0:
            return RecordGain(0.0, 0.0, 0)
        curves, shapes = (
            [log_evidence(part, labels) - one for part, one in zip(parts, ones, strict=True)]
            for parts, ones in zip((self.points, self._shapes), self._ones, strict=True)
        )
        return RecordGain(max(curves), max(shapes), int(np.argmax(curves)))

    def labellings(self, n_clusters: int | None) -> list[Labels]:
        """Return every labelling on the merge paths, each once, one cluster first; with exactly ``n_clusters`` one at least."""
        wanted = n_clusters or 1
        number = min(max(START_CLUSTERS, 2 * wanted), max(len(self) // _RECORDS_OF_A_START_CLUSTER, wanted))
        found: dict[bytes, Labels] = {}
        for points in self.points:
            start = initial_labels(points, number)
            path = merge_path(points, start)
            if all(labels.max() + 1 != wanted for labels in path):
                while start.max() + 1 > wanted:
                    start = merge_two(points, start)
                path.append(start)
            found.update((labels.tobytes(), labels) for labels in path)
        return sorted(found.values(), key=lambda labels: (int(labels.max()), labels.tobytes()))

    def choose(self, labellings: list[Labels], gains: list[RecordGain], n_clusters: int | None) -> int:
        """Return which labelling to choose: the fewest clusters that are not clearly worse than the best, all of them apart.

        Clusters have to differ in more than their level, which the family of levels sees, too. The first, one cluster, is
        chosen where the best has more than ``MAX_CLUSTERS``. With ``n_clusters`` it is the best labelling with as many.
        """
        if n_clusters is not None:
            exact = [k for k, labels in enumerate(labellings) if labels.max() + 1 == n_clusters]
            return max(exact, key=lambda k: gains[k].nats)
        ranked = sorted(range(len(labellings)), key=lambda k: -gains[k].nats)
        best = next(k for k in ranked if self._is_adequate(labellings[k], gains[k]))
        if labellings[best].max() >= MAX_CLUSTERS:
            return 0
        points = self.points[gains[best].directions]
        for k, labels in enumerate(labellings):
            if labels.max() >= labellings[best].max():
                break
            short = gains[best].nats - gains[k].nats
            if self._is_adequate(labels, gains[k]) and (
                short < _STANDARD_ERRORS * difference_error(points, labellings[best], labels)
            ):
                return k
        return best

    def _is_adequate(self, labels: Labels, gain: RecordGain) -> bool:
        """Whether there is one cluster, or all are apart and differ in shape."""
        if labels.max() == 0:
            return True
        if gain.nats <= 0 or gain.shape_nats <= 0:
            return False
        return least_separation(self.points[gain.directions], labels) >= MIN_SEPARATION
