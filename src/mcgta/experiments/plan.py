"""What there is to run."""

from __future__ import annotations

from collections.abc import Sequence

from mcgta.experiments.cells import Cell, Solving

TABLES: tuple[str, ...] = ()


def cells(
    tables: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: int | None = None,
    quick: bool = False,
) -> list[Cell]:
    """Return the cells to run."""
    raise NotImplementedError


def solve(cell: Cell) -> Solving:
    """Begin to compute a cell."""
    raise NotImplementedError
