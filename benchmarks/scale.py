"""How large fits behave: time by stage, peak memory, the share of pairs that need the exact kernel, and growth.

Each fit has a process of its own (one_fit.py, where its settings are), one thread, and the processor's clock; cheap ones are
done three times, and medians taken. The rows are

    series     a gesture-like series, DBSCAN: growth, memory, exact pairs, and the clustering against reading every pair
    hdbscan    the same with HDBSCAN, against DBSCAN
    optics     the same with OPTICS, against DBSCAN
    predict    new observations placed in the clusters of the series, in batches of 1,000 once the densities of all cores are
               known, and one at a time before: growth, and against comparing each with every anchor
    plane      places in the plane, DBSCAN
    tiles      clustering through the tree against reading every pair in tiles, with few features and with many
    vehicle    Vehicle end to end, against batched NumPy and DBSCAN on the dense matrix, in turns in one process

"The clustering" is all that a fit does beyond neighbourhoods, local models and semivariogram in named stages. A whole run
writes its results to docs/benchmarks/scale.json, which the documentation renders; a run with --only or --quick writes
them only where --json says.

    python benchmarks/scale.py --data FOLDER
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mcgta import MCGTA
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clusterer import ClusterOptions
from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.clustering.registry import CLUSTERERS
from mcgta.clustering.tree_search import TreeSearch
from mcgta.datasets import make_gestures
from mcgta.runtime.memory import available_bytes
from mcgta.runtime.types import Labels
from mcgta.stages import Loss, compare_models
from mcgta.stages.semivariogram.binning import lag_edges
from measuring.environment import environment
from measuring.scoring import same_clusters
from measuring.timing import in_turns, timed
from one_fit import BATCH_ROWS, BEFORE, RECORD_LENGTH, SETTINGS, Case, fit_in_child
from problems.problem import find_problem, missing
from problems.windows import NEIGHBORS
from results import Limits, Measure, Ratio, Table, describe, human, print_tables, table_head, table_line, write_results
from rivals import Gaussians, dbscan, eigvalsh_tile, shrunk_windows

RESULTS = Path(__file__).parent.parent / "docs" / "benchmarks" / "scale.json"
SIZES = {"series": (44_100, 176_400, 704_970), "plane": (10_000, 100_000, 500_000)}
QUICK_SIZES = {"series": (3_150, 6_300, 12_600), "plane": (1_000, 2_000, 4_000)}
VEHICLE_ROWS = 16_641
QUICK_VEHICLE_ROWS = 4_000
RECORDS = 7  # of the series for tiles
QUICK_RECORDS = 3
FEATURES = (3, 8, 16)
QUICK_FEATURES = (3,)
CHEAP_SECONDS = 20.0  # of a fit that is repeated
REPEATS = 3
MIN_GROWTH_SECONDS = 1e-3  # below which growth says nothing
BATCH = (128, 156)  # models on either side of one call of NumPy
DENSE_BYTES = 8 * 10**9  # that must be free for DBSCAN on the dense matrix of Vehicle
DENSE_ROWS = 6_000  # of the matrix else
MIN_SAMPLES = 20
ROUNDS = 3


@dataclass
class Bench:
    """A run: the folder of the data, how thorough it is, and its results so far."""

    folder: Path
    quick: bool
    timeout: float
    lines: list[Ratio | Measure] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    done: dict[Case, Table] = field(default_factory=dict)
    failed: dict[Case, str] = field(default_factory=dict)

    def sizes(self, data: str) -> tuple[int, ...]:
        """Return the numbers of observations."""
        return (QUICK_SIZES if self.quick else SIZES)[data]

    def limits(self, must: float, aim: float) -> Limits:
        """Return the limits, which are for the whole sizes only."""
        return Limits() if self.quick else Limits(must, aim)

    def add(self, line: Ratio | Measure) -> None:
        """Keep and print a line of the table."""
        self.lines.append(line)
        print(table_line(line), flush=True)

    def fit(self, case: Case) -> Table:
        """Return the measurements of each process that did this fit; none where it failed."""
        if case not in self.done:
            runs = [fit_in_child(case, timeout=self.timeout)]
            while not self.quick and len(runs) < REPEATS and runs[-1].get("wall", CHEAP_SECONDS) < CHEAP_SECONDS:
                runs.append(fit_in_child(case, timeout=self.timeout))
            name = {"data": case.data, "count": case.count, "clusterer": case.clusterer}
            failed = next((run for run in runs if "failed" in run), None)
            self.tables.setdefault("fits", []).append({**name, **(failed or middle(runs))})
            self.done[case] = [] if failed else runs
            self.failed[case] = failed["failed"] if failed else ""
        return self.done[case]

    def why(self, cases: Sequence[Case]) -> str:
        """Say why the largest of these fits that failed did; nothing where none did."""
        return next((said for case in reversed(cases) if (said := self.failed.get(case, ""))), "")


def middle(runs: Table) -> dict[str, Any]:
    """Return one run with the medians of all in the place of its times and peaks."""
    stages = runs[0]["seconds"]
    out = {
        **runs[0],
        "runs": len(runs),
        "seconds": {s: _median(run["seconds"].get(s, 0.0) for run in runs) for s in stages},
    }
    for name in ("total", "clustering", "wall", "peak", "peak_before", "seconds_a_pair"):
        if name in out:
            out[name] = _median(run[name] for run in runs)
    return out


def _median(values: Any) -> float:
    return float(np.median(list(values)))


def growth(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the exponent of a power law: the slope of log time against log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _grow(bench: Bench, cases: list[Case]) -> float | None:
    """Fit all sizes, note how each stage grows, and return the exponent of the clustering; None where a size is missing."""
    runs = [(case.count, middle(done)) for case in cases if (done := bench.fit(case))]
    if len(runs) < 2:
        return None
    parts = list(dict.fromkeys(stage for _, run in runs for stage in run["seconds"]))
    inner = [stage for stage in parts if stage not in BEFORE]
    shown = parts if len(inner) > 1 else [stage for stage in parts if stage in BEFORE]
    times = {stage: [(count, run["seconds"].get(stage, 0.0)) for count, run in runs] for stage in shown}
    times["all of the clustering"] = [(count, run["clustering"]) for count, run in runs]
    times["whole fit"] = [(count, run["total"]) for count, run in runs]
    name = {"data": cases[0].data, "clusterer": cases[0].clusterer}
    for stage, seconds in times.items():
        if min(spent for _, spent in seconds) >= MIN_GROWTH_SECONDS:
            entry = {**name, "stage": stage, "exponent": growth(*zip(*seconds, strict=True)), "seconds": seconds}
            bench.tables.setdefault("growth", []).append(entry)
    if len(runs) < len(cases):
        return None
    return growth(*zip(*times["all of the clustering"], strict=True))


def _series(bench: Bench, clusterer: str) -> list[Case]:
    return [Case("series", count, clusterer, extras=clusterer == "dbscan") for count in bench.sizes("series")]


def series(bench: Bench) -> None:
    """The gesture-like series by DBSCAN: memory, exact pairs, growth, and every pair by our own kernel."""
    cases = _series(bench, "dbscan")
    exponent = _grow(bench, cases)
    largest = cases[-1]
    runs = bench.fit(largest)
    size = f"{largest.count:,} x 3"
    note = bench.why(cases)
    peak = Measure("series", f"peak memory of a whole fit, {size}", *bench.limits(1.5, 1.0), unit="GB", note=note)
    share = Measure("series", f"share of all pairs by the exact kernel, {size}", *bench.limits(1e-4, 3e-5), note=note)
    case = f"growth exponent of the clustering, {cases[0].count:,} to {largest.count:,}"
    bench.add(replace(peak, value=middle(runs)["peak"] / 1e9) if runs else peak)
    bench.add(replace(share, value=runs[0]["backend"]["exact_share"]) if runs else share)
    bench.add(Measure("series", case, *bench.limits(1.5, 1.2), value=exponent, note=note if exponent is None else ""))
    line = Ratio("series", f"clustering by DBSCAN, {size}", "every pair by our own kernel", *bench.limits(50, 300))
    if not runs:
        bench.add(replace(line, note=note))
        return
    pairs = runs[0]["backend"]["pairs"]
    note = (
        f"{human(middle(runs)['seconds_a_pair'])} a pair on a tile of 2,048 x 2,048 of the models, for {pairs:,} pairs"
    )
    theirs = [[pairs * run["seconds_a_pair"]] for run in runs]
    bench.add(line.measured([[run["clustering"]] for run in runs], theirs, note=note))


def hdbscan(bench: Bench) -> None:
    """The same series by HDBSCAN, against DBSCAN."""
    _against_dbscan(bench, "hdbscan", bench.limits(5, 2))


def optics(bench: Bench) -> None:
    """The same series by OPTICS, against DBSCAN."""
    _against_dbscan(bench, "optics", Limits())


def _against_dbscan(bench: Bench, clusterer: str, limits: Limits) -> None:
    cases = _series(bench, clusterer)
    _grow(bench, cases)
    largest = cases[-1]
    with_dbscan = _series(bench, "dbscan")[-1]
    runs = bench.fit(largest)
    dbscan_runs = bench.fit(with_dbscan)
    for part, name, wanted in (("clustering", "clustering", limits), ("whole fit", "total", Limits())):
        line = Measure(clusterer, f"{clusterer.upper()}'s time over DBSCAN's, {part}, {largest.count:,} x 3", *wanted)
        if runs and dbscan_runs:
            seconds = middle(runs)[name]
            dbscan_seconds = middle(dbscan_runs)[name]
            note = f"{human(seconds)} and {human(dbscan_seconds)}"
            line = replace(line, value=seconds / dbscan_seconds, note=note)
        else:
            line = replace(line, note=bench.why([largest, with_dbscan]))
        bench.add(line)


def predict(bench: Bench) -> None:
    """New observations among those of the series: time a row in batches and one at a time, and against every anchor."""
    cases = _series(bench, "dbscan")
    placings = {case.count: [run["placing"] for run in bench.fit(case)] for case in cases}
    note = bench.why(cases)
    for part, title in (("batches", f"in batches of {BATCH_ROWS:,}, densities known"), ("singles", "one at a time")):
        _predict_growth(bench, placings, part, title, note)
        _predict_ratio(bench, placings, part, title, note)


def _predict_growth(bench: Bench, placings: dict[int, Table], part: str, title: str, note: str) -> None:
    sizes = list(placings)
    line = Measure("predict", f"growth exponent of a new observation, {title}, {sizes[0]:,} to {sizes[-1]:,}")
    if not all(placings.values()):
        bench.add(replace(line, note=note))
        return
    seconds = [_median(np.ravel([run[part][0] for run in runs])) for runs in placings.values()]
    steps = ", ".join(f"{human(spent)} at {size:,}" for size, spent in zip(sizes, seconds, strict=True))
    bench.add(replace(line, value=growth(sizes, seconds), note=steps))


def _predict_ratio(bench: Bench, placings: dict[int, Table], part: str, title: str, note: str) -> None:
    largest = max(placings)
    runs = placings[largest]
    line = Ratio("predict", f"a new observation, {title}, {largest:,} x 3", "every anchor", unit="observation")
    if not runs:
        bench.add(replace(line, note=note))
        return
    ours, theirs = ([turn for run in runs for turn in run[part][side]] for side in (0, 1))
    same = all(run["same"] for run in runs)
    first = human(runs[0]["first"])
    note = f"the same labels: {'yes' if same else 'NO'}; the first call of a fit takes {first}"
    bench.add(line.measured(ours, theirs, note=note, holds=same))


def plane(bench: Bench) -> None:
    """Places in the plane by DBSCAN."""
    cases = [Case("plane", count) for count in bench.sizes("plane")]
    exponent = _grow(bench, cases)
    case = f"growth exponent of the clustering, 2-D, {cases[0].count:,} to {cases[-1].count:,}"
    bench.add(Measure("plane", case, value=exponent, note=bench.why(cases)))


def tiles(bench: Bench) -> None:
    """The tree against tiles, which it gives way to where bounds leave much open, on a short series of few or many features."""
    for d in QUICK_FEATURES if bench.quick else FEATURES:
        made = make_gestures(QUICK_RECORDS if bench.quick else RECORDS, record_length=RECORD_LENGTH, n_features=d)
        estimator = MCGTA(n_neighbors=NEIGHBORS, n_jobs=1, bins=lag_edges(float(RECORD_LENGTH)), eps=1.0)
        fitted = estimator.fit(made.X).refit(eps="auto")
        for clusterer in CLUSTERERS:
            _tiles(bench, fitted, clusterer)


def _tiles(bench: Bench, fitted: MCGTA, clusterer: str) -> None:
    loss = _loss_of(fitted, None)
    tree = TreeSearch.of(loss)
    rows = BruteForceSearch.of(loss)
    options = ClusterOptions(fitted.eps_ if clusterer == "dbscan" else None, MIN_SAMPLES)
    labels: list[Labels] = []

    def work(near: NeighborSearch) -> None:
        labels.append(CLUSTERERS[clusterer].cluster(near, options).labels)

    ours, theirs = in_turns(timed(partial(work, tree)), timed(partial(work, rows)), rounds=ROUNDS)
    same = all(np.array_equal(labels[0], other) for other in labels)
    open_share = tree.open_share(MIN_SAMPLES, eps=fitted.eps_ if clusterer == "dbscan" else None)
    note = f"bounds leave {open_share:.2g} of the pairs open; the same labels: {'yes' if same else 'NO'}"
    size = f"{len(loss):,} x {fitted.n_features_in_}"
    line = Ratio("tiles", f"{clusterer.upper()} through the tree, {size}", "tiles of every pair")
    bench.add(line.measured(ours, theirs, note=note, holds=same))


def vehicle(bench: Bench) -> None:
    """Vehicle end to end, against what batched NumPy and DBSCAN take for models, pairs and clusters.

    Theirs: empirical covariances of sliding windows, shrunk, instead of the graphical lasso; every pair by batched
    eigenvalues, a few tiles a round, scaled; DBSCAN on the dense matrix. Semivariogram and loss cost them nothing.
    """
    count = QUICK_VEHICLE_ROWS if bench.quick else VEHICLE_ROWS
    case = Case("vehicle", count, folder=str(bench.folder))
    line = Ratio("vehicle", f"Vehicle, {count:,} rows, end to end", "NumPy, dense DBSCAN", *bench.limits(50, 200))
    if find_problem("vehicle", bench.folder) is None:
        bench.add(replace(line, note=missing("vehicle")))
        return
    if not bench.fit(case):
        bench.add(replace(line, note=bench.why([case])))
        return
    X = case.problem().X
    fitted = case.estimator().fit(X)
    pairs = count * (count - 1) // 2
    tiles = 2 if bench.quick else 10
    matrix = _loss_of(fitted, None if (available_bytes() or 0) >= DENSE_BYTES else DENSE_ROWS).matrix()
    piece = len(matrix)
    models = Gaussians.of(*shrunk_windows(X, NEIGHBORS))
    starts = np.random.default_rng(0).integers(count - max(BATCH), size=(tiles, 2))
    parts: dict[str, list[float]] = {"models": [], "pairs": [], "clustering": []}

    def tile_after_tile() -> None:
        for i, j in starts.tolist():
            eigvalsh_tile(models, slice(i, i + BATCH[0]), slice(j, j + BATCH[1]))

    def theirs() -> list[float]:
        parts["models"] += timed(lambda: Gaussians.of(*shrunk_windows(X, NEIGHBORS)))()
        each = timed(tile_after_tile, units=tiles * BATCH[0] * BATCH[1])()
        parts["pairs"].append(pairs * each[0])
        seconds = timed(lambda: dbscan(matrix, fitted.eps_, fitted.min_samples_))()
        parts["clustering"].append(seconds[0] * (count / piece) ** 2)
        return [sum(part[-1] for part in parts.values())]

    tile_after_tile()
    estimator = case.estimator()
    ours, other = in_turns(timed(lambda: estimator.fit(X), least=0.2), theirs, rounds=ROUNDS, warm=False)
    sums = " + ".join(f"{human(_median(part))} {name}" for name, part in parts.items())
    note = f"theirs {sums}; pairs scaled from {tiles * BATCH[0] * BATCH[1]:,} to {pairs:,}; eps = {SETTINGS['vehicle']['eps']}"
    if piece < count:
        note += f"; DBSCAN on {piece:,} rows, scaled by the square: less than {DENSE_BYTES / 1e9:.0f} GB were free"
        bench.add(line.measured(ours, other, note=note))
        return
    same = same_clusters(dbscan(matrix, fitted.eps_, fitted.min_samples_), fitted.labels_)
    note += f"; DBSCAN on the table of our losses finds the same clusters: {'yes' if same else 'NO'}"
    bench.add(line.measured(ours, other, note=note, holds=same))


def _loss_of(fitted: MCGTA, rows: int | None) -> Loss:
    """Return the loss of a fit along time, or of its first rows."""
    models = fitted.local_models_
    places = fitted.positions_
    assert models is not None
    if rows is not None:
        first = np.arange(min(rows, len(places)))
        models = models.take(first)
        places = places.take(first)
    return Loss(compare_models(models), places, fitted.semivariogram_, fitted.beta_, fitted.margin_)


ROWS: dict[str, Callable[[Bench], None]] = {
    row.__name__: row for row in (series, hdbscan, optics, predict, plane, tiles, vehicle)
}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="folder with vehicle.npz")
    parser.add_argument("--json", type=Path, help="file of the results")
    parser.add_argument("--only", nargs="+", choices=ROWS, metavar="ROW", help=f"rows to run: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, one run each: a look, not a result")
    parser.add_argument("--timeout", type=float, default=7200.0, help="seconds after which a fit is given up")
    options = parser.parse_args()
    bench = Bench(options.data, options.quick, options.timeout)
    about = environment()
    print(describe(about))
    print(table_head(), flush=True)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only or ROWS:
            ROWS[name](bench)
    print_tables(bench.tables)
    file = options.json or (RESULTS if not (options.only or options.quick) else None)
    if file is not None:
        write_results(file, about, bench.lines, bench.tables)


if __name__ == "__main__":
    main()
