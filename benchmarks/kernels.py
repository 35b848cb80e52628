"""How fast the kernels are: each ratio of the table measured against the usual way, both sides in one run, in turns.

Medians; one core and the processor's time unless said; kernels are compiled before anything is timed. The rows are

    lasso           a graphical lasso against scikit-learn's
    wasserstein     W2 squared of a pair against NumPy's batched eigenvalues, and operations a second beside dgemm's
    pot             W2 squared of a pair against POT's
    mixtures        the mixture Wasserstein distance of a pair against POT's network simplex
    threads         two threads against one, wall time; only an idle machine tells
    semivariogram   of Vehicle, by control variate against all pairs
    pavement        end to end, against scikit-learn, SciPy and DBSCAN on the dense matrix
    startup         what one waits for besides (no ratio)

A whole run writes its results to docs/benchmarks/kernels.json, which the documentation renders; a run with --only or
--quick writes them only where --json says.

    python benchmarks/kernels.py --data FOLDER
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mcgta import MCGTA
from mcgta.kernels.gaussians.careful_lasso import GAP
from mcgta.kernels.gaussians.graphical_lasso import graphical_lasso
from mcgta.kernels.gaussians.mixture_transport import find_ground_costs, mixture_tile, round_shares
from mcgta.kernels.gaussians.wasserstein import pack, wasserstein2_tile
from mcgta.runtime.parallel import threads as on_threads
from mcgta.runtime.types import Array
from mcgta.stages import compare_models, empirical_semivariogram
from measuring.environment import environment, load_average
from measuring.readiness import compile_kernels
from measuring.timing import in_turns, timed
from problems.problem import missing
from problems.windows import ALPHA, NEIGHBORS, TITLES, WindowedData, read_windowed
from results import Ratio, Table, describe, human, print_tables, table_head, table_line, write_results
from rivals import Gaussians, LassoFits, dbscan, eigvalsh_tile, pot_mixtures, pot_pairs, pot_tile, sqrtm_pairs
from startup import measure_startup

RESULTS = Path(__file__).parent.parent / "docs" / "benchmarks" / "kernels.json"
TILE = 256  # models
BATCH = (slice(0, 128), slice(0, 156))
BATCH_PAIRS = 128 * 156
DGEMM_ROWS = 1024
MIN_SECONDS = 0.02  # of a turn
LASSO_WINDOWS = 4  # of scikit-learn, a round
ROOT_RULE_NODES = 32  # see operations
SQRTM_PAIRS = 100  # a round
MIXED_REGIONS = 6
NEIGHBORS_OF_A_MIXTURE = 30


@dataclass
class Bench:
    """A run: the folder of the data, how thorough it is, and its results so far."""

    folder: Path
    quick: bool
    ratios: list[Ratio] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)

    def rounds(self, number: int) -> int:
        """Return the rounds of a measurement, fewer in a quick run."""
        return max(3, number // 5) if self.quick else number

    def add(self, ratio: Ratio) -> None:
        """Keep and print a line of the table."""
        self.ratios.append(ratio)
        print(table_line(ratio), flush=True)


def agreement(difference: Array, unit: str = "traces") -> dict[str, Any]:
    """Say how far apart the results of the two sides are, and whether that is near enough."""
    largest = float(difference.max())
    return {"note": f"largest difference {largest:.1e} of the {unit}", "holds": largest <= 1e-10}


def lasso(bench: Bench) -> None:
    """Graphical lasso a fit, against scikit-learn's on random windows, a few a round."""
    for name, d, must, aim in (("vehicle", 5, 800, 2000), ("pavement", 10, 250, 1000), ("inat_subset", 16, 80, 500)):
        case = f"graphical lasso a fit, d = {d} ({TITLES[name]})"
        line = Ratio("lasso", case, "scikit-learn GraphicalLasso", must, aim, "fit")
        dataset = read_windowed(bench.folder, name, columns=d)
        if dataset is None:
            bench.add(replace(line, note=missing(name)))
        else:
            _lasso(bench, line, dataset)


def _lasso(bench: Bench, line: Ratio, dataset: WindowedData) -> None:
    covs = dataset.models(covariance="empirical").covariances
    rival = LassoFits(dataset.data.X, dataset.neighborhoods.indices, ALPHA)
    rounds = bench.rounds(15)
    windows = np.random.default_rng(0).permutation(len(covs))[: LASSO_WINDOWS * (rounds + 1)]
    blocks = iter(windows.reshape(-1, LASSO_WINDOWS).tolist())
    ours, with_moments, theirs = in_turns(
        timed(lambda: graphical_lasso(covs, ALPHA), units=len(covs), least=MIN_SECONDS),
        timed(dataset.models, units=len(covs), least=MIN_SECONDS),
        lambda: rival.fit(next(blocks)),
        rounds=rounds,
    )
    fitted, gaps = graphical_lasso(covs, ALPHA)
    apart = [np.abs(cov - fitted[k]).max() / covs[k].max() for k, cov in rival.covariances.items() if cov is not None]
    diagonal = np.mean([np.count_nonzero(cov) <= len(cov) for cov in fitted])
    note = (
        f"{LASSO_WINDOWS * rounds} of {len(covs)} windows by scikit-learn, {rival.raised} of them raised; "
        f"largest duality gap of ours {gaps.max():.1e}; "
        f"median difference at scikit-learn's tolerance {np.median(apart):.1e}; diagonal {diagonal:.0%}"
    )
    bench.add(line.measured(ours, theirs, note=note, holds=bool(gaps.max() <= GAP)))
    line = replace(line, case=f"{line.case}, with moments", must=None, aim=None)
    bench.add(line.measured(with_moments, theirs))


def operations(d: int) -> int:
    """Return the floating-point operations of W2 squared of one pair, divisions and roots counted as one each.

    d >= 4: product of the triangular factors d (d + 1)(2 d + 1)/3; bidiagonalisation, sum over m < d of 8 m^2 + 2 m, which is
    8/3 d^3 and lower terms; traces 6 d; symmetric functions 2 d (d + 1); the rule, 4 d for each of its nodes, nominally
    32; 3 d + 4 for means and traces. d = 2, 3: as the closed forms are written, with 3 steps of Newton's method.
    """
    ends = 3 * d + 4
    if d == 2:
        return 12 + ends
    if d == 3:
        return 19 + 17 + 27 + 17 + 5 + 11 + 3 * 20 + ends
    product = d * (d + 1) * (2 * d + 1) // 3
    bidiagonal = sum(8 * m * m + 2 * m for m in range(1, d))
    return product + bidiagonal + 6 * d + 2 * d * (d + 1) + ROOT_RULE_NODES * 4 * d + ends


def wasserstein(bench: Bench) -> None:
    """W2 squared a pair on random covariances, against NumPy."""
    for d, must, aim in ((2, 300, 600), (3, 50, 150), (5, 14, 35), (10, 8, 20), (16, 5, 15)):
        _wasserstein(
            bench, d, Ratio("wasserstein", f"W2 squared a pair, d = {d}", "NumPy batched eigvalsh", must, aim, "pair")
        )


def _wasserstein(bench: Bench, d: int, line: Ratio) -> None:
    """Measure one line; operations a second beside those of a product of large matrices, which takes turns too."""
    models = Gaussians.random(TILE, d, seed=d)
    packed = pack(models.means, models.covs)
    square = np.random.default_rng(0).standard_normal((DGEMM_ROWS, DGEMM_ROWS))
    ours, theirs, dgemm = in_turns(
        timed(lambda: wasserstein2_tile(packed, packed), units=TILE**2, least=MIN_SECONDS),
        timed(lambda: eigvalsh_tile(models, *BATCH), units=BATCH_PAIRS, least=MIN_SECONDS),
        timed(lambda: square @ square, units=2 * DGEMM_ROWS**3, least=MIN_SECONDS),
        rounds=bench.rounds(15),
    )
    difference = np.abs(wasserstein2_tile(packed, packed)[BATCH] - eigvalsh_tile(models, *BATCH))
    traces = models.traces[BATCH[0], None] + models.traces[None, BATCH[1]]
    bench.add(line.measured(ours, theirs, **agreement(difference / traces)))
    seconds = float(np.median(ours))
    peak = 1e-9 / float(np.median(dgemm))
    speed = operations(d) / seconds / 1e9
    entry = {"d": d, "seconds": seconds, "operations": operations(d), "gflops": speed, "dgemm": peak}
    bench.tables.setdefault("arithmetic", []).append({**entry, "share": speed / peak})


def pot(bench: Bench) -> None:
    """W2 squared a pair, against POT's function pair by pair, and in one call for a tile."""
    line = Ratio("pot", "W2 squared a pair, d = 5", "POT, a call for a pair", 350, 900, "pair")
    try:
        import ot
    except ImportError:
        bench.add(replace(line, note="POT is not installed: pip install 'mcgta[bench]'"))
        return
    models = Gaussians.random(TILE, 5, seed=5)
    packed = pack(models.means, models.covs)
    i, j = np.random.default_rng(0).integers(TILE, size=(2, 300))
    ours, single, batched = in_turns(
        timed(lambda: wasserstein2_tile(packed, packed), units=TILE**2, least=MIN_SECONDS),
        timed(lambda: pot_pairs(ot, models, i, j), units=i.size),
        timed(lambda: pot_tile(ot, models, *BATCH), units=BATCH_PAIRS),
        rounds=bench.rounds(15),
    )
    difference = np.abs(wasserstein2_tile(packed, packed)[i, j] - pot_pairs(ot, models, i, j))
    bench.add(line.measured(ours, single, **agreement(difference / (models.traces[i] + models.traces[j]))))
    bench.add(replace(line, rival="POT, one call for a tile", must=None, aim=None).measured(ours, batched))


def mixtures(bench: Bench) -> None:
    """Squared mixture Wasserstein distance a pair, against POT pair by pair, for some numbers of shared components.

    Shares are those of 30 draws from regions with shares of their own, as local mixtures have them.
    """
    for components in (4, 8, 12):
        line = Ratio("mixtures", f"mixtures of {components} components", "POT, a call for a pair", 50, None, "pair")
        try:
            import ot
        except ImportError:
            bench.add(replace(line, note="POT is not installed: pip install 'mcgta[bench]'"))
            return
        rng = np.random.default_rng(components)
        parts = Gaussians.random(components, 10, seed=components)
        packed = pack(3 * parts.means, parts.covs)
        costs = wasserstein2_tile(packed, packed)
        np.fill_diagonal(costs, 0.0)
        ground = find_ground_costs((costs + costs.T) / 2)
        regions = rng.dirichlet(np.full(components, 0.5), size=MIXED_REGIONS)
        counts = rng.multinomial(NEIGHBORS_OF_A_MIXTURE, regions[rng.integers(MIXED_REGIONS, size=TILE)])
        smooth = counts + rng.uniform(size=counts.shape)  # responsibilities are never whole
        shares = round_shares(smooth / smooth.sum(axis=1, keepdims=True))
        i, j = rng.integers(TILE, size=(2, 300))
        ours, theirs = in_turns(
            timed(partial(mixture_tile, ground, shares, shares), units=TILE**2, least=MIN_SECONDS),
            timed(partial(pot_mixtures, ot, shares, ground.costs, i, j), units=i.size),
            rounds=bench.rounds(15),
        )
        difference = np.abs(mixture_tile(ground, shares, shares)[i, j] - pot_mixtures(ot, shares, ground.costs, i, j))
        bench.add(line.measured(ours, theirs, **agreement(difference / ground.costs.max(), "largest cost")))


def threads(bench: Bench) -> None:
    """Two threads against one on both heavy stages, wall time."""
    line = Ratio("threads", "two threads, local models (Vehicle)", "one thread", 1.7, 1.9)
    dataset = read_windowed(bench.folder, "vehicle")
    if dataset is None:
        bench.add(replace(line, note=missing("vehicle")))
        return
    fit = dataset.models
    piece = compare_models(fit(n_jobs=1).take(np.arange(2500 if bench.quick else 6000)))

    def compare(n_jobs: int) -> Array:
        with on_threads(n_jobs):
            return replace(piece, cached=None).matrix()

    def measure(line: Ratio, work: Callable[[int], Array], rounds: int) -> None:
        same = np.array_equal(work(1), work(2))
        before = load_average()
        wall = partial(timed, least=0.2, clock=time.perf_counter)
        two, one = in_turns(wall(partial(work, 2)), wall(partial(work, 1)), rounds=rounds)
        note = f"load average {before} before; results the same to the bit: {'yes' if same else 'NO'}"
        bench.add(line.measured(two, one, note=note, holds=same))

    measure(line, lambda n_jobs: fit(n_jobs=n_jobs).covariances, bench.rounds(15))
    pairs = replace(line, case=f"two threads, all pairs of {len(piece)} models (Vehicle)")
    measure(pairs, compare, bench.rounds(9))


def semivariogram(bench: Bench) -> None:
    """Semivariogram of Vehicle by control variate, against all pairs; its errors beside the errors it states."""
    line = Ratio("semivariogram", "semivariogram (Vehicle)", "all pairs", 100, 300)
    dataset = read_windowed(bench.folder, "vehicle", rows=6000 if bench.quick else None)
    if dataset is None:
        bench.add(replace(line, note=missing("vehicle")))
        return
    sample = partial(empirical_semivariogram, compare_models(dataset.models()), dataset.data.positions)
    exact = sample(error=0.0)
    sampled = sample()
    ours, theirs = in_turns(timed(sample, least=0.2), timed(partial(sample, error=0.0)), rounds=3, warm=False)
    seen = exact.counts > 0
    off = np.abs(sampled.values[seen] - exact.values[seen])
    relative = off / exact.values[seen]
    stated = np.asarray(sampled.errors, dtype=float)[seen]
    uncertain = stated > 0
    score = off[uncertain] / stated[uncertain]
    median = float(np.median(relative))
    largest = float(relative.max())
    entry = {
        "bins": int(seen.sum()),
        "median_error": median,
        "largest_error": largest,
        "median_stated": float(np.median(stated / exact.values[seen])),
        "error_over_stated": float(np.sqrt(np.mean(score**2))) if score.size else None,
        "within_two": float(np.mean(score <= 2)) if score.size else None,
    }
    bench.tables["semivariogram"] = [entry]
    note = f"median error over bins {median:.1e}, at most 1e-3 wanted; largest {largest:.1e}"
    note += "; the first 6,000 rows only" if bench.quick else ""
    bench.add(line.measured(ours, theirs, note=note, holds=median <= 1e-3))


def pavement(bench: Bench) -> None:
    """Pavement end to end, against the sum of what the heavy stages cost with other packages.

    A round fits a third of the windows and 100 random pairs, scaled to all of them.
    """
    line = Ratio("pavement", "Pavement, 10 columns, end to end", "scikit-learn, SciPy sqrtm, DBSCAN", 100, 500)
    dataset = read_windowed(bench.folder, "pavement", columns=10)
    if dataset is None:
        bench.add(replace(line, note=missing("pavement")))
        return
    X = dataset.data.X
    rounds = 3
    total = len(X) * (len(X) - 1) // 2
    options: dict[str, Any] = {"n_neighbors": NEIGHBORS, "alpha": ALPHA, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eps = MCGTA(eps=1.0, **options).fit(X).refit(eps="auto").eps_
        estimator = MCGTA(eps=eps, **options)  # nothing is searched for
        fitted = estimator.fit(X)
        own = fitted.local_models_
        assert own is not None
        models = Gaussians.of(own.means, own.covariances)
        matrix = compare_models(own).matrix()
        fits = LassoFits(X, dataset.neighborhoods.indices, ALPHA)
        parts: dict[str, list[float]] = {"fits": [], "pairs": [], "clustering": []}
        spared: list[float] = []
        turns: Iterator[int] = count()
        drawn = np.random.default_rng(0).integers(len(X), size=(rounds, 2, SQRTM_PAIRS))

        def theirs() -> list[float]:
            turn = next(turns)
            windows = range(turn, len(X), 12 if bench.quick else rounds)
            parts["fits"].append(float(np.mean(fits.fit(windows))) * len(X))
            whole = timed(lambda: sqrtm_pairs(models, *drawn[turn], rooted=False), units=SQRTM_PAIRS)()[0]
            parts["pairs"].append(total * whole)
            spared.append(
                total * (whole - timed(lambda: sqrtm_pairs(models, *drawn[turn], rooted=True), units=SQRTM_PAIRS)()[0])
            )
            parts["clustering"] += timed(lambda: dbscan(matrix, fitted.eps_, fitted.min_samples_))()
            return [sum(part[-1] for part in parts.values())]

        sqrtm_pairs(models, *drawn[0, :, :10], rooted=False)
        ours, other = in_turns(timed(lambda: estimator.fit(X), least=0.2), theirs, rounds=rounds, warm=False)
    sums = " + ".join(human(float(np.mean(part))) for part in parts.values())
    note = (
        f"theirs {sums}; sqrtm measured on {rounds * SQRTM_PAIRS} of {total} pairs, two a pair as equation 5 is written; "
        f"{fits.raised} of {len(fits.covariances)} fits raised"
    )
    less = [[whole[0] - part] for whole, part in zip(other, spared, strict=True)]
    bench.add(line.measured(ours, less, note="each model's own root given to them", middle=np.mean))
    both = Ratio("pavement", "Pavement, both roots of each pair theirs", line.rival)
    bench.add(both.measured(ours, other, note=note, middle=np.mean))


def startup(bench: Bench) -> None:
    """Imports, compiler and first result, in fresh processes."""
    bench.tables["startup"] = measure_startup(2, 1) if bench.quick else measure_startup(5, 3)


ROWS: dict[str, Callable[[Bench], None]] = {
    row.__name__: row for row in (lasso, wasserstein, pot, mixtures, threads, semivariogram, pavement, startup)
}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with vehicle.npz, pavement.npz, inat_subset.npz"
    )
    parser.add_argument("--json", type=Path, help="file of the results")
    parser.add_argument("--only", nargs="+", choices=ROWS, metavar="ROW", help=f"rows to run: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a look, not a result")
    options = parser.parse_args()
    bench = Bench(options.data, options.quick)
    about = environment()
    print(describe(about))
    compile_kernels()
    print(table_head(), flush=True)
    with threadpool_limits(limits=1):
        for name in options.only or ROWS:
            ROWS[name](bench)
    print_tables(bench.tables)
    file = options.json or (RESULTS if not (options.only or options.quick) else None)
    if file is not None:
        write_results(file, about, bench.ratios, bench.tables)


if __name__ == "__main__":
    main()
