"""``mcgta tune``: settings chosen by known labels."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcgta.cli.estimating import computing, repeating_command, with_metric
from mcgta.cli.failures import unusable, usage_error
from mcgta.cli.flags import (
    add_column_flags,
    add_file_beside,
    add_force_flag,
    add_general_flags,
    add_setting_flags,
    add_work_flags,
    whole_number,
)
from mcgta.cli.parameters import name_and_value, progress_of, read_list, read_params
from mcgta.cli.reading import (
    Input,
    given_roles,
    guessed_flags,
    make_provenance,
    named_features,
    read_table,
    say_columns,
    settle_missing,
    settled_missing,
    with_roles,
)
from mcgta.cli.screen import Screen
from mcgta.cli.streams import STANDARD, writing
from mcgta.cli.targets import BESIDE_INPUT, MODEL_SUFFIX, beside, check_targets

if TYPE_CHECKING:
    from mcgta.estimator import MCGTA
    from mcgta.validation.result import Tuning

DESCRIPTION = (
    "Choose settings by known labels of some rows. All rows are clustered with every setting; the setting that agrees "
    "best with the labels is chosen, and scored on labels held out in blocks of time or space, which tells what to "
    "expect of rows without labels. Empty labels and -1 are unknown."
)
EXAMPLES = (
    "mcgta tune readings.csv --labels state",
    "mcgta tune readings.csv --labels state --grid n_neighbors=20,30,45 --grid beta=0,1 --model best.mcgta",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE", help="table to read; - for CSV on standard input")
    search = parser.add_argument_group("search")
    search.add_argument("--labels", metavar="C", required=True, help="column of the known labels; it is no feature")
    search.add_argument(
        "--grid",
        metavar="NAME=V[,V]",
        action="append",
        default=[],
        type=name_and_value,
        help="values of a parameter to try, such as n_neighbors=20,30; can be repeated; default: a grid of usual values",
    )
    search.add_argument(
        "--folds", metavar="F", type=whole_number(2), default=5, help="parts that are held out; default: 5"
    )
    search.add_argument("--scoring", choices=("ari", "ami", "nmi"), default="ari", help="agreement; default: ari")
    search.add_argument(
        "--noise",
        choices=("class", "singletons", "left-out"),
        default="class",
        help="how noise is scored: as a class (default), each row by itself, or not at all",
    )
    search.add_argument(
        "--search", choices=("grid", "optuna"), default="grid", help="every setting (default), or Optuna's"
    )
    search.add_argument("--trials", metavar="T", type=whole_number(1), help="trials of Optuna")
    search.add_argument("--seed", metavar="S", type=whole_number(0), default=0, help="of what is random; default: 0")
    add_column_flags(parser)
    add_setting_flags(parser, clusters=False)
    output = parser.add_argument_group("output")
    add_file_beside(output, "--model", "save the model with the chosen settings; without a name as FILE.mcgta")
    add_force_flag(output)
    add_work_flags(parser)
    add_general_flags(parser)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Try the settings."""
    from mcgta import __version__

    target = _target(options)
    if target is not None:
        check_targets({"the model": target}, {"the input": options.file}, force=options.force)
    if options.trials is not None and options.search != "optuna":
        raise usage_error(
            f"--trials {options.trials} has no effect without --search optuna: a grid tries every setting"
        )
    params = read_params(options)
    grid = _read_grid(options)
    with computing(options):
        data = _read(options, screen)
        settle_missing(data, params.get("missing", "error"), screen)
        with settled_missing():
            found = _tune(options, params, grid, data)
    command = repeating_command(options, data, _chosen(options, found), ignored=(options.labels,))
    screen.show_lines(found.summary())
    screen.show_lines(f"\nrun  {command}")
    if target is not None:
        best = found.best_estimator.refit(n_jobs=None, progress="auto")
        best = best.with_provenance(make_provenance(data, params.get("missing", "error"), command))
        with writing(target):
            best.save(target)
        screen.say_written(target, shlex.join(["mcgta", "report", target]))
    screen.give(
        {
            "mcgta": __version__,
            "command": "tune",
            **_values(found),
            "run": command,
            "wrote": {"model": target},
            "notes": screen.notes,
        }
    )


def _target(options: argparse.Namespace) -> str | None:
    if options.model == STANDARD:
        raise usage_error("--model -: a model goes into a file, not to standard output")
    model: str | None = options.model
    return beside(options.file, MODEL_SUFFIX, "--model") if model == BESIDE_INPUT else model


def _read_grid(options: argparse.Namespace) -> dict[str, list[Any]] | None:
    """Return the values to try; None for the usual ones."""
    grid: dict[str, list[Any]] = {}
    for name, text in options.grid:
        if name in grid:
            raise usage_error(f"--grid {name}={text}: {name} is given more than once")
        grid[name] = read_list(name, text)
    return grid or None


def _read(options: argparse.Namespace, screen: Screen) -> Input:
    """Read the table; the labels are no feature."""
    table = read_table(options.file, screen)
    screen.say("read", f"{table.name}: {say_columns(table)}")
    if options.labels not in table.columns:
        raise unusable(f"{table.name} has no column {options.labels!r}", f"it has {', '.join(table.columns)}")
    given = given_roles(options, table)
    given = replace(given, ignored={**given.ignored, options.labels: ""})
    data = with_roles(options, table, given)
    guessed = guessed_flags(data)
    if guessed:
        screen.say_command("guessed", guessed)
    return data


def _tune(
    options: argparse.Namespace, params: dict[str, Any], grid: dict[str, list[Any]] | None, data: Input
) -> Tuning:
    from mcgta.estimator import MCGTA
    from mcgta.validation.tune import tune

    params = with_metric(params, data, options)
    params.setdefault("random_state", options.seed)
    estimator: MCGTA = MCGTA(**params)
    return tune(
        named_features(data),
        data.table.columns[options.labels],
        positions=data.observations.positions,
        groups=data.observations.groups,
        estimator=estimator,
        grid=grid,
        folds=options.folds,
        scoring=options.scoring,
        noise=options.noise.replace("-", " "),
        search=options.search,
        trials=options.trials,
        random_state=options.seed,
        progress=progress_of(options),
    )


def _chosen(options: argparse.Namespace, found: Tuning) -> list[tuple[str, str]]:
    """Return the parameters of the fit that was chosen, those set by the user first."""
    best = found.best_params
    given = [(name, text) for name, text in options.set if name not in best]
    if options.seed and "random_state" not in dict(options.set):
        given.append(("random_state", str(options.seed)))
    return [*given, *((name, "none" if value is None else str(value)) for name, value in best.items())]


def _values(found: Tuning) -> dict[str, Any]:
    return {
        "score": found.score,
        "spread": found.spread,
        "scoring": found.scoring,
        "noise": found.noise,
        "labels": found.labels,
        "classes": found.classes,
        "unknown": found.unknown,
        "best": {"params": found.best_params, "score": found.best_score, "clusters": found.best_estimator.n_clusters_},
        "folds": [vars(fold) for fold in found.folds],
        "settings": found.settings,
    }
