"""Noise: given to the clusters that it suits best, or a cluster of its own."""

from __future__ import annotations

import numpy as np

from mcgta.clustering.labels import drop_small
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.field import Field
from mcgta.selection.relabelling import Relabelling
from mcgta.selection.relabelling import drop_small as give_up_small
from mcgta.selection.scoring import Scored, compact, score
from mcgta.selection.tails import GAUSSIAN, Tails

PART = 20_000
"""Observations that are looked at together."""

CLASS = "class"
ASSIGN = "assign"
"""Noise as a cluster of its own, and noise given to the clusters that it suits."""


def assign_noise(features: Array, places: Positions, labels: Labels) -> Labels:
    """Give noise to clusters, of which there must be one; observations in canonical order, ``PART`` at a time.

    Features are taken as independent of each other's neighbours, with the tails that suit the clusters best.
    """
    found = labels.copy()
    like: Field | None = None
    for start in range(0, len(places), PART):
        rows = np.arange(start, min(start + PART, len(places)))
        inside = labels[rows]
        if (inside >= 0).all() or (inside < 0).all():
            continue
        field = Field.of(features[rows], places.take(rows), like=like)
        like = field
        independent = np.zeros(field.d, dtype=np.int64)
        tails = score(field, compact(inside + 1), kinds=independent).tails
        found[rows] = settle_noise(field, inside, independent, tails)
    left = np.flatnonzero(found < 0)  # parts without any cluster
    if left.size:
        known = np.flatnonzero(found >= 0)
        found[left] = found[known[np.minimum(np.searchsorted(known, left), known.size - 1)]]
    return found


def settle_noise(field: Field, labels: Labels, kinds: Index, tails: Tails = GAUSSIAN) -> Labels:
    """Give noise to the clusters that it suits best; there must be one, and clusters that are there are numbered anyhow."""
    rows = np.flatnonzero(labels >= 0)
    present = np.unique(labels[rows])
    near = np.minimum(np.searchsorted(rows, np.arange(labels.size)), rows.size - 1)
    suited = Relabelling(field, kinds, tails).suit_some(rows, np.searchsorted(present, labels[rows]), near)
    return np.where(labels >= 0, labels, present[suited])


def score_each_way(
    field: Field,
    labels: Labels,
    *,
    ways: tuple[str, ...] = (CLASS, ASSIGN),
    kinds: Index | None = None,
    tails: Tails | None = None,
) -> dict[str, Scored]:
    """Score a labelling, in which negative labels are noise, in each of some ways to treat noise; in one if all are the same.

    Clusters of fewer than d + 2 rows, too few for a covariance, are noise. So few rows of noise are no cluster of their own,
    either, and go with the nearest that is in one. ``kinds`` and ``tails`` are those of :func:`score`.
    """
    labels = drop_small(labels, field.d + 2)
    noise = labels < 0
    whole = give_up_small(field, compact(labels + 1), field.d + 2)
    apart = score(field, whole, kinds=kinds, tails=tails)
    if not noise.any() or noise.all():
        return {CLASS: apart}
    found = {CLASS: apart} if CLASS in ways else {}
    if ASSIGN in ways:
        settled = settle_noise(field, labels, apart.kinds, apart.tails)
        found[ASSIGN] = score(field, settled, kinds=kinds, tails=tails)
    return found
