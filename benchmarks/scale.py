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
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from data_sets import NEIGHBORS, missing
from mcgta import MCGTA, Loss, compare_models
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clusterer import Clusterer, ClusterOptions
from mcgta.clustering.neighbor_search import NeighborSearch
from mcgta.clustering.registry import CLUSTERERS
from mcgta.clustering.tree_search import TreeSearch
from mcgta.datasets import make_gestures
from mcgta.runtime.memory import available_bytes
from mcgta.runtime.types import Array, Labels
from one_fit import BEFORE, NEW, RECORD, SETTINGS, Case, fit_in_child
from results import Measure, Ratio, Table, describe, human, print_tables, table_head, table_line, write_results
from rivals import Gaussians, dbscan, eigvalsh_tile, shrunk_windows
from timing import environment, in_turns, timed

RESULTS = Path(__file__).parent.parent / "docs" / "benchmarks" / "scale.json"
SIZES = {"series": (44_100, 176_400, 704_970), "plane": (10_000, 100_000, 500_000)}
QUICK_SIZES = {"series": (3_150, 6_300, 12_600), "plane": (1_000, 2_000, 4_000)}
VEHICLE, QUICK_VEHICLE = 16_641, 4_000
RECORDS, QUICK_RECORDS = 7, 3
FEATURES, FEW_FEATURES = (3, 8, 16), (3,)
CHEAP, REPEATS = 20.0, 3  # seconds of a fit that is repeated
SHORT = 1e-3  # seconds below which growth says nothing
BATCH = (128, 156)  # pairs in one call of NumPy
ROOM = 8 * 10**9  # bytes that must be free for DBSCAN on the dense matrix of Vehicle
PIECE = 6_000  # rows of the matrix else


@dataclass
class Bench:
    """A run: where the data are, how thorough it is, and what it has found."""

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

    def limits(self, must: float, aim: float) -> tuple[float | None, float | None]:
        """Return the limits, which are for the whole sizes only."""
        return (None, None) if self.quick else (must, aim)

    def add(self, line: Ratio | Measure) -> None:
        """Keep and print a line of the table."""
        self.lines.append(line)
        print(table_line(line), flush=True)

    def fit(self, case: Case) -> Table:
        """Return what each process that did this fit has found; none where it failed."""
        if case not in self.done:
            runs = [fit_in_child(case, timeout=self.timeout)]
            while not self.quick and len(runs) < REPEATS and runs[-1].get("wall", CHEAP) < CHEAP:
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
    runs = [(case.count, middle(found)) for case in cases if (found := bench.fit(case))]
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
        if min(spent for _, spent in seconds) >= SHORT:
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
    exponent, largest = _grow(bench, cases), cases[-1]
    runs, size, smallest = bench.fit(largest), f"{largest.count:,} x 3", f"{cases[0].count:,}"
    note = bench.why(cases)
    peak = Measure("series", f"peak memory of a whole fit, {size}", *bench.limits(1.5, 1.0), unit="GB", note=note)
    share = Measure("series", f"share of all pairs by the exact kernel, {size}", *bench.limits(1e-4, 3e-5), note=note)
    case = f"growth exponent of the clustering, {smallest} to {largest.count:,}"
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
    _against_dbscan(bench, "optics", (None, None))


def _against_dbscan(bench: Bench, clusterer: str, limits: tuple[float | None, float | None]) -> None:
    cases = _series(bench, clusterer)
    _grow(bench, cases)
    own, other = bench.fit(cases[-1]), bench.fit(_series(bench, "dbscan")[-1])
    for what, name, wanted in (("clustering", "clustering", limits), ("whole fit", "total", (None, None))):
        line = Measure(clusterer, f"{clusterer.upper()}'s time over DBSCAN's, {what}, {cases[-1].count:,} x 3", *wanted)
        if own and other:
            ours, theirs = middle(own)[name], middle(other)[name]
            line = replace(line, value=ours / theirs, note=f"{human(ours)} and {human(theirs)}")
        else:
            line = replace(line, note=bench.why([cases[-1], _series(bench, "dbscan")[-1]]))
        bench.add(line)


def predict(bench: Bench) -> None:
    """New observations among those of the series: time a row in batches and one at a time, and against every anchor."""
    cases = _series(bench, "dbscan")
    found = {case.count: [run["placing"] for run in bench.fit(case)] for case in cases}
    largest, note, whole = cases[-1].count, bench.why(cases), all(found.values())
    sizes = f"{cases[0].count:,} to {largest:,}"
    for part, said in (("batches", f"in batches of {NEW:,}, densities known"), ("singles", "one at a time")):
        line = Measure("predict", f"growth exponent of a new observation, {said}, {sizes}")
        if whole:
            seconds = {size: _median(np.ravel([run[part][0] for run in runs])) for size, runs in found.items()}
            steps = ", ".join(f"{human(spent)} at {size:,}" for size, spent in seconds.items())
            bench.add(replace(line, value=growth(list(seconds), list(seconds.values())), note=steps))
        else:
            bench.add(replace(line, note=note))
        ratio = Ratio("predict", f"a new observation, {said}, {largest:,} x 3", "every anchor", unit="observation")
        runs = found[largest]
        if not runs:
            bench.add(replace(ratio, note=note))
            continue
        ours, theirs = ([turn for run in runs for turn in run[part][side]] for side in (0, 1))
        same = all(run["same"] for run in runs)
        said = f"the same labels: {'yes' if same else 'NO'}; the first call of a fit takes {human(runs[0]['first'])}"
        bench.add(ratio.measured(ours, theirs, note=said, holds=same))


def plane(bench: Bench) -> None:
    """Places in the plane by DBSCAN."""
    cases = [Case("plane", count) for count in bench.sizes("plane")]
    exponent = _grow(bench, cases)
    case = f"growth exponent of the clustering, 2-D, {cases[0].count:,} to {cases[-1].count:,}"
    bench.add(Measure("plane", case, value=exponent, note=bench.why(cases)))


def tiles(bench: Bench) -> None:
    """The tree against tiles, which it gives way to where bounds leave much open, on a short series of few or many features."""
    for d in FEW_FEATURES if bench.quick else FEATURES:
        made = make_gestures(QUICK_RECORDS if bench.quick else RECORDS, record_length=RECORD, n_features=d)
        fitted = MCGTA(n_neighbors=NEIGHBORS, n_jobs=1, max_lag=float(RECORD), eps=1.0).fit(made.X).refit(eps="auto")
        loss = _loss_of(fitted, None)
        tree, rows = TreeSearch.of(loss), BruteForceSearch.of(loss)
        for clusterer in CLUSTERERS.values():
            eps = fitted.eps_ if clusterer.needs_eps else None
            found: list[Labels] = []

            def work(
                search: NeighborSearch,
                clusterer: Clusterer = clusterer,
                eps: float | None = eps,
                found: list[Labels] = found,
            ) -> None:
                found.append(clusterer.cluster(search, ClusterOptions(eps, min_samples=20)).labels)

            ours, theirs = in_turns(timed(partial(work, tree)), timed(partial(work, rows)), rounds=3)
            same = all(np.array_equal(found[0], labels) for labels in found)
            open_share = tree.open_share(20, eps=eps)
            note = f"bounds leave {open_share:.2g} of the pairs open; the same labels: {'yes' if same else 'NO'}"
            line = Ratio(
                "tiles", f"{clusterer.name.upper()} through the tree, {len(loss):,} x {d}", "tiles of every pair"
            )
            bench.add(line.measured(ours, theirs, note=note, holds=same))


def vehicle(bench: Bench) -> None:
    """Vehicle end to end, against what batched NumPy and DBSCAN take for models, pairs and clusters.

    Theirs: empirical covariances of sliding windows, shrunk, instead of the graphical lasso; every pair by batched
    eigenvalues, a few tiles a round, scaled; DBSCAN on the dense matrix. Semivariogram and loss cost them nothing.
    """
    count = QUICK_VEHICLE if bench.quick else VEHICLE
    case = Case("vehicle", count, folder=str(bench.folder))
    line = Ratio("vehicle", f"Vehicle, {count:,} rows, end to end", "NumPy, dense DBSCAN", *bench.limits(50, 200))
    if not (bench.folder / "vehicle.npz").exists():
        bench.add(replace(line, note=missing("vehicle")))
        return
    if not bench.fit(case):
        bench.add(replace(line, note=bench.why([case])))
        return
    X, _, _ = case.observations()
    fitted = case.estimator().fit(X)
    pairs, tiles, rounds = count * (count - 1) // 2, 2 if bench.quick else 10, 3
    matrix, piece = _loss_table(fitted, None if (available_bytes() or 0) >= ROOM else PIECE)
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
    ours, other = in_turns(timed(lambda: estimator.fit(X), least=0.2), theirs, rounds=rounds, warm=False)
    sums = " + ".join(f"{human(_median(part))} {name}" for name, part in parts.items())
    note = f"theirs {sums}; pairs scaled from {tiles * BATCH[0] * BATCH[1]:,} to {pairs:,}; eps = {SETTINGS['vehicle']['eps']}"
    if piece < count:
        note += f"; DBSCAN on {piece:,} rows, scaled by the square: less than {ROOM / 1e9:.0f} GB were free"
        bench.add(line.measured(ours, other, note=note))
        return
    same = adjusted_rand_score(dbscan(matrix, fitted.eps_, fitted.min_samples_), fitted.labels_) == 1
    note += f"; DBSCAN on the table of our losses finds the same clusters: {'yes' if same else 'NO'}"
    bench.add(line.measured(ours, other, note=note, holds=bool(same)))


def _loss_table(fitted: MCGTA, rows: int | None) -> tuple[Array, int]:
    """Return the losses of all pairs of a fit along time, or of its first rows, and the number of rows."""
    loss = _loss_of(fitted, rows)
    return loss.matrix(), len(loss)


def _loss_of(fitted: MCGTA, rows: int | None) -> Loss:
    """Return the loss of a fit along time, or of its first rows."""
    models, places = fitted.local_models_, fitted.positions_
    assert models is not None
    if rows is not None:
        first = np.arange(min(rows, len(places)))
        models, places = models.take(first), places.take(first)
    return Loss(compare_models(models), places, fitted.semivariogram_, beta=float(fitted.beta))


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
    bench, about = Bench(options.data, options.quick, options.timeout), environment()
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
