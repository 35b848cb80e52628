"""``mcgta look``: what a file holds, and the command that would cluster it."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from mcgta.cli.flags import add_column_flags, add_general_flags
from mcgta.cli.reading import Input, position_roles, read_input, role_arguments
from mcgta.cli.screen import Screen

if TYPE_CHECKING:
    from mcgta.files.table import FileTable

DESCRIPTION = (
    "Say what a file holds: its rows, what its columns would be taken for, which are left out and why, what is "
    "missing, and the command that would cluster it. Nothing is computed and nothing is written."
)
EXAMPLES = ("mcgta look readings.csv", "mcgta look stations.geojson --json")
_WIDTH = 10
_MISSING_RULE = "drop"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE", help="table to read; - for CSV on standard input")
    add_column_flags(parser)
    add_general_flags(parser)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Look at the file."""
    from mcgta import __version__

    data = read_input(options, screen)
    command = _command(options, data)
    screen.show("rows", _say_rows(data), width=_WIDTH)
    points = data.table.geometry
    if points is None or data.roles.position != (points.name,):
        screen.show("position", _say_position(data), width=_WIDTH)
    if data.roles.group is not None:
        screen.show("group", data.roles.group, width=_WIDTH)
    screen.show("features", " ".join(data.roles.features), width=_WIDTH)
    if data.roles.ignored:
        ignored = ", ".join(f"{name} ({reason})" for name, reason in data.roles.ignored.items())
        screen.show("ignored", ignored, width=_WIDTH)
    if data.missing:
        screen.show("missing", _say_missing(data), width=_WIDTH)
    screen.show_command("run", command, width=_WIDTH)
    screen.give({"mcgta": __version__, "command": "look", **look_values(data), "run": command, "notes": screen.notes})


def look_values(data: Input) -> dict[str, Any]:
    """Return what a file holds as values for JSON."""
    table = data.table
    return {
        "input": input_values(table),
        "roles": role_values(data),
        "ignored": data.roles.ignored,
        "missing": data.missing,
    }


def input_values(table: FileTable) -> dict[str, Any]:
    """Return what was read as values for JSON."""
    return {
        "name": table.name,
        "format": table.format,
        "sha256": table.sha256,
        "rows": table.n_rows,
        "columns": dict(table.kinds),
        "crs": None if table.geometry is None else table.geometry.crs,
    }


def role_values(data: Input) -> dict[str, Any]:
    """Return what columns were taken for as values for JSON."""
    return {
        **position_roles(data.roles),
        "group": data.roles.group,
        "features": data.roles.features,
        "crs": data.roles.crs,
    }


def _say_rows(data: Input) -> str:
    table = data.table
    points = table.geometry
    if points is None:
        return f"{table.n_rows:,} rows, {len(table.columns):,} columns"
    if not points.crs and data.roles.crs is None:
        return f"{table.n_rows:,} points without a CRS; say which by --crs"
    return f"{table.n_rows:,} points, {points.crs or data.roles.crs} ({_say_unit(data)})"


def _say_unit(data: Input) -> str:
    """Say in what coordinates are measured: by the CRS of the points, or by that of ``--crs``."""
    from mcgta.files.crs import known_crs

    points = data.table.geometry
    given = data.roles.crs
    known = points if given is None else known_crs(given)
    if known is None or known.is_geographic:
        return "degrees, so great-circle distances in metres"
    return f"in {known.unit}"


def _say_position(data: Input) -> str:
    roles = data.roles
    if not roles.time and not roles.places:
        return "the order of the rows, as time"
    said = []
    if roles.time:
        said.append(f"time {', '.join(roles.time)}")
    if roles.lon is not None:
        said.append(f"longitude {roles.lon}, latitude {roles.lat} (great-circle distances in metres)")
    elif roles.x is not None:
        said.append(f"coordinates {', '.join(name for name in (roles.x, roles.y, roles.z) if name is not None)}")
    elif roles.position:
        said.append(", ".join(roles.position))
    return "; ".join(said)


def _say_missing(data: Input) -> str:
    rows = ", ".join(f"{name}: {count:,} {'row' if count == 1 else 'rows'}" for name, count in data.missing.items())
    return f"{rows}, so add --missing drop or --missing impute"


def _command(options: argparse.Namespace, data: Input) -> str:
    """Return the command that would cluster the file, as typed in a shell."""
    arguments = ["mcgta", "cluster", data.path, *role_arguments(data.roles)]
    for text in options.ignore or ():
        arguments += ["--ignore", text]
    if data.roles.time and data.roles.places:
        arguments += ["--time-scale", "S"]
    if data.missing:
        arguments += ["--missing", _MISSING_RULE]
    return shlex.join(arguments)
