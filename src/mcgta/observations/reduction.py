"""A subspace of many features, in which neighbourhoods differ: what local models and the search work on beyond 40 features.

Principal components hold what varies most, which need not be what tells clusters apart. Here directions are found by how much
the means, and the covariances, of neighbourhoods vary in position (sliced average variance estimation, Cook and Weisberg
1991, with neighbourhoods as slices). Features are whitened first, so that directions of little variance count as much as
others.

Each neighbourhood is cut into two halves. Sampling noise of one is independent of that of the other, so products of their
means, and of the deviations of their covariances, average to zero but for what the two have in common. A direction is taken
where its eigenvalue stands out of the bulk of all directions, by more than the same rows at shuffled positions show.
Leading principal components, and the directions that come nearest to standing out, fill up to ``MIN_COMPONENTS``: clusters
that have little to do with position may show in these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from mcgta.positions.positions import Positions
from mcgta.runtime.archive import Archived
from mcgta.runtime.parallel import tiles
from mcgta.runtime.progress import note, stage
from mcgta.runtime.types import Array, Index
from mcgta.stages.units import feature_spreads

MAX_UNREDUCED_FEATURES = 40
"""Features up to which "auto" leaves them as they are."""

MAX_COMPONENTS = 16
"""The most components that "auto" takes."""

MIN_COMPONENTS = 8
"""The least that it takes, where there are as many."""

HALF_ROWS = (10, 30)
"""Rows of half a neighbourhood: one size for short stretches, one for covariances."""

MAX_CENTERS = 1000
"""Neighbourhoods that are looked at."""

MAX_WHITENED = 256
"""Leading principal components that are whitened, where there are more."""

ROWS_A_DIRECTION = 10
"""Observations for each direction that is whitened."""

_STANDS_OUT = 1.1  # of what shuffled rows show
_MIN_NEW_SHARE = 0.3  # of a direction, outside those taken before
_MIN_VARIANCE_SHARE = 1e-10  # of the largest, below which a direction is rounding
_CENTERS_AT_A_TIME = 64
_BULK_QUANTILE = 0.1  # of eigenvalues, by which the width of their bulk is told


@dataclass(frozen=True, eq=False)
class Reduction(Archived):
    """Components of features: orthonormal directions, uncorrelated over the observations, of decreasing variance.

    Attributes
    ----------
    center : (d,) means of the features, divided by their spreads where these are standardised
    components : (k, d) the directions, in the same units
    loadings : (d, k) how much of each feature a unit of each component stands for, by regression
    variance_share : share of the features' variance, each standardised, that the components explain
    n_distinct : components in which neighbourhoods differ by more than chance; the others were added
    """

    center: Array
    components: Array
    loadings: Array
    variance_share: float
    n_distinct: int

    def __post_init__(self) -> None:
        k, d = self.components.shape if self.components.ndim == 2 else (0, 0)
        if not 0 < k <= d or self.center.shape != (d,) or self.loadings.shape != (d, k):
            raise ValueError("center, components and loadings of a reduction do not fit together")
        for name in ("center", "components", "loadings"):
            if getattr(self, name).dtype != np.float64 or not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} of a reduction must be finite numbers")
        if not 0 <= self.variance_share <= 1 or not 0 <= self.n_distinct <= k:
            raise ValueError("variance_share or n_distinct of a reduction is out of its bounds")

    def __len__(self) -> int:
        return int(self.components.shape[0])

    def __str__(self) -> str:
        k, d = self.components.shape
        return (
            f"{d} features reduced to {k} components, in {self.n_distinct} of which neighbourhoods differ by more than chance; "
            f"they explain {self.variance_share:.0%} of the features' variance"
        )

    def apply(self, X: Array) -> Array:
        """Return the components (N, k) of features (N, d); those of a row do not depend on other rows, to the last bit."""
        out = np.zeros((X.shape[0], len(self)))
        for column, middle, weights in zip(X.T, self.center, self.components.T, strict=True):
            out += (column - middle)[:, None] * weights
        return out

    def restore(self, components: Array) -> Array:
        """Return the features (N, d) that regression on components (N, k) expects, in the units of ``center``."""
        return self.center + components @ self.loadings.T


def count_components(d: int, n_components: int | str | None) -> int:
    """Return how many components there are at most of d features, or d where these stay as they are."""
    if n_components is None:
        return d
    if n_components == "auto":
        return d if d <= MAX_UNREDUCED_FEATURES else MAX_COMPONENTS
    return min(d, int(n_components))


def choose_reduction(
    X: Array, positions: Positions, n_components: int | str | None, *, spreads: Array | None, seed: int
) -> Reduction | None:
    """Find the components of features (N, d) at positions, in any order; None where features stay as they are.

    ``n_components`` is a number, None, or "auto", which reduces more than ``MAX_UNREDUCED_FEATURES``; ``spreads`` (d,) divide
    the features.
    """
    d = X.shape[1]
    if n_components is None or (n_components == "auto" and d <= MAX_UNREDUCED_FEATURES):
        return None
    if n_components != "auto" and int(n_components) > d:
        raise ValueError(f"n_components={n_components} but X has {d} features; n_components must not be larger")
    least = min(MIN_COMPONENTS, d) if n_components == "auto" else int(n_components)
    most = min(MAX_COMPONENTS, d) if n_components == "auto" else int(n_components)
    order = positions.order(X)
    scaled = X[order] if spreads is None else X[order] / spreads
    with stage("components"), threadpool_limits(limits=1):  # sums must not depend on threads
        reduction = find_components(scaled, positions.take(order), least, most, seed)
    note(str(reduction))
    return reduction


def find_components(X: Array, positions: Positions, least: int, most: int, seed: int) -> Reduction:
    """Find from ``least`` to ``most`` components of features at positions, both in canonical order."""
    center = X.mean(axis=0)
    spread = feature_spreads(X)
    standardized = (X - center) / spread
    whitening = _whiten(standardized)
    directions, n_distinct = _choose_directions(standardized @ whitening, positions, least, most, seed)
    axes = np.linalg.qr(whitening @ directions / spread[:, None])[0]
    # Within the subspace: uncorrelated, of decreasing variance, each with its largest weight positive.
    within = np.linalg.eigh(np.atleast_2d(np.cov((X - center) @ axes, rowvar=False)))
    components = (axes @ within.eigenvectors[:, ::-1]).T
    components *= np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])[:, None]
    values = (X - center) @ components.T
    loadings = (X - center).T @ values / (values**2).sum(axis=0)
    explained = (values @ loadings.T / spread).var(axis=0).sum()
    total = standardized.var(axis=0).sum()
    share = float(np.clip(explained / total, 0.0, 1.0)) if total > 0 else 0.0
    return Reduction(center, np.ascontiguousarray(components), loadings, share, n_distinct)


def _whiten(X: Array) -> Array:
    """Return the (d, r) map to leading principal components of X (N, d), each of unit variance, largest first."""
    count, d = X.shape
    most = max(1, min(d, count // ROWS_A_DIRECTION, MAX_WHITENED))
    if d <= count:
        variances, axes = np.linalg.eigh(X.T @ X / count)
    else:
        variances, rows = np.linalg.eigh(X @ X.T / count)
        axes = X.T @ rows
        axes /= np.maximum(np.linalg.norm(axes, axis=0), np.finfo(float).tiny)
    kept = np.flatnonzero(variances > _MIN_VARIANCE_SHARE * variances[-1])[::-1][:most]
    return axes[:, kept] / np.sqrt(variances[kept])


def _choose_directions(Z: Array, positions: Positions, least: int, most: int, seed: int) -> tuple[Array, int]:
    """Return orthonormal directions (r, k) of whitened features (N, r), and in how many of them neighbourhoods differ.

    Those that stand out go first, the clearest ahead; then those that come next take turns with leading principal components.
    """
    size = Z.shape[1]
    ranked = _rank_directions(Z, positions, seed)
    stand_out = ranked.prominences > 1
    distinct = _span(np.zeros((size, 0)), ranked.directions[:, stand_out], most)
    # Whitened features are ordered by the variance that they had, so each axis is a principal component.
    rest = ranked.directions[:, ~stand_out][:, :size]
    principal = np.eye(size)[:, : rest.shape[1]]
    turns = np.stack([rest, principal], axis=2).reshape(size, -1)
    chosen = _span(distinct, turns, least)
    lacking = max(0, min(least, size) - chosen.shape[1])
    beyond = np.linalg.svd(chosen, full_matrices=True)[0][:, chosen.shape[1] :][:, :lacking]
    return np.hstack([chosen, beyond]), int(distinct.shape[1])


def _span(chosen: Array, directions: Array, most: int) -> Array:
    """Return orthonormal directions with others added up to ``most``, but for those almost within the span of the rest."""
    for direction in directions.T:
        rest = direction - chosen @ (chosen.T @ direction)
        share = float(rest @ rest)
        if share > _MIN_NEW_SHARE and chosen.shape[1] < most:
            chosen = np.column_stack([chosen, rest / np.sqrt(share)])
    return chosen


class _Ranked(NamedTuple):
    """Directions (r, m), the most prominent first, and (m,) their prominence: above 1 where they stand out."""

    directions: Array
    prominences: Array


def _rank_directions(Z: Array, positions: Positions, seed: int) -> _Ranked:
    """Rank directions of whitened features (N, r) by how much means, and covariances, of neighbourhoods vary along them."""
    shuffled = Z[np.random.default_rng(seed).permutation(len(Z))]
    size = Z.shape[1]
    seen = np.zeros((2, size, size))
    by_chance = np.zeros((2, size, size))
    for half in HALF_ROWS:
        members = _members(positions, 2 * half)
        if not len(members):
            continue
        null = _variation(shuffled, members)
        width = np.array([max(np.ptp(np.linalg.eigvalsh(part)), np.finfo(float).tiny) for part in null])
        seen += _variation(Z, members) / width[:, None, None]
        by_chance += null / width[:, None, None]
    parts = [_prominence(one, other) for one, other in zip(seen, by_chance, strict=True)]
    prominences = np.concatenate([part.prominences for part in parts])
    order = np.argsort(-prominences, kind="stable")
    return _Ranked(np.hstack([part.directions for part in parts])[:, order], prominences[order])


def _prominence(variation: Array, by_chance: Array) -> _Ranked:
    """Return the eigenvectors of a matrix, and how far each eigenvalue is from their median, in units of what chance allows.

    Rows that depend on their neighbours make the bulk of eigenvalues wider than that of shuffled rows, so its width counts.
    """
    values, directions = np.linalg.eigh(variation)
    null = np.linalg.eigvalsh(by_chance)
    middle = float(np.median(values))
    null_middle = float(np.median(null))
    tiny = np.finfo(float).tiny
    wider = (middle - np.quantile(values, _BULK_QUANTILE)) / max(null_middle - np.quantile(null, _BULK_QUANTILE), tiny)
    reach = max(null[-1] - null_middle, null_middle - null[0], tiny)
    return _Ranked(directions, (values - middle) / (_STANDS_OUT * max(1.0, float(wider)) * reach))


def _variation(Z: Array, members: Index) -> Array:
    """Return (2, r, r): how means, and how covariances, of neighbourhoods vary, from products of their two halves."""
    size = Z.shape[1]
    half = members.shape[1] // 2
    means = np.zeros((size, size))
    covariances = np.zeros((size, size))
    pooled = np.zeros((size, size))
    for rows in members:
        one = Z[rows[:half]]
        two = Z[rows[half:]]
        means += np.outer(one.mean(axis=0), two.mean(axis=0))
        one = one - one.mean(axis=0)
        two = two - two.mean(axis=0)
        covariances += one.T @ ((one @ two.T) @ two)  # the product of both sums of squares
        pooled += one.T @ one + two.T @ two
    within = pooled / (2 * len(members) * (half - 1))
    found = np.stack([means / len(members), covariances / (len(members) * (half - 1) ** 2) - within @ within])
    return 0.5 * (found + found.transpose(0, 2, 1))


def _members(positions: Positions, size: int) -> Index:
    """Return (M, size) rows of neighbourhoods, ascending, evenly spread over the rows; none of groups with fewer."""
    count = len(positions)
    if size > count:
        return np.empty((0, size), dtype=np.intp)
    centers = np.unique(np.linspace(0, count - 1, min(count, MAX_CENTERS)).round().astype(np.intp))
    found = []
    for part in tiles(centers.size, _CENTERS_AT_A_TIME):
        distances = positions.between(centers[part], slice(None))
        rows = np.argpartition(distances, size - 1, axis=1)[:, :size]
        near = np.isfinite(np.take_along_axis(distances, rows, axis=1)).all(axis=1)
        found.append(np.sort(rows[near], axis=1))
    return np.concatenate(found)
