"""``mcgta report``: the report of a saved model."""

from __future__ import annotations

import argparse
import shlex

from mcgta.cli.failures import usage_error
from mcgta.cli.flags import add_force_flag, add_general_flags, add_table_flag, add_work_flags
from mcgta.cli.models import read_model
from mcgta.cli.parameters import progress_of
from mcgta.cli.reporting import write_report
from mcgta.cli.screen import Screen
from mcgta.cli.streams import STANDARD, writing
from mcgta.cli.targets import REPORT_SUFFIX, beside, check_targets, report_targets

DESCRIPTION = (
    "Write what a saved model has found as one HTML file that opens in any browser and loads nothing from a network, "
    "and its values as JSON beside it."
)
EXAMPLES = ("mcgta report readings.mcgta", "mcgta report readings.mcgta -o report.html --title 'Pump 7, March'")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL", help="model that `mcgta cluster` has saved")
    output = parser.add_argument_group("output")
    add_table_flag(output, "HTML to write; MODEL.html by default")
    output.add_argument("--title", metavar="TEXT", help="title of the page; the name of the input by default")
    add_force_flag(output)
    add_work_flags(parser)
    add_general_flags(parser)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Write the report."""
    from mcgta import __version__
    from mcgta.cli.estimating import computing

    target = options.output or beside(options.model, REPORT_SUFFIX, "-o")
    if target == STANDARD:
        raise usage_error("-o -: a report is two files, and does not go to standard output")
    targets = report_targets(target)
    check_targets(targets, {"the model": options.model}, force=options.force)
    with computing(options):
        model = read_model(options.model)
        model.set_params(n_jobs=options.jobs, progress=progress_of(options))
        with writing(target):
            write_report(model, target, force=options.force, title=options.title)
    screen.say_written(", ".join(targets.values()), shlex.join(["open", target]))
    screen.give(
        {
            "mcgta": __version__,
            "command": "report",
            "wrote": {"report": target, "values": targets["the values of the report"]},
            "notes": screen.notes,
        }
    )
