"""Models of regions by which new observations are placed: kinds, and the shares of kinds in each region."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.composition.kinds import kind_log_densities
from mcgta.selection.families.family import FamilyModels
from mcgta.selection.scoring.feature_scale import Scale
from mcgta.selection.scoring.scored_labelling import Gaussians


@dataclass(frozen=True, eq=False)
class CompositionModels(FamilyModels):
    """K regions, each with its own shares of M kinds.

    Attributes
    ----------
    columns, centers, spreads : (d,) the features that are used, and what is subtracted from and what divides them
    kind_means : (M, d) of scaled features
    inverse_factors : (M, d, d) inverse Cholesky factors of the kinds' covariances
    log_roots : (M,) half the log determinants of these covariances
    shares : (K, M) of kinds in each region
    log_shares : (K,) logs of the regions' shares of all observations
    change_cost : nats of a change of label along time
    agreement : weight of the share of neighbours with the same label, elsewhere
    n_features : of the observations
    overdispersion : how many observations count as one
    reach : 0, as rows are independent given their regions
    """

    columns: Index
    centers: Array
    spreads: Array
    kind_means: Array
    inverse_factors: Array
    log_roots: Array
    shares: Array
    log_shares: Array
    change_cost: float
    agreement: float
    n_features: int
    overdispersion: float = 1.0
    reach: int = 0

    def __post_init__(self) -> None:
        size, d = self.kind_means.shape
        if self.inverse_factors.shape != (size, d, d) or self.log_roots.shape != (size,):
            raise ValueError("kind_means, inverse_factors and log_roots disagree on the number of kinds or features")
        if not self.columns.shape == self.centers.shape == self.spreads.shape == (d,):
            raise ValueError("columns, centers and spreads must have an entry for each feature that is used")
        if self.shares.ndim != 2 or self.shares.shape != (self.log_shares.size, size):
            raise ValueError("shares must have a row for each region and a column for each kind")
        if not (self.shares > 0).all():
            raise ValueError("shares must be more than 0")
        if not self.overdispersion >= 1:
            raise ValueError(f"overdispersion={self.overdispersion} must be 1 or more")
        for name in ("kind_means", "inverse_factors", "log_roots", "shares", "log_shares", "spreads", "centers"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} must be finite")

    def __len__(self) -> int:
        return int(self.shares.shape[0])

    @property
    def kind_shares(self) -> Array:
        """(K, M) shares of kinds in each region."""
        return self.shares

    def kinds(self, features: Array, labels: Labels) -> Labels:
        """Return the (N,) most probable kinds of observations, given the regions that they are in; -1 is no region."""
        shares = np.vstack([self.shares, np.exp(self.log_shares) @ self.shares])
        return np.asarray((self.kind_log_densities(features) + np.log(shares[labels])).argmax(axis=1), dtype=np.int64)

    @cached_property
    def scale(self) -> Scale:
        """Scale of features, by which other observations are prepared alike."""
        return Scale(self.columns, self.centers, self.spreads)

    @cached_property
    def gaussians(self) -> Gaussians:
        """Means and covariances of the kinds; arrays out of a file may be read-only, which kernels refuse."""
        return Gaussians(native(self.kind_means), native(self.inverse_factors), native(self.log_roots))

    def renumbered(self, rank: Index) -> CompositionModels:
        """Return the same with other numbers for the regions: ``rank`` (K,) is the new one of each."""
        order = np.argsort(rank)
        return replace(self, shares=self.shares[order], log_shares=self.log_shares[order])

    def kind_log_densities(self, features: Array) -> Array:
        """Return the (N, M) log densities of observations (N, D) in each kind, in the unit of scaled features."""
        return kind_log_densities(self.scale.apply(features), self.gaussians)

    def row_log_densities(self, features: Array, places: Positions) -> Array:
        """Return the (N, K) log densities of observations in each region, mixtures of kinds; position has no part."""
        if len(features) != len(places):
            raise ValueError(f"features has {len(features)} rows, and there are {len(places)} places")
        densities = self.kind_log_densities(features)
        top = densities.max(axis=1, keepdims=True)
        mixed = np.log(np.maximum(np.exp(densities - top) @ self.shares.T, np.finfo(float).tiny)) + top
        return np.asarray(mixed / self.overdispersion)
