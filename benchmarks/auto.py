"""What a fit without settings finds: MCGTA().fit(X, positions=...), with labels for scoring only.

Made data have seeds from --first-seed on, on which nothing was tuned. ARI and AMI have noise as a class of its own;
"noise assigned" is a second fit with noise="assign" where there is noise (where the estimator has no such parameter, noise
gets the cluster of the nearest observation that has one). The sets, in auto_sets.py and other_sets.py, are

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
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from auto_sets import ALL, HEAVY, ONE, TABLE, sets
from data_sets import missing
from mcgta import MCGTA
from mcgta.datasets import make_regions, make_series
from other_sets import OTHERS
from results import Measure, describe, human, table_line, write_results
from scores import Run, Score, fit_and_score, known, score_head, score_line
from timing import environment, in_turns, timed

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
    "one-tails": "AR(0.8), t with 4 degrees of degrees_of_freedom",
    "one-volatility": "AR(0.8), stochastic volatility",
}
LIMITS: dict[str, tuple[float | None, float | None]] = {  # must and aim, in per cent
    "series-short": (94, 97),
    "series-long": (97, 99),
    "ar-long": (95, 98),
    "regions-1200": (84, 90),
    "regions-10000": (90, 95),
    "pavement": (95, 99.5),
    "vehicle": (62, 75),
    "inat_subset": (55, 75),
    "fields": (82, 90),
    "one-tails": (None, 80),
    "one-volatility": (None, 80),
}
ALL_ONE = (95, 100)  # of the runs on all sets of one cluster together
TIMES = (10, 4)  # a plain fit's time, at most
ROOM = (2.0, 1.0)  # GB at most
RECORDS = 2238  # of 315 observations
LARGE_FIT = """
from mcgta import MCGTA
from mcgta.datasets import make_gestures
from one_fit import peak_bytes
X = make_gestures({records}).X
model = MCGTA(n_jobs=1, progress=False).fit(X)
print(peak_bytes(), len(X), model.n_clusters_, model.choice_.scored)
"""
PLAIN: dict[str, Any] = {
    "n_neighbors": 30,
    "beta": 1.0,
    "margin": 0.0,
    "eps": 0.05,
    "min_samples": 30,
    "dissimilarity": "wasserstein2",
}
QUICK = 0.25  # share of the observations
WARM = 2500  # observations of the fits before, which read the kernels from their cache


@dataclass
class Bench:
    """A run: where the data are, how thorough it is, and what it has found."""

    folder: Path
    seeds: Sequence[int]
    n_jobs: int
    quick: bool
    scores: list[Score] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Share of the observations."""
        return QUICK if self.quick else 1.0

    def add(self, score: Score) -> None:
        """Keep and print a line of the table."""
        self.scores.append(score)
        print(score_line(score), flush=True)

    def score(self, name: str) -> list[Run]:
        """Fit one set, once for each seed, and return the runs."""
        made = sets([name], seeds=self.seeds, folder=self.folder, share=self.share)
        runs = [fit_and_score(data, n_jobs=self.n_jobs) for data in made]
        must, aim = (None, None) if self.quick else LIMITS.get(name, (None, None))
        self.add(Score(name, TITLES.get(name, name), runs, must, aim, one=name in ONE or name in HEAVY))
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
        found = {name: self.score(name) for name in names if name in ONE}
        if set(found) == set(ONE):
            runs = [run for some in found.values() for run in some]
            must, aim = (None, None) if self.quick else ALL_ONE
            self.add(Score("one", "all of these", runs, must, aim, one=True))
        for name in names:
            if name in HEAVY:
                self.score(name)

    def compare_times(self) -> None:
        """Vehicle without settings against a plain fit: one thread, in turns, after one turn each that does not count."""
        must, aim = (None, None) if self.quick else TIMES
        case, note, value = "time of the fit without settings over a plain one, Vehicle", missing("vehicle"), None
        for data in sets(["vehicle"], folder=self.folder, share=self.share):
            auto = MCGTA(n_jobs=1, progress=False)
            plain = MCGTA(n_jobs=1, progress=False, **PLAIN, **known(refine=False))
            sides = (timed(partial(model.fit, data.X)) for model in (auto, plain))
            ours, theirs = (np.ravel(taken) for taken in in_turns(*sides, rounds=1 if self.quick else 3))
            value = float(np.median(ours / theirs))
            note = f"{human(float(np.median(ours)))} and {human(float(np.median(theirs)))}"
        self.measures.append(Measure("time", case, must, aim, unit="times", value=value, note=note))
        print(table_line(self.measures[-1]), flush=True)

    def measure_memory(self) -> None:
        """The peak memory of a large fit without settings."""
        program = LARGE_FIT.format(records=RECORDS // 100 if self.quick else RECORDS)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
        peak, count, clusters, scored = (int(word) for word in done.stdout.split())
        must, aim = (None, None) if self.quick else ROOM
        case = f"peak memory of the fit without settings, {count:,} x 3"
        note = f"{clusters} clusters, chosen on a sample of {scored:,}"
        self.measures.append(Measure("memory", case, must, aim, unit="GB", value=peak / 1e9, note=note))
        print(table_line(self.measures[-1]), flush=True)


def warm() -> None:
    """Have the kernels ready, so that no fit that is timed waits for them."""
    for sample in (make_series(WARM), make_regions(WARM)):
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
    bench, about = Bench(options.data, seeds, options.n_jobs, options.quick), environment()
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
