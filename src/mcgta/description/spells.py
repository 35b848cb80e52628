"""Spells: runs of one cluster along time, how long they last, and what follows what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.description.description import Spells
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.wording import readable_time_unit


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of rows with one label along time, within groups.

    Attributes
    ----------
    labels : (R,) of the runs, -1 for noise
    starts, ends : (R,) first row of each in canonical order, and the row after its last
    lengths : (R,) how long each lasts, in the unit of the positions
    """

    labels: Labels
    starts: Index
    ends: Index
    lengths: Array


def find_runs(labels: Labels, positions: Positions) -> Runs:
    """Find the runs of labels in canonical order."""
    groups = positions.groups
    changes = (labels[1:] != labels[:-1]) | (groups[1:] != groups[:-1])
    starts = np.r_[0, np.flatnonzero(changes) + 1]
    ends = np.r_[starts[1:], labels.size]
    times = positions.coordinates[:, 0]
    lengths = times[ends - 1] - times[starts] + typical_step(groups, times)
    return Runs(labels[starts], starts, ends, lengths)


def typical_step(groups: Index, times: Array) -> float:
    """Return the median time from a row to a later next one of its group; rows are by group and time. 0 without any."""
    steps = np.diff(times)
    steps = steps[(groups[1:] == groups[:-1]) & (steps > 0)]
    return float(np.median(steps)) if steps.size else 0.0


def describe_spells(runs: Runs, n_clusters: int, positions: Positions) -> tuple[Spells, ...]:
    """Return the spells of each cluster; durations of datetimes are in the unit that suits the median."""
    described = []
    for k in range(n_clusters):
        lengths = runs.lengths[runs.labels == k]
        median = float(np.median(lengths))
        unit, size = (positions.unit, 1.0) if positions.unit != "s" else readable_time_unit(median)
        unit = "steps" if unit == "step" else unit
        described.append(Spells(int(lengths.size), median / size, float(lengths.max()) / size, unit))
    return tuple(described)


def count_transitions(labels: Labels, n_clusters: int, positions: Positions) -> Index:
    """Return (K, K) how often a row of one cluster is followed by one of another, or of the same, within groups."""
    same = positions.groups[1:] == positions.groups[:-1]
    known = same & (labels[1:] >= 0) & (labels[:-1] >= 0)
    pairs = labels[:-1][known] * n_clusters + labels[1:][known]
    return np.bincount(pairs, minlength=n_clusters**2).reshape(n_clusters, n_clusters)
