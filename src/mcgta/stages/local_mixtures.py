"""Stage 2 with mixtures: each observation's model is a mixture over components that all observations share.

The components are Gaussians found without positions (:func:`mcgta.stages.prior.fit_shared_components`); what differs from place
to place is their shares. This is the paper's way to models that are not Gaussian.
"""

from __future__ import annotations

import numpy as np

from mcgta.runtime.parallel import tiles
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array
from mcgta.stages.local_models import LocalModels, check_members, find_lonely
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows
from mcgta.stages.prior import MixturePrior

_TILE_NUMBERS = 2**20  # of a gathered table


def fit_local_mixtures(X: Array, neighborhoods: Neighborhoods | TimeWindows, components: MixturePrior) -> LocalModels:
    """Find the shares of the components in each neighbourhood.

    A share is the weighted mean of its members' responsibilities: the posterior probabilities of the components given the
    features. Means and covariances are the moments of the mixtures.

    Parameters
    ----------
    X : (N, d) features
    neighborhoods : whose members' responsibilities are averaged
    components : of all mixtures

    Returns
    -------
    LocalModels
        with ``shares``; a model that cannot be fitted is NaN and its reason recorded
    """
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError(f"X must be a table of finite numbers, got shape {X.shape}")
    if X.shape[1] != components.means.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but components have {components.means.shape[1]}")
    check_members(neighborhoods, X.shape[0])
    responsibilities = components.responsibilities(X)
    count = len(neighborhoods)
    d = X.shape[1]
    shares = np.empty((count, components.shares.size))
    means = np.empty((count, d))
    covariances = np.empty((count, d, d))
    rows_at_once = max(1, _TILE_NUMBERS // (shares.shape[1] * max(neighborhoods.n_neighbors, d * d)))
    with stage("local models", count) as advance:
        for part in tiles(count, rows_at_once):
            members, weights = neighborhoods.part(part)
            near = responsibilities[np.maximum(members, 0)]
            shares[part] = np.einsum("bn,bnk->bk", weights, near)
            shares[part] /= shares[part].sum(axis=1, keepdims=True)
            means[part], covariances[part] = components.moments(shares[part])
            advance(part.stop - part.start)
    failures = find_lonely(neighborhoods)
    rows = list(failures)
    for values in (shares, means, covariances):
        values[rows] = np.nan
    return LocalModels(means, covariances, failures, components, neighborhoods.sizes, shares)
