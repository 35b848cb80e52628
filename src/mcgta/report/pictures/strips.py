"""Strips: which cluster holds when, as runs of one cluster, or as shares of columns of time where runs would be too many."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.drawing.series import Series
from mcgta.drawing.time_shares import GAP_STEPS, shares_of_time
from mcgta.report.pictures.packing import Pack
from mcgta.report.pictures.time_axis import TimeAxis
from mcgta.runtime.types import Array, Index, Labels

MOST_RUNS = 40_000
"""Runs of all series together that are stored as such."""

STRIP_COLUMNS = 4_096
"""Columns of all series together whose shares are stored instead."""

LEAST_STRIP_COLUMNS = 512
NOISE = 65_534
NOTHING = 65_535
"""Codes of noise, and of time without rows, in the place of a cluster's number."""

_FULL_SHARE = 255


def pack_strips(
    pack: Pack, series: list[Series], labels: Labels, n_clusters: int, axis: TimeAxis
) -> tuple[list[dict[str, Any]], bool]:
    """Store the strips of all series for labels in canonical order; return them, and whether they are at full resolution."""
    tied = any(each.tied for each in series)
    runs = [] if tied else [find_time_runs(each, labels[each.rows], axis) for each in series]
    if not tied and sum(starts.size for starts, _ in runs) <= MOST_RUNS:
        return [
            {"starts": pack.add(axis.store(starts), summed=True), "codes": pack.add(codes.astype(np.uint16))}
            for starts, codes in runs
        ], True
    columns = max(STRIP_COLUMNS // len(series), LEAST_STRIP_COLUMNS)
    edges = np.linspace(axis.first, axis.last, columns + 1)
    packed = []
    for each in series:
        shares = store_shares(shares_of_time(each.times, labels[each.rows], n_clusters, edges, axis.step))
        present = np.flatnonzero(shares.any(axis=0))
        codes = np.where(present == n_clusters, NOISE, present).tolist()
        packed.append({"columns": columns, "codes": codes, "shares": pack.add(shares[:, present].T.ravel())})
    return packed, tied and max(np.unique(each.times).size for each in series) <= columns


def find_time_runs(series: Series, labels: Labels, axis: TimeAxis) -> tuple[Array, Index]:
    """Return the times at which runs of one cluster begin, and their codes; a last one, without rows, ends the series."""
    times = series.times
    codes = np.where(labels < 0, NOISE, labels)
    gaps = np.diff(times) > GAP_STEPS * axis.step
    first = np.r_[0, np.flatnonzero((codes[1:] != codes[:-1]) | gaps) + 1]
    last = np.flatnonzero(gaps)
    starts = np.concatenate([times[first], times[last] + axis.step, times[-1:] + axis.step])
    found = np.concatenate([codes[first], np.full(last.size + 1, NOTHING)])
    order = np.argsort(starts, kind="stable")
    return starts[order], found[order]


def store_shares(shares: Array) -> Index:
    """Return shares as bytes; one that is not nothing is at least one."""
    stored = np.rint(_FULL_SHARE * shares)
    return np.where(shares > 0, np.maximum(stored, 1), 0).astype(np.uint8)
