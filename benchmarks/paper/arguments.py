"""The arguments of ``python -m paper``."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path

from mcgta.runtime.sizes import read_size, say_size
from paper.running.cells import STATUSES

PROGRAM = "python -m paper"
MIN_MEMORY = 200e6  # bytes that any cell needs


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read these arguments, or those of the command line."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Run the paper's experiments cell by cell, each in a process of its own with a cap on time and memory, "
        "and render tables and figures. What was run before is not run again: the command can be stopped at any time, and "
        "goes on where it was.",
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="tables to run; all, if none is named")
    parser.add_argument("--data", nargs="+", metavar="NAME", action="extend", help="only these data sets")
    parser.add_argument("--method", nargs="+", metavar="NAME", action="extend", help="only these methods")
    parser.add_argument("--out", type=Path, default=Path("bench"), metavar="FOLDER", help="for results (%(default)s)")
    parser.add_argument(
        "--jobs",
        type=_count,
        default=min(2, os.cpu_count() or 1),
        metavar="N",
        help="cells at the same time, each on one thread (%(default)s)",
    )
    parser.add_argument(
        "--seconds", type=_seconds, default=600.0, metavar="S", help="of the processor for a cell (%(default)g)"
    )
    parser.add_argument(
        "--memory", type=_size, metavar="SIZE", help="for a cell, such as 4GB (what is free, shared among the jobs)"
    )
    parser.add_argument("--seeds", type=_count, metavar="N", help="how many where a method or data are random")
    parser.add_argument("--quick", action="store_true", help="leave out what takes long")
    parser.add_argument("--fresh", action="store_true", help="run cells again that have been run")
    parser.add_argument(
        "--again",
        nargs="+",
        action="extend",
        default=[],
        choices=STATUSES,
        metavar="STATUS",
        help=f"run cells again that have ended so: {', '.join(map(repr, STATUSES))}",
    )
    parser.add_argument("--render", action="store_true", help="render what is there; run nothing")
    parser.add_argument("--list", action="store_true", help="print the cells; run nothing")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed: it must be an integer >= 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed: it must be a number of seconds > 0")
    return value


def _size(text: str) -> float:
    size = read_size(text)
    if size is None or not MIN_MEMORY <= size < math.inf:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not allowed: it must be a size such as '1.5GB' or '800MiB', {say_size(int(MIN_MEMORY))} or more"
        )
    return size
