"""Slow directions: where blocks of a series vary more than neighbouring blocks differ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcgta.runtime.types import Array, Index

MAX_DIRECTIONS = 8
"""Directions that states may differ in."""

_COMPONENTS = 20  # principal components that directions are looked for in
_BLOCKS_PER_COMPONENT = 4
_PERMUTATIONS = 20
_RIDGE = 0.05  # of the mean noise variance, added to each
_NOISE_GAPS = (1, 2)  # blocks apart, whose differences are noise
_NEGLIGIBLE = 1e-6  # of the largest singular value


class SlowDirections(NamedTuple):
    """Directions of block features in which a series varies slowly.

    Attributes
    ----------
    offset : (F,) subtracted from the features of a block
    directions : (F, J) that these are then projected on; noise has variance 1 in each
    ratios : (J,) variance of the states' means over that of the noise, above 0, largest first
    """

    offset: Array
    directions: Array
    ratios: Array


def find_slow_directions(blocks: Array, pieces: Index, rng: np.random.Generator) -> SlowDirections:
    """Find the directions of total over noise variance, with what their choice gains by chance taken for noise.

    ``blocks`` (M, F) are means of features over blocks, ``pieces`` (M,) the piece of the series that each is in. What chance
    gains is the largest ratio after the blocks are permuted, on average.
    """
    offset = blocks.mean(axis=0)
    spread = blocks.std(axis=0) + 1e-9
    scaled = (blocks - offset) / spread
    components, scores = _principal(scaled)
    pairs = [(np.flatnonzero(pieces[gap:] == pieces[:-gap]), gap) for gap in _NOISE_GAPS]
    total = np.atleast_2d(np.cov(scores.T))
    axes, ratios = _generalised(total, _noise(scores, pairs))
    chance = [
        _generalised(total, _noise(scores[rng.permutation(len(scores))], pairs))[1][0] for _ in range(_PERMUTATIONS)
    ]
    noise = float(np.mean(chance))
    kept = np.flatnonzero(ratios[:MAX_DIRECTIONS] / noise > 1)
    directions = components @ axes[:, kept] / np.sqrt(noise) / spread[:, None]
    return SlowDirections(offset, np.ascontiguousarray(directions), ratios[kept] / noise - 1)


def _principal(scaled: Array) -> tuple[Array, Array]:
    """Return the leading components (F, k) of rows, and the rows' scores (M, k)."""
    count, width = scaled.shape
    if count <= width:
        values, vectors = np.linalg.eigh(scaled @ scaled.T)
        components = scaled.T @ vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))
    else:
        values, components = np.linalg.eigh(scaled.T @ scaled)
    roots = np.sqrt(np.maximum(values[::-1], 0.0))
    number = max(
        1, min(_COMPONENTS, count // _BLOCKS_PER_COMPONENT, int((roots > _NEGLIGIBLE * max(roots[0], 1e-12)).sum()))
    )
    components = components[:, ::-1][:, :number]
    return components, scaled @ components


def _noise(scores: Array, pairs: list[tuple[Index, int]]) -> Array:
    """Return half the mean squared difference of blocks near each other, with a ridge."""
    size = scores.shape[1]
    noise = np.zeros((size, size))
    for rows, gap in pairs:
        gaps = scores[rows + gap] - scores[rows]
        noise += gaps.T @ gaps / (2 * len(pairs) * max(len(rows), 1))
    return noise + (_RIDGE * np.trace(noise) / size + 1e-12) * np.eye(size)


def _generalised(total: Array, noise: Array) -> tuple[Array, Array]:
    """Return the axes (k, k) and ratios (k,) of total over noise variance, largest first."""
    root = np.linalg.inv(np.linalg.cholesky(noise))
    ratios, axes = np.linalg.eigh(root @ total @ root.T)
    return (root.T @ axes)[:, ::-1], ratios[::-1]
