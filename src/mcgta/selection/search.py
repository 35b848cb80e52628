"""The labelling with the most evidence that can be found without labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from mcgta.positions import Positions
from mcgta.progress import Progress
from mcgta.selection.field import Field
from mcgta.selection.merging import merge_path
from mcgta.selection.relabelling import Settling
from mcgta.selection.robustness import sandwich
from mcgta.selection.scoring import Scored, compact, score
from mcgta.selection.starts import cut_into, make_starts, tame
from mcgta.types import Array, Index

SAMPLE = 4000
"""Observations that the search runs on; of more, whole pieces are taken."""

PIECE = 250
"""Observations of such a piece."""

_TOP = 10  # labellings that are scored with their own dependence and tails
_CALM = 0.25  # temper of the second path from each start along series
_MIXED = 12  # clusters that the path without position begins with
_LOOSE = 0.5  # changes of label, of those expected at random, beyond which position helps little
_FREE = 0.95  # ... beyond which it does not help at all


@dataclass(frozen=True, eq=False)
class Found:
    """What the search has found.

    Attributes
    ----------
    best : the labelling, scored
    tau : how many observations count as one, for what the model does not know of
    mixed : whether labels have nothing to do with position
    """

    best: Scored
    tau: float
    mixed: bool


def search(features: Array, places: Positions, *, seed: int = 0, progress: Progress | None = None) -> Found:
    """Search for the labelling of features (N, d) at positions, both in canonical order, that has the most evidence."""
    progress = progress or Progress()
    rows, part = sample(places, seed)
    with progress.stage("neighbours"):
        few = Field.of(features[rows], part, seed=seed)
    found = choose(few, *find_candidates(few, part, seed, progress))
    if rows.size == len(places):
        return found
    with progress.stage("all observations"):
        return extend(Field.of(features, places, seed=seed), places, rows, found)


def sample(places: Positions, seed: int) -> tuple[Index, Positions]:
    """Return the rows that the search runs on and where they are: all, or pieces of series, spread evenly, or places at random."""
    count = len(places)
    if count <= 1.25 * SAMPLE:
        return np.arange(count), places
    if places.metric != "time":
        rows = np.sort(np.random.default_rng(seed).permutation(count)[:SAMPLE])
        return rows, places.take(rows)
    starts = np.r_[True, places.groups[1:] != places.groups[:-1]]
    begin = np.maximum.accumulate(np.where(starts, np.arange(count), 0))
    piece = np.cumsum(starts | ((np.arange(count) - begin) % PIECE == 0)) - 1
    taken = np.unique(np.linspace(0, piece[-1], max(2, SAMPLE // PIECE)).round().astype(int))
    rows = np.flatnonzero(np.isin(piece, taken))
    apart = compact(piece[rows])
    return rows, replace(places.take(rows), groups=apart, group_names=np.arange(apart[-1] + 1))


def find_candidates(field: Field, places: Positions, seed: int, progress: Progress) -> tuple[list[Scored], list[Scored]]:
    """Return every labelling on the merge paths from all starts, each once: those that heed position, and those that do not."""
    found: dict[bytes, Scored] = {}
    with progress.stage("search"):
        for start in make_starts(field, places, seed):
            for temper in (1.0, _CALM) if field.chain else (1.0,):
                for scored in merge_path(field, start.labels, temper=temper):
                    name = scored.labels.tobytes()
                    if name not in found or scored.evidence() < found[name].evidence():
                        found[name] = scored
        free = cut_into(tame(field), _MIXED, seed)
        mixed = merge_path(field, free, mixed=True, independent=True)
    return list(found.values()), [scored for scored in mixed if scored.clusters > 1]


def choose(field: Field, heeding: list[Scored], mixed: list[Scored]) -> Found:
    """Choose the candidate with the most evidence: at first taking the model at its word, then as far as it is worth it."""
    first = best_of(field, heeding + mixed, 1.0)
    loose = looseness(field, first)
    if loose > _LOOSE:
        tau = max(1.0, sandwich(field, first))
        if loose < _FREE:
            first = best_of(field, mixed, 1.0, full=True)
            tau = max(1.0, sandwich(field, first))
            first = best_of(field, mixed, tau, full=True)
        return Found(first, tau, True)
    tau = max(1.0, sandwich(field, first))
    return Found(best_of(field, heeding, tau), tau, False)


def looseness(field: Field, scored: Scored) -> float:
    """Return the changes of label between neighbours over what there would be were labels dealt out at random."""
    share = scored.counts / scored.counts.sum()
    random = 1.0 - float((share**2).sum())
    i, j = field.edges.T
    return float((scored.labels[i] != scored.labels[j]).mean()) / random if random > 0 and len(i) else 0.0


def best_of(field: Field, candidates: list[Scored], tau: float, *, full: bool = False) -> Scored:
    """Return the best candidate, those that come near scored with the dependence and the tails that suit them best."""
    ranked = sorted(candidates, key=lambda scored: scored.evidence(tau, full=full))[:_TOP]
    return min(
        (score(field, scored.labels) for scored in ranked), key=lambda scored: scored.evidence(tau, full=full)
    )


def extend(field: Field, places: Positions, rows: Index, found: Found) -> Found:
    """Carry the labelling of a sample over to all observations."""
    near = nearest_rows(places, rows)
    settling = Settling(field, found.best.kinds, found.best.tails, temper=1.0 / found.tau, mixed=found.mixed)
    return replace(found, best=score(field, settling.settle(found.best.labels[near], 5)))


def nearest_rows(places: Positions, rows: Index) -> Index:
    """Return which of some rows is nearest to each row, within its group if there is any."""
    if places.metric == "time":
        after = np.minimum(np.searchsorted(rows, np.arange(len(places))), rows.size - 1)
        before = np.maximum(after - 1, 0)
        row = np.arange(len(places))
        return np.where(np.abs(rows[after] - row) <= np.abs(row - rows[before]), after, before)
    if places.points is not None:
        return np.asarray(KDTree(places.points[rows]).query(places.points)[1])
    return np.concatenate([places.between(np.array([row]), rows).argmin(axis=1) for row in range(len(places))])
