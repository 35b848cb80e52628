"""Speed of the baselines that are written here against the packages that have them.

    skater   regions of 1,500 places x 5 features, 5 regions: SKATER against spopt, the same graph and the same labels
    ticc     2,000 steps x 5 features, windows of 3, 5 states: TICC against fast-ticc, one start each, to convergence
    dbscan   20,000 rows x 5 features: DBSCAN, which keeps no lists of neighbours, against scikit-learn's; the same labels

Both sides work in turns on one thread, by the processor's clock.

    python benchmarks/baselines.py
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.cluster
from sklearn.metrics import pairwise
from threadpoolctl import threadpool_limits

from mcgta import read_positions
from mcgta.baselines import DBSCAN, SKATER, TICC, FastTICC
from mcgta.baselines.skater import contiguity
from mcgta.datasets import make_regions, make_series
from mcgta.runtime.types import Array
from measuring.environment import environment
from measuring.scoring import same_clusters, score_ari
from measuring.timing import in_turns, timed
from results import Ratio, describe, table_head, table_line

ROUNDS = 3
Lines = list[Ratio]


def spopt_regions(X: Array, i: Any, j: Any, n_clusters: int) -> Any:
    """Regions by spopt of a graph with these edges."""
    from libpysal.weights import W
    from spopt.region.skater import SpanningForest

    neighbors: dict[int, list[int]] = {row: [] for row in range(len(X))}
    for a, b in zip(i.tolist(), j.tolist(), strict=True):
        neighbors[a].append(b)
        neighbors[b].append(a)

    def squares(a: Any, b: Any) -> Any:
        return pairwise.euclidean_distances(a, b, squared=True)

    return SpanningForest(dissimilarity=squares).fit(n_clusters, W(neighbors), X, quorum=1).current_labels_


def skater() -> Lines:
    """SKATER against spopt."""
    data = make_regions(1_500, random_state=0)
    i, j = contiguity(read_positions(data.positions, len(data.X)), 8)
    labels: dict[str, Any] = {}

    def ours() -> None:
        labels["ours"] = SKATER(5).fit(data.X, positions=data.positions).labels_

    def theirs() -> None:
        labels["theirs"] = spopt_regions(data.X, i, j, 5)

    turns = in_turns(timed(ours), timed(theirs), rounds=ROUNDS)
    same = same_clusters(labels["ours"], labels["theirs"])
    line = Ratio("skater", "SKATER, 1,500 places x 5, 5 regions", "spopt")
    return [line.measured(*turns, note=f"the same regions: {'yes' if same else 'NO'}; spopt is given the graph")]


def ticc() -> Lines:
    """TICC against fast-ticc."""
    data = make_series(2_000, segment_lengths=(20, 49), random_state=0)
    options: dict[str, Any] = {"n_clusters": 5, "window": 3, "beta": 50.0, "sparsity": 0.11}
    labels: dict[str, Any] = {}

    def run(name: str, make: Callable[[], Any]) -> Callable[[], None]:
        def fit() -> None:
            labels[name] = make().fit(data.X).labels_

        return fit

    sides = {"ours": lambda: TICC(n_init=1, **options), "theirs": lambda: FastTICC(**options)}
    turns = in_turns(*(timed(run(name, make)) for name, make in sides.items()), rounds=ROUNDS)
    scores = ", ".join(f"{name} {score_ari(data.labels, side):.1f}" for name, side in labels.items())
    line = Ratio("ticc", "TICC, 2,000 steps x 5, windows of 3, 5 states", "fast-ticc")
    return [line.measured(*turns, note=f"ARI {scores}; local optima may differ")]


def dbscan() -> Lines:
    """DBSCAN on the features against scikit-learn's."""
    X = np.random.default_rng(0).normal(size=(20_000, 5)) + np.repeat([[0.0], [6.0]], 10_000, axis=0)
    labels: dict[str, Any] = {}

    def ours() -> None:
        labels["ours"] = DBSCAN(1.2, 20).fit(X).labels_

    def theirs() -> None:
        labels["theirs"] = sklearn.cluster.DBSCAN(eps=1.2, min_samples=20).fit_predict(X)

    turns = in_turns(timed(ours), timed(theirs), rounds=ROUNDS)
    same = same_clusters(labels["ours"], labels["theirs"])
    line = Ratio("dbscan", "DBSCAN, 20,000 rows x 5", "scikit-learn")
    return [line.measured(*turns, note=f"the same clusters: {'yes' if same else 'NO'}")]


PARTS = {"skater": skater, "ticc": ticc, "dbscan": dbscan}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run")
    chosen = parser.parse_args().only
    print(describe(environment()))
    print(table_head())
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1):
        for name in chosen:
            for line in PARTS[name]():
                print(table_line(line), flush=True)


if __name__ == "__main__":
    main()
