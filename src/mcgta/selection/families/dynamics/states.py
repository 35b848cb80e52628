"""Evidence of states in one view, and candidates by segments that are merged into states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.kernels.motion.segments import best_segments, merge_path
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.selection.families.dynamics.view import DrawnView

SHORTEST_BLOCKS = 2
"""Blocks of the shortest segment."""

MAX_STATES = 40
"""States of a candidate; finer merges are not looked at."""

_NOISE_STEPS = 4  # of finding the variance of the noise
_LEAST_NOISE = 1e-9


class Runs(NamedTuple):
    """A labelling of steps as runs of one state, none of which is in two pieces.

    Attributes
    ----------
    borders : (R + 1,) first step of each run, and T
    states : (R,) 0 ... K - 1
    begins : (R,) whether a run is the first of a piece
    """

    borders: Index
    states: Labels
    begins: Mask

    @property
    def n_states(self) -> int:
        """K."""
        return int(self.states.max(initial=0)) + 1

    @property
    def changes(self) -> int:
        """Number of changes of state within pieces."""
        return int(((self.states[1:] != self.states[:-1]) & ~self.begins[1:]).sum())

    @property
    def labels(self) -> Labels:
        """(T,) state of each step."""
        return np.repeat(self.states, np.diff(self.borders))


def runs_of(labels: Labels, starts: Index) -> Runs:
    """Return the runs of labels 0 ... K - 1 of steps, in pieces that begin at ``starts``."""
    begins = np.zeros(labels.size, dtype=bool)
    begins[starts[:-1]] = True
    first = begins.copy()
    first[1:] |= labels[1:] != labels[:-1]
    borders = np.flatnonzero(first)
    return Runs(np.append(borders, labels.size), np.asarray(labels[borders], dtype=np.int64), begins[borders])


def log_evidence(counts: Array, sums: Array, squares: Array, ratios: Array) -> float:
    """Return the log evidence of states of so many blocks (K,) with these sums (K, J), but for a constant.

    ``squares`` (J,) are sums over all blocks. The variance of the noise in each direction is the one that explains most, given
    the states; that of the states' means is ``ratios``.
    """
    total = counts.sum()
    noise = np.maximum(squares / total, _LEAST_NOISE)
    for _ in range(_NOISE_STEPS):
        left = squares - (sums**2 / (counts[:, None] + noise / ratios)).sum(axis=0)
        noise = np.maximum(left / total, _LEAST_NOISE)
    left = squares - (sums**2 / (counts[:, None] + noise / ratios)).sum(axis=0)
    occam = np.log1p(counts[:, None] * ratios / noise).sum(axis=0)
    return float(-0.5 * (total * np.log(noise) + left / noise + occam).sum())


@dataclass(frozen=True, eq=False)
class ViewScore:
    """Scores labellings in one view.

    Attributes
    ----------
    drawn : the view and its blocks
    """

    drawn: DrawnView

    @cached_property
    def cumulative(self) -> Array:
        """(M + 1, J) sums of the blocks before each."""
        blocks = self.drawn.blocks
        return np.concatenate([np.zeros((1, blocks.shape[1])), np.cumsum(blocks, axis=0)])

    @cached_property
    def one(self) -> float:
        """Log evidence of one state."""
        count = np.array([len(self.drawn.blocks)], dtype=np.float64)
        return log_evidence(count, self.cumulative[-1:], self.squares, self.drawn.view.ratios)

    @cached_property
    def squares(self) -> Array:
        """(J,) sums of the squares of all blocks."""
        return np.asarray((self.drawn.blocks**2).sum(axis=0))

    @property
    def change_nats(self) -> float:
        """Nats of where a change is."""
        return float(np.log(max(len(self.drawn.blocks), 2)))

    def run_sums(self, borders: Index) -> tuple[Array, Array]:
        """Return the blocks (R,) that runs have, in parts where a border cuts one, and their sums (R, J)."""
        starts = self.drawn.starts
        block = np.searchsorted(starts, borders, side="right") - 1
        share = np.minimum((borders - starts[np.maximum(block, 0)]) / self.drawn.view.width, 1.0)
        share = np.where(block < 0, 0.0, share)
        block = np.maximum(block, 0)
        position = block + share
        total = self.cumulative[block] + share[:, None] * self.drawn.blocks[block]
        return np.diff(position), np.diff(total, axis=0)

    def gain(self, counts: Array, sums: Array, runs: Runs) -> float:
        """Return the log evidence of states over that of one, less what writing the labels takes."""
        size = runs.n_states
        if size == 1:
            return 0.0
        blocks = np.bincount(runs.states, counts, minlength=size).astype(np.float64)
        totals = np.zeros((size, sums.shape[1]))
        np.add.at(totals, runs.states, sums)
        found = log_evidence(blocks, totals, self.squares, self.drawn.view.ratios) - self.one
        written = runs.changes * (self.change_nats + np.log(max(size - 1, 1)))
        written += (int(runs.begins.sum()) - 1) * np.log(size)
        return found - float(written)


def find_segments(drawn: DrawnView, cost: float) -> Index:
    """Return the blocks (S + 1,) at which the segments of the best segmentation begin, and M."""
    blocks = drawn.blocks
    sums = np.concatenate([np.zeros((1, blocks.shape[1])), np.cumsum(blocks, axis=0)])
    first = np.searchsorted(drawn.pieces, drawn.pieces, side="left")
    back = np.empty(len(blocks) + 1, dtype=np.int64)
    best_segments(native(sums), native(drawn.view.ratios), native(first, np.int64), cost, SHORTEST_BLOCKS, back)
    cuts = [len(blocks)]
    while cuts[-1] > 0:
        cuts.append(int(back[cuts[-1]]))
    return np.array(cuts[::-1])


def merged_states(drawn: DrawnView, cuts: Index, most: int = MAX_STATES) -> list[Labels]:
    """Return the states (S,) of segments on the path of merges, from the most that are looked at down to 1."""
    counts = np.diff(cuts).astype(np.float64)
    sums = np.add.reduceat(drawn.blocks, cuts[:-1], axis=0)
    merges = np.empty((counts.size - 1, 2), dtype=np.int64)
    merge_path(native(counts), native(sums), native(drawn.view.ratios), merges)
    states = np.arange(counts.size)
    path = []
    for step in range(counts.size):
        left = counts.size - step
        if left <= most:
            path.append(np.unique(states, return_inverse=True)[1].astype(np.int64))
        if left > 1:
            states[states == merges[step, 1]] = merges[step, 0]
    return path
