"""One fit in a process of its own: seconds by stage, the memory it took at most, and what it found.

A process has one peak of memory in its life, so a fit whose peak is wanted gets a process. The kernels are compiled by a small
fit before, which the peak includes. One thread; seconds are the processor's, so what other processes take does not count.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from data_sets import NEIGHBORS
from mcgta import MCGTA
from mcgta.datasets import make_gestures, make_regions
from mcgta.kernels.gaussians.wasserstein import pack, wasserstein2_tile
from mcgta.runtime.types import Array, Labels
from mcgta.updating.predict import Reference
from timing import Side, in_turns, timed

RECORD = 315
FEATURES = 3
SMALL = 7 * RECORD  # enough for the semivariogram to take a sample
TILE, TURNS = 2048, 5
NEW, ROUNDS = 1000, 3  # new observations in a call, and turns
SINGLE, FEW = 50, 2  # calls with one, through the tree and against every anchor
COMPILING = 60.0  # seconds of a fit that reading kernels from the cache no longer matters for
ELSEWHERE = "elsewhere"
"""What a fit does outside its named stages."""
BEFORE = ("neighbourhoods", "local models", "semivariogram", ELSEWHERE)
"""All other stages are the clustering, whatever the backend calls them; tables of all pairs belong to it."""

# Radii of DBSCAN are fixed, so that sizes can be compared; there are many clusters, and noise, at the largest.
# Lags: a record, and where the semivariogram of Vehicle levels off; the default, half the series, would grow with it.
SETTINGS: dict[str, dict[str, Any]] = {
    "series": {"eps": 0.02, "max_lag": float(RECORD)},
    "plane": {"eps": 0.05},
    "vehicle": {"eps": 0.05, "max_lag": 400.0},
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

    def observations(self) -> tuple[Array, Array | None, Labels]:
        """Return features, positions (None along time) and true labels."""
        if self.data == "series":
            made = make_gestures(-(-self.count // RECORD), record_length=RECORD, n_features=FEATURES)
            return made.X[: self.count], None, made.labels[: self.count]
        if self.data == "plane":
            made = make_regions(self.count, n_features=FEATURES)
            return made.X, made.positions, made.labels
        with np.load(Path(self.folder) / f"{self.data}.npz") as arrays:
            return arrays["X"][: self.count].astype(float), None, arrays["y"][: self.count]


def fit_in_child(case: Case, *, timeout: float) -> dict[str, Any]:
    """Do a fit in a fresh process; return what it found, or why it failed."""
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


def peak_bytes() -> int:
    """Return the most memory that this process has held.

    Linux passes ru_maxrss on from a parent to the program it starts, so the process's own mark is read where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def clustering_seconds(seconds: dict[str, float]) -> float:
    """Return the seconds of the clustering, whatever stages an backend has for it."""
    return sum(spent for stage, spent in seconds.items() if stage not in BEFORE)


def _engine(model: MCGTA, count: int) -> dict[str, Any]:
    """Say how the clustering was done; an estimator that does not tell has computed every pair."""
    backend, pairs = getattr(model, "backend_", None), count * (count - 1) // 2
    if backend is None:
        return {"name": "table", "reason": "not told", "exact_pairs": pairs, "pairs": pairs, "exact_share": 1.0}
    return {name: getattr(backend, name) for name in ("name", "reason", "exact_pairs", "pairs", "exact_share")}


def _seconds_a_pair(model: MCGTA) -> float:
    """Time the kernel on a tile of random models of the fit."""
    models = model.local_models_
    assert models is not None
    packed = pack(models.means, models.covariances)
    few = min(TILE, len(packed))
    left, right = (packed[rng.permutation(len(packed))[:few]] for rng in map(np.random.default_rng, (0, 1)))
    turn = timed(lambda: wasserstein2_tile(left, right), units=few**2)
    return float(np.median([turn() for _ in range(TURNS + 1)][1:]))


def _placing(model: MCGTA, X: Array) -> dict[str, Any]:
    """Time new observations along time, among those of the fit: through the tree, and against every anchor, in turns.

    Batches after all densities are known, single ones before: then the tree keeps what it has found of its anchors, so no
    observation is asked for twice.
    """
    rng = np.random.default_rng(0)
    where = rng.uniform(0, len(X) - 1, (2 * ROUNDS + 1, NEW))
    new = X[where.astype(int)] + rng.normal(0, 0.01, (*where.shape, X.shape[1]))
    start = time.process_time()
    model.predict(new[-1], positions=where[-1])
    first, tree = time.process_time() - start, model._refer()
    found: dict[str, list[Labels]] = {"tree": [], "every": []}

    def side(name: str, reference: Reference, begin: int, step: int, calls: int) -> Side:
        turn = iter(range(begin, begin + ROUNDS))

        def work() -> None:
            model._reference, k = reference, next(turn)
            for row in range(0, calls * step, step):
                part = slice(row, row + step)
                found[name].append(model.predict(new[k, part], positions=where[k, part]))

        return timed(work, units=calls * step)

    assert model.strengths_.size  # which finds all densities; comparing with every anchor takes these
    ready = model._refer()
    every = replace(ready, tree=None, surroundings=None)
    batches = [side("tree", ready, 0, NEW, 1), side("every", every, 0, NEW, 1)]
    singles = [side("tree", tree, ROUNDS, 1, SINGLE), side("every", every, ROUNDS, 1, FEW)]
    times = {"batches": in_turns(*batches, rounds=ROUNDS, warm=False)}
    same = all(np.array_equal(a, b) for a, b in zip(found["tree"], found["every"], strict=True))
    return {"first": first, **times, "singles": in_turns(*singles, rounds=ROUNDS, warm=False), "same": same}


def _fit(case: Case) -> dict[str, Any]:
    small = Case(case.data, min(case.count, SMALL), case.clusterer, case.folder)
    X, positions, _ = small.observations()
    warm = small.estimator().fit(X, positions=positions)
    before = peak_bytes()
    X, positions, labels = case.observations()
    try:
        model, seconds, wall = _timed_fit(case, X, positions)
        peak = peak_bytes()
        if (
            _engine(model, 2)["name"] != _engine(warm, 2)["name"] and wall < COMPILING
        ):  # it may have been compiled just now
            model, seconds, wall = _timed_fit(case, X, positions)
    except MemoryError as error:
        return {"failed": f"MemoryError: {error}"}
    found = {
        "seconds": seconds,
        "total": sum(seconds.values()),
        "clustering": clustering_seconds(seconds),
        "wall": wall,
        "peak": peak,
        "peak_before": before,
        "backend": _engine(model, len(X)),
        "clusters": model.n_clusters_,
        "noise": model.noise_share_,
        "ari": float(adjusted_rand_score(labels, model.labels_)),
    }
    if not case.extras:
        return found
    return {**found, "seconds_a_pair": _seconds_a_pair(model), "placing": _placing(model, X)}


def _timed_fit(case: Case, X: Array, positions: Array | None) -> tuple[MCGTA, dict[str, float], float]:
    """Return the fitted estimator, the seconds by stage, and the wall's."""
    watch, start = Stopwatch(), time.perf_counter()
    model = case.estimator(progress=watch).fit(X, positions=positions)
    return model, watch.stop(), time.perf_counter() - start


def main() -> None:
    """Do the fit that the first argument describes, and print what it found."""
    case = Case(**json.loads(sys.argv[1]))
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps(_fit(case)))


if __name__ == "__main__":
    main()
