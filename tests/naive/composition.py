"""Slow and obvious twins of the kernels for regions that are mixtures of kinds."""

import itertools
import math

import numpy as np


def log_probability_of_series(worth, first, change):
    """Sum over every labelling of a short series, row by row; return the log of the probability of all rows."""
    rows, size = worth.shape
    total = 0.0
    for labels in itertools.product(range(size), repeat=rows):
        probability = 1.0
        for t, label in enumerate(labels):
            if t == 0 or first[t]:
                probability *= 1.0 / size
            elif size > 1:
                probability *= 1.0 - change if label == labels[t - 1] else change / (size - 1)
            probability *= math.exp(worth[t, label])
        total += probability
    return math.log(total)


def region_log_densities(densities, shares):
    """Return the (N, K) logs of mixtures with given shares (K, M) of densities (N, M)."""
    out = np.empty((len(densities), len(shares)))
    for i, row in enumerate(densities):
        for k, own in enumerate(shares):
            out[i, k] = math.log(sum(share * density for share, density in zip(own, row, strict=True)))
    return out
