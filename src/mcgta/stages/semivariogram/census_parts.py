"""What the kinds of census share: work in parts, means of bins, and the pairs of given ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from mcgta.runtime.parallel import run
from mcgta.runtime.progress import Advance
from mcgta.runtime.types import Array, Index

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_each(
    function: Callable[[Task], Result], tasks: Sequence[Task], advance: Advance, steps: int | None = None
) -> list[Result]:
    """List the results of the tasks, on threads, and tell of ``steps`` on the way, one for each task by default."""
    steps = len(tasks) if steps is None else steps
    out: list[Result] = []
    for result in run(function, tasks):
        out.append(result)
        advance(steps * len(out) // len(tasks) - steps * (len(out) - 1) // len(tasks))
    return out


def bin_means(totals: Iterable[Array], counts: Index) -> list[Array]:
    """Return the means of totals (B,) over ``counts`` (B,); NaN in an empty bin."""
    return [np.divide(total, counts, out=np.full(counts.shape, np.nan), where=counts > 0) for total in totals]


def draw_by_part(
    ranks: list[Index],
    numbers: Index,
    find: Callable[[int, Index, Index], tuple[Index, Index]],
    advance: Advance,
    steps: int,
) -> tuple[Index, Index]:
    """Return the rows of the pairs with the given ranks in each bin, bin after bin.

    Parameters
    ----------
    ranks : of each bin, ascending
    numbers : (P, B) pairs of each bin in each part of the work
    find : returns the pairs of a part, given their ranks there, bin after bin, and where the ranks of each bin begin
    advance, steps : is told of so many steps
    """
    before = np.concatenate([np.zeros((1, len(ranks)), dtype=np.int64), np.cumsum(numbers, axis=0)])
    # For each part and bin, the range of the ranks that fall into it.
    cuts = np.array([np.searchsorted(wanted, before[:, k]) for k, wanted in enumerate(ranks)]).T
    busy = np.flatnonzero((cuts[1:] > cuts[:-1]).any(axis=1)).tolist()

    def find_in_part(part: int) -> tuple[Index, Index, Index]:
        inside = [wanted[cuts[part, k] : cuts[part + 1, k]] - before[part, k] for k, wanted in enumerate(ranks)]
        begins = np.concatenate([[0], np.cumsum([some.size for some in inside])]).astype(np.int64)
        i, j = find(part, np.concatenate(inside), begins)
        return i, j, np.repeat(np.arange(len(ranks)), np.diff(begins))

    parts = run_each(find_in_part, busy, advance, steps)
    if not parts:
        advance(steps)
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    i, j, bins = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(bins, kind="stable")
    return i[order], j[order]
