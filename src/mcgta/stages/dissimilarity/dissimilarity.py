"""Stage 3: how much two observations differ (lines 4-5 of Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mcgta.runtime.parallel import symmetric_table, tiles
from mcgta.runtime.types import Array, Index

Parts = tuple[NDArray[Any], ...]
"""Arrays with a row for each observation."""

_TABLE_TILE_ROWS = 128
_BROADCAST_TILE_BYTES = 2**23


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


class Packed(Compiled):
    """A comparison of packed models by W2 squared, in some unit: kernels know its bounds, for a tree over the models."""


@dataclass(frozen=True)
class Broadcast:
    """A comparison by a NumPy function of the parts of both sides, in tiles that fit the cache.

    ``size`` is the numbers that one pair's comparison occupies.
    """

    function: Callable[..., Array]
    size: int

    @property
    def _tile(self) -> int:
        return int(max(8, np.sqrt(_BROADCAST_TILE_BYTES / (8 * self.size))))

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
    kind : its name in the registry, or that of the user's function
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
    def has_bounds(self) -> bool:
        """Whether kernels know its bounds, for a tree over the models."""
        return isinstance(self.comparison, Packed)

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

    def matrix(self, *, tile: int = _TABLE_TILE_ROWS) -> Array:
        """Return the whole table, symmetric with a zero diagonal; each pair is compared once and the table is kept."""
        if self.cached is None:
            self.cached = symmetric_table(self.between, len(self), tile, name="dissimilarity")
        return self.cached
