"""All views of a series together: candidates of each are scored in every one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.evidence.relabel import best_path
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.selection.families.dynamics.models import state_means
from mcgta.selection.families.dynamics.periods import dominant_period
from mcgta.selection.families.dynamics.regular import RegularSeries
from mcgta.selection.families.dynamics.states import Runs, ViewScore, find_segments, merged_states
from mcgta.selection.families.dynamics.view import draw_view

SCALES = (0.5, 1.0, 2.0, 4.0)
"""Lengths of blocks, in periods."""

DRAWS = 2
"""Views of each length."""

MIN_WIDTH = 8
"""Steps of the shortest block."""

MIN_BLOCKS = 20
"""Blocks that a series has at least in each view."""

BLOCKS_PER_SEGMENT = 4
"""Blocks that a typical segment has in a view that counts."""


@dataclass(frozen=True, eq=False)
class Composite:
    """Views of a series, with weights by which their nats are averaged.

    Attributes
    ----------
    series : the series
    views : each with its blocks
    segments : (S + 1,) blocks at which the segments of each view begin
    weights : (V,) of the views, which sum to 1
    """

    series: RegularSeries
    views: tuple[ViewScore, ...]
    segments: tuple[Index, ...]
    weights: Array

    def gain(self, runs: Runs) -> float:
        """Return the log evidence of a labelling over that of one state, averaged over views."""
        total = 0.0
        for view, weight in zip(self.views, self.weights, strict=True):
            if weight > 0:
                total += weight * view.gain(*view.run_sums(runs.borders), runs)
        return float(total)

    @cached_property
    def change_nats(self) -> float:
        """Nats of where a change is, averaged over views."""
        return float(sum(weight * view.change_nats for view, weight in zip(self.views, self.weights, strict=True)))

    def candidates(self) -> list[tuple[Runs, float]]:
        """Return the labellings of all views' paths of merges, each once, with their gains."""
        seen: dict[bytes, tuple[Runs, float]] = {}
        for view, cuts in zip(self.views, self.segments, strict=True):
            borders, begins = self.borders(view, cuts)
            sums = [other.run_sums(borders) for other in self.views]
            for states in merged_states(view.drawn, cuts):
                runs = _canonical(Runs(borders, states, begins))
                key = _signature(runs)
                if key in seen:
                    continue
                gain = 0.0
                for other, weight, own in zip(self.views, self.weights, sums, strict=True):
                    if weight > 0:
                        gain += weight * other.gain(*own, runs)
                seen[key] = (runs, gain)
        return list(seen.values())

    def borders(self, view: ViewScore, cuts: Index) -> tuple[Index, Mask]:
        """Return the first steps of segments of blocks, and which of them begin a piece; steps left over go with the last."""
        drawn = view.drawn
        at = drawn.starts[cuts[:-1]]
        pieces = drawn.pieces[cuts[:-1]]
        begins = np.append(True, pieces[1:] != pieces[:-1])
        at = np.where(begins, self.series.starts[pieces], at)
        at[0] = 0
        return np.append(at, len(self.series)), begins

    @cached_property
    def projections(self) -> list[Array]:
        """(J, T) projections of the steps in each view that counts."""
        return [
            view.drawn.view.project(self.series)
            for view, weight in zip(self.views, self.weights, strict=True)
            if weight > 0
        ]

    def refine(self, labels: Labels, rounds: int = 2) -> Labels:
        """Move borders to the step at which the likeliest path changes, given the means of the states."""
        size = int(labels.max()) + 1
        first = np.zeros(len(self.series), dtype=bool)
        first[self.series.starts[:-1]] = True
        for _ in range(rounds):
            densities = self.step_log_densities(labels, size)
            path = np.empty(len(self.series), dtype=np.int64)
            best_path(densities, densities, first, self.change_nats + float(np.log(max(size - 1, 1))), path)
            if np.array_equal(path, labels) or np.unique(path).size < size:
                break
            labels = path
        return labels

    def step_log_densities(self, labels: Labels, size: int) -> Array:
        """Return the (T, K) log densities of steps in the states of a labelling, averaged over views."""
        out = np.zeros((len(self.series), size))
        used = [(view, weight) for view, weight in zip(self.views, self.weights, strict=True) if weight > 0]
        for (view, weight), steps in zip(used, self.projections, strict=True):
            means = state_means(steps, labels, size, view.drawn.view)
            out += weight / view.drawn.view.width * (steps.T @ means.T - 0.5 * (means**2).sum(axis=1))
        return native(out)


def make_composite(series: RegularSeries, seed: int) -> Composite | None:
    """Draw the views of a series at the scales of its period; None where it is too short for any."""
    longest = max(len(series) // MIN_BLOCKS, 0)
    if longest < MIN_WIDTH:
        return None
    rng = np.random.default_rng(seed)
    period = dominant_period(series)
    wanted = [min(max(round(period * scale), MIN_WIDTH), longest) for scale in SCALES]
    widths = [width for width in dict.fromkeys(wanted) if (series.lengths // width).sum() >= MIN_BLOCKS // 2]
    if not widths:
        return None
    views = tuple(ViewScore(draw_view(series, width, rng)) for width in widths for _ in range(DRAWS))
    segments = tuple(find_segments(view.drawn, view.change_nats) for view in views)
    finest = [
        _typical_length(cuts) * view.drawn.view.width
        for view, cuts in zip(views, segments, strict=True)
        if view.drawn.view.width == widths[0]
    ]
    limit = max(widths[0], float(np.median(finest)) / BLOCKS_PER_SEGMENT)
    weights = np.array([float(view.drawn.view.width) for view in views])
    weights[weights > limit] = 0.0
    return Composite(series, views, segments, weights / weights.sum())


def _typical_length(cuts: Index) -> float:
    """Return the median over blocks of the length of the segment that a block is in."""
    lengths = np.diff(cuts)
    return float(np.median(np.repeat(lengths, lengths)))


def _canonical(runs: Runs) -> Runs:
    """Number states by their first run."""
    _, first, inverse = np.unique(runs.states, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return Runs(runs.borders, rank[inverse], runs.begins)


def _signature(runs: Runs) -> bytes:
    """Return a text that is the same for equal labellings."""
    change = np.append(True, runs.states[1:] != runs.states[:-1])
    return runs.borders[:-1][change].tobytes() + b"|" + runs.states[change].tobytes()
