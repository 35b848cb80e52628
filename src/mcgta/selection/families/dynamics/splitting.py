"""Labellings with a given number of states, where the path of merges has none."""

from __future__ import annotations

import numpy as np

from mcgta.selection.families.dynamics.composite import Composite
from mcgta.selection.families.dynamics.states import Runs, find_segments, merged_states, runs_of

_HALVINGS = 12


def runs_with(composite: Composite, number: int) -> Runs:
    """Return the best labelling with this number of states: segments of lower cost, merged, or else even parts.

    Changes cost half as much again and again, until the segments of a view are as many as there shall be states.
    """
    best: Runs | None = None
    top = -np.inf
    for view in composite.views:
        cost = view.change_nats
        for _ in range(_HALVINGS):
            cost /= 2
            cuts = find_segments(view.drawn, cost)
            if cuts.size > number:
                break
        else:
            continue
        borders, begins = composite.borders(view, cuts)
        for states in merged_states(view.drawn, cuts, most=number):
            if states.max() + 1 == number:
                runs = Runs(borders, states, begins)
                gain = composite.gain(runs)
                if gain > top:
                    top = gain
                    best = runs
    if best is not None:
        return best
    labels = np.arange(len(composite.series)) * number // len(composite.series)
    return runs_of(labels, composite.series.starts)
