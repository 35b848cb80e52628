"""What a fit without settings finds: MCGTA().fit(X, positions=...), with labels for scoring only, beside other methods.

Made data have seeds from --first-seed on, on which nothing was tuned. ARI and AMI have noise as a class of its own;
"noise assigned" is a second fit with refine="noise" where there is noise. Rows, in rows.py, belong to parts:

    table        the paper's synthetic sets, autocorrelated ones, regions on smooth fields, Pavement, Vehicle, iNat
    one, heavy   data of one cluster, and with heavy tails or volatility: the share of runs that find one
    states       series whose states differ by how they move; motion capture
    places       cortical layers, crops, zones of the cortex
    dynamics     made states of equal mean and covariance that differ in how they move
    mixed        regions of mixed kinds; mixed-nulls has a single region
    gestures     records of smooth curves, as groups or as one long series
    nulls        series that depend on their past, wander or have seasons, without states
    alone        the clusterer's own labels, settings by evidence
    time         the fit without settings against a plain one on Vehicle, in turns, one thread, by the processor's clock
    memory       the peak of the fit without settings at 704,970 observations of 3 features, in a process of its own
    other        data of many other kinds, which have no limits; run only when asked for

Beside each row stand the best labelling among the candidates, the fit with the true number of clusters ("K given": it should
be at least as good), the value before other families than Gaussian levels were looked at ("before": it should be held), and
peers, each of which may take --peer-seconds a problem; "*" marks means over those problems that it ended. Peers are run on the
first --peer-seeds seeds of made data. Problems are measured in --jobs processes, times by the processor's clock.

A whole run writes its results to docs/benchmarks/auto.json, which the documentation renders; a run with --only, --without or
--quick writes them only where --json says. --only takes these names and those of single rows.

    python benchmarks/auto.py --data FOLDER
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from large_fits import compare_times, measure_memory
from measuring.environment import environment
from problems.auto_sets import ALL
from results import Limits, Measure, describe, table_line, write_results
from rows import PARTS, ROWS, TOGETHER, Row
from runs import Extent, Run
from score_lines import score_head, score_line, selection_lines
from scores import Score, selection_records
from workers import Task, Workers

RESULTS = Path(__file__).parent.parent / "docs" / "benchmarks" / "auto.json"
MEASURES = {"time": compare_times, "memory": measure_memory}
WITHOUT = ("peers", "given", "timed")
MAX_LEVEL_TIMES = Limits(2.0)
"""The time of a fit that looks at all families over that of one that looks at Gaussian levels alone."""

DEFAULT_SEEDS = range(1000, 1010)
QUICK_SHARE = 0.25  # of the observations


class Bench:
    """A run: its options and its results so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.folder: Path = options.data
        self.seeds = range(options.first_seed, options.first_seed + options.seeds)
        self.peer_seeds = self.seeds[: options.peer_seeds]
        self.without: Sequence[str] = options.without
        self.share = QUICK_SHARE if options.quick else 1.0
        self.extent = Extent(options.n_jobs, options.fit_seconds, options.peer_seconds)
        self.scores: list[Score] = []
        self.selection: list[dict[str, object]] = []
        self.measures: list[Measure] = []

    @property
    def quick(self) -> bool:
        """Whether this is a look and no result, so that there are no limits."""
        return self.share < 1.0

    def limited(self, row: Row) -> Row:
        """Return the row with its limits, which are for all observations; earlier values are of the same seeds only."""
        if self.quick:
            return replace(row, limits=Limits(), ami=Limits(), before=None)
        return row if self.seeds == DEFAULT_SEEDS else replace(row, before=None)

    def tasks(self, row: Row) -> list[Task]:
        """List the problems of a row, with all that is measured on each."""
        part = PARTS[row.part]
        tasks = []
        for key in ALL[row.data].keys(row.data, self.seeds, self.folder):
            extent = Extent(
                self.extent.n_jobs,
                self.extent.fit_seconds,
                self.extent.peer_seconds,
                given=part.given and "given" not in self.without,
                timed=part.timed and "timed" not in self.without,
                peers=part.peers and "peers" not in self.without and (key.seed is None or key.seed in self.peer_seeds),
            )
            tasks.append(Task(key, tuple(row.settings.items()), extent, self.folder, self.share))
        return tasks

    def score_all(self, names: Sequence[str], workers: Workers) -> None:
        """Measure these rows, in their order, and print each as soon as it is done."""
        rows = [self.limited(ROWS[name]) for name in names]
        tasks = [self.tasks(row) for row in rows]
        runs = workers.measure([task for part in tasks for task in part])
        begun = ""
        for number, (row, own) in enumerate(zip(rows, tasks, strict=True)):
            if row.part != begun:
                print(score_head(PARTS[row.part]))
            begun = row.part
            score = Score(row, [next(runs) for _ in own], "" if own else ALL[row.data].lacks(row.data))
            self.add(score)
            self.selection.extend(selection_records(score, [str(task.key) for task in own]))
            if row.part in TOGETHER and (number + 1 == len(rows) or rows[number + 1].part != row.part):
                self.add_together(self.limited(TOGETHER[row.part]))
        for line in selection_lines(self.selection):
            print(line)

    def add(self, score: Score) -> None:
        """Keep and print a line of the table."""
        self.scores.append(score)
        print(score_line(score), flush=True)

    def add_together(self, row: Row) -> None:
        """Look at all rows of a part together, where all of them are there."""
        wanted = {name for name, each in ROWS.items() if each.part == row.part}
        scores = [score for score in self.scores if score.row.name in wanted]
        runs: list[Run] = [run for score in scores for run in score.runs]
        if len(scores) == len(wanted):
            self.add(Score(row, runs))

    def compare_level_times(self) -> None:
        """Look at how much longer fits take than those of levels alone, in the row where it is most."""
        ratios = {score.row.name: ratio for score in self.scores if (ratio := score.time_ratio()) is not None}
        measured = {name: ratio for name, ratio in ratios.items() if name not in TOGETHER}
        case = "time of the fit without settings over that of levels alone, most of all old rows"
        note = ", ".join(f"{name} {ratio:.2f}" for name, ratio in measured.items())
        most = max(measured.values(), default=None)
        self.add_measure(Measure("families", case, MAX_LEVEL_TIMES.must, None, "times", most, note))

    def add_measure(self, measure: Measure) -> None:
        """Keep and print a measure."""
        self.measures.append(measure)
        print(table_line(measure), flush=True)

    def write(self, file: Path, about: dict[str, object]) -> None:
        """Write the results."""
        about |= {"seeds": f"{self.seeds[0]} to {self.seeds[-1]}"}
        tables = {"scores": [score.record() for score in self.scores], "selection": self.selection}
        write_results(file, about, self.measures, tables)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*PARTS, *MEASURES, *ROWS]
    parser.add_argument("--data", type=Path, default=Path(), help="folder with the benchmark files")
    parser.add_argument("--json", type=Path, help="file of the results")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help="parts or rows to run")
    parser.add_argument(
        "--without", nargs="+", choices=WITHOUT, default=(), help="what is not measured beside the fits"
    )
    parser.add_argument("--seeds", type=int, default=len(DEFAULT_SEEDS), help="how many seeds made data have")
    parser.add_argument("--first-seed", type=int, default=DEFAULT_SEEDS[0], help="the first of them")
    parser.add_argument("--peer-seeds", type=int, default=3, help="on how many of them peers are run")
    parser.add_argument("--peer-seconds", type=float, default=60.0, help="of the processor, for a peer on a problem")
    parser.add_argument("--fit-seconds", type=float, default=900.0, help="of the processor, for a fit of ours")
    parser.add_argument("--jobs", type=int, default=2, help="processes, each with a problem at a time")
    parser.add_argument("--n-jobs", type=int, default=1, help="threads of a fit; that of times has one")
    parser.add_argument("--quick", action="store_true", help="a quarter of the observations: a look, not a result")
    return parser.parse_args(arguments)


def rows_of(asked: Sequence[str]) -> list[str]:
    """Return the rows of parts and rows, each once, in the order asked for."""
    named = (name for part in asked for name in ([part] if part in ROWS else _rows_in(part)))
    return list(dict.fromkeys(named))


def _rows_in(part: str) -> list[str]:
    return [name for name, row in ROWS.items() if row.part == part]


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, print and write."""
    options = read_options(arguments)
    bench = Bench(options)
    about = environment()
    asked = options.only or [*(name for name, part in PARTS.items() if part.whole), *MEASURES]
    print(describe(about))
    with threadpool_limits(limits=1), warnings.catch_warnings(), Workers(options.jobs) as workers:
        warnings.simplefilter("ignore")
        bench.score_all(rows_of(asked), workers)
        if any(PARTS[score.row.part].timed for score in bench.scores) and "timed" not in options.without:
            bench.compare_level_times()
        for name, measured in MEASURES.items():
            if name in asked:
                bench.add_measure(measured(bench.folder, quick=bench.quick))
    whole = not (options.only or options.without or options.quick)
    file = options.json or (RESULTS if whole else None)
    if file is not None:
        bench.write(file, about)


if __name__ == "__main__":
    main()
