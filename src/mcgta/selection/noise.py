"""Noise, given to the clusters that it suits best."""

from __future__ import annotations

import numpy as np

from mcgta.positions import Positions
from mcgta.selection.field import Field
from mcgta.selection.relabelling import Settling
from mcgta.selection.scoring import compact, score
from mcgta.selection.tails import GAUSSIAN, Tails
from mcgta.types import Array, Index, Labels

PART = 20_000
"""Observations that are looked at together."""


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
    suited = Settling(field, kinds, tails).suit_some(rows, np.searchsorted(present, labels[rows]), near)
    return np.where(labels >= 0, labels, present[suited])
