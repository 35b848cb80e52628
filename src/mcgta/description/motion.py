"""How clusters move along time: dominant periods and time constants of each feature."""

from __future__ import annotations

import numpy as np

from mcgta.description.description import Motion
from mcgta.description.spells import Runs, typical_step
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array
from mcgta.runtime.wording import readable_time_unit
from mcgta.selection.families.dynamics.summary import MotionSummary, motion_summary


def describe_motion(X: Array, runs: Runs, n_clusters: int, positions: Positions) -> tuple[Motion, ...]:
    """Return how each cluster moves, from its runs of features (N, d) in canonical order.

    Rows are taken to be a typical step apart.
    """
    step = typical_step(positions.groups, positions.coordinates[:, 0])
    described = []
    for k in range(n_clusters):
        own = np.flatnonzero(runs.labels == k)
        lengths = runs.ends[own] - runs.starts[own]
        rows = np.concatenate([np.arange(runs.starts[r], runs.ends[r]) for r in own])
        begins = np.cumsum(lengths) - lengths
        described.append(_in_readable_unit(motion_summary(X[rows], step, begins), positions.unit))
    return tuple(described)


def _in_readable_unit(summary: MotionSummary, unit: str) -> Motion:
    """Return periods and time constants in the unit of the positions, or one that suits datetimes."""
    known = np.concatenate([summary.periods, summary.time_constants])
    known = known[np.isfinite(known)]
    size = 1.0
    if unit == "s" and known.size:
        unit, size = readable_time_unit(float(np.median(known)))
    return Motion(summary.periods / size, summary.time_constants / size, "steps" if unit == "step" else unit)
