"""Units of features: what they are divided by before anything is compared.

The evidence of a labelling does not depend on units: it is about features divided by their standard deviations
(:class:`mcgta.selection.scoring.feature_scale.Scale`). Local models and the loss have units: W2 squared is in squared units of
the features, which therefore have to share one. Features whose standard deviations differ more than tenfold are taken not
to; each is then divided by its own, as for the evidence, and the penalty of the graphical lasso, the margin and the
radius mean the same for all. Otherwise features are left as they are, since what is larger, such as the first of
several principal components, may well count for more.
"""

from __future__ import annotations

import numpy as np

from mcgta.runtime.types import Array

MAX_SPREAD_RATIO = 10.0
"""Largest over smallest standard deviation of features that are taken to share a unit."""


def feature_spreads(X: Array) -> Array:
    """Return the (d,) standard deviations of features (N, d); 1 for a constant one."""
    # In two steps, since squares of large numbers could overflow.
    size = np.abs(X).max(axis=0)
    scale = np.where(size > 0, size, 1.0)
    spreads = (X / scale).std(axis=0) * scale
    return np.where(spreads > 0, spreads, 1.0)


def choose_spreads(X: Array, standardize: bool | str) -> Array | None:
    """Return what features (N, d) are divided by; None where they are left as they are.

    ``standardize`` is True, False, or "auto" where the features decide.
    """
    if standardize is False:
        return None
    spreads = feature_spreads(X)
    varying = spreads[np.ptp(X, axis=0) > 0]
    if standardize is True or (varying.size and varying.max() > MAX_SPREAD_RATIO * varying.min()):
        return spreads
    return None
