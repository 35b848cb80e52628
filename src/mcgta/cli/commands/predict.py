"""``mcgta predict``: the clusters of a saved model for the rows of another file."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcgta.cli.commands.look import input_values, role_values
from mcgta.cli.estimating import computing
from mcgta.cli.failures import unusable, usage_error
from mcgta.cli.findings import show_shares
from mcgta.cli.flags import add_column_flags, add_force_flag, add_general_flags, add_table_flag, add_work_flags
from mcgta.cli.models import read_model
from mcgta.cli.parameters import progress_of
from mcgta.cli.reading import (
    Input,
    given_roles,
    named_features,
    note_placeholders,
    read_table,
    say_columns,
    settle_missing,
    settled_missing,
    with_roles,
)
from mcgta.cli.screen import Screen
from mcgta.cli.streams import STANDARD
from mcgta.cli.targets import check_targets, default_table
from mcgta.cli.writing import check_format, write_clusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcgta.estimator import MCGTA
    from mcgta.files.table import FileTable, Roles

DESCRIPTION = (
    "Give the rows of another file the clusters of a saved model: the readings that come next, or places not yet "
    "seen. Columns are found by the names that they had when the model was made; flags say where they are called "
    "otherwise. The output is as that of `mcgta cluster`."
)
EXAMPLES = (
    "mcgta predict readings.mcgta tomorrow.csv",
    "cat tomorrow.csv | mcgta predict readings.mcgta - > placed.csv",
)
_MISSING_HINT = "leave these rows out, or make the model with --missing drop or --missing impute, and it takes them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL", help="model that `mcgta cluster` has saved")
    parser.add_argument("file", metavar="FILE", help="table to read; - for CSV on standard input")
    add_column_flags(parser, "what is not said is called as it was when the model was made")
    output = parser.add_argument_group("output")
    add_table_flag(
        output,
        "table to write, its format by its suffix; FILE_clusters with the suffix of FILE by default; - for CSV on "
        "standard output",
    )
    add_force_flag(output)
    add_work_flags(parser)
    add_general_flags(parser)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Place the rows."""
    from mcgta import __version__

    target = options.output or default_table(options.file)
    if target == STANDARD and options.json:
        raise usage_error("--json and the table both go to standard output; name a file by -o")
    check_targets({"the table": target}, {"the input": options.file, "the model": options.model}, force=options.force)
    check_format(target)
    with computing(options):
        model = read_model(options.model)
        table = read_table(options.file, screen)
        screen.say("read", f"{table.name}: {say_columns(table)}")
        data = with_roles(options, table, _roles(model, options, table))
        note_placeholders(data, screen)
        model.set_params(n_jobs=options.jobs, progress=progress_of(options))
        settle_missing(data, model.fitted_.asked.missing, screen, _MISSING_HINT)
        labels, strengths = _predict(model, data)
    shares = show_shares("placed", labels, model, screen)
    write_clusters(data, target, labels, strengths, screen, force=options.force)
    if target != STANDARD:
        screen.say_written(target)
    screen.give(
        {
            "mcgta": __version__,
            "command": "predict",
            "input": input_values(table),
            "roles": role_values(data),
            "shares": shares,
            "noise_share": float((labels < 0).mean()) if labels.size else 0.0,
            "wrote": {"table": target},
            "notes": screen.notes,
        }
    )


def _roles(model: MCGTA, options: argparse.Namespace, table: FileTable) -> Roles:
    """Return the roles of columns: as the flags say, else as when the model was made."""
    given = given_roles(options, table)
    provenance = model.fitted_.provenance
    if provenance is not None:
        saved = {name: columns for name, columns in provenance.roles.items() if name != "crs"}
        if not (given.time or given.places):
            given = _with_places(given, saved, table)
        if not given.group and provenance.group:
            given = replace(given, group=provenance.group)
        _refuse_other_crs(provenance.roles.get("crs", []), table)
    names = getattr(model, "feature_names_in_", None)
    if not given.features and names is not None:
        given = replace(given, features=tuple(str(name) for name in names))
    _refuse_lacking(given, table, model)
    return given


def _with_places(given: Roles, saved: dict[str, list[str]], table: FileTable) -> Roles:
    """Return roles with the positions as they were saved; points may be called otherwise in another file."""
    points = table.geometry
    values: dict[str, str | tuple[str, ...]] = {
        name: tuple(columns) if name in ("time", "position") else columns[0]
        for name, columns in saved.items()
        if columns
    }
    position = values.get("position", ())
    if points is not None and position and position[0] not in table.columns:
        values["position"] = (points.name,)
    return replace(given, **values)  # type: ignore[arg-type]  # names of columns, by the saved flags


def _refuse_lacking(given: Roles, table: FileTable, model: MCGTA) -> None:
    """Refuse a file without some of the columns."""
    known = [*table.columns] + ([] if table.geometry is None else [table.geometry.name])
    lacking = [name for name in (*given.used, *given.features) if name not in known and not _is_pattern(name)]
    if lacking:
        raise unusable(
            f"{table.name} lacks {'a column' if len(lacking) == 1 else 'columns'} that the model was made with: "
            f"{', '.join(lacking)}",
            f"it has {', '.join(known)}; flags such as --time and --features say where they are called otherwise",
        )


def _is_pattern(name: str) -> bool:
    return any(char in name for char in "*?[")


def _refuse_other_crs(saved: list[str], table: FileTable) -> None:
    """Refuse points in another coordinate reference system than those of the model."""
    points = table.geometry
    if points is not None and points.crs and saved and saved[0] != points.crs:
        raise unusable(
            f"{table.name} has points in {points.crs}, and those of the model were in {saved[0]}; convert them"
        )


def _predict(model: MCGTA, data: Input) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the cluster of each row, and how sure that is."""
    observations = data.observations
    wanted = model.n_features_in_
    if observations.X.shape[1] != wanted:
        raise unusable(
            f"{data.table.name}: {observations.X.shape[1]} features, and the model was made with {wanted}",
            "name them by --features, in the same order",
        )
    with settled_missing():
        # Features are found by name above, and may be called otherwise where the flags say so.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        labels, strengths = model.predict(
            named_features(data),
            positions=observations.positions,
            groups=observations.groups,
            return_probabilities=True,
        )
    return labels, strengths
