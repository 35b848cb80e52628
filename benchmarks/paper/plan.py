"""What there is to run: tables of data sets, methods and settings, as cells."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

from mcgta.datasets.cache import MissingDataError
from measuring.readiness import compile_kernels
from paper.ablations import ABLATIONS, curve_method, curve_variants
from paper.catalogue import METHODS
from paper.methods import Method
from paper.running.cells import SETTINGS, Cell, Solving
from paper.sources import SOURCES
from paper.timed_fit import timed_attempts

TABLES = ("baselines", *ABLATIONS, "runtime", "curves")
"""The tables, in the paper's order."""

QUICK = ("series", "pavement")
"""Data sets of about 1,000 observations."""

_ABLATED = ("pavement",)
_CURVED = ("pavement", "series", "inat")


def cells(
    tables: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: int | None = None,
    quick: bool = False,
) -> list[Cell]:
    """Return the cells of these tables, data sets and methods, None being all.

    Parameters
    ----------
    seeds : how many, where the data or the method depend on it; None for as many as the data set has in the paper's tables,
        and one for tuning on given data, for run times, ablations and curves
    quick : whether to keep to small data sets and one seed
    """
    max_seeds = 1 if quick and seeds is None else seeds
    kept = [
        cell
        for cell in _every(max_seeds)
        if (tables is None or cell.table in tables)
        and (data is None or cell.data in data)
        and (methods is None or cell.method in methods)
        and (not quick or cell.data in QUICK)
    ]
    # Short cells first: a run that is stopped early has most of the tables.
    return sorted(kept, key=lambda cell: (TABLES.index(cell.table), list(SOURCES).index(cell.data)))


def _every(max_seeds: int | None) -> Iterator[Cell]:
    for data in SOURCES:
        for name, method in METHODS.items():
            for setting in SETTINGS:
                for seed in range(_seeds(data, method, setting, max_seeds)):
                    yield Cell("baselines", data, name, setting, seed)
            if method.given is None:  # where K is given, that is the fit whose time is taken
                for seed in range(_seeds(data, method, "given", max_seeds or 1)):
                    yield Cell("runtime", data, name, "given", seed)
    for table, variants in ABLATIONS.items():
        for data in _ABLATED:
            for name, method in variants.items():
                for setting in ("tuned", "free") if method.free is not None else ("tuned",):
                    for seed in range(_seeds(data, method, setting, max_seeds or 1)):
                        yield Cell(table, data, name, setting, seed)
    for data in _CURVED:
        for name in curve_variants():
            for seed in range(_seeds(data, curve_method(name), "tuned", max_seeds or 1)):
                yield Cell("curves", data, name, "tuned", seed)


def _seeds(data: str, method: Method, setting: str, max_seeds: int | None) -> int:
    """How many seeds: on given data one for methods without chance, and for tuning unless more are asked for."""
    source = SOURCES[data]
    if not source.made and (not method.random or (setting == "tuned" and max_seeds is None)):
        return 1
    return source.seeds if max_seeds is None else max_seeds


def has_data(name: str) -> bool:
    """Whether a data set is there now: made, or its files in their places."""
    try:
        SOURCES[name].make(0)
    except MissingDataError:
        return False
    except (ValueError, OSError):
        return True  # but damaged, which its cells will tell
    return True


def prepare() -> None:
    """Do what no cell is to be charged for."""
    compile_kernels()


def solve(cell: Cell) -> Solving:
    """Begin to compute a cell."""
    warnings.simplefilter("ignore")  # what a method has to say of itself is in its record
    problem = SOURCES[cell.data].make(cell.seed)
    method = METHODS[cell.method] if cell.table in ("baselines", "runtime") else _variant(cell)
    if cell.table == "runtime" or (cell.setting == "given" and method.given is not None):
        attempts = timed_attempts(cell.method, method, problem, cell.seed)
    else:
        attempts = method.attempts(cell.setting, problem, cell.seed)
    return Solving(problem.truth, attempts, problem.X.shape[1])


def _variant(cell: Cell) -> Method:
    return curve_method(cell.method) if cell.table == "curves" else ABLATIONS[cell.table][cell.method]
