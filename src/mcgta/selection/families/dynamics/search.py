"""The search for states that differ in how they move: views, candidates, and borders to the step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.evidence.relabel import best_path
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.dynamics.composite import MIN_GAIN_NATS, Composite, make_composite
from mcgta.selection.families.dynamics.models import MotionModels, state_means
from mcgta.selection.families.dynamics.regular import RegularSeries, make_regular, typical_step
from mcgta.selection.families.dynamics.splitting import runs_with
from mcgta.selection.families.dynamics.states import Runs, runs_of
from mcgta.selection.families.dynamics.words import describe_motion
from mcgta.selection.families.family import Candidate
from mcgta.selection.scoring.feature_scale import varying_columns

MAX_SEARCHED_STEPS = 50_000
"""Steps up to which all are searched; of more, evenly spaced pieces are, and the rest is labelled by the states found."""

SEARCHED_PIECES = 10
"""Pieces of a long series that are searched."""

MAX_LISTED_STATES = 15
"""States up to which the best labelling of each number is a candidate."""

MAX_LISTED_OF_LONG = 4
"""Candidates of a series of which only pieces are searched."""

_BORDER_NATS = 2.0  # that moving borders to the step may cost, for blocks they cut


@dataclass(frozen=True, eq=False)
class DynamicsSearch:
    """States that were found to differ in how they move.

    Attributes
    ----------
    name : "dynamics"
    candidates : the best labelling of each number of states, fewest first
    best : the one with most evidence, its borders moved to the step
    composite : views of the steps that were searched
    series : all steps
    searched : steps (S,) that were searched
    columns : features that vary
    n_features : of the rows
    unit : of position
    one_gain : 0, for motion is another aspect of the rows than their level
    """

    name: str
    candidates: tuple[Candidate, ...]
    best: Candidate
    composite: Composite
    series: RegularSeries
    searched: Index
    columns: Index
    n_features: int
    unit: str
    one_gain: float = 0.0

    @property
    def yields_to(self) -> tuple[str, ...]:
        """No family."""
        return ()

    def contenders(self) -> tuple[Candidate, ...]:
        """Return the best labelling, where it has several states."""
        return (self.best,) if self.best.n_clusters > 1 else ()

    def value(self, candidate: Candidate, level_gain: float) -> float:
        """Return nats over one cluster: those of motion, and those of the same labels as levels where these differ, too."""
        return candidate.gain + max(level_gain, 0.0)

    def beside_level(self, labels: Labels) -> float:
        """Return the nats that labels of Gaussian clusters gain beside, where these move differently, too."""
        return max(self.gain(labels), 0.0)

    def gain(self, labels: Labels) -> float:
        """Return the log evidence in nats of any labelling of rows over that of one cluster, averaged over views.

        Rows of label -1 go with the cluster before them. Of a long series the searched pieces count.
        """
        steps = _without_noise(self.series.rows_to_steps(labels))[self.searched]
        return self.composite.gain(runs_of(_renumber(steps), self.composite.series.starts))

    def describe(self, labels: Labels) -> str:
        """Say in words what the clusters of a labelling differ in."""
        steps = self.series.rows_to_steps(labels)[self.searched]
        return describe_motion(self.composite.series, steps, self.unit)

    def models(self, labels: Labels) -> MotionModels:
        """Estimate the states of a labelling; -1 is noise and has no part in them."""
        steps = self.series.rows_to_steps(labels)[self.searched]
        return fit_models(self.composite, self.columns, self.n_features, steps, labels)


def search_dynamics(
    features: Array, places: Positions, *, seed: int, n_clusters: int | None = None
) -> DynamicsSearch | None:
    """Search for states that differ in how they move; None where position is not time or there are too few steps.

    Features (N, d) and places are in canonical order. Unevenly spaced rows are brought on a grid of their median step; see
    :mod:`mcgta.selection.families.dynamics.regular`. With ``n_clusters`` the best has that many states.
    """
    columns = varying_columns(features)
    step = typical_step(places) if places.is_chain else 0.0
    if step <= 0 or columns.size == 0:
        return None
    series = make_regular(features[:, columns], places, step)
    searched = _searched_steps(series)
    composite = make_composite(_part(series, searched), seed)
    if composite is None:
        return None
    found = composite.candidates()
    if n_clusters is not None and all(runs.n_states != n_clusters for runs, _ in found):
        runs = runs_with(composite, n_clusters)
        found.append((runs, composite.gain(runs)))
    best_by_number: dict[int, tuple[Runs, float]] = {}
    for runs, gain in found:
        held = best_by_number.get(runs.n_states)
        if held is None or gain > held[1]:
            best_by_number[runs.n_states] = (runs, gain)
    chosen = n_clusters if n_clusters is not None else _chosen_number(best_by_number)
    listed = _listed_numbers(best_by_number, chosen, whole=searched.size == len(series))
    labelling = _Labelling(composite, series, searched, columns)
    candidates = {number: labelling.candidate(best_by_number[number], refined=number == chosen) for number in listed}
    return DynamicsSearch(
        "dynamics",
        tuple(candidates[number] for number in sorted(candidates)),
        candidates[chosen],
        composite,
        series,
        searched,
        columns,
        features.shape[1],
        places.unit,
    )


def _chosen_number(best_by_number: dict[int, tuple[Runs, float]]) -> int:
    """Return the number of states with most evidence, 1 unless several are clearly ahead of it."""
    best = max(best_by_number, key=lambda number: (best_by_number[number][1], -number))
    return best if best_by_number[best][1] > MIN_GAIN_NATS else 1


def _listed_numbers(best_by_number: dict[int, tuple[Runs, float]], chosen: int, *, whole: bool) -> list[int]:
    """Return the numbers of states whose best labellings are candidates; 1 and the chosen one are among them."""
    some = [number for number in best_by_number if number <= MAX_LISTED_STATES]
    if not whole:
        some = sorted(some, key=lambda number: -best_by_number[number][1])[:MAX_LISTED_OF_LONG]
    return sorted({1, chosen, *some})


@dataclass(frozen=True, eq=False)
class _Labelling:
    """Labels of all rows, from those of the steps that were searched."""

    composite: Composite
    series: RegularSeries
    searched: Index
    columns: Index

    def candidate(self, found: tuple[Runs, float], *, refined: bool) -> Candidate:
        runs, gain = found
        labels = runs.labels
        if runs.n_states == 1:
            return Candidate(np.zeros(self.series.step_of_row.size, dtype=np.int64), 0.0)
        if refined:
            moved = self.composite.refine(labels)
            moved_gain = self.composite.gain(runs_of(moved, self.composite.series.starts))
            if moved_gain > gain - _BORDER_NATS:
                labels = moved
                gain = moved_gain
        if self.searched.size < len(self.series):
            labels = self._of_all(labels)
        return Candidate(labels[self.series.step_of_row], gain)

    def _of_all(self, labels: Labels) -> Labels:
        """Label all steps by the likeliest path, given the states of those searched; these keep their labels."""
        models = fit_models(self.composite, self.columns, int(self.columns.max()) + 1, labels, labels)
        densities = models.step_log_densities(self.series)
        densities[self.searched] = -np.inf
        densities[self.searched, labels] = 0.0
        first = np.zeros(len(self.series), dtype=bool)
        first[self.series.starts[:-1]] = True
        path = np.empty(len(self.series), dtype=np.int64)
        best_path(densities, densities, first, models.change_cost, path)
        return path


def fit_models(composite: Composite, columns: Index, n_features: int, steps: Labels, rows: Labels) -> MotionModels:
    """Estimate states from the labels of steps that were searched; their shares are those of rows."""
    size = int(rows.max(initial=0)) + 1
    used = [view for view, weight in zip(composite.views, composite.weights, strict=True) if weight > 0]
    means = [
        state_means(projected, steps, size, view.drawn.view)
        for view, projected in zip(used, composite.projections, strict=True)
    ]
    views = tuple(view.drawn.view for view in used)
    counts = np.bincount(rows[rows >= 0], minlength=size) + 0.5
    return MotionModels(
        views=views,
        view_weights=composite.weights[composite.weights > 0],
        means=np.concatenate(means, axis=1),
        n_features=n_features,
        columns=np.asarray(columns, dtype=np.int64),
        step=composite.series.step,
        log_shares=np.log(counts / counts.sum()),
        change_cost=composite.change_nats + float(np.log(max(size - 1, 1))),
        agreement=0.0,
        reach=int(np.ceil(max(view.reach for view in views) / composite.series.row_weight)),
    )


def _searched_steps(series: RegularSeries) -> Index:
    """Return the steps that are searched: all, or evenly spaced pieces of a long series."""
    count = len(series)
    if count <= MAX_SEARCHED_STEPS:
        return np.arange(count)
    length = MAX_SEARCHED_STEPS // SEARCHED_PIECES
    firsts = np.rint(np.linspace(0, count - length, SEARCHED_PIECES)).astype(np.int64)
    return np.unique((firsts[:, None] + np.arange(length)).ravel())


def _part(series: RegularSeries, steps: Index) -> RegularSeries:
    """Return some steps of a series; a piece begins where one of the series does, and where steps are left out."""
    if steps.size == len(series):
        return series
    begins = np.append(True, np.diff(steps) > 1)
    begins |= np.isin(steps, series.starts[:-1])
    starts = np.append(np.flatnonzero(begins), steps.size).astype(np.int64)
    return RegularSeries(series.values[steps], starts, np.arange(steps.size), series.step)


def _without_noise(labels: Labels) -> Labels:
    """Give rows of label -1 that of the row before, and the first rows that of the first that has one."""
    good = np.flatnonzero(labels >= 0)
    if good.size in (0, labels.size):
        return np.maximum(labels, 0)
    held = np.zeros(labels.size, dtype=np.int64)
    held[good] = np.arange(good.size)
    return np.asarray(labels[good[np.maximum.accumulate(held)]])


def _renumber(labels: Labels) -> Labels:
    """Number clusters 0, 1, ... without gaps."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
