"""Observations with known clusters, whole or in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mcgta.runtime.types import Array, Index

Rows: TypeAlias = tuple[Array, Array, Index]
"""Features, positions and labels of some rows."""

CHUNK = 8192  # rows in work at a time


@dataclass(frozen=True, eq=False)
class Sample:
    """Observations with known clusters.

    Attributes
    ----------
    X : (N, d) features
    positions : (N,) time steps from 1, or (N, 2) coordinates
    labels : (N,) true cluster
    covariances : (K, d, d) of the clusters
    """

    X: Array
    positions: Array
    labels: Index
    covariances: Array


def gather(pieces: Iterator[Rows], covariances: Array) -> Sample:
    """Put all rows into one sample."""
    X, positions, labels = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return Sample(X, positions, labels, covariances)


def cut(pieces: Iterator[Rows], covariances: Array, size: int) -> Iterator[Sample]:
    """Cut a stream of rows into samples of ``size`` rows, the last of fewer."""
    held: list[Rows] = []
    count = 0
    for piece in pieces:
        rest = piece
        while count + len(rest[0]) >= size:
            at = size - count
            held.append((rest[0][:at], rest[1][:at], rest[2][:at]))
            yield gather(iter(held), covariances)
            rest = (rest[0][at:], rest[1][at:], rest[2][at:])
            held = []
            count = 0
        if len(rest[0]):
            held.append(rest)
            count += len(rest[0])
    if held:
        yield gather(iter(held), covariances)


def split_normals(rng: np.random.Generator, count: int) -> np.random.Generator:
    """Return a copy of ``rng``, and move ``rng`` itself beyond the next ``count`` normal numbers.

    So numbers that one call would draw one after the other can be drawn side by side, a part of each at a time.
    """
    copy = deepcopy(rng)
    for first in range(0, count, CHUNK):
        rng.normal(size=min(CHUNK, count - first))
    return copy
