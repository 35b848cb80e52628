"""What a fit without settings finds: MCGTA().fit(X, positions=...), with labels for scoring only.

Made data have seeds from --first-seed on, on which nothing was tuned. ARI and AMI have noise as a class of its own;
"noise assigned" is a second fit with refine="noise" where there is noise. The sets, in the folder problems, are

    table      the paper's synthetic sets, autocorrelated ones, regions on smooth fields, Pavement, Vehicle, iNat: ARI
    one        data of one cluster: the share of runs that find one
    heavy      the same with heavy tails, or with a volatility that comes and goes
    time       the fit without settings against a plain one on Vehicle, in turns, one thread, by the processor's clock
    memory     the peak of the fit without settings at 704,970 observations of 3 features, in a process of its own
    other      data of many other kinds, which have no limits; run only when asked for

A whole run writes its results to docs/benchmarks/auto.json, which the documentation renders; a run with --only or --quick
writes them only where --json says. --only takes these names and those of single sets.

    python benchmarks/auto.py --data FOLDER
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mcgta import MCGTA
from mcgta.datasets import make_regions, make_series
from measuring.environment import environment
from measuring.timing import in_turns, timed
from problems.auto_sets import ALL, HEAVY, ONE, TABLE, sets
from problems.other_sets import OTHERS
from problems.problem import missing
from results import Limits, Measure, describe, human, table_line, write_results
from runs import Run, Score, fit_and_score, score_head, score_line

RESULTS = Path(__file__).parent.parent / "docs" / "benchmarks" / "auto.json"
PARTS = {
    "table": tuple(TABLE),
    "one": tuple(ONE),
    "heavy": tuple(HEAVY),
    "time": (),
    "memory": (),
    "other": tuple(OTHERS),
}
WHOLE = ("table", "one", "heavy", "time", "memory")

TITLES = {
    "series-short": "1-D synthetic, short segments",
    "series-long": "1-D synthetic, long segments",
    "ar-long": "1-D synthetic, AR(0.8), long segments",
    "ar-short": "1-D synthetic, AR(0.8), short segments",
    "regions-1200": "2-D synthetic",
    "regions-10000": "2-D synthetic",
    "pavement": "Pavement",
    "vehicle": "Vehicle",
    "inat_subset": "iNat subset",
    "fields": "five regions on a smooth random field",
    "one-white": "white noise in time",
    "one-gaussian": "one Gaussian anywhere in the plane",
    "one-ar80": "AR(0.8)",
    "one-ar95": "AR(0.95)",
    "one-field": "one smooth random field",
    "one-tails": "AR(0.8), t with 4 degrees of freedom",
    "one-volatility": "AR(0.8), stochastic volatility",
}
MIN_ARI: dict[str, Limits] = {  # per cent; of sets of one cluster the share of runs that find one
    "series-short": Limits(94, 97),
    "series-long": Limits(97, 99),
    "ar-long": Limits(95, 98),
    "regions-1200": Limits(84, 90),
    "regions-10000": Limits(90, 95),
    "pavement": Limits(95, 99.5),
    "vehicle": Limits(62, 75),
    "inat_subset": Limits(55, 75),
    "fields": Limits(82, 90),
    "one-tails": Limits(None, 80),
    "one-volatility": Limits(None, 80),
}
MIN_SHARE_ONE = Limits(95, 100)  # per cent of the runs on all sets of one cluster together
MAX_TIMES = Limits(10, 4)  # a plain fit's time
MAX_PEAK_GB = Limits(2.0, 1.0)
GESTURE_RECORDS = 2238  # of 315 observations
LARGE_FIT = """
from mcgta import MCGTA
from mcgta.datasets import make_gestures
from measuring.usage import own_peak
X = make_gestures({records}).X
model = MCGTA(n_jobs=1, progress=False).fit(X)
print(own_peak(), len(X), model.n_clusters_, model.choice_.scored)
"""
PLAIN: dict[str, Any] = {
    "n_neighbors": 30,
    "beta": 1.0,
    "margin": 0.0,
    "eps": 0.05,
    "min_samples": 30,
    "dissimilarity": "wasserstein2",
}
QUICK_SHARE = 0.25  # of the observations
WARM_ROWS = 2500  # of the fits before, which read the kernels from their cache


@dataclass
class Bench:
    """A run: the folder of the data, how thorough it is, and its results so far."""

    folder: Path
    seeds: Sequence[int]
    n_jobs: int
    quick: bool
    scores: list[Score] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Share of the observations."""
        return QUICK_SHARE if self.quick else 1.0

    def limits(self, limits: Limits | None) -> Limits:
        """Return the limits, which are for whole runs only."""
        return Limits() if self.quick or limits is None else limits

    def add(self, score: Score) -> None:
        """Keep and print a line of the table."""
        self.scores.append(score)
        print(score_line(score), flush=True)

    def add_measure(self, measure: Measure) -> None:
        """Keep and print a measure."""
        self.measures.append(measure)
        print(table_line(measure), flush=True)

    def score(self, name: str) -> list[Run]:
        """Fit one set, once for each seed, and return the runs."""
        problems = sets([name], seeds=self.seeds, folder=self.folder, share=self.share)
        runs = [fit_and_score(problem, n_jobs=self.n_jobs) for problem in problems]
        limits = self.limits(MIN_ARI.get(name))
        self.add(Score(name, TITLES.get(name, name), runs, *limits, one=name in ONE or name in HEAVY))
        return runs

    def score_all(self, names: Sequence[str]) -> None:
        """Fit these sets, and look at those of one cluster together where all of them are asked for."""
        clusters = [name for name in names if name not in ONE and name not in HEAVY]
        if clusters:
            print(score_head())
        for name in clusters:
            self.score(name)
        if len(clusters) < len(names):
            print(score_head(one=True))
        runs_of_one = {name: self.score(name) for name in names if name in ONE}
        if set(runs_of_one) == set(ONE):
            runs = [run for part in runs_of_one.values() for run in part]
            self.add(Score("one", "all of these", runs, *self.limits(MIN_SHARE_ONE), one=True))
        for name in names:
            if name in HEAVY:
                self.score(name)

    def compare_times(self) -> None:
        """Vehicle without settings against a plain fit: one thread, in turns, after one turn each that does not count."""
        case = "time of the fit without settings over a plain one, Vehicle"
        measure = Measure("time", case, *self.limits(MAX_TIMES), unit="times", note=missing("vehicle"))
        for problem in sets(["vehicle"], folder=self.folder, share=self.share):
            auto = MCGTA(n_jobs=1, progress=False)
            plain = MCGTA(n_jobs=1, progress=False, **PLAIN, refine="none")
            sides = (timed(partial(model.fit, problem.X)) for model in (auto, plain))
            ours, theirs = (np.ravel(taken) for taken in in_turns(*sides, rounds=1 if self.quick else 3))
            note = f"{human(float(np.median(ours)))} and {human(float(np.median(theirs)))}"
            measure = replace(measure, value=float(np.median(ours / theirs)), note=note)
        self.add_measure(measure)

    def measure_memory(self) -> None:
        """The peak memory of a large fit without settings."""
        program = LARGE_FIT.format(records=GESTURE_RECORDS // 100 if self.quick else GESTURE_RECORDS)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
        peak, count, clusters, scored = (int(word) for word in done.stdout.split())
        case = f"peak memory of the fit without settings, {count:,} x 3"
        note = f"{clusters} clusters, chosen on a sample of {scored:,}"
        limits = self.limits(MAX_PEAK_GB)
        self.add_measure(Measure("memory", case, *limits, unit="GB", value=peak / 1e9, note=note))


def warm() -> None:
    """Have the kernels ready, so that no fit that is timed waits for them."""
    for sample in (make_series(WARM_ROWS), make_regions(WARM_ROWS)):
        MCGTA(n_jobs=1, progress=False).fit(sample.X, positions=sample.positions)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="folder with the benchmark files")
    parser.add_argument("--json", type=Path, help="file of the results")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, *ALL], metavar="NAME", help="parts or sets to run")
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds made data have")
    parser.add_argument("--first-seed", type=int, default=1000, help="the first of them")
    parser.add_argument("--n-jobs", type=int, default=1, help="threads of a fit; that of times has one")
    parser.add_argument("--quick", action="store_true", help="a quarter of the observations: a look, not a result")
    options = parser.parse_args(arguments)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    bench = Bench(options.data, seeds, options.n_jobs, options.quick)
    about = environment()
    asked = options.only or WHOLE
    print(describe(about))
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm()
        bench.score_all(list(dict.fromkeys(name for part in asked for name in PARTS.get(part, (part,)))))
        if "time" in asked:
            bench.compare_times()
        if "memory" in asked:
            bench.measure_memory()
    file = options.json or (RESULTS if not (options.only or options.quick) else None)
    if file is not None:
        about |= {"seeds": f"{seeds[0]} to {seeds[-1]}"}
        write_results(file, about, bench.measures, {"scores": [score.record() for score in bench.scores]})


if __name__ == "__main__":
    main()
