"""Stage 3 as functions: the dissimilarity of models, or of features (lines 4-5 of Algorithm 1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.runtime.types import Array
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity
from mcgta.stages.dissimilarity.kind import Basis, Kind
from mcgta.stages.dissimilarity.registry import get_dissimilarity, names_where
from mcgta.stages.local_models import LocalModels

_ERROR_PAIRS = 256
_ERROR_SCRAMBLES = 8


def compare_models(models: LocalModels, kind: Any = "wasserstein2", *, random_state: int = 0) -> Dissimilarity:
    """Compare observations by their local models.

    Parameters
    ----------
    models : all of them fitted; for ``kl``, ``js`` and ``tv`` with non-singular covariances
    kind : ``wasserstein2`` squared Wasserstein-2 distance (squared unit of the features);
        ``calibrated`` the same over the mean of what two samples of either model would show, without a unit;
        ``mixture`` squared mixture Wasserstein distance of local mixtures (squared unit of the features), of models by
        :func:`mcgta.stages.fit_local_mixtures`;
        ``kl`` mean of the two Kullback-Leibler divergences (nats);
        ``js`` Jensen-Shannon divergence (nats, at most log 2) and ``tv`` total variation distance (at most 1), by
        quasi-Monte-Carlo on 512 scrambled Sobol points from either side; :func:`sampling_error` states the error;
        or a function ``f(a, b)`` of two Gaussians, which have a ``mean`` and a ``covariance``, that returns a number >= 0
    random_state : seed of the Sobol points
    """
    row = _comparing("models", kind)
    if models.failures:
        raise ValueError(
            f"{len(models.failures)} of {len(models)} models could not be fitted; compare those that were, with take"
        )
    return row.build(models, random_state)


def compare_features(X: Array, kind: Any = "euclidean") -> Dissimilarity:
    """Compare observations by their features.

    ``euclidean`` is the squared Euclidean distance: with it the generalised semivariogram is the classic one, summed
    over features, and W2 squared of models without spread. ``cosine`` is one minus the cosine of the angle.
    """
    row = _comparing("features", kind)
    features = np.asarray(X, dtype=np.float64)
    if features.ndim != 2 or not np.isfinite(features).all():
        raise ValueError(f"X must be a table of finite numbers, got shape {features.shape}")
    return row.build(features, 0)


def sampling_error(models: LocalModels | None, kind: Any, *, random_state: int = 0) -> float:
    """Typical (root mean square) error of ``js`` or ``tv``, from 8 independent scrambles on 256 pairs of models.

    The other dissimilarities are exact, with error 0.
    """
    row = get_dissimilarity(kind)
    if models is None or not row.sampled:
        return 0.0
    rng = np.random.default_rng(random_state)
    fitted = np.flatnonzero(models.fitted)
    i = rng.choice(fitted, _ERROR_PAIRS)
    j = rng.choice(fitted, _ERROR_PAIRS)
    chosen, where = np.unique(np.concatenate([i, j]), return_inverse=True)
    few = models.take(chosen)
    values = [
        row.build(few, random_state + 1 + k).of_pairs(where[:_ERROR_PAIRS], where[_ERROR_PAIRS:])
        for k in range(_ERROR_SCRAMBLES)
    ]
    return float(np.sqrt(np.var(values, axis=0, ddof=1).mean()))


def _comparing(basis: Basis, kind: Any) -> Kind:
    """Return the kind, which must compare what is given."""
    row = get_dissimilarity(kind)
    if row.compares != basis:
        raise ValueError(
            f"dissimilarity={row.name!r} compares {row.compares}, not {basis}, as {', '.join(names_where(compares=basis))} do"
        )
    return row
