"""``mcgta semivariogram``: how far apart rows are related."""

from __future__ import annotations

import argparse
import csv
import sys
from typing import IO, TYPE_CHECKING, Any

from mcgta.cli.estimating import computing, fit_semivariogram_of
from mcgta.cli.failures import usage_error
from mcgta.cli.flags import (
    add_column_flags,
    add_force_flag,
    add_general_flags,
    add_setting_flags,
    add_table_flag,
    add_work_flags,
)
from mcgta.cli.models import read_model
from mcgta.cli.parameters import read_params
from mcgta.cli.reading import ROLE_FLAGS, guessed_flags, read_input, say_columns
from mcgta.cli.screen import Screen
from mcgta.cli.streams import STANDARD, writing
from mcgta.cli.targets import MODEL_SUFFIX, check_targets

if TYPE_CHECKING:
    from mcgta.stages.semivariogram.curve import Semivariogram

DESCRIPTION = (
    "Tell how far apart rows are related, without clustering them: the range, beyond which rows tell nothing of each "
    "other, the sill and the nugget of the semivariogram, and its bins of distance. A model that `mcgta cluster` has "
    "saved can be given in the place of a table."
)
EXAMPLES = ("mcgta semivariogram readings.csv", "mcgta semivariogram readings.mcgta -o bins.csv")
BIN_COLUMNS = ("from", "to", "distance", "semivariance", "fitted", "pairs", "standard_error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE", help="table or saved model to read; - for CSV on standard input")
    add_column_flags(parser)
    add_setting_flags(parser, clusters=False)
    output = parser.add_argument_group("output")
    add_table_flag(output, "CSV of the bins to write; - for standard output, in place of the table for people")
    add_force_flag(output)
    add_work_flags(parser)
    add_general_flags(parser)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Estimate the semivariogram and show it."""
    from mcgta import __version__

    target = options.output
    if target == STANDARD and options.json:
        raise usage_error("--json and -o - both go to standard output; name a file by -o")
    if target not in (None, STANDARD) and not target.lower().endswith(".csv"):
        raise usage_error(f"-o {target}: bins are written as CSV; name a file that ends in .csv")
    if target is not None:
        check_targets({"the bins": target}, {"the input": options.file}, force=options.force)
    found = _find(options, screen)
    if target == STANDARD:
        with writing(STANDARD):
            _write_bins(sys.stdout, found)
    else:
        _show(found, screen)
    if target not in (None, STANDARD):
        with writing(target):
            _write_file(target, found)
        screen.say_written(target)
    screen.give({"mcgta": __version__, "command": "semivariogram", **_values(found), "notes": screen.notes})


def _find(options: argparse.Namespace, screen: Screen) -> Semivariogram:
    """Return the semivariogram of a model, or estimate that of a table."""
    if options.file.lower().endswith(MODEL_SUFFIX):
        _refuse_flags(options)
        return read_model(options.file).semivariogram_
    params = read_params(options)
    _refuse_later_settings(options)
    with computing(options):
        data = read_input(options, screen)
        screen.say("read", f"{data.table.name}: {say_columns(data.table)}")
        guessed = guessed_flags(data)
        if guessed:
            screen.say_command("guessed", guessed)
        return fit_semivariogram_of(options, params, data, screen)


def _refuse_flags(options: argparse.Namespace) -> None:
    """Refuse flags that say how a table is read, where a model is."""
    for name in (*ROLE_FLAGS, "ignore", "standardize", "missing", "time_scale", "set"):
        if getattr(options, name):
            flag = name.replace("_", "-")
            raise usage_error(f"--{flag} has no effect on {options.file}, a model that has its semivariogram already")


def _refuse_later_settings(options: argparse.Namespace) -> None:
    """Refuse settings of what comes after the semivariogram."""
    from mcgta.settings import names_of

    for name, text in options.set:
        if name in names_of("loss", "clustering", "labels"):
            raise usage_error(f"--set {name}={text} has no effect on the semivariogram, which comes before")


def _show(found: Semivariogram, screen: Screen) -> None:
    from mcgta.runtime.wording import say_distance, say_number, say_share

    screen.show("range", f"{say_distance(found.range_, found.unit)}: rows farther apart tell nothing of each other")
    screen.show("sill", f"{say_number(found.sill_)}: semivariance of rows that are far apart")
    share = found.nugget_ / found.sill_ if found.sill_ > 0 else 0.0
    screen.show(
        "nugget", f"{say_number(found.nugget_)}: semivariance of rows at distance zero, {say_share(share)} of the sill"
    )
    screen.show("model", f"{found.model}, explains {say_share(max(found.r2, 0.0))} of the bins' variance")
    screen.show("", "")
    rows = [
        (
            say_distance(item["distance"], found.unit),
            *(say_number(item[name]) for name in ("semivariance", "fitted")),
            f"{item['pairs']:,}",
        )
        for item in _bins(found)
        if item["pairs"]
    ]
    screen.show_table(("distance", "semivariance", "fitted", "pairs"), rows, left=())


def _bins(found: Semivariogram) -> list[dict[str, Any]]:
    """Return the bins as rows of a table."""
    errors = found.errors if found.errors is not None else found.values * 0
    columns = (found.edges[:-1], found.edges[1:], found.lags, found.values, found(found.lags), found.counts, errors)
    return [
        dict(zip(BIN_COLUMNS, row, strict=True)) for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _values(found: Semivariogram) -> dict[str, Any]:
    return {
        "model": found.model,
        "range": found.range_,
        "sill": found.sill_,
        "nugget": found.nugget_,
        "unit": found.unit,
        "r2": found.r2,
        "bins": _bins(found),
    }


def _write_bins(file: IO[str], found: Semivariogram) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(BIN_COLUMNS)
    for item in _bins(found):
        writer.writerow(["" if value != value else value for value in item.values()])


def _write_file(path: str, found: Semivariogram) -> None:
    import io

    from mcgta.runtime.replacing import replacing

    text = io.StringIO()
    _write_bins(text, found)
    with replacing(path) as file:
        file.write(text.getvalue().encode())
