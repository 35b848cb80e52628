"""Labellings by regions: merge paths from cuts of local shares of kinds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.composition.region_model import RegionModel, indicators
from mcgta.selection.scoring.neighbor_graph import nearest_neighbors
from mcgta.selection.scoring.scored_labelling import close_gaps, label_code_length
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.starts import kmeans_labels

START_REGIONS = 20
"""Regions that a path begins with."""

SURROUNDINGS = (15, 30, 60)
"""Neighbours of a row whose kinds are its local shares, one path for each."""

_BORDER_SHARE = 0.3  # of what a change of label costs, when regions are merged: where borders are is uncertain
_MANY_REGIONS = 8  # from which on labels settle for fewer rounds
_ROUNDS = 4
_FEW_ROUNDS = 2
_MERGE_CONCENTRATION = 2.0  # pseudo-observations of the prior of shares


def surroundings(scoring_data: ScoringData, count: int) -> Index:
    """Return the nearest ``count`` rows of each row, along series those before and after it; -1 where there are fewer."""
    places = scoring_data.places
    if not scoring_data.chain:
        return nearest_neighbors(places, count + 1)[0]
    starts = scoring_data.series_starts
    row = np.arange(starts.size)
    begin = np.maximum.accumulate(np.where(starts, row, 0))[:, None]
    end = np.append(np.flatnonzero(starts)[1:], starts.size)[np.cumsum(starts) - 1][:, None]
    half = np.arange(1, count // 2 + 1)
    beside = row[:, None] + np.column_stack([-half, half]).ravel()
    return np.where((beside >= begin) & (beside < end), beside, -1)


def local_shares(probabilities: Array, near: Index) -> Array:
    """Return the (N, M) shares of kinds among each row and those ``near`` (N, P) it."""
    known = near >= 0
    total = probabilities.copy()
    for p in range(near.shape[1]):
        total += probabilities[near[:, p]] * known[:, p, None]
    return np.asarray(total / (known.sum(axis=1)[:, None] + 1.0))


def region_labellings(model: RegionModel, seed: int, *, start_regions: int = START_REGIONS) -> Iterator[Labels]:
    """Yield the labellings on all merge paths, from many regions to one."""
    near = surroundings(model.scoring_data, max(SURROUNDINGS))
    kinds = model.kind_probabilities
    for count in SURROUNDINGS:
        points = native(np.sqrt(local_shares(kinds, near[:, :count])))
        yield from merge_regions(model, kmeans_labels(points, start_regions, seed))


def merge_regions(model: RegionModel, labels: Labels) -> Iterator[Labels]:
    """Merge two regions after the other, labels settling in between, and yield every labelling."""
    labels = close_gaps(labels)
    while True:
        labels = model.settle(labels, _FEW_ROUNDS if labels.max() > _MANY_REGIONS else _ROUNDS)
        yield labels
        if labels.max() == 0:
            return
        labels = merge_two(model, labels)


def merge_two(model: RegionModel, labels: Labels) -> Labels:
    """Return the labels with those two regions merged that are most alike in their shares and have the longest border."""
    scoring_data = model.scoring_data
    hard = indicators(labels)
    counts = hard.T @ model.kind_probabilities
    left, right = scoring_data.edges.T
    changes = np.zeros((hard.shape[1], hard.shape[1]))
    np.add.at(changes, (labels[left], labels[right]), 1.0)
    code = label_code_length(scoring_data, labels, hard.sum(axis=0))[0]
    border = _BORDER_SHARE * code / max(1, int((labels[left] != labels[right]).sum()))
    own = model.dirichlet(counts, _MERGE_CONCENTRATION)
    together = model.dirichlet(counts[:, None] + counts[None], _MERGE_CONCENTRATION)
    gains = together - own[:, None] - own[None] + border * (changes + changes.T)
    np.fill_diagonal(gains, -np.inf)
    first, second = sorted(np.unravel_index(int(gains.argmax()), gains.shape))
    return close_gaps(np.where(labels == second, first, labels))


def merge_to(model: RegionModel, labels: Labels, n_regions: int) -> Labels:
    """Merge regions until ``n_regions`` are left; labels stay otherwise."""
    while labels.max() >= n_regions:
        labels = merge_two(model, labels)
    return labels


def cut_regions(model: RegionModel, n_regions: int, seed: int) -> Labels:
    """Cut rows into exactly ``n_regions`` by local shares of kinds; raise a ValueError where too few of these differ."""
    near = surroundings(model.scoring_data, min(SURROUNDINGS))
    labels = kmeans_labels(native(local_shares(model.kind_probabilities, near)), n_regions, seed)
    distinct = int(np.unique(labels).size)
    if distinct < n_regions:
        raise ValueError(f"n_clusters={n_regions} is more than there are different local shares of kinds, {distinct}")
    return close_gaps(labels)
