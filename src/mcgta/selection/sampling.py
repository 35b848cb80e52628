"""Samples of observations, and the sizes from which on the search works on one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial import KDTree

from mcgta.positions.positions import Positions
from mcgta.runtime.types import Index
from mcgta.selection.scoring.neighbor_graph import cut_series
from mcgta.selection.scoring.scored_labelling import close_gaps

MAX_SEARCHED_ROWS = 5000
"""Observations up to which the search runs on all of them, and on a sample beyond."""

MIN_SAMPLE_ROWS = 2500
"""Observations of the smallest sample."""

MAX_SAMPLE_ROWS = 20_000
"""Observations of the largest sample."""

ROWS_PER_SAMPLED_ROW = 7
"""Observations for each one in the sample, where neither bound applies."""

PIECE_ROWS = 125
"""Observations of a piece of a series, which is in a sample as a whole or not at all."""

MAX_CHOSEN_ON_ALL_ROWS = 50_000
"""Observations up to which a labelling is chosen by the evidence of all of them, and by that of the sample beyond."""

LABELLED_AT_A_TIME_ROWS = 20_000
"""Observations that are labelled at a time where there are many."""


def sample_rows(
    places: Positions, seed: int, *, most: int = MAX_SEARCHED_ROWS, size: int = MIN_SAMPLE_ROWS
) -> tuple[Index, Positions]:
    """Return rows to work on and their positions: all, or if there are more than ``most`` about ``size`` of them.

    A sample has pieces of series, spread evenly, or rows at random. Each piece is a group of its own.
    """
    count = len(places)
    if count <= most:
        return np.arange(count), places
    if not places.is_chain:
        rows = np.sort(np.random.default_rng(seed).permutation(count)[:size])
        return rows, places.take(rows)
    piece = cut_series(places.group_starts, PIECE_ROWS)
    wanted = max(2, size * int(piece[-1] + 1) // count)  # more of them where series are shorter than a piece
    taken = np.unique(np.linspace(0, piece[-1], wanted).round().astype(int))
    rows = np.flatnonzero(np.isin(piece, taken))
    groups = close_gaps(piece[rows])
    return rows, replace(places.take(rows), groups=groups, group_names=np.arange(groups[-1] + 1))


def searched_rows(places: Positions, seed: int) -> tuple[Index, Positions]:
    """Return the rows that a search looks at, and their positions: all, or a sample that grows with their number."""
    size = min(max(MIN_SAMPLE_ROWS, len(places) // ROWS_PER_SAMPLED_ROW), MAX_SAMPLE_ROWS)
    return sample_rows(places, seed, size=size)


def scored_rows(places: Positions, seed: int) -> Index:
    """Return the rows whose evidence a search chooses by: all, or those that it looks at where there are very many."""
    return np.arange(len(places)) if len(places) <= MAX_CHOSEN_ON_ALL_ROWS else searched_rows(places, seed)[0]


def nearest_rows(places: Positions, rows: Index) -> Index:
    """Return which of some rows is nearest to each row, within its group if there is any."""
    if places.points is not None:
        # One group lies beside another, farther off than its own are from each other.
        apart = 1.0 + 2.0 * float(np.linalg.norm(np.ptp(places.points, axis=0)))
        points = np.column_stack([places.points, apart * places.groups])
        return np.asarray(KDTree(points[rows]).query(points)[1])
    return np.concatenate([places.between(np.array([row]), rows).argmin(axis=1) for row in range(len(places))])
