"""The rows of the tables: every method with the grid that it is tuned over and the rule that it follows without labels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from mcgta.clustering.dbscan import knee
from mcgta.positions.reading import read_positions
from mcgta.runtime.types import Array
from mcgta.validation.grid import QUANTILES
from paper.methods import (
    Grid,
    Method,
    Params,
    Peer,
    free_mcgta,
    neighborhood_sizes,
    peer_method,
    product,
    tune_mcgta,
)
from problems.problem import SPACE, TIME, Problem

_SAMPLED_ROWS = 2_000  # whose distances a radius is read off


def feature_radii(problem: Problem, count: int) -> Array:
    """Distances (rows,) in features of some rows to their ``count``-th nearest, ascending."""
    return _radii(problem.X, count)


def place_radii(problem: Problem, count: int) -> Array:
    """Distances (rows,) in position of some rows to their ``count``-th nearest, ascending, in the metric's own unit."""
    places = read_positions(problem.positions, len(problem.X), groups=problem.groups, metric=problem.metric)
    assert places.points is not None  # no problem has a table of distances
    chord = _radii(places.points, count)
    if places.metric.name != "haversine":
        return chord
    radius = float(np.linalg.norm(places.points[0]))
    return np.asarray(2 * radius * np.arcsin(np.minimum(1.0, chord / (2 * radius))))


def _radii(points: Array, count: int) -> Array:
    rows = np.random.default_rng(0).permutation(len(points))[:_SAMPLED_ROWS]
    return np.sort(cKDTree(points).query(points[rows], k=min(count, len(points) - 1) + 1)[0][:, -1])


def _quantiles(radii: Array, shares: Iterable[float]) -> list[float]:
    return [float(value) for value in np.unique(np.quantile(radii, list(shares))) if value > 0]


def _dbscan_grid(problem: Problem) -> Iterator[Params]:
    for count in (5, 10, 20, 40):
        for eps in _quantiles(feature_radii(problem, count), np.linspace(0.1, 0.95, 12)):
            yield {"eps": eps, "min_samples": count}


def _dbscan_rule(problem: Problem) -> Params:
    count = 2 * problem.X.shape[1]
    return {"eps": knee(feature_radii(problem, count)), "min_samples": count}


def _constrained_grid(name: str) -> Grid:
    def grid(problem: Problem) -> Iterator[Params]:
        for count in (5, 10):
            places = _quantiles(place_radii(problem, 5 * count), (0.5, 0.9, 0.99))
            for reach, eps in itertools.product(
                places, _quantiles(feature_radii(problem, count), np.linspace(0.3, 0.99, 6))
            ):
                yield {"eps": eps, name: reach, "min_samples": count}

    return grid


def _constrained_rule(name: str) -> Callable[[Problem], Params]:
    def rule(problem: Problem) -> Params:
        count = 2 * problem.X.shape[1]
        near = knee(place_radii(problem, count))
        return {"eps": knee(feature_radii(problem, count)), name: near, "min_samples": max(2, count // 2)}

    return rule


_SILHOUETTE = "K of the greatest silhouette of the features, 2 to 8"
_BIC = "K of the least BIC, 1 to 8"
_KNEE = "radii at the knee of the sorted distances to the 2d-th nearest; min_samples "

_TICC = [
    {"window": window, "beta": beta, "sparsity": sparsity, "n_init": 1}
    for window, sparsity, beta in itertools.product((1, 3, 5), (0.01, 0.11), (5.0, 25.0, 100.0, 400.0))
]
_TICC_ZERO = product(window=(1, 3, 5, 8), sparsity=(0.01, 0.11), n_init=(1,))
_STICC = [
    {"subregion": subregion, "beta": beta, "sparsity": sparsity, "n_init": 1}
    for subregion, sparsity, beta in itertools.product((1, 3, 6), (0.01, 0.1), (1.0, 2.5, 5.0))
]
_STICC_ZERO = product(subregion=(1, 3, 6), sparsity=(0.01, 0.1), n_init=(1,))
_FAST_TICC = product(window=(1, 3), sparsity=(0.01,), beta=(25.0, 100.0, 400.0))

GRID: dict[str, Any] = {
    "dissimilarity": ("wasserstein2",),
    "beta": (0.5, 1.0),
    "margin_in_sills": (0.0, 0.25, 0.5),
    "min_samples_in_neighbors": (0.5, 1.0, 1.5),
    "eps_quantile": QUANTILES,
}
"""What ours is tuned over with the constraint, beside the size of the neighbourhood; the ablations vary one thing of it."""

_WITHOUT = {**GRID, "beta": (0.0,)}
_GMM = product(covariance_type=("full", "diag", "tied", "spherical"), n_init=(1, 5))


def _windows(problem: Problem) -> Iterator[Params]:
    yield from product(n_neighbors=(*neighborhood_sizes(problem), 10), covariance_type=("diag", "full"))


def _links(problem: Problem) -> Iterator[Params]:
    yield from product(n_links=(len(problem.X), 4 * len(problem.X)), weight=(0.1, 1.0))


def _sizes(problem: Problem) -> Iterator[Params]:
    count = len(problem.X)
    yield from product(
        min_cluster_size=sorted({5, 10, 25, max(5, count // 50), max(5, count // 20)}), min_samples=(2, 5, 15, 40)
    )


METHODS: dict[str, Method] = {
    "k-means": peer_method("k-Means", Peer("plain:KMeans"), by="silhouette", rule=_SILHOUETTE),
    "dbscan": peer_method(
        "DBSCAN",
        Peer("plain:DBSCAN", grid=_dbscan_grid, counts=False),
        radii=_dbscan_rule,
        rule=f"{_KNEE}2d",
        random=False,
    ),
    "hdbscan": peer_method(
        "HDBSCAN",
        Peer("plain:HDBSCAN", grid=_sizes, counts=False),
        radii=lambda problem: {"min_cluster_size": max(5, len(problem.X) // 50)},
        rule="clusters of at least 2 % of the rows",
        random=False,
    ),
    "dtw": peer_method(
        "DTW",
        Peer(
            "dtw:DTW",
            grid=lambda problem: [{"of": "rows", "band": None}, {"window": 5}, {"window": 15}, {"window": 30}],
        ),
        by="silhouette",
        rule=_SILHOUETTE,
        kinds=(TIME,),
    ),
    "pck-means": peer_method("PCK-Means", Peer("pck_means:PCKMeans", grid=_links), by="silhouette", rule=_SILHOUETTE),
    "st-dbscan": peer_method(
        "ST-DBSCAN",
        Peer("spacetime_dbscan:STDBSCAN", grid=_constrained_grid("eps_position"), counts=False),
        radii=_constrained_rule("eps_position"),
        rule=f"{_KNEE}d, 2 at least",
        random=False,
    ),
    "mdst-dbscan": peer_method(
        "MDST-DBSCAN",
        Peer("spacetime_dbscan:MDSTDBSCAN", grid=_constrained_grid("eps_space"), counts=False),
        radii=_constrained_rule("eps_space"),
        rule=f"{_KNEE}d, 2 at least",
        kinds=(SPACE,),
        random=False,
    ),
    "skater": peer_method(
        "SKATER",
        Peer("skater:SKATER", grid=lambda problem: [{"floor": floor} for floor in (1, max(1, len(problem.X) // 50))]),
        by="silhouette",
        rule=_SILHOUETTE,
        kinds=(SPACE,),
        random=False,
    ),
    "gmm": peer_method("GMM", Peer("plain:GMM", grid=lambda problem: _GMM), by="bic", rule=_BIC),
    "ticc-beta0": peer_method(
        "TICC, beta = 0",
        Peer("ticc:TICC", fixed={"beta": 0.0}, grid=lambda problem: _TICC_ZERO),
        by="bic",
        rule=_BIC,
        kinds=(TIME,),
    ),
    "sticc-beta0": peer_method(
        "STICC, beta = 0",
        Peer("sticc:STICC", fixed={"beta": 0.0}, grid=lambda problem: _STICC_ZERO),
        by="bic",
        rule=_BIC,
        kinds=(SPACE,),
    ),
    "mcgta-wo": Method(
        "MC-GTA without constraint",
        None,
        tune_mcgta(_WITHOUT),
        free_mcgta(dissimilarity="wasserstein2", beta=0.0, refine="none"),
        rule="settings of Algorithm 1 by W2 squared by evidence, beta = 0",
        random=False,
    ),
    "ticc": peer_method("TICC", Peer("ticc:TICC", grid=lambda problem: _TICC), by="bic", rule=_BIC, kinds=(TIME,)),
    "sticc": peer_method(
        "STICC", Peer("sticc:STICC", grid=lambda problem: _STICC), by="bic", rule=_BIC, kinds=(SPACE,)
    ),
    "mcgta": Method(
        "MC-GTA",
        None,
        tune_mcgta(GRID),
        free_mcgta(refine="none"),
        rule="settings of Algorithm 1 by evidence, calibrated or not",
        random=False,
    ),
    "mcgta-refined": Method(
        "mcgta as it comes", None, None, free_mcgta(), rule="every setting at its default", random=False
    ),
    "fast-ticc": peer_method(
        "TICC by fast-ticc", Peer("ticc:FastTICC", grid=lambda problem: _FAST_TICC), kinds=(TIME,)
    ),
    "windowed-gmm": peer_method("GMM on windows", Peer("windowed_gmm:WindowedGMM", grid=_windows), by="bic", rule=_BIC),
    "hmm": peer_method(
        "HMM",
        Peer("hidden_markov:HMM", grid=lambda problem: product(covariance_type=("full", "diag"))),
        by="bic",
        rule=_BIC,
        kinds=(TIME,),
    ),
    "segments": peer_method(
        "Segments, then states",
        Peer("segments:SegmentStates", grid=lambda problem: product(cost=("rbf", "normal"), min_size=(20, 10, 40))),
        by="silhouette",
        rule=_SILHOUETTE,
        kinds=(TIME,),
    ),
}
"""In the paper's order, then those that it does not have."""
