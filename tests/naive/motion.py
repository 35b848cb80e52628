"""Features of motion, segments and merges in plain loops."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np


def motion_features(x, innovations, starts, filters, lags, order):
    """Features (T, F) of each step; ``filters`` are tuples of taps, dilation, mixture and threshold."""
    channels, steps = x.shape
    rows = []
    for t in range(steps):
        piece = max(p for p in range(len(starts) - 1) if starts[p] <= t)
        first, last = starts[piece], starts[piece + 1] - 1
        row = []
        for taps, dilation, mixture, threshold in filters:
            given = 0.0
            for k, tap in enumerate(taps):
                at = min(max(t + (k - len(taps) // 2) * dilation, first), last)
                given += tap * sum(mixture[a] * x[a, at] for a in range(channels))
            row.append(float(given > threshold))
        for lag in lags:
            begin = t - lag // 2
            inside = first <= begin and begin + lag <= last
            row += [x[a, begin] * x[a, begin + lag] if inside else 0.0 for a in range(channels)]
        for lag in range(1, order + 1):
            for a in range(channels):
                for b in range(channels):
                    row.append(x[a, t - lag] * innovations[b, t] if t - lag >= first else 0.0)
        row += [innovations[a, t] ** 2 for a in range(channels)]
        rows.append(row)
    return np.array(rows)


def evidence(blocks, ratios):
    """Log evidence of one mean for blocks (n, J), over that of a mean of zero."""
    total = 0.0
    for j, ratio in enumerate(ratios):
        n, s = len(blocks), sum(block[j] for block in blocks)
        total += ratio * s * s / (2 * (1 + n * ratio)) - math.log(1 + n * ratio) / 2
    return total


def best_segmentation(blocks, ratios, pieces, cost, shortest):
    """The best evidence of all segmentations, less the cost of changes, by trying each."""
    count = len(blocks)
    best = -math.inf
    for mask in range(2 ** (count - 1)):
        cuts = [0, *(b for b in range(1, count) if mask >> (b - 1) & 1), count]
        if any(pieces[b] != pieces[b - 1] and b not in cuts for b in range(1, count)):
            continue
        total = 0.0
        for i, j in pairwise(cuts):
            alone = (i == 0 or pieces[i] != pieces[i - 1]) and (j == count or pieces[j] != pieces[j - 1])
            if j - i < shortest and not alone:
                total = -math.inf
            total += evidence(blocks[i:j], ratios)
            total -= cost if i and pieces[i] == pieces[i - 1] else 0.0
        best = max(best, total)
    return best


def merge_path(counts, sums, ratios):
    """Pairs that are merged, the second into the first, each time those that lose least."""
    groups = {k: (counts[k], np.array(sums[k])) for k in range(len(counts))}

    def value(n, s):
        return sum(g * s[j] ** 2 / (2 * (1 + n * g)) - math.log(1 + n * g) / 2 for j, g in enumerate(ratios))

    merges = []
    while len(groups) > 1:
        names = sorted(groups)
        pairs = [(b, a) for a in names for b in names if b < a]
        lost = {
            (b, a): value(groups[a][0] + groups[b][0], groups[a][1] + groups[b][1])
            - value(*groups[a])
            - value(*groups[b])
            for b, a in pairs
        }
        b, a = max(pairs, key=lambda pair: lost[pair])
        merges.append((b, a))
        groups[b] = (groups[a][0] + groups[b][0], groups[a][1] + groups[b][1])
        del groups[a]
    return merges
