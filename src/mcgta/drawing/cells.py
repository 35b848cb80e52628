"""Cells of a map: how many rows of each cluster lie in each, and a picture that shows their shares."""

from __future__ import annotations

import numpy as np

from mcgta.runtime.types import Array, Index, Labels

CELL_PIXELS = 4
"""Pixels of a cell along each side, among which its clusters are dealt out by their shares."""

FAINTEST = 0.45
"""Opacity of cells with few rows; that of cells with many is one."""

_MANY_QUANTILE = 0.9
_ORDER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]])
"""Bayer's matrix for ordered dithering, B. E. Bayer (1973): the rank of each pixel of a cell."""


def count_cells(x: Array, y: Array, labels: Labels, n_clusters: int, edges: tuple[Array, Array]) -> Index:
    """Return (rows, columns, K + 1) how many observations of each cluster are in each cell, noise last.

    ``edges`` are those of columns and of rows, ascending; what lies outside is left out.
    """
    columns = edges[0].size - 1
    rows = edges[1].size - 1
    column = np.searchsorted(edges[0], x, side="right") - 1
    row = np.searchsorted(edges[1], y, side="right") - 1
    column[x == edges[0][-1]] = columns - 1
    row[y == edges[1][-1]] = rows - 1
    inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    part = np.where(labels < 0, n_clusters, labels)
    code = ((row * columns + column) * (n_clusters + 1) + part)[inside]
    shape = (rows, columns, n_clusters + 1)
    return np.bincount(code, minlength=int(np.prod(shape))).reshape(shape)


def densest_places(x: Array, y: Array, labels: Labels, n_clusters: int, edges: tuple[Array, Array]) -> Array:
    """Return (K, 2) the middle of the rows of each cluster in the cell that has most of it, and little else; NaN without any.

    A cell counts by the rows of the cluster there times their share of all rows there.
    """
    counts = count_cells(x, y, labels, n_clusters, edges).astype(float)
    weights = counts**2 / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    places = np.full((n_clusters, 2), np.nan)
    for k in range(n_clusters):
        row, column = np.unravel_index(int(weights[:, :, k].argmax()), counts.shape[:2])
        inside = (labels == k) & (x >= edges[0][column]) & (x <= edges[0][column + 1])
        inside &= (y >= edges[1][row]) & (y <= edges[1][row + 1])
        if inside.any():
            places[k] = x[inside].mean(), y[inside].mean()
    return places


def deal_out(counts: Index) -> Index:
    """Return the (4 rows, 4 columns) cluster of each pixel: a cluster has as many in a cell as is its share; -1 if empty."""
    total = counts.sum(axis=2, keepdims=True)
    tops = np.cumsum(counts, axis=2) / np.maximum(total, 1)
    level = (np.tile(_ORDER, counts.shape[:2]) + 0.5) / _ORDER.size
    wide = np.repeat(np.repeat(tops, CELL_PIXELS, axis=0), CELL_PIXELS, axis=1)
    cluster = (level[:, :, None] > wide).sum(axis=2)
    filled = np.repeat(np.repeat(total[:, :, 0] > 0, CELL_PIXELS, axis=0), CELL_PIXELS, axis=1)
    return np.where(filled, np.minimum(cluster, counts.shape[2] - 1), -1)


def opacity(counts: Index) -> Array:
    """Return (4 rows, 4 columns) how opaque pixels are: more where a cell has more rows, by the root of their number."""
    total = counts.sum(axis=2)
    some = total[total > 0]
    many = np.quantile(some, _MANY_QUANTILE) if some.size else 1.0
    strength = FAINTEST + (1 - FAINTEST) * np.sqrt(np.minimum(total / many, 1.0))
    return np.repeat(np.repeat(strength, CELL_PIXELS, axis=0), CELL_PIXELS, axis=1)
