"""What plots add up, the slow and obvious way."""

from __future__ import annotations

from itertools import pairwise
from typing import Any


def shares_of_time(
    times: list[float], labels: list[int], n_clusters: int, edges: list[float], step: float, gap_steps: float
) -> list[list[float]]:
    """Return the share of each column that each cluster holds, noise last: one moment and one column after another."""
    moments = sorted(set(times))
    held = [[0.0] * (n_clusters + 1) for _ in edges[1:]]
    for k, moment in enumerate(moments):
        there = [labels[row] for row in range(len(times)) if times[row] == moment]
        until = moments[k + 1] if k + 1 < len(moments) else moment + step
        if until - moment > gap_steps * step:
            until = moment + step
        for column in range(len(edges) - 1):
            overlap = min(until, edges[column + 1]) - max(moment, edges[column])
            if overlap > 0:
                for label in there:
                    held[column][label if label >= 0 else n_clusters] += overlap / len(there)
    return [[part / sum(row) if sum(row) > 0 else 0.0 for part in row] for row in held]


def count_cells(
    x: list[float], y: list[float], labels: list[int], n_clusters: int, edges: tuple[list[float], list[float]]
) -> list[list[list[int]]]:
    """Return how many rows of each cluster are in each cell, noise last; the last cells hold their upper edge."""
    counts = [[[0] * (n_clusters + 1) for _ in edges[0][1:]] for _ in edges[1][1:]]
    for row in range(len(x)):
        column = _cell(x[row], edges[0])
        line = _cell(y[row], edges[1])
        if column is not None and line is not None:
            counts[line][column][labels[row] if labels[row] >= 0 else n_clusters] += 1
    return counts


def _cell(value: float, edges: list[float]) -> int | None:
    for k in range(len(edges) - 1):
        if edges[k] <= value < edges[k + 1] or (k == len(edges) - 2 and value == edges[-1]):
            return k
    return None


def pairs_within(distances: Any, labels: list[int], edges: list[float]) -> tuple[list[int], list[int]]:
    """Return the pairs in each bin (lower edge out, upper edge in), and those within a cluster."""
    pairs = [0] * (len(edges) - 1)
    within = [0] * (len(edges) - 1)
    for i in range(len(labels)):
        for j in range(i):
            for k in range(len(edges) - 1):
                if edges[k] < distances[i][j] <= edges[k + 1] or (k == 0 and distances[i][j] == edges[0]):
                    pairs[k] += 1
                    within[k] += labels[i] == labels[j] >= 0
    return pairs, within


def wide_stretches(shares: list[list[float]], least: int, own_share: float) -> list[tuple[int, int, int]]:
    """Return cluster, first column and end of the stretches that one cluster, not noise, has for itself, the widest first."""
    found = []
    for cluster in range(len(shares[0]) - 1):
        column = 0
        while column < len(shares):
            end = column
            while end < len(shares) and shares[end][cluster] >= own_share:
                end += 1
            if end - column >= least:
                found.append((cluster, column, end))
            column = max(end, column + 1)
    return sorted(found, key=lambda stretch: (stretch[1] - stretch[2], stretch[1]))


def densest_cell(counts: list[list[list[int]]], cluster: int) -> tuple[int, int]:
    """Return the row and the column of the cell with most of a cluster, its rows counting by their share of the cell."""
    best = (-1.0, 0, 0)
    for row, line in enumerate(counts):
        for column, cell in enumerate(line):
            weight = cell[cluster] * cell[cluster] / max(sum(cell), 1)
            if weight > best[0]:
                best = (weight, row, column)
    return best[1:]


def count_flows(one: list[int], two: list[int], sizes: tuple[int, int]) -> list[list[int]]:
    """Return how many rows are in each pair of clusters, noise last."""
    table = [[0] * (sizes[1] + 1) for _ in range(sizes[0] + 1)]
    for left, right in zip(one, two, strict=True):
        table[left if left >= 0 else sizes[0]][right if right >= 0 else sizes[1]] += 1
    return table


def column_heights(heights: list[float], labels: list[int], edges: list[int]) -> list[tuple[float, float, int]]:
    """Return mean, largest and most frequent label of each column; of labels that are as frequent the least."""
    columns = []
    for begin, end in pairwise(edges):
        own = labels[begin:end]
        common = min(set(own), key=lambda label: (-own.count(label), label))
        columns.append((sum(heights[begin:end]) / (end - begin), max(heights[begin:end]), common))
    return columns


def rows_in_branch(merges: list[tuple[int, int, float]], n_rows: int, branch: int, loss: float) -> list[int]:
    """Return the rows that are in a branch of a condensed tree at a loss; ``merges`` are parent, child and density."""
    rows = []
    for parent, child, density in merges:
        if parent != branch:
            continue
        if child >= n_rows:
            rows += rows_in_branch(merges, n_rows, child, float("inf"))
        elif density == 0 or 1 / density <= loss:
            rows.append(child)
    return rows
