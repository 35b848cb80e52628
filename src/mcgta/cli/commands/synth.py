"""``mcgta synth``: a table with known clusters, as CSV."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from mcgta.cli.failures import usage_error
from mcgta.cli.flags import add_force_flag, add_general_flags, add_table_flag, whole_number
from mcgta.cli.parameters import name_and_value, read_text
from mcgta.cli.parser import nearest
from mcgta.cli.screen import Screen
from mcgta.cli.streams import STANDARD, writing
from mcgta.cli.targets import check_targets

if TYPE_CHECKING:
    from mcgta.datasets import Sample

DESCRIPTION = (
    "Make a table with known clusters, to try things on: a series of sensor readings whose state changes from time to "
    "time, a map of overlapping regions, or a map of regions that are mixtures of kinds. The clusters of the first two "
    "differ in how features vary together, as in the paper's synthetic data, those of the third in their shares of kinds. "
    "The same arguments give the same bytes."
)
EXAMPLES = (
    "mcgta synth -o demo.csv",
    "mcgta synth regions --rows 2000 --clusters 4 --seed 7 --truth -o map.csv",
    "mcgta synth --set segment_lengths=20,60 --set shift=1 | mcgta cluster -",
)
DEFAULT_ROWS = 1500
DEFAULT_CLUSTERS = 3
DEFAULT_FEATURES = 5


class Recipe(NamedTuple):
    """A kind of table.

    Attributes
    ----------
    stream : name of the function of :mod:`mcgta.datasets` that makes it
    knobs : module and name of the class that has its parameters
    """

    stream: str
    knobs: tuple[str, str]


RECIPES = {
    "series": Recipe("stream_series", ("mcgta.datasets.series", "SeriesRecipe")),
    "regions": Recipe("stream_regions", ("mcgta.datasets.regions", "RegionsRecipe")),
    "mixed": Recipe("stream_mixed_regions", ("mcgta.datasets.mixed_regions", "MixedRegionsRecipe")),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "kind",
        metavar="KIND",
        nargs="?",
        choices=tuple(RECIPES),
        default="series",
        help="series (default), regions or mixed",
    )
    group = parser.add_argument_group("table")
    group.add_argument(
        "--rows",
        metavar="N",
        type=whole_number(1),
        help=f"rows; {DEFAULT_ROWS:,} unless other settings give their number",
    )
    group.add_argument("--clusters", metavar="K", type=whole_number(1), default=DEFAULT_CLUSTERS, help="default: 3")
    group.add_argument("--features", metavar="D", type=whole_number(1), default=DEFAULT_FEATURES, help="default: 5")
    group.add_argument("--seed", metavar="S", type=whole_number(0), default=0, help="of what is random; default: 0")
    group.add_argument("--truth", action="store_true", help="add a column with the true cluster of each row")
    group.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=name_and_value,
        help="any other parameter of mcgta.datasets.make_series, make_regions or make_mixed_regions, such as "
        "segment_lengths=20,60",
    )
    output = parser.add_argument_group("output")
    add_table_flag(output, "CSV to write; standard output by default")
    add_force_flag(output)
    add_general_flags(parser, json=False)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Make the table and write it."""
    target = options.output or STANDARD
    if target != STANDARD and not target.lower().endswith(".csv"):
        raise usage_error(f"-o {target}: synth writes CSV; name a file that ends in .csv")
    check_targets({"the table": target}, {}, force=options.force)
    blocks = _make(options)
    with writing(target), _opened(target) as file:
        n_rows, columns = _write(file, blocks, truth=options.truth)
    if target != STANDARD:
        screen.say_written(f"{target}: {n_rows:,} rows, columns {', '.join(columns)}", _next_command(options))


def _next_command(options: argparse.Namespace) -> str:
    """Return the command that clusters the table; the truth is no feature."""
    arguments = ["mcgta", "cluster", options.output, *(["--ignore", "truth"] if options.truth else [])]
    return shlex.join(arguments)


def _make(options: argparse.Namespace) -> Iterator[Sample]:
    """Return the rows in blocks; refuse settings that there are none of."""
    from mcgta import datasets

    knobs: dict[str, Any] = {
        "n_clusters": options.clusters,
        "n_features": options.features,
        "random_state": options.seed,
    }
    flags = {"n_clusters": "--clusters", "n_features": "--features", "random_state": "--seed", "n_samples": "--rows"}
    for name, text in options.set:
        if name in flags:
            raise usage_error(f"--set {name}={text}: use {flags[name]}")
        knobs[name] = _read_knob(name, text, options.kind)
    gives_rows = "n_segments" in knobs or "sizes" in knobs
    rows = options.rows or (None if gives_rows else DEFAULT_ROWS)
    try:
        blocks: Iterator[Sample] = getattr(datasets, RECIPES[options.kind].stream)(rows, **knobs)
    except ValueError as error:
        raise usage_error(str(error)) from error
    return blocks


def _read_knob(name: str, text: str, kind: str) -> Any:
    """Return the value of a setting that a text stands for."""
    from dataclasses import fields
    from importlib import import_module

    from mcgta.datasets.knobs import PAIRS, SINGLE
    from mcgta.runtime.rules import INF, Rule

    module, recipe = RECIPES[kind].knobs
    known = [field.name for field in fields(getattr(import_module(module), recipe))]
    if name not in known:
        raise usage_error(
            f"{kind} have no parameter {name!r}{nearest(name, known)}", f"parameters are {', '.join(known)}"
        )
    if "," in text:
        return tuple(read_text(part.strip(), PAIRS.get(name, Rule())) for part in text.split(","))
    return read_text(text, SINGLE.get(name) or PAIRS.get(name) or Rule(real=(-INF, INF)))


def _feature_names(count: int) -> list[str]:
    return [f"x{k}" for k in range(count)]


def _write(file: IO[str], blocks: Iterable[Sample], *, truth: bool) -> tuple[int, list[str]]:
    """Write the blocks as CSV with numbers of six digits; return the number of rows and the names of columns."""
    import numpy as np

    n_rows = 0
    names: list[str] = []
    for block in blocks:
        count, width = block.X.shape
        along_time = block.positions.ndim == 1
        if n_rows == 0:
            names = [*(["t"] if along_time else ["x", "y"]), *_feature_names(width), *(["truth"] if truth else [])]
            file.write(",".join(names) + "\n")
        formats = ["%d"] if along_time else ["%.6g", "%.6g"]
        line = ",".join(formats + ["%.6g"] * width + ["%d"] * truth) + "\n"
        parts = [block.positions.reshape(count, -1), block.X, *([block.labels[:, None]] if truth else [])]
        file.writelines(line % tuple(row) for row in np.column_stack(parts).tolist())
        n_rows += count
    return n_rows, names


@contextmanager
def _opened(target: str) -> Iterator[IO[str]]:
    """Open the file to write, which replaces an older one when it is complete, or standard output."""
    if target == STANDARD:
        yield sys.stdout
        return
    import io

    from mcgta.runtime.replacing import replacing

    with replacing(target) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()
