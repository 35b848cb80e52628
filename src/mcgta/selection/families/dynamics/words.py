"""What states of motion differ in, in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.runtime.types import Array, Labels
from mcgta.selection.families.dynamics.regular import RegularSeries
from mcgta.selection.families.dynamics.states import runs_of
from mcgta.selection.families.dynamics.summary import MotionSummary, motion_summary

_CLEAR_RATIO = 1.15  # of the largest over the smallest, from which on a difference is told
_MAX_LISTED = 5


class _Contrast(NamedTuple):
    """Values of one feature in the states, and how far apart they are: the log of the largest over the smallest."""

    values: Array
    apart: float


def describe_motion(series: RegularSeries, labels: Labels, unit: str) -> str:
    """Say in words what the states (T,) of steps differ in: periods, else time constants, else the form of their waves."""
    size = int(labels.max(initial=0)) + 1
    if size == 1:
        return "one way of moving"
    runs = runs_of(np.maximum(labels, 0), series.starts)
    summaries = []
    for state in range(size):
        own = np.flatnonzero(runs.states == state)
        pieces = [series.values[runs.borders[r] : runs.borders[r + 1]] for r in own]
        starts = np.cumsum([0, *map(len, pieces)])[:-1]
        summaries.append(motion_summary(np.concatenate(pieces), series.step, starts))
    for name, contrast in (
        ("period", _widest(summaries, "periods")),
        ("time constant", _widest(summaries, "time_constants")),
    ):
        if contrast.apart > np.log(_CLEAR_RATIO):
            return f"states differ in how they move: {name} {_listed(contrast.values, unit)}"
    return "states differ in how they move: in the form of their waves"


def _widest(summaries: list[MotionSummary], field: str) -> _Contrast:
    """Return the values (K,) of the feature in which they are farthest apart; 0 apart where not two are known."""
    table = np.array([getattr(summary, field) for summary in summaries])
    best = _Contrast(table[:, 0], 0.0)
    for column in table.T:
        known = column[np.isfinite(column) & (column > 0)]
        if known.size > 1 and np.log(known.max() / known.min()) > best.apart:
            best = _Contrast(column, float(np.log(known.max() / known.min())))
    return best


def _listed(values: Array, unit: str) -> str:
    """Write the values of states, in their order where they are few, else from the least to the greatest."""
    known = values[np.isfinite(values)]
    after = f" {unit}" if unit not in ("", "step") else ""
    after = " steps" if unit == "step" else after
    if known.size == 2:
        return f"{known[0]:.3g}{after} against {known[1]:.3g}{after}"
    if known.size <= _MAX_LISTED:
        head = ", ".join(f"{value:.3g}" for value in known[:-1])
        return f"{head} and {known[-1]:.3g}{after}"
    return f"{known.min():.3g} to {known.max():.3g}{after}"
