"""``mcgta cluster``: the clusters of the rows of a file, as columns behind its own, with a model and a report."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcgta.cli.commands.look import look_values
from mcgta.cli.estimating import computing, fit_input
from mcgta.cli.failures import usage_error
from mcgta.cli.findings import found_values, show_found
from mcgta.cli.flags import (
    add_column_flags,
    add_file_beside,
    add_force_flag,
    add_general_flags,
    add_setting_flags,
    add_table_flag,
    add_work_flags,
)
from mcgta.cli.parameters import read_params
from mcgta.cli.parser import fill
from mcgta.cli.reading import guessed_flags, read_input, say_columns
from mcgta.cli.reporting import write_report
from mcgta.cli.screen import Screen
from mcgta.cli.streams import STANDARD, writing
from mcgta.cli.targets import (
    BESIDE_INPUT,
    MODEL_SUFFIX,
    REPORT_SUFFIX,
    beside,
    check_targets,
    default_table,
    report_targets,
)
from mcgta.cli.writing import check_format, write_clusters

if TYPE_CHECKING:
    from mcgta.estimator import MCGTA

DESCRIPTION = (
    "Cluster the rows of a table. Its columns and their order stay as they are; behind them come `cluster` (-1 for "
    "noise), `probability` and `is_noise`. What the columns are is guessed, where there is one way to, and printed as "
    "the flags that say so. Nothing is replaced without --force."
)
EXAMPLES = (
    "mcgta cluster readings.csv --report",
    "mcgta cluster stations.geojson --features pm25,no2 --missing drop",
    "mcgta cluster readings.csv --clusters 4 --set n_neighbors=45 -o states.parquet",
    "cat readings.csv | mcgta cluster - --quiet > clusters.csv",
)


@dataclass(frozen=True)
class Targets:
    """The files that are written; None for those that are not wanted."""

    table: str
    model: str | None
    report: str | None

    @property
    def named(self) -> dict[str, str]:
        """Paths by what they are."""
        listed = {"the table": self.table}
        if self.model is not None:
            listed["the model"] = self.model
        if self.report is not None:
            listed |= report_targets(self.report)
        return listed

    @property
    def files(self) -> list[str]:
        """Those that are files, as they are listed."""
        return [path for path in (self.table, self.model, self.report) if path is not None and path != STANDARD]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE", help="table to read; - for CSV on standard input")
    add_column_flags(parser)
    add_setting_flags(parser)
    output = parser.add_argument_group(
        "output",
        fill(
            "Without -o, the table is FILE_clusters with the suffix of FILE, and the model is saved as FILE.mcgta. "
            "With -o, only what is asked for is written."
        ),
    )
    add_table_flag(output, "table to write, its format by its suffix; - for CSV on standard output")
    add_file_beside(output, "--model", "save the model; without a name as FILE.mcgta")
    add_file_beside(output, "--report", "write a report to open in a browser; without a name FILE.html")
    add_force_flag(output)
    add_work_flags(parser)
    add_general_flags(parser)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Cluster the file."""
    targets = choose_targets(options)
    check_targets(targets.named, {"the input": options.file}, force=options.force)
    check_format(targets.table)
    params = read_params(options)
    with computing(options):
        data = read_input(options, screen)
        screen.say("read", f"{data.table.name}: {say_columns(data.table)}")
        guessed = guessed_flags(data)
        if guessed:
            screen.say_command("guessed", guessed)
        if not data.roles.time and not data.roles.places:
            screen.say("", "the order of the rows is the time")
        model = fit_input(options, params, data, screen)
        show_found(model, screen)
        write_clusters(data, targets.table, model.labels_, model.probabilities_, screen, force=options.force)
        _write_beside(model, targets, force=options.force)
    _say_written(targets, screen)
    screen.give(_values(model, look_values(data), targets, screen.notes))


def choose_targets(options: argparse.Namespace) -> Targets:
    """Return the files to write, by the flags and the name of the input."""
    table = options.output or default_table(options.file)
    if table == STANDARD and options.json:
        raise usage_error("--json and the table both go to standard output; name a file by -o")
    model = options.model
    if model is None and options.output is None and options.file != STANDARD:
        model = BESIDE_INPUT
    return Targets(
        table,
        _beside(model, options.file, MODEL_SUFFIX, "--model"),
        _beside(options.report, options.file, REPORT_SUFFIX, "--report"),
    )


def _beside(given: str | None, path: str, suffix: str, flag: str) -> str | None:
    if given == STANDARD:
        raise usage_error(f"{flag} - : this goes into a file, not to standard output")
    return beside(path, suffix, flag) if given == BESIDE_INPUT else given


def _write_beside(model: MCGTA, targets: Targets, *, force: bool) -> None:
    """Write the model and the report, where they are wanted."""
    if targets.model is not None:
        with writing(targets.model):
            model.save(targets.model)
    if targets.report is not None:
        with writing(targets.report):
            write_report(model, targets.report, force=force)


def _say_written(targets: Targets, screen: Screen) -> None:
    if not targets.files:
        return
    next_command = ""
    if targets.report is not None:
        next_command = shlex.join(["open", targets.report])
    elif targets.model is not None:
        next_command = shlex.join(["mcgta", "report", targets.model])
    screen.say_written(", ".join(targets.files), next_command)


def _values(model: MCGTA, looked: dict[str, Any], targets: Targets, notes: list[str]) -> dict[str, Any]:
    from mcgta import __version__

    provenance = model.fitted_.provenance
    return {
        "mcgta": __version__,
        "command": "cluster",
        **looked,
        "found": found_values(model),
        "repeat": "" if provenance is None else provenance.command,
        "wrote": {"table": targets.table, "model": targets.model, "report": targets.report},
        "notes": notes,
    }
