"""``python -m paper``: run the cells of the plan, as far as they have not been run, and render tables and figures."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mcgta.datasets.cache import VARIABLE
from mcgta.runtime.memory import budget
from mcgta.runtime.sizes import say_size
from paper.arguments import MIN_MEMORY, PROGRAM, parse_arguments
from paper.rendering.overview import overview_text
from paper.rendering.tables import render
from paper.running.caps import Caps
from paper.running.cells import STATUSES, Cell, Solving
from paper.running.environment import code_version
from paper.running.records import Record, read_records
from paper.running.runner import Rerun, run_cells

RESULTS = "results.jsonl"
TABLES = "tables.md"
FIGURES = "figures"

_NOT_RUN = ("unsuitable", "missing data", "missing package")

_CURES = {
    "missing data": f"Their loaders (mcgta.datasets.load_...) download what can be had, and say of other files where to get "
    f"them; folders in {VARIABLE} are looked through. Then run this again",
    "missing package": "Install what is named, then add --again 'missing package'",
}
"""What to do about cells that have not been run for want of something."""


class Plan(Protocol):
    """A module with these names, which says what there is to run."""

    @property
    def TABLES(self) -> Sequence[str]:  # noqa: N802 - a constant of the module
        """Names of the tables."""

    def cells(
        self,
        tables: Sequence[str] | None = None,
        data: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        seeds: int | None = None,
        quick: bool = False,
    ) -> list[Cell]:
        """Return the cells of these tables, data sets and methods, None being all; ``quick`` leaves out what takes long."""

    def has_data(self, name: str) -> bool:
        """Whether a data set is there now."""

    def prepare(self) -> None:
        """Do what is done once, before the first cell is run."""

    def solve(self, cell: Cell) -> Solving:
        """Begin to compute a cell."""


class Figures(Protocol):
    """A module with this name, which draws."""

    def draw(self, folder: Path, records: list[Record]) -> list[Path]:
        """Draw what the records hold into the folder, and return the files."""


class _Refused(Exception):  # noqa: N818 - it never leaves this module
    """Something that was asked for cannot be done."""


def main(arguments: Sequence[str] | None = None, *, plan: Plan | None = None, figures: Figures | None = None) -> int:
    """Run with these arguments, or with those of the command line; return the exit status.

    Parameters
    ----------
    plan, figures : modules; None for the paper's
    """
    args = parse_arguments(arguments)
    try:
        return _run(args, plan or _own_plan(), figures)
    except _Refused as refusal:
        _say(f"{PROGRAM}: error: {refusal}")
        return 2
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        then = "begins anew, as --fresh says" if args.fresh else "goes on from there"
        _say(f"interrupted; {args.out / RESULTS} has what was done, and the same command {then}")
        return 130


def _run(args: argparse.Namespace, plan: Plan, figures: Figures | None) -> int:
    cells = _choose(args, plan)
    if args.out.exists() and not args.out.is_dir():
        raise _Refused(f"--out {args.out} is a file; it must be a folder, or not be there yet")
    file = args.out / RESULTS
    if args.render and not file.exists():
        raise _Refused(f"--render: there are no results in {file}; run {PROGRAM} --out {args.out} first")
    try:
        records = read_records(file)
    except (ValueError, OSError) as error:
        raise _Refused(str(error)) from error
    if args.list:
        _list(cells, records)
        return 0
    _warn_of_folders()
    if not args.render:
        memory = args.memory or _share(args.jobs)
        _say(
            f"{len(cells)} cells, {args.jobs} at a time, each up to {args.seconds:g} s of the processor and "
            f"{'any amount' if memory is None else say_size(int(memory))} of memory"
        )
        with _writing(args.out):  # before anything takes time
            args.out.mkdir(parents=True, exist_ok=True)
            open(file, "ab").close()
        with _alone(args.out), _writing(args.out):
            _tell_of_kept(cells, records, args, memory)
            rerun = Rerun(args.again, _found_since(cells, records, plan), args.fresh)
            if _left(cells, records, rerun):
                plan.prepare()
            caps = Caps(args.seconds, memory=memory)
            run_cells(cells, plan.solve, file, jobs=args.jobs, caps=caps, rerun=rerun, progress=_tell)
            records = read_records(file)
    with _writing(args.out):
        _render(args.out, records, cells, figures)
    return 0


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other runs out of the folder, where the system has locks that end with their process."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _Refused(f"--out {folder} is in use by another run; wait for it, or give another folder") from error
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(held)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Refuse a folder that cannot be used."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise _Refused(f"--out {folder} cannot be used: {error}") from error


def _own_plan() -> Plan:
    from paper import plan

    return plan


def _own_figures() -> Figures:
    from paper.rendering import figures

    return figures


def _choose(args: argparse.Namespace, plan: Plan) -> list[Cell]:
    """Return the cells that were asked for; refuse names that the plan does not have."""
    known = plan.cells()
    for option, asked, allowed in (
        ("TABLE", args.tables, plan.TABLES),
        ("--data", args.data, [cell.data for cell in known]),
        ("--method", args.method, [cell.method for cell in known]),
    ):
        wrong = [name for name in asked or () if name not in allowed]
        if wrong:
            raise _Refused(f"{option} {wrong[0]!r} is not known; choose from {', '.join(dict.fromkeys(allowed))}")
    cells = plan.cells(
        tables=args.tables or None, data=args.data, methods=args.method, seeds=args.seeds, quick=args.quick
    )
    if not cells:
        raise _Refused("no cell of the plan is of these tables, data sets and methods; --list shows what there is")
    return cells


def _left(cells: list[Cell], records: list[Record], rerun: Rerun) -> bool:
    """Whether there is a cell to run."""
    known = {record["key"]: record for record in records}
    return any(cell.key not in known or rerun.asks_for(known[cell.key]) for cell in cells)


def _found_since(cells: list[Cell], records: list[Record], plan: Plan) -> set[str]:
    """Return the keys of cells whose data were missing and are there now."""
    wanted = {cell.key for cell in cells}
    missing = [one for one in records if one["key"] in wanted and one["status"] == "missing data"]
    there = {data for data in {one["data"] for one in missing} if plan.has_data(data)}
    return {one["key"] for one in missing if one["data"] in there}


def _tell_of_kept(cells: list[Cell], records: list[Record], args: argparse.Namespace, memory: float | None) -> None:
    """Say that cells are kept which had met a smaller cap than there is now, or were run by other code."""
    wanted = set() if args.fresh else {cell.key for cell in cells}
    kept = [one for one in records if one["key"] in wanted and one["status"] not in args.again]
    short = [one["status"] for one in kept if _met_less(one, args.seconds, memory)]
    if short:
        _say(
            f"kept although they had met a smaller cap than there is now: {len(short)}; to run them again, add --again "
            f"{' '.join(sorted(set(short)))}"
        )
    ran = [one for one in kept if one["status"] not in _NOT_RUN]
    others = Counter(one.get("code") or "unknown" for one in ran if one.get("code") != code_version())
    if others:
        listed = ", ".join(f"{count} of {code}" for code, count in others.items())
        _say(f"kept from other versions of mcgta, this being {code_version()}: {listed}; to run all again, add --fresh")


def _met_less(record: Record, seconds: float, memory: float | None) -> bool:
    """Whether a cell had met a smaller cap than these."""
    caps = record.get("caps") or {}
    status = record["status"]
    last = record["note"].split("; ")[-1]  # which cap it was
    if status == "memory" or (status == "capped" and last.startswith("held ")):
        return (caps.get("memory") or math.inf) < (memory or math.inf)
    return status in ("capped", "time") and caps.get("seconds", 0) < seconds


def _warn_of_folders() -> None:
    for part in os.environ.get(VARIABLE, "").split(os.pathsep):
        if part and not Path(part).expanduser().is_dir():
            _say(f"{PROGRAM}: warning: {VARIABLE} names {part}, which is no folder")


def _share(jobs: int) -> int | None:
    """Return the bytes that a cell may hold by default: its share of the budget."""
    free = budget()
    if free is not None and free // jobs < MIN_MEMORY:
        raise _Refused(
            f"--jobs {jobs} leaves {say_size(free // jobs)} of memory for each cell, and "
            f"{say_size(int(MIN_MEMORY))} is the least; it must be "
            f"{max(1, int(free // MIN_MEMORY))} at most, or --memory must be set"
        )
    return None if free is None else free // jobs


def _render(folder: Path, records: list[Record], cells: list[Cell], figures: Figures | None) -> None:
    (folder / TABLES).write_text(render(records, cells), encoding="utf-8")
    files = [folder / RESULTS, folder / "environment.json", folder / TABLES]
    try:
        files += (figures or _own_figures()).draw(folder / FIGURES, records)
    except ImportError as error:
        _say(f"no figures: {error}")
    overview = overview_text(records, cells)
    if overview:
        sys.stdout.write(overview + "\n")
        sys.stdout.flush()
    ends = Counter(record["status"] for record in records)
    _say("; ".join(f"{ends[status]} {status}" for status in STATUSES if ends[status]))
    for status, cure in _CURES.items():
        lacking = dict.fromkeys(
            str(one["data" if "data" in status else "note"]) for one in records if one["status"] == status
        )
        if lacking:
            _say(f"{status}: {'; '.join(lacking)}. {cure}")
    for file in files:
        if file.exists():
            _say(str(file))


def _list(cells: list[Cell], records: list[Record]) -> None:
    ends = {record["key"]: record["status"] for record in records}
    widths = [max(len(str(value)) for value in column) for column in zip(*map(_named, cells), strict=True)]
    for cell in cells:
        line = "  ".join(map(str.ljust, _named(cell), widths))
        sys.stdout.write(f"{line}  {ends.get(cell.key, '')}".rstrip() + "\n")
    sys.stdout.flush()


def _named(cell: Cell) -> list[str]:
    return [str(value) for value in cell.fields().values()]


def _tell(number: int, most: int, record: Record) -> None:
    """Write a line for a cell that is done."""
    score = "" if record["ari"] is None else f"  ARI {record['ari']:.1f}"
    spent = f"  {record['total']:.1f} s" + (f" for {record['tried']}" if record["tried"] > 1 else "")
    why = f"  {record['note']}" if record["status"] != "ok" and record["note"] else ""
    _say(
        f"{number:>{len(str(most))}} of {most}  {record['table']}  {record['data']}  {record['method']}  "
        f"{record['setting']}  seed {record['seed']}  {record['status']}{score}{spent}{why}"
    )


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
