"""Series of a fit along time: its groups, each by time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.description.spells import typical_step
from mcgta.fit import Fit
from mcgta.runtime.types import Array, Index

MOST_GROUPS = 40
"""Groups that are drawn, the first ones."""


@dataclass(frozen=True, eq=False)
class Series:
    """One group along time.

    Attributes
    ----------
    name : of the group; "" where there is one only
    rows : (M,) of the fit in canonical order, by time
    times : (M,) ascending, in the unit of the positions
    """

    name: str
    rows: Index
    times: Array

    @property
    def tied(self) -> bool:
        """Whether some rows are at one time."""
        return bool((np.diff(self.times) == 0).any())

    @property
    def regular(self) -> bool:
        """Whether rows follow each other at one step, up to a hundredth of it."""
        steps = np.diff(self.times)
        return steps.size == 0 or bool(steps.min() > 0 and np.ptp(steps) <= 0.01 * steps.min())


class DrawnSeries(NamedTuple):
    """The series to draw, the typical time from a row to the next, and how many groups are left out."""

    series: list[Series]
    step: float
    left_out: int


def list_series(fit: Fit) -> DrawnSeries:
    """Return the groups of a fit that are drawn, each by time."""
    positions = fit.data.positions
    times = positions.coordinates[:, -1]
    order = np.arange(times.size) if positions.is_chain else np.lexsort((times, positions.groups))
    groups = np.split(order, np.flatnonzero(np.diff(positions.groups[order])) + 1)
    several = len(positions.group_names) > 1
    listed = [
        Series(str(positions.group_names[positions.groups[rows[0]]]) if several else "", rows, times[rows])
        for rows in groups[:MOST_GROUPS]
    ]
    return DrawnSeries(listed, typical_step(positions.groups[order], times[order]), len(groups) - len(listed))
