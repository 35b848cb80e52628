"""The lines of a table of results, and how they are printed and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mcgta.runtime.types import Array

Table = list[dict[str, Any]]


class Limits(NamedTuple):
    """The value wanted and the one aimed at; None where there is none."""

    must: float | None = None
    aim: float | None = None


@dataclass(frozen=True)
class Ratio:
    """A line of the table: how many times faster one side is.

    Attributes
    ----------
    row : the row of the table that the line belongs to
    case, rival : what was measured, and against what
    must, aim : the least ratio wanted and the one aimed at; None where there is none
    unit : of work
    ratio : their time over ours in a round, the median over rounds; None where it could not be measured
    low, high : its quartiles
    ours, theirs : seconds a unit, each the median over rounds
    holds : whether the results are as good as the row asks for; a ratio without that reaches nothing
    note : what else there is to know
    """

    row: str
    case: str
    rival: str
    must: float | None = None
    aim: float | None = None
    unit: str = "run"
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    ours: float | None = None
    theirs: float | None = None
    holds: bool = True
    note: str = ""

    @property
    def reached(self) -> str:
        """Which of the two limits the ratio reaches."""
        if self.ratio is None:
            return "not measured"
        if self.must is None or self.aim is None:
            return ""
        if not self.holds:
            return "no"
        return "aim" if self.ratio >= self.aim else "must" if self.ratio >= self.must else "no"

    def measured(
        self,
        ours: Sequence[list[float]],
        theirs: Sequence[list[float]],
        *,
        note: str = "",
        holds: bool = True,
        middle: Callable[[Array], Any] = np.median,
    ) -> Ratio:
        """Fill in what :func:`measuring.timing.in_turns` returned; ``middle`` is taken over rounds."""
        own = np.array([np.median(turn) for turn in ours])
        other = np.array([np.median(turn) for turn in theirs])
        low, high = np.quantile(other / own, [0.25, 0.75]).tolist()
        return replace(
            self,
            ratio=float(middle(other / own)),
            low=low,
            high=high,
            ours=float(middle(own)),
            theirs=float(middle(other)),
            holds=holds,
            note=note,
        )

    def record(self) -> dict[str, Any]:
        """Return what is written to the file of results."""
        return {**asdict(self), "reached": self.reached}


@dataclass(frozen=True)
class Measure:
    """A line of the table: a number that is to be small.

    Attributes
    ----------
    row, case : the row of the table that the line belongs to, and what was measured
    must, aim : the largest value wanted and the one aimed at; None where there is none
    unit : of the value
    value : None where it could not be measured
    note : what else there is to know
    """

    row: str
    case: str
    must: float | None = None
    aim: float | None = None
    unit: str = ""
    value: float | None = None
    note: str = ""

    @property
    def reached(self) -> str:
        """Which of the two limits the value keeps to."""
        if self.value is None:
            return "not measured"
        if self.must is None and self.aim is None:
            return ""
        for name, limit in (("aim", self.aim), ("must", self.must)):
            if limit is not None and self.value <= limit:
                return name
        return "no"

    def record(self) -> dict[str, Any]:
        """Return what is written to the file of results."""
        return {**asdict(self), "reached": self.reached}


def human(seconds: float | None) -> str:
    """Write seconds with three digits and a fitting unit."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def table_head() -> str:
    """Return the head of the printed table."""
    return _FORM.format("ratio", "against", "measured", "quartiles", "must", "aim", "reached", "ours", "theirs")


def table_line(line: Ratio | Measure) -> str:
    """Return a line of the printed table, its note below."""
    if isinstance(line, Measure):
        limits = (_digits(line.must), _digits(line.aim), line.reached)
        measured = "" if line.value is None else f"{_digits(line.value)} {line.unit}".rstrip()
        out = _FORM.format(line.case, "" if line.must is None else "at most", measured, "", *limits, "", "")
        return f"{out.rstrip()}\n    {line.note}" if line.note else out.rstrip()
    quartiles = "" if line.low is None else f"{_digits(line.low)} to {_digits(line.high)}"
    limits = (_digits(line.must), _digits(line.aim), line.reached)
    out = _FORM.format(
        line.case, line.rival, _digits(line.ratio), quartiles, *limits, human(line.ours), human(line.theirs)
    )
    return f"{out}\n    {line.note}" if line.note else out


_FORM = "{:<57} {:<33} {:>8} {:>13} {:>5} {:>5} {:<12} {:>8} {:>8}"


def describe(about: dict[str, Any]) -> str:
    """Say in two lines what :func:`measuring.environment.environment` returned."""
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    machine = f"{about['processor']}, {about['cores']} cores, load average {about['load']}"
    return f"{versions}\n{machine}, {about['system']}, {about['blas']}"


def write_results(
    file: Path, about: dict[str, Any], lines: Iterable[Ratio | Measure], tables: dict[str, Table]
) -> None:
    """Write the results of a run, as the documentation reads them."""
    content: dict[str, Any] = {"environment": about, "ratios": [], "measures": []}
    for line in lines:
        content["ratios" if isinstance(line, Ratio) else "measures"].append(line.record())
    if not content["measures"]:
        del content["measures"]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**content, **tables}, indent=1) + "\n")


def print_tables(tables: dict[str, Table]) -> None:
    """Print what stands beside the ratios."""
    for row in tables.get("arithmetic", ()):
        speed = f"{row['gflops']:5.1f} GFLOP/s, {row['share']:4.0%} of the {row['dgemm']:.1f} of dgemm"
        print(
            f"W2 squared, d = {row['d']:2d}: {human(row['seconds']):>7} a pair, {row['operations']:5d} operations, {speed}"
        )
    for row in tables.get("semivariogram", ()):
        print(
            f"semivariogram, {row['bins']} bins: relative error {row['median_error']:.1e} median, "
            f"{row['largest_error']:.1e} largest; stated {row['median_stated']:.1e} median"
        )
        if row["error_over_stated"] is not None:
            print(
                f"    error over the standard error stated: root mean square {row['error_over_stated']:.2f}, "
                f"{row['within_two']:.0%} of the bins within two"
            )
    for row in tables.get("startup", ()):
        limit = "" if row["limit"] is None else f"  (at most {row['limit']:g} s)"
        print(f"{row['what']:<58} {row['seconds']:6.2f} s{limit}")
    for row in tables.get("fits", ()):
        print(_fit_line(row))
    for row in tables.get("growth", ()):
        steps = ", ".join(f"{human(seconds)} at {size:,}" for size, seconds in row["seconds"])
        print(f"{row['data']}, {row['clusterer']}, {row['stage']}: grows as N^{row['exponent']:.2f} ({steps})")


def _fit_line(row: dict[str, Any]) -> str:
    head = f"{row['data']}, {row['clusterer']}, N = {row['count']:,}: "
    if "failed" in row:
        return f"{head}{row['failed']}"
    backend = row["backend"]
    stages = (f"{stage} {human(seconds)}" for stage, seconds in row["seconds"].items())
    return (
        f"{head}{human(row['total'])}, peak {row['peak'] / 1e9:.2f} GB ({row['peak_before'] / 1e9:.2f} before), backend "
        f"{backend['name']}, exact {backend['exact_share']:.1e} of the pairs, {row['clusters']} clusters, "
        f"noise {row['noise']:.0%}\n"
        f"    {', '.join(stages)}"
    )
