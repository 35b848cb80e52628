"""Courses of features: every value while a page stays small, else least, largest and mean of each column of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.drawing.series import Series
from mcgta.report.pictures.packing import Pack
from mcgta.report.pictures.time_axis import TimeAxis
from mcgta.runtime.types import Array, Index, Mask

MOST_FEATURES = 12
"""Features whose course is stored, the most distinguishing ones."""

MAX_FULL_BYTES = 2_600_000
"""Bytes, as text, that courses at full resolution may take; a page stays below three million then."""

MAX_COLUMN_BYTES = 1_800_000
"""Bytes, as text, of columns."""

MOST_MOMENTS = 16_384
"""Moments of all series together, at which there are several rows, that are stored one by one."""

_LEVELS = 4_095
_EMPTY = 65_535
_VALUE_BYTES = 1.6
_TIME_BYTES = 3.0
"""What a value of twelve bits, and a difference of times, take after compression; measured, and rather more."""
_TEXT_PER_BYTE = 4 / 3
_LARGEST_COLUMNS = 65_536
_SHOWN_QUANTILES = (0.001, 0.999)
_ROOM_BEYOND = 0.25
"""Share of the distance of these quantiles that is shown beyond each; what lies further is cut off."""


@dataclass(frozen=True, eq=False)
class Courses:
    """What is stored of the courses of features.

    Attributes
    ----------
    values : for the page
    full : whether every row is there
    columns : columns of time of each series, where not; 0 where each moment has its own
    cut_share : share of values that are cut off, being far from the others
    """

    values: dict[str, Any]
    full: bool
    columns: int
    cut_share: float


def fits_in_full(n_rows: int, n_features: int, *, regular: bool) -> bool:
    """Whether every value of so many rows and features can be stored."""
    size = n_rows * (_VALUE_BYTES * n_features + (0.0 if regular else _TIME_BYTES)) * _TEXT_PER_BYTE
    return size <= MAX_FULL_BYTES


def pack_courses(pack: Pack, series: list[Series], X: Array, order: Index, axis: TimeAxis) -> Courses:
    """Store the courses of the columns of X (unsorted rows) for all series; ``order`` is the unsorted row of each of theirs."""
    n_rows = sum(each.times.size for each in series)
    n_features = X.shape[1]
    scales = [shown_range(X[:, k]) for k in range(n_features)]
    cut = float(np.mean([np.mean((X[:, k] < low) | (X[:, k] > high)) for k, (low, high) in enumerate(scales)]))
    ranges = [list(scale) for scale in scales]
    if any(each.tied for each in series) and sum(np.unique(each.times).size for each in series) <= MOST_MOMENTS:
        lines = [_pack_moments(pack, each, X, order, scales, axis) for each in series]
        return Courses({"ranges": ranges, "lines": lines}, False, 0, cut)
    if fits_in_full(n_rows, n_features, regular=all(each.regular for each in series)):
        lines = [_pack_rows(pack, each, X, order, scales, axis) for each in series]
        return Courses({"ranges": ranges, "lines": lines}, True, 0, cut)
    columns = column_count(n_features, len(series))
    edges = np.linspace(axis.first, axis.last, columns + 1)
    lines = [_pack_columns(pack, each, X, order, scales, edges) for each in series]
    return Courses({"ranges": ranges, "lines": lines}, False, columns, cut)


def column_count(n_features: int, n_series: int) -> int:
    """Return how many columns of time are stored for each series: a power of two."""
    room = MAX_COLUMN_BYTES / (3 * n_features * n_series * _VALUE_BYTES * _TEXT_PER_BYTE)
    return int(np.clip(2 ** int(np.log2(max(room, 1))), 64, _LARGEST_COLUMNS))


def shown_range(values: Array) -> tuple[float, float]:
    """Return the ends of the axis of a feature: its own, or nearer ones where single values are far from the others."""
    least = float(values.min())
    largest = float(values.max())
    low, high = np.quantile(values, _SHOWN_QUANTILES)
    room = _ROOM_BEYOND * float(high - low)
    ends = (max(least, float(low) - room), min(largest, float(high) + room))
    return ends if ends[1] > ends[0] else (least - 0.5, least + 0.5) if largest == least else (least, largest)


def _pack_rows(
    pack: Pack, series: Series, X: Array, order: Index, scales: list[tuple[float, float]], axis: TimeAxis
) -> dict[str, Any]:
    """Store every value, and times unless they follow each other at one step."""
    rows = order[series.rows]
    values = [pack.add(_store(X[rows, k], scale)) for k, scale in enumerate(scales)]
    places = axis.place(series.times[[0, -1]]).tolist()
    if series.regular:
        return {"rows": rows.size, "between": places, "values": values}
    return {"rows": rows.size, "times": pack.add(axis.store(series.times), summed=True), "values": values}


def _pack_moments(
    pack: Pack, series: Series, X: Array, order: Index, scales: list[tuple[float, float]], axis: TimeAxis
) -> dict[str, Any]:
    """Store the least, the mean and the largest value of each moment, at which there are several rows."""
    moments, first, counts = np.unique(series.times, return_index=True, return_counts=True)
    rows = order[series.rows]
    parts: dict[str, list[Any]] = {"least": [], "mean": [], "largest": []}
    for k, scale in enumerate(scales):
        values = X[rows, k]
        parts["least"].append(pack.add(_store(np.minimum.reduceat(values, first), scale)))
        parts["mean"].append(pack.add(_store(np.add.reduceat(values, first) / counts, scale)))
        parts["largest"].append(pack.add(_store(np.maximum.reduceat(values, first), scale)))
    return {"rows": moments.size, "times": pack.add(axis.store(moments), summed=True), **parts}


def _pack_columns(
    pack: Pack, series: Series, X: Array, order: Index, scales: list[tuple[float, float]], edges: Array
) -> dict[str, Any]:
    """Store the least, the largest and the mean value of each column of time; an empty one has none."""
    columns = edges.size - 1
    column = np.clip(np.searchsorted(edges, series.times, side="right") - 1, 0, columns - 1)
    first = np.r_[0, np.flatnonzero(np.diff(column)) + 1]
    filled: Mask = np.zeros(columns, dtype=bool)
    filled[column[first]] = True
    rows = order[series.rows]
    counts = np.diff(np.r_[first, column.size])
    parts: dict[str, list[Any]] = {"least": [], "largest": [], "means": []}
    for k, scale in enumerate(scales):
        values = X[rows, k]
        found = {
            "least": np.minimum.reduceat(values, first),
            "largest": np.maximum.reduceat(values, first),
            "means": np.add.reduceat(values, first) / counts,
        }
        for name, part in found.items():
            stored = np.full(columns, _EMPTY, dtype=np.uint16)
            stored[filled] = _store(part, scale)
            parts[name].append(pack.add(stored))
    return {"columns": columns, **parts}


def _store(values: Array, scale: tuple[float, float]) -> Index:
    """Return values as twelve bits between the ends of their axis."""
    low, high = scale
    return np.rint(np.clip((values - low) / (high - low), 0, 1) * _LEVELS).astype(np.uint16)
