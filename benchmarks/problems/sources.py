"""The ways in which the problems of a named set come about: made by seed, read by a loader, or read from a shared file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from mcgta.runtime.types import Array
from problems.other_sets import Maker
from problems.problem import Problem, find_problem, load_problem, missing

MIN_ROWS = 100  # of the smallest part of a set


class Key(NamedTuple):
    """A problem: the set that it belongs to, and its name or its seed in that set."""

    data: str
    member: str = ""
    seed: int | None = None

    def __str__(self) -> str:
        return " ".join([self.data, *filter(None, (self.member, "" if self.seed is None else str(self.seed)))])


class Source(Protocol):
    """A set of problems."""

    def keys(self, name: str, seeds: Sequence[int], folder: Path) -> list[Key]:
        """List the problems of the set; none where its file is not in ``folder``."""

    def make(self, key: Key, folder: Path, share: float) -> Problem:
        """Make or read a problem, or the share of its observations that is asked for."""

    def lacks(self, name: str) -> str:
        """Say what is missing where the set has no problems."""


@dataclass(frozen=True)
class Made:
    """Problems made by seed, of ``count`` observations; of more than ``most`` seeds the first are taken."""

    maker: Maker
    count: int
    most: int | None = None

    def keys(self, name: str, seeds: Sequence[int], folder: Path) -> list[Key]:
        """One problem for each seed."""
        return [Key(name, seed=seed) for seed in seeds[: self.most]]

    def make(self, key: Key, folder: Path, share: float) -> Problem:
        """Make a problem of fewer observations."""
        assert key.seed is not None
        made = self.maker(key.seed, _fewer(self.count, share))
        return replace(made, name=key.data, seed=key.seed)

    def lacks(self, name: str) -> str:
        """No seed was asked for."""
        return "no seeds"


@dataclass(frozen=True)
class Loaded:
    """One problem, read by the package's own loader of that name."""

    def keys(self, name: str, seeds: Sequence[int], folder: Path) -> list[Key]:
        """One problem, where its file is there."""
        return [] if find_problem(name, folder) is None else [Key(name)]

    def make(self, key: Key, folder: Path, share: float) -> Problem:
        """Read the first observations."""
        return _first(load_problem(key.data, folder), share)

    def lacks(self, name: str) -> str:
        """Name the file."""
        return missing(name)


@dataclass(frozen=True)
class Shared:
    """Problems of a file that holds many: those whose names begin with ``prefix``.

    The file has ``NAME_X`` (N, d), ``NAME_y`` (N,) and, for places, ``NAME_coords`` (N, p); else rows are steps of time.
    """

    file: str
    prefix: str

    def keys(self, name: str, seeds: Sequence[int], folder: Path) -> list[Key]:
        """List the problems in the order of the file."""
        path = folder / f"{self.file}.npz"
        if not path.exists():
            return []
        names = [each.removesuffix("_X") for each in _arrays(path) if each.endswith("_X")]
        return [Key(name, each.removeprefix(self.prefix)) for each in names if each.startswith(self.prefix)]

    def make(self, key: Key, folder: Path, share: float) -> Problem:
        """Read the first observations, features as published."""
        with np.load(folder / f"{self.file}.npz") as arrays:
            name = f"{self.prefix}{key.member}"
            places: Array | None = None
            if f"{name}_coords" in arrays:
                places = arrays[f"{name}_coords"].astype(np.float64)
            X = arrays[f"{name}_X"].astype(np.float64)
            whole = Problem(X, places, arrays[f"{name}_y"].astype(np.int64), name=key.data)
        return _first(whole, share)

    def lacks(self, name: str) -> str:
        """Name the file."""
        return missing(self.file)


@lru_cache
def _arrays(path: Path) -> tuple[str, ...]:
    with np.load(path) as arrays:
        return tuple(arrays.files)


def _first(whole: Problem, share: float) -> Problem:
    """Return the first observations of a series, and of a map every so many, so that its extent stays."""
    count = _fewer(len(whole.X), share)
    if whole.positions is None or whole.positions.ndim == 1:
        return whole.take(slice(count))
    return whole.take(np.linspace(0, len(whole.X) - 1, count).astype(np.int64))


def _fewer(count: int, share: float) -> int:
    return min(count, max(MIN_ROWS, round(share * count)))
