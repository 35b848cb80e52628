"""W2 squared in units of what chance makes of it: T = W / ((c_i + c_j) / 2).

c is the W2 squared to be expected of two samples of one model (:func:`mcgta.kernels.wasserstein.null_expectation`). Rounding of
the features makes models differ too, so c is not taken to be less than that: models without any spread have a c as well, unless
their means are zero.
"""

from __future__ import annotations

import numpy as np

from mcgta.kernels.wasserstein import null_expectation
from mcgta.types import Array

_ROUNDING = 64 * np.finfo(float).eps  # of a mean, by which those of equal observations may differ


def chance(means: Array, covs: Array, sizes: Array) -> Array:
    """Return c (N,) of models: means (N, d) and covariances (N, d, d) of samples of ``sizes`` (N,) observations."""
    rounding = (_ROUNDING**2) * np.einsum("nk,nk->n", means, means)
    return np.maximum(null_expectation(covs, sizes), rounding)
