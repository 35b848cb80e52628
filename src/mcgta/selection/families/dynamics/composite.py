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

DRAWS = 2
"""Views of each length."""

MIN_WIDTH = 8
"""Steps of the shortest block."""

MIN_BLOCKS = 20
"""Blocks that a series has at least in each view."""

CLEAR_PERIOD = 0.2
"""Autocorrelation at a period from which on blocks have half of it at least."""

LENGTHS_WITH_PERIOD = 4
"""Lengths of blocks, each twice the one before, that count together where there is a clear period."""

LENGTHS_WITHOUT_PERIOD = 3
"""The same where there is none, and blocks can be short."""

MIN_GAIN_NATS = float(np.log(20))
"""Nats by which several states must be ahead of one."""


@dataclass(frozen=True, eq=False)
class Composite:
    """Views of a series, with weights by which their nats are averaged.

    Attributes
    ----------
    series : the series
    views : each with its blocks
    segments : (S + 1,) blocks at which the segments of each view begin
    weights : (V,) of the views, which sum to 1
    scored : labellings of all views' paths of merges, each once, with their gains (V,) in each view
    """

    series: RegularSeries
    views: tuple[ViewScore, ...]
    segments: tuple[Index, ...]
    weights: Array
    scored: tuple[tuple[Runs, Array], ...] = ()

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
        """Return the labellings of all views' paths of merges, each once, with their gains averaged over views."""
        return [(runs, float(gains @ self.weights)) for runs, gains in self.scored]

    def score_all(self) -> tuple[tuple[Runs, Array], ...]:
        """Return the labellings of all views' paths of merges, each once, with their gains in each view."""
        seen: dict[bytes, tuple[Runs, Array]] = {}
        for view, cuts in zip(self.views, self.segments, strict=True):
            borders, begins = self.borders(view, cuts)
            sums = [other.run_sums(borders) for other in self.views]
            for states in merged_states(view.drawn, cuts):
                runs = _canonical(Runs(borders, states, begins))
                key = _signature(runs)
                if key not in seen:
                    gains = [other.gain(*own, runs) for other, own in zip(self.views, sums, strict=True)]
                    seen[key] = (runs, np.array(gains, dtype=np.float64))
        return tuple(seen.values())

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

    def refine(self, labels: Labels) -> Labels:
        """Move borders to the step at which the likeliest path changes, by the longest block that counts at most."""
        size = int(labels.max()) + 1
        first = np.zeros(len(self.series), dtype=bool)
        first[self.series.starts[:-1]] = True
        margin = max(view.drawn.view.width for view, weight in zip(self.views, self.weights, strict=True) if weight > 0)
        densities = self.step_log_densities(labels, size)
        changes = np.flatnonzero(np.diff(labels)) + 1
        steps = np.arange(len(labels))
        after = np.searchsorted(changes, steps, side="right")
        bounds = np.concatenate([[-margin - 1], changes, [len(labels) + margin + 1]])
        far = np.minimum(steps - bounds[after], bounds[after + 1] - steps) > margin
        kept = densities[far, labels[far]]
        densities[far] = -np.inf
        densities[far, labels[far]] = kept
        path = np.empty(len(self.series), dtype=np.int64)
        best_path(densities, densities, first, self.change_nats + float(np.log(max(size - 1, 1))), path)
        return path if np.unique(path).size == size else labels

    def step_log_densities(self, labels: Labels, size: int) -> Array:
        """Return the (T, K) log densities of steps in the states of a labelling, averaged over views."""
        out = np.zeros((len(self.series), size))
        used = [(view, weight) for view, weight in zip(self.views, self.weights, strict=True) if weight > 0]
        for (view, weight), steps in zip(used, self.projections, strict=True):
            means = state_means(steps, labels, size, view.drawn.view)
            out += weight / view.drawn.view.width * (steps.T @ means.T - 0.5 * (means**2).sum(axis=1))
        return native(out)


def make_composite(series: RegularSeries, seed: int) -> Composite | None:
    """Draw the views of a series, and weigh those of neighbouring lengths that tell most; None where it is too short for any.

    Lengths of blocks are the period times powers of two. Fluctuations that last longer than a block look like states, so a
    labelling has to gain in blocks of several lengths together; longer ones count more, as the root of their length.
    """
    longest = len(series) // MIN_BLOCKS
    if longest < MIN_WIDTH:
        return None
    rng = np.random.default_rng(seed)
    period = dominant_period(series)
    widths = [width for width in _widths(period.steps, longest) if (series.lengths // width).sum() >= MIN_BLOCKS // 2]
    clear = period.correlation > CLEAR_PERIOD
    if clear:
        widths = [width for width in widths if width >= 0.45 * period.steps] or widths[-1:]
    if not widths:
        return None
    views = tuple(ViewScore(draw_view(series, width, rng)) for width in widths for _ in range(DRAWS))
    segments = tuple(find_segments(view.drawn, view.change_nats) for view in views)
    scored = Composite(series, views, segments, np.ones(len(views)) / len(views)).score_all()
    together = LENGTHS_WITH_PERIOD if clear else LENGTHS_WITHOUT_PERIOD
    return Composite(series, views, segments, _best_weights(views, widths, scored, together), scored)


def _widths(period: int, longest: int) -> list[int]:
    """Return lengths of blocks, ascending: the period times powers of two, as far as they are allowed."""
    found = [period]
    while found[0] >= 2 * MIN_WIDTH:
        found.insert(0, round(found[0] / 2))
    while 2 * found[-1] <= longest:
        found.append(2 * found[-1])
    return list(dict.fromkeys(min(max(width, MIN_WIDTH), longest) for width in found))


def _best_weights(
    views: tuple[ViewScore, ...], widths: list[int], scored: tuple[tuple[Runs, Array], ...], together: int
) -> Array:
    """Return the weights of the views of neighbouring lengths in which a labelling gains most; others have none."""
    own = np.array([view.drawn.view.width for view in views])
    gains = np.array([row for _, row in scored])
    best = np.zeros(own.size)
    top = -np.inf
    for first in range(max(len(widths) - together + 1, 1)):
        last = widths[min(first + together, len(widths)) - 1]
        weights = np.where((own >= widths[first]) & (own <= last), np.sqrt(own), 0.0)
        weights /= weights.sum()
        found = float((gains @ weights).max())
        if found > top:
            top = found
            best = weights
    return best


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
