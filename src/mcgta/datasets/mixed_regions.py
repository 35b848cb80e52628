"""Maps and series whose regions are mixtures: kinds of observations are shared, and each region has its own shares of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import pdist

from mcgta.datasets.covariances import rotate
from mcgta.datasets.knobs import check_knobs
from mcgta.datasets.sample import CHUNK, Rows, Sample, gather
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array, Index

_PATCHES_PER_REGION = 3
_WAVE_HEIGHT = 0.15  # of the borders of layers, in sides of the square
_WAVE_NUMBER = 3.0  # radians per side
_HEIGHTS = 4096  # places that tell how high a share of all places reaches

KindRows: TypeAlias = tuple[Array, Array, Index, Index]
"""Features, positions, labels and kinds of some rows."""


@dataclass(frozen=True, eq=False)
class MixedSample(Sample):
    """Observations with known regions, and the kinds that they are made of.

    Attributes
    ----------
    X, positions, labels, covariances : those of :class:`Sample`, for regions
    kinds : (N,) kind of each observation
    shares : (K, M) shares of the M kinds in each region
    """

    kinds: Index
    shares: Array


class Kinds(NamedTuple):
    """M kinds, and their shares in each of K regions.

    Attributes
    ----------
    means : (M, d)
    factors : (M, d, d) Cholesky factors of the covariances
    near_shares, far_shares : (K, M) shares at one side of the square and at the other; the same without a gradient
    """

    means: Array
    factors: Array
    near_shares: Array
    far_shares: Array

    @property
    def shares(self) -> Array:
        """(K, M) shares in each region as a whole."""
        return np.asarray(0.5 * (self.near_shares + self.far_shares))

    @property
    def region_covariances(self) -> Array:
        """(K, d, d) covariances of the regions."""
        inside = self.factors @ np.swapaxes(self.factors, 1, 2)
        second = inside + self.means[:, :, None] * self.means[:, None, :]
        centres = self.shares @ self.means
        return np.asarray(np.tensordot(self.shares, second, axes=1) - centres[:, :, None] * centres[:, None, :])


@dataclass(frozen=True)
class MixedRegionsRecipe:
    """The knobs of :func:`make_mixed_regions`, checked."""

    n_samples: int = 2000
    n_clusters: int = 5
    n_kinds: int = 6
    n_features: int = 8
    layout: str = "layers"
    concentration: float = 0.5
    size_concentration: float = 6.0
    separation: float = 5.0
    log_scale: float = 0.5
    shift: float = 0.0
    tails: float | None = None
    gradient: bool = False
    segment_lengths: tuple[int, int] = (80, 240)
    random_state: Any = 0

    def __post_init__(self) -> None:
        check_value("n_samples", self.n_samples, Rule(integer=(1, INF)))
        check_knobs({name: getattr(self, name) for name in self.__dataclass_fields__})

    @property
    def n_regions(self) -> int:
        """K, of regions that differ."""
        return 1 if self.gradient or self.n_kinds == 1 else self.n_clusters

    def begin(self) -> tuple[Array, Iterator[Rows]]:
        """Return the regions' covariances, and the rows in pieces."""
        kinds, pieces = self.begin_with_kinds()
        return kinds.region_covariances, ((X, positions, labels) for X, positions, labels, _ in pieces)

    def begin_with_kinds(self) -> tuple[Kinds, Iterator[KindRows]]:
        """Return the kinds, and the rows in pieces, each row with its kind."""
        rng = np.random.default_rng(self.random_state)
        kinds = self._draw_kinds(rng)
        return kinds, self._draw_rows(kinds, rng)

    def _draw_kinds(self, rng: np.random.Generator) -> Kinds:
        means = rng.normal(size=(self.n_kinds, self.n_features))
        if self.n_kinds > 1:
            means *= self.separation / np.median(pdist(means))
        scales = np.exp(rng.uniform(-self.log_scale, self.log_scale, (self.n_kinds, self.n_features)))
        factors = np.array([np.linalg.cholesky(rotate(values, rng)) for values in scales])
        shares = rng.dirichlet(np.full(self.n_kinds, self.concentration), size=2 if self.gradient else self.n_regions)
        if self.gradient:
            return Kinds(means, factors, shares[:1], shares[1:])
        return Kinds(means, factors, shares, shares)

    def _draw_rows(self, kinds: Kinds, rng: np.random.Generator) -> Iterator[KindRows]:
        shifts = self.shift * rng.normal(size=(self.n_regions, self.n_features))
        pieces = self._draw_segments(rng) if self.layout == "series" else self._draw_places(rng)
        for positions, labels in pieces:
            way = self._way(positions)[:, None]
            shares = (1.0 - way) * kinds.near_shares[labels] + way * kinds.far_shares[labels]
            below = shares.cumsum(axis=1) < rng.uniform(size=(labels.size, 1))
            own = np.minimum(below.sum(axis=1), self.n_kinds - 1)
            noise = rng.normal(size=(labels.size, self.n_features))
            if self.tails is not None:
                # A multivariate t with the covariance of the Gaussian that it takes the place of.
                noise *= np.sqrt((self.tails - 2.0) / rng.chisquare(self.tails, (labels.size, 1)))
            X = kinds.means[own] + shifts[labels] + np.einsum("nij,nj->ni", kinds.factors[own], noise)
            yield X, positions, labels, own

    def _way(self, positions: Array) -> Array:
        """Return how far each row is on the way from one side, or from the beginning, to the other: from 0 to 1."""
        return positions / self.n_samples if self.layout == "series" else positions[:, 0]

    def _draw_places(self, rng: np.random.Generator) -> Iterator[tuple[Array, Index]]:
        """Yield places in a square of side 1, and their regions."""
        size = self.n_regions
        phase = rng.uniform(0.0, 2.0 * np.pi)
        tops = rng.dirichlet(np.full(size, self.size_concentration)).cumsum()[:-1]
        cuts = np.quantile(_height(rng.uniform(size=(_HEIGHTS, 2)), phase), tops)
        centres = KDTree(rng.uniform(size=(_PATCHES_PER_REGION * size, 2)))
        for first in range(0, self.n_samples, CHUNK):
            places = rng.uniform(size=(min(CHUNK, self.n_samples - first), 2))
            if self.layout == "layers":
                labels = np.searchsorted(cuts, _height(places, phase))
            else:
                labels = centres.query(places)[1] % size
            yield places, labels.astype(np.int64)

    def _draw_segments(self, rng: np.random.Generator) -> Iterator[tuple[Array, Index]]:
        """Yield time steps, segment after segment, and their regions: each in its turn, in a new random order every time."""
        done = 0
        waiting: list[int] = []
        label = -1
        while done < self.n_samples:
            if not waiting:
                waiting = rng.permutation(self.n_regions).tolist()
                if waiting[0] == label:  # a segment ends where another region begins
                    waiting.reverse()
            label = waiting.pop(0)
            length = int(rng.integers(self.segment_lengths[0], self.segment_lengths[1] + 1))
            length = min(length, self.n_samples - done)
            yield np.arange(done + 1.0, done + length + 1.0), np.full(length, label, dtype=np.int64)
            done += length


def make_mixed_regions(
    n_samples: int = 2000,
    *,
    n_clusters: int = 5,
    n_kinds: int = 6,
    n_features: int = 8,
    layout: str = "layers",
    concentration: float = 0.5,
    size_concentration: float = 6.0,
    separation: float = 5.0,
    log_scale: float = 0.5,
    shift: float = 0.0,
    tails: float | None = None,
    gradient: bool = False,
    segment_lengths: tuple[int, int] = (80, 240),
    random_state: Any = 0,
) -> MixedSample:
    """Make a map, or a series, of regions that differ only in their shares of a few kinds.

    A kind is a Gaussian. An observation of a region is of a kind drawn by the region's shares, so that neighbours are of
    different kinds, as cells of a tissue or houses of a town are. There is one region only where ``n_clusters`` or ``n_kinds``
    is 1, and with ``gradient``.

    Parameters
    ----------
    n_samples : number of observations
    n_clusters : K regions
    n_kinds : M kinds
    layout : "layers" with wavy borders, or "patches", three cells a region, both in a square of side 1; "series" for segments
        along time
    concentration : of the Dirichlet distribution of a region's shares; the larger, the more alike regions are
    size_concentration : of the Dirichlet distribution of the sizes of layers; the larger, the more alike they are
    separation : median distance between the means of kinds, whose standard deviations are about 1; the smaller, the more
        they overlap
    log_scale : logarithms of the eigenvalues of the kinds' covariances are uniform between minus this and this; at most 12
    shift : standard deviation of what each region adds to the means of its kinds
    tails : degrees of freedom, more than 2, of the multivariate t distribution of kinds, which keep their covariance; None is
        the Gaussian
    gradient : whether shares change steadily from one side to the other, or along time, without any border
    segment_lengths : least and greatest number of observations of a segment of a "series"

    Returns
    -------
    MixedSample
        In no order but for "series"; with ``kinds`` and ``shares`` beside the parts of every sample.

    Examples
    --------
    >>> data = make_mixed_regions(300, n_clusters=3, n_kinds=4)
    >>> data.positions.shape, data.shares.shape
    ((300, 2), (3, 4))
    """
    recipe = MixedRegionsRecipe(
        n_samples=n_samples,
        n_clusters=n_clusters,
        n_kinds=n_kinds,
        n_features=n_features,
        layout=layout,
        concentration=concentration,
        size_concentration=size_concentration,
        separation=separation,
        log_scale=log_scale,
        shift=shift,
        tails=tails,
        gradient=gradient,
        segment_lengths=segment_lengths,
        random_state=random_state,
    )
    kinds, drawn = recipe.begin_with_kinds()
    pieces = list(drawn)
    sample = gather(((X, positions, labels) for X, positions, labels, _ in pieces), kinds.region_covariances)
    own = np.concatenate([piece[-1] for piece in pieces])
    return MixedSample(sample.X, sample.positions, sample.labels, sample.covariances, own, kinds.shares)


def _height(places: Array, phase: float) -> Array:
    """Return how high places are, by which layers are told apart: their borders are waves."""
    return np.asarray(places[:, 1] + _WAVE_HEIGHT * np.sin(_WAVE_NUMBER * places[:, 0] + phase))
