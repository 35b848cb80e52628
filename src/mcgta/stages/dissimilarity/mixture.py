"""The squared mixture Wasserstein distance of local mixtures, in the squared unit of the features.

Local models are mixtures over components that all share. They differ by the least cost of turning the shares of one into those
of the other, where moving a share costs W2 squared of the two components (Delon and Desolneux 2020). That is never less than W2
squared of two Gaussians with the moments of the mixtures (Gelbrich 1990).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from mcgta.kernels.gaussians import wasserstein
from mcgta.kernels.gaussians.mixture_transport import find_ground_costs, mixture_pairs, mixture_tile, round_shares
from mcgta.runtime.types import Array
from mcgta.stages.dissimilarity.dissimilarity import Compiled, Dissimilarity
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.model_parts import embedding_of
from mcgta.stages.local_models import LocalModels
from mcgta.stages.prior import MixturePrior

EPS_QUANTILE = 0.125
"""The radius of DBSCAN, as a quantile of what two samples of one mixture differ by."""

_SIMULATED_MIXTURES = 128
_SIMULATED_PAIRS = 8  # of each mixture


def _build(models: LocalModels, seed: int) -> Dissimilarity:
    if models.shares is None or models.prior is None:
        raise ValueError(
            f"dissimilarity={MIXTURE.name!r} compares local mixtures, but these local models are single Gaussians; fit them "
            "with fit_local_mixtures, or use dissimilarity='wasserstein2'"
        )
    ground = find_ground_costs(component_costs(models.prior))
    work = models.shares.shape[1] ** 3 + 10
    comparison = Compiled(partial(mixture_tile, ground), partial(mixture_pairs, ground), work)
    return Dissimilarity(MIXTURE.name, (round_shares(models.shares),), comparison, embedding_of(models))


def _suggested_eps(models: LocalModels, n_neighbors: int) -> float:
    """Return a low quantile of what two samples of n components, drawn with the shares of one model, differ by.

    How much that varies depends on the number of components, so a share of its mean would not do.
    """
    rows = np.flatnonzero(models.fitted)
    some = rows[np.linspace(0, rows.size - 1, min(_SIMULATED_MIXTURES, rows.size)).astype(np.int64)]
    assert models.shares is not None
    assert models.prior is not None
    rng = np.random.default_rng(0)
    given = round_shares(models.shares[some])[:, None, :]
    drawn = rng.multinomial(n_neighbors, given, size=(some.size, 2 * _SIMULATED_PAIRS)).reshape(-1, given.shape[2])
    pairs = np.arange(len(drawn)).reshape(-1, 2)
    ground = find_ground_costs(component_costs(models.prior))
    values = mixture_pairs(ground, round_shares(drawn / n_neighbors), pairs[:, 0], pairs[:, 1])
    return float(np.quantile(values, EPS_QUANTILE))


def component_costs(components: MixturePrior) -> Array:
    """Return (K, K) W2 squared between components, symmetric with a zero diagonal."""
    packed = wasserstein.pack(components.means, components.covariances)
    table = wasserstein.wasserstein2_tile(packed, packed)
    costs = np.minimum(table, table.T)
    np.fill_diagonal(costs, 0.0)
    return costs


MIXTURE = Kind("mixture", "models", _build, mixes=True, suggested_eps=_suggested_eps)
