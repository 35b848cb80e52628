"""One fit in a process of its own: seconds by stage, peak memory, and the clusters.

A process has one peak of memory in its life, so a fit whose peak is wanted gets a process. The kernels are compiled by a small
fit before, which the peak includes. One thread; seconds are the processor's, so what other processes take does not count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from mcgta import MCGTA
from mcgta.datasets import make_gestures, make_regions
from mcgta.fit import DensityRule
from mcgta.kernels.gaussians.wasserstein import pack, wasserstein2_tile
from mcgta.runtime.types import Array, Labels
from mcgta.stages.semivariogram.binning import lag_edges
from measuring.scoring import score_ari
from measuring.timing import Side, in_turns, timed
from measuring.usage import own_peak
from problems.problem import Problem, load_problem, problem_of
from problems.windows import NEIGHBORS

RECORD_LENGTH = 315
FEATURES = 3
SMALL_ROWS = 7 * RECORD_LENGTH  # enough for the semivariogram to take a sample
TILE = 2048  # models
TILE_TURNS = 5
BATCH_ROWS = 1000  # new observations in a call
ROUNDS = 3
TREE_CALLS = 50  # with one new observation, through the tree
ANCHOR_CALLS = 2  # with one new observation, against every anchor
COMPILING_SECONDS = 60.0  # of a fit that reading kernels from the cache no longer matters for
ELSEWHERE = "elsewhere"
"""The time of a fit outside its named stages."""
BEFORE = ("neighbourhoods", "local models", "semivariogram", ELSEWHERE)
"""All other stages are the clustering, whatever the backend calls them; tables of all pairs belong to it."""

# Radii of DBSCAN are fixed, so that sizes can be compared; there are many clusters, and noise, at the largest.
# Lags: a record, and where the semivariogram of Vehicle levels off; the default, half the series, would grow with it.
SETTINGS: dict[str, dict[str, Any]] = {
    "series": {"eps": 0.02, "bins": lag_edges(float(RECORD_LENGTH))},
    "plane": {"eps": 0.05},
    "vehicle": {"eps": 0.05, "bins": lag_edges(400.0)},
}


@dataclass(frozen=True)
class Case:
    """A fit to be done.

    Attributes
    ----------
    data : "series", "plane" or "vehicle"
    count : observations; of Vehicle the first
    clusterer : "dbscan" or "hdbscan"
    folder : of the files
    extras : whether to time a tile of pairs of the models, and the placing of new observations, too
    """

    data: str
    count: int
    clusterer: str = "dbscan"
    folder: str = ""
    extras: bool = False

    def estimator(self, **options: Any) -> MCGTA:
        """Return what is fitted, nothing of it searched for; HDBSCAN has no radius, and OPTICS is cut at DBSCAN's."""
        settings = {"n_neighbors": NEIGHBORS, "min_samples": 20, "beta": 0.5, "clusterer": self.clusterer, "n_jobs": 1}
        settings |= SETTINGS[self.data]
        if self.clusterer == "hdbscan":
            settings["eps"] = 0.0
        return MCGTA(**{**settings, **options})

    def problem(self) -> Problem:
        """Return the observations and their true clusters."""
        return _PROBLEMS[self.data](self)


def _series(case: Case) -> Problem:
    made = make_gestures(-(-case.count // RECORD_LENGTH), record_length=RECORD_LENGTH, n_features=FEATURES)
    return Problem(made.X, None, made.labels).take(slice(case.count))


def _plane(case: Case) -> Problem:
    return problem_of(make_regions(case.count, n_features=FEATURES))


def _vehicle(case: Case) -> Problem:
    return load_problem("vehicle", case.folder).take(slice(case.count))


_PROBLEMS: dict[str, Callable[[Case], Problem]] = {"series": _series, "plane": _plane, "vehicle": _vehicle}


def fit_in_child(case: Case, *, timeout: float) -> dict[str, Any]:
    """Do a fit in a fresh process; return its measurements, or why it failed."""
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, json.dumps(asdict(case))],
            env=os.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {timeout:.0f} s"}
    if done.returncode < 0:
        return {"failed": f"ended by signal {-done.returncode}"}
    if done.returncode:
        raise RuntimeError(f"a fresh process failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


class Stopwatch:
    """Listens to the progress of a fit and adds up seconds by stage; within a stage that has others, theirs are not its own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._open: list[str] = []
        self._last = time.process_time()

    def __call__(self, stage: str, share: float) -> None:
        """Take note of the beginning or the end of a stage, which may come again."""
        if share == 0:
            self._lap()
            self._open.append(stage)
        elif share == 1 and stage in self._open:
            self._lap()
            self._open.reverse()
            self._open.remove(stage)
            self._open.reverse()

    def stop(self) -> dict[str, float]:
        """Return the seconds by stage."""
        self._lap()
        return dict(self.seconds)

    def _lap(self) -> None:
        now = time.process_time()
        self.seconds[self._open[-1] if self._open else ELSEWHERE] += now - self._last
        self._last = now


def clustering_seconds(seconds: dict[str, float]) -> float:
    """Return the seconds of the clustering, whatever stages a backend has for it."""
    return sum(spent for stage, spent in seconds.items() if stage not in BEFORE)


def _describe_backend(model: MCGTA) -> dict[str, Any]:
    """Return the backend of the clustering, and how many pairs it computed exactly."""
    return {name: getattr(model.backend_, name) for name in ("name", "reason", "exact_pairs", "pairs", "exact_share")}


def _seconds_a_pair(model: MCGTA) -> float:
    """Time the kernel on a tile of random models of the fit."""
    models = model.local_models_
    assert models is not None
    packed = pack(models.means, models.covariances)
    size = min(TILE, len(packed))
    left, right = (packed[rng.permutation(len(packed))[:size]] for rng in map(np.random.default_rng, (0, 1)))
    turn = timed(lambda: wasserstein2_tile(left, right), units=size**2)
    return float(np.median([turn() for _ in range(TILE_TURNS + 1)][1:]))


def _placing(model: MCGTA, X: Array) -> dict[str, Any]:
    """Time new observations along time, among those of the fit: through the tree, and against every anchor, in turns.

    Batches after all densities are known, single ones before: then the tree keeps what it has found of its anchors, so no
    observation is asked for twice.
    """
    rng = np.random.default_rng(0)
    where = rng.uniform(0, len(X) - 1, (2 * ROUNDS + 1, BATCH_ROWS))
    new = X[where.astype(int)] + rng.normal(0, 0.01, (*where.shape, X.shape[1]))
    start = time.process_time()
    model.predict(new[-1], positions=where[-1])
    first = time.process_time() - start
    derived = model.fitted_.derived
    tree = derived.density_rule
    labels: dict[str, list[Labels]] = {"tree": [], "every": []}

    def side(name: str, rule: DensityRule, begin: int, step: int, calls: int) -> Side:
        turn = iter(range(begin, begin + ROUNDS))

        def work() -> None:
            derived.density_rule = rule
            k = next(turn)
            for row in range(0, calls * step, step):
                part = slice(row, row + step)
                labels[name].append(model.predict(new[k, part], positions=where[k, part]))

        return timed(work, units=calls * step)

    densities = derived.membership  # of all anchors; comparing with every one of them takes these
    ready = tree._replace(membership=densities, tree=derived.anchor_tree(densities))
    every = ready._replace(tree=None, surroundings=None)
    batches = [side("tree", ready, 0, BATCH_ROWS, 1), side("every", every, 0, BATCH_ROWS, 1)]
    singles = [side("tree", tree, ROUNDS, 1, TREE_CALLS), side("every", every, ROUNDS, 1, ANCHOR_CALLS)]
    times = {"batches": in_turns(*batches, rounds=ROUNDS, warm=False)}
    same = all(np.array_equal(a, b) for a, b in zip(labels["tree"], labels["every"], strict=True))
    return {"first": first, **times, "singles": in_turns(*singles, rounds=ROUNDS, warm=False), "same": same}


def _measure(case: Case) -> dict[str, Any]:
    """Fit, and return the measurements; where memory runs out, why the fit failed."""
    small = replace(case, count=min(case.count, SMALL_ROWS))
    warm = small.estimator()
    small.problem().fit(warm)
    before = own_peak()
    problem = case.problem()
    try:
        fit = _fit(case, problem)
        peak = own_peak()
        other_backend = fit.model.backend_.name != warm.backend_.name
        if other_backend and fit.wall < COMPILING_SECONDS:  # it may have been compiled just now
            fit = _fit(case, problem)
    except MemoryError as error:
        return {"failed": f"MemoryError: {error}"}
    measured = {
        "seconds": fit.seconds,
        "total": sum(fit.seconds.values()),
        "clustering": clustering_seconds(fit.seconds),
        "wall": fit.wall,
        "peak": peak,
        "peak_before": before,
        "backend": _describe_backend(fit.model),
        "clusters": fit.model.n_clusters_,
        "noise": fit.model.noise_share_,
        "ari": score_ari(problem.truth, fit.model.labels_) / 100,
    }
    if not case.extras:
        return measured
    return {**measured, "seconds_a_pair": _seconds_a_pair(fit.model), "placing": _placing(fit.model, problem.X)}


class _TimedFit(NamedTuple):
    """A fitted estimator, the processor's seconds by stage, and the seconds by the wall's clock."""

    model: MCGTA
    seconds: dict[str, float]
    wall: float


def _fit(case: Case, problem: Problem) -> _TimedFit:
    watch = Stopwatch()
    start = time.perf_counter()
    model = case.estimator(progress=watch)
    problem.fit(model)
    return _TimedFit(model, watch.stop(), time.perf_counter() - start)


def main() -> None:
    """Do the fit that the first argument describes, and print its measurements."""
    case = Case(**json.loads(sys.argv[1]))
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps(_measure(case)))


if __name__ == "__main__":
    main()
