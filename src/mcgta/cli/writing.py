"""The table that a command writes: the input's columns as they were, and the clusters behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcgta.cli.failures import usage_error
from mcgta.cli.screen import Screen
from mcgta.cli.streams import writing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcgta.cli.reading import Input


def check_format(path: str) -> None:
    """Refuse a suffix that stands for no format, or for one whose package is not installed."""
    from mcgta.files.by_suffix import check_target
    from mcgta.files.problems import UnknownFormat

    try:
        check_target(path, force=True)
    except UnknownFormat as error:
        raise usage_error(str(error)) from error


def write_clusters(
    data: Input,
    path: str,
    labels: NDArray[Any],
    probabilities: NDArray[Any],
    screen: Screen,
    *,
    force: bool,
) -> None:
    """Write the table with columns ``cluster``, ``probability`` and ``is_noise``; names that are taken get a suffix."""
    from mcgta.files.by_suffix import wants_points, write_file
    from mcgta.files.observations import with_points

    table = with_points(data.table, data.roles) if wants_points(path) else data.table
    added = {"cluster": labels, "probability": probabilities, "is_noise": labels < 0}
    called = {name: free_name(name, [*table.taken]) for name in added}
    renamed = {name: new for name, new in called.items() if name != new}
    if renamed:
        screen.note(
            f"{table.name} has {', '.join(renamed)} already; new columns are called {', '.join(renamed.values())}"
        )
    with writing(path):
        write_file(table, path, {called[name]: column for name, column in added.items()}, force=force)


def free_name(name: str, taken: list[str]) -> str:
    """Return the name of a new column: as it is, or with the first number behind it that makes it new."""
    if name not in taken:
        return name
    return next(f"{name}_{k}" for k in range(2, len(taken) + 3) if f"{name}_{k}" not in taken)
