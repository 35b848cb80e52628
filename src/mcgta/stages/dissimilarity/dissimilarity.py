"""Stage 3: how much two observations differ (lines 4-5 of Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from mcgta.kernels.gaussians import calibration, divergences, symmetric_kl, wasserstein
from mcgta.runtime.parallel import short_tile, symmetric_table, tiles
from mcgta.runtime.types import Array, Index
from mcgta.stages.local_models import LocalModels

Parts = tuple[Array, ...]

MODEL_BASED = ("wasserstein2", "calibrated", "kl", "js", "tv")
FEATURE_BASED = ("euclidean", "cosine")
DISSIMILARITIES = ("wasserstein2", "calibrated", "euclidean", "cosine", "kl", "js", "tv")
NEEDS_DEFINITE = ("kl", "js", "tv")
TRANSPORT = ("wasserstein2", "calibrated")
"""W2 squared, plain or in units of chance: what has bounds, and a known distribution for models of one Gaussian."""

_TILE = 128
_TILE_BYTES = 2**23
_POINTS = 512
_ERROR_PAIRS = 256
_ERROR_SCRAMBLES = 8


class Comparison(Protocol):
    """How observations are compared; ``parts`` are arrays with a row for each."""

    @property
    def size(self) -> int:
        """Numbers that one pair's comparison touches, about."""

    def table(self, left: Parts, right: Parts) -> Array:
        """Compare each row of ``left`` with each of ``right``."""

    def pairs(self, parts: Parts, i: Index, j: Index) -> Array:
        """Compare the rows i[k] and j[k]."""


@dataclass(frozen=True)
class Compiled:
    """A comparison by kernels: of the parts of both sides, and of the parts and two lists of rows.

    ``size`` is the numbers that one pair's comparison touches.
    """

    tile_kernel: Callable[..., Array]
    pairs_kernel: Callable[..., Array]
    size: int

    def table(self, left: Parts, right: Parts) -> Array:
        """Compare each row of ``left`` with each of ``right``."""
        return self.tile_kernel(*left, *right)

    def pairs(self, parts: Parts, i: Index, j: Index) -> Array:
        """Compare the rows i[k] and j[k]."""
        return self.pairs_kernel(*parts, i, j)


@dataclass(frozen=True)
class Broadcast:
    """A comparison by a NumPy function of the parts of both sides, in tiles that fit the cache.

    ``size`` is the numbers that one pair's comparison occupies.
    """

    function: Callable[..., Array]
    size: int

    @property
    def _tile(self) -> int:
        return int(max(8, np.sqrt(_TILE_BYTES / (8 * self.size))))

    def table(self, left: Parts, right: Parts) -> Array:
        """Compare each row of ``left`` with each of ``right``."""
        out = np.empty((left[0].shape[0], right[0].shape[0]))
        for i in tiles(out.shape[0], self._tile):
            for j in tiles(out.shape[1], self._tile):
                out[i, j] = self.function(*(part[i][:, None] for part in left), *(part[j][None, :] for part in right))
        return out

    def pairs(self, parts: Parts, i: Index, j: Index) -> Array:
        """Compare the rows i[k] and j[k]."""
        out = np.empty(i.shape[0])
        for part in tiles(i.shape[0], self._tile**2):
            out[part] = self.function(*(a[i[part]] for a in parts), *(a[j[part]] for a in parts))
        return out


@dataclass
class Dissimilarity:
    """A dissimilarity between any two of N observations, computed when asked for.

    Attributes
    ----------
    kind : one of ``DISSIMILARITIES``
    parts : arrays of N rows, what each observation is compared by
    comparison : how
    embedding : returns points (N, m) whose squared Euclidean distances, times ``embedding_scale``, go with the dissimilarities
    embedding_scale : see there
    exact_embedding : whether they are the dissimilarities
    cached : the whole table (N, N), once :meth:`matrix` has made it
    """

    kind: str
    parts: Parts
    comparison: Comparison
    embedding: Callable[[], Array]
    embedding_scale: float = 1.0
    exact_embedding: bool = False
    cached: Array | None = None

    def __len__(self) -> int:
        return int(self.parts[0].shape[0])

    @property
    def bounded(self) -> bool:
        """Whether there are bounds of it, for a tree over the models."""
        return self.kind in TRANSPORT

    def between(self, rows: Index | slice, cols: Index | slice) -> Array:
        """Dissimilarity of each of ``rows`` from each of ``cols``, as a table."""
        if self.cached is not None:
            return self.cached[rows][:, cols]
        return self.comparison.table(tuple(part[rows] for part in self.parts), tuple(part[cols] for part in self.parts))

    def of_pairs(self, i: Index, j: Index) -> Array:
        """Dissimilarity of each pair (i[k], j[k])."""
        if self.cached is not None:
            return self.cached[i, j]
        return self.comparison.pairs(self.parts, i, j)

    def matrix(self, *, tile: int = _TILE) -> Array:
        """Return the whole table, symmetric with a zero diagonal; each pair is compared once and the table is kept."""
        if self.cached is None:
            self.cached = symmetric_table(self.between, len(self), tile, name="dissimilarity")
        return self.cached


def compare_models(models: LocalModels, kind: str = "wasserstein2", *, random_state: int = 0) -> Dissimilarity:
    """Compare observations by their local models.

    Parameters
    ----------
    models : all of them fitted; for ``kl``, ``js`` and ``tv`` with non-singular covariances
    kind : ``wasserstein2`` squared Wasserstein-2 distance (squared unit of the features);
        ``calibrated`` the same over the mean of what two samples of either model would show, without a unit;
        ``kl`` mean of the two Kullback-Leibler divergences (nats);
        ``js`` Jensen-Shannon divergence (nats, at most log 2) and ``tv`` total variation distance (at most 1), by
        quasi-Monte-Carlo on 512 scrambled Sobol points from either side; :func:`sampling_error` states the error
    random_state : seed of the Sobol points
    """
    if models.failures:
        raise ValueError(
            f"{len(models.failures)} of {len(models)} models could not be fitted; compare those that were, with take"
        )
    d = models.means.shape[1]
    embedding = partial(_embed, models.means, models.covariances)
    if kind == "wasserstein2":
        packed = _by_parts(wasserstein.pack, models.means, models.covariances)
        compiled = Compiled(wasserstein.wasserstein2_tile, wasserstein.wasserstein2_pairs, d**3 + 10)
        return Dissimilarity(kind, (packed,), compiled, partial(_by_parts, wasserstein.embed, packed))
    if kind == "calibrated":
        packed = _by_parts(wasserstein.pack, models.means, models.covariances)
        compiled = Compiled(calibration.calibrated_tile, calibration.calibrated_pairs, d**3 + 10)
        points, unit = partial(_by_parts, wasserstein.embed, packed), float(np.median(models.chance))
        # The points of W go with T less closely, as far as models differ in scale; larger samples make up for that.
        return Dissimilarity(kind, (packed, models.chance / 2), compiled, points, 1 / unit if unit > 0 else 1.0)
    if kind == "kl":
        packed = _by_parts(symmetric_kl.pack, models.means, _definite(models, kind))
        compiled = Compiled(symmetric_kl.symmetric_kl_tile, symmetric_kl.symmetric_kl_pairs, d**3 + 10)
        return Dissimilarity(kind, (packed,), compiled, embedding)
    if kind in ("js", "tv"):
        factors = _by_parts(np.linalg.cholesky, _definite(models, kind))
        inverses = _by_parts(np.linalg.inv, factors)
        compare = _sampled(kind, divergences.normal_points(_POINTS, d, random_state))
        return Dissimilarity(kind, (models.means, factors, inverses), Broadcast(compare, 4 * d * _POINTS), embedding)
    raise ValueError(f"dissimilarity={kind!r} is not one of {', '.join(MODEL_BASED)}")


def _embed(means: Array, covs: Array) -> Array:
    return _by_parts(lambda *part: wasserstein.embed(wasserstein.pack(*part)), means, covs)


def _by_parts(function: Callable[..., Array], *arrays: Array) -> Array:
    """Apply a function of rows to some at a time, so that none of its calls takes long."""
    count = arrays[0].shape[0]
    d = arrays[-1].shape[-1] if arrays[-1].ndim == 3 else wasserstein.features_of(arrays[-1])
    parts = tiles(count, short_tile(d))
    if len(parts) <= 1:
        return function(*arrays)
    first = function(*(array[parts[0]] for array in arrays))
    out = np.empty((count, *first.shape[1:]))
    out[parts[0]] = first
    for part in parts[1:]:
        out[part] = function(*(array[part] for array in arrays))
    return out


def _definite(models: LocalModels, kind: str) -> Array:
    singular = len(models.require_definite(kind).failures)
    if singular:
        raise ValueError(f"{singular} of {len(models)} local covariances are singular, which {kind!r} cannot compare")
    return models.covariances


def compare_features(X: Array, kind: str = "euclidean") -> Dissimilarity:
    """Compare observations by their features.

    ``euclidean`` is the squared Euclidean distance: with it the generalised semivariogram is the classic one, summed
    over features, and W2 squared of models without spread. ``cosine`` is one minus the cosine of the angle.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError(f"X must be a table of finite numbers, got shape {X.shape}")
    if incomparable(X, kind):
        raise ValueError("X has rows of zeros, which have no angle to others; leave them out")
    if kind == "euclidean":
        compare = Broadcast(_squared_euclidean, X.shape[1])
        return Dissimilarity(kind, (X,), compare, partial(np.asarray, X), 1.0, exact_embedding=True)
    if kind == "cosine":
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        compare = Broadcast(_cosine, X.shape[1])
        return Dissimilarity(kind, (unit,), compare, partial(np.asarray, unit), 0.5, exact_embedding=True)
    raise ValueError(f"dissimilarity={kind!r} is not one of {', '.join(FEATURE_BASED)}")


def incomparable(X: Array, kind: str) -> dict[int, str]:
    """Return the rows that a dissimilarity of features cannot compare, with the reason."""
    if kind != "cosine":
        return {}
    zero = np.flatnonzero(~np.any(X, axis=1)).tolist()
    return dict.fromkeys(zero, "its features are all zero, so it has no angle to others")


def sampling_error(models: LocalModels | None, kind: str, *, random_state: int = 0) -> float:
    """Typical (root mean square) error of ``js`` or ``tv``, from 8 independent scrambles on 256 pairs of models.

    The other dissimilarities are exact, with error 0.
    """
    if models is None or kind not in ("js", "tv"):
        return 0.0
    rng = np.random.default_rng(random_state)
    rows = np.flatnonzero(models.fitted)
    i, j = rng.choice(rows, _ERROR_PAIRS), rng.choice(rows, _ERROR_PAIRS)
    chosen, where = np.unique(np.concatenate([i, j]), return_inverse=True)
    few = models.take(chosen)
    values = [
        compare_models(few, kind, random_state=random_state + 1 + k).of_pairs(
            where[:_ERROR_PAIRS], where[_ERROR_PAIRS:]
        )
        for k in range(_ERROR_SCRAMBLES)
    ]
    return float(np.sqrt(np.var(values, axis=0, ddof=1).mean()))


def _sampled(kind: str, points: Array) -> Callable[..., Array]:
    combine = divergences.jensen_shannon if kind == "js" else divergences.total_variation

    def compare(
        mean_a: Array, factor_a: Array, inverse_a: Array, mean_b: Array, factor_b: Array, inverse_b: Array
    ) -> Array:
        return combine(
            divergences.log_ratio(mean_a, factor_a, mean_b, inverse_b, points),
            divergences.log_ratio(mean_b, factor_b, mean_a, inverse_a, points),
        )

    return compare


def _squared_euclidean(a: Array, b: Array) -> Array:
    return np.asarray(((a - b) ** 2).sum(axis=-1), dtype=np.float64)


def _cosine(a: Array, b: Array) -> Array:
    return np.clip(1 - (a * b).sum(axis=-1), 0.0, 2.0)
