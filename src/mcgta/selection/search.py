"""The labelling with the most evidence that can be found without labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from mcgta.positions.positions import Positions
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.field import Field
from mcgta.selection.merging import merge_path
from mcgta.selection.overdispersion import BLOCKS, sandwich
from mcgta.selection.region_overlap import resolve_overlap
from mcgta.selection.relabelling import Settling
from mcgta.selection.scoring import Scored, compact, log_densities, score
from mcgta.selection.starts import cut_into, make_starts, tame

MOST_SCORED = 5000
"""Observations up to which the search runs on all of them."""

SAMPLE = 2500
"""Observations that it runs on otherwise, at least: whole pieces of series, or places at random."""

LARGEST, PART_OF = 20_000, 7
"""Observations of the largest sample; one in so many is in it where there are fewer."""

PIECE = 125
"""Observations of such a piece."""

WHOLE = 50_000
"""Observations beyond which the choice is made on the sample."""

PART = 20_000
"""Observations that are labelled at a time then."""

LOOSE, FREE = 0.5, 0.95
"""Changes of label between neighbours, of those expected at random, beyond which position helps little, and not at all."""

_TOP = 8  # labellings that are scored with their own dependence and tails
_MOST = 12  # clusters that are looked at on all observations
_RICHER = 3
_KEPT = 5  # labellings of the sample that are carried over
_ERRORS = 2.0
_BLOCKS = 40  # blocks that the standard error is estimated from
_APART = 1.45  # standard deviations of both; the halves of a Gaussian are 1.32 apart
_MIXED = 12  # clusters that the path without position begins with


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What the search has found.

    Attributes
    ----------
    labels : (N,) cluster of each observation
    best : the labelling, scored; of the sample where there are many observations
    rows : the observations that it was scored on
    tau : how many observations count as one, for what the model does not know of
    loose : changes of label between neighbours, over what there would be were labels dealt out at random
    others : the best labellings with other numbers of clusters, fewest first
    overlap : neighbours by which labels are more probable, one by one, than those of ``best``; 0 where they are the same
    free : whether labels have nothing to do with position
    """

    labels: Labels
    best: Scored
    rows: Index
    tau: float
    loose: float
    others: tuple[Scored, ...] = ()
    overlap: int = 0
    free: bool = False

    @property
    def mixed(self) -> bool:
        """Whether labels have little to do with position."""
        return self.loose > LOOSE


def search(features: Array, places: Positions, *, seed: int = 0) -> tuple[Field, SearchResult]:
    """Search for the labelling of features (N, d) at positions, both in canonical order, that has the most evidence.

    Returns what it was scored on, too. Of more than ``MOST_SCORED`` observations it searches a sample, carries the best
    labelling of each number of clusters over to all, and chooses among these; of more than ``WHOLE`` it chooses on the sample.
    """
    rows, part = sample(places, seed, size=min(max(SAMPLE, len(places) // PART_OF), LARGEST))
    with stage("neighbours"):
        field = Field.of(features[rows], part, seed=seed)
    heeding, mixed = find_candidates(field, part, seed)
    if rows.size == len(places):
        return field, resolve(field, choose(field, heeding, mixed, rows))
    with stage("all observations"):
        near = nearest_rows(places, rows)
        if len(places) > WHOLE:
            found = resolve(field, choose(field, heeding, mixed, rows))
            return field, replace(found, labels=carry_over(field, found, features, places, near, seed))
        first = min(heeding + mixed, key=Scored.evidence)
        tau, loose = sandwich(field, first), looseness(field, first) > LOOSE
        kept = sorted(by_number(mixed if loose else heeding, tau), key=lambda scored: scored.evidence(tau))[:_KEPT]
        whole = Field.of(features, places, seed=seed, like=field)
        carried = [extend(whole, rows, near, scored, tau, mixed=loose) for scored in kept]
        one = score(whole, np.zeros(len(places), dtype=np.int64), kinds=first.kinds, tails=first.tails)
        return whole, resolve(whole, choose(whole, [*carried, one], carried if loose else [], np.arange(len(places))))


def resolve(field: Field, found: SearchResult) -> SearchResult:
    """Give observations in overlaps of regions their most probable cluster."""
    if found.mixed:
        return found
    best = found.best
    clusters = Settling(field, best.kinds, best.tails).estimate(best.labels)[0]
    labels, around = resolve_overlap(field, best.labels, clusters, best.kinds, best.tails)
    return replace(found, labels=labels, overlap=around)


def carry_over(field: Field, found: SearchResult, features: Array, places: Positions, near: Index, seed: int) -> Labels:
    """Return labels of all observations, by the clusters found on a sample, some thousands at a time."""
    by = (found.best.kinds, found.best.tails)
    clusters, counts = Settling(field, *by).estimate(found.best.labels)
    labels = np.empty(len(places), dtype=np.int64)
    for start in range(0, len(places), PART):
        rows = np.arange(start, min(start + PART, len(places)))
        part = Field.of(features[rows], places.take(rows), seed=seed, like=field)
        settling = Settling(part, *by, temper=1.0 / found.tau, mixed=found.mixed)
        labels[rows] = settling.suit(found.best.labels[near[rows]], clusters, counts)
        if found.overlap:
            labels[rows] = resolve_overlap(part, labels[rows], clusters, *by)[0]
    return labels


def sample(places: Positions, seed: int, *, most: int = MOST_SCORED, size: int = SAMPLE) -> tuple[Index, Positions]:
    """Return rows to work on and where they are: all, or if there are more than ``most`` about ``size`` of them.

    These are pieces of series, spread evenly, or places at random.
    """
    count = len(places)
    if count <= most:
        return np.arange(count), places
    if not places.is_chain:
        rows = np.sort(np.random.default_rng(seed).permutation(count)[:size])
        return rows, places.take(rows)
    starts = np.r_[True, places.groups[1:] != places.groups[:-1]]
    begin = np.maximum.accumulate(np.where(starts, np.arange(count), 0))
    piece = np.cumsum(starts | ((np.arange(count) - begin) % PIECE == 0)) - 1
    wanted = max(2, size * int(piece[-1] + 1) // count)  # more of them where series are shorter than a piece
    taken = np.unique(np.linspace(0, piece[-1], wanted).round().astype(int))
    rows = np.flatnonzero(np.isin(piece, taken))
    apart = compact(piece[rows])
    return rows, replace(places.take(rows), groups=apart, group_names=np.arange(apart[-1] + 1))


def find_candidates(field: Field, places: Positions, seed: int) -> tuple[list[Scored], list[Scored]]:
    """Return every labelling on the merge paths from all starts, each once: those that heed position, and those that do not."""
    found: dict[bytes, Scored] = {}
    with stage("search"):
        for start in make_starts(field, places, seed):
            for temper in start.tempers if field.chain else (1.0,):
                for scored in merge_path(field, start.labels, temper=temper):
                    name = scored.labels.tobytes()
                    if name not in found or scored.evidence() < found[name].evidence():
                        found[name] = scored
        free = cut_into(tame(field), _MIXED, seed)
        mixed = merge_path(field, free, mixed=True, independent=True)
    return list(found.values()), [scored for scored in mixed if parted(field, scored)]


def parted(field: Field, scored: Scored) -> bool:
    """Whether the clusters of a labelling stand apart in their features, each from every other.

    Along the line that parts two of them best, their means have to be farther apart than those of the two halves of one
    Gaussian, in standard deviations. Else, where position does not help, there is no telling clusters from tails or a bend.
    """
    inside = [field.X[:, scored.labels == k] for k in range(scored.clusters)]
    means = [part.mean(axis=1) for part in inside]
    spreads = [np.atleast_2d(np.cov(part)) for part in inside]
    for k in range(scored.clusters):
        for m in range(k):
            gap, both = means[k] - means[m], 0.5 * (spreads[k] + spreads[m])
            line = np.linalg.lstsq(both, gap, rcond=None)[0]
            widths = np.sqrt([max(float(line @ spread @ line), 0.0) for spread in (spreads[k], spreads[m])])
            if abs(float(line @ gap)) < _APART * widths.sum():
                return False
    return scored.clusters > 1


def choose(field: Field, heeding: list[Scored], mixed: list[Scored], rows: Index) -> SearchResult:
    """Choose the candidate with the most evidence: at first taking the model at its word, then as far as it is worth it."""
    first = best_of(field, heeding + mixed, 1.0)
    loose = looseness(field, first)
    # Clusters that are still to be found make blocks alike, too, so labellings with more of them have a say.
    richer = [
        scored for scored in by_number(heeding, 1.0) if first.clusters < scored.clusters <= first.clusters + _RICHER
    ]
    tau = min(sandwich(field, scored) for scored in [first, *richer])
    if loose <= LOOSE:
        best = coarsest(field, heeding, tau)
        return SearchResult(best.labels, best, rows, tau, looseness(field, best), tuple(by_number(heeding, tau)))
    free = loose > FREE - chance(field, first)
    if not free:
        tau = sandwich(field, best_of(field, mixed, 1.0, full=True))
        first = best_of(field, mixed, tau, full=True)
    else:  # neighbours have no more in common than others, so each observation counts
        tau = 1.0
    return SearchResult(first.labels, first, rows, tau, loose, tuple(by_number(mixed, tau)), free=free)


def coarsest(field: Field, candidates: list[Scored], tau: float) -> Scored:
    """Return the candidate with the fewest clusters that is not clearly worse than the best.

    The more observations count as one, the less the model is to be believed, and the clearer it has to be: up to two standard
    errors of the difference of log densities, by their sums over blocks; where more than two count as one, of what is left of
    the difference when more clusters are paid for (Vuong 1989, with and without his correction).
    """
    best = best_of(field, candidates, tau)
    limit, strict = (_ERRORS * float(np.clip(tau - doubt, 0.0, 1.0)) for doubt in (1.0, 2.0))
    blocks = field.pieces(max(BLOCKS[0], len(field) // _BLOCKS))
    level = log_densities(field, best)
    for scored in by_number(candidates, tau):
        if scored.clusters >= best.clusters:
            break
        fewer = scored if field.borrowed else score(field, scored.labels)
        sums = np.bincount(blocks, level - log_densities(field, fewer))
        error = np.sqrt(sums.size * sums.var())
        paid = 0.5 * tau * (fewer.evidence(tau) - best.evidence(tau))
        if sums.sum() < limit * error or paid < strict * error:
            return fewer
    return best


def by_number(candidates: list[Scored], tau: float) -> list[Scored]:
    """Return the best candidate of each number of clusters, fewest clusters first; no more than ``_MOST``."""
    best: dict[int, Scored] = {}
    for scored in candidates:
        if scored.clusters <= _MOST and (
            scored.clusters not in best or scored.evidence(tau) < best[scored.clusters].evidence(tau)
        ):
            best[scored.clusters] = scored
    return [best[number] for number in sorted(best)]


def looseness(field: Field, scored: Scored) -> float:
    """Return the changes of label between neighbours over what there would be were labels dealt out at random."""
    share = scored.counts / scored.counts.sum()
    random = 1.0 - float((share**2).sum())
    i, j = field.edges.T
    return float((scored.labels[i] != scored.labels[j]).mean()) / random if random > 0 and len(i) else 0.0


def chance(field: Field, scored: Scored) -> float:
    """Return two standard errors of the looseness of labels that are dealt out at random."""
    random = 1.0 - float(((scored.counts / scored.counts.sum()) ** 2).sum())
    return 2.0 * float(np.sqrt(random * (1.0 - random) / max(len(field.edges), 1))) / random if random > 0 else 0.0


def best_of(field: Field, candidates: list[Scored], tau: float, *, full: bool = False) -> Scored:
    """Return the best candidate, those that come near scored with the dependence and the tails that suit them best."""
    ranked = sorted(candidates, key=lambda scored: scored.evidence(tau, full=full))
    if field.borrowed:
        return ranked[0]  # as it was carried over, with what suited it on the sample
    found = (score(field, scored.labels) for scored in ranked[:_TOP])
    return min(found, key=lambda scored: scored.evidence(tau, full=full))


def extend(field: Field, rows: Index, near: Index, scored: Scored, tau: float, *, mixed: bool = False) -> Scored:
    """Carry a labelling of some rows over to all observations."""
    settling = Settling(field, scored.kinds, scored.tails, temper=1.0 / tau, mixed=mixed)
    labels = settling.settle(settling.carry(rows, scored.labels, near), 2)
    return score(field, labels, kinds=scored.kinds, tails=scored.tails)


def nearest_rows(places: Positions, rows: Index) -> Index:
    """Return which of some rows is nearest to each row, within its group if there is any."""
    if places.points is not None:
        # One group lies beside another, farther off than its own are from each other.
        apart = 1.0 + 2.0 * float(np.linalg.norm(np.ptp(places.points, axis=0)))
        points = np.column_stack([places.points, apart * places.groups])
        return np.asarray(KDTree(points[rows]).query(points)[1])
    return np.concatenate([places.between(np.array([row]), rows).argmin(axis=1) for row in range(len(places))])
