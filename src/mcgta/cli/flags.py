"""Flags that several commands have, declared once."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from mcgta.cli.failures import usage_error
from mcgta.cli.parameters import name_and_value
from mcgta.cli.targets import BESIDE_INPUT

NEEDED_FLAGS = {"lon": "lat", "lat": "lon", "x": "y", "y": "x", "z": "x"}
"""Flags of columns that need another one."""
PLACE_FLAGS = ("lon", "x", "position")
"""Flags that say in different ways where rows are."""
GUESSED = "what is not said is guessed, where there is one way to"


def whole_number(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from a least one, for argparse."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from {least} on")
        return number

    return read


def number_above(least: float) -> Callable[[str], float]:
    """Return a reader of finite numbers above a least one, for argparse."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = least
        if not least < number < float("inf"):
            raise argparse.ArgumentTypeError(f"{text!r} must be a number above {least:g}")
        return number

    return read


def threads(text: str) -> int:
    """Read a number of threads, for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1 and number != -1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of threads, or -1 for all cores")
    return number


def check_place(options: argparse.Namespace) -> None:
    """Refuse a longitude without a latitude, a coordinate without the other, and places that are said in two ways."""
    given = {name for name in (*NEEDED_FLAGS, *PLACE_FLAGS) if getattr(options, name, None) is not None}
    for name, needed in NEEDED_FLAGS.items():
        if name in given and needed not in given:
            raise usage_error(f"--{name} {getattr(options, name)} needs --{needed} as well")
    ways = [f"--{name}" for name in PLACE_FLAGS if name in given]
    if len(ways) > 1:
        raise usage_error(f"{' and '.join(ways)} both say where rows are; use one of them")


def add_column_flags(parser: argparse.ArgumentParser, said: str = GUESSED) -> None:
    """Add the flags that say what columns are."""
    group = parser.add_argument_group("columns", said)
    group.add_argument("--time", metavar="C[,C]", help="column of the time, or of the date and the time of day")
    group.add_argument("--lon", metavar="C", help="column of the longitude, in degrees")
    group.add_argument("--lat", metavar="C", help="column of the latitude, in degrees")
    group.add_argument("--x", metavar="C", help="column of the first coordinate on a plane")
    group.add_argument("--y", metavar="C", help="column of the second")
    group.add_argument("--z", metavar="C", help="column of the third")
    group.add_argument("--position", metavar="C[,C]", help="columns of any other position")
    group.add_argument(
        "--features", metavar="C[,C]", action="append", help="columns to cluster by: names, or patterns as x*"
    )
    group.add_argument("--ignore", metavar="C[,C]", action="append", help="columns to leave out: names, or patterns")
    group.add_argument("--group", metavar="C", help="column of the series, slide or machine of a row")
    group.add_argument("--crs", metavar="CRS", help="coordinate reference system of the places, such as EPSG:25832")


def add_setting_flags(parser: argparse.ArgumentParser, *, clusters: bool = True) -> None:
    """Add the flags that say how to cluster, and into how many clusters where that matters."""
    group = parser.add_argument_group("settings", "what is not set is chosen from the data")
    if clusters:
        group.add_argument("--clusters", metavar="K", type=whole_number(1), help="number of clusters")
    group.add_argument(
        "--standardize", choices=("auto", "yes", "no"), help="whether features are divided by their standard deviation"
    )
    group.add_argument(
        "--missing",
        choices=("error", "drop", "impute"),
        help="rows without a value: refused (default), noise, or filled in",
    )
    group.add_argument(
        "--time-scale",
        metavar="S",
        type=number_above(0),
        help="with places and times: units of distance that a unit of time is worth; a second, for dates",
    )
    group.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=name_and_value,
        help="any parameter of mcgta.MCGTA, such as n_neighbors=45; can be repeated",
    )


def add_work_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how much of the machine may be used."""
    group = parser.add_argument_group("work")
    group.add_argument("--jobs", metavar="N", type=threads, help="threads; -1 for all cores")
    group.add_argument(
        "--max-memory", metavar="SIZE", help="memory that may be used, such as 6GB; default: 3/4 of what is free"
    )


def add_general_flags(parser: argparse.ArgumentParser, *, json: bool = True) -> None:
    """Add the flags that every command has."""
    group = parser.add_argument_group("general")
    group.add_argument("-h", "--help", action="help", help="show this help")
    if json:
        group.add_argument("--json", action="store_true", help="write the result as JSON to standard output")
    group.add_argument("--quiet", action="store_true", help="say nothing but errors")
    group.add_argument("--debug", action="store_true", help="show where in the program an error came from")


def add_force_flag(group: argparse._ActionsContainer) -> None:
    """Add the flag that lets files be replaced."""
    group.add_argument("--force", action="store_true", help="replace files that exist")


def add_table_flag(group: argparse._ActionsContainer, said: str) -> None:
    """Add the flag that names the file to write."""
    group.add_argument("-o", "--output", metavar="FILE", help=said)


def add_file_beside(group: argparse._ActionsContainer, flag: str, said: str) -> None:
    """Add a flag for a file that has a default name."""
    group.add_argument(flag, metavar="FILE", nargs="?", const=BESIDE_INPUT, help=said)
