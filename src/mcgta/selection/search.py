"""The labelling with the most evidence that can be found without labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from mcgta.positions.positions import Positions
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.field import Field
from mcgta.selection.merging import merge_down, merge_path
from mcgta.selection.overdispersion import BLOCKS, estimate_overdispersion
from mcgta.selection.region_overlap import resolve_overlap
from mcgta.selection.relabelling import Relabelling
from mcgta.selection.scoring import Scored, compact, log_densities, score
from mcgta.selection.starts import MANY, cut_into, make_starts, winsorize

MOST_SCORED = 5000
"""Observations up to which the search runs on all of them."""

SAMPLE = 2500
"""Observations that it runs on otherwise, at least: whole pieces of series, or places at random."""

LARGEST = 20_000
PART_OF = 7
"""Observations of the largest sample; one in so many is in it where there are fewer."""

PIECE = 125
"""Observations of such a piece."""

WHOLE = 50_000
"""Observations beyond which the choice is made on the sample."""

PART = 20_000
"""Observations that are labelled at a time then."""

LOOSE = 0.5
FREE = 0.95
"""Changes of label between neighbours, of those expected at random, beyond which position helps little, and not at all."""

MAX_CLUSTERS = 12
"""Clusters of a labelling that is looked at, unless more are asked for."""

_RICHER = 3  # clusters more than the best labelling has, with which labellings tell of overdispersion
_TOP = 8  # labellings that are scored with their own dependence and tails
_KEPT = 5  # labellings of the sample that are carried over
_ERRORS = 2.0
_BLOCKS = 40  # blocks that the standard error is estimated from
_APART = 1.45  # standard deviations of both; the halves of a Gaussian are 1.32 apart
_MIXED = 12  # clusters that the path without position begins with


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The labelling that a search has chosen, and others that it looked at.

    Attributes
    ----------
    labels : (N,) cluster of each observation
    best : the labelling, scored; of the sample where there are many observations
    rows : the observations that it was scored on
    overdispersion : how many observations count as one, for what the model does not know of
    join_counts : changes of label between neighbours, over what there would be were labels dealt out at random
    others : the best labelling of each number of clusters that was looked at, fewest first
    overlap : neighbours by which labels are more probable, one by one, than those of ``best``; 0 where they are the same
    free : whether labels have nothing to do with position
    """

    labels: Labels
    best: Scored
    rows: Index
    overdispersion: float
    join_counts: float
    others: tuple[Scored, ...] = ()
    overlap: int = 0
    free: bool = False

    @property
    def mixed(self) -> bool:
        """Whether labels have little to do with position."""
        return self.join_counts > LOOSE


def search(
    features: Array, places: Positions, *, seed: int = 0, n_clusters: int | None = None
) -> tuple[Field, SearchResult]:
    """Search for the labelling of features (N, d) at positions, both in canonical order, that has the most evidence.

    Returns what it was scored on, too. Of more than ``MOST_SCORED`` observations it searches a sample, carries the best
    labelling of each number of clusters over to all, and chooses among these; of more than ``WHOLE`` it chooses on the sample.
    With ``n_clusters`` only labellings with that many clusters can be chosen.
    """
    rows, part = sample(places, seed, size=min(max(SAMPLE, len(places) // PART_OF), LARGEST))
    with stage("neighbours"):
        field = Field.of(features[rows], part, seed=seed)
    candidates = find_candidates(field, part, seed, n_clusters)
    if rows.size == len(places):
        return field, resolve(field, choose(field, candidates, rows, n_clusters))
    with stage("all observations"):
        near = nearest_rows(places, rows)
        if len(places) > WHOLE:
            result = resolve(field, choose(field, candidates, rows, n_clusters))
            return field, replace(result, labels=carry_over(field, result, features, places, near, seed))
        first = most_evident(candidates.all, 1.0)
        overdispersion = estimate_overdispersion(field, first)
        mixed = join_count_ratio(field, first) > LOOSE
        pool = candidates.mixed if mixed else candidates.spatial
        if n_clusters is not None:
            pool = with_number(field, pool or candidates.spatial, n_clusters, overdispersion, seed)
        best = by_number(pool, overdispersion, most=max(MAX_CLUSTERS, n_clusters or 0))
        kept = sorted(best, key=lambda scored: -scored.log_evidence(overdispersion))[:_KEPT]
        whole = Field.of(features, places, seed=seed, like=field)
        carried = [extend(whole, rows, near, scored, overdispersion, mixed=mixed) for scored in kept]
        one = score(whole, np.zeros(len(places), dtype=np.int64), kinds=first.kinds, tails=first.tails)
        extended = Candidates([*carried, one], carried if mixed else [])
        return whole, resolve(whole, choose(whole, extended, np.arange(len(places)), n_clusters))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Labellings that the search has come across: those that heed position, and those that do not."""

    spatial: list[Scored]
    mixed: list[Scored]

    @property
    def all(self) -> list[Scored]:
        """Both."""
        return self.spatial + self.mixed


def resolve(field: Field, found: SearchResult) -> SearchResult:
    """Give observations in overlaps of regions their most probable cluster."""
    if found.mixed:
        return found
    best = found.best
    clusters = Relabelling(field, best.kinds, best.tails).estimate(best.labels)[0]
    labels, around = resolve_overlap(field, best.labels, clusters, best.kinds, best.tails)
    return replace(found, labels=labels, overlap=around)


def carry_over(field: Field, found: SearchResult, features: Array, places: Positions, near: Index, seed: int) -> Labels:
    """Return labels of all observations, by the clusters found on a sample, some thousands at a time."""
    by = (found.best.kinds, found.best.tails)
    clusters, counts = Relabelling(field, *by).estimate(found.best.labels)
    labels = np.empty(len(places), dtype=np.int64)
    for start in range(0, len(places), PART):
        rows = np.arange(start, min(start + PART, len(places)))
        part = Field.of(features[rows], places.take(rows), seed=seed, like=field)
        settling = Relabelling(part, *by, temper=1.0 / found.overdispersion, mixed=found.mixed)
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


def find_candidates(field: Field, places: Positions, seed: int, n_clusters: int | None = None) -> Candidates:
    """Return every labelling on the merge paths from all starts, each once."""
    spatial: dict[bytes, Scored] = {}
    many = MANY if n_clusters is None else max(MANY, 2 * n_clusters)
    with stage("search"):
        for start in make_starts(field, places, seed, many=many):
            for temper in start.tempers if field.chain else (1.0,):
                for scored in merge_path(field, start.labels, temper=temper):
                    name = scored.labels.tobytes()
                    if name not in spatial or scored.log_evidence() > spatial[name].log_evidence():
                        spatial[name] = scored
        free = cut_into(winsorize(field), max(_MIXED, n_clusters or 0), seed)
        mixed = merge_path(field, free, mixed=True, independent=True)
    return Candidates(list(spatial.values()), [scored for scored in mixed if parted(field, scored)])


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
            gap = means[k] - means[m]
            both = 0.5 * (spreads[k] + spreads[m])
            line = np.linalg.lstsq(both, gap, rcond=None)[0]
            widths = np.sqrt([max(float(line @ spread @ line), 0.0) for spread in (spreads[k], spreads[m])])
            if abs(float(line @ gap)) < _APART * widths.sum():
                return False
    return scored.clusters > 1


def choose(field: Field, candidates: Candidates, rows: Index, n_clusters: int | None = None) -> SearchResult:
    """Choose the candidate with the most evidence: at first taking the model at its word, then as far as it is worth it."""
    first = best_of(field, candidates.all, 1.0)
    join_counts = join_count_ratio(field, first)
    # Clusters that are still to be found make blocks alike, too, so labellings with more of them have a say.
    richer = [
        scored
        for scored in by_number(candidates.spatial, 1.0)
        if first.clusters < scored.clusters <= first.clusters + _RICHER
    ]
    overdispersion = min(estimate_overdispersion(field, scored) for scored in [first, *richer])
    most = max(MAX_CLUSTERS, n_clusters or 0)
    free = join_counts > FREE - chance(field, first)
    if join_counts <= LOOSE or not (free or candidates.mixed):
        others = tuple(by_number(candidates.spatial, overdispersion, most=most))
        if n_clusters is None:
            best = coarsest(field, candidates.spatial, overdispersion)
        else:
            best = best_of(field, with_number(field, candidates.spatial, n_clusters, overdispersion), overdispersion)
        return SearchResult(best.labels, best, rows, overdispersion, join_count_ratio(field, best), others)
    if not free:
        overdispersion = estimate_overdispersion(field, best_of(field, candidates.mixed, 1.0, full=True))
        first = best_of(field, candidates.mixed, overdispersion, full=True)
    else:  # neighbours have no more in common than others, so each observation counts
        overdispersion = 1.0
    others = tuple(by_number(candidates.mixed, overdispersion, most=most))
    if n_clusters is not None:
        wanted = with_number(field, candidates.mixed, n_clusters, overdispersion)
        first = best_of(field, wanted, overdispersion, full=True)
    return SearchResult(first.labels, first, rows, overdispersion, join_counts, others, free=free)


def with_number(
    field: Field, candidates: list[Scored], n_clusters: int, overdispersion: float, seed: int = 0
) -> list[Scored]:
    """Return the candidates with exactly that many clusters; where there are none, one that is made for the purpose.

    The candidate with the fewest clusters more is merged, without relabelling; where all have fewer, observations are cut by
    their features.
    """
    exact = [scored for scored in candidates if scored.clusters == n_clusters]
    if exact:
        return exact
    finer = [scored for scored in candidates if scored.clusters > n_clusters]
    if finer:
        fewest = min(scored.clusters for scored in finer)
        start = most_evident([scored for scored in finer if scored.clusters == fewest], overdispersion)
        return [merge_down(field, start, n_clusters)]
    labels = cut_into(winsorize(field), n_clusters, seed)
    distinct = np.unique(labels).size
    if distinct < n_clusters:
        raise ValueError(f"n_clusters={n_clusters} is more than there are different observations, {distinct}")
    return [score(field, labels)]


def coarsest(field: Field, candidates: list[Scored], overdispersion: float) -> Scored:
    """Return the candidate with the fewest clusters that is not clearly worse than the best.

    The more observations count as one, the less the model is to be believed, and the clearer it has to be: up to two standard
    errors of the difference of log densities, by their sums over blocks; where more than two count as one, of what is left of
    the difference when more clusters are paid for (Vuong 1989, with and without his correction).
    """
    best = best_of(field, candidates, overdispersion)
    limit, strict = (_ERRORS * float(np.clip(overdispersion - doubt, 0.0, 1.0)) for doubt in (1.0, 2.0))
    blocks = field.pieces(max(BLOCKS[0], len(field) // _BLOCKS))
    level = log_densities(field, best)
    for scored in by_number(candidates, overdispersion):
        if scored.clusters >= best.clusters:
            break
        fewer = scored if field.borrowed else score(field, scored.labels)
        sums = np.bincount(blocks, level - log_densities(field, fewer))
        error = np.sqrt(sums.size * sums.var())
        paid = overdispersion * (best.log_evidence(overdispersion) - fewer.log_evidence(overdispersion))
        if sums.sum() < limit * error or paid < strict * error:
            return fewer
    return best


def by_number(candidates: list[Scored], overdispersion: float, *, most: int = MAX_CLUSTERS) -> list[Scored]:
    """Return the best candidate of each number of clusters up to ``most``, fewest clusters first."""
    best: dict[int, Scored] = {}
    for scored in candidates:
        if scored.clusters > most:
            continue
        other = best.get(scored.clusters)
        if other is None or scored.log_evidence(overdispersion) > other.log_evidence(overdispersion):
            best[scored.clusters] = scored
    return [best[number] for number in sorted(best)]


def most_evident(candidates: list[Scored], overdispersion: float, *, full: bool = False) -> Scored:
    """Return the candidate with the most evidence; raise a ValueError where that of none is a finite number."""
    best = max(candidates, key=lambda scored: scored.log_evidence(overdispersion, full=full))
    if not np.isfinite(best.log_evidence(overdispersion, full=full)):
        raise ValueError("X: the evidence of no labelling is a finite number, so there is nothing to choose by")
    return best


def join_count_ratio(field: Field, scored: Scored) -> float:
    """Return the changes of label between neighbours over what there would be were labels dealt out at random."""
    share = scored.counts / scored.counts.sum()
    random = 1.0 - float((share**2).sum())
    i, j = field.edges.T
    return float((scored.labels[i] != scored.labels[j]).mean()) / random if random > 0 and len(i) else 0.0


def chance(field: Field, scored: Scored) -> float:
    """Return two standard errors of the join_count_ratio of labels that are dealt out at random."""
    random = 1.0 - float(((scored.counts / scored.counts.sum()) ** 2).sum())
    return 2.0 * float(np.sqrt(random * (1.0 - random) / max(len(field.edges), 1))) / random if random > 0 else 0.0


def best_of(field: Field, candidates: list[Scored], overdispersion: float, *, full: bool = False) -> Scored:
    """Return the best candidate, those that come near scored with the dependence and the tails that suit them best."""
    if field.borrowed:  # as it was carried over, with what suited it on the sample
        return most_evident(candidates, overdispersion, full=full)
    ranked = sorted(candidates, key=lambda scored: -scored.log_evidence(overdispersion, full=full))
    return most_evident([score(field, scored.labels) for scored in ranked[:_TOP]], overdispersion, full=full)


def extend(
    field: Field, rows: Index, near: Index, scored: Scored, overdispersion: float, *, mixed: bool = False
) -> Scored:
    """Carry a labelling of some rows over to all observations."""
    settling = Relabelling(field, scored.kinds, scored.tails, temper=1.0 / overdispersion, mixed=mixed)
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
