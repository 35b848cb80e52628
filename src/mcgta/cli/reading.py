"""The file that a command reads: its columns, what they are taken for, and the flags that say so."""

from __future__ import annotations

import argparse
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcgta.cli.failures import CommandError, unusable, usage_error
from mcgta.cli.screen import Screen
from mcgta.cli.targets import check_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from mcgta.files.observations import FileObservations
    from mcgta.files.problems import AmbiguousRoles
    from mcgta.files.table import FileTable, Roles
    from mcgta.observations.provenance import Provenance

ROLE_FLAGS = ("time", "lon", "lat", "x", "y", "z", "position", "group", "features", "crs")
"""Flags that say what columns are, in the order in which they are printed."""

MISSING_HINT = "add --missing drop (such rows become noise) or --missing impute (they are filled in)"
_LISTS = ("time", "position", "features")
_PLACE_FLAGS = ("time", "lon", "lat", "x", "y", "z", "position")


@dataclass(frozen=True, eq=False)
class Input:
    """A file that has been read.

    Attributes
    ----------
    path : as typed
    table : its columns
    given : what the flags say of them
    roles : what they are taken for
    observations : features, positions and groups
    """

    path: str
    table: FileTable
    given: Roles
    roles: Roles
    observations: FileObservations

    @property
    def used(self) -> tuple[str, ...]:
        """Columns that are used."""
        return (*self.roles.used, *self.roles.features)

    @property
    def missing(self) -> dict[str, int]:
        """Rows without a value, of the columns that are used and lack some; of points, those that there are none of."""
        points = self.table.geometry
        lacking = {name: rows.size for name, rows in self.table.missing.items() if name in self.used}
        if points is not None and points.name in self.used and points.missing.size:
            lacking[points.name] = points.missing.size
        return lacking

    def first_missing(self, column: str) -> str:
        """Say where a column lacks a value first."""
        points = self.table.geometry
        of_points = points is not None and column == points.name
        rows = points.missing if points is not None and of_points else self.table.missing[column]
        line = self.table.line_of(int(rows[0]))
        return f"row {rows[0]}" if line is None else f"line {line}"


def read_table(path: str, screen: Screen) -> FileTable:
    """Read a file, and say what was read."""
    check_input(path)
    from mcgta.files.by_suffix import read_file

    try:
        table = read_file(path)
    except PermissionError as error:
        raise unusable(f"{path} cannot be read: {error.strerror}") from error
    for note in table.notes:
        screen.note(note)
    return table


def read_input(options: argparse.Namespace, screen: Screen) -> Input:
    """Read the file of a command, and decide what its columns are."""
    table = read_table(options.file, screen)
    given = given_roles(options, table)
    data = with_roles(options, table, given)
    note_placeholders(data, screen)
    return data


def note_placeholders(data: Input, screen: Screen) -> None:
    """Note numbers of features that look like missing values, such as -999."""
    from mcgta.files.placeholders import say_placeholders

    for said in say_placeholders(data.table, data.roles.features):
        screen.note(said)


def with_roles(options: argparse.Namespace, table: FileTable, given: Roles) -> Input:
    """Decide what the columns of a table are, where that is not given."""
    from mcgta.files.observations import make_observations
    from mcgta.files.problems import AmbiguousRoles
    from mcgta.files.roles import guess_roles

    try:
        roles = guess_roles(table, given)
    except AmbiguousRoles as error:
        raise _ambiguous(error, options) from error
    return Input(options.file, table, given, roles, make_observations(table, roles))


def _ambiguous(error: AmbiguousRoles, options: argparse.Namespace) -> CommandError:
    """Say which flags decide."""
    begin = f"mcgta {options.command} {shlex.quote(options.file)}"
    lines = [f"{begin} {flags}" for flags in error.flags]
    if error.role == "position" and len(error.flags) == 2:
        scale = " --time-scale S" if hasattr(options, "time_scale") else ""  # `look` measures nothing
        lines.append(f"{begin} {' '.join(error.flags)}{scale}")
    said = [f"{'say which:' if k == 0 else 'or:':<11} {line}" for k, line in enumerate(lines)]
    return usage_error(str(error), "\n".join(said))


def given_roles(options: argparse.Namespace, table: FileTable) -> Roles:
    """Return what the flags say of the columns of a table."""
    from mcgta.files.table import Roles

    single = {name: getattr(options, name) for name in ("lon", "lat", "x", "y", "z", "group", "crs")}
    return Roles(
        time=_split("time", options.time, table),
        position=_split("position", options.position, table),
        features=tuple(name for text in options.features or () for name in _split("features", text, table)),
        ignored={name: "" for text in options.ignore or () for name in _split("ignore", text, table)},
        **single,
    )


def _split(flag: str, text: str | None, table: FileTable) -> tuple[str, ...]:
    """Return the columns that a flag names: one where there is a column of that name, else those between commas."""
    if text is None:
        return ()
    if text in table.columns:
        return (text,)
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise usage_error(f"--{flag} {text!r} names no column", f"{table.name} has {', '.join(table.columns)}")
    return names


def say_columns(table: FileTable) -> str:
    """Say how large a table is."""
    points = "" if table.geometry is None else " and points"
    rows = "row" if table.n_rows == 1 else "rows"
    columns = "column" if len(table.columns) == 1 else "columns"
    return f"{table.n_rows:,} {rows}, {len(table.columns):,} {columns}{points}"


def role_arguments(roles: Roles, names: Iterable[str] = ROLE_FLAGS) -> list[str]:
    """Return the arguments that give these roles to columns."""
    arguments: list[str] = []
    for name in names:
        value = getattr(roles, name)
        if not value:
            continue
        columns = list(value) if name in _LISTS else [value]
        arguments += _join(name, columns)
    return arguments


def _join(flag: str, columns: Sequence[str]) -> list[str]:
    """Return a flag with columns; one for each where a name has a comma in it, if the flag can be repeated."""
    apart = flag == "features" and any("," in name for name in columns)
    values = columns if apart else [",".join(columns)]
    return [part for value in values for part in _with_value(flag, value)]


def _with_value(flag: str, value: str) -> list[str]:
    """Return a flag with its value, in one argument where the value would be taken for a flag itself."""
    return [f"--{flag}={value}"] if value.startswith("-") else [f"--{flag}", value]


def guessed_flags(data: Input) -> str:
    """Return the flags that repeat what was guessed, as typed in a shell; "" where all was given."""
    guessed = [name for name in ROLE_FLAGS if getattr(data.roles, name) and not getattr(data.given, name)]
    if data.given.features:
        guessed = [name for name in guessed if name != "features"]
    return shlex.join(role_arguments(data.roles, guessed))


def position_roles(roles: Roles) -> dict[str, list[str]]:
    """Return the columns of positions by their flags."""
    listed = {name: getattr(roles, name) for name in _PLACE_FLAGS if getattr(roles, name)}
    return {name: list(value) if name in _LISTS else [value] for name, value in listed.items()}


def make_provenance(data: Input, missing_rule: str, command: str) -> Provenance:
    """Return where the observations of a fit came from."""
    from mcgta.observations.provenance import Provenance

    return Provenance(
        name=data.table.name,
        sha256=data.table.sha256,
        n_rows=data.table.n_rows,
        columns=list(data.table.columns),
        positions=[*data.roles.time, *data.roles.places],
        features=list(data.roles.features),
        group=data.roles.group or "",
        ignored=dict(data.roles.ignored),
        missing=data.missing,
        missing_rule=missing_rule,
        command=command,
        roles=position_roles(data.roles) | _saved_crs(data),
    )


def _saved_crs(data: Input) -> dict[str, list[str]]:
    """Return the coordinate reference system of the places, where it is known."""
    points = data.table.geometry
    own = points.crs if points is not None and points.name in data.roles.position else ""
    crs = data.roles.crs or own
    return {"crs": [crs]} if crs else {}


def named_features(data: Input) -> NDArray[Any]:
    """Return the features as an array that knows what its columns are called, as the estimator reads names off frames."""
    import numpy as np

    class Features(np.ndarray):
        columns: list[str]

    features = data.observations.X.view(Features)
    features.columns = list(data.observations.feature_names)
    return features


def settle_missing(data: Input, rule: str, screen: Screen, hint: str = MISSING_HINT) -> None:
    """Refuse values that are missing where they are errors, else note where they are and what becomes of them."""
    if not data.missing:
        return
    said = {
        name: f"{name} has no value in {count:,} {'row' if count == 1 else 'rows'}, the first in {data.first_missing(name)}"
        for name, count in data.missing.items()
    }
    if data.roles.group in said:
        hint_of_group = "each row needs a group, whatever --missing says: fill it in, or leave these rows out"
        raise unusable(f"{data.table.name}: {said[data.roles.group]}", hint_of_group)
    if rule == "error":
        raise unusable(f"{data.table.name}: {'; '.join(said.values())}", hint)
    for name, where in said.items():
        filled = rule == "impute" and name in data.roles.features
        screen.note(f"{where}: {'filled in from rows nearby' if filled else 'such rows become noise'}")


@contextmanager
def settled_missing() -> Iterator[None]:
    """Leave out what the library says of missing values, by numbers of rows: it has been said by lines of the file."""
    from mcgta.observations.missing import MissingValueWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingValueWarning)
        yield
