"""States of motion that are estimated from labelled rows, by which other rows are placed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.dynamics.regular import RegularSeries, make_regular
from mcgta.selection.families.dynamics.view import MotionView
from mcgta.selection.families.family import FamilyModels

_PART_STEPS = 2**16  # in work at a time


@dataclass(frozen=True, eq=False)
class MotionModels(FamilyModels):
    """K states that differ in how they move.

    The log density of a step is the mean over views of that of a block's mean, of which a step has its share. It tells states
    apart and is no density of features: what is the same in all states is left out.

    Attributes
    ----------
    views : of motion, in each of which a state has a mean
    view_weights : (V,) of the views, which sum to 1
    means : (K, J) of the states, view after view
    n_features : of the rows
    columns : (d,) features that vary, which views take
    step : length of a step in the unit of position, that rows are brought to
    log_shares : (K,) logs of the states' shares of all labelled rows
    change_cost : nats of a change of state
    agreement : 0, for there are no neighbours but along time
    reach : rows before and after a row that its density depends on
    """

    views: tuple[MotionView, ...]
    view_weights: Array
    means: Array
    n_features: int
    columns: Index
    step: float
    log_shares: Array
    change_cost: float
    agreement: float
    reach: int

    def __post_init__(self) -> None:
        width = sum(view.ratios.size for view in self.views)
        if self.means.ndim != 2 or self.means.shape[1] != width:
            raise ValueError(f"means has shape {self.means.shape}, and the views have {width} directions")
        if self.log_shares.shape != (len(self.means),) or self.view_weights.shape != (len(self.views),):
            raise ValueError("log_shares and view_weights must have an entry for each state and for each view")
        if any(view.centers.size != self.columns.size for view in self.views):
            raise ValueError("views and columns disagree on the number of features")
        if not 0 <= self.columns.min(initial=0) <= self.columns.max(initial=0) < self.n_features:
            raise ValueError(f"columns names a feature beyond the {self.n_features} that there are")
        if not (np.isfinite(self.means).all() and np.isfinite(self.log_shares).all() and self.step > 0):
            raise ValueError("means and log_shares must be finite, and step above 0")

    def renumbered(self, rank: Index) -> Self:
        """Return the same with other numbers for the states: ``rank`` (K,) is the new one of each."""
        order = np.argsort(rank)
        return replace(self, means=self.means[order], log_shares=self.log_shares[order])

    def row_log_densities(self, features: Array, places: Positions) -> Array:
        """Return the (N, K) log densities of rows (N, d), in canonical order, in each state.

        Rows are brought on a grid of the models' step first; see :mod:`mcgta.selection.families.dynamics.regular`.
        """
        series = make_regular(features[:, self.columns], places, self.step)
        densities = self.step_log_densities(series)
        return native(series.row_weight * densities[series.step_of_row])

    def step_log_densities(self, series: RegularSeries) -> Array:
        """Return the (T, K) log densities of steps, part after part."""
        out = np.zeros((len(series), len(self)))
        margin = max(view.reach for view in self.views)
        for part in _parts(series, margin):
            first = 0
            for view, weight in zip(self.views, self.view_weights, strict=True):
                means = self.means[:, first : first + view.ratios.size]
                first += view.ratios.size
                steps = view.project(part.series)[:, part.inner]
                out[part.outer] += weight / view.width * (steps.T @ means.T - 0.5 * (means**2).sum(axis=1))
        return native(out)

    @classmethod
    def _from_archive_state(cls, state: dict[str, Any]) -> Self:
        views = state.get("views")
        if not isinstance(views, tuple) or not views or not all(isinstance(view, MotionView) for view in views):
            raise ValueError("views must be views of motion")
        for name in ("view_weights", "means", "log_shares"):
            if not isinstance(state[name], np.ndarray) or state[name].dtype != np.float64:
                raise ValueError(f"{name} must hold real numbers")
        if not isinstance(state["columns"], np.ndarray) or state["columns"].dtype != np.int64:
            raise ValueError("columns must hold whole numbers")
        for name in ("step", "change_cost", "agreement"):
            if not isinstance(state[name], (int, float)) or isinstance(state[name], bool):
                raise ValueError(f"{name} must be a number")
        for name in ("reach", "n_features"):
            if not isinstance(state[name], int) or isinstance(state[name], bool):
                raise ValueError(f"{name} must be a whole number")
        return cls(**state)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some steps of a series with those around them: ``inner`` are its own among these, ``outer`` among all."""

    series: RegularSeries
    inner: slice
    outer: slice


def _parts(series: RegularSeries, margin: int) -> Iterator[_Part]:
    """Return the series whole where it is short, else in parts of its pieces."""
    if len(series) <= _PART_STEPS:
        yield _Part(series, slice(0, len(series)), slice(0, len(series)))
        return
    for first, end in zip(series.starts[:-1].tolist(), series.starts[1:].tolist(), strict=True):
        for begin in range(first, end, _PART_STEPS):
            stop = min(begin + _PART_STEPS, end)
            low = max(begin - margin, first)
            high = min(stop + margin, end)
            own = RegularSeries(series.values[low:high], np.array([0, high - low]), np.arange(high - low), series.step)
            yield _Part(own, slice(begin - low, stop - low), slice(begin, stop))


def state_means(steps: Array, labels: Labels, size: int, view: MotionView) -> Array:
    """Return the posterior means (K, J) of states, from projections (J, T) of steps; label -1 has no part."""
    inside = labels >= 0
    own = labels[inside]
    counts = np.bincount(own, minlength=size) / view.width
    sums = np.zeros((size, len(steps)))
    for j, row in enumerate(steps):
        sums[:, j] = np.bincount(own, row[inside], minlength=size) / view.width
    return np.asarray(view.ratios * sums / (1 + counts[:, None] * view.ratios))
