"""How a synthetic map is drawn, region by region, in memory that does not grow with its size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.datasets.covariances import draw, make_covariances, perturb, rotate, space_centres
from mcgta.datasets.knobs import check_knobs
from mcgta.datasets.sample import CHUNK, Rows, split_normals
from mcgta.runtime.types import Array, Index

SIZE = 1200  # where neither the number of places nor the regions' sizes are given


@dataclass(frozen=True)
class RegionsRecipe:
    """The knobs of :func:`mcgta.datasets.make_regions`, checked."""

    n_samples: int | None = None
    sizes: tuple[int, int] | None = None
    n_clusters: int = 5
    n_features: int = 5
    noise: float = 0.02
    noise_limit: float | None = 0.1
    extent: float = 10.0
    spacing: float = 2.5
    spread: tuple[float, float] = (0.3, 1.5)
    concentration: float = 5.0
    separation: float = 1.0
    log_scale: float = 1.2
    shift: float = 0.0
    random_state: Any = 0

    def __post_init__(self) -> None:
        check_knobs({name: getattr(self, name) for name in self.__dataclass_fields__})
        if self.n_samples is not None and self.sizes is not None:
            raise ValueError(
                f"n_samples={self.n_samples} and sizes={self.sizes}: give one of them; the other follows from it"
            )

    def begin(self) -> tuple[Array, Iterator[Rows]]:
        """Return the clusters' covariances, and the rows in pieces, region after region."""
        rng = np.random.default_rng(self.random_state)
        (mean_rng,) = rng.spawn(1)  # numbers of their own: all other draws are the same with and without means
        covariances = make_covariances(
            self.n_clusters, self.n_features, separation=self.separation, rng=rng, log_scale=self.log_scale
        )
        means = self.shift * mean_rng.normal(size=(self.n_clusters, self.n_features))
        return covariances, self._draw_rows(covariances, means, rng)

    def _draw_rows(self, covariances: Array, means: Array, rng: np.random.Generator) -> Iterator[Rows]:
        centres = space_centres(self.n_clusters, self.extent, self.spacing, rng)
        counts = self._draw_counts(rng)
        shapes = np.array([rotate(rng.uniform(*self.spread, 2), rng) for _ in range(self.n_clusters)])
        place_rng = split_normals(rng, 2 * int(counts.sum()))  # places come before all features
        for k, count in enumerate(counts.tolist()):
            noise_rng = rng if count <= CHUNK else split_normals(rng, count * self.n_features**2)
            for first in range(0, count, CHUNK):
                rows = min(CHUNK, count - first)
                offsets = draw(np.broadcast_to(shapes[k], (rows, 2, 2)), place_rng)
                scales = self.noise * np.linalg.norm(offsets, axis=1)
                X = draw(perturb(covariances[k], scales, noise_rng, limit=self.noise_limit), rng)
                if self.shift:
                    X = X + means[k]
                yield X, centres[k] + offsets, np.full(rows, k, dtype=np.int64)

    def _draw_counts(self, rng: np.random.Generator) -> Index:
        """Sizes (K,) of the regions."""
        if self.sizes is not None:
            return rng.integers(self.sizes[0], self.sizes[1] + 1, self.n_clusters)
        shares = rng.dirichlet(np.full(self.n_clusters, self.concentration))
        total = SIZE if self.n_samples is None else self.n_samples
        counts = np.zeros(self.n_clusters, dtype=np.int64)
        for first in range(0, total, CHUNK):
            drawn = rng.choice(self.n_clusters, min(CHUNK, total - first), p=shares)
            counts += np.bincount(drawn, minlength=self.n_clusters)
        return counts
