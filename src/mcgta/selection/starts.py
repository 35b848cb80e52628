"""Where the search begins: labellings with more clusters than there are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from mcgta.kernels.evidence.grow import grow
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Labels
from mcgta.selection.field import Field
from mcgta.selection.scoring import compact
from mcgta.stages.local_models import fit_local_models
from mcgta.stages.neighborhoods import find_neighborhoods

MANY = 20
"""Clusters of an over-segmentation."""

WINDOWS = (20, 30, 45)
"""Neighbours of the local models whose embedding is cut."""

CALM = 0.25
"""What densities count on calm paths, which take more observations to change a label."""

_FAR = 5.0  # robust standard deviations
_NEXT = 8  # neighbours that regions grow to


@dataclass(frozen=True, eq=False)
class Start:
    """A labelling to begin with, how it was made, and how far densities count on the paths that begin there along series."""

    name: str
    labels: Labels
    tempers: tuple[float, ...] = (1.0,)


def winsorize(field: Field) -> Array:
    """Return the features (N, d), those far off drawn in to ``_FAR`` robust standard deviations from the median."""
    middle = np.median(field.X, axis=1, keepdims=True)
    spread = 1.4826 * np.median(np.abs(field.X - middle), axis=1, keepdims=True)
    reach = np.where(spread > 0, _FAR * spread, np.inf)
    return native(np.clip(field.X, middle - reach, middle + reach).T)


def embed(X: Array, places: Positions, n_neighbors: int) -> Array:
    """Return (N, q) points whose distances are about those of the local models of X (N, d): means, and roots of covariances."""
    models = fit_local_models(X, find_neighborhoods(places, n_neighbors), covariance="empirical")
    fitted = np.flatnonzero(models.fitted)
    if fitted.size == 0:
        return X
    upper = np.triu_indices(X.shape[1])
    twice = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
    some = models.take(fitted)
    known = np.column_stack([some.means, some.roots[:, upper[0], upper[1]] * twice])
    points = np.tile(known.mean(axis=0), (len(X), 1))  # those without a model are in the middle
    points[fitted] = known
    return points


def cut_into(points: Array, number: int, seed: int) -> Labels:
    """Cut points into clusters by k-means."""
    distinct = np.unique(points, axis=0).shape[0] if len(points) < 10 * number else number
    # Sums by several threads would not always be the same; and that equal points leave clusters empty is no news.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(
            KMeans(min(number, distinct), n_init=1, random_state=seed).fit_predict(points), dtype=np.int64
        )


def regions(field: Field, points: Array, number: int) -> Labels:
    """Grow regions of neighbours that are alike, until so many are left."""
    listed = field.near[:, :_NEXT]
    row, place = np.nonzero(listed >= 0)
    found = np.empty(len(field), dtype=np.int64)
    grow(native(points), native(row, np.int64), native(listed[row, place], np.int64), number, found)
    return compact(found)


def make_starts(field: Field, places: Positions, seed: int, *, many: int = MANY) -> Iterator[Start]:
    """Yield labellings to begin with, of about ``many`` clusters."""
    count = len(field)
    X = winsorize(field)
    sizes = np.bincount(places.groups)
    piece = field.pieces(max(1, count // many))
    yield Start("position", compact(piece * many // max(many, int(piece.max()) + 1)))
    if sizes.size <= MANY:  # regions keep to their group
        yield Start("regions", regions(field, X, 2 * many))
    largest = int(np.median(np.repeat(sizes, sizes)))
    for number, wanted in enumerate(WINDOWS):
        n = max(2, min(wanted, largest // 3))
        points = embed(X, places, n)
        yield Start(f"models of {n}", cut_into(points, many, seed), ((1.0,), (1.0, CALM), (CALM,))[number])
        if number == 0 and sizes.size <= MANY:
            yield Start(f"regions of models of {n}", regions(field, points, many), (CALM,))
