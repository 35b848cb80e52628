"""The slow, obvious twin of tuning: a plain fit for every setting, and scikit-learn's score."""

from __future__ import annotations

import itertools

import numpy as np
from sklearn.metrics import adjusted_rand_score

from mcgta import MCGTA


def tune(X, y, positions, grid, splits):
    """Return, for each fold and then for all labels, the chosen setting, the score it is chosen by and the one held out.

    ``grid`` has plain parameters only, from the outermost to the innermost.
    """
    settings = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    found = [MCGTA(**setting).fit(X, positions=positions).labels_ for setting in settings]
    everything = np.arange(len(y))
    out = []
    for train, held in [*splits, (everything, everything)]:
        scores = [adjusted_rand_score(y[train], labels[train]) for labels in found]
        best = int(np.argmax(scores))  # of several the first
        out.append((settings[best], scores[best], adjusted_rand_score(y[held], found[best][held])))
    return out
