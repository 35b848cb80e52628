"""What plots add up, the slow and obvious way."""

from __future__ import annotations

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
