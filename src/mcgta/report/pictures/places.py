"""The map of a report: points, or counts of rows in cells, with coastlines, packed for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.description.patches import spatial_coordinates
from mcgta.drawing.cells import count_cells, densest_places
from mcgta.drawing.coastlines import coastlines
from mcgta.drawing.map_frame import Frame, make_frame
from mcgta.report.pictures.alternatives import Shown, count_numbers
from mcgta.report.pictures.packing import Pack
from mcgta.report.pictures.strips import NOISE
from mcgta.report.pictures.time_axis import TimeAxis
from mcgta.report.subject import Subject
from mcgta.runtime.types import Array, Index, Labels

MOST_POINTS = 100_000
"""Rows that are stored as points."""

CELLS = 256
"""Cells along the longer side of a map of more rows."""

NARROWEST_COAST_VIEW_M = 200_000.0
"""Width of the view below which there are a graticule and a scale bar, and no coast."""

MOST_NUMBERS = 24
"""Clusters whose numbers are written on the map, the largest ones."""

STACKED_SHARE = 0.7
"""Distinct places, as a share of the rows, below which a place is drawn as the shares of its clusters."""

_NUMBER_CELLS = 24
_LARGEST = 65_535
_COAST_MARGIN = 0.5
"""Views beyond each edge within which coasts are stored."""


@dataclass(frozen=True, eq=False)
class PlaceMap:
    """What a map shows.

    Attributes
    ----------
    frame : where observations are on the page
    arcs : coastlines in view, each (M, 2)
    values : for the page
    remarks : what has been thinned or left out
    """

    frame: Frame
    arcs: list[Array]
    values: dict[str, Any]
    remarks: list[str]


def can_be_mapped(subject: Subject) -> bool:
    """Whether positions have at least two coordinates of place."""
    positions = subject.fit.data.positions
    return subject.domain in ("space", "spacetime") and spatial_coordinates(positions).shape[1] >= 2


def make_map(subject: Subject, shown: list[Shown], axis: TimeAxis | None, pack: Pack) -> PlaceMap:
    """Pack what the map of a subject needs; ``axis`` is that of time, where places have one."""
    fit = subject.fit
    frame = make_frame(fit, (0, 1))
    west, south, east, north = frame.view
    arcs = []
    if frame.on_earth and not frame.width_m < NARROWEST_COAST_VIEW_M:
        arcs = coastlines(max(west, -360.0), south, min(east, 360.0), north)
    values: dict[str, Any] = {
        "view": list(frame.view),
        "aspect": frame.aspect,
        "earth": frame.on_earth,
        "metres": None if np.isnan(frame.width_m) else frame.width_m,
        "unit": frame.unit,
        "tiles": [{"name": tile.name, "x": tile.x, "y": tile.y} for tile in frame.tiles],
        "coast": _pack_arcs(pack, arcs, frame),
        "stacked": is_stacked(frame),
        "anchors": [find_anchors(frame, each.labels) for each in shown],
    }
    n_rows = frame.rows.size
    remarks = []
    if n_rows <= MOST_POINTS or axis is not None:
        rows = np.arange(n_rows)
        if n_rows > MOST_POINTS:
            rows = np.sort(np.random.default_rng(fit.data.seed).choice(n_rows, MOST_POINTS, replace=False))
            remarks.append(
                f"Thinned: the map draws a sample of {MOST_POINTS:,} of {n_rows:,} rows; all figures are of every row."
            )
        else:
            remarks.append(f"All {n_rows:,} rows are in the page.")
        values |= _pack_points(pack, frame, rows, [each.labels for each in shown])
        if axis is not None:
            order = _along_curve(frame, rows)
            times = fit.data.positions.coordinates[frame.rows[order], -1]
            values["times"] = pack.add((axis.store(times) >> np.uint32(16)).astype(np.uint16))
    else:
        values |= _pack_cells(pack, frame, shown)
        remarks.append(
            f"Thinned: the {n_rows:,} rows are counted in cells, {values['columns']} across and {values['rows']} upwards; each "
            "cell is dealt out to its clusters by their shares, and fainter where rows are few."
        )
    if frame.left_out:
        remarks.append(f"Only the first {len(frame.tiles)} of {len(frame.tiles) + frame.left_out} groups are drawn.")
    if values["stacked"] and "codes" in values:
        remarks.append("Places with several rows are divided by the shares of their clusters.")
    if frame.tiles:
        remarks.append("Groups are drawn beside each other, since they would cover each other.")
    if not frame.on_earth and spatial_coordinates(fit.data.positions).shape[1] > 2:
        remarks.append("Of the coordinates the first two are drawn.")
    if fit.missing is not None and fit.missing.rows.size and axis is None:
        remarks.append(f"{fit.missing.rows.size:,} rows with missing values are not drawn.")
    return PlaceMap(frame, arcs, values, remarks)


def is_stacked(frame: Frame) -> bool:
    """Whether many rows are at the same places, such as stations that report again and again."""
    order = np.lexsort((frame.y, frame.x))
    moved = (np.diff(frame.x[order]) != 0) | (np.diff(frame.y[order]) != 0)
    return bool(1 + np.count_nonzero(moved) < STACKED_SHARE * frame.rows.size)


def find_anchors(frame: Frame, labels: Labels) -> list[list[float]]:
    """Return where the numbers of the largest clusters stand: number, and shares of the view from the west and the north."""
    west, south, east, north = frame.view
    own = labels[frame.rows]
    sizes = np.bincount(own[own >= 0])
    edges = (np.linspace(west, east, _NUMBER_CELLS + 1), np.linspace(south, north, _NUMBER_CELLS + 1))
    places = densest_places(frame.x, frame.y, own, sizes.size, edges)
    chosen = [k for k in np.argsort(-sizes, kind="stable")[:MOST_NUMBERS].tolist() if np.isfinite(places[k]).all()]
    return [
        [k, (float(places[k, 0]) - west) / (east - west), (north - float(places[k, 1])) / (north - south)]
        for k in chosen
    ]


def grid_edges(frame: Frame, cells: int) -> tuple[Array, Array]:
    """Return the edges of columns and of rows of cells that look square, so many along the longer side."""
    west, south, east, north = frame.view
    slimness = (north - south) * frame.aspect / (east - west)
    across = max(round(cells * min(1.0, 1.0 / slimness)), 1)
    upward = max(round(cells * min(1.0, slimness)), 1)
    return np.linspace(west, east, across + 1), np.linspace(south, north, upward + 1)


def _store(values: Array, low: float, high: float) -> Index:
    return np.rint(np.clip((values - low) / (high - low), 0, 1) * _LARGEST).astype(np.uint16)


def _codes(labels: Labels) -> Index:
    return np.where(labels < 0, NOISE, labels).astype(np.uint16)


def _along_curve(frame: Frame, rows: Index) -> Index:
    """Return rows along Morton's curve, on which neighbours in space stand together, so that labels compress well."""
    west, south, east, north = frame.view
    spread = [_spread_bits(_store(frame.x[rows], west, east)), _spread_bits(_store(frame.y[rows], south, north))]
    return rows[np.argsort(spread[0] | (spread[1] << np.uint64(1)), kind="stable")]


def _spread_bits(values: NDArray[Any]) -> NDArray[Any]:
    """Return 16-bit numbers with a zero between any two bits."""
    wide = values.astype(np.uint64)
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        wide = (wide | (wide << np.uint64(shift))) & np.uint64(mask)
    return wide


def _pack_points(pack: Pack, frame: Frame, rows: Index, labels: list[Labels]) -> dict[str, Any]:
    """Store points along Morton's curve, and their codes in each labelling."""
    west, south, east, north = frame.view
    order = _along_curve(frame, rows)
    return {
        "x": pack.add(_store(frame.x[order], west, east), summed=True),
        "y": pack.add(_store(frame.y[order], south, north), summed=True),
        "codes": [pack.add(_codes(each[frame.rows[order]])) for each in labels],
    }


def _pack_cells(pack: Pack, frame: Frame, shown: list[Shown]) -> dict[str, Any]:
    """Store how many rows of each cluster are in each cell, for each labelling."""
    edges = grid_edges(frame, CELLS)
    numbers = count_numbers(shown)
    packed = []
    for each in shown:
        counts = count_cells(frame.x, frame.y, each.labels[frame.rows], numbers, edges)
        present = np.flatnonzero(counts.any(axis=(0, 1)))
        codes = np.where(present == numbers, NOISE, present).tolist()
        planes = np.minimum(counts[:, :, present], _LARGEST).astype(np.uint16).transpose(2, 0, 1).ravel()
        packed.append({"codes": codes, "counts": pack.add(planes)})
    return {"columns": edges[0].size - 1, "rows": edges[1].size - 1, "cells": packed}


def _pack_arcs(pack: Pack, arcs: list[Array], frame: Frame) -> dict[str, Any] | None:
    """Store coastlines relative to the view and half a view around it."""
    if not arcs:
        return None
    west, south, east, north = frame.view
    points = np.concatenate(arcs)
    margins = _COAST_MARGIN * (east - west), _COAST_MARGIN * (north - south)
    return {
        "margin": _COAST_MARGIN,
        "sizes": pack.add(np.array([len(arc) for arc in arcs], dtype=np.uint32)),
        "x": pack.add(_store(points[:, 0], west - margins[0], east + margins[0]), summed=True),
        "y": pack.add(_store(points[:, 1], south - margins[1], north + margins[1]), summed=True),
    }
