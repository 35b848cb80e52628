"""The search for records that follow different curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.positions.positions import Positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.family import Candidate
from mcgta.selection.families.trajectory.curve_clusters import Curves, fit_curves, marginal, record_log_densities
from mcgta.selection.families.trajectory.curve_data import CurveData
from mcgta.selection.families.trajectory.record_clusters import initial_labels
from mcgta.selection.families.trajectory.record_coordinates import NUMBERS_OF_DIRECTIONS, RecordCoordinates
from mcgta.selection.families.trajectory.record_length import find_record_length
from mcgta.selection.families.trajectory.record_search import START_CLUSTERS, RecordSearch
from mcgta.selection.families.trajectory.records import RecordRule, Records, group_rule, series_rule
from mcgta.selection.families.trajectory.trajectory_models import TrajectoryModels, estimate_trajectory_models
from mcgta.selection.sampling import LABELLED_AT_A_TIME_ROWS

MIN_GROUPS = 6
"""Groups that can be repeated records at least."""

MIN_GROUP_ROWS = 8
"""Rows that the typical group has at least to be a record."""

MAX_SEARCHED_ROWS = 50_000
"""Rows up to which all records are searched, and a sample of them beyond."""

MAX_SEARCHED_RECORDS = 1000
"""The same in records."""

LASTING_RATIO = 0.75
"""Changes of label between successive records, over those by chance, below which labels last."""

_RECORDS_OF_A_START_CLUSTER = 2  # on average, at least
_START_REGRESSORS = 9
_UNEQUAL_SHARE = 0.02  # of the longest record, by which others may be shorter and count as equally long


@dataclass(frozen=True, eq=False)
class TrajectorySearch:
    """Clusters of records that were found; see :class:`mcgta.selection.families.family.FamilySearch`.

    A gain is the log evidence of clusters of records over that of one cluster of records, both with the same rows, correlations
    along time and deviations of records from their curves. One record counts as one observation of a curve, so there is no
    overdispersion left to divide by. What a record does beside its curve is alike under all labellings and cancels. So gains
    are nats of the features that the search for levels scores, and ``gain + gain_over_level_one`` is to be compared with what
    levels gain over one level, ``log_evidence(overdispersion) - one.log_evidence(overdispersion)``.

    Attributes
    ----------
    name : "trajectory"
    candidates, best : labellings, constant within records
    rule : by which rows are of records
    rows : (n,) rows of the records that were searched: all, or those of a sample of records
    data : these rows
    records : the records as points
    n_features : of the observations
    """

    name: str
    candidates: tuple[Candidate, ...]
    best: Candidate
    rule: RecordRule
    rows: Index
    data: CurveData
    records: RecordSearch
    n_features: int

    @property
    def one_gain(self) -> float:
        """Nats of one curve for all records over one level, where it explains more."""
        return max(self.gain_over_level_one, 0.0)

    @property
    def yields_to(self) -> tuple[str, ...]:
        """Dynamics, where records were found and not given, and their labels last: states of motion explain such a series."""
        return ("dynamics",) if self.rule.length > 0 and self._labels_last() else ()

    def _labels_last(self) -> bool:
        """Whether records that follow each other have the same label more often than by chance."""
        of_records = self.best.labels[self.rows][self.data.records.first_rows]
        shares = np.bincount(of_records) / of_records.size
        by_chance = 1.0 - float((shares**2).sum())
        return float(np.mean(of_records[1:] != of_records[:-1])) < LASTING_RATIO * by_chance

    def contenders(self) -> tuple[Candidate, ...]:
        """Return the best labelling, where it has several clusters."""
        return (self.best,) if self.best.n_clusters > 1 else ()

    def value(self, candidate: Candidate, level_gain: float) -> float:
        """Return nats over one cluster: those of curves, which explain the same aspect of rows as levels do."""
        return candidate.gain

    def beside_level(self, labels: Labels) -> float:
        """Return 0: curves explain the same aspect of rows as levels do."""
        return 0.0

    @cached_property
    def gain_over_level_one(self) -> float:
        """Log evidence of one curve that all records have in common over one level, in nats.

        Both have the same deviations of records about it. Where records were found in a series, what it takes to say how long
        they are and where the first begins is subtracted.
        """
        borders = 2.0 * float(np.log(self.data.records.n_rows.max())) if self.rule.length > 0 else 0.0
        return self.records.coordinates.curve_nats() - borders

    def gain(self, labels: Labels) -> float:
        """Return the log evidence of a labelling over that of one cluster; minus infinity where it changes within a record."""
        labels = labels[self.rows]
        of_records = labels[self.data.records.first_rows]
        if (of_records[self.data.records.of] != labels).any():
            return -np.inf
        return self.records.gain(np.unique(of_records, return_inverse=True)[1]).nats

    def describe(self, labels: Labels) -> str:
        """Say in words what the clusters of a labelling differ in."""
        steps = int(np.median(self.data.records.n_rows))
        number = np.unique(labels[labels >= 0]).size
        if number == 1:
            return f"all records follow one curve over {steps} steps"
        return f"records follow {number} curves over {steps} steps"

    def models(self, labels: Labels) -> TrajectoryModels:
        """Estimate the clusters of a labelling; -1 is noise and has no part in them."""
        return estimate_trajectory_models(self.data, self.rule, labels[self.rows], n_features=self.n_features)


def search_trajectory(
    features: Array, places: Positions, *, seed: int, n_clusters: int | None = None
) -> TrajectorySearch | None:
    """Search for clusters of records in features (N, d) at positions, both in canonical order.

    None where position is not time, or where groups are too few or too short to be repeated records and no record length is
    found in the one series that there is. With ``n_clusters`` the best labelling has exactly as many, and there is none where
    there are fewer records.
    """
    rules = _find_rules(features, places)
    found = [_search_records(features, places, rule, seed=seed, n_clusters=n_clusters) for rule in rules]
    known = [search for search in found if search is not None]
    if len(known) < 2:
        return known[0] if known else None
    return max(known, key=lambda search: search.best.gain + search.gain_over_level_one)


def _find_rules(features: Array, places: Positions) -> list[RecordRule]:
    """Return the rules by which rows may be of records; none where records are neither given nor found."""
    if not places.is_chain or len(places) == 0:
        return []
    sizes = np.diff(np.append(np.flatnonzero(places.group_starts), len(places)))
    if sizes.size >= MIN_GROUPS:
        if np.median(sizes) < MIN_GROUP_ROWS:
            return []
        unequal = sizes.min() < (1 - _UNEQUAL_SHARE) * sizes.max()
        return [group_rule(places, relative=relative) for relative in ((False, True) if unequal else (False,))]
    length = find_record_length(features, places)
    return [] if length is None else [series_rule(places, *length)]


def _search_records(
    features: Array, places: Positions, rule: RecordRule, *, seed: int, n_clusters: int | None
) -> TrajectorySearch | None:
    """Search for clusters of the records that a rule makes; None where there are too few, or no feature varies."""
    cut = rule.apply(places)
    if n_clusters is not None and n_clusters > len(cut):
        return None
    rows = _sample_records(cut, n_clusters or 0)
    data = CurveData.of(features[rows], places.take(rows), cut.take(rows), seed=seed)
    if data.d == 0:
        return None
    correlations = _choose_correlations(data)
    sums = data.record_sums(correlations)
    records = RecordSearch(RecordCoordinates.of(sums))
    labellings = records.labellings(n_clusters)
    gains = [records.gain(labels) for labels in labellings]
    best = records.choose(labellings, gains, n_clusters)
    everywhere = labellings
    if rows.size < len(features):
        fits = [fit_curves(added, marginal(added, coarse=True).prior) for added in map(sums.added, labellings)]
        everywhere = _label_all(features, places, cut, data, correlations, fits)
        everywhere = [
            _keep(labels, known, cut.of[rows], data) for labels, known in zip(everywhere, labellings, strict=True)
        ]
    candidates = [Candidate(labels[cut.of], gain.nats) for labels, gain in zip(everywhere, gains, strict=True)]
    return TrajectorySearch(
        "trajectory", tuple(candidates), candidates[best], rule, rows, data, records, features.shape[1]
    )


def _sample_records(cut: Records, least: int) -> Index:
    """Return the rows of all records, or where there are many those of some, ``least`` at least, evenly along the series."""
    number = min(MAX_SEARCHED_RECORDS, len(cut) * MAX_SEARCHED_ROWS // cut.of.size)
    number = max(number, MIN_GROUPS, 2 * least)
    if number >= len(cut):
        return np.arange(cut.of.size)
    taken = np.linspace(0, len(cut) - 1, number).round().astype(np.int64)
    return np.flatnonzero(np.isin(cut.of, taken))


def _label_all(
    features: Array, places: Positions, cut: Records, data: CurveData, correlations: Index, fits: list[Curves]
) -> list[Labels]:
    """Return the labels of all records under each of the labellings of a sample, as many records at a time as fit."""
    labels = [np.empty(len(cut), dtype=np.int64) for _ in fits]
    scale = data.scoring_data.scale
    grid = data.scoring_data.correlation_grid
    at_a_time = max(1, len(cut) * LABELLED_AT_A_TIME_ROWS // cut.of.size)
    for start in range(0, len(cut), at_a_time):
        rows = np.flatnonzero((cut.of >= start) & (cut.of < start + at_a_time))
        part = CurveData.like(features[rows], places.take(rows), cut.take(rows), scale, grid, len(data.basis))
        sums = part.record_sums(correlations)
        for found, curves in zip(labels, fits, strict=True):
            shared = Curves(curves.coefficients, np.tile(curves.covariances.mean(axis=0), (len(curves), 1, 1)))
            found[start : start + at_a_time] = record_log_densities(sums, shared).argmax(axis=1)
    return labels


def _keep(labels: Labels, known: Labels, searched: Index, data: CurveData) -> Labels:
    """Return the labels of all records with those of the sample as they are; ``searched`` are the records of its rows."""
    labels[searched[data.records.first_rows]] = known
    return labels


def _choose_correlations(data: CurveData) -> Index:
    """Return (d,) the correlations along time that explain most of what the curves of many clusters leave."""
    independent = data.record_sums(np.zeros(data.d, dtype=np.int64))
    points = RecordCoordinates.of(independent.first_regressors(_START_REGRESSORS)).points(NUMBERS_OF_DIRECTIONS[-1])
    number = min(START_CLUSTERS, max(1, len(data.records) // _RECORDS_OF_A_START_CLUSTER))
    labels = initial_labels(points, number)
    sums = independent.added(labels)
    curves = fit_curves(sums, marginal(sums, coarse=True).prior)
    return data.choose_correlations(labels[data.records.of], curves.coefficients)
